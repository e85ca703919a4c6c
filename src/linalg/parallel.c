/* Threads: the one place where work is spread, and where OpenBLAS is told to keep to one thread.
 *
 * OpenBLAS changes its results with its number of threads, so it never has more than one: this
 * library cuts the work itself, the same way whoever does it. */
#include <omp.h>
#include <pthread.h>

#include "linalg/internal.h"

/* OpenBLAS's number of threads belongs to the process, and so does whether LAPACKE looks for NaN in
 * what our own checks have passed: whoever comes first saves them, whoever leaves last puts them
 * back. */
static struct {
	pthread_mutex_t mutex;
	int holders, saved, saved_check;
} blas = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void al_blas_hold(void)
{
	pthread_mutex_lock(&blas.mutex);
	if (blas.holders++ == 0) {
		blas.saved = openblas_get_num_threads();
		openblas_set_num_threads(1);
		blas.saved_check = LAPACKE_get_nancheck();
		LAPACKE_set_nancheck(0);
	}
	pthread_mutex_unlock(&blas.mutex);
}

void al_blas_release(void)
{
	pthread_mutex_lock(&blas.mutex);
	if (--blas.holders == 0) {
		openblas_set_num_threads(blas.saved);
		LAPACKE_set_nancheck(blas.saved_check);
	}
	pthread_mutex_unlock(&blas.mutex);
}

void al_threads_set(int n_threads)
{
	omp_set_num_threads(n_threads > 0 ? n_threads : omp_get_num_procs());
}

/* The lowest index that failed, and why. */
struct failure {
	size_t index;
	struct al_error err;
};

static void note_failure(struct failure *failure, size_t index, const struct al_error *err)
{
#pragma omp critical(al_parallel_failure)
	if (index < failure->index) {
		failure->err = *err;
#pragma omp atomic write
		failure->index = index;
	}
}

/* Indices are handed out in order, so all below one that failed have at least begun. */
static bool is_behind_failure(const struct failure *failure, size_t index)
{
	size_t failed;

#pragma omp atomic read
	failed = failure->index;
	return index > failed;
}

bool al_parallel(size_t n, bool (*work)(void *context, size_t index, struct al_error *err),
	void *context, struct al_error *err)
{
	struct failure failure = {.index = n};

	al_blas_hold();
#pragma omp parallel for schedule(dynamic, 1) if (n > 1)
	for (size_t i = 0; i < n; i++) {
		struct al_error mine;
		if (!is_behind_failure(&failure, i) && !work(context, i, &mine))
			note_failure(&failure, i, &mine);
	}
	al_blas_release();

	if (failure.index < n && err)
		*err = failure.err;
	return failure.index == n;
}
