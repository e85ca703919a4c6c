/* A configured variant: "gqa:n_kv_heads=4,biases=true". */
#include "ledger/configured.h"

bool al_configured_variant_set(struct al_arena *arena, struct al_configured_variant *configured,
	const char *key, int64_t value, const struct al_symbol *symbols, size_t n_symbols,
	struct al_error *err)
{
	const struct al_variant *variant = configured->variant;
	struct al_names names = al_variant_names(variant, symbols, n_symbols);

	if (!al_names_check(&names, "symbol or option", key, err))
		return al_in(err, "variant %s (%s)", variant->name, variant->file);
	if (AL_FIND(configured->with, configured->n_with, key))
		return al_fail(err, AL_EINPUT, "variant %s (%s): \"%s\" is set twice",
			variant->name, variant->file, key);
	if (al_variant_has_option(variant, key) && value != 0 && value != 1)
		return al_fail(err, AL_EINPUT,
			"variant %s (%s): option \"%s\" is %lld, expected true or false",
			variant->name, variant->file, key, (long long)value);

	struct al_binding *with = al_new_array(arena, struct al_binding, configured->n_with + 1);
	if (configured->n_with)
		memcpy(with, configured->with, configured->n_with * sizeof(*with));
	with[configured->n_with++] = (struct al_binding){.symbol = al_strdup(arena, key),
		.value = value};
	configured->with = with;
	return true;
}

bool al_configured_variant_add_tied(struct al_arena *arena,
	struct al_configured_variant *configured, const struct al_substitution *tied,
	const struct al_symbol *symbols, size_t n_symbols, struct al_error *err)
{
	struct al_substitution *all = al_new_array(arena, struct al_substitution,
		configured->n_tied + 1);

	if (al_variant_has_option(configured->variant, tied->symbol))
		return al_fail(err, AL_EINPUT, "option \"%s\": expected true or false",
			tied->symbol);
	if (!al_configured_variant_set(arena, configured, tied->symbol, 0, symbols, n_symbols, err))
		return false;
	if (configured->n_tied)
		memcpy(all, configured->tied, configured->n_tied * sizeof(*all));
	all[configured->n_tied++] = *tied;
	configured->tied = all;
	return true;
}

bool al_configured_variant_tie(struct al_arena *arena,
	const struct al_configured_variant **configured, struct al_settings *settings,
	struct al_error *err)
{
	const struct al_configured_variant *from = *configured;
	const struct al_scope scope = al_settings_scope(settings);
	struct al_configured_variant *out;

	if (from->n_tied == 0)
		return true;
	*configured = out = al_new(arena, struct al_configured_variant);
	*out = *from;
	out->n_tied = 0;
	out->with = al_new_array(arena, struct al_binding, from->n_with);
	memcpy(out->with, from->with, from->n_with * sizeof(*out->with));
	for (size_t i = 0; i < from->n_tied; i++) {
		const struct al_substitution *tied = &from->tied[i];
		size_t k = 0;
		while (strcmp(out->with[k].symbol, tied->symbol) != 0)
			k++;
		if (!al_formula_whole(tied->formula, &scope, 0, &out->with[k].value, err))
			return al_in(err, "variant %s: %s", from->name, tied->symbol);
	}
	return true;
}

/* "4/5": in the first four of every five layers. */
static bool read_layers(struct al_configured_variant *configured, const char *text)
{
	const size_t n = al_read_digits(text, &configured->n_on);

	return n > 0 && text[n] == '/'
		&& text[n + 1 + al_read_digits(text + n + 1, &configured->n_of)] == '\0'
		&& configured->n_on > 0 && configured->n_on < configured->n_of;
}

static bool read_option(struct al_configured_variant *configured, const char *key, const char *text,
	int64_t *value, struct al_error *err)
{
	const char *name = configured->variant->name;

	*value = strcmp(text, "false") != 0;
	if (!*value || strcmp(text, "true") == 0)
		return true;
	if (configured->alternating)
		return al_fail(err, AL_EINPUT,
			"variant %s: %s is \"%s\", expected true or false: only one option "
			"may differ by layer, and %s does",
			name, key, text, configured->alternating);
	configured->alternating = key;
	return read_layers(configured, text)
		|| al_fail(err, AL_EINPUT,
			"variant %s: %s is \"%s\", expected true, false, or a share of layers such "
			"as 4/5",
			name, key, text);
}

