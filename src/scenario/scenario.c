/* Scenarios: reading the file, and finding its parts by name. */
#include "scenario/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

/* ---- finding ---- */

static const struct variant *variant_among(struct variant *const *variants, size_t n,
	const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(variants[i]->use.name, name) == 0)
			return variants[i];
	return NULL;
}

static bool fail_unknown_variant(const struct al_scenario *s, const char *name,
	struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < s->n_variants; i++)
		al_names_add(&names, s->variants[i]->use.name);
	for (size_t i = 0; i < s->n_data_variants; i++)
		al_names_add(&names, s->data_variants[i]->use.name);
	return al_names_fail(&names, "variant", name, err);
}

const struct variant *find_variant(const struct al_scenario *s, const char *name,
	struct al_error *err)
{
	const struct variant *found = variant_among(s->variants, s->n_variants, name);

	if (!found)
		found = variant_among(s->data_variants, s->n_data_variants, name);
	if (!found && err)
		fail_unknown_variant(s, name, err);
	return found;
}

static bool fail_unknown_case(const struct al_scenario *s, const char *id, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < s->n_cases; i++)
		al_names_add(&names, s->cases[i].id);
	return al_names_fail(&names, "case", id, err);
}

const struct kase *find_case(const struct al_scenario *s, const char *id, struct al_error *err)
{
	for (size_t i = 0; i < s->n_cases; i++)
		if (strcmp(s->cases[i].id, id) == 0)
			return &s->cases[i];
	if (err)
		fail_unknown_case(s, id, err);
	return NULL;
}

const struct table *find_table(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_tables; i++)
		if (strcmp(s->tables[i].id, id) == 0)
			return &s->tables[i];
	return NULL;
}

const struct sweep *find_sweep(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_sweeps; i++)
		if (strcmp(s->sweeps[i].sweep.id, id) == 0)
			return &s->sweeps[i];
	return NULL;
}

/* ---- cases ---- */

static bool read_model(struct al_scenario *s, const struct cJSON *owner,
	struct al_settings *settings, struct al_error *err)
{
	const struct cJSON *node = al_json_get(owner, "model");
	const struct al_model *model;
	const char *name;

	return !node
		|| (al_json_text(&s->doc, node, &name, err)
			&& ((al_catalog_model(s->catalog, name, &model, err)
				    && al_settings_from_model(settings, s->catalog, model, err))
				|| al_json_in(&s->doc, node, err)));
}

static bool change_case(struct kase *kase, const struct changes *changes, struct al_error *err)
{
	change_settings(&kase->settings, changes);
	if (changes->recipe)
		kase->recipe = changes->recipe;
	return change_basis(&kase->basis, changes, err);
}

static bool read_base(struct al_scenario *s, struct al_error *err)
{
	return read_model(s, s->doc.root, &s->base.settings, err)
		&& read_changes(s, s->doc.root, s->name, &s->changes, err)
		&& change_case(&s->base, &s->changes, err);
}

/* The scenario's own, where a case says nothing. */
static void inherit(const struct al_scenario *s, struct kase *kase)
{
	kase->basis = s->base.basis;
	kase->recipe = s->base.recipe;
	al_settings_init(&kase->settings, s->catalog);
	al_settings_merge(&kase->settings, &s->base.settings);
}

static bool read_case(struct al_scenario *s, const struct cJSON *node, struct kase *kase,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "model", "set", "basis", "recipe"};
	struct changes changes;

	if (!al_json_only(&s->doc, node, keys, 6, err)
		|| !al_json_get_text(&s->doc, node, "id", true, &kase->id, err)
		|| !check_name(s, node, "case id", kase->id, err)
		|| !al_json_get_text(&s->doc, node, "title", false, &kase->title, err)
		|| !read_model(s, node, &kase->settings, err))
		return false;
	change_settings(&kase->settings, &s->changes);
	return read_changes(s, node, kase->id, &changes, err) && change_case(kase, &changes, err);
}

static bool read_cases(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	size_t n = al_json_size(list);

	if (!check_size(s, list, "cases", MOST_NAMES, err))
		return false;
	s->cases = al_new_array(&s->arena, struct kase, n + 1);
	if (n == 0) {
		inherit(s, &s->cases[0]);
		s->cases[0].id = "";
		s->n_cases = 1;
		return true;
	}
	al_json_each (node, list) {
		struct kase *kase = &s->cases[s->n_cases++];
		kase->id = "";
		inherit(s, kase);
		if (!read_case(s, node, kase, err))
			return false;
		if (find_case(s, kase->id, NULL) != kase)
			return al_json_fail(&s->doc, node, err, "case \"%s\" appears twice",
				kase->id);
	}
	return true;
}

/* ---- the file ---- */

