/* Spectra from factors.
 *
 * With A_i = U_i R_i: the singular values of Q_i K_g^T are those of R_Q R_K^T (d x d); the
 * unfolding [W_1 .. W_H] has the Gram matrix sum_i Q_i (R_K^T R_K) Q_i^T, so its singular values
 * are those of [Q_1 R_K1^T .. Q_H R_KH^T] (D x H d). */
#include "audit/spectra.h"

#include <string.h>

const char *const al_spectrum_names[AL_N_SPECTRA] = {"q", "k", "qk", "qu", "ku", "ov"};

void al_spectra_finish(struct al_spectra *spectra)
{
	for (int i = 0; i < AL_N_SPECTRA; i++)
		al_matrix_finish(&spectra->values[i]);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ---- every head on its own ---- */

/* The singular values of A B^T. */
static bool product_values(struct al_view a, struct al_view b, double *values, struct al_error *err)
{
	struct al_matrix product;

	if (!al_matrix_init(&product, a.rows, b.rows, err))
		return false;
	bool done = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, a, b, 0, product, err)
		&& al_singular_values(al_view(product), values, err);
	al_matrix_finish(&product);
	return done;
}

struct heads {
	const struct al_triangles *t;
	struct al_spectra *out;
};

/* Where a head's values go; NULL: they aren't asked for, or there are none. */
static double *column(const struct heads *x, enum al_spectrum kind, size_t head)
{
	const struct al_matrix m = x->out->values[kind];

	return m.cols ? m.data + head * m.ld : NULL;
}

static bool find_values(struct al_view a, double *values, struct al_error *err)
{
	return !values || al_singular_values(a, values, err);
}

static bool find_product_values(struct al_view a, struct al_view b, double *values,
	struct al_error *err)
{
	return !values || product_values(a, b, values, err);
}

static bool head_values(void *context, size_t head, struct al_error *err)
{
	const struct heads *x = context;
	const struct al_heads *shape = &x->t->shape;
	const size_t kv_head = al_kv_head(shape, head);
	const bool is_first = head == 0 || al_kv_head(shape, head - 1) != kv_head;
	const struct al_view q = al_triangle_of(x->t, AL_QUERY, head);
	const struct al_view k = al_triangle_of(x->t, AL_KEY, kv_head);
	const struct al_view v = al_triangle_of(x->t, AL_VALUE, kv_head);
	const struct al_view o = al_triangle_of(x->t, AL_OUTPUT, head);

	return (find_values(q, column(x, AL_SPECTRUM_Q, head), err)
		       && (!is_first || find_values(k, column(x, AL_SPECTRUM_K, kv_head), err))
		       && find_product_values(q, k, column(x, AL_SPECTRUM_QK, head), err)
		       && find_product_values(v, o, column(x, AL_SPECTRUM_OV, head), err))
		|| al_in(err, "head %zu", head);
}

static bool init_heads(struct al_spectra *out, const struct al_triangles *t, unsigned kinds,
	struct al_error *err)
{
	const size_t q = t->of[AL_QUERY].r.rows, k = t->of[AL_KEY].r.rows;
	const size_t ov = least(t->of[AL_VALUE].r.rows, t->of[AL_OUTPUT].r.rows);
	const bool has_values = t->of[AL_VALUE].routes != NULL;
	const struct {
		enum al_spectrum kind;
		size_t height, n_heads;
	} all[] = {
		{AL_SPECTRUM_Q, q, t->shape.n_heads},
		{AL_SPECTRUM_K, k, t->shape.n_kv_heads},
		{AL_SPECTRUM_QK, least(q, k), t->shape.n_heads},
		{AL_SPECTRUM_OV, ov, has_values ? t->shape.n_heads : 0},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((kinds & AL_SPECTRUM_BIT(all[i].kind)) && all[i].n_heads
			&& !al_matrix_init(&out->values[all[i].kind], all[i].height, all[i].n_heads,
				err))
			return false;
	return true;
}

bool al_head_spectra(struct al_spectra *out, const struct al_triangles *triangles, unsigned kinds,
	struct al_error *err)
{
	struct heads x = {triangles, out};

