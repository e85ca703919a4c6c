/* Spectra of all heads together in float: the steps of spectra.c, values from Gram matrices
 * alone. */
#include "audit/spectra_f.h"

#include <math.h>

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool take_values(struct al_matrix *values, struct al_view_f a, struct al_error *err)
{
	const size_t n = least(a.rows, a.cols);
	struct al_matrix_f gram = {0}, found = {0};

	bool done = al_matrix_init_f(&gram, n, n, err) && al_matrix_init_f(&found, n, 1, err)
		&& al_gram_f(a.rows < a.cols ? AL_PLAIN : AL_TRANSPOSED, a, gram, err)
		&& al_eigenvalues_f(gram, found.data, err) && al_matrix_init(values, n, 1, err);
	for (size_t i = 0; done && i < n; i++)
		values->data[i] = sqrt(fmax((double)found.data[i], 0));
	al_matrix_finish_f(&found);
	al_matrix_finish_f(&gram);
	return done;
}

static void widen(struct al_view_f from, struct al_matrix to)
{
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			to.data[i + j * to.ld] = (double)from.data[i + j * from.ld];
}

/* The triangular factor of B, which is found in double. */
static bool narrow_triangle(struct al_view_f b, struct al_matrix_f *out, struct al_error *err)
{
	const struct al_view no_gram = {.ld = 1};
	const size_t height = least(b.rows, b.cols);
	struct al_matrix wide = {0}, r = {0};
	enum al_route route;

	bool done = al_matrix_init(&wide, b.rows, b.cols, err);
	if (done)
		widen(b, wide);
	done = done && al_matrix_init(&r, height, b.cols, err)
		&& al_triangle(al_view(wide), no_gram, r, &route, err)
		&& al_matrix_init_f(out, height, b.cols, err) && al_narrow(al_view(r), *out, err);
	al_matrix_finish(&r);
	al_matrix_finish(&wide);
	return done;
}

/* Of A B^T, or of A R_B^T where that is smaller. */
static bool take_product(struct al_matrix *values, struct al_view_f a, struct al_view_f b,
	struct al_error *err)
{
	struct al_matrix_f r = {0}, product = {0};

	bool done = true;
	if (b.cols < b.rows) {
		done = narrow_triangle(b, &r, err);
		b = al_view_f(r);
	}
	done = done && al_matrix_init_f(&product, a.rows, b.rows, err)
		&& al_gemm_f(AL_PLAIN, AL_TRANSPOSED, 1, a, b, 0, product, err)
		&& take_values(values, al_view_f(product), err);
	al_matrix_finish_f(&product);
	al_matrix_finish_f(&r);
	return done;
}

static void sum_groups(struct al_view_f heads, size_t width, size_t group, struct al_matrix_f out)
{
	for (size_t j = 0; j < heads.cols; j++) {
		const size_t target = j / width / group * width + j % width;
		for (size_t i = 0; i < heads.rows; i++)
			out.data[i + target * out.ld] += heads.data[i + j * heads.ld];
	}
}

struct layer_f {
	const struct al_factors_f *f;
	const struct al_triangles *t;
	struct al_spectra *out;
};

static bool take_sum(struct al_matrix *values, const struct layer_f *x, enum al_projection own,
	enum al_projection shared, struct al_error *err)
{
	const struct al_view_f heads = x->f->of[own], common = x->f->of[shared];
	const size_t group = x->t->shape.n_heads / x->t->shape.n_kv_heads;
	struct al_matrix_f sums;

	if (group == 1)
		return take_product(values, heads, common, err);
	if (!al_matrix_init_f(&sums, heads.rows, common.cols, err))
		return false;
	sum_groups(heads, al_heads_run(&x->t->shape, own).width, group, sums);
	bool done = take_product(values, al_view_f(sums), common, err);
	al_matrix_finish_f(&sums);
	return done;
}

