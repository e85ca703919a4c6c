/* Conversions to multiple-head embeddings: one projection for all heads, and a vector for each head
 * that is added to it or multiplied with it (Xue & Aletras 2023, arXiv:2310.07911, sections 3.2
 * and 3.3).
 *
 * Both are Q'_i = M diag(e_i), M = sum of Q_b diag(e_b): added embeddings, whose best shared
 * projection is the mean, with all e = n^-1/2. */
#include "audit/convert.h"

#include "linalg/cp.h"

/* ---- what heads become ---- */

/* Column j of all heads, [rows][n], at rank one. */
static bool set_multiples(struct al_view heads, size_t n, size_t width, size_t j,
	struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_view columns = {heads.data + j * heads.ld, heads.rows, n, width * heads.ld};
	const struct al_matrix target = {out.data + j * out.ld, out.rows, n, width * out.ld};
	struct al_matrix gram, e, common;
	double value;

	return al_take(&scratch, &e, n, 1, err)
		&& al_take_gram(&scratch, AL_TRANSPOSED, columns, &gram, err)
		&& al_eigenvectors_top(gram, &value, e, err)
		&& al_take_product(&scratch, AL_PLAIN, columns, AL_PLAIN, al_view(e), &common, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(common), al_view(e), 0, target, err);
}

static bool convert(struct al_scratch *scratch, struct al_view heads, size_t n, size_t width,
	enum al_embedding kind, struct al_matrix *out, struct al_error *err)
{
	size_t *all = al_take_array(scratch, n, sizeof(*all), err);

	if (!all || !al_take(scratch, out, heads.rows, heads.cols, err))
		return false;
	for (size_t i = 0; i < n; i++)
		all[i] = i;
	if (kind == AL_EMBEDDING_ADD)
		al_mean_heads(heads, width, all, n, *out);
	for (size_t j = 0; kind == AL_EMBEDDING_MUL && j < width; j++)
		if (!set_multiples(heads, n, width, j, *out, err))
			return false;
	return true;
}

/* ---- the error of a form both sides of which change ----
 *
 * Q K^T - Q' K'^T = D K^T + Q' E^T = [D, Q'] [K, E]^T for what is lost, D = Q - Q' and E = K - K',
 * whose squared norm is the inner product of the two sides' Gram matrices: every term vanishes with
 * D and E. */

/* Of [D, Q'] or of [K, E], from what a head's side was and what it becomes. */
static bool side_gram(struct al_scratch *scratch, struct al_view was, struct al_view becomes,
	bool is_query, struct al_matrix *gram, struct al_error *err)
{
	AL_SCRATCH(room);
	struct al_matrix side;

	if (!al_take(&room, &side, was.rows, 2 * was.cols, err))
		return false;
	for (size_t j = 0; j < was.cols; j++)
		for (size_t i = 0; i < was.rows; i++) {
			const double own = was.data[i + j * was.ld];
			const double kept = becomes.data[i + j * becomes.ld];
			side.data[i + j * side.ld] = is_query ? own - kept : own;
			side.data[i + (was.cols + j) * side.ld] = is_query ? kept : own - kept;
		}
	return al_take_gram(scratch, AL_TRANSPOSED, al_view(side), gram, err);
}

static bool forms_error(const struct al_heads *heads, struct al_matrix q, struct al_matrix k,
	double norm, double *error, struct al_error *err)
{
	const size_t n = heads->d_head;
	double sum = 0;

	for (size_t at = 0; at < heads->n_heads * n; at += n) {
		AL_SCRATCH(scratch);
		struct al_matrix queries, keys;
		if (!side_gram(&scratch, al_columns(heads->query, at, n),
			    al_columns(al_view(q), at, n), true, &queries, err)
			|| !side_gram(&scratch, al_columns(heads->key, at, n),
				al_columns(al_view(k), at, n), false, &keys, err))
			return false;
		sum += al_inner(al_view(queries), al_view(keys));
	}
	*error = sqrt(fmax(sum, 0)) / norm;
	return true;
}

bool al_convert_embedding(const struct al_heads *heads, const struct al_stack *keys,
	const struct al_stack *values, enum al_embedding kind, double errors[2],
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix q, k, v;

	return convert(&scratch, heads->query, heads->n_heads, heads->d_head, kind, &q, err)
		&& convert(&scratch, heads->key, heads->n_heads, heads->d_head, kind, &k, err)
		&& forms_error(heads, q, k, keys->norm, &errors[0], err)
		&& (!values
			|| (convert(&scratch, heads->value, heads->n_heads, heads->d_value, kind,
				    &v, err)
				&& al_stack_error(values, al_view(v), &errors[1], err)));
}

/* ---- multiplied in the best basis: a canonical polyadic decomposition at width d_head ---- */

/* A layer that is collaborative but for noise leaves less than this. */
static const double NOISE = .5;

static bool decompose(const struct al_heads *heads, struct al_cp_options *options, double *error,
	struct al_error *err)
{
	struct al_cp cp;

	if (!al_cp(heads, options, &cp, err))
		return false;
	*error = cp.relative_error;
	al_cp_finish(&cp);
	return true;
}

/* Fails where squares of the weights leave single precision's range. */
static bool decompose_narrowed(const struct al_heads *heads, struct al_cp_options *options,
	double *error)
{
	AL_SCRATCH(scratch);
	struct al_heads narrow;

	return al_heads_narrow(&scratch, heads, &narrow, NULL)
		&& decompose(&narrow, options, error, NULL);
}

bool al_convert_collaborative(const struct al_heads *heads, double least_error, uint64_t seed,
	double *error, struct al_error *err)
{
	struct al_cp_options options = {.rank = al_least(heads->d_head, al_cp_bound(heads)),
		.n_sweeps = AL_CP_SWEEPS,
		.stop = AL_CP_STOP,
		.seed = seed};

	if (least_error < NOISE)
		return decompose(heads, &options, error, err);
	options.start = AL_CP_GREEDY;
	return decompose_narrowed(heads, &options, error) || decompose(heads, &options, error, err);
}
