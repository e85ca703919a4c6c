/* OpenBLAS's kernels: which one runs, which one should, a test of residuals; and its buffers. */
#include "linalg/kernel.h"

#include <float.h>
#include <omp.h>

#include "linalg/internal.h"

/* ---- which one ---- */

/* Newest first. Those that are `chosen` are tried one below the other; the others are what OpenBLAS
 * may choose by itself. */
static const struct kernel {
	const char *name;
	enum al_cpu_level level;
	bool is_chosen;
} kernels[] = {
	{"SapphireRapids", AL_CPU_AVX512, false},
	{"Cooperlake", AL_CPU_AVX512, false},
	{"SkylakeX", AL_CPU_AVX512, true},
	{"Zen", AL_CPU_AVX2, false},
	{"Haswell", AL_CPU_AVX2, true},
	{"Excavator", AL_CPU_AVX, false},
	{"Steamroller", AL_CPU_AVX, false},
	{"Piledriver", AL_CPU_AVX, false},
	{"Bulldozer", AL_CPU_AVX, false},
	{"Sandybridge", AL_CPU_AVX, true},
	{"Nehalem", AL_CPU_SSE42, true},
	{"Barcelona", AL_CPU_SSE3, false},
	{"Bobcat", AL_CPU_SSE3, false},
	{"Opteron_SSE3", AL_CPU_SSE3, false},
	{"Opteron", AL_CPU_SSE3, false},
	{"Nano", AL_CPU_SSE3, false},
	{"Atom", AL_CPU_SSE3, false},
	{"Dunnington", AL_CPU_SSE3, false},
	{"Penryn", AL_CPU_SSE3, false},
	{"Core2", AL_CPU_SSE3, false},
	{"Prescott", AL_CPU_SSE3, true},
};
enum { N_KERNELS = sizeof(kernels) / sizeof(*kernels) };

enum al_cpu_level al_cpu_level(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
		&& __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
		&& __builtin_cpu_supports("avx512cd"))
		return AL_CPU_AVX512;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return AL_CPU_AVX2;
	if (__builtin_cpu_supports("avx"))
		return AL_CPU_AVX;
	if (__builtin_cpu_supports("sse4.2"))
		return AL_CPU_SSE42;
#endif
	return AL_CPU_SSE3;
}

const char *al_blas_kernel(void)
{
	return openblas_get_corename();
}

/* "OpenBLAS 0.3.21 NO_AFFINITY ..." */
const char *al_blas_version(char out[16])
{
	if (sscanf(openblas_get_config(), "OpenBLAS %15s", out) != 1)
		out[0] = '\0';
	return out;
}

bool al_blas_has_kernels(void)
{
	return strstr(openblas_get_config(), "DYNAMIC_ARCH") != NULL;
}

/* The kernel for AVX-512 computes right from 0.3.21 on. */
static bool is_right(const struct kernel *kernel, const char *version)
{
	int major = 0, minor = 0, patch = 0;

	if (kernel->level < AL_CPU_AVX512)
		return true;
	if (sscanf(version, "%d.%d.%d", &major, &minor, &patch) < 2)
		return false;
	return major > 0 || minor > 3 || (minor == 3 && patch >= 21);
}

static int find(const char *name)
{
	for (int i = 0; i < N_KERNELS; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return i;
	return -1;
}

static const char *first_from(int i, const char *version, enum al_cpu_level level)
{
	for (; i < N_KERNELS; i++)
		if (kernels[i].is_chosen && kernels[i].level <= level
			&& is_right(&kernels[i], version))
			return kernels[i].name;
	return NULL;
}

const char *al_kernel_better(const char *own, const char *version, enum al_cpu_level level)
{
	const char *best = first_from(0, version, level);
	int found = find(own);

	if (found < 0 || !best || kernels[find(best)].level <= kernels[found].level)
		return NULL;
	return best;
}

const char *al_kernel_below(const char *failed, const char *version, enum al_cpu_level level)
{
	return first_from(find(failed) + 1, version, level);
}

/* ---- whether it computes right ---- */

/* n x n matrices, column by column, and vectors. */
struct trial {
	size_t n;
	double *a, *gram, *work, *values, *x, *y, *z;
};

static void trial_init(struct trial *t, size_t n)
{
	double *all = al_calloc(3 * n * n + 4 * n, sizeof(*all));

	*t = (struct trial){
		.n = n,
		.a = all,
		.gram = all + n * n,
		.work = all + 2 * n * n,
		.values = all + 3 * n * n,
		.x = all + 3 * n * n + n,
		.y = all + 3 * n * n + 2 * n,
		.z = all + 3 * n * n + 3 * n,
	};
}

/* Numbers in [-1, 1), the same in every process. */
static void fill(double *out, size_t n, unsigned seed)
{
	unsigned state = seed;

	for (size_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		out[i] = (double)(state >> 8) / (1 << 23) - 1;
	}
}

/* y = A x, or A^T x: plain sums, no library. */
static void multiply(const double *a, bool is_transposed, const double *x, double *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		y[i] = 0;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < n; i++)
			y[is_transposed ? j : i] += a[i + j * n] * x[is_transposed ? i : j];
}

