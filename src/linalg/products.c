/* Products in panels: C is cut along its longer side, every panel is one call on one thread.
 *
 * A panel's width depends on the shape alone, so its bits do too. */
#include <string.h>

#include "linalg/internal.h"

/* Narrow enough to share a module's 768 columns out, wide enough that packing the other operand
 * again for each panel is a few percent. */
static size_t panel_width(size_t n)
{
	return n <= 1024 ? 128 : 256;
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

struct gemm {
	enum al_op op_a, op_b;
	double alpha, beta;
	struct al_view a, b;
	struct al_matrix c;
	struct shape shape;
};

/* The part of an operand that a panel of C's rows (of A) or columns (of B) needs. */
static struct al_view cut(struct al_view m, bool along_cols, struct panel panel)
{
	if (along_cols)
		return al_columns(m, panel.first, panel.width);
	return (struct al_view){m.data + panel.first, panel.width, m.cols, m.ld};
}

static bool multiply_panel(void *context, size_t index, struct al_error *err)
{
	const struct gemm *g = context;
	struct al_view a = g->a, b = g->b;
	struct al_matrix c = g->c;

	if (g->shape.by_rows) {
		struct panel panel = panel_at(g->shape.rows, index);
		a = cut(a, g->op_a == AL_TRANSPOSED, panel);
		c = al_part(c, panel.first, 0, panel.width, c.cols);
	} else {
		struct panel panel = panel_at(g->shape.cols, index);
		b = cut(b, g->op_b == AL_PLAIN, panel);
		c = al_part(c, 0, panel.first, c.rows, panel.width);
	}
	cblas_dgemm(CblasColMajor, al_cblas_op(g->op_a), al_cblas_op(g->op_b), al_int(c.rows),
		al_int(c.cols), al_int(g->shape.inner), g->alpha, a.data, al_int(a.ld), b.data,
		al_int(b.ld), g->beta, c.data, al_int(c.ld));
	return al_check_finite("product", al_view(c), err);
}

bool al_gemm(enum al_op op_a, enum al_op op_b, double alpha, struct al_view a, struct al_view b,
	double beta, struct al_matrix c, struct al_error *err)
{
	struct gemm g = {op_a, op_b, alpha, beta, a, b, c, {0}};

	if (!al_check("A", a, err) || !al_check("B", b, err) || !al_check("C", al_view(c), err)
		|| !check_product(op_a, op_b, (size_t[]){a.rows, a.cols},
			(size_t[]){b.rows, b.cols}, (size_t[]){c.rows, c.cols}, &g.shape, err))
		return false;
	if (al_is_empty(c.rows, c.cols))
		return true;
	const size_t n_panels = count_panels(g.shape.by_rows ? c.rows : c.cols);
	return al_parallel(n_panels, multiply_panel, &g, err);
}

struct gemm_f {
	enum al_op op_a, op_b;
	float alpha, beta;
	struct al_view_f a, b;
	struct al_matrix_f c;
	struct shape shape;
};

static struct al_view_f cut_f(struct al_view_f m, bool along_cols, struct panel panel)
{
	if (along_cols)
		return al_columns_f(m, panel.first, panel.width);
	return (struct al_view_f){m.data + panel.first, panel.width, m.cols, m.ld};
}

static bool multiply_panel_f(void *context, size_t index, struct al_error *err)
{
	const struct gemm_f *g = context;
	struct al_view_f a = g->a, b = g->b;
	struct al_matrix_f c = g->c;

	if (g->shape.by_rows) {
		struct panel panel = panel_at(g->shape.rows, index);
		a = cut_f(a, g->op_a == AL_TRANSPOSED, panel);
		c = al_part_f(c, panel.first, 0, panel.width, c.cols);
	} else {
		struct panel panel = panel_at(g->shape.cols, index);
		b = cut_f(b, g->op_b == AL_PLAIN, panel);
		c = al_part_f(c, 0, panel.first, c.rows, panel.width);
	}
	cblas_sgemm(CblasColMajor, al_cblas_op(g->op_a), al_cblas_op(g->op_b), al_int(c.rows),
		al_int(c.cols), al_int(g->shape.inner), g->alpha, a.data, al_int(a.ld), b.data,
		al_int(b.ld), g->beta, c.data, al_int(c.ld));
	return al_check_finite_f("product", al_view_f(c), err);
}

bool al_gemm_f(enum al_op op_a, enum al_op op_b, float alpha, struct al_view_f a,
	struct al_view_f b, float beta, struct al_matrix_f c, struct al_error *err)
{
	struct gemm_f g = {op_a, op_b, alpha, beta, a, b, c, {0}};

	if (!al_check_f("A", a, err) || !al_check_f("B", b, err)
		|| !al_check_f("C", al_view_f(c), err)
		|| !check_product(op_a, op_b, (size_t[]){a.rows, a.cols},
			(size_t[]){b.rows, b.cols}, (size_t[]){c.rows, c.cols}, &g.shape, err))
		return false;
	if (al_is_empty(c.rows, c.cols))
		return true;
	const size_t n_panels = count_panels(g.shape.by_rows ? c.rows : c.cols);
	return al_parallel(n_panels, multiply_panel_f, &g, err);
}

/* ---- Grams: a panel of columns down to the diagonal, then mirrored ---- */

struct gram {
	enum al_op op;
	struct al_view a;
	struct al_matrix g;
};

/* The widest panel reaches farthest down: it begins. */
static struct panel tallest_first(size_t n, size_t index)
{
	return panel_at(n, count_panels(n) - 1 - index);
}

static bool gram_panel(void *context, size_t index, struct al_error *err)
{
	const struct gram *x = context;
	const bool by_cols = x->op == AL_TRANSPOSED;
	const struct panel panel = tallest_first(x->g.cols, index), above = {0, panel.first};
	const struct al_view left = cut(x->a, by_cols, above), right = cut(x->a, by_cols, panel);
	const size_t inner = by_cols ? x->a.rows : x->a.cols;
	struct al_matrix corner = al_part(x->g, panel.first, panel.first, panel.width, panel.width);

	if (above.width)
		cblas_dgemm(CblasColMajor, al_cblas_op(x->op), by_cols ? CblasNoTrans : CblasTrans,
			al_int(above.width), al_int(panel.width), al_int(inner), 1, left.data,
			al_int(left.ld), right.data, al_int(right.ld), 0,
			x->g.data + panel.first * x->g.ld, al_int(x->g.ld));
	cblas_dsyrk(CblasColMajor, CblasUpper, al_cblas_op(x->op), al_int(panel.width),
		al_int(inner), 1, right.data, al_int(right.ld), 0, corner.data, al_int(corner.ld));
	(void)err;
	return true;
}

enum { MIRROR_BLOCK = 32 };

/* Copies the upper triangle's columns of one block of rows below the diagonal. */
static void mirror(struct al_matrix g)
{
	for (size_t block = 0; block < g.cols; block += MIRROR_BLOCK)
		for (size_t j = block; j < g.cols; j++)
			for (size_t i = block; i < j && i < block + MIRROR_BLOCK; i++)
				g.data[j + i * g.ld] = g.data[i + j * g.ld];
}

bool al_gram(enum al_op op, struct al_view a, struct al_matrix g, struct al_error *err)
{
	const size_t n = op == AL_TRANSPOSED ? a.cols : a.rows;
	struct gram x = {op, a, g};

	if (!al_check("A", a, err) || !al_check("G", al_view(g), err)
		|| !al_check_shape("G", g.rows, g.cols, n, n, err))
		return false;
	if (n == 0)
		return true;
	if (!al_parallel(count_panels(n), gram_panel, &x, err))
		return false;
	mirror(g);
	return al_check_finite("Gram matrix", al_view(g), err);
}

struct gram_f {
	enum al_op op;
	struct al_view_f a;
	struct al_matrix_f g;
};

static bool gram_panel_f(void *context, size_t index, struct al_error *err)
{
	const struct gram_f *x = context;
	const bool by_cols = x->op == AL_TRANSPOSED;
	const struct panel panel = tallest_first(x->g.cols, index), above = {0, panel.first};
	const struct al_view_f left = cut_f(x->a, by_cols, above);
	const struct al_view_f right = cut_f(x->a, by_cols, panel);
	const size_t inner = by_cols ? x->a.rows : x->a.cols;
	struct al_matrix_f corner = al_part_f(x->g, panel.first, panel.first, panel.width,
		panel.width);

	if (above.width)
		cblas_sgemm(CblasColMajor, al_cblas_op(x->op), by_cols ? CblasNoTrans : CblasTrans,
			al_int(above.width), al_int(panel.width), al_int(inner), 1, left.data,
			al_int(left.ld), right.data, al_int(right.ld), 0,
			x->g.data + panel.first * x->g.ld, al_int(x->g.ld));
	cblas_ssyrk(CblasColMajor, CblasUpper, al_cblas_op(x->op), al_int(panel.width),
		al_int(inner), 1, right.data, al_int(right.ld), 0, corner.data, al_int(corner.ld));
	(void)err;
	return true;
}

static void mirror_f(struct al_matrix_f g)
{
	for (size_t block = 0; block < g.cols; block += MIRROR_BLOCK)
		for (size_t j = block; j < g.cols; j++)
			for (size_t i = block; i < j && i < block + MIRROR_BLOCK; i++)
				g.data[j + i * g.ld] = g.data[i + j * g.ld];
}

bool al_gram_f(enum al_op op, struct al_view_f a, struct al_matrix_f g, struct al_error *err)
{
	const size_t n = op == AL_TRANSPOSED ? a.cols : a.rows;
	struct gram_f x = {op, a, g};

	if (!al_check_f("A", a, err) || !al_check_f("G", al_view_f(g), err)
		|| !al_check_shape("G", g.rows, g.cols, n, n, err))
		return false;
	if (n == 0)
		return true;
	if (!al_parallel(count_panels(n), gram_panel_f, &x, err))
		return false;
	mirror_f(g);
	return al_check_finite_f("Gram matrix", al_view_f(g), err);
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
