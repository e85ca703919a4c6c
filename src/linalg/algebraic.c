/* The algebraic start: terms of a layer that is exactly collaborative, from one eigenproblem.
 *
 * Heads compressed to R x R are core_i = X diag(m_i) Y^T for square X and Y, so that for two
 * mixtures S_1 and S_2 of them S_1 S_2^-1 = X diag(d) X^-1: its eigenvectors are X (Leurgans, Ross
 * & Abel 1993). Then row r of X^-1 core_i is m_ir y_r^T: a matrix of rank one over i. Where the
 * layer isn't exactly collaborative its best such matrix is taken, and the start is as good as it
 * happens to be. */

#include "base/random.h"
#include "linalg/internal.h"
#include "linalg/start.h"
#include "linalg/tucker.h"

struct algebra {
	const struct al_tucker *tucker;
	size_t rank, n_heads, n_kv_heads, d_head;
	struct al_matrix first, second; /* S_2^T, S_1^T; then triangles, and (S_1 S_2^-1)^T */
	struct al_matrix group; /* core_query mixed over the heads of a key head */
	struct al_matrix vectors; /* X */
	struct al_matrix inverse; /* X^-1 core_query, [R][n_heads*d_head] */
	struct al_matrix pairs; /* products of rows r of X^-1 core_i, core_j, [R][n*n] */
	struct al_matrix mixing; /* [n_heads][R] */
};

static bool algebra_init(struct al_scratch *scratch, struct algebra *x, const struct al_tucker *t,
	struct al_error *err)
{
	const size_t r = t->query.cols, n = t->n_heads;

	*x = (struct algebra){.tucker = t,
		.rank = r,
		.n_heads = n,
		.n_kv_heads = t->n_kv_heads,
		.d_head = t->core_query.cols / n};
	return al_take(scratch, &x->first, r, r, err) && al_take(scratch, &x->second, r, r, err)
		&& al_take(scratch, &x->group, r, t->core_key.cols, err)
		&& al_take(scratch, &x->vectors, r, r, err)
		&& al_take(scratch, &x->inverse, r, t->core_query.cols, err)
		&& al_take(scratch, &x->pairs, r, n * n, err)
		&& al_take(scratch, &x->mixing, n, r, err);
}

static bool fail_none(struct al_error *err)
{
	return al_fail(err, AL_ENO,
		"no algebraic start: the rank exceeds the heads' multilinear rank");
}

/* ---- the eigenproblem ---- */

/* (sum_i w_i core_i)^T for Gaussian w. */
static bool mix(struct algebra *x, struct al_random *random, struct al_matrix out,
	struct al_error *err)
{
	const struct al_matrix core = x->tucker->core_query;
	const size_t d = x->d_head, n_sharing = x->n_heads / x->n_kv_heads;

	memset(x->group.data, 0, x->group.ld * x->group.cols * sizeof(double));
	for (size_t i = 0; i < x->n_heads; i++) {
		double weight;
		al_random_gaussian(random, &weight, 1);
		for (size_t j = 0; j < d; j++)
			for (size_t r = 0; r < x->rank; r++)
				x->group.data[r + (i / n_sharing * d + j) * x->group.ld] += weight
					* core.data[r + (i * d + j) * core.ld];
	}
	return al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(x->tucker->core_key), al_view(x->group),
		0, out, err);
}

/* Beyond this condition S_2 is singular. */
static const double MOST_CONDITION = 1e13;

/* second = first^-1 second */
static bool divide(struct algebra *x, lapack_int *pivots, struct al_error *err)
{
	const lapack_int n = al_int(x->rank), ld = al_int(x->first.ld);
	const double norm = LAPACKE_dlange(LAPACK_COL_MAJOR, '1', n, n, x->first.data, ld);
	double reciprocal;
	lapack_int info = LAPACKE_dgetrf(LAPACK_COL_MAJOR, n, n, x->first.data, ld, pivots);

	if (info > 0)
		return fail_none(err);
	if (!al_check_info("dgetrf", info, err)
		|| !al_check_info("dgecon",
			LAPACKE_dgecon(LAPACK_COL_MAJOR, '1', n, x->first.data, ld, norm,
				&reciprocal),
			err))
		return false;
	if (reciprocal * MOST_CONDITION < 1)
		return fail_none(err);
	return al_check_info("dgetrs",
		LAPACKE_dgetrs(LAPACK_COL_MAJOR, 'N', n, n, x->first.data, ld, pivots,
			x->second.data, al_int(x->second.ld)),
		err);
}

/* The left eigenvectors of (S_1 S_2^-1)^T. A complex pair, which rounding makes of two equal real
 * eigenvalues, stays as its real and imaginary part: they span the same plane. */
