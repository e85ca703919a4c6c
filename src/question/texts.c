/* The parts of a question that stand in texts: configured variants, bases, substitutions, and which
 * symbols they know. */
#include "question/texts.h"

#include <string.h>

#include "base/names.h"

const char *al_text_cut(struct al_arena *arena, const char *text, const char **value)
{
	const char *equals = strchr(text, '=');

	*value = equals ? equals + 1 : NULL;
	return equals ? al_strndup(arena, text, (size_t)(equals - text)) : text;
}

/* ---- variants ---- */

bool al_variant_uses_add(struct al_variant_uses *uses, struct al_arena *arena,
	struct al_catalog *catalog, const char *text, struct al_error *err)
{
	uses->items = al_grow(arena, uses->items, uses->n, &uses->room, sizeof(*uses->items));
	return al_variant_use_parse(arena, catalog, text, &uses->items[uses->n++], err);
}

bool al_variant_uses_add_all(struct al_variant_uses *uses, struct al_arena *arena,
	struct al_catalog *catalog, struct al_error *err)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_VARIANTS);

	for (size_t i = 0; i < files->n_files; i++)
		if (!al_variant_uses_add(uses, arena, catalog, files->files[i].name, err))
			return false;
	return true;
}

static bool add_one_or_all(struct al_variant_uses *uses, struct al_arena *arena,
	struct al_catalog *catalog, const char *text, struct al_error *err)
{
	return strcmp(text, "all") == 0 ? al_variant_uses_add_all(uses, arena, catalog, err)
					: al_variant_uses_add(uses, arena, catalog, text, err);
}

/* "a,b,c" */
static bool add_list(struct al_variant_uses *uses, struct al_arena *arena,
	struct al_catalog *catalog, const char *text, struct al_error *err)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		if (!add_one_or_all(uses, arena, catalog, al_strndup(arena, text, length), err))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

bool al_variant_uses_parse(struct al_variant_uses *uses, struct al_arena *arena,
	struct al_catalog *catalog, const struct al_asked *asked, struct al_error *err)
{
	for (size_t i = 0; i < asked->variants.n; i++)
		if (!add_one_or_all(uses, arena, catalog, asked->variants.items[i], err))
			return false;
	for (size_t i = 0; i < asked->variant_lists.n; i++)
		if (!add_list(uses, arena, catalog, asked->variant_lists.items[i], err))
			return false;
	return true;
}

/* ---- bases and substitutions ---- */

bool al_basis_parse(struct al_basis *basis, struct al_arena *arena, struct al_texts texts,
	struct al_error *err)
{
	const char *value;

	for (size_t i = 0; i < texts.n; i++) {
		const char *key = al_text_cut(arena, texts.items[i], &value);
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
		item->symbol = al_text_cut(arena, texts.items[i], &text);
		if (!text || !*item->symbol)
			return al_fail(err, AL_EINPUT, "\"%s\": expected SYMBOL=FORMULA",
				texts.items[i]);
		if (!al_formula_parse(arena, text, AL_DIALECT_CATALOG, &item->formula, err))
			return al_in(err, "%s", texts.items[i]);
	}
	return true;
}

/* ---- symbols ---- */

bool al_symbol_check(const struct al_settings *settings, const struct al_variant_uses *uses,
	const char *symbol, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < settings->n_symbols; i++)
		al_names_add(&names, settings->symbols[i].name);
	for (size_t i = 0; i < uses->n; i++)
		for (size_t j = 0; j < uses->items[i].variant->n_symbols; j++)
			al_names_add(&names, uses->items[i].variant->symbols[j].name);
	if (!al_names_hold(&names, symbol))
		return al_names_fail(&names, "symbol", symbol, err);
	al_names_finish(&names);
	return true;
}

struct symbol_check {
	const struct al_settings *settings;
	const struct al_variant_uses *uses;
	bool ok;
	struct al_error *err;
};

static void check_mentioned(void *context, const char *symbol)
{
	struct symbol_check *check = context;

	check->ok = check->ok && al_symbol_check(check->settings, check->uses, symbol, check->err);
}

bool al_symbols_check(const struct al_settings *settings, const struct al_variant_uses *uses,
	const struct al_formula *formula, struct al_error *err)
{
	struct symbol_check check = {settings, uses, true, err};

	al_formula_each_symbol(formula, check_mentioned, &check);
	return check.ok;
}
