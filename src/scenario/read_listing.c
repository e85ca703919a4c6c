/* Reading listings: rows inline, or a CSV file with a header. */
#include "scenario/read.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "scenario/csv.h"

enum { MOST_COLUMNS = 256 };

/* ---- columns ---- */

static bool read_digits(void *context, const struct cJSON *node, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;
	int64_t digits;

	if (!al_json_whole_from(&s->doc, node, 0, &digits, err))
		return false;
	if (digits > 17)
		return al_json_fail(&s->doc, node, err, "found %lld digits, expected at most 17",
			(long long)digits);
	*(int *)out = (int)digits;
	return true;
}

#define AT(member) offsetof(struct al_column, member)
static const struct al_field column_fields[] = {
	{AL_KEY("key", TEXT, AT(key)), .is_required = true},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("unit", TEXT, AT(unit))},
	{AL_KEY("group", TEXT, AT(group))},
	{AL_KEY("digits", BY, AT(digits)), .read = read_digits},
};
#undef AT
static const struct al_record column_record = {.fields = AL_FIELDS(column_fields)};

/* A name, or an object. */
static bool read_column(struct al_scenario *s, const struct cJSON *node, struct al_listing *listing,
	struct al_error *err)
{
	struct al_column *column = &listing->columns[listing->n_columns];

	*column = (struct al_column){.digits = AL_DIGITS_ALL};
	if (!(al_json_kind(node) == AL_JSON_TEXT
			    ? al_json_text(&s->doc, node, &column->key, err)
			    : al_object_read(s, &column_record, node, column, err)))
		return false;
	for (size_t i = 0; i < listing->n_columns; i++)
		if (strcmp(listing->columns[i].key, column->key) == 0)
			return al_json_fail(&s->doc, node, err, "column \"%s\" appears twice",
				column->key);
	listing->n_columns++;
	return true;
}

static bool read_columns(struct al_scenario *s, const struct cJSON *columns,
	struct al_listing *listing, struct al_error *err)
{
	if (!al_size_check(s, columns, "columns", MOST_COLUMNS, err))
		return false;
	if (al_json_size(columns) == 0)
		return al_json_fail(&s->doc, columns, err, "the list of columns is empty");
	listing->columns = al_new_array(&s->arena, struct al_column, al_json_size(columns));
	al_json_each (column, columns)
		if (!read_column(s, column, listing, err))
			return false;
	return true;
}

/* ---- rows ---- */

/* NULL where there are too many. */
static const char **add_row(struct al_scenario *s, struct al_listing *listing, struct al_error *err)
{
	if (listing->n_columns > AL_MOST_CELLS - s->n_cells) {
		al_fail(err, AL_EINPUT, "more than %d cells in all tables", AL_MOST_CELLS);
		return NULL;
	}
	s->n_cells += listing->n_columns;
	listing->rows = al_grow(&s->arena, listing->rows, listing->n_rows, &listing->rows_room,
		sizeof(*listing->rows));
	return listing->rows[listing->n_rows++] = al_new_array(&s->arena, const char *,
		       listing->n_columns);
}

static bool read_cell(struct al_scenario *s, const struct cJSON *node, const char **out,
	struct al_error *err)
{
	double number;

	switch (al_json_kind(node)) {
	case AL_JSON_NULL:
		*out = NULL;
		return true;
	case AL_JSON_NUMBER:
		if (!al_json_real(&s->doc, node, &number, err))
			return false;
		*out = al_format(&s->arena, "%.17g", number);
		return true;
	default:
		return al_json_text(&s->doc, node, out, err);
	}
}

static bool read_row(struct al_scenario *s, const struct cJSON *node, struct al_listing *listing,
	struct al_error *err)
{
	if (!al_json_expect(&s->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) != listing->n_columns)
		return al_json_fail(&s->doc, node, err, "the row has %zu cells, expected %zu",
			al_json_size(node), listing->n_columns);
	const char **cells = add_row(s, listing, err);
	if (!cells)
		return al_json_in(&s->doc, node, err);
	al_json_each (cell, node)
		if (!read_cell(s, cell, cells++, err))
			return false;
	return true;
}

