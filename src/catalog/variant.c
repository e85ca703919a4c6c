/* Variants: an attention block as a list of entries, with the published numbers that it
 * reproduces. */
#include "catalog/pass.h"
#include "catalog/read.h"

enum { MOST_NAMES = 256, MOST_ENTRIES = 1024 };

/* An object with names of its own. */
#define NAMES(name, at, n_at, type, reads) \
	{ \
		AL_KEY(name, MEMBERS, at), .n_offset = (n_at), .read = (reads), \
					   .item_size = sizeof(type), .most = MOST_NAMES, \
					   .noun = "members" \
	}

/* ---- symbols and options ---- */

static bool read_symbol(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_named_text *symbol = out;

	if (!al_read_symbol(reader, member, &symbol->name, err)
		|| !al_read_text(reader, member, &symbol->text, err))
		return false;
	al_reader_know(reader, symbol->name);
	return true;
}

static bool read_option(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_option *option = out;

	if (!al_read_symbol(reader, member, &option->name, err)
		|| !al_json_boolean(reader->doc, member, &option->is_on, err))
		return false;
	if (al_find_name(option->name, reader->symbols, reader->n_symbols) >= 0)
		return al_json_fail(reader->doc, member, err, "option \"%s\" is a symbol already",
			option->name);
	al_reader_know(reader, option->name);
	return true;
}

/* A symbol or an option that the variant may hold. */
static bool read_known(struct al_reader *reader, const struct al_item *member, const char **out,
	struct al_error *err)
{
	const char *key = al_json_key(member);

	if (al_find_name(key, reader->symbols, reader->n_symbols) < 0) {
		al_fail_unknown(err, "key", key, reader->symbols, reader->n_symbols);
		return al_json_in(reader->doc, member, err);
	}
	return al_read_symbol(reader, member, out, err);
}

/* "d_rope": "d_head/2" */
static bool read_default(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_symbol *symbol = out;

	if (!read_known(reader, member, &symbol->name, err)
		|| !al_read_formula(reader, member, &symbol->fallback, err))
		return false;
	symbol->fallback_origin = al_format(reader->arena, "default %s",
		al_formula_source(symbol->fallback));
	return true;
}

/* "n_kv_heads": "copied" */
static bool read_cut(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	static const char *const words[] = {"divided", "copied"};
	struct al_reader *reader = context;
	struct al_cut *cut = out;

	if (!read_known(reader, member, &cut->symbol, err))
		return false;
	const int rule = al_json_find_word(reader->doc, member, cut->symbol, words, 2, err);
	cut->may_be_copied = rule == 1;
	return rule >= 0;
}

/* ---- checks ---- */

static bool read_with(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_binding *binding = out;

	return read_known(reader, member, &binding->symbol, err)
		&& al_read_value(reader, member, &binding->value, err);
}

/* A basis' value as KEY=VALUE has it: a word, true or false, or names with commas. */
static bool basis_text(struct al_reader *reader, const struct al_item *node, struct al_text *out,
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

static bool read_basis(void *context, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_named_text *pair = out;

	AL_TEXT(value);
	bool ok = basis_text(reader, member, &value, err);
	pair->name = al_strdup(reader->arena, al_json_key(member));
	pair->text = al_strdup(reader->arena, value.data);
	return ok;
}

static bool finish_check(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	const struct al_check *check = record;

	if (!check->source == !check->derived)
		return al_json_fail(reader->doc, node, err,
			"expected either \"source\" (a published number) or \"derived\" (why there "
			"is none)");
	if (check->source && !check->parameters && !check->cache)
		return al_json_fail(reader->doc, node, err,
			"a check with a source needs \"parameters\" or \"cache\"");
	return true;
}

#define AT(member) offsetof(struct al_check, member)
static const struct al_field check_fields[] = {
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("derived", TEXT, AT(derived))},
	NAMES("with", AT(with), AT(n_with), struct al_binding, read_with),
	NAMES("basis", AT(basis), AT(n_basis), struct al_named_text, read_basis),
	{AL_KEY("parameters", BY, AT(parameters)), .read = al_read_formula},
	{AL_KEY("cache", BY, AT(cache)), .read = al_read_formula},
};
#undef AT
static const struct al_record check_record = {
	.fields = AL_FIELDS(check_fields),
	.size = sizeof(struct al_check),
	.check = finish_check,
};

/* ---- factors: which tensors hold what of each head ---- */

/* A key that requires another one. */
static bool check_beside(const struct al_reader *reader, const struct al_item *node,
	const char *key, bool is_beside, const char *other, struct al_error *err)
{
	return is_beside || !al_json_get(node, key)
		|| al_json_fail(reader->doc, al_json_get(node, key), err,
			"\"%s\" also needs \"%s\"", key, other);
}

static bool check_keys(const struct al_reader *reader, const struct al_item *node,
	const struct al_entry *tensor, struct al_error *err)
{
	const bool is_factor = tensor->factor != AL_FACTOR_NONE;

	if (is_factor && tensor->kind != AL_TENSOR_WEIGHT && tensor->kind != AL_TENSOR_BIAS)
		return al_json_fail(reader->doc, al_json_get(node, "factor"), err,
			"a %s can't be a factor of heads; expected a weight or a bias",
			al_tensor_kind_names[tensor->kind]);
	if (is_factor && tensor->is_common)
		return al_json_fail(reader->doc, al_json_get(node, "common"), err,
			"a factor is split into heads and can't be shared by all");
	if (is_factor && tensor->is_of_scores)
		return al_json_fail(reader->doc, al_json_get(node, "scores"), err,
			"a factor of heads can't affect only their scores");
	return check_beside(reader, node, "down", is_factor, "factor", err)
		&& check_beside(reader, node, "gain", tensor->down != NULL, "down", err)
		&& check_beside(reader, node, "head_width", is_factor, "factor", err);
}

