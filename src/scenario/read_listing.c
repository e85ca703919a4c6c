/* Reading listings: rows inline, or a CSV file with a header. */
#include "scenario/read_rows.h"

/* ---- columns ---- */

#define AT(member) offsetof(struct al_column, member)
static const struct al_field column_fields[] = {
	{AL_KEY("key", TEXT, AT(key)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("unit", TEXT, AT(unit))},
	{AL_KEY("group", TEXT, AT(group))},
	{AL_KEY("digits", INT, AT(digits)), .fallback = AL_DIGITS_ALL, .most = 17},
};
#undef AT
static const struct al_record column_record = {.fields = AL_FIELDS(column_fields)};

/* A name, or an object. */
static bool read_column(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_column *column = out;

	column->digits = AL_DIGITS_ALL;
	return al_json_kind(node) == AL_JSON_TEXT
		? al_json_text(&s->doc, node, &column->key, err)
		: al_object_read(s, &column_record, node, column, err);
}

static bool check_columns(const struct al_scenario *s, const struct al_scenario_listing *listing,
	struct al_error *err)
{
	for (size_t i = 0; i < listing->n_columns; i++)
		if (AL_FIND(listing->columns, i, listing->columns[i].key))
			return al_json_fail(&s->doc, al_json_at(listing->from.columns, i), err,
				"column \"%s\" appears twice", listing->columns[i].key);
	return true;
}

/* Without a list of columns all of the header are. */
static void take_header(struct al_scenario *s, const struct al_text_rows *texts,
	struct al_scenario_listing *listing)
{
	listing->columns = al_new_array(&s->arena, struct al_column, texts->n_columns);
	for (; listing->n_columns < texts->n_columns; listing->n_columns++) {
		const char *key = texts->header[listing->n_columns];
		listing->columns[listing->n_columns] = (struct al_column){.key = key ? key : "",
			.digits = AL_DIGITS_ALL};
	}
}

/* ---- rows ---- */

/* Which cell of a row is each column's. */
static bool match_header(const struct al_scenario_listing *listing,
	const struct al_text_rows *texts, size_t *places, struct al_error *err)
{
	for (size_t c = 0; c < listing->n_columns; c++) {
		size_t n_found = 0;
		places[c] = c;
		for (size_t i = 0; texts->header && i < texts->n_columns; i++)
			if (texts->header[i]
				&& strcmp(texts->header[i], listing->columns[c].key) == 0) {
				places[c] = i;
				n_found++;
			}
		if (texts->header && n_found != 1)
			return al_fail(err, AL_EINPUT, "%s: %s column \"%s\"", texts->path,
				n_found ? "has more than one" : "has no", listing->columns[c].key);
	}
	return true;
}

static bool add_rows(struct al_scenario *s, const struct al_item *node,
	struct al_scenario_listing *listing, const struct al_text_rows *texts, struct al_error *err)
{
	size_t places[AL_MOST_DATA_COLUMNS];

	if (!match_header(listing, texts, places, err))
		return false;
	if (texts->n > (AL_MOST_CELLS - s->n_cells) / listing->n_columns)
		return al_json_fail(&s->doc, node, err, "more than %d cells in all tables",
			AL_MOST_CELLS);
	s->n_cells += texts->n * listing->n_columns;
	listing->rows = al_new_array(&s->arena, const char **, texts->n);
	for (; listing->n_rows < texts->n; listing->n_rows++) {
		const char **cells = al_new_array(&s->arena, const char *, listing->n_columns);
		for (size_t c = 0; c < listing->n_columns; c++)
			cells[c] = texts->rows[listing->n_rows].cells[places[c]];
		listing->rows[listing->n_rows] = cells;
	}
	return true;
}

/* ---- listings ---- */

static bool finish(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_scenario_listing *listing = out;
	struct al_text_rows texts = {0};

	if (!check_columns(s, listing, err)
		|| !al_text_rows_read(s, node, &listing->from, true, &texts, err))
		return false;
	if (!listing->columns)
		take_header(s, &texts, listing);
	return add_rows(s, node, listing, &texts, err);
}

#define AT(member) offsetof(struct al_scenario_listing, member)
static const struct al_field listing_fields[] = {
	{AL_KEY("id", BY, AT(id)), .is_required = true, .find = al_scenario_find_id},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", TEXT, AT(source))},
	AL_ROWS_SOURCE(AT(from)),
	{AL_KEY("columns", LIST, AT(columns)), .n_offset = AT(n_columns), .read = read_column,
		.item_size = sizeof(struct al_column), .least = 1, .noun = "columns"},
};
#undef AT
const struct al_record al_listing_record = {
	.fields = AL_FIELDS(listing_fields),
	.size = sizeof(struct al_scenario_listing),
	.check = finish,
};
