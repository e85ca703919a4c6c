/* Models: a preset with the symbols of its attention, a preset with a family's config, or a
 * config.json as it comes with a checkpoint, whose family goes by its model_type and is composed
 * where the config chooses its components. */

#include "catalog/cache.h"
#include "catalog/config.h"

static bool read_symbol(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_binding *binding = out;

	return al_read_symbol(reader, member, &binding->symbol, err)
		&& al_json_whole_from(reader->doc, member, 0, &binding->value, err);
}

static bool check_preset(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_model *model = record;
	bool has_symbols = al_json_get(node, "symbols");

	if (has_symbols == (model->family || model->config))
		return al_json_fail(reader->doc, node, err,
			"expected either \"symbols\", or \"family\" and \"config\"");
	if (!has_symbols && !(model->family && model->config))
		return al_json_fail(reader->doc, node, err, "key \"%s\" is missing",
			model->family ? "config" : "family");
	if (model->config)
		model->doc = reader->doc;
	if (!model->title)
		model->title = model->name;
	return true;
}

#define AT(member) offsetof(struct al_model, member)

static const struct al_field model_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("year", WHOLE, AT(year)), .least = 1900},
	{AL_KEY("symbols", MEMBERS, AT(symbols)), .n_offset = AT(n_symbols), .read = read_symbol,
		.item_size = sizeof(struct al_binding), .most = 256, .noun = "symbols"},
	{AL_KEY("family", TEXT, AT(family))},
	{AL_KEY("config", NODE, AT(config)), .kind = AL_JSON_OBJECT},
};
static const struct al_record model_record = {
	.fields = AL_FIELDS(model_fields),
	.size = sizeof(struct al_model),
	.check = check_preset,
};

const struct al_file_kind al_model_file = {.record = &model_record};

/* ---- the family of a config, with the families of its components ---- */

/* "llava(text=llama,vision=clip_vision)": a family whose components are chosen. */
static const char *name_composed(struct al_catalog *catalog, const struct al_family *family,
	const char *const families[AL_N_COMPONENTS])
{
	const char *list = "";

	for (int i = 0; i < AL_N_COMPONENTS; i++)
		if (families[i])
			list = al_format(&catalog->arena, "%s%s%s=%s", list, *list ? "," : "",
				al_component_names[i], families[i]);
	return *list ? al_format(&catalog->arena, "%s(%s)", family->name, list) : family->name;
}

/* The text model's config in that of a model of text and more, where its family is known; else
 * NULL. */
static const struct al_item *find_text_config(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_family **family)
{
	const struct al_item *text = al_json_get(doc->root, "text_config");
	const char *model_type;

	return text && al_json_kind(text) == AL_JSON_OBJECT
			&& al_json_get_text(doc, text, "model_type", true, &model_type, NULL)
			&& al_catalog_family_of(catalog, model_type, family, NULL)
		? text
		: NULL;
}

/* The failure of a tower that no family is built like, with what of the model can be counted. */
static bool fail_tower(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *node, struct al_error *err)
{
	const struct al_family *text;

	if (err && find_text_config(catalog, doc, &text))
		al_fail(err, err->status, "%s; its text_config alone, of family %s, can be counted",
			al_strdup(&catalog->arena, err->message), text->name);
	return al_json_in(doc, node, err);
}

/* 2.6 and "2.6" alike. */
static bool read_value(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *node, const char **out, struct al_error *err)
{
	double number;

	if (al_json_kind(node) != AL_JSON_NUMBER)
		return al_json_text(doc, node, out, err);
	if (!al_json_real(doc, node, &number, err))
		return false;
	*out = al_format(&catalog->arena, "%g", number);
	return true;
}

/* The family that a key of the config's object names. */
static bool choose_by_key(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *object, const struct al_family_component *component, const char **out,
	struct al_error *err)
{
	const struct al_item *node = al_json_get(object, component->by[0]);
	const char *value = "none", *list = "";

	if (node && !read_value(catalog, doc, node, &value, err))
		return false;
	for (size_t i = 1; i < component->n_by; i++) {
		const char *equals = strchr(component->by[i], '=');
		const char *is = al_strndup(&catalog->arena, component->by[i],
			(size_t)(equals - component->by[i]));
		list = al_format(&catalog->arena, "%s%s%s", list, *list ? ", " : "", is);
		if (strcmp(is, value) != 0)
			continue;
		*out = equals + 1;
		return true;
	}
	return al_json_fail(doc, node ? node : object, err,
		"\"%s\" is %s, expected one of %s; others have unknown parts", component->by[0],
		value, list);
}

/* The family of one component that the config's object names, if it does. */
static bool choose_component(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_config *config, const struct al_family_component *component,
	const char **out, struct al_error *err)
{
	const struct al_item *object = al_config_object(config, &component->place);
	const struct al_item *node = object == config->object ? NULL
							      : al_json_get(object, "model_type");
	const struct al_family *family;
	const char *model_type;

	if (component->n_by > 0)
		return choose_by_key(catalog, doc, object, component, out, err);
	if (!component->by_model_type || !node)
		return true;
	if (!al_json_text(doc, node, &model_type, err))
		return false;
	if (!al_catalog_family_of(catalog, model_type, &family, err))
		return fail_tower(catalog, doc, node, err);
	*out = family->name;
	return true;
}

