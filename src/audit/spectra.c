/* Spectra of heads on their own, and of all heads of a module together.
 *
 * With A_i = U_i R_i the singular values of Q_i K_g^T are those of R_Q R_K^T (d x d). The unfolding
 * [W_1 .. W_H] has the Gram matrix sum_i Q_i (R_K^T R_K) Q_i^T, so its singular values are those of
 * [Q_1 R_K1^T .. Q_H R_KH^T] (D x H d), R_K the keys' triangular factors. */
#include "audit/spectra.h"

#include "audit/measures.h"
#include "audit/stacks.h"

const char *const al_spectrum_names[AL_N_SPECTRA] = {"q", "k", "qk", "qu", "ku", "ov"};

/* The singular values of A B^T. */
static bool product_values(struct al_view a, struct al_view b, double *values, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix product;

	return al_take_product(&scratch, AL_PLAIN, a, AL_TRANSPOSED, b, &product, err)
		&& al_singular_values(al_view(product), values, err);
}

struct heads {
	const struct al_triangles *t;
	struct al_spectra *out;
};

/* Destination of a head's values. */
static double *column(const struct heads *x, enum al_spectrum kind, size_t head)
{
	const struct al_matrix m = x->out->values[kind];

	return m.data + head * m.ld;
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

	return (al_singular_values(q, column(x, AL_SPECTRUM_Q, head), err)
		       && (!is_first
			       || al_singular_values(k, column(x, AL_SPECTRUM_K, kv_head), err))
		       && product_values(q, k, column(x, AL_SPECTRUM_QK, head), err)
		       && (!al_has_spectrum(x->out, AL_SPECTRUM_OV)
			       || product_values(v, o, column(x, AL_SPECTRUM_OV, head), err)))
		|| al_in(err, "head %zu", head);
}

static bool take_heads(struct al_spectra *out, const struct al_triangles *t, struct al_error *err)
{
	const size_t q = t->of[AL_QUERY].r.rows, k = t->of[AL_KEY].r.rows;
	const size_t ov = al_least(t->of[AL_VALUE].r.rows, t->of[AL_OUTPUT].r.rows);
	const size_t n = t->shape.n_heads, n_values = al_triangles_has_values(t) ? n : 0;

	return al_take(&out->scratch, &out->values[AL_SPECTRUM_Q], q, n, err)
		&& al_take(&out->scratch, &out->values[AL_SPECTRUM_K], k, t->shape.n_kv_heads, err)
		&& al_take(&out->scratch, &out->values[AL_SPECTRUM_QK], al_least(q, k), n, err)
		&& al_take(&out->scratch, &out->values[AL_SPECTRUM_OV], ov, n_values, err);
}

bool al_head_spectra(struct al_spectra *out, const struct al_triangles *triangles,
	struct al_error *err)
{
	struct heads x = {triangles, out};

	return take_heads(out, triangles, err)
		&& al_parallel(triangles->shape.n_heads, head_values, &x, err);
}

/* ---- weighed Gram matrices ---- */

/* The sum of ||A_i||^2 ||W_i||^2, of which that of ||A_i W_i^T||^2 is 1/width where neither prefers
 * a direction. */
static double spread_of(struct al_view gram, struct al_view weights, size_t width)
{
	double sum = 0;

	for (size_t first = 0; first < gram.cols; first += width) {
		const double weight = al_squared_norm(al_columns(weights, first, width));
		for (size_t j = first; j < first + width; j++)
			sum += gram.data[j + j * gram.ld] * weight;
	}
	return sum;
}

/* Above this spread rounding shows. */
static const double MOST_SPREAD = 1e4;

/* ---- what the two precisions do differently ---- */

static bool find_triangle(struct al_scratch *scratch, struct al_view b, struct al_matrix *out,
	struct al_error *err)
{
	enum al_route route;

	return al_take(scratch, out, al_least(b.rows, b.cols), b.cols, err)
		&& al_triangle(b, *out, &route, err);
}

/* Found in double. */
static bool find_triangle_f(struct al_scratch *scratch, struct al_view_f b, struct al_matrix_f *out,
	struct al_error *err)
{
	AL_SCRATCH(room);
	struct al_matrix wide, r;

	return al_take(&room, &wide, b.rows, b.cols, err) && al_widen(b, wide, err)
		&& find_triangle(&room, al_view(wide), &r, err)
		&& al_take_f(scratch, out, r.rows, r.cols, err) && al_narrow(al_view(r), *out, err);
}

