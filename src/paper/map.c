/* Reading maps. */
#include "paper/map.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "base/text.h"

enum { MOST_NAMES = 10000 };

/* ---- columns ---- */

static const struct word {
	const char *text;
	enum al_paper_column_kind kind;
} words[] = {
	{"skip", AL_PAPER_SKIP},
	{"name", AL_PAPER_NAME},
	{"model", AL_PAPER_MODEL},
	{"set", AL_PAPER_SET},
	{"score", AL_PAPER_SCORE},
	{"loss", AL_PAPER_LOSS},
	{"prr", AL_PAPER_METRIC},
	{"peop", AL_PAPER_METRIC},
	{"mean", AL_PAPER_MEAN},
};

/* Cuts "TEXT" off the end; is it there? */
static bool cut_end(char *text, const char *end)
{
	const bool is = al_ends_with(text, end);

	if (is)
		text[strlen(text) - strlen(end)] = '\0';
	return is;
}

static const char *cut_from(char *text, const char *mark)
{
	char *at = strstr(text, mark);

	if (!at)
		return NULL;
	*at = '\0';
	return at + strlen(mark);
}

/* What is no word of the list is a measure, which the scenario will know or refuse. */
static void parse_column(char *text, struct al_paper_column *column)
{
	column->unit = cut_from(text, " in ");
	column->variant = cut_from(text, ":");
	column->has_spread = cut_end(text, "(spread)");
	column->has_peop = cut_end(text, "(peop)");
	column->key = text;
	column->kind = AL_PAPER_MEASURE;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(text, words[i].text) == 0)
			column->kind = words[i].kind;
	if (column->kind == AL_PAPER_SET) {
		column->key = column->variant;
		column->variant = NULL;
	}
}

static bool check_column(const struct al_paper_map *map, const struct cJSON *node,
	const struct al_paper_column *column, struct al_error *err)
{
	const bool is_score = column->kind == AL_PAPER_SCORE || column->kind == AL_PAPER_LOSS;

	if (column->kind == AL_PAPER_SET && (!column->key || !*column->key))
		return al_json_fail(&map->doc, node, err, "expected \"set:SYMBOL\"");
	if (!is_score && (column->has_spread || column->has_peop))
		return al_json_fail(&map->doc, node, err,
			"only a score has another number in brackets");
	return true;
}

static bool read_columns(struct al_paper_map *map, const struct cJSON *list,
	struct al_paper_binding *binding, struct al_error *err)
{
	const char *text;

	if (al_json_size(list) > AL_PAPER_MOST_COLUMNS)
		return al_json_fail(&map->doc, list, err, "more than %d columns",
			AL_PAPER_MOST_COLUMNS);
	binding->columns = al_new_array(&map->arena, struct al_paper_column,
		al_json_size(list) + 1);
	al_json_each (node, list) {
		struct al_paper_column *column = &binding->columns[binding->n_columns++];
		if (!al_json_text(&map->doc, node, &text, err))
			return false;
		parse_column(al_strdup(&map->arena, text), column);
		if (!check_column(map, node, column, err))
			return false;
	}
	return true;
}

/* ---- tables ---- */

static bool read_table(struct al_paper_map *map, const struct cJSON *node,
	struct al_paper_binding *binding, struct al_error *err)
{
	static const char *const known[] = {"table", "id", "columns", "model", "set", "basis",
		"recipe", "per", "baseline", "retention", "elasticity", "substitute", "order",
		"against", "symbols"};
	const struct cJSON *columns;
	int64_t table = 0;

	binding->node = node;
	if (!al_json_expect(&map->doc, node, AL_JSON_OBJECT, err)
		|| !al_json_only(&map->doc, node, known, sizeof(known) / sizeof(*known), err)
		|| !al_json_get_whole(&map->doc, node, "table", true, &table, err)
		|| !al_json_get_text(&map->doc, node, "id", false, &binding->id, err)
		|| !al_json_get_node(&map->doc, node, "columns", AL_JSON_ARRAY, true, &columns,
			err))
		return false;
	if (table < 1)
		return al_json_fail(&map->doc, al_json_get(node, "table"), err,
			"found %lld, expected 1 or more", (long long)table);
	binding->table = (size_t)table;
	if (!binding->id)
		binding->id = al_format(&map->arena, "t%zu", binding->table);
	return read_columns(map, columns, binding, err);
}

