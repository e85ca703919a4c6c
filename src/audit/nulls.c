/* Nulls: Gaussian weights, and heads with their own spectra in Haar-random subspaces. */
#include "audit/nulls.h"

#include "audit/measures.h"
#include "base/random.h"

/* The Gaussian null belongs to no module. */
static const uint64_t NO_MODULE = UINT64_MAX;

/* Names a stream of its own for every head of every projection. */
struct name {
	uint64_t seed, module, draw;
};

static struct al_random *stream(const struct name *name, enum al_projection projection, size_t head)
{
	return al_random_create(name->seed, name->module, head * AL_N_PROJECTIONS + projection,
		name->draw);
}

static bool weigh(struct al_spectra *layer, struct al_thinned *thinned, const struct al_drawn *d,
	struct al_error *err)
{
	return al_layer_spectra(layer, &d->heads, &d->triangles, AL_ALL_SPECTRA, 0, err)
		&& (!thinned || al_thinned_find(thinned, &d->heads, &d->triangles, layer, err));
}

/* ---- draws head by head ---- */

struct draw {
	struct name name;
	struct al_drawn *drawn; /* triangles: Gaussian found here, of independent heads given */
	bool (*head)(const struct draw *x, enum al_projection projection, size_t head,
		struct al_matrix_f out, struct al_error *err);
};

/* The heads of all projections, numbered through. */
static bool draw_numbered(void *context, size_t index, struct al_error *err)
{
	const struct draw *x = context;

	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_run run = al_heads_run(&x->drawn->heads, (enum al_projection)p);
		const struct al_matrix_f all = x->drawn->weights[p];
		if (index < run.n_heads)
			return x->head(x, (enum al_projection)p, index,
				al_part_f(all, 0, index * run.width, all.rows, run.width), err);
		index -= run.n_heads;
	}
	return true;
}

static bool draw_weights(struct draw *x, struct al_error *err)
{
	const struct al_heads *heads = &x->drawn->heads;
	const size_t n = heads->n_heads + heads->n_kv_heads;

	return al_parallel(al_has_values(heads) ? 2 * n : n, draw_numbered, x, err);
}

/* ---- Gaussian weights ---- */

static bool gaussian_head(const struct draw *x, enum al_projection projection, size_t head,
	struct al_matrix_f out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_triangles *t = &x->drawn->triangles;
	const struct al_matrix all = t->of[projection].r;
	struct al_matrix wide;

	if (!al_take(&scratch, &wide, out.rows, out.cols, err))
		return false;
	struct al_random *random = stream(&x->name, projection, head);
	al_random_gaussian(random, wide.data, wide.rows * wide.cols);
	al_random_destroy(random);
	return al_narrow(al_view(wide), out, err)
		&& al_triangle(al_view(wide), al_part(all, 0, head * out.cols, all.rows, out.cols),
			&t->of[projection].routes[head], err);
}

/* Gaussian heads are independent, so all together follow from each of them. */
static bool find_gaussian_layer(struct al_spectra *layer, const struct al_spectra *heads,
	const struct al_drawn *drawn, bool is_computed, uint64_t seed, struct al_error *err)
{
	const struct al_null_name name = {seed, NO_MODULE};
	bool is_found = false;

	if (is_computed
		&& !al_null_compute(layer, NULL, &drawn->triangles, heads, &name, &is_found, err))
		return false;
	return is_found || weigh(layer, NULL, drawn, err);
}

bool al_null_gaussian(struct al_spectra *heads, struct al_spectra *layer,
	const struct al_heads *shape, bool has_values, bool is_computed, uint64_t seed,
	struct al_error *err)
{
	AL_OWNED_DRAWN struct al_drawn drawn = {0};
	struct draw x = {{seed, NO_MODULE, 0}, &drawn, gaussian_head};

	return al_drawn_init(&drawn, shape, has_values, err) && draw_weights(&x, err)
		&& al_head_spectra(heads, &drawn.triangles, err)
		&& find_gaussian_layer(layer, heads, &drawn, is_computed, seed, err);
}

/* ---- independent heads ---- */

