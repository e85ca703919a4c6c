/* Architectures: the class that a config.json names, and the heads that it has. */
#include "base/text.h"
#include "catalog/config.h"
#include "catalog/family_read.h"

/* ---- in a family's file ---- */

static bool read_setting(void *reader, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_module_set *set = out;

	if (!al_read_own_symbol(reader, member, &set->symbol, err)
		|| !al_read_formula_or_flag(reader, member, &set->value, err))
		return false;
	al_reader_know(reader, set->symbol);
	return true;
}

static const struct al_field settings_field = {
	AL_KEY("architectures", MEMBERS, offsetof(struct al_architecture, set)),
	.n_offset = offsetof(struct al_architecture, n_set),
	.read = read_setting,
	.item_size = sizeof(struct al_module_set),
	.most = AL_FAMILY_ITEMS,
	.noun = "symbols",
};

bool al_read_architecture(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	const struct al_record_source source = al_reader_source(reader);
	struct al_architecture *architecture = out;

	architecture->name = al_strdup(reader->arena, al_json_key(member));
	return al_record_read_items(&source, &settings_field, member, architecture, err);
}

/* ---- in a config ---- */

static const struct al_architecture *find(const struct al_family *family, const char *name)
{
	return AL_FIND(family->architectures, family->n_architectures, name);
}

/* The first name that a config says; NULL: none. What is no text says nothing. */
static const char *name_of(const struct al_json *doc, const struct al_item *config)
{
	const struct al_item *node = al_json_get(config, "architectures");
	const char *name;

	if (node && al_json_kind(node) == AL_JSON_ARRAY)
		node = al_json_first(node);
	return node && al_json_text(doc, node, &name, NULL) ? name : NULL;
}

const char *al_family_unknown_architecture(const struct al_family *family,
	const struct al_json *doc, const struct al_item *config)
{
	const char *name = name_of(doc, config);

	return name && family->n_architectures > 0 && !find(family, name) ? name : NULL;
}

static bool set_symbol(const struct al_config *config, const struct al_module_set *set,
	const char *origin, struct al_error *err)
{
	struct al_scope scope = al_settings_scope(config->settings);
	int64_t value;

	if (al_settings_is_asked(config->settings, set->symbol))
		return true;
	if (!al_formula_whole(set->value, &scope, 0, &value, err))
		return al_in(err, "%s", origin);
	al_settings_set(config->settings, set->symbol, value, origin);
	al_settings_derived(config->settings, set->symbol, set->value);
	return true;
}

/* What none sets here is 0. */
static void set_zeros(const struct al_config *config, const struct al_architecture *architecture,
	const char *origin)
{
	for (size_t i = 0; i < architecture->n_set; i++)
		if (!al_settings_is_asked(config->settings, architecture->set[i].symbol))
			al_settings_set(config->settings, architecture->set[i].symbol, 0, origin);
}

bool al_config_set_architecture(const struct al_config *config, struct al_error *err)
{
	const struct al_family *family = config->family;
	const char *name = name_of(config->doc, config->object);
	const struct al_architecture *found = name ? find(family, name) : NULL;

	if (family->n_architectures == 0)
		return true;
	if (!found)
		found = &family->architectures[0];
	for (size_t i = 0; i < family->n_architectures; i++)
		set_zeros(config, &family->architectures[i], found->name);
	for (size_t i = 0; i < found->n_set; i++)
		if (!set_symbol(config, &found->set[i], found->name, err))
			return false;
	return true;
}
