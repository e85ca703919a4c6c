/* Conversions to multiple-head embeddings: one projection for all heads, and a vector for each head
 * that is added to it or multiplied with it (Xue & Aletras 2023, arXiv:2310.07911, sections 3.2
 * and 3.3). The best projection for added ones is the mean. */
#include "audit/convert.h"

#include "audit/multiples.h"
#include "linalg/cp.h"
#include "linalg/sweep.h"

/* ---- what heads become ---- */

/* Column j of all heads, at rank one: its leading right singular vector. */
static bool find_multipliers(const struct al_multiples *x, size_t j, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix gram, e;
	double value;

	if (!al_take(&scratch, &gram, x->n, x->n, err) || !al_take(&scratch, &e, x->n, 1, err))
		return false;
	for (size_t i = 0; i < x->n; i++)
		for (size_t b = 0; b < x->n; b++)
			gram.data[b + i * x->n] =
				x->gram.data[b * x->width + j + (i * x->width + j) * x->gram.ld];
	if (!al_eigenvectors_top(gram, &value, e, err))
		return false;
	for (size_t i = 0; i < x->n; i++)
		x->weights[i * x->width + j] = x->multipliers[i * x->width + j] = e.data[i];
	return true;
}

static bool take_side(struct al_scratch *scratch, const struct al_heads *heads,
	enum al_projection p, enum al_embedding kind, struct al_multiples *out,
	struct al_error *err)
{
	const struct al_run run = al_heads_run(heads, p);
	const size_t n = run.n_heads;
	size_t *order = al_take_array(scratch, n, sizeof(*order), err);

	for (size_t i = 0; order && i < n; i++)
		order[i] = i;
	if (!order
		|| !al_multiples_of_means(scratch, run.weights, heads->gram[p], run.width, order, n,
			n, out, err))
		return false;
	for (size_t j = 0; kind == AL_EMBEDDING_MUL && j < run.width; j++)
		if (!find_multipliers(out, j, err))
			return false;
	return true;
}

/* ---- errors ---- */

/* Q'_i K'_i^T = M diag(f_i g_i) N^T, M and f of the queries, N and g of the keys. */
static bool forms_by_residual(const struct al_heads *heads, const struct al_multiples *q,
	const struct al_multiples *k, double norm, double *error, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = heads->n_heads, w = heads->d_head;
	struct al_cp_terms terms;
	bool is_estimate;

	if (!al_take(&scratch, &terms.query, q->heads.rows, w, err)
		|| !al_take(&scratch, &terms.key, k->heads.rows, w, err)
		|| !al_take(&scratch, &terms.mixing, n, w, err))
		return false;
	al_multiples_add(q, 0, terms.query);
	al_multiples_add(k, 0, terms.key);
	for (size_t j = 0; j < n * w; j++)
		terms.mixing.data[j / w + j % w * n] = q->multipliers[j] * k->multipliers[j];
	return al_terms_residual(heads, norm * norm, &terms, INFINITY, error, &is_estimate, err);
}

static bool convert_forms(const struct al_heads *heads, enum al_embedding kind,
	const struct al_stack *keys, double *error, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_multiples q, k;
	bool is_shown;

	return take_side(&scratch, heads, AL_QUERY, kind, &q, err)
		&& take_side(&scratch, heads, AL_KEY, kind, &k, err)
		&& al_multiples_error(&q, &k, keys, error, &is_shown, err)
		&& (is_shown || forms_by_residual(heads, &q, &k, keys->norm, error, err));
}

static bool convert_values(const struct al_heads *heads, enum al_embedding kind,
	const struct al_stack *values, double *error, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_multiples v;
	struct al_matrix all;
	bool is_shown;

	return take_side(&scratch, heads, AL_VALUE, kind, &v, err)
		&& al_multiples_error(&v, NULL, values, error, &is_shown, err)
		&& (is_shown
			|| (al_multiples_take(&scratch, &v, &all, err)
				&& al_stack_error(values, al_view(all), error, err)));
}

bool al_convert_embedding(const struct al_heads *heads, const struct al_stack *keys,
	const struct al_stack *values, enum al_embedding kind, double errors[2],
	struct al_error *err)
{
	return convert_forms(heads, kind, keys, &errors[0], err)
		&& (!values || convert_values(heads, kind, values, &errors[1], err));
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