/* ---- and alike ---- */

struct layer {
	const struct al_heads *heads;
	const struct al_triangles *t;
	bool is_counted; /* the Gram matrix's rounding shows in no count */
	struct al_spectra *out;
};

#include "linalg/in_double.h"
#define FIND_EXACTLY al_singular_values
#include "audit/layer_spectra.inc"
#undef FIND_EXACTLY

bool al_weigh_gram(struct al_view gram, struct al_view weights, size_t width, struct al_matrix out,
	bool *is_good, struct al_error *err)
{
	return weigh_gram(gram, weights, width, out, is_good, err);
}

#include "linalg/in_single.h"
#define FIND_EXACTLY find_by_gram_f
#include "audit/layer_spectra.inc"

/* ---- for counts ---- */

/* Three times the error of single precision's sums, relative to all squares: 1.8e-7 was the largest
 * of 430 matrices of 16 to 4,096 columns without a leading direction, and 3.2e-6 where one has
 * nearly all squares, whose products are sums of one sign. */
static double margin_of(struct al_matrix values)
{
	const double squares = al_inner(al_view(values), al_view(values)), first = values.data[0];

	return 5e-7 + (squares > 0 ? 1e-5 * first * first / squares : 0);
}

/* Norms whose products' squares are within single precision's range, with room to spare. */
static bool is_within_range(const struct al_heads *heads)
{
	for (int p = 0; p < (al_has_values(heads) ? AL_N_PROJECTIONS : AL_VALUE); p++) {
		const struct al_view w = al_projection_of(heads, (enum al_projection)p);
		const double squared = al_inner(w, w);
		if (squared != 0 && !(squared >= 0x1p-30 && squared <= 0x1p60))
			return false;
	}
	return true;
}

static bool is_clear(struct al_matrix values)
{
	const double margin = margin_of(values);

	for (int i = 0; i < AL_N_SHARES; i++)
		if (!al_components_stay(values.data, values.rows, al_shares[i], margin))
			return false;
	return al_components_between(values.data, values.rows, .9 - margin)
		== al_components_between(values.data, values.rows, .9 + margin);
}

struct kinds {
	struct layer layer;
	struct al_heads narrow; /* without data where single precision is too narrow */
	unsigned exact, counted;
};

static bool count(const struct kinds *x, enum al_spectrum kind, struct al_error *err)
{
	struct layer layer = x->layer;

	layer.is_counted = true;
	if (x->narrow.query_f.data) {
		layer.heads = &x->narrow;
		if (!layer_values_f(&layer, kind, err))
			return false;
		if (is_clear(layer.out->values[kind]))
			return true;
	}
	layer.heads = x->layer.heads;
	return layer_values(&layer, kind, err);
}

/* The long ones first. */
static const enum al_spectrum order[AL_N_SPECTRA] = {
	AL_SPECTRUM_QK,
	AL_SPECTRUM_OV,
	AL_SPECTRUM_QU,
	AL_SPECTRUM_KU,
	AL_SPECTRUM_Q,
	AL_SPECTRUM_K,
};

static bool find_kind(void *context, size_t index, struct al_error *err)
{
	const struct kinds *x = context;
	const enum al_spectrum kind = order[index];

	if (x->exact & AL_SPECTRUM_BIT(kind))
		return (x->layer.heads->query_f.data ? layer_values_f : layer_values)(&x->layer,
			kind, err);
	return !(x->counted & AL_SPECTRUM_BIT(kind)) || count(x, kind, err);
}

bool al_layer_spectra(struct al_spectra *out, const struct al_heads *heads,
	const struct al_triangles *triangles, unsigned exact, unsigned counted,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct kinds x = {.layer = {heads, triangles, false, out},
		.exact = exact,
		.counted = counted};

	if (!al_heads_check_projections(heads, err)
		|| (counted && is_within_range(heads)
			&& !al_heads_narrow(&scratch, heads, &x.narrow, err)))
		return false;
	return al_parallel(AL_N_SPECTRA, find_kind, &x, err);
}

void al_spectra_finish(struct al_spectra *spectra)
{
	al_scratch_finish(&spectra->scratch);
}

bool al_has_spectrum(const struct al_spectra *spectra, enum al_spectrum kind)
{
	return spectra->values[kind].cols > 0;
}
