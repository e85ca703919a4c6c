/* Variants: an attention block as a list of entries, with the published numbers that it
 * reproduces. */
#include "catalog/read.h"

#include <string.h>

#include "base/text.h"

enum { MOST_NAMES = 256 };

/* The members of an optional object, counted; too many are refused. */
static bool open_object(struct al_reader *reader, const struct cJSON *object, const char *key,
	const struct cJSON **out, size_t *n, struct al_error *err)
{
	if (!al_json_get_node(reader->doc, object, key, AL_JSON_OBJECT, false, out, err))
		return false;
	*n = al_json_size(*out);
	return *n <= MOST_NAMES
		|| al_json_fail(reader->doc, *out, err,
			"\"%s\" has %zu members, expected at most %d", key, *n, MOST_NAMES);
}

static bool parse_symbols(struct al_reader *reader, const struct cJSON *node,
	struct al_variant *variant, struct al_error *err)
{
	const struct cJSON *symbols;
	size_t n;

	if (!open_object(reader, node, "symbols", &symbols, &n, err))
		return false;
	variant->symbols = al_new_array(reader->arena, struct al_named_text, n);
	al_json_each (member, symbols) {
		struct al_named_text *symbol = &variant->symbols[variant->n_symbols];
		if (!al_read_symbol(reader, member, &symbol->name, err)
			|| !al_read_text(reader, symbols, symbol->name, true, &symbol->text, err))
			return false;
		al_reader_know(reader, symbol->name);
		variant->n_symbols++;
	}
	return true;
}

static bool parse_options(struct al_reader *reader, const struct cJSON *node,
	struct al_variant *variant, struct al_error *err)
{
	const struct cJSON *options;
	size_t n;

	if (!open_object(reader, node, "options", &options, &n, err))
		return false;
	variant->options = al_new_array(reader->arena, struct al_option, n);
	al_json_each (member, options) {
		struct al_option *option = &variant->options[variant->n_options];
		if (!al_read_symbol(reader, member, &option->name, err)
			|| !al_json_boolean(reader->doc, member, &option->is_on, err))
			return false;
		if (al_find_name(option->name, reader->symbols, reader->n_symbols) >= 0)
			return al_json_fail(reader->doc, member, err,
				"option \"%s\" is a symbol already", option->name);
		al_reader_know(reader, option->name);
		variant->n_options++;
	}
	return true;
}

/* ---- checks ---- */

static bool parse_with(struct al_reader *reader, const struct cJSON *node, struct al_check *check,
	struct al_error *err)
{
	const struct cJSON *with;
	size_t n;

	if (!open_object(reader, node, "with", &with, &n, err)
		|| (with
			&& !al_json_only(reader->doc, with, reader->symbols, reader->n_symbols,
				err)))
		return false;
	check->with = al_new_array(reader->arena, struct al_binding, n);
	al_json_each (member, with) {
		struct al_binding *binding = &check->with[check->n_with++];
		if (!al_read_symbol(reader, member, &binding->symbol, err)
			|| !al_read_value(reader, member, &binding->value, err))
			return false;
	}
	return true;
}

/* A basis' value as KEY=VALUE has it: a word, true or false, or names with commas. */
static bool basis_text(struct al_reader *reader, const struct cJSON *node, struct al_text *out,
	struct al_error *err)
{
	const char *text;
	bool is_true;

	switch (al_json_kind(node)) {
	case AL_JSON_BOOLEAN:
		if (!al_json_boolean(reader->doc, node, &is_true, err))
			return false;
		al_text_add(out, is_true ? "true" : "false");
		return true;
	case AL_JSON_ARRAY:
		al_json_each (item, node) {
			if (!al_json_text(reader->doc, item, &text, err))
				return false;
			al_text_addf(out, "%s%s", out->length ? "," : "", text);
		}
		return true;
	default:
		if (!al_json_text(reader->doc, node, &text, err))
			return false;
		al_text_add(out, text);
		return true;
	}
}

static bool parse_basis(struct al_reader *reader, const struct cJSON *node, struct al_check *check,
	struct al_error *err)
{
	const struct cJSON *basis;
	size_t n;

