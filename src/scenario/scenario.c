/* Scenarios: reading the file, and what is asked of it. */
#include "scenario/scenario.h"

#include "base/file.h"
#include "scenario/build.h"
#include "scenario/read.h"

/* ---- the file ---- */

static bool find_profile(void *context, const char *name, void *out, struct al_error *err)
{
	struct al_scenario *s = context;

	return al_profile_find(&s->arena, al_scenario_beside(s, name), out, err);
}

#define AT(member) offsetof(struct al_scenario, member)
#define PARTS(name, item, limit) \
	{ \
		AL_KEY(#name, LIST, AT(name)), .n_offset = AT(n_##name), .record = &(item), \
					       .most = (limit), .noun = #name \
	}
/* Each may name what was read before it. */
static const struct al_field scenario_fields[] = {
	{AL_KEY("title", TEXT, AT(title)), .is_required = true},
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("profile", BY, AT(profile)), .find = find_profile},
	{AL_KEY("model", BY, AT(base.model)), .find = al_scenario_find_model},
	{AL_KEY("set", NODE, AT(set)), .kind = AL_JSON_OBJECT},
	AL_BASIS(AT(base.changes.bases), AT(base.changes.n_bases)),
	{AL_KEY("recipe", BY, AT(base.changes.recipe)), .find = al_scenario_find_recipe},
	{AL_KEY("variants", BY, 0), .read = al_scenario_read_variants},
	{AL_KEY("cases", BY, 0), .reads_absent = true, .read = al_scenario_read_cases},
	PARTS(data, al_data_record, AL_MOST_PARTS_OF_A_KIND),
	{AL_KEY("colors", MEMBERS, AT(colors)), .n_offset = AT(n_colors),
		.read = al_scenario_read_color, .item_size = sizeof(struct al_scenario_color)},
	PARTS(tables, al_table_record, AL_MOST_PARTS_OF_A_KIND),
	PARTS(sweeps, al_sweep_record, AL_MOST_PARTS_OF_A_KIND),
	PARTS(listings, al_listing_record, AL_MOST_PARTS_OF_A_KIND),
	PARTS(figures, al_figure_record, AL_MOST_PARTS_OF_A_KIND),
	PARTS(questions, al_question_record, AL_MOST_QUESTIONS),
	PARTS(claims, al_claim_record, 0),
	{AL_KEY("errata", BY, 0), .reads_absent = true, .read = al_scenario_read_errata},
};
#undef AT
static const struct al_record scenario_record = {.fields = AL_FIELDS(scenario_fields)};

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
	al_request_begin(&s->base.request, &s->arena, catalog);
	if (al_json_parse(&s->doc, file, text, length, err)
		&& al_object_read(s, &scenario_record, s->doc.root, s, err)) {
		al_looks_choose(s);
		s->evaluator = al_evaluator_create(s, &s->arena);
		*out = s;
		return true;
	}
	al_scenario_destroy(s);
	return false;
}

void al_scenario_set_asker(struct al_scenario *scenario, al_scenario_asker *ask)
{
	scenario->ask = ask;
}

void al_scenario_destroy(struct al_scenario *scenario)
{
	if (!scenario)
		return;
	for (size_t i = 0; i < scenario->n_cases; i++)
		al_request_finish(&scenario->cases[i].request);
	al_request_finish(&scenario->base.request);
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
	AL_TEXT(text);
	AL_ARENA(arena);
	const char *name, *folder;

	split_path(&arena, path, &name, &folder);
	return al_file_read(&text, path, AL_JSON_FILE_LIMIT, err)
		&& al_scenario_parse(out, catalog, name, path, folder, text.data, text.length, err);
}

bool al_scenario_open(struct al_scenario **out, struct al_catalog *catalog, const char *name,
	struct al_error *err)
{
	if (al_json_is_path(name))
		return open_file(out, catalog, name, err);
	const struct al_embedded *file = al_embedded_find(&al_embedded_scenarios, name);
	if (!file)
		return al_fail_unknown_item(err, "scenario", name, al_embedded_scenarios.files,
			al_embedded_scenarios.n_files, sizeof(*al_embedded_scenarios.files));
	return al_scenario_parse(out, catalog, name, name, "", file->text, file->length, err);
}

bool al_scenario_is_schema(const char *path)
{
	AL_JSON(doc);
	const char *schema = NULL;

	return al_json_read(&doc, path, NULL)
		&& al_json_get_text(&doc, doc.root, "$schema", true, &schema, NULL)
		&& strstr(schema, "//json-schema.org/") != NULL;
}

/* ---- tables, sweeps and listings, in order; figures ---- */

size_t al_scenario_n_tables(const struct al_scenario *scenario)
{
	return scenario->n_tables + scenario->n_sweeps + scenario->n_listings;
}

/* One of the three. Figures draw a sweep's rows as they come. */
static bool build(struct al_scenario *scenario, const struct al_scenario_table *table,
	const struct al_scenario_sweep *sweep, const struct al_scenario_listing *listing,
	const struct al_scenario_figure *figure, struct al_table *out, struct al_error *err)
{
	bool ok = true;

	*out = (struct al_table){0};
	if (table)
		ok = al_table_build(scenario->evaluator, table, out, err);
	else if (listing)
		al_listing_build(listing, out);
	else
		ok = (al_sweep_build(scenario->evaluator, sweep, out, err)
			     && (figure || al_table_arrange(&sweep->arrangement, out, err)))
			|| al_in(err, "%s", scenario->file);
	ok = ok && (!figure || al_figure_build(figure, out, err));
	if (!ok)
		al_table_finish(out);
	return ok;
}

bool al_scenario_table(struct al_scenario *s, size_t index, struct al_table *out,
	struct al_error *err)
{
	if (index < s->n_tables)
		return build(s, &s->tables[index], NULL, NULL, NULL, out, err);
	index -= s->n_tables;
	if (index < s->n_sweeps)
		return build(s, NULL, &s->sweeps[index], NULL, NULL, out, err);
	return build(s, NULL, NULL, &s->listings[index - s->n_sweeps], NULL, out, err);
}

bool al_scenario_figure_in(const struct al_scenario *scenario, size_t index, struct al_error *err)
{
	return al_json_in(&scenario->doc, scenario->figures[index].node, err);
}

bool al_scenario_figure_table(struct al_scenario *scenario, size_t index, struct al_table *out,
	struct al_error *err)
{
	const struct al_scenario_figure *figure = &scenario->figures[index];

	return build(scenario, figure->table, figure->sweep, figure->listing, figure, out, err);
}
