/* Threads: the one place where work is spread, and where OpenBLAS is limited to one thread.
 *
 * OpenBLAS changes its results with its number of threads, so it never has more than one: this
 * library divides the work itself, independently of the number of threads. */
#include <omp.h>
#include <pthread.h>

#include "linalg/internal.h"

/* OpenBLAS's number of threads belongs to the process, and so does whether LAPACKE looks for NaN in
 * what our own checks have passed: the first user saves them, the last restores them. */
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

/* Indices that free threads take in order. */
struct job {
	size_t n, next;
	bool (*work)(void *context, size_t index, struct al_error *err);
	void *context;
	size_t failed; /* the lowest index that failed, n for none, and why */
	struct al_error err;
};

static void note_failure(struct job *job, size_t index, const struct al_error *err)
{
#pragma omp critical(al_parallel_failure)
	if (index < job->failed) {
		job->err = *err;
#pragma omp atomic write
		job->failed = index;
	}
}

/* All indices below one that failed have at least begun. */
static bool take_index(struct job *job, size_t *index)
{
	size_t failed;

#pragma omp atomic capture
	*index = job->next++;
#pragma omp atomic read
	failed = job->failed;
	return *index < failed;
}

static void work_on(struct job *job)
{
	for (size_t i; take_index(job, &i);) {
		struct al_error mine;
		if (!job->work(job->context, i, &mine))
			note_failure(job, i, &mine);
	}
}

/* Within a job whose other threads may be idle, or will be: those come and help. A group waits for
 * its own tasks alone, not for help that this thread asked for further out. */
static void ask_for_help(struct job *job)
{
	const size_t others = (size_t)omp_get_num_threads() - 1;

#pragma omp taskgroup
	{
		for (size_t i = 0; i < others && i + 1 < job->n; i++)
#pragma omp task
			work_on(job);
		work_on(job);
	}
}

/* OpenBLAS's kernel for processors that it doesn't know, Prescott, mixes up what two threads
 * compute at once (0.3.21, ssytrd of 12 rows; none of its other kernels does). */
static bool is_alone(void)
{
	return omp_get_max_threads() == 1 || strcmp(openblas_get_corename(), "Prescott") == 0;
}

bool al_parallel(size_t n, bool (*work)(void *context, size_t index, struct al_error *err),
	void *context, struct al_error *err)
{
	struct job job = {.n = n, .work = work, .context = context, .failed = n};

	al_blas_hold();
	if (n <= 1 || is_alone()) {
		work_on(&job); /* even a team of one costs a system call */
	} else if (omp_in_parallel()) {
		ask_for_help(&job);
	} else {
#pragma omp parallel
		work_on(&job);
	}
	al_blas_release();

	if (job.failed < n && err)
		*err = job.err;
	return job.failed == n;
}
