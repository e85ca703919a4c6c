/* A quantization: its scheme, and what the scheme reads of a model's files. */
#include "ledger/quantize.h"

#include <ctype.h>

#include "ledger/quantize_group.h"

/* ---- patterns ---- */

static bool has_digit(const char *text)
{
	while (*text && !isdigit((unsigned char)*text))
		text++;
	return *text != '\0';
}

/* Experts are counted together. */
static bool names_one_expert(const char *text)
{
	const char *at = strstr(text, "experts.");

	return at && isdigit((unsigned char)at[strlen("experts.")]);
}

static bool add_pattern(struct al_quantization *q, struct al_patterns *patterns, const char *text,
	struct al_error *err)
{
	q->is_by_layer |= has_digit(text);
	if (names_one_expert(text))
		return al_fail(err, AL_EINPUT,
			"\"%s\" selects single experts; all experts of a layer need the same "
			"format",
			text);
	q->budget.n_input += strlen(text);
	return al_patterns_add(patterns, text, err);
}

static bool add_list(struct al_quantization *q, const struct al_json *doc,
	const struct al_item *list, struct al_quantization_group *group, struct al_error *err)
{
	const char *text;

	if (!list || al_json_kind(list) == AL_JSON_NULL)
		return true;
	if (!al_json_expect(doc, list, AL_JSON_ARRAY, err))
		return false;
	al_json_each (node, list) {
		if (!al_json_text(doc, node, &text, err))
			return false;
		if (group && strcmp(text, "Linear") == 0)
			group->has_linear = true;
		else if (!add_pattern(q, group ? group->targets : q->kept, text, err))
			return al_json_in(doc, node, err);
	}
	return true;
}

static bool read_kept(struct al_quantization *q, const struct al_quantization_config *config,
	struct al_error *err)
{
	const struct al_scheme *scheme = q->scheme;

	q->kept = al_patterns_create(q->arena, &q->budget);
	for (size_t i = 0; i < scheme->kept.n; i++)
		if (!add_pattern(q, q->kept, scheme->kept.items[i], err))
			return false;
	for (size_t i = 0; config->object && i < scheme->keeps.n; i++)
		if (!add_list(q, config->doc, al_json_get(config->object, scheme->keeps.items[i]),
			    NULL, err))
			return false;
	return true;
}

/* ---- settings ---- */

/* A scheme that is asked for by name has all its defaults. */
static bool read_keys(struct al_quantization *q, const struct al_family *keys,
	const struct al_json *doc, const struct al_item *object, struct al_settings *settings,
	struct al_error *err)
{
	AL_JSON(empty);

	if (!object) {
		if (!al_json_parse(&empty, q->name, "{}", 2, err))
			return false;
		doc = &empty;
		object = empty.root;
	}
	return al_family_settings(keys, doc, object, doc->name, settings, err);
}

static bool check_known(const struct al_quantization *q, const struct al_json *doc,
	const struct al_item *object, struct al_quantization_group *group, struct al_error *err)
{
	const struct al_formula *known = q->scheme->known;
	struct al_scope scope = al_settings_scope(&group->settings);
	bool is_known = true;

	if (known && !al_formula_holds(known, &scope, &is_known, err))
		return false;
	return is_known || !object
		|| al_json_fail(doc, object, err,
			"the rules of %s don't cover this; expected %s, or set the weights' format "
			"with --dtype NAME",
			q->scheme->name,
			q->scheme->knows ? q->scheme->knows : al_formula_source(known));
}

static bool read_group(struct al_quantization *q, const struct al_model *model,
	const struct al_quantization_config *config, const struct al_item *object,
	struct al_quantization_group *group, struct al_error *err)
{
	const struct al_item *whole = model ? model->config : NULL;

	al_settings_init(&group->settings, q->catalog);
	q->n_groups++;
	return read_keys(q, &q->scheme->model, whole ? model->doc : NULL, whole, &group->settings,
		       err)
		&& read_keys(q, &q->scheme->config, config->doc, config->object, &group->settings,
			err)
		&& read_keys(q, &q->scheme->group, config->doc, object, &group->settings, err)
		&& check_known(q, config->doc, object, group, err);
}

/* The members of the first list of groups that is there; NULL: none. */
static const struct al_item *find_groups(const struct al_scheme *scheme,
	const struct al_item *object, const struct al_scheme_groups **out)
{
	for (size_t i = 0; object && i < scheme->n_groups; i++) {
		const struct al_item *list = al_json_get(object, scheme->groups[i].key);
		*out = &scheme->groups[i];
		if (list && al_json_kind(list) == AL_JSON_OBJECT && al_json_size(list) > 0)
			return list;
	}
	return NULL;
}

static bool read_member(struct al_quantization *q, const struct al_model *model,
	const struct al_quantization_config *config, const struct al_scheme_groups *groups,
	const struct al_item *node, struct al_error *err)
{
	struct al_quantization_group *group = &q->groups[q->n_groups];
	const char *name = al_json_key(node);

	if (groups->is_signed && strncmp(name, "-:", 2) == 0)
		return add_pattern(q, q->kept, al_format(q->arena, "re:%s", name + 2), err)
			|| al_json_in(config->doc, node, err);
	if (!al_json_expect(config->doc, node, AL_JSON_OBJECT, err))
		return false;
	group->targets = al_patterns_create(q->arena, &q->budget);
	if (!read_group(q, model, config, node, group, err))
		return false;
	if (groups->targets)
		return add_list(q, config->doc, al_json_get(node, groups->targets), group, err);
	if (groups->is_signed)
		name = al_format(q->arena, "re:%s", name + (strncmp(name, "+:", 2) == 0 ? 2 : 0));
	return add_pattern(q, group->targets, name, err) || al_json_in(config->doc, node, err);
}

