/* Reading rows of texts: lists in the scenario, or a CSV file with a header. */
#include "scenario/read_rows.h"

#include "base/file.h"
#include "scenario/csv.h"

enum { CSV_LIMIT = 16 << 20 };

static struct al_text_row *add_row(struct al_scenario *s, struct al_text_rows *out)
{
	struct al_text_row *row = AL_APPEND(&s->arena, out->rows, out->n, out->room);
	*row = (struct al_text_row){.cells = al_new_array(&s->arena, const char *, out->n_columns)};
	return row;
}

bool al_text_row_in(const struct al_scenario *s, const struct al_text_rows *rows,
	const struct al_text_row *row, struct al_error *err)
{
	return row->node ? al_json_in(&s->doc, row->node, err)
			 : al_in(err, "%s: record %zu", rows->path, row->record);
}

/* ---- in the scenario ---- */

static bool read_cell(struct al_scenario *s, const struct al_item *node, bool takes_numbers,
	const char **out, struct al_error *err)
{
	double number;

	if (al_json_kind(node) == AL_JSON_NULL)
		return true;
	if (!takes_numbers || al_json_kind(node) != AL_JSON_NUMBER)
		return al_json_text(&s->doc, node, out, err);
	if (!al_json_real(&s->doc, node, &number, err))
		return false;
	*out = al_format(&s->arena, "%.17g", number);
	return true;
}

static bool read_lists(struct al_scenario *s, const struct al_item *list, bool takes_numbers,
	struct al_text_rows *out, struct al_error *err)
{
	al_json_each (node, list) {
		if (!al_json_expect(&s->doc, node, AL_JSON_ARRAY, err))
			return false;
		if (al_json_size(node) != out->n_columns)
			return al_json_fail(&s->doc, node, err,
				"the row has %zu cells, expected %zu", al_json_size(node),
				out->n_columns);
		struct al_text_row *row = add_row(s, out);
		const char **cell = row->cells;
		row->node = node;
		al_json_each (item, node)
			if (!read_cell(s, item, takes_numbers, cell++, err))
				return false;
	}
	return true;
}

/* ---- a CSV file ---- */

/* "deacon-weights.csv" of an embedded scenario. */
static const struct al_embedded *find_embedded(struct al_scenario *s, const char *name)
{
	if (*s->folder || !al_ends_with(name, ".csv"))
		return NULL;
	return al_embedded_find(&al_embedded_listings,
		al_strndup(&s->arena, name, strlen(name) - strlen(".csv")));
}

/* A copy in the arena; NULL on failure. */
static char *read_text(struct al_scenario *s, const struct al_item *node, const char *path,
	size_t *length, struct al_error *err)
{
	const struct al_embedded *embedded = find_embedded(s, path);
	AL_TEXT(text);

	*length = embedded ? embedded->length : 0;
	if (embedded)
		return al_strndup(&s->arena, embedded->text, embedded->length);
	if (!al_file_read(&text, path, CSV_LIMIT, err)) {
		al_json_in(&s->doc, node, err);
		return NULL;
	}
	*length = text.length;
	return al_strndup(&s->arena, text.data, text.length);
}

/* One record under the header; an empty line is none. */
static bool read_record(struct al_scenario *s, char **text, size_t record, struct al_text_rows *out,
	struct al_error *err)
{
	const char *fields[AL_MOST_DATA_COLUMNS];
	size_t n;

	if (!al_csv_next_record(text, fields, AL_MOST_DATA_COLUMNS, &n, err))
		return false;
	if (n == 1 && !fields[0])
		return true;
	if (n != out->n_columns)
		return al_fail(err, AL_EINPUT, "found %zu cells, expected %zu", n, out->n_columns);
	struct al_text_row *row = add_row(s, out);
	row->record = record;
	memcpy(row->cells, fields, n * sizeof(*fields));
	return true;
}

static bool read_file(struct al_scenario *s, const struct al_item *node, struct al_text_rows *out,
	struct al_error *err)
{
	const char **header = al_new_array(&s->arena, const char *, AL_MOST_DATA_COLUMNS), *name;
	size_t length;
	char *text;

	if (!al_json_text(&s->doc, node, &name, err))
		return false;
	out->header = header;
	out->path = name[0] == '/' || !*s->folder ? name : al_path_join(&s->arena, s->folder, name);
	char *whole = read_text(s, node, out->path, &length, err);
	if (!whole)
		return false;
	if (!al_csv_check(whole, length, &text, err)
		|| !al_csv_next_record(&text, header, AL_MOST_DATA_COLUMNS, &out->n_columns, err))
		return al_in(err, "%s", out->path);
	for (size_t record = 2; *text; record++)
		if (!read_record(s, &text, record, out, err))
			return al_in(err, "%s: record %zu", out->path, record);
	return true;
}

bool al_text_rows_read(struct al_scenario *s, const struct al_item *node,
	const struct al_rows_source *from, bool takes_numbers, struct al_text_rows *out,
	struct al_error *err)
{
	if (!from->rows == !from->file)
		return al_json_fail(&s->doc, node, err, "expected either \"rows\" or \"file\"");
	if (from->columns && !al_size_check(s, from->columns, "columns", AL_MOST_DATA_COLUMNS, err))
		return false;
	if (from->file)
		return read_file(s, from->file, out, err);
	if (!from->columns)
		return al_json_fail(&s->doc, node, err, "key \"columns\" is missing");
	out->n_columns = al_json_size(from->columns);
	return read_lists(s, from->rows, takes_numbers, out, err);
}