static bool read_inline(struct al_scenario *s, const struct cJSON *node, const struct cJSON *rows,
	struct al_listing *listing, struct al_error *err)
{
	if (!listing->columns)
		return al_json_fail(&s->doc, node, err, "key \"columns\" is missing");
	al_json_each (row, rows)
		if (!read_row(s, row, listing, err))
			return false;
	return true;
}

/* ---- a CSV file ---- */

/* Which cell of a record is each column's; without a list of columns all of the header are. */
static bool match_header(struct al_scenario *s, struct al_listing *listing,
	const char *const *header, size_t n, size_t *places, struct al_error *err)
{
	if (!listing->columns) {
		listing->columns = al_new_array(&s->arena, struct al_column, n);
		for (size_t i = 0; i < n; i++)
			listing->columns[listing->n_columns++] = (struct al_column){.key = header[i]
					? header[i]
					: "",
				.digits = AL_DIGITS_ALL};
	}
	for (size_t c = 0; c < listing->n_columns; c++) {
		const char *key = listing->columns[c].key;
		size_t i = 0, n_found = 0;
		for (; i < n; i++)
			if (header[i] && strcmp(header[i], key) == 0) {
				places[c] = i;
				n_found++;
			}
		if (n_found != 1)
			return al_fail(err, AL_EINPUT, "%s column \"%s\"",
				n_found ? "has more than one" : "has no", key);
	}
	return true;
}

static bool read_records(struct al_scenario *s, struct al_listing *listing, char *text,
	struct al_error *err)
{
	const char *fields[MOST_COLUMNS];
	size_t places[MOST_COLUMNS], n_header, n;

	if (!al_csv_next_record(&text, fields, MOST_COLUMNS, &n_header, err)
		|| !match_header(s, listing, fields, n_header, places, err))
		return false;
	for (size_t record = 2; *text; record++) {
		if (!al_csv_next_record(&text, fields, MOST_COLUMNS, &n, err))
			return al_in(err, "record %zu", record);
		if (n == 1 && !fields[0])
			continue;
		if (n != n_header)
			return al_fail(err, AL_EINPUT, "record %zu: found %zu cells, expected %zu",
				record, n, n_header);
		const char **cells = add_row(s, listing, err);
		if (!cells)
			return false;
		for (size_t c = 0; c < listing->n_columns; c++)
			cells[c] = fields[places[c]];
	}
	return true;
}

static bool read_file(struct al_scenario *s, const struct cJSON *node, struct al_listing *listing,
	struct al_error *err)
{
	const char *path;
	char *text;

	return al_scenario_read_csv(s, node, &path, &text, err)
		&& (read_records(s, listing, text, err) || al_in(err, "%s", path));
}

/* ---- listings ---- */

static bool finish(void *context, const struct cJSON *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	const struct cJSON *columns = al_json_get(node, "columns"),
			   *rows = al_json_get(node, "rows"), *file = al_json_get(node, "file");

	if (!rows == !file)
		return al_json_fail(&s->doc, node, err, "expected either \"rows\" or \"file\"");
	return (!columns || read_columns(s, columns, out, err))
		&& (file ? read_file(s, file, out, err) : read_inline(s, node, rows, out, err));
}

#define AT(member) offsetof(struct al_listing, member)
static const struct al_field listing_fields[] = {
	{AL_KEY("id", BY, AT(id)), .is_required = true, .read = al_scenario_read_id},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", BY, 0), .read = al_scenario_check_text},
	{AL_KEY("columns", BY, 0), .read = al_scenario_check_list},
	{AL_KEY("rows", BY, 0), .read = al_scenario_check_list},
	{AL_KEY("file", BY, 0), .read = al_scenario_check_text},
};
#undef AT
const struct al_record al_listing_record = {
	.fields = AL_FIELDS(listing_fields),
	.size = sizeof(struct al_listing),
	.check = finish,
};
