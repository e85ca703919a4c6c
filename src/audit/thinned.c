/* Redundancy: a module's unfoldings compared with those of fewer independent heads. */
#include "audit/thinned.h"

#include "audit/measures.h"
#include "linalg/free_sum.h"

/* From queries, from keys. */
static const enum al_spectrum unfoldings[AL_N_UNFOLDINGS] = {AL_SPECTRUM_QU, AL_SPECTRUM_KU};

enum { KINDS = AL_SPECTRUM_BIT(AL_SPECTRUM_QU) | AL_SPECTRUM_BIT(AL_SPECTRUM_KU) };

/* ---- which heads ---- */

/* ||Q_i K_g^T||^2 over the queries of a key/value head. */
static bool weigh(const struct al_triangles *t, size_t kv_head, double *weight,
	struct al_error *err)
{
	const size_t group = t->shape.n_heads / t->shape.n_kv_heads;
	const struct al_view k = al_triangle_of(t, AL_KEY, kv_head);

	*weight = 0;
	for (size_t i = 0; i < group; i++) {
		AL_SCRATCH(scratch);
		const struct al_view q = al_triangle_of(t, AL_QUERY, kv_head * group + i);
		struct al_matrix product;
		if (!al_take_product(&scratch, AL_PLAIN, q, AL_TRANSPOSED, k, &product, err))
			return false;
		*weight += al_inner(al_view(product), al_view(product));
	}
	return true;
}

/* ---- fewer heads ---- */

bool al_drawn_init(struct al_drawn *d, const struct al_heads *shape, bool has_values,
	struct al_error *err)
{
	struct al_triangles *t = &d->triangles;

	if (!al_triangles_init(t, shape, has_values, err))
		return false;
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_view w = al_projection_of(&t->shape, (enum al_projection)p);
		d->weights[p] = (struct al_matrix_f){.ld = 1};
		if (t->of[p].routes && !al_take_f(&t->scratch, &d->weights[p], w.rows, w.cols, err))
			return false;
	}
	d->heads = t->shape;
	d->heads.query_f = al_view_f(d->weights[AL_QUERY]);
	d->heads.key_f = al_view_f(d->weights[AL_KEY]);
	d->heads.value_f = al_view_f(d->weights[AL_VALUE]);
	d->heads.output_f = al_view_f(d->weights[AL_OUTPUT]);
	return true;
}

static bool copy_head(struct al_drawn *part, const struct al_heads *heads,
	const struct al_triangles *t, enum al_projection p, size_t from, size_t to,
	struct al_error *err)
{
	const struct al_view_f weights = al_head_of_f(heads, p, from);
	const struct al_view r = al_triangle_of(t, p, from);
	const struct al_matrix_f target = al_part_f(part->weights[p], 0, to * weights.cols,
		weights.rows, weights.cols);

	for (size_t j = 0; j < weights.cols; j++)
		memcpy(target.data + j * target.ld, weights.data + j * weights.ld,
			weights.rows * sizeof(*target.data));
	return al_copy(r, al_part(part->triangles.of[p].r, 0, to * r.cols, r.rows, r.cols), err);
}

/* Each of n parts of the sorted heads gives the one in its middle, or of two there the heavier or
 * the lighter one. */
static size_t middle_of(size_t k, size_t n, size_t n_heads, bool is_lighter)
{
	return ((2 * k + 1) * n_heads - !is_lighter) / (2 * n);
}

static bool copy_heads(struct al_drawn *part, const struct al_heads *heads,
	const struct al_triangles *t, const size_t *sorted, size_t n, bool is_lighter,
	struct al_error *err)
{
	const size_t group = heads->n_heads / heads->n_kv_heads;

	for (size_t k = 0; k < n; k++) {
		const size_t from = sorted[middle_of(k, n, heads->n_kv_heads, is_lighter)];
		if (!copy_head(part, heads, t, AL_KEY, from, k, err))
			return false;
		for (size_t i = 0; i < group; i++)
			if (!copy_head(part, heads, t, AL_QUERY, from * group + i, k * group + i,
				    err))
				return false;
	}
	return true;
}

