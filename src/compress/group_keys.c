/* Keys of a group of key/value heads as one, queries turned with them.
 *
 * What counts of a head is Q K^T: K R and Q R^-T are the same head. Of common keys K' = sum K_j M_j
 * and queries Q_h W_j the error of head h is tr(P_h D), P_h = Q_h^T C Q_h and D the Gram matrix of
 * K_j - K' W_j^T. Dimensions that turn with the position keep to their planes: M_j and W_j are
 * complex numbers there, which no turn changes, and P_h is its mean over all turns.
 *
 * The best K' are leading eigenvectors of sum K_j P_j K_j^T; aligned, each head's keys are turned
 * onto those of the group's first (Procrustes, arXiv:2412.20677) and averaged. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "compress/work.h"

struct keys {
	const struct al_work *w;
	struct al_matrix of[2]; /* queries and keys, [D][heads*d]; biases are a further row */
	struct al_matrix gram; /* of the keys, [n_kv*d] */
	struct al_matrix
		weights; /* P, [d][n_kv*d]: of a key/value head the sum over its queries' */
	struct al_matrix map, way; /* M and W of the group at hand, [size*d][d] */
	size_t d, size, n_planes, first; /* key/value heads [first, +size) */
	double lost, whole;
	struct al_scratch *scratch; /* theirs */
};

/* ---- in the measure ---- */

static bool load(struct keys *k, enum al_projection p, struct al_error *err)
{
	const struct al_attention *a = k->w->a;
	const struct al_checkpoint *checkpoint = k->w->view->checkpoint;
	AL_OWNED struct al_matrix weights = {0}, bias = {0};

	return al_factor_load(checkpoint, &a->factors[p], &weights, err)
		&& (a->biases[p].n_runs == 0
			|| al_factor_load(checkpoint, &a->biases[p], &bias, err))
		&& al_take(k->scratch, &k->of[p], weights.rows + bias.rows, weights.cols, err)
		&& al_copy(al_view(weights), al_part(k->of[p], 0, 0, weights.rows, weights.cols),
			err)
		&& (!bias.data
			|| al_copy(al_view(bias),
				al_part(k->of[p], weights.rows, 0, bias.rows, bias.cols), err));
}

/* E[(x, 1)^T (x, 1)], the 1 for a bias; what is centred doesn't see it. */
static bool find_moment(const struct al_work *w, size_t n, bool has_bias, struct al_matrix *out,
	struct al_error *err)
{
	AL_OWNED struct al_matrix of_inputs = {0};
	bool ok = al_work_moment(w, n, &of_inputs, err)
		&& al_matrix_init(out, n + has_bias, n + has_bias, err)
		&& al_copy(al_view(of_inputs), al_part(*out, 0, 0, n, n), err);

	if (!ok || !has_bias || w->measure == AL_MEASURE_CENTRED)
		return ok;
	out->data[n + n * out->ld] = 1;
	if (w->measure == AL_MEASURE_INPUTS) {
		const struct al_matrix sums = w->statistics->of[AL_STATISTIC_INPUTS];
		for (size_t i = 0; i < n; i++)
			out->data[i + n * out->ld] = out->data[n + i * out->ld] =
				sums.data[i + n * sums.ld] / al_statistics_tokens(w->statistics);
	}
	return true;
}

/* C times queries or keys. */
static bool weigh(const struct keys *k, enum al_projection p, enum al_weighting measure,
	struct al_matrix *out, struct al_error *err)
{
	struct al_work w = *k->w;
	AL_OWNED struct al_matrix moment = {0};
	const bool has_bias = w.a->biases[p].n_runs > 0;

	w.measure = measure;
	return find_moment(&w, k->of[p].rows - has_bias, has_bias, &moment, err)
		&& al_matrix_init(out, k->of[p].rows, k->of[p].cols, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(moment), al_view(k->of[p]), 0, *out, err);
}

/* The two columns of a plane, in a head. */
static void find_plane(const struct keys *k, size_t plane, size_t out[2])
{
	const bool is_halves = k->w->a->rotary_pairs == AL_PAIRS_HALVES;

	out[0] = is_halves ? plane : 2 * plane;
	out[1] = out[0] + (is_halves ? k->n_planes : 1);
}

/* The mean of P over all turns: nothing between planes, in each a multiple of 1. */
static void average(const struct keys *k, struct al_matrix p)
{
	size_t at[2];

	for (size_t j = 0; j < k->d; j++)
		for (size_t i = 0; i < k->d; i++)
			if (i != j && (i < 2 * k->n_planes || j < 2 * k->n_planes))
				p.data[i + j * p.ld] = 0;
	for (size_t plane = 0; plane < k->n_planes; plane++) {
		find_plane(k, plane, at);
		double *a = &p.data[at[0] * (p.ld + 1)], *b = &p.data[at[1] * (p.ld + 1)];
		*a = *b = (*a + *b) / 2;
	}
}