/* "true", "false" or "4/5" for an option, a whole number for a symbol. */
static bool read_value(struct al_configured_variant *configured, struct al_settings *scratch,
	const char *change, const char *key, int64_t *value, struct al_error *err)
{
	const struct al_variant *variant = configured->variant;
	const struct al_setting *setting;

	if (al_variant_has_option(variant, key))
		return read_option(configured, key, change + strlen(key) + 1, value, err);
	const char *origin = al_format(&scratch->arena, "variant %s", variant->name);
	if (!al_settings_parse(scratch, change, origin, err)
		|| !al_settings_get(scratch, key, &setting, err))
		return false;
	*value = setting->value.integer;
	return true;
}

static bool add_change(struct al_arena *arena, struct al_configured_variant *configured,
	struct al_settings *scratch, const char *change, struct al_error *err)
{
	const char *equals = strchr(change, '=');
	int64_t value;

	if (!equals || equals == change)
		return al_fail(err, AL_EINPUT, "variant %s: found \"%s\", expected KEY=VALUE",
			configured->variant->name, change);

	const char *key = al_strndup(arena, change, (size_t)(equals - change));
	if (!read_value(configured, scratch, change, key, &value, err))
		return false;
	return al_configured_variant_set(arena, configured, key, value, scratch->symbols,
		scratch->n_symbols, err);
}

/* Each of "n_kv_heads=4,biases=true". */
static bool add_changes(struct al_arena *arena, struct al_configured_variant *configured,
	struct al_settings *scratch, const char *changes, struct al_error *err)
{
	for (const char *p = changes;; p++) {
		size_t length = strcspn(p, ",");
		if (!add_change(arena, configured, scratch, al_strndup(arena, p, length), err))
			return false;
		p += length;
		if (!*p)
			return true;
	}
}

/* ---- what a change changes: by its formulas, under the options ---- */

/* Symbols that multiply all entries, whatever their formulas contain. */
static const char *const multipliers[] = {"batch", "seq", "source_seq", "layer", "n_layers",
	"n_encoder_layers", "n_decoder_layers"};
enum { N_MULTIPLIERS = sizeof(multipliers) / sizeof(*multipliers) };

struct effect {
	const struct al_configured_variant *configured;
	const struct al_symbol *symbols;
	size_t n_symbols;
	struct al_scope options;
	const char *symbol, *option; /* that formulas are asked about */
};

static bool is_on(const struct al_configured_variant *configured, const struct al_option *option)
{
	const struct al_binding *change = AL_FIND(configured->with, configured->n_with,
		option->name);

	return change ? change->value != 0 : option->is_on;
}

/* Options have values here, and nothing else has. */
static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	const struct al_configured_variant *configured = context;
	const struct al_option *option = AL_FIND(configured->variant->options,
		configured->variant->n_options, reference->symbol);

	(void)err;
	*found = option;
	if (option)
		al_value_set_int(out, is_on(configured, option));
	return true;
}

/* ---- formulas that depend on a symbol ---- */

typedef bool asks(const struct effect *e, const struct al_formula *formula);

static bool entry_asks(const struct effect *e, const struct al_entry *entry, asks *ask)
{
	const struct al_formula *formulas[AL_ENTRY_FORMULAS];
	const size_t n = al_entry_formulas(entry, formulas);
	bool is_there;

	if (entry->when && al_formula_holds(entry->when, &e->options, &is_there, NULL) && !is_there)
		return false;
	for (size_t i = 0; i < n; i++)
		if (ask(e, formulas[i]))
			return true;
	return false;
}

static bool any_asks(const struct effect *e, asks *ask)
{
	const struct al_variant *variant = e->configured->variant;
	const struct al_entries *const lists[] = {&variant->tensors, &variant->cache,
		&variant->activations, &variant->products};

	for (size_t list = 0; list < sizeof(lists) / sizeof(*lists); list++)
		for (size_t i = 0; i < lists[list]->n; i++)
			if (entry_asks(e, &lists[list]->items[i], ask))
				return true;
	return false;
}