/* The family as it is with these components, which is found by its name from here on. */
static bool compose(struct al_catalog *catalog, const struct al_family *family,
	const char *const families[AL_N_COMPONENTS], const char *name, struct al_error *err)
{
	const struct al_composition composition = {.catalog = catalog,
		.standard = &catalog->symbols,
		.families = families};
	struct al_family *composed;
	AL_JSON(doc);

	if (al_catalog_find_cached(catalog, AL_CATALOG_FAMILIES, name))
		return true;
	if (!al_catalog_family_document(catalog, family->name, &doc, err)
		|| !al_family_read(&catalog->arena, &doc, &composition, NULL, &composed, err))
		return false;
	composed->file = family->file;
	al_catalog_keep(catalog, AL_CATALOG_FAMILIES, name)->item = composed;
	return true;
}

/* The name of the config's family, under which the catalog has it. */
static bool choose_family(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *object, const struct al_family *family, const char **name,
	struct al_error *err)
{
	const struct al_config config = {.family = family, .doc = doc, .object = object};
	const char *families[AL_N_COMPONENTS] = {NULL};

	for (size_t i = 0; i < family->n_components; i++) {
		const struct al_family_component *component = &family->components[i];
		const char **other = &families[component->component];
		if (!choose_component(catalog, doc, &config, component, other, err))
			return false;
		if (*other && strcmp(*other, component->family) == 0)
			*other = NULL;
	}
	*name = name_composed(catalog, family, families);
	return compose(catalog, family, families, *name, err);
}

/* "vision_config and audio_config and ": the configs of further parts. */
static const char *list_parts(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *text)
{
	const char *list = "";

	al_json_each (member, doc->root)
		if (member != text && al_json_kind(member) == AL_JSON_OBJECT
			&& al_json_get(member, "model_type"))
			list = al_format(&catalog->arena, "%s%s and ", list, al_json_key(member));
	return list;
}

/* The model_type, or what diffusers writes instead. */
static const struct al_item *find_type(const struct al_item *config)
{
	const struct al_item *type = al_json_get(config, "model_type");

	return type ? type : al_json_get(config, "_class_name");
}

/* Heads that draft for a model have its model_type, and a class of their own: a family may answer
 * to that. */
static bool read_class(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *config, const char **out)
{
	const struct al_item *classes = al_json_get(config, "architectures");
	const struct al_item *first = al_json_kind(classes) == AL_JSON_ARRAY
		? al_json_first(classes)
		: NULL;
	const void *found = NULL;

	return al_json_kind(first) == AL_JSON_TEXT && al_json_text(doc, first, out, NULL)
		&& al_catalog_find_by_word(catalog, AL_CATALOG_FAMILIES, *out, &found, NULL)
		&& found;
}

static bool read_type(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *config, const char **model_type, struct al_error *err)
{
	const struct al_item *type = find_type(config);

	if (read_class(catalog, doc, config, model_type))
		return true;
	return type ? al_json_text(doc, type, model_type, err)
		    : al_json_get_text(doc, config, "model_type", true, model_type, err);
}

/* A config.json has no name of its own, and its family goes by its model_type. */
bool al_catalog_config(struct al_catalog *catalog, const struct al_json *doc, void **out,
	struct al_error *err)
{
	struct al_model *model = al_new(&catalog->arena, struct al_model);
	const struct al_family *family;
	const char *model_type;

	if (!al_catalog_own_families(catalog, err)
		|| !read_type(catalog, doc, doc->root, &model_type, err))
		return false;
	model->config = doc->root;
	if (!al_catalog_family_of(catalog, model_type, &family, err)) {
		model->config = find_text_config(catalog, doc, &family);
		if (!model->config)
			return al_json_in(doc, find_type(doc->root), err);
		model->note = al_format(&catalog->arena,
			"only its text_config, of family %s, is counted; %sall else is left out",
			family->name, list_parts(catalog, doc, model->config));
	}
	if (!choose_family(catalog, doc, model->config, family, &model->family, err))
		return false;
	model->name = al_strdup(&catalog->arena, doc->name);
	model->title = model->note ? al_format(&catalog->arena, "%s (text model)", model->name)
				   : model->name;
	model->doc = doc;
	*out = model;
	return true;
}

bool al_catalog_family_for(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *config, const struct al_family **out, const char **name,
	struct al_error *err)
{
	const struct al_family *family;
	const char *model_type;

	if (!al_catalog_own_families(catalog, err)
		|| !read_type(catalog, doc, config, &model_type, err))
		return false;
	if (!al_catalog_family_of(catalog, model_type, &family, err))
		return al_json_in(doc, find_type(config), err);
	return choose_family(catalog, doc, config, family, name, err)
		&& al_catalog_family(catalog, *name, out, err);
}

/* ---- settings ---- */

bool al_model_settings(const struct al_model *model, struct al_catalog *catalog,
	struct al_settings *settings, struct al_error *err)
{
	const struct al_family *family;

	for (size_t i = 0; i < model->n_symbols; i++)
		if (!al_settings_is_asked(settings, model->symbols[i].symbol))
			al_settings_set(settings, model->symbols[i].symbol, model->symbols[i].value,
				model->name);
	if (!model->family)
		return true;
	return al_catalog_family(catalog, model->family, &family, err)
		&& al_family_settings(family, model->doc, model->config, model->name, settings,
			err);
}