static bool read_groups(struct al_quantization *q, const struct al_model *model,
	const struct al_quantization_config *config, struct al_error *err)
{
	const struct al_scheme_groups *groups = NULL;
	const struct al_item *list = find_groups(q->scheme, config->object, &groups);

	q->groups = al_new_array(q->arena, struct al_quantization_group,
		(list ? al_json_size(list) : 0) + 1);
	if (!list && config->object && groups && groups->targets)
		return al_json_fail(config->doc, config->object, err,
			"key \"%s\" is missing, expected an object of groups", groups->key);
	if (!list)
		return read_group(q, model, config, config->object, &q->groups[0], err);
	al_json_each (node, list)
		if (!read_member(q, model, config, groups, node, err))
			return false;
	return !groups->is_signed
		|| read_group(q, model, config, config->object, &q->groups[q->n_groups], err);
}

/* ---- a quantization ---- */

static bool find_base(struct al_quantization *q, const struct al_model *model, struct al_error *err)
{
	const char *name = q->scheme->base, *said = model ? al_model_dtype(model) : NULL;

	q->is_file = name != NULL;
	if (name)
		return al_dtype_find(name, &q->base, err);
	q->base = said ? al_dtype_named(said) : NULL;
	q->is_base_default = !q->base;
	return q->base || al_dtype_find("bf16", &q->base, err);
}

static bool open_scheme(struct al_quantization *q, const struct al_model *model,
	const struct al_quantization_config *config, struct al_error *err)
{
	q->is_by_layer = q->scheme->is_by_layer;
	return find_base(q, model, err) && read_kept(q, config, err)
		&& read_groups(q, model, config, err);
}

/* A block format is that of a file of blocks. */
static bool open_dtype(struct al_quantization *q, const struct al_dtype *dtype,
	struct al_error *err)
{
	q->dtype = dtype;
	q->name = dtype->name;
	q->is_file = dtype->block_elements > 1;
	return al_dtype_find(q->is_file ? "f32" : dtype->name, &q->base, err);
}

static bool fail_unknown(const char *name, struct al_error *err)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_SCHEMES);
	struct al_names names;

	al_names_init(&names);
	al_dtype_add_names(&names);
	for (size_t i = 0; i < list->n_files; i++)
		al_names_add(&names, list->files[i].name);
	return al_names_fail(&names, "dtype", name, err);
}

static bool open_named(struct al_quantization *q, const struct al_model *model, const char *name,
	struct al_error *err)
{
	static const struct al_quantization_config none;
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_SCHEMES);
	const struct al_dtype *dtype = al_dtype_named(name);
	char *lower = al_strdup(q->arena, name);

	for (char *p = lower; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	q->name = lower;
	if (al_embedded_find(list, lower))
		return al_catalog_scheme(q->catalog, lower, &q->scheme, err)
			&& open_scheme(q, model, &none, err);
	return dtype ? open_dtype(q, dtype, err) : fail_unknown(name, err);
}

static bool open_config(struct al_quantization *q, const struct al_model *model,
	struct al_error *err)
{
	struct al_quantization_config config = {0};

	if (model && !al_model_quantization(model, q->catalog, &config, err))
		return false;
	if (!config.scheme)
		return open_dtype(q, al_dtype_named("bf16"), err);
	q->scheme = config.scheme;
	q->is_config = true;
	q->is_of_text = config.is_of_text;
	q->name = al_format(q->arena, "%s, from %s", config.scheme->name, config.doc->name);
	return open_scheme(q, model, &config, err);
}

bool al_quantization_init(struct al_quantization *q, struct al_arena *arena,
	struct al_catalog *catalog, const struct al_model *model, const char *name,
	struct al_error *err)
{
	*q = (struct al_quantization){.arena = arena, .catalog = catalog};
	al_arena_init(&q->stored);
	if (name ? open_named(q, model, name, err) : open_config(q, model, err))
		return true;
	al_quantization_finish(q);
	return false;
}

void al_quantization_finish(void *object)
{
	struct al_quantization *q = object;

	for (size_t i = 0; i < q->n_groups; i++) {
		al_settings_finish(&q->groups[i].settings);
		al_patterns_finish(q->groups[i].targets);
	}
	al_patterns_finish(q->kept);
	al_arena_finish(&q->stored);
	*q = (struct al_quantization){0};
}

/* ---- notes ---- */

static void note_setting(const struct al_quantization *q, const struct al_setting *setting,
	struct al_table *table)
{
	if (setting->list || strcmp(setting->symbol, "dropout") == 0)
		return;
	if (setting->value.kind == AL_VALUE_WORD)
		al_table_note(table, "%s: %s = %s (%s)", q->scheme->name, setting->symbol,
			setting->value.word, setting->origin);
	else
		al_table_note(table, "%s: %s = %lld (%s)", q->scheme->name, setting->symbol,
			(long long)setting->value.integer, setting->origin);
}

void al_note_quantization(const struct al_quantization *q, bool explains, struct al_table *table)
{
	if (!q->scheme)
		return;
	if (!q->is_file || explains)
		al_table_note(table, "not quantized by %s: %s%s", q->scheme->name, q->base->name,
			q->is_base_default ? " (a default: the config names no dtype)" : "");
	for (size_t g = 0; explains && g < q->n_groups; g++)
		for (size_t i = 0; i < q->groups[g].settings.n; i++)
			note_setting(q, &q->groups[g].settings.items[i], table);
}
