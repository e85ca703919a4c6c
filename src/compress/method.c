/* The methods: which modules each can treat, up to which rank, in how many parameters. */

#include "compress/job.h"

const char *const al_method_names[AL_N_METHODS] = {"collab", "tucker", "qk", "drop", "ov",
	"kv-latent", "gqa", "merge", "mhe-mul", "identity"};

/* ---- what can be done ---- */

bool al_method_mixes(enum al_method method)
{
	return method == AL_METHOD_COLLAB || method == AL_METHOD_MHE_MUL;
}

bool al_method_drops(enum al_method method)
{
	return method == AL_METHOD_DROP || method == AL_METHOD_MERGE;
}

bool al_method_touches_all(enum al_method method)
{
	return al_method_is_of_values(method) || al_method_drops(method)
		|| method == AL_METHOD_MHE_MUL;
}

bool al_job_refits_by_data(const struct al_compress_options *options)
{
	return options->data.calibration && options->data.refit == AL_REFIT_AUTO
		&& (options->method == AL_METHOD_OV || options->method == AL_METHOD_DROP);
}

bool al_job_refits(const struct al_compress_options *options)
{
	const bool is_drop = options->method == AL_METHOD_DROP;

	return options->method == AL_METHOD_MERGE
		|| ((is_drop || options->method == AL_METHOD_LATENT)
			&& (al_refit_runs(options->data.refit)
				|| (is_drop && al_job_refits_by_data(options))));
}

/* A tensor of the variant that is no factor of heads (norms of queries and keys, gates, sinks)
 * makes its scores of more than W_Q W_K^T, or keeps numbers for each head. What all heads use as it
 * is stays where heads are left out; what changes scores alone stays where values are changed, and
 * where keys are that are normed as they were then. */
static bool is_extra(const struct al_entry *tensor, enum al_method method)
{
	return (tensor->factor == AL_FACTOR_NONE || tensor->factor == AL_FACTOR_GATE)
		&& !(tensor->is_common && al_method_drops(method))
		&& !(tensor->is_of_scores && al_method_is_of_values(method));
}

static const char *extra_tensor(const struct al_attention *a, enum al_method method)
{
	for (size_t i = 0; i < a->variant->tensors.n; i++) {
		const struct al_entry *entry = &a->variant->tensors.items[i];
		if (is_extra(entry, method) && !entry->when)
			return entry->name;
	}
	return NULL;
}

static bool switches_extra(const struct al_variant *variant, const char *option,
	enum al_method method)
{
	for (size_t i = 0; i < variant->tensors.n; i++)
		if (is_extra(&variant->tensors.items[i], method)
			&& al_formula_mentions(variant->tensors.items[i].when, option))
			return true;
	return false;
}

/* What the family sets in the variant that adds such a tensor. */
static const char *extra_option(const struct al_attention *a, enum al_method method)
{
	for (size_t i = 0; i < a->n_with; i++)
		if (a->with[i].value && switches_extra(a->variant, a->with[i].symbol, method))
			return a->with[i].symbol;
	return NULL;
}

static bool is_composed(const struct al_attention *a)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		if (a->factors[p].down)
			return true;
	return false;
}

bool al_method_is_of_values(enum al_method method)
{
	return method == AL_METHOD_OV || method == AL_METHOD_LATENT || method == AL_METHOD_GQA;
}

/* A mean of normed keys is no normed key, and a head's norm may be one of all heads. */
static bool check_norm(const struct al_attention *a, enum al_method method, bool of_keys,
	struct al_error *err)
{
	if (!a->has_qk_norm || (al_method_is_of_values(method) && method != AL_METHOD_GQA)
		|| al_method_drops(method))
		return true;
	if (method != AL_METHOD_GQA)
		return al_fail(err, AL_EINPUT,
			"its queries and keys are normalized after their projections, so "
			"preserving W_Q W_K^T (%s) would not preserve scores",
			al_method_names[method]);
	return !of_keys
		|| al_fail(err, AL_EINPUT,
			"its keys are normalized after their projection, so they have no common "
			"key: use --of values");
}

bool al_method_check(const struct al_attention *a, enum al_method method, bool of_keys,
	struct al_error *err)
{
	const char *extra = extra_tensor(a, method);

	if (a->is_rewritten)
		return al_fail(err, AL_EINPUT,
			"it was already compressed, into a form that %s doesn't support: compress "
			"the original",
			al_method_names[method]);
	if (a->is_shared)
		return al_fail(err, AL_EINPUT,
			"its heads already share queries and keys (collaborative attention), which "
			"%s doesn't support: compress the original model",
			al_method_names[method]);
	if (is_composed(a))
		return al_fail(err, AL_EINPUT,
			"its queries and keys are already latent (MLA), which %s doesn't support",
			al_method_names[method]);
	if (!check_norm(a, method, of_keys, err))
		return false;
	if (!extra)
		extra = extra_option(a, method);
	if (extra)
		return al_fail(err, AL_EINPUT, "its variant %s has %s, which %s doesn't support",
			a->variant->name, extra, al_method_names[method]);
	if (a->is_rotary && !al_method_drops(method) && !al_method_is_of_values(method))
		return al_fail(err, AL_EINPUT,
			"its queries and keys are rotary: W_Q W_K^T is the score only at offset 0, "
			"and %s would change it at all others",
			al_method_names[method]);
	return true;
}

int64_t al_tucker_width(const struct al_attention *a, enum al_projection p, int64_t rank)
{
	const struct al_factor *factor = &a->factors[p];

	return al_least(rank, al_least(factor->rows, factor->heads * factor->width));
}

int64_t al_method_bound(const struct al_attention *a, enum al_method method)
{
	const int64_t d_query = a->factors[AL_QUERY].rows, d_key = a->factors[AL_KEY].rows;

	switch (method) {
	case AL_METHOD_COLLAB:
		return a->n_heads * al_least(a->d_head, al_least(d_query, d_key));
	case AL_METHOD_TUCKER:
		return al_most(al_tucker_width(a, AL_QUERY, INT64_MAX),
			al_tucker_width(a, AL_KEY, INT64_MAX));
	case AL_METHOD_OV:
		return a->d_value;
	case AL_METHOD_LATENT:
		return al_least(d_key, a->n_kv_heads * al_least(a->d_head, a->d_value));
	case AL_METHOD_GQA:
		return a->n_kv_heads;
	default:
		return al_least(a->d_head, d_key);
	}
}

bool al_method_has_rank(const struct al_attention *a, enum al_method method, int64_t rank)
{
	return rank >= 1 && rank <= al_method_bound(a, method)
		&& (method != AL_METHOD_GQA || a->n_kv_heads % rank == 0);
}