	*out = (struct al_spectra){0};
	if (init_heads(out, triangles, kinds, err)
		&& al_parallel(triangles->shape.n_heads, head_values, &x, err))
		return true;
	al_spectra_finish(out);
	return false;
}

/* ---- all heads together ---- */

static void add_columns(struct al_view from, struct al_matrix to)
{
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			to.data[i + j * to.ld] += from.data[i + j * from.ld];
}

bool al_sum_groups(struct al_run run, size_t n_groups, struct al_matrix out, struct al_error *err)
{
	if (n_groups == 0 || run.n_heads % n_groups != 0 || out.rows != run.weights.rows
		|| out.cols != n_groups * run.width)
		return al_fail(err, AL_EINPUT, "%zu heads in %zu groups, %zu x %zu", run.n_heads,
			n_groups, out.rows, out.cols);

	const size_t group = run.n_heads / n_groups;
	for (size_t j = 0; j < out.cols; j++)
		memset(out.data + j * out.ld, 0, out.rows * sizeof(double));
	for (size_t head = 0; head < run.n_heads; head++)
		add_columns(al_columns(run.weights, head * run.width, run.width),
			al_part(out, 0, head / group * run.width, out.rows, run.width));
	return true;
}

bool al_stack_group(const struct al_triangles *t, enum al_projection projection, size_t kv_head,
	struct al_matrix *out, struct al_error *err)
{
	const struct al_run run = al_heads_run(&t->shape, projection);
	const size_t group = run.n_heads / t->shape.n_kv_heads, height = t->of[projection].r.rows;
	struct al_matrix stack;

	*out = (struct al_matrix){0};
	if (!al_matrix_init(&stack, group * height, run.width, err))
		return false;
	bool done = true;
	for (size_t i = 0; i < group && done; i++)
		done = al_copy(al_triangle_of(t, projection, kv_head * group + i),
			al_part(stack, i * height, 0, height, run.width), err);
	done = done && al_matrix_init(out, least(stack.rows, run.width), run.width, err)
		&& al_qr_r(stack, *out, err);
	al_matrix_finish(&stack);
	if (!done)
		al_matrix_finish(out);
	return done;
}

static bool take_values(struct al_matrix *values, struct al_view a, struct al_error *err)
{
	return al_matrix_init(values, least(a.rows, a.cols), 1, err)
		&& al_singular_values(a, values->data, err);
}

/* Of A B^T, both of inner width m: of A R_B^T where m is below B's rows. */
static bool take_product(struct al_matrix *values, struct al_view a, struct al_view b,
	struct al_error *err)
{
	const struct al_view no_gram = {.ld = 1};
	const size_t height = least(b.rows, b.cols);
	struct al_matrix r = {0}, product = {0};
	enum al_route route;

	bool done = al_matrix_init(&product, a.rows, height, err);
	if (done && b.cols < b.rows) {
		done = al_matrix_init(&r, height, b.cols, err)
			&& al_triangle(b, no_gram, r, &route, err);
		b = al_view(r);
	}
	done = done && al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, a, b, 0, product, err)
		&& take_values(values, al_view(product), err);
	al_matrix_finish(&product);
	al_matrix_finish(&r);
	return done;
}

/* The full-width product of a projection that query heads have with one that groups share. */
static bool take_sum(struct al_matrix *values, struct al_run own, struct al_view shared,
	size_t n_groups, struct al_error *err)
{
	struct al_matrix sums;

	if (own.n_heads == n_groups)
		return take_product(values, own.weights, shared, err);
	if (!al_matrix_init(&sums, own.weights.rows, n_groups * own.width, err))
		return false;
	bool done = al_sum_groups(own, n_groups, sums, err)
		&& take_product(values, al_view(sums), shared, err);
	al_matrix_finish(&sums);
	return done;
}

