/* Matrices: memory, the checks before every library call, copies, products. */

#include "linalg/internal.h"

/* ---- memory ---- */

struct al_scratch_block {
	struct al_scratch_block *older;
	max_align_t data[];
};

void al_scratch_finish(struct al_scratch *scratch)
{
	while (scratch->newest) {
		struct al_scratch_block *block = scratch->newest;
		scratch->newest = block->older;
		free(block);
	}
}

void *al_take_array(struct al_scratch *scratch, size_t count, size_t size, struct al_error *err)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)
		|| __builtin_add_overflow(bytes, sizeof(struct al_scratch_block), &bytes))
		bytes = SIZE_MAX;
	struct al_scratch_block *block = al_try_calloc(bytes, 1, err);
	if (!block)
		return NULL;
	block->older = __atomic_load_n(&scratch->newest, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&scratch->newest, &block->older, block, true,
		__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return block->data;
}

/* Allocates from the scratch, or on its own. */
static void *allocate(struct al_scratch *scratch, size_t rows, size_t cols, size_t size,
	struct al_error *err)
{
	size_t n;

	if (__builtin_mul_overflow(rows, cols, &n))
		n = SIZE_MAX;
	void *data = scratch ? al_take_array(scratch, n, size, err) : al_try_calloc(n, size, err);
	if (!data)
		al_in(err, "a matrix of %zu x %zu", rows, cols);
	return data;
}

/* ---- checks ---- */

static bool check(const char *name, const void *data, size_t rows, size_t cols, size_t ld,
	struct al_error *err)
{
	const size_t most = INT32_MAX;
	size_t elements;

	if (rows > most || cols > most || ld > most)
		return al_fail(err, AL_EINPUT,
			"%s: %zu x %zu with leading dimension %zu: at most %zu", name, rows, cols,
			ld, most);
	if (ld < rows || ld == 0)
		return al_fail(err, AL_EINPUT, "%s: leading dimension %zu is below the %zu rows",
			name, ld, rows ? rows : 1);
	if (!data && !al_is_empty(rows, cols))
		return al_fail(err, AL_EINPUT, "%s: %zu x %zu without data", name, rows, cols);
	if (__builtin_mul_overflow(ld, cols, &elements) || elements > PTRDIFF_MAX / sizeof(double))
		return al_fail(err, AL_EINPUT, "%s: %zu x %zu doesn't fit into memory", name, ld,
			cols);
	return true;
}

bool al_check_shape(const char *name, size_t rows, size_t cols, size_t expected_rows,
	size_t expected_cols, struct al_error *err)
{
	if (rows == expected_rows && cols == expected_cols)
		return true;
	return al_fail(err, AL_EINPUT, "%s is %zu x %zu, expected %zu x %zu", name, rows, cols,
		expected_rows, expected_cols);
}

bool al_check_info(const char *routine, lapack_int info, struct al_error *err)
{
	if (info == 0)
		return true;
	if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR)
		return al_fail(err, AL_ESYSTEM, "%s: no memory", routine);
	if (info < 0)
		return al_fail(err, AL_ESYSTEM, "%s: argument %d is not a number or not valid",
			routine, -(int)info);
	return al_fail(err, AL_ESYSTEM, "%s: did not converge (%d)", routine, (int)info);
}

/* In LAPACKE's place, which prints on standard output what its callers say. */
void LAPACKE_xerbla(const char *routine, lapack_int info);
void LAPACKE_xerbla(const char *routine, lapack_int info)
{
	(void)routine;
	(void)info;
}

/* ---- products in panels: C is cut along its longer side, every panel is one call on one thread;
 * a panel's width depends on the shape alone, so its bits do too ---- */

/* Narrow enough to share a module's columns out, a Gram matrix's triangle of 384 among them; wide
 * enough that packing the other operand again for each panel is a few percent. */
static size_t panel_width(size_t n)
{
	return n <= 512 ? 96 : n <= 1024 ? 192 : n < 2048 ? 256 : 512;
}

static size_t count_panels(size_t n)
{
	const size_t width = panel_width(n);

	return (n + width - 1) / width;
}

struct panel {
	size_t first, width;
};

static struct panel panel_at(size_t n, size_t index)
{
	const size_t width = panel_width(n), first = index * width;

	return (struct panel){first, al_least(n - first, width)};
}

/* C = alpha op(A) op(B) + beta C */

struct shape {
	size_t rows, inner, cols;
	bool by_rows;
};

static bool check_product(enum al_op op_a, enum al_op op_b, const size_t a[2], const size_t b[2],
	const size_t c[2], struct shape *shape, struct al_error *err)
{
	const size_t rows = a[op_a == AL_TRANSPOSED], inner = a[op_a != AL_TRANSPOSED];
	const size_t inner_b = b[op_b == AL_TRANSPOSED], cols = b[op_b != AL_TRANSPOSED];

	*shape = (struct shape){rows, inner, cols, rows > cols};
	if (inner != inner_b)
		return al_fail(err, AL_EINPUT, "product of %zu x %zu and %zu x %zu", rows, inner,
			inner_b, cols);
	return al_check_shape("C", c[0], c[1], rows, cols, err);
}