static bool find_weights(struct keys *k, enum al_weighting measure, struct al_error *err)
{
	const size_t d = k->d, group = k->w->group;
	AL_OWNED struct al_matrix weighed = {0};
	bool ok = weigh(k, AL_QUERY, measure, &weighed, err)
		&& al_take(k->scratch, &k->weights, d, k->w->n_kv * d, err);

	for (size_t head = 0; ok && head < k->w->n_kv * group; head++)
		ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1,
			al_columns(al_view(k->of[AL_QUERY]), head * d, d),
			al_columns(al_view(weighed), head * d, d), 1,
			al_part(k->weights, 0, head / group * d, d, d), err);
	for (size_t kv = 0; ok && kv < k->w->n_kv; kv++)
		average(k, al_part(k->weights, 0, kv * d, d, d));
	return ok;
}

static bool find_gram(struct keys *k, enum al_weighting measure, struct al_error *err)
{
	AL_OWNED struct al_matrix weighed = {0};

	return weigh(k, AL_KEY, measure, &weighed, err)
		&& al_take(k->scratch, &k->gram, weighed.cols, weighed.cols, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(k->of[AL_KEY]), al_view(weighed), 0,
			k->gram, err);
}

/* What values are weighed by is nothing to keys. */
static enum al_weighting measure_of_keys(const struct al_work *w)
{
	if (w->measure < AL_MEASURE_INPUTS || w->measure == AL_MEASURE_CENTRED)
		return w->measure;
	return w->measure == AL_MEASURE_INPUTS || w->a->is_rotary ? AL_MEASURE_INPUTS
								  : AL_MEASURE_CENTRED;
}

static bool init(struct keys *k, struct al_scratch *scratch, const struct al_work *w, size_t left,
	struct al_error *err)
{
	const enum al_weighting of_keys = measure_of_keys(w);

	*k = (struct keys){.w = w,
		.scratch = scratch,
		.d = (size_t)w->a->d_head,
		.size = w->n_kv / left,
		.n_planes = w->a->is_rotary ? (size_t)w->a->rotary_width / 2 : 0};
	return load(k, AL_QUERY, err) && load(k, AL_KEY, err)
		&& find_weights(k, of_keys == AL_MEASURE_CENTRED ? AL_MEASURE_INPUTS : of_keys, err)
		&& find_gram(k, of_keys, err)
		&& al_take(k->scratch, &k->map, k->size * k->d, k->d, err)
		&& al_take(k->scratch, &k->way, k->size * k->d, k->d, err);
}

/* ---- a plane ---- */

struct complex_number {
	double re, im;
};

/* k_i^H C k_j of the plane's columns as complex numbers, of heads i and j of the group. */
static struct complex_number plane_product(const struct keys *k, const size_t at[2], size_t i,
	size_t j)
{
	const size_t row = (k->first + i) * k->d, col = (k->first + j) * k->d;
	const double *g = k->gram.data;
	const size_t ld = k->gram.ld;

	return (struct complex_number){g[row + at[0] + (col + at[0]) * ld]
			+ g[row + at[1] + (col + at[1]) * ld],
		g[row + at[0] + (col + at[1]) * ld] - g[row + at[1] + (col + at[0]) * ld]};
}

/* q^H C q of the queries of the group's head i. */
static double plane_weight(const struct keys *k, const size_t at[2], size_t i)
{
	return 2 * k->weights.data[at[0] + ((k->first + i) * k->d + at[0]) * k->weights.ld];
}

/* A complex number as what it makes of the plane's two columns. */
static void set_plane(const struct keys *k, struct al_matrix m, const size_t at[2], size_t i,
	struct complex_number c)
{
	double *block = m.data + i * k->d;

	block[at[0] + at[0] * m.ld] = block[at[1] + at[1] * m.ld] = c.re;
	block[at[0] + at[1] * m.ld] = c.im;
	block[at[1] + at[0] * m.ld] = -c.im;
}

/* Leading eigenvector u of the Hermitian [sqrt(a_i a_j) k_i^H C k_j], as a real matrix of twice the
 * size: keys sum sqrt(a_i) u_i k_i, queries q u_i / sqrt(a_i). */
