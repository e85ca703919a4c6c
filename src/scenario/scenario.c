/* Scenarios: reading the file, and what is asked of it. */
#include "scenario/scenario.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "scenario/build.h"
#include "scenario/read.h"

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
		&& al_variants_read(s, variants, err) && al_base_read(s, err)
		&& al_json_get_node(&s->doc, root, "cases", AL_JSON_ARRAY, false, &cases, err)
		&& al_cases_read(s, cases, err);
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
		&& al_data_read(s, data, err) && al_tables_read(s, tables, err)
		&& al_sweeps_read(s, sweeps, err) && al_figures_read(s, figures, err)
		&& al_claims_read(s, claims, errata, err);
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
		s->evaluator = al_evaluator_create(s);
		*out = s;
		return true;
	}
	al_scenario_destroy(s);
	return false;
}

void al_scenario_destroy(struct al_scenario *scenario)
{
	if (!scenario)
		return;
	al_evaluator_destroy(scenario->evaluator);
	for (size_t i = 0; i < scenario->n_cases; i++)
		al_settings_finish(&scenario->cases[i].settings);
	al_settings_finish(&scenario->base.settings);
	al_json_finish(&scenario->doc);
	struct al_arena arena = scenario->arena;
	al_arena_finish(&arena);
}

/* ---- opening ---- */

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

/* ---- tables and sweeps, in order; figures ---- */

size_t al_scenario_n_tables(const struct al_scenario *scenario)
{
	return scenario->n_tables + scenario->n_sweeps;
}

size_t al_scenario_n_own_tables(const struct al_scenario *scenario)
{
	return scenario->n_tables;
}

bool al_scenario_table(struct al_scenario *scenario, size_t index, struct al_table *out,
	struct al_error *err)
{
	scenario->evaluator->n_look_ups = 0;
	if (index < scenario->n_tables)
		return al_table_build(scenario->evaluator, &scenario->tables[index], out, err);
	return al_sweep_build(scenario, &scenario->sweeps[index - scenario->n_tables], out, err)
		|| al_in(err, "%s", scenario->file);
}

size_t al_scenario_n_figures(const struct al_scenario *scenario)
{
	return scenario->n_figures;
}

const struct al_figure *al_scenario_figure(const struct al_scenario *scenario, size_t index)
{
	return &scenario->figures[index].figure;
}

bool al_scenario_figure_table(struct al_scenario *scenario, size_t index, struct al_table *out,
	struct al_error *err)
{
	const struct al_scenario_figure *figure = &scenario->figures[index];
	size_t source = figure->table
		? (size_t)(figure->table - scenario->tables)
		: scenario->n_tables + (size_t)(figure->sweep - scenario->sweeps);

	return al_scenario_table(scenario, source, out, err) && al_figure_build(figure, out, err);
}