/* One head times the transpose of a triangle. */
static bool unfold_head(struct al_view_f head, struct al_view triangle, struct al_matrix_f out,
	struct al_error *err)
{
	struct al_matrix_f r = {0};

	bool done = al_matrix_init_f(&r, triangle.rows, triangle.cols, err)
		&& al_narrow(triangle, r, err)
		&& al_gemm_f(AL_PLAIN, AL_TRANSPOSED, 1, head, al_view_f(r), 0, out, err);
	al_matrix_finish_f(&r);
	return done;
}

static bool take_query_unfolding(struct al_matrix *values, const struct layer_f *x,
	struct al_error *err)
{
	const struct al_heads *shape = &x->t->shape;
	const struct al_view_f q = x->f->of[AL_QUERY];
	const size_t height = x->t->of[AL_KEY].r.rows, width = shape->d_head;
	struct al_matrix_f all;

	if (!al_matrix_init_f(&all, q.rows, shape->n_heads * height, err))
		return false;
	bool done = true;
	for (size_t head = 0; head < shape->n_heads && done; head++)
		done = unfold_head(al_columns_f(q, head * width, width),
			al_triangle_of(x->t, AL_KEY, al_kv_head(shape, head)),
			al_part_f(all, 0, head * height, all.rows, height), err);
	done = done && take_values(values, al_view_f(all), err);
	al_matrix_finish_f(&all);
	return done;
}

static bool unfold_group(const struct layer_f *x, size_t kv_head, struct al_matrix_f out,
	struct al_error *err)
{
	const size_t width = x->t->shape.d_head;
	struct al_matrix r;

	if (!al_stack_group(x->t, AL_QUERY, kv_head, &r, err))
		return false;
	bool done = unfold_head(al_columns_f(x->f->of[AL_KEY], kv_head * width, width), al_view(r),
		out, err);
	al_matrix_finish(&r);
	return done;
}

static bool take_key_unfolding(struct al_matrix *values, const struct layer_f *x,
	struct al_error *err)
{
	const struct al_heads *shape = &x->t->shape;
	const size_t group = shape->n_heads / shape->n_kv_heads;
	const size_t height = least(group * x->t->of[AL_QUERY].r.rows, shape->d_head);
	struct al_matrix_f all;

	if (!al_matrix_init_f(&all, x->f->of[AL_KEY].rows, shape->n_kv_heads * height, err))
		return false;
	bool done = true;
	for (size_t g = 0; g < shape->n_kv_heads && done; g++)
		done = unfold_group(x, g, al_part_f(all, 0, g * height, all.rows, height), err);
	done = done && take_values(values, al_view_f(all), err);
	al_matrix_finish_f(&all);
	return done;
}

static bool layer_values(void *context, size_t index, struct al_error *err)
{
	const struct layer_f *x = context;
	const enum al_spectrum kind = (enum al_spectrum)index;
	struct al_matrix *values = &x->out->values[kind];

	switch (kind) {
	case AL_SPECTRUM_Q:
		return take_values(values, x->f->of[AL_QUERY], err);
	case AL_SPECTRUM_K:
		return take_values(values, x->f->of[AL_KEY], err);
	case AL_SPECTRUM_QU:
		return take_query_unfolding(values, x, err);
	case AL_SPECTRUM_KU:
		return take_key_unfolding(values, x, err);
	case AL_SPECTRUM_QK:
		return take_sum(values, x, AL_QUERY, AL_KEY, err);
	default:
		return !x->f->of[AL_VALUE].data || take_sum(values, x, AL_OUTPUT, AL_VALUE, err);
	}
}

bool al_layer_spectra_f(struct al_spectra *out, const struct al_factors_f *factors,
	const struct al_triangles *triangles, struct al_error *err)
{
	struct layer_f x = {factors, triangles, out};

	*out = (struct al_spectra){0};
	if (al_parallel(AL_N_SPECTRA, layer_values, &x, err))
		return true;
	al_spectra_finish(out);
	return false;
}
