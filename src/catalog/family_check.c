/* Checks of a family: what names what within its file, the facts that a model's numbers depend on,
 * and that it names only tensors, options and symbols which its variants define. What a file lacks
 * isn't guessed from names; it is asked for. */
#include "catalog/family_read.h"

/* ---- references within the file ---- */

/* The file's own items come behind those of its components. */
struct own {
	const struct al_family_module *modules;
	const struct al_family_tensor *tensors;
	size_t n_modules, n_tensors;
};

static bool check_before(const struct own *own, const struct al_json *doc,
	const struct al_item *node, struct al_error *err)
{
	return al_check_names_item(doc, node, "before", "module", own->modules, own->n_modules,
		sizeof(*own->modules), err);
}

/* ---- facts ---- */

/* Does the file speak of two stacks? */
static bool has_stacks(const struct own *own)
{
	for (size_t i = 0; i < own->n_modules; i++)
		if (own->modules[i].is_cross || own->modules[i].stack != AL_STACK_ONLY)
			return true;
	return false;
}

static bool check_stack(const struct own *own, const struct al_family_module *module,
	const struct al_json *doc, const struct al_item *node, struct al_error *err)
{
	return !has_stacks(own) || module->stack != AL_STACK_ONLY
		|| al_json_fail(doc, node, err,
			"module %s of a model with two stacks lacks \"stack\" "
			"(\"encoder\" or \"decoder\")",
			module->name);
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

/* Saved activations and finer storage formats depend on it. */
static bool needs_role(const struct al_family_tensor *tensor)
{
	const struct al_entry *entry = &tensor->entry;

	return tensor->part == AL_PART_FEED_FORWARD
		&& (entry->kind == AL_TENSOR_BIAS
			|| (entry->kind == AL_TENSOR_WEIGHT && entry->shape.n_dims > 1));
}

static bool check_feed_forward(const struct own *own, const struct al_family_tensor *tensor,
	const struct al_json *doc, const struct al_item *node, struct al_error *err)
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
	if (has_stacks(own) && tensor->stack == AL_STACK_ONLY)
		return al_json_fail(doc, node, err,
			"feed-forward tensor %s of a model with two stacks lacks \"stack\" "
			"(\"encoder\" or \"decoder\")",
			tensor->entry.name);
	return true;
}

/* ---- variants ---- */

static bool check_tensor(const struct al_json *doc, const struct al_item *node,
	const struct al_variant *variant, const char *name, struct al_error *err)
{
	const struct al_entries *tensors = &variant->tensors;

	if (AL_FIND_KNOWN(tensors->items, tensors->n, "tensor", name, err))
		return true;
	al_in(err, "variant %s", variant->name);
	return al_json_in(doc, node, err);
}

static bool check_stored(const struct al_json *doc, const struct al_item *node,
	const struct al_variant *variant, const struct al_stored *stored, struct al_error *err)
{
	const struct al_item *part = al_json_first(al_json_get(al_json_get(node, "fused"), "of"));

	if (stored->is)
		return check_tensor(doc, al_json_get(node, "is"), variant, stored->is, err);
	for (size_t i = 0; i < stored->n_parts; i++, part = al_json_next(part))
		if (!check_tensor(doc, part, variant, stored->parts[i].tensor, err))
			return false;
	return true;
}

static bool check_set(const struct al_json *doc, const struct al_item *node,
	struct al_catalog *catalog, const struct al_variant *variant, const char *symbol,
	struct al_error *err)
{
	size_t n;
	const struct al_symbol *standard = al_catalog_symbols(catalog, &n);
	struct al_names names = al_variant_names(variant, standard, n);

	if (al_names_check(&names, "symbol or option", symbol, err))
		return true;
	al_in(err, "variant %s", variant->name);
	return al_json_in(doc, al_json_get(al_json_get(node, "set"), symbol), err);
}

/* A config's symbol by the name of an option would switch it: only on purpose. */
static bool check_symbols(const struct al_json *doc, const struct al_family *family,
	const struct al_family_module *module, const struct al_variant *variant,
	struct al_error *err)
{
	const struct al_item *config = al_json_get(doc->root, "config");

	for (size_t i = 0; i < family->n_config; i++) {
		const char *symbol = family->config[i].symbol;
		if (al_variant_has_option(variant, symbol)
			&& !AL_FIND(module->set, module->n_set, symbol))
			return al_json_fail(doc, al_json_get(config, symbol), err,
				"\"%s\" is an option of variant %s, which module %s doesn't set",
				symbol, variant->name, module->name);
	}
	return true;
}

static bool check_module(const struct al_json *doc, const struct al_item *node,
	const struct al_family *family, const struct al_family_module *module,
	struct al_catalog *catalog, struct al_error *err)
{
	const struct al_item *stored = al_json_first(al_json_get(node, "stored"));
	const struct al_variant *variant;

	if (!al_catalog_variant(catalog, module->variant, &variant, err))
		return al_json_in(doc, al_json_get(node, "variant"), err);
	for (size_t i = 0; i < module->n_set; i++)
		if (!check_set(doc, node, catalog, variant, module->set[i].symbol, err))
			return false;
	for (size_t i = 0; i < module->n_stored; i++, stored = al_json_next(stored))
		if (!check_stored(doc, stored, variant, &module->stored[i], err))
			return false;
	return check_symbols(doc, family, module, variant, err);
}

bool al_family_check(const struct al_family *family, const struct al_json *doc,
	struct al_catalog *catalog, struct al_error *err)
{
	const struct al_item *modules = al_json_get(doc->root, "modules"),
			     *tensors = al_json_get(doc->root, "tensors");
	const size_t n_modules = al_json_size(modules), n_tensors = al_json_size(tensors);
	const struct own own = {
		.modules = n_modules ? &family->modules[family->n_modules - n_modules] : NULL,
		.tensors = n_tensors ? &family->tensors[family->n_tensors - n_tensors] : NULL,
		.n_modules = n_modules,
		.n_tensors = n_tensors,
	};
	const struct al_family_module *module = own.modules;
	const struct al_family_tensor *tensor = own.tensors;

	al_json_each (node, modules)
		if (!check_before(&own, doc, node, err)
			|| !check_stack(&own, module++, doc, node, err))
			return false;
	al_json_each (node, tensors) {
		if (!check_before(&own, doc, node, err)
			|| !al_check_names_item(doc, node, "tied_to", "tensor", own.tensors,
				own.n_tensors, sizeof(*own.tensors), err)
			|| !check_norm(tensor, doc, node, err)
			|| !check_feed_forward(&own, tensor, doc, node, err))
			return false;
		tensor++;
	}
	module = own.modules;
	al_json_each (node, modules)
		if (!check_module(doc, node, family, module++, catalog, err))
			return false;
	return true;
}
