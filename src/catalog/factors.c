/* Factors: which of a variant's tensors hold what of each head. */
#include "catalog/read.h"

#include "base/text.h"

const char *const al_factor_names[AL_N_FACTORS] = {"", "query", "key", "value", "output", "mixing"};

bool al_variant_has_factor(const struct al_variant *variant, enum al_head_factor factor)
{
	for (size_t i = 0; i < variant->tensors.n; i++)
		if (variant->tensors.items[i].factor == factor)
			return true;
	return false;
}

/* A key that only makes sense beside another one. */
static bool check_beside(const struct al_reader *reader, const struct al_item *node,
	const char *key, bool is_beside, const char *other, struct al_error *err)
{
	return is_beside || !al_json_get(node, key)
		|| al_json_fail(reader->doc, al_json_get(node, key), err,
			"\"%s\" needs \"%s\" beside it", key, other);
}

static bool check_keys(const struct al_reader *reader, const struct al_item *node,
	const struct al_entry *tensor, struct al_error *err)
{
	const bool is_factor = tensor->factor != AL_FACTOR_NONE;

	if (is_factor && tensor->kind != AL_TENSOR_WEIGHT && tensor->kind != AL_TENSOR_BIAS)
		return al_json_fail(reader->doc, al_json_get(node, "factor"), err,
			"a %s is no factor of heads, expected a weight or a bias",
			al_tensor_kind_names[tensor->kind]);
	if (is_factor && tensor->is_common)
		return al_json_fail(reader->doc, al_json_get(node, "common"), err,
			"a factor is cut into heads and can't be common to all");
	if (is_factor && tensor->is_of_scores)
		return al_json_fail(reader->doc, al_json_get(node, "scores"), err,
			"a factor of heads makes more than their scores");
	return check_beside(reader, node, "down", is_factor, "factor", err)
		&& check_beside(reader, node, "gain", tensor->down != NULL, "down", err)
		&& check_beside(reader, node, "head_width", is_factor, "factor", err);
}

/* "down" and "gain" name one of the variant's tensors. */
static bool check_reference(const struct al_reader *reader, const struct al_item *reference,
	const struct al_entries *tensors, const char *name, struct al_error *err)
{
	if (!name || AL_FIND(tensors->items, tensors->n, name))
		return true;
	al_fail_unknown_item(err, "tensor", name, tensors->items, tensors->n,
		sizeof(*tensors->items));
	return al_json_in(reader->doc, reference, err);
}

/* Which of two it is must hang on conditions: queries that come from a latent vector or not. */
static bool are_both(const struct al_entry *a, const struct al_entry *b)
{
	return a->factor != AL_FACTOR_NONE && a->factor == b->factor && a->kind == b->kind
		&& !(a->when && b->when);
}

static bool check_once(const struct al_reader *reader, const struct al_item *node,
	const struct al_entries *tensors, size_t i, struct al_error *err)
{
	const struct al_entry *tensor = &tensors->items[i];

	for (size_t j = 0; j < i; j++)
		if (are_both(&tensors->items[j], tensor))
			return al_json_fail(reader->doc, al_json_get(node, "factor"), err,
				"%s and %s are both the factor \"%s\", without conditions that "
				"tell "
				"them apart",
				tensors->items[j].name, tensor->name,
				al_factor_names[tensor->factor]);
	return true;
}

bool al_factors_check(struct al_reader *reader, const struct al_item *list,
	const struct al_entries *tensors, struct al_error *err)
{
	const struct al_item *node = al_json_first(list);

	for (size_t i = 0; i < tensors->n; i++, node = al_json_next(node)) {
		const struct al_entry *tensor = &tensors->items[i];
		if (!check_keys(reader, node, tensor, err)
			|| !check_reference(reader, al_json_get(node, "down"), tensors,
				tensor->down, err)
			|| !check_reference(reader, al_json_get(node, "gain"), tensors,
				tensor->gain, err)
			|| !check_once(reader, node, tensors, i, err))
			return false;
	}
	return true;
}
