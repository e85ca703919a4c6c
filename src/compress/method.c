/* The methods: which modules each can treat, up to which rank, in how many parameters. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "compress/layout.h"

const char *const al_method_names[AL_N_METHODS] = {"collab", "tucker", "qk", "drop", "ov",
	"kv-latent", "gqa", "merge", "mhe-mul", "identity"};

/* ---- what can be done ---- */

bool al_method_mixes(enum al_method method)
{
	return method == AL_METHOD_COLLAB || method == AL_METHOD_MHE_MUL;
}

bool al_method_is_of_all(enum al_method method)
{
	return al_method_is_of_values(method) || method == AL_METHOD_MHE_MUL;
}

bool al_layout_has_values(const struct al_module_layout *layout)
{
	return al_method_is_of_all(layout->method)
		&& !(layout->method == AL_METHOD_LATENT && layout->of_keys);
}

bool al_method_drops(enum al_method method)
{
	return method == AL_METHOD_DROP || method == AL_METHOD_MERGE;
}

bool al_method_touches_all(enum al_method method)
{
	return al_method_is_of_all(method) || al_method_drops(method);
}

/* A tensor of the variant that is no factor of heads (norms of queries and keys, gates, sinks)
 * makes its scores of more than W_Q W_K^T, or keeps numbers for each head. What all heads use as it
 * is stays where heads are left out; what changes scores alone stays where values are changed, and
 * where keys are that are normed as they were then. */
static bool is_extra(const struct al_entry *tensor, enum al_method method)
{
	return tensor->factor == AL_FACTOR_NONE && !(tensor->is_common && al_method_drops(method))
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
			"its queries and keys are normed after their projections, so that "
			"W_Q W_K^T is not the score that %s would keep",
			al_method_names[method]);
	return !of_keys
		|| al_fail(err, AL_EINPUT,
			"its keys are normed after their projection, and no common key is the mean "
			"of normed ones: take --of values");
}

bool al_method_check(const struct al_attention *a, enum al_method method, bool of_keys,
	struct al_error *err)
{
	const char *extra = extra_tensor(a, method);

	if (a->is_rewritten)
		return al_fail(err, AL_EINPUT,
			"compress has stored it in a form of its own already, which %s doesn't "
			"treat: compress the original",
			al_method_names[method]);
	if (a->is_shared)
		return al_fail(err, AL_EINPUT,
			"its heads share queries and keys already (collaborative attention), which "
			"%s doesn't treat: compress the model that it was made from",
			al_method_names[method]);
	if (is_composed(a))
		return al_fail(err, AL_EINPUT,
			"its queries and keys are latent already (MLA), which %s "
			"doesn't treat",
			al_method_names[method]);
	if (!check_norm(a, method, of_keys, err))
		return false;
	if (!extra)
		extra = extra_option(a, method);
	if (extra)
		return al_fail(err, AL_EINPUT, "its variant %s has %s, which %s doesn't treat",
			a->variant->name, extra, al_method_names[method]);
	if (a->is_rotary && !al_method_drops(method) && !al_method_is_of_values(method))
		return al_fail(err, AL_EINPUT,
			"its queries and keys are rotated by their positions (rotary), so "
			"that W_Q W_K^T is the score at offset 0 alone and %s would change all "
			"others",
			al_method_names[method]);
	return true;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t al_tucker_width(const struct al_attention *a, enum al_projection p, int64_t rank)
{
	const struct al_factor *factor = &a->factors[p];

	return least(rank, least(factor->rows, factor->heads * factor->width));
}

int64_t al_method_bound(const struct al_attention *a, enum al_method method)
{
	const int64_t d_query = a->factors[AL_QUERY].rows, d_key = a->factors[AL_KEY].rows;

	switch (method) {
	case AL_METHOD_COLLAB:
		return a->n_heads * least(a->d_head, least(d_query, d_key));
	case AL_METHOD_TUCKER:
		return most(al_tucker_width(a, AL_QUERY, INT64_MAX),
			al_tucker_width(a, AL_KEY, INT64_MAX));
	case AL_METHOD_OV:
		return a->d_value;
	case AL_METHOD_LATENT:
		return least(d_key, a->n_kv_heads * a->d_head);
	case AL_METHOD_GQA:
		return a->n_kv_heads;
	default:
		return least(a->d_head, d_key);
	}
}

/* ---- parameters ---- */

static bool has_bias(const struct al_attention *a, enum al_projection p)
{
	return a->biases[p].n_runs > 0;
}

/* Of so many heads, query or key/value heads. */
static int64_t heads_parameters(const struct al_attention *a, enum al_projection p, int64_t heads)
{
	return heads * a->factors[p].width
		* (a->factors[p].rows + (p != AL_OUTPUT && has_bias(a, p)));
}

static int64_t projection_parameters(const struct al_attention *a, enum al_projection p)
{
	return heads_parameters(a, p, a->factors[p].heads);
}

/* All projections, the output's bias aside. */
static int64_t all_parameters(const struct al_attention *a)
{
	int64_t n = 0;

	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		n += projection_parameters(a, (enum al_projection)p);
	return n;
}

int64_t al_original_parameters(const struct al_attention *a, enum al_method method)
{
	int64_t n = 0;

	if (al_method_touches_all(method))
		return all_parameters(a);
	for (int p = AL_QUERY; p <= AL_KEY; p++) {
		const int64_t columns = a->factors[p].heads * a->factors[p].width;
		n += columns * (a->factors[p].rows + (a->biases[p].n_runs > 0));
	}
	return n;
}

/* Of methods on values. */
static int64_t value_parameters(const struct al_module_layout *layout, int64_t rank)
{
	const struct al_attention *a = layout->attention;
	const enum al_projection p = layout->of_keys ? AL_KEY : AL_VALUE;
	const struct al_factor *value = &a->factors[p];
	const int64_t others = all_parameters(a) - projection_parameters(a, p);

	switch (layout->method) {
	case AL_METHOD_OV:
		return others - projection_parameters(a, AL_OUTPUT)
			+ rank * a->n_kv_heads * (value->rows + has_bias(a, AL_VALUE))
			+ rank * a->n_heads * a->factors[AL_OUTPUT].rows;
	case AL_METHOD_LATENT:
		return others + rank * (value->rows + value->heads * value->width)
			+ (has_bias(a, p) ? value->heads * value->width : 0);
	default:
		return all_parameters(a) - heads_parameters(a, AL_VALUE, a->n_kv_heads - rank)
			- (layout->of_keys ? heads_parameters(a, AL_KEY, a->n_kv_heads - rank) : 0);
	}
}

int64_t al_rank_parameters(const struct al_attention *a, enum al_method method, int64_t rank)
{
	const int64_t d_query = a->factors[AL_QUERY].rows, d_key = a->factors[AL_KEY].rows;
	const int64_t queries = a->n_heads * a->d_head, keys = a->n_kv_heads * a->d_head;

	switch (method) {
	case AL_METHOD_COLLAB:
		return rank * (d_query + d_key + a->n_heads)
			+ (has_bias(a, AL_QUERY) ? a->n_heads * d_key : 0);
	case AL_METHOD_TUCKER:
		return al_tucker_width(a, AL_QUERY, rank) * (d_query + queries)
			+ al_tucker_width(a, AL_KEY, rank) * (d_key + keys)
			+ (has_bias(a, AL_QUERY) ? queries : 0) + (has_bias(a, AL_KEY) ? keys : 0);
	default:
		return rank * a->n_heads * (d_query + has_bias(a, AL_QUERY))
			+ rank * a->n_kv_heads * (d_key + has_bias(a, AL_KEY));
	}
}

int64_t al_layout_heads(const struct al_module_layout *layout, bool of_keys)
{
	const struct al_attention *a = layout->attention;
	const int64_t heads = of_keys ? a->n_kv_heads : a->n_heads;
	int64_t n = 0;

	for (int64_t i = 0; i < heads; i++)
		n += !layout->is_dropped
			|| !layout->is_dropped[of_keys ? i * a->n_heads / a->n_kv_heads : i];
	return n;
}

int64_t al_layout_kv_heads(const struct al_module_layout *layout)
{
	return layout->method == AL_METHOD_GQA && layout->of_keys ? layout->rank
								  : al_layout_heads(layout, true);
}

/* What the heads that are left have of all projections. */
static int64_t kept_parameters(const struct al_module_layout *layout)
{
	const struct al_attention *a = layout->attention;
	int64_t n = 0;

	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const bool is_grouped = p == AL_KEY || p == AL_VALUE;
		n += heads_parameters(a, (enum al_projection)p,
			al_layout_heads(layout, is_grouped));
	}
	return n;
}

