/* OpenBLAS's buffers: taken while it can still be said that they can't be had.
 *
 * A thread that is inside a routine of OpenBLAS holds a buffer, which is mapped when it is first
 * wanted and then kept. Where the system doesn't give it, versions up to 0.3.30 ask again for
 * ever. */
#include <omp.h>

#include "linalg/kernel.h"

enum { MOST_THREADS = 64 }; /* OpenBLAS has more buffers than that, however it was built */

static const size_t buffer_bytes = (size_t)128 << 20, stack_bytes = (size_t)16 << 20;

/* OpenBLAS's own, in no header of its; NULL where a build hides them. */
void *blas_memory_alloc(int position) __attribute__((weak));
void blas_memory_free(void *buffer) __attribute__((weak));

/* At most so many as are wanted; so many as were taken. */
static int take_buffers(int wanted)
{
	void *taken[MOST_THREADS] = {NULL};
	int n = 0;

	while (n < wanted && al_memory_has_room(buffer_bytes + stack_bytes * (size_t)(n + 1)))
		taken[n++] = blas_memory_alloc(0);
	for (int i = 0; i < n; i++)
		blas_memory_free(taken[i]);
	return n;
}

bool al_blas_reserve(struct al_error *err)
{
	const int n_threads = omp_get_max_threads();
	const int wanted = n_threads < MOST_THREADS ? n_threads : MOST_THREADS;

	if (!blas_memory_alloc || !blas_memory_free)
		return true;
	const int n = take_buffers(wanted);
	if (n == 0)
		return al_fail(err, AL_ESYSTEM,
			"the system doesn't give the %zu MiB of address space that OpenBLAS begins "
			"with (ulimit -v may be in the way)",
			buffer_bytes >> 20);
	if (n < wanted)
		omp_set_num_threads(n);
	return true;
}