static bool check_reference(const struct al_reader *reader, const struct al_item *node,
	const char *key, const struct al_entries *tensors, struct al_error *err)
{
	return al_check_names_item(reader->doc, node, key, "tensor", tensors->items, tensors->n,
		sizeof(*tensors->items), err);
}

/* Which of two it is must depend on conditions: queries that come from a latent vector or not. */
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
				"distinguish them",
				tensors->items[j].name, tensor->name,
				al_factor_names[tensor->factor]);
	return true;
}

static bool check_factors(struct al_reader *reader, const struct al_item *list,
	const struct al_entries *tensors, struct al_error *err)
{
	const struct al_item *node = al_json_first(list);

	for (size_t i = 0; i < tensors->n; i++, node = al_json_next(node)) {
		const struct al_entry *tensor = &tensors->items[i];
		if (!check_keys(reader, node, tensor, err)
			|| !check_reference(reader, node, "down", tensors, err)
			|| !check_reference(reader, node, "gain", tensors, err)
			|| !check_once(reader, node, tensors, i, err))
			return false;
	}
	return true;
}

/* ---- variants ---- */

/* A list that is there may be empty: none. One that is absent isn't declared. */
static bool finish_entries(void *context, const struct al_item *node, const char *key,
	struct al_entries *entries, struct al_error *err)
{
	const struct al_item *list = al_json_get(node, key);

	entries->is_declared = list != NULL;
	return al_entries_check(context, list, entries, err);
}

static bool finish_variant(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_variant *variant = record;

	if (!variant->title)
		variant->title = variant->name;
	variant->declares_cuts = al_json_get(node, "tp");
	return finish_entries(context, node, "tensors", &variant->tensors, err)
		&& check_factors(context, al_json_get(node, "tensors"), &variant->tensors, err)
		&& finish_entries(context, node, "cache", &variant->cache, err)
		&& finish_entries(context, node, "activations", &variant->activations, err)
		&& finish_entries(context, node, "products", &variant->products, err);
}

#define AT(member) offsetof(struct al_variant, member)
#define ENTRIES(name, member, form) \
	AL_KEY(name, LIST, AT(member.items)), \
		.n_offset = AT(member.n), .record = &al_entry_records[form], .most = MOST_ENTRIES, \
		.noun = "entries"

/* Symbols and options come first: the formulas behind them are checked against both. */
static const struct al_field variant_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("idea", TEXT, AT(idea))},
	NAMES("symbols", AT(symbols), AT(n_symbols), struct al_named_text, read_symbol),
	NAMES("options", AT(options), AT(n_options), struct al_option, read_option),
	NAMES("defaults", AT(defaults), AT(n_defaults), struct al_symbol, read_default),
	NAMES("tp", AT(cuts), AT(n_cuts), struct al_cut, read_cut),
	{ENTRIES("tensors", tensors, AL_FORM_TENSOR), .is_required = true},
	{ENTRIES("cache", cache, AL_FORM_CACHE)},
	{ENTRIES("activations", activations, AL_FORM_ACTIVATION)},
	{ENTRIES("products", products, AL_FORM_PRODUCT)},
	{AL_KEY("pass", BY, 0), .read = al_pass_read},
	{AL_KEY("checks", LIST, AT(checks)), .n_offset = AT(n_checks), .record = &check_record},
};
static const struct al_record variant_record = {
	.fields = AL_FIELDS(variant_fields),
	.size = sizeof(struct al_variant),
	.check = finish_variant,
};

const struct al_file_kind al_variant_file = {.record = &variant_record, .has_standard = true};

bool al_variant_parse(struct al_arena *arena, const struct al_json *doc, const struct al_item *node,
	const char *file, struct al_variant **out, struct al_error *err)
{
	struct al_symbols standard;
	void *variant;

	if (!al_symbols_load(arena, &standard, err)
		|| !al_read_file(&al_variant_file, arena, doc, node, &standard, &variant, err))
		return false;
	*out = variant;
	(*out)->file = al_strdup(arena, file);
	return true;
}

bool al_variant_has_option(const struct al_variant *variant, const char *name)
{
	return AL_FIND(variant->options, variant->n_options, name);
}

struct al_names al_variant_names(const struct al_variant *variant, const struct al_symbol *standard,
	size_t n_standard)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < variant->n_options; i++)
		al_names_add(&names, variant->options[i].name);
	for (size_t i = 0; i < variant->n_symbols; i++)
		al_names_add(&names, variant->symbols[i].name);
	for (size_t i = 0; i < n_standard; i++)
		al_names_add(&names, standard[i].name);
	return names;
}

bool al_variant_has_factor(const struct al_variant *variant, enum al_head_factor factor)
{
	for (size_t i = 0; i < variant->tensors.n; i++)
		if (variant->tensors.items[i].factor == factor)
			return true;
	return false;
}
