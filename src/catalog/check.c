/* Checks that a family only names tensors, options and symbols that its variants define. */
#include "catalog/family.h"

#include <string.h>

#include "base/text.h"

/* A growing list of names, for the message that says the nearest. */
struct names {
	const char **items;
	size_t n;
};

static struct names tensor_names(struct al_arena *arena, const struct al_variant *variant)
{
	struct names names = {al_new_array(arena, const char *, variant->tensors.n), 0};

	for (size_t i = 0; i < variant->tensors.n; i++)
		names.items[names.n++] = variant->tensors.items[i].name;
	return names;
}

static struct names symbol_names(struct al_arena *arena, struct al_catalog *catalog,
	const struct al_variant *variant)
{
	size_t n_standard;
	const struct al_symbol *standard = al_catalog_symbols(catalog, &n_standard);
	struct names names = {al_new_array(arena, const char *,
				      n_standard + variant->n_symbols + variant->n_options),
		0};

	for (size_t i = 0; i < variant->n_options; i++)
		names.items[names.n++] = variant->options[i].name;
	for (size_t i = 0; i < variant->n_symbols; i++)
		names.items[names.n++] = variant->symbols[i].name;
	for (size_t i = 0; i < n_standard; i++)
		names.items[names.n++] = standard[i].name;
	return names;
}

static bool check_tensor(const struct al_json *doc, const struct al_item *node,
	const struct names *tensors, const struct al_variant *variant, const char *name,
	struct al_error *err)
{
	if (al_find_name(name, tensors->items, tensors->n) >= 0)
		return true;
	al_fail_unknown(err, "tensor", name, tensors->items, tensors->n);
	al_in(err, "variant %s", variant->name);
	return al_json_in(doc, node, err);
}

static bool check_stored(const struct al_json *doc, const struct al_item *node,
	const struct names *tensors, const struct al_variant *variant,
	const struct al_stored *stored, struct al_error *err)
{
	const struct al_item *part = al_json_first(al_json_get(al_json_get(node, "fused"), "of"));

	if (stored->is)
		return check_tensor(doc, al_json_get(node, "is"), tensors, variant, stored->is,
			err);
	for (size_t i = 0; i < stored->n_parts; i++, part = al_json_next(part))
		if (!check_tensor(doc, part, tensors, variant, stored->parts[i].tensor, err))
			return false;
	return true;
}

static bool check_set(const struct al_json *doc, const struct al_item *node,
	const struct names *symbols, const struct al_variant *variant,
	const struct al_module_set *set, struct al_error *err)
{
	if (al_find_name(set->symbol, symbols->items, symbols->n) >= 0)
		return true;
	al_fail_unknown(err, "symbol or option", set->symbol, symbols->items, symbols->n);
	al_in(err, "variant %s", variant->name);
	return al_json_in(doc, al_json_get(al_json_get(node, "set"), set->symbol), err);
}

static bool sets(const struct al_family_module *module, const char *symbol)
{
	for (size_t i = 0; i < module->n_set; i++)
		if (strcmp(module->set[i].symbol, symbol) == 0)
			return true;
	return false;
}

/* A config's symbol by the name of an option would switch it: only on purpose. */
static bool check_symbols(const struct al_json *doc, const struct al_family *family,
	const struct al_family_module *module, const struct al_variant *variant,
	struct al_error *err)
{
	const struct al_item *config = al_json_get(doc->root, "config");

	for (size_t i = 0; i < family->n_config; i++) {
		const char *symbol = family->config[i].symbol;
		if (al_variant_has_option(variant, symbol) && !sets(module, symbol))
			return al_json_fail(doc, al_json_get(config, symbol), err,
				"\"%s\" is an option of variant %s, which module %s doesn't set",
				symbol, variant->name, module->name);
	}
	return true;
}

static bool check_module(const struct al_json *doc, const struct al_item *node,
	const struct al_family *family, const struct al_family_module *module,
	struct al_catalog *catalog, struct al_arena *arena, struct al_error *err)
{
	const struct al_item *stored = al_json_first(al_json_get(node, "stored"));
	const struct al_variant *variant;

	if (!al_catalog_variant(catalog, module->variant, &variant, err))
		return al_json_in(doc, al_json_get(node, "variant"), err);
	struct names tensors = tensor_names(arena, variant);
	struct names symbols = symbol_names(arena, catalog, variant);
	for (size_t i = 0; i < module->n_set; i++)
		if (!check_set(doc, node, &symbols, variant, &module->set[i], err))
			return false;
	for (size_t i = 0; i < module->n_stored; i++, stored = al_json_next(stored))
		if (!check_stored(doc, stored, &tensors, variant, &module->stored[i], err))
			return false;
	return check_symbols(doc, family, module, variant, err);
}

bool al_family_check(const struct al_family *family, const struct al_json *doc,
	struct al_catalog *catalog, struct al_error *err)
{
	const struct al_item *modules = al_json_get(doc->root, "modules");
	const struct al_item *node = modules ? al_json_first(modules) : NULL;
	const size_t n = modules ? al_json_size(modules) : 0; /* behind the components' */
	struct al_arena arena;
	bool ok = true;

	al_arena_init(&arena);
	for (size_t i = family->n_modules - n; ok && i < family->n_modules;
		i++, node = al_json_next(node))
		ok = check_module(doc, node, family, &family->modules[i], catalog, &arena, err);
	al_arena_finish(&arena);
	return ok;
}