static bool join_plane(struct keys *k, const size_t at[2], struct al_error *err)
{
	const size_t n = k->size;
	double *values = al_calloc(2 * n, sizeof(*values));
	AL_OWNED struct al_matrix h = {0};
	bool ok = al_matrix_init(&h, 2 * n, 2 * n, err);

	for (size_t j = 0; ok && j < n; j++)
		for (size_t i = 0; i < n; i++) {
			const struct complex_number c = plane_product(k, at, i, j);
			const double root = sqrt(plane_weight(k, at, i) * plane_weight(k, at, j));
			h.data[i + j * h.ld] = h.data[n + i + (n + j) * h.ld] = root * c.re;
			h.data[n + i + j * h.ld] = root * c.im;
			h.data[i + (n + j) * h.ld] = -root * c.im;
		}
	ok = ok && al_eigenvectors(h, values, err);
	for (size_t i = 0; ok && i < n; i++) {
		const struct complex_number u = {h.data[i], h.data[n + i]};
		const double root = sqrt(plane_weight(k, at, i)), inverse = root > 0 ? 1 / root : 0;
		set_plane(k, k->map, at, i, (struct complex_number){root * u.re, root * u.im});
		set_plane(k, k->way, at, i,
			(struct complex_number){inverse * u.re, inverse * u.im});
	}
	free(values);
	return ok;
}

/* The turn that brings the head's keys nearest to the first one's. */
static bool align_plane(struct keys *k, const size_t at[2], struct al_error *err)
{
	const double share = 1 / (double)k->size;

	(void)err;
	for (size_t i = 0; i < k->size; i++) {
		const struct complex_number c = plane_product(k, at, 0, i);
		const double size = hypot(c.re, c.im);
		const struct complex_number turn = {size > 0 ? c.re / size : 1,
			size > 0 ? -c.im / size : 0};
		set_plane(k, k->map, at, i,
			(struct complex_number){share * turn.re, share * turn.im});
		set_plane(k, k->way, at, i, turn);
	}
	return true;
}

/* ---- what doesn't turn ---- */

/* Of the group's head i what isn't in a plane, in rows of map or way. */
static struct al_matrix rest_of(const struct keys *k, struct al_matrix m, size_t i)
{
	const size_t from = 2 * k->n_planes;

	return al_part(m, i * k->d + from, from, k->d - from, k->d - from);
}

static struct al_matrix rest_of_gram(const struct keys *k, size_t i, size_t j)
{
	const size_t from = 2 * k->n_planes;

	return al_part(k->gram, (k->first + i) * k->d + from, (k->first + j) * k->d + from,
		k->d - from, k->d - from);
}

static bool find_roots(struct al_scratch *scratch, const struct keys *k, struct al_output_roots *r,
	struct al_error *err)
{
	const size_t from = 2 * k->n_planes, n = k->d - from;
	AL_OWNED struct al_matrix p = {0};

	if (!al_matrix_init(&p, n, n, err) || !al_roots_take(scratch, r, k->size, n, err))
		return false;
	for (size_t i = 0; i < k->size; i++)
		if (!al_copy(al_view(al_part(k->weights, from, (k->first + i) * k->d + from, n, n)),
			    p, err)
			|| !al_symmetric_roots(p, 0, r->root[i], r->inverse[i], err))
			return false;
	return true;
}

/* Leading eigenvectors U of P^1/2 G P^1/2: keys K P^1/2 U, queries Q P^-1/2 U. */
static bool join_rest(struct keys *k, struct al_error *err)
{
	const size_t n = k->d - 2 * k->n_planes, all = k->size * n;
	struct al_output_roots r;
	struct al_matrix h, half, values;
	AL_SCRATCH(scratch);

	if (!find_roots(&scratch, k, &r, err) || !al_take(&scratch, &h, all, all, err)
		|| !al_take(&scratch, &half, n, n, err) || !al_take(&scratch, &values, all, 1, err))
		return false;
	for (size_t j = 0; j < k->size; j++)
		for (size_t i = 0; i < k->size; i++)
			if (!al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(r.root[i]),
				    al_view(rest_of_gram(k, i, j)), 0, half, err)
				|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(half),
					al_view(r.root[j]), 0, al_part(h, i * n, j * n, n, n), err))
				return false;
	if (!al_eigenvectors(h, values.data, err))
		return false;
	for (size_t i = 0; i < k->size; i++) {
		const struct al_view u = al_view(al_part(h, i * n, 0, n, n));
		if (!al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(r.root[i]), u, 0, rest_of(k, k->map, i),
			    err)
			|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(r.inverse[i]), u, 0,
				rest_of(k, k->way, i), err))
			return false;
	}
	return true;
}

static bool align_rest(struct keys *k, struct al_error *err)
{
	const size_t n = k->d - 2 * k->n_planes;
	double *values = al_calloc(n + 1, sizeof(*values));
	AL_OWNED struct al_matrix cross = {0}, left = {0}, right = {0};
	bool ok = al_matrix_init(&cross, n, n, err) && al_matrix_init(&left, n, n, err)
		&& al_matrix_init(&right, n, n, err);

	for (size_t i = 0; ok && i < k->size; i++)
		ok = al_copy(al_view(rest_of_gram(k, i, 0)), cross, err)
			&& al_svd(cross, left, values, right, err)
			&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(left), al_view(right), 0,
				rest_of(k, k->way, i), err)
			&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1 / (double)k->size, al_view(left),
				al_view(right), 0, rest_of(k, k->map, i), err);
	free(values);
	return ok;
}

