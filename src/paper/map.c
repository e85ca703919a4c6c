/* Reading maps. */
#include "paper/map.h"

#include "base/record.h"

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

/* A word that isn't in the list is a measure, which the scenario checks. */
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

static bool check_column(const struct al_paper_map *map, const struct al_item *node,
	const struct al_paper_column *column, struct al_error *err)
{
	const bool is_score = column->kind == AL_PAPER_SCORE || column->kind == AL_PAPER_LOSS;

	if (column->kind == AL_PAPER_SET && (!column->key || !*column->key))
		return al_json_fail(&map->doc, node, err, "expected \"set:SYMBOL\"");
	if (!is_score && (column->has_spread || column->has_peop))
		return al_json_fail(&map->doc, node, err,
			"only scores can have a number in brackets");
	return true;
}

static bool read_column(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_paper_map *map = context;
	const char *text;

	if (!al_json_text(&map->doc, node, &text, err))
		return false;
	parse_column(al_strdup(&map->arena, text), out);
	return check_column(map, node, out, err);
}

/* ---- tables ---- */

static bool finish_table(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_paper_map *map = context;
	struct al_paper_binding *binding = record;

	(void)err;
	binding->node = node;
	if (!binding->id)
		binding->id = al_format(&map->arena, "t%lld", (long long)binding->table);
	return true;
}

/* Keys that go into the scenario unchanged. */
#define KEPT(key) \
	{ \
		AL_KEY(key, NODE, AT(kept)) \
	}

#define AT(member) offsetof(struct al_paper_binding, member)
static const struct al_field table_fields[] = {
	{AL_KEY("table", WHOLE, AT(table)), .is_required = true, .least = 1},
	{AL_KEY("id", TEXT, AT(id))},
	{AL_KEY("columns", LIST, AT(columns)), .is_required = true, .n_offset = AT(n_columns),
		.read = read_column, .item_size = sizeof(struct al_paper_column),
		.most = AL_PAPER_MOST_COLUMNS, .noun = "columns"},
	KEPT("model"),
	KEPT("set"),
	KEPT("basis"),
	KEPT("recipe"),
	KEPT("per"),
	KEPT("baseline"),
	KEPT("retention"),
	KEPT("elasticity"),
	KEPT("substitute"),
	KEPT("order"),
	KEPT("against"),
	KEPT("symbols"),
};
#undef AT
static const struct al_record table_record = {
	.fields = AL_FIELDS(table_fields),
	.size = sizeof(struct al_paper_binding),
	.check = finish_table,
};

/* ---- maps ---- */

static bool read_name(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_paper_map *map = context;
	struct al_paper_name *name = out;

	name->label = al_paper_normal(&map->arena, al_json_key(node));
	return al_json_text(&map->doc, node, &name->name, err);
}

/* A path of its own stays; others start where the map is. */
static bool finish_map(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	struct al_paper_map *map = record;
	const char *slash = strrchr(map->doc.name, '/');

	(void)context;
	if (map->scenario && *map->scenario != '/' && slash)
		map->scenario = al_format(&map->arena, "%.*s/%s", (int)(slash - map->doc.name),
			map->doc.name, map->scenario);
	return map->scenario || map->tables
		|| al_json_fail(&map->doc, node, err, "key \"tables\" is missing");
}

#define AT(member) offsetof(struct al_paper_map, member)
static const struct al_field map_fields[] = {
	KEPT("title"),
	KEPT("model"),
	KEPT("set"),
	KEPT("basis"),
	KEPT("recipe"),
	KEPT("with"),
	{AL_KEY("scenario", TEXT, AT(scenario))},
	{AL_KEY("names", MEMBERS, AT(names)), .n_offset = AT(n_names), .read = read_name,
		.item_size = sizeof(struct al_paper_name), .most = MOST_NAMES, .noun = "names",
		.takes_note = true},
	{AL_KEY("tables", LIST, AT(tables)), .n_offset = AT(n_tables), .record = &table_record,
		.most = AL_PAPER_MOST_TABLES, .noun = "tables"},
};
#undef AT
static const struct al_record map_record = {
	.fields = AL_FIELDS(map_fields),
	.check = finish_map,
};

static bool finish_reading(struct al_paper_map *map, struct al_error *err)
{
	const struct al_record_source source = {&map->arena, &map->doc, map};

	al_arena_init(&map->arena);
	if (al_record_read(&source, &map_record, map->doc.root, map, err))
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

void al_paper_map_keep(const struct al_item *object, const char *const *keys, size_t n_keys,
	struct al_text *out)
{
	for (size_t i = 0; i < n_keys; i++) {
		const struct al_item *value = al_json_get(object, keys[i]);
		if (!value)
			continue;
		al_text_addf(out, ",\"%s\":", keys[i]);
		al_json_add_compact(out, value);
	}
}