static bool depends(const struct effect *e, const struct al_formula *formula)
{
	return al_formula_depends(formula, e->symbol, &e->options);
}

/* Itself, or through the default of another symbol: d_head is d_model/n_heads. */
static bool has_effect(struct effect *e, const char *symbol)
{
	e->symbol = symbol;
	if (al_find_name(symbol, multipliers, N_MULTIPLIERS) >= 0 || any_asks(e, depends))
		return true;
	for (size_t i = 0; i < e->n_symbols; i++)
		if (al_formula_mentions(e->symbols[i].fallback, symbol)
			&& !AL_FIND(e->configured->with, e->configured->n_with, e->symbols[i].name)
			&& has_effect(e, e->symbols[i].name))
			return true;
	return false;
}

/* ---- why not ---- */

static bool holds_both(const struct effect *e, const struct al_formula *formula)
{
	return al_formula_mentions(formula, e->symbol) && al_formula_mentions(formula, e->option);
}

static bool fail_without_effect(struct effect *e, const struct al_binding *change,
	struct al_error *err)
{
	const struct al_variant *variant = e->configured->variant;

	e->symbol = change->symbol;
	for (size_t i = 0; i < variant->n_options; i++) {
		e->option = variant->options[i].name;
		if (any_asks(e, holds_both))
			return al_fail(err, AL_EINPUT,
				"variant %s (%s): %s=%lld has no effect while %s is %s",
				variant->name, variant->file, change->symbol,
				(long long)change->value, e->option,
				is_on(e->configured, &variant->options[i]) ? "true" : "false");
	}
	return al_fail(err, AL_EINPUT,
		"variant %s (%s): %s=%lld has no effect: no formula contains %s", variant->name,
		variant->file, change->symbol, (long long)change->value, change->symbol);
}

bool al_configured_variant_check(const struct al_configured_variant *configured,
	const struct al_symbol *symbols, size_t n_symbols, struct al_error *err)
{
	struct al_configured_variant copy = *configured;
	struct effect e = {.configured = configured,
		.symbols = symbols,
		.n_symbols = n_symbols,
		.options = {.lookup = look_up, .context = &copy}};

	for (size_t i = 0; i < configured->n_with; i++)
		if (!al_variant_has_option(configured->variant, configured->with[i].symbol)
			&& !has_effect(&e, configured->with[i].symbol))
			return fail_without_effect(&e, &configured->with[i], err);
	return true;
}

/* ---- making one ---- */

bool al_configured_variant_parse(struct al_arena *arena, struct al_catalog *catalog,
	const char *text, struct al_configured_variant *out, struct al_error *err)
{
	size_t length = strlen(text);
	bool is_path = length > 5 && strcmp(text + length - 5, ".json") == 0;
	const char *colon = is_path ? NULL : strrchr(text, ':');
	const char *name = colon ? al_strndup(arena, text, (size_t)(colon - text)) : text;

	*out = (struct al_configured_variant){0};
	if (strcmp(text, AL_OWN_ATTENTION) == 0) {
		*out = (struct al_configured_variant){.name = text,
			.title = "own attention",
			.is_all_own = true,
			.is_models_own = true};
		return al_catalog_variant(catalog, "mha", &out->variant, err); /* matches any */
	}
	if (!al_catalog_variant(catalog, name, &out->variant, err))
		return false;
	out->name = out->variant->name;
	if (!colon)
		return true;

	out->name = al_format(arena, "%s%s", out->variant->name, colon);
	AL_SETTINGS(scratch, catalog);
	return add_changes(arena, out, &scratch, colon + 1, err)
		&& al_configured_variant_check(out, scratch.symbols, scratch.n_symbols, err);
}

bool al_configured_variants_add(struct al_configured_variants *variants, struct al_arena *arena,
	struct al_catalog *catalog, const char *text, struct al_error *err)
{
	return al_configured_variant_parse(arena, catalog, text,
		AL_APPEND(arena, variants->items, variants->n, variants->room), err);
}