/* ---- a group ---- */

static bool find_maps(struct keys *k, bool is_aligned, struct al_error *err)
{
	size_t at[2];

	for (size_t plane = 0; plane < k->n_planes; plane++) {
		find_plane(k, plane, at);
		if (!(is_aligned ? align_plane : join_plane)(k, at, err))
			return false;
	}
	return 2 * k->n_planes == k->d || (is_aligned ? align_rest : join_rest)(k, err);
}

/* tr(P_i D_i) of the group's head i, D_i the Gram matrix of K_i - K' W_i^T = K X. */
static bool add_error(struct keys *k, size_t i, struct al_error *err)
{
	const size_t d = k->d, n = k->size * d, at = k->first * d;
	const struct al_view gram = al_view(al_part(k->gram, at, at, n, n));
	const struct al_view weights = al_columns(al_view(k->weights), at + i * d, d);
	AL_OWNED struct al_matrix x = {0}, y = {0}, z = {0};
	bool ok = al_matrix_init(&x, n, d, err) && al_matrix_init(&y, n, d, err)
		&& al_matrix_init(&z, d, d, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, -1, al_view(k->map),
			al_view(al_part(k->way, i * d, 0, d, d)), 0, x, err);

	for (size_t j = 0; ok && j < d; j++)
		x.data[i * d + j + j * x.ld] += 1;
	ok = ok && al_gemm(AL_PLAIN, AL_PLAIN, 1, gram, al_view(x), 0, y, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(x), al_view(y), 0, z, err);
	if (ok) {
		k->lost += al_inner(al_view(z), weights);
		k->whole += al_inner(al_view(al_part(k->gram, at + i * d, at + i * d, d, d)),
			weights);
	}
	return ok;
}

/* ---- what comes of it ---- */

/* Common keys, and the queries of all heads of the group. */
static bool apply(const struct keys *k, struct al_matrix keys, struct al_matrix queries,
	struct al_error *err)
{
	const size_t d = k->d, group = k->w->group, first = k->first * group;
	bool ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
		al_columns(al_view(k->of[AL_KEY]), k->first * d, k->size * d), al_view(k->map), 0,
		al_part(keys, 0, k->first / k->size * d, keys.rows, d), err);

	for (size_t i = 0; ok && i < k->size * group; i++)
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
			al_columns(al_view(k->of[AL_QUERY]), (first + i) * d, d),
			al_view(al_part(k->way, i / group * d, 0, d, d)), 0,
			al_part(queries, 0, (first + i) * d, queries.rows, d), err);
	return ok;
}

/* The weights, and the bias in its further row. */
static bool split(const struct keys *k, enum al_projection p, struct al_matrix from,
	struct al_pieces *out, struct al_error *err)
{
	const bool has_bias = k->w->a->biases[p].n_runs > 0;
	const size_t rows = from.rows - has_bias;
	struct al_matrix *weights = &out->of[p], *bias = &out->of[AL_PIECE_QUERY_BIAS + (int)p];

	return al_matrix_init(weights, rows, from.cols, err)
		&& al_copy(al_view(al_part(from, 0, 0, rows, from.cols)), *weights, err)
		&& (!has_bias
			|| (al_matrix_init(bias, 1, from.cols, err)
				&& al_copy(al_view(al_part(from, rows, 0, 1, from.cols)), *bias,
					err)));
}

bool al_work_group_keys(const struct al_work *w, struct al_pieces *out, bool is_aligned,
	double *relative_error, struct al_error *err)
{
	const size_t left = (size_t)w->layout->rank;
	AL_SCRATCH(scratch);
	struct al_matrix keys, queries;
	struct keys k;
	bool ok = init(&k, &scratch, w, left, err)
		&& al_take(&scratch, &keys, k.of[AL_KEY].rows, left * k.d, err)
		&& al_take(&scratch, &queries, k.of[AL_QUERY].rows, k.of[AL_QUERY].cols, err);

	for (; ok && k.first < w->n_kv; k.first += k.size) {
		ok = find_maps(&k, is_aligned, err) && apply(&k, keys, queries, err);
		for (size_t i = 0; ok && i < k.size; i++)
			ok = add_error(&k, i, err);
	}
	ok = ok && split(&k, AL_KEY, keys, out, err) && split(&k, AL_QUERY, queries, out, err);
	*relative_error = k.whole > 0 ? sqrt(fmax(0, k.lost) / k.whole) : 0;
	return ok;
}