/* |y - z| relative to |z|, times the effect of rounding. */
static bool is_close(const char *what, const struct trial *t, struct al_error *err)
{
	double difference = 0, norm = 0;

	for (size_t i = 0; i < t->n; i++) {
		difference += (t->y[i] - t->z[i]) * (t->y[i] - t->z[i]);
		norm += t->z[i] * t->z[i];
	}
	const double residual = sqrt(difference / norm);
	return residual <= 64 * DBL_EPSILON * (double)t->n /* false for NaN too */
		|| al_fail(err, AL_ESYSTEM,
			"OpenBLAS kernel %s is wrong: %s of size %zu has a residual of %.2g",
			al_blas_kernel(), what, t->n, residual);
}

/* G = A A^T, against A (A^T x). */
static bool check_product(struct trial *t, struct al_error *err)
{
	const int n = (int)t->n;

	cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, 1, t->a, n, t->a, n, 0,
		t->gram, n);
	multiply(t->a, true, t->x, t->y, t->n);
	multiply(t->a, false, t->y, t->z, t->n);
	multiply(t->gram, false, t->x, t->y, t->n);
	return is_close("dgemm", t, err);
}

static void copy_gram(struct trial *t)
{
	memcpy(t->work, t->gram, t->n * t->n * sizeof(*t->work));
}

/* G + n I = L L^T, against G x + n x. */
static bool check_factor(struct trial *t, struct al_error *err)
{
	const lapack_int n = al_int(t->n);

	copy_gram(t);
	for (size_t i = 0; i < t->n; i++)
		t->work[i + i * t->n] += (double)t->n;
	if (!al_check_info("dpotrf", LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'L', n, t->work, n), err))
		return false;
	for (size_t j = 1; j < t->n; j++)
		for (size_t i = 0; i < j; i++)
			t->work[i + j * t->n] = 0;
	multiply(t->gram, false, t->x, t->z, t->n);
	for (size_t i = 0; i < t->n; i++)
		t->z[i] += (double)t->n * t->x[i];
	multiply(t->work, true, t->x, t->values, t->n);
	multiply(t->work, false, t->values, t->y, t->n);
	return is_close("dpotrf", t, err);
}

/* G = V W V^T, against G x. */
static bool check_vectors(struct trial *t, struct al_error *err)
{
	const lapack_int n = al_int(t->n);

	copy_gram(t);
	if (!al_check_info("dsyevd",
		    LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', n, t->work, n, t->values), err))
		return false;
	multiply(t->work, true, t->x, t->z, t->n);
	for (size_t i = 0; i < t->n; i++)
		t->z[i] *= t->values[i];
	multiply(t->work, false, t->z, t->y, t->n);
	multiply(t->gram, false, t->x, t->z, t->n);
	return is_close("dsyevd", t, err);
}

static bool check_size(size_t n, struct al_error *err)
{
	struct trial t;

	trial_init(&t, n);
	fill(t.a, n * n, 1);
	fill(t.x, n, 2);
	bool ok = check_product(&t, err) && check_factor(&t, err) && check_vectors(&t, err);
	free(t.a);
	return ok;
}

bool al_kernel_check(struct al_error *err)
{
	al_blas_hold();
	bool ok = check_size(65, err) && check_size(129, err);
	al_blas_release();
	return ok;
}

/* ---- buffers: taken while their lack can still be reported ----
 *
 * A thread that is inside a routine of OpenBLAS holds a buffer, which is mapped when it is first
 * wanted and then kept. Where the system doesn't give it, versions up to 0.3.30 ask again for
 * ever. */

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
	const int wanted = al_least(n_threads, MOST_THREADS);

	if (!blas_memory_alloc || !blas_memory_free)
		return true;
	const int n = take_buffers(wanted);
	if (n == 0)
		return al_fail(err, AL_ESYSTEM,
			"can't reserve the %zu MiB of address space that OpenBLAS needs (check "
			"ulimit -v)",
			buffer_bytes >> 20);
	if (n < wanted)
		omp_set_num_threads(n);
	return true;
}
