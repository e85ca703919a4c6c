/* The parts of a request: what symbols, variants, bases and substitutions options give. */
#include "ledger/request/request.h"

const char *al_setting_cut(struct al_arena *arena, const char *text, const char **value)
{
	const char *equals = strchr(text, '=');

	*value = equals ? equals + 1 : NULL;
	return equals ? al_strndup(arena, text, (size_t)(equals - text)) : text;
}

/* ---- symbols ---- */

bool al_symbol_check(const struct al_settings *settings,
	const struct al_configured_variants *variants, const char *symbol, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < settings->n_symbols; i++)
		al_names_add(&names, settings->symbols[i].name);
	for (size_t i = 0; i < variants->n; i++)
		for (size_t j = 0; j < variants->items[i].variant->n_symbols; j++) {
			const char *own = variants->items[i].variant->symbols[j].name;
			if (!al_names_hold(&names, own))
				al_names_add(&names, own);
		}
	return al_names_check(&names, "symbol", symbol, err);
}

struct symbol_check {
	const struct al_settings *settings;
	const struct al_configured_variants *variants;
	bool ok;
	struct al_error *err;
};

static void check_mentioned(void *context, const char *symbol)
{
	struct symbol_check *check = context;

	check->ok = check->ok
		&& al_symbol_check(check->settings, check->variants, symbol, check->err);
}

bool al_symbols_check(const struct al_settings *settings,
	const struct al_configured_variants *variants, const struct al_formula *formula,
	struct al_error *err)
{
	struct symbol_check check = {settings, variants, true, err};

	al_formula_each_symbol(formula, check_mentioned, &check);
	return check.ok;
}

/* ---- variants ---- */

static bool add_one_or_all(struct al_configured_variants *variants, struct al_arena *arena,
	struct al_catalog *catalog, const char *text, struct al_error *err)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_VARIANTS);

	if (strcmp(text, "all") != 0)
		return al_configured_variants_add(variants, arena, catalog, text, err);
	for (size_t i = 0; i < files->n_files; i++) {
		if (!al_configured_variants_add(variants, arena, catalog, files->files[i].name,
			    err))
			return false;
		variants->items[variants->n - 1].is_of_all = true;
	}
	return true;
}

/* Does it begin "KEY="? No name of a variant does. */
static bool is_change(const char *text)
{
	return text[strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789")] == '=';
}

/* Up to the comma before the next variant. */
static size_t length_of_one(const char *text)
{
	size_t length = strcspn(text, ",");

	while (text[length] && is_change(text + length + 1))
		length += 1 + strcspn(text + length + 1, ",");
	return length;
}

/* "mha,gqa:n_kv_heads=4,d_head=64,mqa" */
static bool add_list(struct al_configured_variants *variants, struct al_arena *arena,
	struct al_catalog *catalog, const char *text, struct al_error *err)
{
	for (;;) {
		size_t length = length_of_one(text);
		const size_t name = strcspn(text, ",:");
		if (name < length && text[name] == ',')
			return al_fail(err, AL_EINPUT, "variant %.*s: use %.*s:%.*s", (int)length,
				text, (int)name, text, (int)(length - name - 1), text + name + 1);
		if (!add_one_or_all(variants, arena, catalog, al_strndup(arena, text, length), err))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

bool al_configured_variants_parse(struct al_configured_variants *variants, struct al_arena *arena,
	struct al_catalog *catalog, const struct al_asked *asked, struct al_error *err)
{
	for (size_t i = 0; i < asked->variants.n; i++)
		if (!add_list(variants, arena, catalog, asked->variants.items[i], err))
			return false;
	return true;
}

/* ---- bases and substitutions ---- */

bool al_basis_parse(struct al_basis *basis, struct al_arena *arena, struct al_texts texts,
	struct al_error *err)
{
	const char *value;

	for (size_t i = 0; i < texts.n; i++) {
		const char *key = al_setting_cut(arena, texts.items[i], &value);
		if (!value)
			return al_fail(err, AL_EINPUT, "--basis %s: expected KEY=VALUE",
				texts.items[i]);
		if (!al_basis_set(basis, key, value, err))
			return al_in(err, "--basis %s", texts.items[i]);
	}
	return true;
}

bool al_substitutions_parse(struct al_arena *arena, struct al_texts texts,
	struct al_substitution **out, size_t *n, struct al_error *err)
{
	const char *text;

	*n = 0;
	*out = al_new_array(arena, struct al_substitution, texts.n + 1);
	for (size_t i = 0; i < texts.n; i++) {
		struct al_substitution *item = &(*out)[(*n)++];
		item->symbol = al_setting_cut(arena, texts.items[i], &text);
		if (!text || !*item->symbol)
			return al_fail(err, AL_EINPUT, "\"%s\": expected SYMBOL=FORMULA",
				texts.items[i]);
		if (!al_formula_parse(arena, text, AL_DIALECT_CATALOG, &item->formula, err))
			return al_in(err, "%s", texts.items[i]);
	}
	return true;
}