static bool read_head(struct al_scenario *s, struct al_error *err)
{
	static const char *const keys[] = {"title", "source", "model", "set", "basis", "recipe",
		"variants", "cases", "data", "tables", "sweeps", "figures", "claims", "errata"};
	const struct cJSON *root = s->doc.root, *variants, *cases;
	const char *source;

	return al_json_only(&s->doc, root, keys, sizeof(keys) / sizeof(*keys), err)
		&& al_json_get_text(&s->doc, root, "title", true, &s->title, err)
		&& al_json_get_text(&s->doc, root, "source", false, &source, err)
		&& al_json_get_node(&s->doc, root, "variants", AL_JSON_ARRAY, false, &variants, err)
		&& read_variants(s, variants, err) && read_base(s, err)
		&& al_json_get_node(&s->doc, root, "cases", AL_JSON_ARRAY, false, &cases, err)
		&& read_cases(s, cases, err);
}

static bool read_body(struct al_scenario *s, struct al_error *err)
{
	const struct cJSON *root = s->doc.root, *data, *tables, *sweeps, *figures, *claims, *errata;

	return al_json_get_node(&s->doc, root, "data", AL_JSON_ARRAY, false, &data, err)
		&& al_json_get_node(&s->doc, root, "tables", AL_JSON_ARRAY, false, &tables, err)
		&& al_json_get_node(&s->doc, root, "sweeps", AL_JSON_ARRAY, false, &sweeps, err)
		&& al_json_get_node(&s->doc, root, "figures", AL_JSON_ARRAY, false, &figures, err)
		&& al_json_get_node(&s->doc, root, "claims", AL_JSON_ARRAY, false, &claims, err)
		&& al_json_get_node(&s->doc, root, "errata", AL_JSON_ARRAY, false, &errata, err)
		&& read_data(s, data, err) && read_tables(s, tables, err)
		&& read_sweeps(s, sweeps, err) && read_figures(s, figures, err)
		&& read_claims(s, claims, errata, err);
}

bool al_scenario_parse(struct al_scenario **out, struct al_catalog *catalog, const char *name,
	const char *file, const char *folder, const char *text, size_t length, struct al_error *err)
{
	struct al_arena arena;

	al_arena_init(&arena);
	struct al_scenario *s = al_new(&arena, struct al_scenario);
	s->arena = arena;
	s->catalog = catalog;
	s->name = al_strdup(&s->arena, name);
	s->file = al_strdup(&s->arena, file);
	s->folder = al_strdup(&s->arena, folder);
	s->symbols = al_catalog_symbols(catalog, &s->n_symbols);
	al_settings_init(&s->base.settings, catalog);
	al_basis_init(&s->base.basis);
	if (al_json_parse(&s->doc, file, text, length, err) && read_head(s, err)
		&& read_body(s, err)) {
		*out = s;
		return true;
	}
	al_scenario_destroy(s);
	return false;
}

/* "a/b/mhe.json" -> "mhe" and "a/b" */
static void split_path(struct al_arena *arena, const char *path, const char **name,
	const char **folder)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t n = strlen(base);

	if (n > 5 && strcmp(base + n - 5, ".json") == 0)
		n -= 5;
	*name = al_strndup(arena, base, n);
	*folder = slash ? al_strndup(arena, path, (size_t)(slash - path)) : ".";
}

static bool open_file(struct al_scenario **out, struct al_catalog *catalog, const char *path,
	struct al_error *err)
{
	struct al_arena arena;
	struct al_text text;
	const char *name, *folder;

	if (!al_file_read(&text, path, AL_JSON_FILE_LIMIT, err))
		return false;
	al_arena_init(&arena);
	split_path(&arena, path, &name, &folder);
	bool ok = al_scenario_parse(out, catalog, name, path, folder, text.data, text.length, err);
	al_arena_finish(&arena);
	al_text_finish(&text);
	return ok;
}

static bool fail_unknown_scenario(const char *name, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < al_embedded_scenarios.n_files; i++)
		al_names_add(&names, al_embedded_scenarios.files[i].name);
	return al_names_fail(&names, "scenario", name, err);
}

bool al_scenario_open(struct al_scenario **out, struct al_catalog *catalog, const char *name,
	struct al_error *err)
{
	size_t n = strlen(name);

	if (strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".json") == 0))
		return open_file(out, catalog, name, err);
	const struct al_embedded *file = al_embedded_find(&al_embedded_scenarios, name);
	if (!file)
		return fail_unknown_scenario(name, err);

	char shown[300];
	snprintf(shown, sizeof(shown), "%s.json", name);
	return al_scenario_parse(out, catalog, name, shown, "", file->text, file->length, err);
}

bool al_scenario_is_schema(const char *path)
{
	struct al_json doc;
	const char *schema = NULL;

	if (!al_json_read(&doc, path, NULL))
		return false;
	const struct cJSON *node = al_json_get(doc.root, "$schema");
	bool is_schema = node && al_json_text(&doc, node, &schema, NULL)
		&& strstr(schema, "//json-schema.org/") != NULL;
	al_json_finish(&doc);
	return is_schema;
}

const char *al_scenario_name(const struct al_scenario *scenario)
{
	return scenario->name;
}

const char *al_scenario_file(const struct al_scenario *scenario)
{
	return scenario->file;
}

const char *al_scenario_title(const struct al_scenario *scenario)
{
	return scenario->title;
}