/* The widest panel reaches farthest down: it begins. */
static struct panel tallest_first(size_t n, size_t index)
{
	return panel_at(n, count_panels(n) - 1 - index);
}

enum { MIRROR_BLOCK = 32 };

/* ---- in both precisions ---- */

static bool fail_infinite(const char *what, size_t rows, size_t cols, struct al_error *err)
{
	return al_fail(err, AL_ESYSTEM, "%s: %zu x %zu with elements that are not finite", what,
		rows, cols);
}

/* A number isn't finite where its exponent is all ones: adding one to the exponent then reaches the
 * sign. Integers, so that the compiler takes several numbers at a time. */
#define BITS uint64_t
#define EXPONENT UINT64_C(0x7ff0000000000000)
#define EXPONENT_ONE UINT64_C(0x0010000000000000)
#define SIGN_AT 63
#include "linalg/in_double.h"
#include "linalg/matrix.inc"
#undef BITS
#undef EXPONENT
#undef EXPONENT_ONE
#undef SIGN_AT

#define BITS uint32_t
#define EXPONENT UINT32_C(0x7f800000)
#define EXPONENT_ONE UINT32_C(0x00800000)
#define SIGN_AT 31
#include "linalg/in_single.h"
#include "linalg/matrix.inc"

/* ---- copies ---- */

bool al_copy(struct al_view from, struct al_matrix to, struct al_error *err)
{
	if (!al_check("source", from, err) || !al_check("copy", al_view(to), err)
		|| !al_check_shape("copy", to.rows, to.cols, from.rows, from.cols, err))
		return false;
	for (size_t j = 0; j < from.cols && from.rows; j++)
		memcpy(to.data + j * to.ld, from.data + j * from.ld, from.rows * sizeof(double));
	return al_check_finite("copy", from, err);
}

bool al_take_copy(struct al_scratch *scratch, struct al_view from, struct al_matrix *out,
	struct al_error *err)
{
	return al_take(scratch, out, from.rows, from.cols, err) && al_copy(from, *out, err);
}

bool al_duplicate(struct al_view from, struct al_matrix *out, struct al_error *err)
{
	return al_take_copy(NULL, from, out, err);
}

bool al_narrow(struct al_view from, struct al_matrix_f to, struct al_error *err)
{
	if (!al_check("source", from, err) || !al_check_f("copy", al_view_f(to), err)
		|| !al_check_shape("copy", to.rows, to.cols, from.rows, from.cols, err))
		return false;
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			to.data[i + j * to.ld] = (float)from.data[i + j * from.ld];
	return al_check_finite_f("narrowed copy", al_view_f(to), err);
}

bool al_widen(struct al_view_f from, struct al_matrix to, struct al_error *err)
{
	if (!al_check_f("source", from, err) || !al_check("copy", al_view(to), err)
		|| !al_check_shape("copy", to.rows, to.cols, from.rows, from.cols, err))
		return false;
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			to.data[i + j * to.ld] = (double)from.data[i + j * from.ld];
	return true;
}

/* ---- products ---- */

bool al_take_product(struct al_scratch *scratch, enum al_op op_a, struct al_view a, enum al_op op_b,
	struct al_view b, struct al_matrix *out, struct al_error *err)
{
	return al_take(scratch, out, op_a == AL_PLAIN ? a.rows : a.cols,
		       op_b == AL_PLAIN ? b.cols : b.rows, err)
		&& al_gemm(op_a, op_b, 1, a, b, 0, *out, err);
}

bool al_product(enum al_op op_a, struct al_view a, enum al_op op_b, struct al_view b,
	struct al_matrix *out, struct al_error *err)
{
	return al_take_product(NULL, op_a, a, op_b, b, out, err);
}

bool al_take_gram(struct al_scratch *scratch, enum al_op op, struct al_view a, struct al_matrix *g,
	struct al_error *err)
{
	const size_t n = op == AL_PLAIN ? a.rows : a.cols;

	return al_take(scratch, g, n, n, err) && al_gram(op, a, *g, err);
}

/* Several sums at once: one would wait for each addition to end. */
enum { LANES = 8 };

static double inner(const double *x, const double *y, size_t n)
{
	double sums[LANES] = {0}, sum = 0;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			sums[lane] += x[i + lane] * y[i + lane];
	for (; i < n; i++)
		sum += x[i] * y[i];
	for (size_t lane = 0; lane < LANES; lane++)
		sum += sums[lane];
	return sum;
}

double al_inner(struct al_view a, struct al_view b)
{
	double sum = 0;

	for (size_t j = 0; j < a.cols; j++)
		sum += inner(a.data + j * a.ld, b.data + j * b.ld, a.rows);
	return sum;
}

bool al_is_empty(size_t rows, size_t cols)
{
	return rows == 0 || cols == 0;
}

lapack_int al_int(size_t n)
{
	return (lapack_int)n;
}

CBLAS_TRANSPOSE al_cblas_op(enum al_op op)
{
	return op == AL_TRANSPOSED ? CblasTrans : CblasNoTrans;
}