/* Some of the heads, copied. */
static bool part_init(struct al_drawn *part, const struct al_heads *heads,
	const struct al_triangles *t, const size_t *sorted, size_t n, bool is_lighter,
	struct al_error *err)
{
	struct al_heads shape = t->shape;

	shape.n_heads = n * (heads->n_heads / heads->n_kv_heads);
	shape.n_kv_heads = n;
	shape.query.cols = shape.n_heads * heads->d_head;
	shape.key.cols = n * heads->d_head;
	return al_drawn_init(part, &shape, false, err)
		&& copy_heads(part, heads, t, sorted, n, is_lighter, err);
}

/* ---- counting ---- */

static double count(const struct al_spectra *spectra, int unfolding)
{
	const struct al_matrix values = spectra->values[unfoldings[unfolding]];

	return al_components_between(values.data, values.rows, .9);
}

/* The mean of what is counted `times` times. */
static void add_counts(struct al_thinned *thinned, const struct al_spectra *spectra, int times)
{
	for (int i = 0; i < AL_N_UNFOLDINGS; i++)
		thinned->n90[i][thinned->n] += count(spectra, i) / times;
}

/* Finds the counts of one part of the heads. */
struct counter {
	bool (*add)(struct counter *x, struct al_thinned *thinned, size_t n, bool is_lighter,
		struct al_error *err);
	const struct al_heads *heads; /* or their shape */
	const struct al_triangles *triangles;
	const double *weights; /* of key/value heads */
	const size_t *sorted; /* these, the heaviest first */
	struct al_view spectra[AL_N_UNFOLDINGS];
	bool is_found[AL_N_UNFOLDINGS];
};

static bool add_drawn(struct counter *x, struct al_thinned *thinned, size_t n, bool is_lighter,
	struct al_error *err)
{
	AL_OWNED_SPECTRA struct al_spectra spectra = {0};
	AL_OWNED_DRAWN struct al_drawn part = {0};

	if (!part_init(&part, x->heads, x->triangles, x->sorted, n, is_lighter, err)
		|| !al_layer_spectra(&spectra, &part.heads, &part.triangles, KINDS, 0, err))
		return false;
	add_counts(thinned, &spectra, 2);
	return true;
}

/* Fractions: a quarter, a half, all. */
static bool count_parts(struct counter *x, struct al_thinned *thinned, const struct al_spectra *all,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = x->heads->n_kv_heads;
	size_t *sorted = al_take_array(&scratch, n, sizeof(*sorted), err);

	if (!sorted)
		return false;
	al_sort_order(x->weights, n, sorted);
	x->sorted = sorted;
	*thinned = (struct al_thinned){0};
	for (size_t parts = 4, last = 0; parts > 1; parts /= 2) {
		const size_t some = (n + parts / 2) / parts;
		if (some <= last || some >= n)
			continue;
		if (!x->add(x, thinned, some, false, err) || !x->add(x, thinned, some, true, err))
			return false;
		thinned->share[thinned->n++] = (double)some / (double)n;
		last = some;
	}
	add_counts(thinned, all, 1);
	thinned->share[thinned->n++] = 1;
	return true;
}

bool al_thinned_find(struct al_thinned *thinned, const struct al_heads *heads,
	const struct al_triangles *triangles, const struct al_spectra *all, struct al_error *err)
{
	AL_SCRATCH(scratch);
	double *weights = al_take_array(&scratch, heads->n_kv_heads, sizeof(*weights), err);
	struct counter x = {.add = add_drawn,
		.heads = heads,
		.triangles = triangles,
		.weights = weights};

	for (size_t g = 0; weights && g < heads->n_kv_heads; g++)
		if (!weigh(triangles, g, &weights[g], err))
			return false;
	return weights && count_parts(&x, thinned, all, err);
}

/* ---- computed ---- */

/* Some of the heads, of one unfolding or the other. */
struct part {
	struct counter *counter;
	struct al_thinned *thinned;
	size_t n;
	bool is_lighter;
};

