/* Keys of a group of key/value heads as one, queries turned with them.
 *
 * What counts of a head is Q K^T: K R and Q R^-T are the same head. Of common keys K' = sum K_j M_j
 * and queries Q_h W_j the error of head h is tr(P_h D), P_h = Q_h^T C Q_h and D the Gram matrix of
 * K_j - K' W_j^T. Dimensions that turn with the position keep to their planes: M_j and W_j are
 * complex numbers there, which no turn changes, and P_h is its mean over all turns.
 *
 * The best K' are leading eigenvectors of sum K_j P_j K_j^T. */

#include "audit/rotary.h"
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

static bool stack(struct keys *k, enum al_projection p, struct al_error *err)
{
	const struct al_matrix weights = k->w->weights[p], bias = k->w->biases[p];

	return al_take(k->scratch, &k->of[p], weights.rows + bias.rows, weights.cols, err)
		&& al_copy(al_view(weights), al_part(k->of[p], 0, 0, weights.rows, weights.cols),
			err)
		&& (!bias.data
			|| al_copy(al_view(bias),
				al_part(k->of[p], weights.rows, 0, bias.rows, bias.cols), err));
}

/* C times queries or keys. */
static bool weigh(const struct keys *k, enum al_projection p, enum al_weighting measure,
	struct al_matrix *out, struct al_error *err)
{
	struct al_work w = *k->w;
	AL_OWNED struct al_matrix moment = {0};

	w.measure = measure;
	return al_work_moment(&w, w.weights[p].rows, w.biases[p].data, &moment, err)
		&& al_product(AL_PLAIN, al_view(moment), AL_PLAIN, al_view(k->of[p]), out, err);
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

/* Keys don't use the weights of values. */
static enum al_weighting measure_of_keys(const struct al_work *w)
{
	if (w->measure <= AL_MEASURE_CENTERED)
		return w->measure;
	return w->a->is_rotary ? AL_MEASURE_INPUTS : AL_MEASURE_CENTERED;
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
	return stack(k, AL_QUERY, err) && stack(k, AL_KEY, err)
		&& find_weights(k, of_keys == AL_MEASURE_CENTERED ? AL_MEASURE_INPUTS : of_keys,
			err)
		&& find_gram(k, of_keys, err)
		&& al_take(k->scratch, &k->map, k->size * k->d, k->d, err)
		&& al_take(k->scratch, &k->way, k->size * k->d, k->d, err);
}

/* ---- a plane ---- */

/* k_i^H C k_j of the plane's columns as complex numbers, of heads i and j of the group. */
static struct al_complex plane_product(const struct keys *k, const size_t at[2], size_t i, size_t j)
{
	const struct al_view gram = al_view(k->gram);

	return al_pair_product(gram, (k->first + i) * k->d, (k->first + j) * k->d,
		(struct al_rotary_pair){at[0], at[1]});
}

/* q^H C q of the queries of the group's head i. */
static double plane_weight(const struct keys *k, const size_t at[2], size_t i)
{
	return 2 * k->weights.data[at[0] + ((k->first + i) * k->d + at[0]) * k->weights.ld];
}

/* A complex number as what it makes of the plane's two columns. */
static void set_plane(const struct keys *k, struct al_matrix m, const size_t at[2], size_t i,
	struct al_complex c)
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
	struct al_matrix h, values;
	AL_SCRATCH(scratch);

	if (!al_take(&scratch, &h, 2 * n, 2 * n, err) || !al_take(&scratch, &values, 2 * n, 1, err))
		return false;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < n; i++) {
			const struct al_complex c = plane_product(k, at, i, j);
			const double root = sqrt(plane_weight(k, at, i) * plane_weight(k, at, j));
			h.data[i + j * h.ld] = h.data[n + i + (n + j) * h.ld] = root * c.re;
			h.data[n + i + j * h.ld] = root * c.im;
			h.data[i + (n + j) * h.ld] = -root * c.im;
		}
	if (!al_eigenvectors(h, values.data, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct al_complex u = {h.data[i], h.data[n + i]};
		const double root = sqrt(plane_weight(k, at, i)), inverse = root > 0 ? 1 / root : 0;
		set_plane(k, k->map, at, i, (struct al_complex){root * u.re, root * u.im});
		set_plane(k, k->way, at, i, (struct al_complex){inverse * u.re, inverse * u.im});
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

	if (!al_roots_take(scratch, r, k->size, n, err))
		return false;
	for (size_t i = 0; i < k->size; i++) {
		const struct al_matrix own = al_part(k->weights, from, (k->first + i) * k->d + from,
			n, n);
		AL_OWNED struct al_matrix p = {0};
		if (!al_duplicate(al_view(own), &p, err)
			|| !al_symmetric_roots(p, 0, r->root[i], r->inverse[i], err))
			return false;
	}
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

/* ---- a group ---- */

static bool find_maps(struct keys *k, struct al_error *err)
{
	size_t at[2];

	for (size_t plane = 0; plane < k->n_planes; plane++) {
		find_plane(k, plane, at);
		if (!join_plane(k, at, err))
			return false;
	}
	return 2 * k->n_planes == k->d || join_rest(k, err);
}

/* tr(P_i D_i) of the group's head i, D_i the Gram matrix of K_i - K' W_i^T = K X. */
static bool add_error(struct keys *k, size_t i, struct al_error *err)
{
	const size_t d = k->d, n = k->size * d, at = k->first * d;
	const struct al_view gram = al_view(al_part(k->gram, at, at, n, n));
	const struct al_view weights = al_columns(al_view(k->weights), at + i * d, d);
	AL_OWNED struct al_matrix x = {0}, y = {0}, z = {0};
	bool ok = al_matrix_init(&x, n, d, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, -1, al_view(k->map),
			al_view(al_part(k->way, i * d, 0, d, d)), 0, x, err);

	for (size_t j = 0; ok && j < d; j++)
		x.data[i * d + j + j * x.ld] += 1;
	ok = ok && al_product(AL_PLAIN, gram, AL_PLAIN, al_view(x), &y, err)
		&& al_product(AL_TRANSPOSED, al_view(x), AL_PLAIN, al_view(y), &z, err);
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
	const size_t rows = k->w->weights[p].rows, has_bias = from.rows - rows;
	struct al_matrix *bias = &out->of[AL_PIECE_QUERY_BIAS + (int)p];

	return al_duplicate(al_view(al_part(from, 0, 0, rows, from.cols)), &out->of[p], err)
		&& (!has_bias
			|| al_duplicate(al_view(al_part(from, rows, 0, 1, from.cols)), bias, err));
}

bool al_work_group_keys(struct al_work *w, struct al_pieces *out, struct al_error *err)
{
	const size_t left = (size_t)w->layout->rank;
	AL_SCRATCH(scratch);
	struct al_matrix keys, queries;
	struct keys k;
	bool ok = init(&k, &scratch, w, left, err)
		&& al_take(&scratch, &keys, k.of[AL_KEY].rows, left * k.d, err)
		&& al_take(&scratch, &queries, k.of[AL_QUERY].rows, k.of[AL_QUERY].cols, err);

	for (; ok && k.first < w->n_kv; k.first += k.size) {
		ok = find_maps(&k, err) && apply(&k, keys, queries, err);
		for (size_t i = 0; ok && i < k.size; i++)
			ok = add_error(&k, i, err);
	}
	out->relative_error = k.whole > 0 ? sqrt(fmax(0, k.lost) / k.whole) : 0;
	return ok && split(&k, AL_KEY, keys, out, err) && split(&k, AL_QUERY, queries, out, err);
}
