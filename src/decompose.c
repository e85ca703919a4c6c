/* The public library: decompositions of attention heads on plain arrays. */

#include "attnledger.h"
#include "linalg/cp.h"
#include "linalg/tucker.h"

static bool check(const struct al_projections *p, struct al_error *err)
{
	const bool is_single = p->query_f && p->key_f, is_double = p->query && p->key;
	size_t cols;

	if (is_single == is_double || !p->query != !p->key || !p->query_f != !p->key_f)
		return al_fail(err, AL_EINPUT,
			"expected query and key, both in double or both in single precision");
	if (__builtin_mul_overflow(p->n_heads, p->d_head, &cols)
		|| __builtin_mul_overflow(p->n_kv_heads, p->d_head, &cols))
		return al_fail(err, AL_EINPUT, "%zu heads of width %zu don't fit into memory",
			p->n_heads, p->d_head);
	return true;
}

static struct al_heads view(const struct al_projections *p)
{
	const size_t query_ld = p->query_ld ? p->query_ld : p->d_query;
	const size_t key_ld = p->key_ld ? p->key_ld : p->d_key;
	const size_t query_cols = p->n_heads * p->d_head, key_cols = p->n_kv_heads * p->d_head;
	struct al_heads heads = {.n_heads = p->n_heads,
		.n_kv_heads = p->n_kv_heads,
		.d_head = p->d_head};

	if (p->query) {
		heads.query = (struct al_view){p->query, p->d_query, query_cols, query_ld};
		heads.key = (struct al_view){p->key, p->d_key, key_cols, key_ld};
	} else {
		heads.query_f = (struct al_view_f){p->query_f, p->d_query, query_cols, query_ld};
		heads.key_f = (struct al_view_f){p->key_f, p->d_key, key_cols, key_ld};
	}
	return heads;
}

bool al_decompose_cp(const struct al_projections *projections, const struct al_cp_options *options,
	struct al_cp_factors *out, struct al_error *err)
{
	struct al_cp cp;

	*out = (struct al_cp_factors){.rank = 0};
	if (!check(projections, err))
		return false;
	const struct al_heads heads = view(projections);
	if (!al_cp(&heads, options, &cp, err))
		return false;
	*out = (struct al_cp_factors){
		.d_query = projections->d_query,
		.d_key = projections->d_key,
		.n_heads = projections->n_heads,
		.rank = options->rank,
		.query = cp.query.data,
		.key = cp.key.data,
		.mixing = cp.mixing.data,
		.relative_error = cp.relative_error,
		.is_estimate = cp.is_estimate,
		.start_error = cp.start_error,
		.start = cp.start,
		.n_sweeps = cp.n_sweeps,
		.is_converged = cp.is_converged,
	};
	return true;
}

void al_cp_factors_finish(struct al_cp_factors *f)
{
	free(f->query);
	free(f->key);
	free(f->mixing);
	*f = (struct al_cp_factors){.rank = 0};
}

bool al_decompose_tucker(const struct al_projections *projections,
	const struct al_tucker_options *options, struct al_tucker_factors *out,
	struct al_error *err)
{
	struct al_tucker t;

	*out = (struct al_tucker_factors){.head_rank = 0};
	if (!check(projections, err))
		return false;
	const struct al_heads heads = view(projections);
	if (!al_tucker(&heads, options, &t, err))
		return false;
	*out = (struct al_tucker_factors){
		.d_query = projections->d_query,
		.d_key = projections->d_key,
		.n_heads = projections->n_heads,
		.n_kv_heads = projections->n_kv_heads,
		.d_head = projections->d_head,
		.head_rank = t.head.cols,
		.query_rank = t.query.cols,
		.key_rank = t.key.cols,
		.query = t.query.data,
		.key = t.key.data,
		.head = t.head.data,
		.core_query = t.core_query.data,
		.core_key = t.core_key.data,
		.relative_error = t.relative_error,
		.is_estimate = t.is_estimate,
		.n_sweeps = t.n_sweeps,
	};
	return true;
}

void al_tucker_factors_finish(struct al_tucker_factors *f)
{
	free(f->query);
	free(f->key);
	free(f->head);
	free(f->core_query);
	free(f->core_key);
	*f = (struct al_tucker_factors){.head_rank = 0};
}
