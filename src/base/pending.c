/* What is to be removed where the program ends in the middle. */
#include "base/pending.h"

#include <stdbool.h>
#include <unistd.h>

enum { MOST_PENDING = 16 };

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_ENDING = sizeof(ending_signals) / sizeof(*ending_signals) };

/* Read by the handler; changed only while these signals are blocked. */
static const struct al_pending *volatile all[MOST_PENDING];
static struct sigaction before[N_ENDING];
static int n_pending;

static void remove_one(const struct al_pending *pending)
{
	for (const char *const *file = pending->files; *file; file++)
		unlink(*file);
	if (pending->folder)
		rmdir(pending->folder);
}

/* The last first: files in a folder before it. */
void al_pending_remove(void)
{
	for (int i = MOST_PENDING; i-- > 0;)
		if (all[i])
			remove_one(all[i]);
}

/* SA_RESETHAND has put the default action back: the raised signal ends the program when this
 * returns. */
static void end_by_signal(int number)
{
	al_pending_remove();
	raise(number);
}

void al_pending_block(sigset_t *old)
{
	sigset_t waiting;

	sigemptyset(&waiting);
	for (int i = 0; i < N_ENDING; i++)
		sigaddset(&waiting, ending_signals[i]);
	pthread_sigmask(SIG_BLOCK, &waiting, old);
}

void al_pending_unblock(const sigset_t *old)
{
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

static bool is_default(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

static void install_handlers(void)
{
	struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	for (int i = 0; i < N_ENDING; i++) {
		sigaction(ending_signals[i], NULL, &before[i]);
		if (is_default(&before[i]))
			sigaction(ending_signals[i], &action, NULL);
	}
}

static void restore_handlers(void)
{
	for (int i = 0; i < N_ENDING; i++)
		if (is_default(&before[i]))
			sigaction(ending_signals[i], &before[i], NULL);
}

void al_pending_add(struct al_pending *pending)
{
	pending->slot = -1;
	for (int i = 0; i < MOST_PENDING; i++) {
		if (all[i])
			continue;
		if (n_pending++ == 0)
			install_handlers();
		all[i] = pending;
		pending->slot = i;
		return;
	}
}

void al_pending_forget(struct al_pending *pending)
{
	if (pending->slot < 0)
		return;
	all[pending->slot] = NULL;
	pending->slot = -1;
	if (--n_pending == 0)
		restore_handlers();
}
