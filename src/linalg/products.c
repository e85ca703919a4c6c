/* Products in panels: C is cut along its longer side, every panel is one call on one thread.
 *
 * A panel's width depends on the shape alone, so its bits do too. */

#include "linalg/internal.h"

/* Narrow enough to share a module's 768 columns out, wide enough that packing the other operand
 * again for each panel is a few percent. */
static size_t panel_width(size_t n)
{
	return n <= 1024 ? 192 : n < 2048 ? 256 : 512;
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

	return (struct panel){first, n - first < width ? n - first : width};
}

/* ---- C = alpha op(A) op(B) + beta C ---- */

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

#include "linalg/in_double.h"
#include "linalg/products.inc"

#include "linalg/in_single.h"
#include "linalg/products.inc"

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