/* [Q_1 R_K1^T .. Q_H R_KH^T] */
static bool take_query_unfolding(struct al_matrix *values, const struct al_heads *f,
	const struct al_triangles *t, struct al_error *err)
{
	const size_t height = t->of[AL_KEY].r.rows;
	struct al_matrix all;

	if (!al_matrix_init(&all, f->query.rows, f->n_heads * height, err))
		return false;
	bool done = true;
	for (size_t head = 0; head < f->n_heads && done; head++)
		done = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_head_of(f, AL_QUERY, head),
			al_triangle_of(t, AL_KEY, al_kv_head(f, head)), 0,
			al_part(all, 0, head * height, all.rows, height), err);
	done = done && take_values(values, al_view(all), err);
	al_matrix_finish(&all);
	return done;
}

static bool unfold_group(const struct al_heads *f, const struct al_triangles *t, size_t kv_head,
	struct al_matrix out, struct al_error *err)
{
	struct al_matrix r;

	if (!al_stack_group(t, AL_QUERY, kv_head, &r, err))
		return false;
	bool done = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_head_of(f, AL_KEY, kv_head), al_view(r),
		0, out, err);
	al_matrix_finish(&r);
	return done;
}

/* [K_1 R_1^T .. K_G R_G^T], R_g of all the queries that share K_g. */
static bool take_key_unfolding(struct al_matrix *values, const struct al_heads *f,
	const struct al_triangles *t, struct al_error *err)
{
	const size_t group = f->n_heads / f->n_kv_heads;
	const size_t height = least(group * t->of[AL_QUERY].r.rows, f->d_head);
	struct al_matrix all;

	if (!al_matrix_init(&all, f->key.rows, f->n_kv_heads * height, err))
		return false;
	bool done = true;
	for (size_t g = 0; g < f->n_kv_heads && done; g++)
		done = unfold_group(f, t, g, al_part(all, 0, g * height, all.rows, height), err);
	done = done && take_values(values, al_view(all), err);
	al_matrix_finish(&all);
	return done;
}

struct layer {
	const struct al_heads *f;
	const struct al_triangles *t;
	unsigned kinds;
	struct al_spectra *out;
};

/* The long ones first. */
static const enum al_spectrum order[AL_N_SPECTRA] = {
	AL_SPECTRUM_QK,
	AL_SPECTRUM_OV,
	AL_SPECTRUM_QU,
	AL_SPECTRUM_KU,
	AL_SPECTRUM_Q,
	AL_SPECTRUM_K,
};

static bool layer_values(void *context, size_t index, struct al_error *err)
{
	const struct layer *x = context;
	const struct al_heads *f = x->f;
	const enum al_spectrum kind = order[index];
	struct al_matrix *values = &x->out->values[kind];

	if (!(x->kinds & AL_SPECTRUM_BIT(kind)))
		return true;
	switch (kind) {
	case AL_SPECTRUM_Q:
		return take_values(values, f->query, err);
	case AL_SPECTRUM_K:
		return take_values(values, f->key, err);
	case AL_SPECTRUM_QU:
		return take_query_unfolding(values, f, x->t, err);
	case AL_SPECTRUM_KU:
		return take_key_unfolding(values, f, x->t, err);
	case AL_SPECTRUM_QK:
		return take_sum(values, al_heads_run(f, AL_QUERY), f->key, f->n_kv_heads, err);
	default:
		return !al_has_values(f)
			|| take_sum(values, al_heads_run(f, AL_OUTPUT), f->value, f->n_kv_heads,
				err);
	}
}

bool al_layer_spectra(struct al_spectra *out, const struct al_heads *factors,
	const struct al_triangles *triangles, unsigned kinds, struct al_error *err)
{
	struct layer x = {factors, triangles, kinds, out};

	*out = (struct al_spectra){0};
	if (al_heads_check_projections(factors, err)
		&& al_parallel(AL_N_SPECTRA, layer_values, &x, err))
		return true;
	al_spectra_finish(out);
	return false;
}