static bool read_tables(struct al_paper_map *map, struct al_error *err)
{
	const struct cJSON *list = NULL;

	if (!al_json_get_node(&map->doc, map->doc.root, "tables", AL_JSON_ARRAY, !map->scenario,
		    &list, err))
		return false;
	if (al_json_size(list) > AL_PAPER_MOST_TABLES)
		return al_json_fail(&map->doc, list, err, "more than %d tables",
			AL_PAPER_MOST_TABLES);
	map->tables = al_new_array(&map->arena, struct al_paper_binding, al_json_size(list) + 1);
	al_json_each (node, list)
		if (!read_table(map, node, &map->tables[map->n_tables++], err))
			return false;
	return true;
}

static bool read_names(struct al_paper_map *map, struct al_error *err)
{
	const struct cJSON *names = NULL;

	if (!al_json_get_node(&map->doc, map->doc.root, "names", AL_JSON_OBJECT, false, &names,
		    err))
		return false;
	if (!names)
		return true;
	if (al_json_size(names) > MOST_NAMES)
		return al_json_fail(&map->doc, names, err, "more than %d names", MOST_NAMES);
	map->names = al_new_array(&map->arena, struct al_paper_name, al_json_size(names) + 1);
	al_json_each (node, names) {
		struct al_paper_name *name = &map->names[map->n_names++];
		name->label = al_paper_normal(&map->arena, al_json_key(node));
		if (!al_json_text(&map->doc, node, &name->name, err))
			return false;
	}
	return true;
}

/* A path of its own stays; others start where the map is. */
static bool read_scenario(struct al_paper_map *map, struct al_error *err)
{
	const char *slash = strrchr(map->doc.name, '/');

	if (!al_json_get_text(&map->doc, map->doc.root, "scenario", false, &map->scenario, err))
		return false;
	if (map->scenario && *map->scenario != '/' && slash)
		map->scenario = al_format(&map->arena, "%.*s/%s", (int)(slash - map->doc.name),
			map->doc.name, map->scenario);
	return true;
}

static bool read_all(struct al_paper_map *map, struct al_error *err)
{
	static const char *const known[] = {"title", "model", "set", "basis", "recipe", "names",
		"with", "scenario", "tables"};

	return al_json_expect(&map->doc, map->doc.root, AL_JSON_OBJECT, err)
		&& al_json_only(&map->doc, map->doc.root, known, sizeof(known) / sizeof(*known),
			err)
		&& read_scenario(map, err) && read_names(map, err) && read_tables(map, err);
}

static bool finish_reading(struct al_paper_map *map, struct al_error *err)
{
	al_arena_init(&map->arena);
	if (read_all(map, err))
		return true;
	al_paper_map_finish(map);
	return false;
}

bool al_paper_map_parse(struct al_paper_map *map, const char *name, const char *text, size_t length,
	struct al_error *err)
{
	*map = (struct al_paper_map){0};
	return al_json_parse(&map->doc, name, text, length, err) && finish_reading(map, err);
}

bool al_paper_map_read(struct al_paper_map *map, const char *path, struct al_error *err)
{
	*map = (struct al_paper_map){0};
	return al_json_read(&map->doc, path, err) && finish_reading(map, err);
}

void al_paper_map_finish(struct al_paper_map *map)
{
	al_arena_finish(&map->arena);
	al_json_finish(&map->doc);
}

void al_paper_map_keep(const struct cJSON *object, const char *const *keys, size_t n_keys,
	struct al_text *out)
{
	for (size_t i = 0; i < n_keys; i++) {
		const struct cJSON *value = al_json_get(object, keys[i]);
		char *text = value ? cJSON_PrintUnformatted(value) : NULL;
		if (text)
			al_text_addf(out, ",\"%s\":%s", keys[i], text);
		cJSON_free(text);
	}
}