static bool find_vectors(struct algebra *x, double *values, struct al_error *err)
{
	const lapack_int n = al_int(x->rank);
	const lapack_int info = LAPACKE_dgeev(LAPACK_COL_MAJOR, 'V', 'N', n, x->second.data,
		al_int(x->second.ld), values, values + x->rank, x->vectors.data,
		al_int(x->vectors.ld), NULL, 1);

	if (info > 0)
		return al_fail(err, AL_ENO, "no algebraic start: its eigenvalues did not converge");
	return al_check_info("dgeev", info, err)
		&& al_check_finite("algebraic start", al_view(x->vectors), err);
}

/* inverse = X^-1 core_query */
static bool invert(struct algebra *x, lapack_int *pivots, struct al_error *err)
{
	const lapack_int n = al_int(x->rank);

	if (!al_copy(al_view(x->vectors), x->first, err)
		|| !al_copy(al_view(x->tucker->core_query), x->inverse, err))
		return false;
	const lapack_int info = LAPACKE_dgesv(LAPACK_COL_MAJOR, n, al_int(x->inverse.cols),
		x->first.data, al_int(x->first.ld), pivots, x->inverse.data, al_int(x->inverse.ld));
	if (info > 0 || (info == 0 && !al_is_finite(al_view(x->inverse))))
		return al_fail(err, AL_ENO, "no algebraic start: its eigenvectors are dependent");
	return al_check_info("dgesv", info, err);
}

static bool solve(struct algebra *x, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix values;
	lapack_int *pivots = al_take_array(&scratch, x->rank, sizeof(*pivots), err);

	if (!pivots || !al_take(&scratch, &values, x->rank, 2, err))
		return false;
	al_blas_hold();
	const bool done = divide(x, pivots, err) && find_vectors(x, values.data, err)
		&& invert(x, pivots, err);
	al_blas_release();
	return done;
}

/* ---- rank one over the heads ---- */

/* pairs[r][i, j] = x_ir G_ij x_jr^T, with x_ir row r of X^-1 core_query's block i and G_ij the
 * block of core_key^T core_key. */
static void sum_pairs(struct algebra *x, size_t i, struct al_matrix weighted)
{
	const size_t d = x->d_head, n_sharing = x->n_heads / x->n_kv_heads;

	for (size_t j = 0; j < x->n_heads; j++) {
		double *sum = x->pairs.data + (i + j * x->n_heads) * x->pairs.ld;
		for (size_t k = 0; k < d; k++) {
			const double *left = weighted.data + (j / n_sharing * d + k) * weighted.ld;
			const double *right = x->inverse.data + (j * d + k) * x->inverse.ld;
			for (size_t r = 0; r < x->rank; r++)
				sum[r] += left[r] * right[r];
		}
	}
}

static bool pair_head(void *context, size_t i, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct algebra *x = context;
	const struct al_view key = al_view(x->tucker->core_key);
	const size_t d = x->d_head, kv_head = i * x->n_kv_heads / x->n_heads;
	struct al_matrix gram, weighted;

	if (!al_take_product(&scratch, AL_TRANSPOSED, al_columns(key, kv_head * d, d), AL_PLAIN,
		    key, &gram, err)
		|| !al_take_product(&scratch, AL_PLAIN, al_columns(al_view(x->inverse), i * d, d),
			AL_PLAIN, al_view(gram), &weighted, err))
		return false;
	sum_pairs(x, i, weighted);
	return true;
}

/* Column r of the mixing: the leading eigenvector over the heads. */
static bool mix_term(void *context, size_t r, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct algebra *x = context;
	const size_t n = x->n_heads;
	struct al_matrix gram;
	double value;

	if (!al_take(&scratch, &gram, n, n, err))
		return false;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < n; i++)
			gram.data[i + j * n] = x->pairs.data[r + (i + j * n) * x->pairs.ld];
	return al_eigenvectors_top(gram, &value, al_part(x->mixing, 0, r, n, 1), err);
}

/* Y = core_key weights, with weights the rows of X^-1 core_query mixed over heads: [n_kv*d][R]. */
static void weigh(const struct algebra *x, struct al_matrix weights)
{
	const size_t d = x->d_head, n_sharing = x->n_heads / x->n_kv_heads;

	for (size_t r = 0; r < x->rank; r++)
		for (size_t i = 0; i < x->n_heads; i++)
			for (size_t k = 0; k < d; k++)
				weights.data[i / n_sharing * d + k + r * weights.ld] +=
					x->mixing.data[i + r * x->mixing.ld]
					* x->inverse.data[r + (i * d + k) * x->inverse.ld];
}

static bool write_terms(struct algebra *x, struct al_cp_terms *terms, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_tucker *t = x->tucker;
	struct al_matrix weights;

	if (!al_take(&scratch, &weights, t->core_key.cols, x->rank, err))
		return false;
	weigh(x, weights);
	return al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(t->core_key), al_view(weights), 0, x->first,
		       err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(t->key), al_view(x->first), 0, terms->key,
			err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(t->query), al_view(x->vectors), 0,
			terms->query, err)
		&& al_copy(al_view(x->mixing), terms->mixing, err);
}

