/* Families: the facts that a model's numbers hang on. What a file doesn't say isn't guessed from
 * names; it is asked for. */
#include "catalog/family.h"

/* Does the family speak of two stacks? */
static bool has_stacks(const struct al_family *family)
{
	for (size_t i = 0; i < family->n_modules; i++)
		if (family->modules[i].is_cross || family->modules[i].stack != AL_STACK_ONLY)
			return true;
	return false;
}

static bool check_modules(const struct al_family *family, const struct al_json *doc,
	struct al_error *err)
{
	const struct al_item *node = al_json_first(al_json_get(doc->root, "modules"));

	for (size_t i = 0; i < family->n_modules; i++, node = al_json_next(node))
		if (has_stacks(family) && family->modules[i].stack == AL_STACK_ONLY)
			return al_json_fail(doc, node, err,
				"module %s of a model with two stacks lacks \"stack\" "
				"(\"encoder\" or \"decoder\")",
				family->modules[i].name);
	return true;
}

/* A norm's input is saved once, for its scale, not for its bias. */
static bool check_norm(const struct al_family_tensor *tensor, const struct al_json *doc,
	const struct al_item *node, struct al_error *err)
{
	bool is_outside = tensor->part == AL_PART_NORM && tensor->loops.n == 0;

	if (tensor->part == AL_PART_NORM && tensor->entry.kind == AL_TENSOR_WEIGHT)
		return al_json_fail(doc, node, err,
			"tensor %s of a norm lacks \"kind\" (\"norm\" for its scale, \"bias\")",
			tensor->entry.name);
	if (is_outside && tensor->stage == AL_STAGE_NOT_SAID)
		return al_json_fail(doc, node, err,
			"norm %s outside of the layers lacks \"stage\" (\"first\" or \"last\")",
			tensor->entry.name);
	return is_outside || tensor->stage == AL_STAGE_NOT_SAID
		|| al_json_fail(doc, al_json_get(node, "stage"), err,
			"only a norm outside of the layers has a \"stage\"");
}

/* What training saves and what a file stores more finely hang on it. */
static bool needs_role(const struct al_family_tensor *tensor)
{
	const struct al_entry *entry = &tensor->entry;

	return tensor->part == AL_PART_FEED_FORWARD
		&& (entry->kind == AL_TENSOR_BIAS
			|| (entry->kind == AL_TENSOR_WEIGHT && entry->shape.n_dims > 1));
}

static bool check_feed_forward(const struct al_family *family,
	const struct al_family_tensor *tensor, const struct al_json *doc,
	const struct al_item *node, struct al_error *err)
{
	if (tensor->role != AL_FEED_NONE && tensor->part != AL_PART_FEED_FORWARD)
		return al_json_fail(doc, al_json_get(node, "role"), err,
			"only a feed-forward tensor has a \"role\"");
	if (!needs_role(tensor))
		return true;
	if (tensor->role == AL_FEED_NONE)
		return al_json_fail(doc, node, err,
			"feed-forward tensor %s lacks \"role\" (\"up\", \"gate\", \"down\" or "
			"\"router\")",
			tensor->entry.name);
	if (has_stacks(family) && tensor->stack == AL_STACK_ONLY)
		return al_json_fail(doc, node, err,
			"feed-forward tensor %s of a model with two stacks lacks \"stack\" "
			"(\"encoder\" or \"decoder\")",
			tensor->entry.name);
	return true;
}

static bool check_tensors(const struct al_family *family, const struct al_json *doc,
	struct al_error *err)
{
	const struct al_item *node = al_json_first(al_json_get(doc->root, "tensors"));

	for (size_t i = 0; i < family->n_tensors; i++, node = al_json_next(node))
		if (!check_norm(&family->tensors[i], doc, node, err)
			|| !check_feed_forward(family, &family->tensors[i], doc, node, err))
			return false;
	return true;
}

bool al_family_check_facts(const struct al_family *family, const struct al_json *doc,
	struct al_error *err)
{
	return check_modules(family, doc, err) && check_tensors(family, doc, err);
}

bool al_family_packs(const struct al_family *family)
{
	for (size_t i = 0; i < family->n_tensors; i++)
		if (family->tensors[i].packed > 1)
			return true;
	return false;
}
