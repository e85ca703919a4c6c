/* Redundancy: a module's unfoldings beside those of fewer independent heads. */
#include "audit/thinned.h"

#include <stdlib.h>
#include <string.h>

#include "audit/measures.h"
#include "base/memory.h"
#include "linalg/free_sum.h"

const enum al_spectrum al_unfoldings[AL_N_UNFOLDINGS] = {AL_SPECTRUM_QU, AL_SPECTRUM_KU};

enum { KINDS = AL_SPECTRUM_BIT(AL_SPECTRUM_QU) | AL_SPECTRUM_BIT(AL_SPECTRUM_KU) };

/* ---- which heads ---- */

struct weighed {
	size_t head;
	double weight;
};

/* The heaviest first; of equals the first. */
static int compare(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->head > y->head) - (x->head < y->head);
}

/* ||Q_i K_g^T||^2 over the queries of a key/value head. */
static bool weigh(const struct al_triangles *t, size_t kv_head, double *weight,
	struct al_error *err)
{
	const size_t group = t->shape.n_heads / t->shape.n_kv_heads;
	const struct al_view k = al_triangle_of(t, AL_KEY, kv_head);

	*weight = 0;
	for (size_t i = 0; i < group; i++) {
		const struct al_view q = al_triangle_of(t, AL_QUERY, kv_head * group + i);
		AL_OWNED struct al_matrix product = {0};
		if (!al_matrix_init(&product, q.rows, k.rows, err)
			|| !al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, q, k, 0, product, err))
			return false;
		*weight += al_inner(al_view(product), al_view(product));
	}
	return true;
}

/* Key/value heads, the heaviest first. */
static bool sort_heads(const struct al_triangles *t, struct weighed *heads, struct al_error *err)
{
	const size_t n = t->shape.n_kv_heads;

	for (size_t g = 0; g < n; g++) {
		heads[g].head = g;
		if (!weigh(t, g, &heads[g].weight, err))
			return false;
	}
	qsort(heads, n, sizeof(*heads), compare);
	return true;
}

/* ---- fewer heads ---- */

/* Some of the heads, copied. */
struct part {
	struct al_triangles triangles;
	struct al_matrix_f weights[AL_VALUE]; /* queries and keys */
	struct al_heads heads;
};

static void part_finish(struct part *part)
{
	for (int p = 0; p < AL_VALUE; p++)
		al_matrix_finish_f(&part->weights[p]);
	al_triangles_finish(&part->triangles);
}

static bool copy_head(struct part *part, const struct al_heads *heads, const struct al_triangles *t,
	enum al_projection p, size_t from, size_t to, struct al_error *err)
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

static bool copy_heads(struct part *part, const struct al_heads *heads,
	const struct al_triangles *t, const struct weighed *sorted, size_t n, bool is_lighter,
	struct al_error *err)
{
	const size_t group = heads->n_heads / heads->n_kv_heads;
	bool ok = true;

	for (size_t k = 0; ok && k < n; k++) {
		const size_t from = sorted[middle_of(k, n, heads->n_kv_heads, is_lighter)].head;
		ok = copy_head(part, heads, t, AL_KEY, from, k, err);
		for (size_t i = 0; ok && i < group; i++)
			ok = copy_head(part, heads, t, AL_QUERY, from * group + i, k * group + i,
				err);
	}
	return ok;
}

static bool part_init(struct part *part, const struct al_heads *heads, const struct al_triangles *t,
	const struct weighed *sorted, size_t n, bool is_lighter, struct al_error *err)
{
	const size_t group = heads->n_heads / heads->n_kv_heads;
	struct al_heads shape = t->shape;

	*part = (struct part){
		.heads = {.n_heads = n * group, .n_kv_heads = n, .d_head = heads->d_head}};
	shape.n_heads = n * group;
	shape.n_kv_heads = n;
	shape.query.cols = n * group * heads->d_head;
	shape.key.cols = n * heads->d_head;
	if (!al_triangles_init(&part->triangles, &shape, false, err)
		|| !al_matrix_init_f(&part->weights[AL_QUERY], shape.query.rows, shape.query.cols,
			err)
		|| !al_matrix_init_f(&part->weights[AL_KEY], shape.key.rows, shape.key.cols, err))
		return false;
	part->heads.query_f = al_view_f(part->weights[AL_QUERY]);
	part->heads.key_f = al_view_f(part->weights[AL_KEY]);
	return copy_heads(part, heads, t, sorted, n, is_lighter, err);
}

/* ---- counting ---- */

static double count(const struct al_spectra *spectra, int unfolding)
{
	const struct al_matrix values = spectra->values[al_unfoldings[unfolding]];

	return (double)al_components(values.data, values.rows, .9);
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
	const struct weighed *sorted;
	struct al_view spectra[AL_N_UNFOLDINGS];
	bool is_found;
};

static bool add_drawn(struct counter *x, struct al_thinned *thinned, size_t n, bool is_lighter,
	struct al_error *err)
{
	struct part part;
	struct al_spectra spectra = {0};
	bool ok = part_init(&part, x->heads, x->triangles, x->sorted, n, is_lighter, err)
		&& al_layer_spectra(&spectra, &part.heads, &part.triangles, KINDS, err);

