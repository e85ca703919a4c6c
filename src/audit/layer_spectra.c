/* Spectra of all heads of a module together.
 *
 * The unfolding [W_1 .. W_H] has the Gram matrix sum_i Q_i (R_K^T R_K) Q_i^T, so its singular
 * values are those of [Q_1 R_K1^T .. Q_H R_KH^T] (D x H d), R_K the keys' triangular factors. */
#include <math.h>

#include "audit/measures.h"
#include "audit/spectra.h"

/* ---- from the Gram matrix alone ---- */

#include "linalg/in_double.h"
#include "audit/gram_values.inc"

#include "linalg/in_single.h"
#include "audit/gram_values.inc"

/* ---- what the two precisions do differently ---- */

static bool find_values(struct al_view a, double *values, struct al_error *err)
{
	return al_singular_values(a, values, err);
}

static bool find_values_f(struct al_view_f a, double *values, struct al_error *err)
{
	return find_by_gram_f(a, values, err);
}

static bool find_triangle(struct al_view b, struct al_matrix *out, struct al_error *err)
{
	const struct al_view no_gram = {.ld = 1};
	enum al_route route;

	return al_matrix_init(out, al_least(b.rows, b.cols), b.cols, err)
		&& al_triangle(b, no_gram, *out, &route, err);
}

/* Found in double. */
static bool find_triangle_f(struct al_view_f b, struct al_matrix_f *out, struct al_error *err)
{
	AL_OWNED struct al_matrix wide = {0}, r = {0};

	return al_matrix_init_unset(&wide, b.rows, b.cols, err) && al_widen(b, wide, err)
		&& find_triangle(al_view(wide), &r, err)
		&& al_matrix_init_f(out, r.rows, r.cols, err) && al_narrow(al_view(r), *out, err);
}

/* ---- and alike ---- */

struct layer {
	const struct al_heads *heads;
	const struct al_triangles *t;
	unsigned kinds;
	bool is_counted; /* the Gram matrix's rounding shows in no count */
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

#include "linalg/in_double.h"
#include "audit/layer_spectra.inc"

#include "linalg/in_single.h"
#include "audit/layer_spectra.inc"

static bool find(struct layer *x, struct al_error *err)
{
	*x->out = (struct al_spectra){0};
	if (al_heads_check_projections(x->heads, err)
		&& al_parallel(AL_N_SPECTRA, x->heads->query_f.data ? layer_values_f : layer_values,
			x, err))
		return true;
	al_spectra_finish(x->out);
	return false;
}

bool al_layer_spectra(struct al_spectra *out, const struct al_heads *heads,
	const struct al_triangles *triangles, unsigned kinds, struct al_error *err)
{
	struct layer x = {.heads = heads, .t = triangles, .kinds = kinds, .out = out};

	return find(&x, err);
}

/* ---- for counts ---- */

/* Of all squares, ten times what single precision's sums were off. */
static const double MARGIN = 1e-6;

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
	for (int i = 0; i < AL_N_SHARES; i++)
		if (!al_components_stay(values.data, values.rows, al_shares[i], MARGIN))
			return false;
	return true;
}

/* The kinds that single precision leaves open; they are not kept. */
static unsigned leave_out_unclear(struct al_spectra *spectra, unsigned kinds)
{
	unsigned unclear = 0;

	for (int kind = 0; kind < AL_N_SPECTRA; kind++) {
		if (!(kinds & AL_SPECTRUM_BIT(kind)) || is_clear(spectra->values[kind]))
			continue;
		al_matrix_finish(&spectra->values[kind]);
		unclear |= AL_SPECTRUM_BIT(kind);
	}
	return unclear;
}

static bool count_in_single(struct al_spectra *out, const struct al_heads *heads,
	const struct al_triangles *triangles, unsigned kinds, unsigned *unclear,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_heads narrow;
	struct layer x = {&narrow, triangles, kinds, true, out};

	if (!al_heads_narrow(&scratch, heads, &narrow, err) || !find(&x, err))
		return false;
	*unclear = leave_out_unclear(out, kinds);
	return true;
}

bool al_layer_counted(struct al_spectra *out, const struct al_heads *heads,
	const struct al_triangles *triangles, unsigned kinds, struct al_error *err)
{
	unsigned unclear = kinds;
	struct al_spectra wide;
	struct layer x = {heads, triangles, kinds, true, &wide};

	*out = (struct al_spectra){0};
	if (is_within_range(heads) && !count_in_single(out, heads, triangles, kinds, &unclear, err))
		return false;
	x.kinds = unclear;
	if (unclear && !find(&x, err)) {
		al_spectra_finish(out);
		return false;
	}
	for (int kind = 0; kind < AL_N_SPECTRA; kind++)
		if (unclear & AL_SPECTRUM_BIT(kind))
			out->values[kind] = wide.values[kind];
	return true;
}
