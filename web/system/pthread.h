/* Threads of one: WASI has no others. */
#pragma once

#include <errno.h>
#include <sys/types.h>
#include <time.h>

#define NOTHING_TO_DO(name, type) \
	static inline int name(type *object) \
	{ \
		(void)object; \
		return 0; \
	}
NOTHING_TO_DO(pthread_mutex_lock, pthread_mutex_t)
NOTHING_TO_DO(pthread_mutex_unlock, pthread_mutex_t)
NOTHING_TO_DO(pthread_mutex_destroy, pthread_mutex_t)
NOTHING_TO_DO(pthread_cond_signal, pthread_cond_t)
NOTHING_TO_DO(pthread_cond_destroy, pthread_cond_t)
NOTHING_TO_DO(pthread_condattr_init, pthread_condattr_t)
NOTHING_TO_DO(pthread_condattr_destroy, pthread_condattr_t)
#undef NOTHING_TO_DO

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
{
	(void)mutex;
	(void)attributes;
	return 0;
}

static inline int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
	(void)condition;
	(void)attributes;
	return 0;
}

static inline int pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
	(void)attributes;
	(void)clock;
	return 0;
}

static inline int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
	const struct timespec *until)
{
	(void)condition;
	(void)mutex;
	(void)until;
	return ETIMEDOUT;
}

static inline int pthread_create(pthread_t *thread, const void *attributes,
	void *(*run)(void *context), void *context)
{
	(void)thread;
	(void)attributes;
	(void)run;
	(void)context;
	return EAGAIN;
}

static inline int pthread_join(pthread_t thread, void **result)
{
	(void)thread;
	(void)result;
	return EINVAL;
}