static bool start(const struct al_tucker *tucker, uint64_t seed, struct al_cp_terms *terms,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_random *random = al_random_create(seed, 0, 0, 1);
	struct algebra x;

	bool done = algebra_init(&scratch, &x, tucker, err) && mix(&x, random, x.first, err)
		&& mix(&x, random, x.second, err) && solve(&x, err)
		&& al_parallel(x.n_heads, pair_head, &x, err)
		&& al_parallel(x.rank, mix_term, &x, err) && write_terms(&x, terms, err);
	al_random_destroy(random);
	return done;
}

/* ---- heads of fewer dimensions than terms ---- */

/* Rows of the cores below this part of all energy are rounding. */
static const double ROUNDING = 1e-20, ROUNDING_SINGLE = 1e-11;

/* Adds what each row of own_i other_g^T holds: energies[r] += x_r G x_r^T. */
static bool add_energies(struct al_view own, struct al_view other, double *energies,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix gram, weighted;

	if (!al_take_gram(&scratch, AL_TRANSPOSED, other, &gram, err)
		|| !al_take_product(&scratch, AL_PLAIN, own, AL_PLAIN, al_view(gram), &weighted,
			err))
		return false;
	for (size_t j = 0; j < own.cols; j++)
		for (size_t r = 0; r < own.rows; r++)
			energies[r] += weighted.data[r + j * weighted.ld]
				* own.data[r + j * own.ld];
	return true;
}

static size_t count_filled(const double *energies, size_t n, double part)
{
	double total = 0;

	for (size_t r = 0; r < n; r++)
		total += energies[r];
	while (n > 1 && !(energies[n - 1] > part * total))
		n--;
	return n;
}

/* The rows of the cores are in the order of what they hold; those after `rank` hold rounding
 * alone. */
static bool find_filled(const struct al_tucker *t, double part, size_t *rank, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_view query = al_view(t->core_query), key = al_view(t->core_key);
	const size_t d = query.cols / t->n_heads, n_sharing = t->n_heads / t->n_kv_heads;
	struct al_matrix energies;

	if (!al_take(&scratch, &energies, query.rows, 2, err))
		return false;
	for (size_t i = 0; i < t->n_heads; i++) {
		const struct al_view q = al_columns(query, i * d, d);
		const struct al_view k = al_columns(key, i / n_sharing * d, d);
		if (!add_energies(q, k, energies.data, err)
			|| !add_energies(k, q, energies.data + energies.ld, err))
			return false;
	}
	const size_t of_query = count_filled(energies.data, query.rows, part);
	const size_t of_key = count_filled(energies.data + energies.ld, query.rows, part);
	*rank = al_most(of_query, of_key);
	return true;
}

/* The leading `rank` of the bases, views of them. */
static struct al_tucker lead(const struct al_tucker *t, size_t rank)
{
	struct al_tucker out = *t;

	out.query.cols = out.key.cols = rank;
	out.core_query.rows = out.core_key.rows = rank;
	return out;
}

static struct al_cp_terms lead_terms(const struct al_cp_terms *terms, size_t rank)
{
	struct al_cp_terms out = *terms;

	out.query.cols = out.key.cols = out.mixing.cols = rank;
	return out;
}

/* With more terms than the heads fill, mixtures of the compressed heads can't be divided: the terms
 * that are needed are found, the others are zero. */
static bool start_filled(const struct al_tucker *tucker, bool is_single, uint64_t seed,
	struct al_cp_terms *terms, struct al_error *err)
{
	size_t rank;

	if (!find_filled(tucker, is_single ? ROUNDING_SINGLE : ROUNDING, &rank, err))
		return false;
	const struct al_tucker filled = lead(tucker, rank);
	struct al_cp_terms first = lead_terms(terms, rank);
	return start(&filled, seed, &first, err);
}

bool al_start_algebraic(const struct al_heads *heads, uint64_t seed, struct al_cp_terms *terms,
	struct al_error *err)
{
	const struct al_tucker_bounds bounds = al_tucker_bounds(heads);
	const size_t rank = terms->query.cols;
	const struct al_tucker_options options = {.query_rank = rank,
		.key_rank = rank,
		.seed = seed};
	struct al_tucker tucker = {.n_heads = 0};

	if (rank > bounds.query || rank > bounds.key)
		return fail_none(err);
	bool done = al_tucker(heads, &options, &tucker, err)
		&& start_filled(&tucker, al_heads_shape(heads).is_single, seed, terms, err);
	al_tucker_finish(&tucker);
	return done;
}
