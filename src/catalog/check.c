/* Checks that a family only names tensors, options and symbols that its variants define. */
#include "catalog/family.h"

#include "base/text.h"

static bool check_tensor(const struct al_json *doc, const struct al_item *node,
	const struct al_variant *variant, const char *name, struct al_error *err)
{
	const struct al_entries *tensors = &variant->tensors;

	if (AL_FIND(tensors->items, tensors->n, name))
		return true;
	al_fail_unknown_item(err, "tensor", name, tensors->items, tensors->n,
		sizeof(*tensors->items));
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
	const struct al_item *modules = al_json_get(doc->root, "modules");
	const struct al_item *node = modules ? al_json_first(modules) : NULL;
	const size_t n = modules ? al_json_size(modules) : 0; /* behind the components' */

	for (size_t i = family->n_modules - n; i < family->n_modules;
		i++, node = al_json_next(node))
		if (!check_module(doc, node, family, &family->modules[i], catalog, err))
			return false;
	return true;
}
