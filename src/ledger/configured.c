/* A configured variant: "gqa:n_kv_heads=4,biases=true". */
#include "ledger/configured.h"

#include <string.h>

#include "base/text.h"

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

/* "true" and "false" for an option, a whole number for a symbol. */
static bool read_value(const struct al_variant *variant, struct al_settings *scratch,
	const char *change, const char *key, int64_t *value, struct al_error *err)
{
	const struct al_setting *setting;
	const char *text = change + strlen(key) + 1;

	if (al_variant_has_option(variant, key)) {
		*value = strcmp(text, "true") == 0;
		return *value || strcmp(text, "false") == 0
			|| al_fail(err, AL_EINPUT,
				"variant %s: %s is \"%s\", expected true or false", variant->name,
				key, text);
	}
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
	if (!read_value(configured->variant, scratch, change, key, &value, err))
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
		return al_catalog_variant(catalog, "mha", &out->variant, err); /* stands for any */
	}
	if (!al_catalog_variant(catalog, name, &out->variant, err))
		return false;
	out->name = out->variant->name;
	if (!colon)
		return true;

	out->name = al_format(arena, "%s%s", out->variant->name, colon);
	struct al_settings scratch;
	al_settings_init(&scratch, catalog);
	bool ok = add_changes(arena, out, &scratch, colon + 1, err)
		&& al_configured_variant_check(out, scratch.symbols, scratch.n_symbols, err);
	al_settings_finish(&scratch);
	return ok;
}