	if (ok)
		add_counts(thinned, &spectra, 2);
	al_spectra_finish(&spectra);
	part_finish(&part);
	return ok;
}

/* A quarter, a half and all. */
static bool count_parts(struct counter *x, struct al_thinned *thinned, const struct al_spectra *all,
	struct al_error *err)
{
	const size_t n = x->heads->n_kv_heads;
	bool ok = true;

	*thinned = (struct al_thinned){0};
	for (size_t parts = 4, last = 0; ok && parts > 1; parts /= 2) {
		const size_t some = (n + parts / 2) / parts;
		if (some <= last || some >= n)
			continue;
		ok = x->add(x, thinned, some, false, err) && x->add(x, thinned, some, true, err);
		thinned->share[thinned->n++] = (double)some / (double)n;
		last = some;
	}
	if (ok)
		add_counts(thinned, all, 1);
	thinned->share[thinned->n++] = 1;
	return ok;
}

bool al_thinned_find(struct al_thinned *thinned, const struct al_heads *heads,
	const struct al_triangles *triangles, const struct al_spectra *all, struct al_error *err)
{
	struct weighed *sorted = al_calloc(heads->n_kv_heads, sizeof(*sorted));
	struct counter x = {.add = add_drawn,
		.heads = heads,
		.triangles = triangles,
		.sorted = sorted};
	bool ok = sort_heads(triangles, sorted, err) && count_parts(&x, thinned, all, err);

	free(sorted);
	return ok;
}

/* ---- computed ---- */

/* The chosen heads' columns of one unfolding, and how many components they fill together. */
static bool add_unfolding(struct counter *x, struct al_thinned *thinned, int unfolding, size_t n,
	bool is_lighter, struct al_error *err)
{
	const struct al_view from = x->spectra[unfolding];
	const size_t each = from.cols / x->heads->n_kv_heads;
	const size_t height = (unfolding == 0 ? x->heads->query : x->heads->key).rows;
	const size_t most = from.rows * each * n;
	AL_OWNED struct al_matrix chosen = {0}, values = {0};
	bool is_found,
		ok = al_matrix_init(&chosen, from.rows, each * n, err)
		&& al_matrix_init(&values, most < height ? most : height, 1, err);

	for (size_t k = 0; ok && k < n; k++) {
		const size_t head =
			x->sorted[middle_of(k, n, x->heads->n_kv_heads, is_lighter)].head;
		ok = al_copy(al_columns(from, head * each, each),
			al_part(chosen, 0, k * each, from.rows, each), err);
	}
	ok = ok
		&& al_free_sum(AL_FREE_BESIDE, al_view(chosen), height, values.data, values.rows,
			&is_found, err);
	if (ok && is_found)
		thinned->n90[unfolding][thinned->n] += (double)al_components(values.data,
							       values.rows, .9)
			/ 2;
	x->is_found = x->is_found && ok && is_found;
	return ok;
}

static bool add_computed(struct counter *x, struct al_thinned *thinned, size_t n, bool is_lighter,
	struct al_error *err)
{
	for (int i = 0; i < AL_N_UNFOLDINGS; i++)
		if (!add_unfolding(x, thinned, i, n, is_lighter, err))
			return false;
	return true;
}

bool al_thinned_compute(struct al_thinned *thinned, const struct al_heads *shape,
	struct al_view queries, struct al_view keys, const struct al_spectra *all, bool *is_found,
	struct al_error *err)
{
	const size_t n = shape->n_kv_heads;
	struct weighed *sorted = al_calloc(n, sizeof(*sorted));
	struct counter x = {.add = add_computed,
		.heads = shape,
		.sorted = sorted,
		.spectra = {queries, keys},
		.is_found = true};

	for (size_t g = 0; g < n; g++) {
		const struct al_view values = al_columns(keys, g, 1);
		sorted[g] = (struct weighed){g, al_inner(values, values)};
	}
	qsort(sorted, n, sizeof(*sorted), compare);
	bool ok = count_parts(&x, thinned, all, err);
	*is_found = x.is_found;
	free(sorted);
	return ok;
}

/* ---- redundancy ---- */

/* The parabola through (0, 0), (x1, y1), (x2, y2), at x; 0 <= x1 < x2. */
static double parabola(double x1, double y1, double x2, double y2, double x)
{
	return y1 * x * (x - x2) / (x1 * (x1 - x2)) + y2 * x * (x - x1) / (x2 * (x2 - x1));
}

/* The share of a draw's heads that have n components: beyond all heads in proportion, between the
 * parts that were counted on the parabola through the next ones and the one before. */
static double share_of(const struct al_thinned *draw, const double *n90, double n)
{
	const size_t last = draw->n - 1;
	double x0 = 0, y0 = 0;
	size_t k = 0;

	if (n90[last] <= 0)
		return 1;
	if (n >= n90[last] || last == 0)
		return n / n90[last];
	while (k + 2 < draw->n && n > n90[k + 1]) {
		x0 = n90[k];
		y0 = draw->share[k++];
	}
	if (!(n90[k] > x0) || !(n90[k + 1] > n90[k]))
		return n / n90[last];
	return y0
		+ parabola(n90[k] - x0, draw->share[k] - y0, n90[k + 1] - x0,
			draw->share[k + 1] - y0, n - x0);
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