int64_t al_layout_parameters(const struct al_module_layout *layout)
{
	const struct al_attention *a = layout->attention;

	if (al_method_is_of_values(layout->method))
		return value_parameters(layout, layout->rank);
	if (layout->method == AL_METHOD_MHE_MUL)
		return al_rank_parameters(a, AL_METHOD_COLLAB, layout->rank)
			+ a->d_value * (a->factors[AL_VALUE].rows + has_bias(a, AL_VALUE))
			+ projection_parameters(a, AL_OUTPUT);
	return al_method_drops(layout->method)
		? kept_parameters(layout)
		: al_rank_parameters(a, layout->method, layout->rank);
}

bool al_method_has_rank(const struct al_attention *a, enum al_method method, int64_t rank)
{
	return rank >= 1 && rank <= al_method_bound(a, method)
		&& (method != AL_METHOD_GQA || a->n_kv_heads % rank == 0);
}

/* ---- what is cached ---- */

int64_t al_original_cached(const struct al_attention *a)
{
	return a->n_kv_heads * (a->d_head + a->d_value);
}

/* Collab caches each head's content bias too, where queries have biases. */
int64_t al_layout_cached(const struct al_module_layout *layout)
{
	const struct al_attention *a = layout->attention;
	const int64_t keys = a->n_kv_heads * a->d_head, values = a->n_kv_heads * a->d_value;

	switch (layout->method) {
	case AL_METHOD_COLLAB:
	case AL_METHOD_MHE_MUL:
		return (layout->method == AL_METHOD_COLLAB ? values : a->d_value) + layout->rank
			+ (has_bias(a, AL_QUERY) ? a->n_heads : 0);
	case AL_METHOD_TUCKER:
		return values + al_tucker_width(a, AL_KEY, layout->rank);
	case AL_METHOD_QK:
		return values + a->n_kv_heads * layout->rank;
	case AL_METHOD_DROP:
	case AL_METHOD_MERGE:
		return al_layout_heads(layout, true) * (a->d_head + a->d_value);
	case AL_METHOD_OV:
		return keys + a->n_kv_heads * layout->rank;
	case AL_METHOD_LATENT:
		return layout->rank + (layout->of_keys ? values : keys);
	case AL_METHOD_GQA:
		return (layout->of_keys ? layout->rank * a->d_head : keys)
			+ layout->rank * a->d_value;
	default:
		return keys + values;
	}
}