	if (!open_object(reader, node, "basis", &basis, &n, err))
		return false;
	check->basis = al_new_array(reader->arena, struct al_named_text, n);
	al_json_each (member, basis) {
		struct al_named_text *pair = &check->basis[check->n_basis++];
		struct al_text value;
		al_text_init(&value);
		bool ok = basis_text(reader, member, &value, err);
		pair->name = al_strdup(reader->arena, al_json_key(member));
		pair->text = al_strdup(reader->arena, value.data);
		al_text_finish(&value);
		if (!ok)
			return false;
	}
	return true;
}

static bool parse_check(struct al_reader *reader, const struct cJSON *node, struct al_check *check,
	struct al_error *err)
{
	static const char *const keys[] = {"source", "derived", "with", "basis", "parameters",
		"cache"};

	if (!al_json_only(reader->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_read_text(reader, node, "source", false, &check->source, err)
		|| !al_read_text(reader, node, "derived", false, &check->derived, err)
		|| !parse_with(reader, node, check, err) || !parse_basis(reader, node, check, err)
		|| !al_read_formula_at(reader, node, "parameters", false, &check->parameters, err)
		|| !al_read_formula_at(reader, node, "cache", false, &check->cache, err))
		return false;
	if (!check->source == !check->derived)
		return al_json_fail(reader->doc, node, err,
			"expected either \"source\" (a published number) or \"derived\" (why there "
			"is none)");
	if (check->source && !check->parameters && !check->cache)
		return al_json_fail(reader->doc, node, err,
			"a check with a source needs \"parameters\" or \"cache\"");
	return true;
}

static bool parse_checks(struct al_reader *reader, const struct cJSON *node,
	struct al_variant *variant, struct al_error *err)
{
	const struct cJSON *checks;

	if (!al_json_get_node(reader->doc, node, "checks", AL_JSON_ARRAY, false, &checks, err))
		return false;
	variant->checks = al_new_array(reader->arena, struct al_check, al_json_size(checks));
	al_json_each (check, checks)
		if (!parse_check(reader, check, &variant->checks[variant->n_checks++], err))
			return false;
	return true;
}

/* ---- variants ---- */

/* Symbols and options come first: the formulas behind them are checked against both. */
bool al_variant_read(struct al_arena *arena, const struct al_json *doc, const struct cJSON *node,
	const char *file, const struct al_symbols *standard, struct al_variant **out,
	struct al_error *err)
{
	static const char *const keys[] = {
		"name",
		"title",
		"source",
		"symbols",
		"options",
		"tensors",
		"cache",
		"activations",
		"products",
		"checks",
	};
	struct al_variant *variant = al_new(arena, struct al_variant);
	struct al_reader reader;

	al_reader_init(&reader, arena, doc, standard);
	variant->file = al_strdup(arena, file);
	if (!al_json_only(doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_read_text(&reader, node, "name", true, &variant->name, err))
		return false;
	variant->title = variant->name;
	if (!al_read_text(&reader, node, "title", false, &variant->title, err)
		|| !al_read_text(&reader, node, "source", false, &variant->source, err)
		|| !parse_symbols(&reader, node, variant, err)
		|| !parse_options(&reader, node, variant, err)
		|| !al_entries_parse(&reader, node, "tensors", AL_FORM_TENSOR, true,
			&variant->tensors, err)
		|| !al_entries_parse(&reader, node, "cache", AL_FORM_CACHE, false, &variant->cache,
			err)
		|| !al_entries_parse(&reader, node, "activations", AL_FORM_ACTIVATION, false,
			&variant->activations, err)
		|| !al_entries_parse(&reader, node, "products", AL_FORM_PRODUCT, false,
			&variant->products, err)
		|| !parse_checks(&reader, node, variant, err))
		return false;
	*out = variant;
	return true;
}

bool al_variant_parse(struct al_arena *arena, const struct al_json *doc, const struct cJSON *node,
	const char *file, struct al_variant **out, struct al_error *err)
{
	struct al_symbols standard;

	return al_symbols_load(arena, &standard, err)
		&& al_variant_read(arena, doc, node, file, &standard, out, err);
}