/* Their columns, and how many components they fill together. */
static bool add_unfolding(void *context, size_t unfolding, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct part *part = context;
	struct counter *x = part->counter;
	const struct al_view from = x->spectra[unfolding];
	const size_t n = part->n, each = from.cols / x->heads->n_kv_heads;
	const size_t height = (unfolding == 0 ? x->heads->query : x->heads->key).rows;
	struct al_matrix chosen, values;
	bool is_found;

	if (!al_take(&scratch, &chosen, from.rows, each * n, err)
		|| !al_take(&scratch, &values, al_least(from.rows * each * n, height), 1, err))
		return false;
	for (size_t k = 0; k < n; k++) {
		const size_t head =
			x->sorted[middle_of(k, n, x->heads->n_kv_heads, part->is_lighter)];
		if (!al_copy(al_columns(from, head * each, each),
			    al_part(chosen, 0, k * each, from.rows, each), err))
			return false;
	}
	if (!al_free_sum(AL_FREE_BESIDE, al_view(chosen), height, values.data, values.rows,
		    &is_found, err))
		return false;
	if (is_found)
		part->thinned->n90[unfolding][part->thinned->n] +=
			al_components_between(values.data, values.rows, .9) / 2;
	x->is_found[unfolding] = x->is_found[unfolding] && is_found;
	return true;
}

static bool add_computed(struct counter *x, struct al_thinned *thinned, size_t n, bool is_lighter,
	struct al_error *err)
{
	struct part part = {x, thinned, n, is_lighter};

	return al_parallel(AL_N_UNFOLDINGS, add_unfolding, &part, err);
}

bool al_thinned_compute(struct al_thinned *thinned, const struct al_heads *shape,
	struct al_view queries, struct al_view keys, const struct al_spectra *all, bool *is_found,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = shape->n_kv_heads;
	double *weights = al_take_array(&scratch, n, sizeof(*weights), err);
	struct counter x = {.add = add_computed,
		.heads = shape,
		.weights = weights,
		.spectra = {queries, keys},
		.is_found = {true, true}};

	for (size_t g = 0; weights && g < n; g++) {
		const struct al_view values = al_columns(keys, g, 1);
		weights[g] = al_inner(values, values);
	}
	if (!weights || !count_parts(&x, thinned, all, err))
		return false;
	*is_found = x.is_found[0] && x.is_found[1];
	return true;
}

/* ---- redundancy ---- */

/* The parabola through (0, 0), (x1, y1), (x2, y2), at x; 0 <= x1 < x2. */
static double parabola(double x1, double y1, double x2, double y2, double x)
{
	return y1 * x * (x - x2) / (x1 * (x1 - x2)) + y2 * x * (x - x1) / (x2 * (x2 - x1));
}

/* The share of a draw's heads that have n components: between the parts that were counted on the
 * parabola through the next ones and the one before; beyond all heads as far as it would be short
 * of them, so that what differs by chance is 0 in the mean. */
static double share_of(const struct al_thinned *draw, const double *n90, double n)
{
	const size_t last = draw->n - 1;
	double x0 = 0, y0 = 0;
	size_t k = 0;

	if (n90[last] <= 0)
		return 1;
	if (n > n90[last])
		return 2 - share_of(draw, n90, fmax(2 * n90[last] - n, 0));
	if (n == n90[last] || last == 0)
		return n / n90[last];
	while (k + 2 < draw->n && n > n90[k + 1]) {
		x0 = n90[k];
		y0 = draw->share[k++];
	}
	if (!(n90[k] > x0) || !(n90[k + 1] > n90[k]))
		return n / n90[last];
	const double share = y0
		+ parabola(n90[k] - x0, draw->share[k] - y0, n90[k + 1] - x0,
			draw->share[k + 1] - y0, n - x0);
	return fmin(fmax(share, y0), draw->share[k + 1]);
}

double al_redundancy(const struct al_spectra *module, const struct al_spectra *draw,
	const struct al_thinned *thinned)
{
	double sum = 0;

	for (int i = 0; i < AL_N_UNFOLDINGS; i++) {
		const double all = thinned->n90[i][thinned->n - 1], own = count(draw, i);
		const double n = own > 0 ? count(module, i) * all / own : 0;
		sum += 1 - share_of(thinned, thinned->n90[i], n);
	}
	return sum / AL_N_UNFOLDINGS;
}

void al_drawn_finish(struct al_drawn *drawn)
{
	al_triangles_finish(&drawn->triangles);
}