static bool independent_head(const struct draw *x, enum al_projection projection, size_t head,
	struct al_matrix_f out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_view r = al_triangle_of(&x->drawn->triangles, projection, head);
	struct al_matrix u, wide;

	if (!al_take(&scratch, &u, out.rows, r.rows, err)
		|| !al_take(&scratch, &wide, out.rows, out.cols, err))
		return false;
	struct al_random *random = stream(&x->name, projection, head);
	const bool is_drawn = al_haar(random, u, err);
	al_random_destroy(random);
	return is_drawn && al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(u), r, 0, wide, err)
		&& al_narrow(al_view(wide), out, err);
}

static double largest_element(struct al_matrix m)
{
	double largest = 0;

	for (size_t i = 0; i < m.rows * m.cols; i++)
		largest = fmax(largest, fabs(m.data[i]));
	return largest;
}

/* A copy with elements of at most 1, which no float product overflows; scales[p] leads back. */
static void scale_triangles(const struct al_triangles *t, struct al_triangles *out,
	double scales[AL_N_PROJECTIONS])
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_matrix from = t->of[p].r, to = out->of[p].r;
		const double largest = largest_element(from);
		scales[p] = largest > 0 ? largest : 1;
		for (size_t i = 0; i < from.rows * from.cols; i++)
			to.data[i] = from.data[i] / scales[p];
	}
}

static void restore(struct al_spectra *layer, const double scales[AL_N_PROJECTIONS])
{
	const double qk = scales[AL_QUERY] * scales[AL_KEY];
	const double by[AL_N_SPECTRA] = {
		[AL_SPECTRUM_Q] = scales[AL_QUERY],
		[AL_SPECTRUM_K] = scales[AL_KEY],
		[AL_SPECTRUM_QK] = qk,
		[AL_SPECTRUM_QU] = qk,
		[AL_SPECTRUM_KU] = qk,
		[AL_SPECTRUM_OV] = scales[AL_VALUE] * scales[AL_OUTPUT],
	};

	for (int k = 0; k < AL_N_SPECTRA; k++)
		for (size_t i = 0; i < layer->values[k].rows * layer->values[k].cols; i++)
			layer->values[k].data[i] *= by[k];
}

bool al_null_draw(struct al_drawn *drawn, const struct al_triangles *triangles, uint64_t seed,
	uint64_t module, uint64_t draw, double scales[AL_N_PROJECTIONS], struct al_error *err)
{
	struct draw x = {{seed, module, draw}, drawn, independent_head};

	if (!al_drawn_init(drawn, &triangles->shape, al_triangles_has_values(triangles), err))
		return false;
	scale_triangles(triangles, &drawn->triangles, scales);
	return draw_weights(&x, err);
}

bool al_null_spectra(struct al_spectra *layer, struct al_thinned *thinned,
	const struct al_drawn *drawn, const double scales[AL_N_PROJECTIONS], struct al_error *err)
{
	if (!weigh(layer, thinned, drawn, err))
		return false;
	restore(layer, scales);
	return true;
}

bool al_null_independent(struct al_spectra *layer, struct al_thinned *thinned,
	const struct al_triangles *triangles, uint64_t seed, uint64_t module, uint64_t draw,
	struct al_error *err)
{
	AL_OWNED_DRAWN struct al_drawn drawn = {0};
	double scales[AL_N_PROJECTIONS];

	return al_null_draw(&drawn, triangles, seed, module, draw, scales, err)
		&& al_null_spectra(layer, thinned, &drawn, scales, err);
}

/* ---- their results ---- */

struct al_null_range al_null_components(const struct al_spectra *draws, size_t n_draws,
	enum al_spectrum kind, double share)
{
	struct al_null_range range = {0, INFINITY, -INFINITY};

	for (size_t i = 0; i < n_draws; i++) {
		const struct al_matrix values = draws[i].values[kind];
		const double n = (double)al_components(values.data, values.rows, share);
		range.mean += n / (double)n_draws;
		range.low = fmin(range.low, n);
		range.high = fmax(range.high, n);
	}
	return range;
}
