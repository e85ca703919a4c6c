/* Data: measured numbers as printed, inline or from a CSV file, keyed by case and variant. */
#include "scenario/internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { CSV_LIMIT = 16 << 20, CSV_MOST_FIELDS = 256 };

const struct data_set *find_data(const struct al_scenario *s, const char *id)
{
	for (size_t i = 0; i < s->n_data; i++)
		if (strcmp(s->data[i].id, id) == 0)
			return &s->data[i];
	return NULL;
}

bool find_metric(const struct al_scenario *s, const char *name, const struct data_set **set,
	size_t *column)
{
	for (size_t i = 0; i < s->n_data; i++)
		for (size_t j = 0; j < s->data[i].n_columns; j++)
			if (strcmp(s->data[i].columns[j].name, name) == 0) {
				*set = &s->data[i];
				*column = j;
				return true;
			}
	return false;
}

const struct datum *find_datum(const struct data_set *set, const char *kase, const char *variant,
	size_t column)
{
	for (size_t i = 0; i < set->n_rows; i++) {
		const struct data_row *row = &set->rows[i];
		if ((!row->kase || strcmp(row->kase, kase) == 0)
			&& (!row->variant || (variant && strcmp(row->variant, variant) == 0)))
			return &row->cells[column];
	}
	return NULL;
}

/* ---- a cell ---- */

/* The interval of half a unit of the last printed digit. */
static void set_interval(struct al_arena *arena, struct datum *datum, mpq_srcptr value, int digits,
	bool is_exact)
{
	mpq_t half, end;

	mpq_inits(half, end, NULL);
	if (!is_exact) {
		mpq_set_ui(half, 1, 2);
		mpz_ui_pow_ui(mpq_denref(half), 10, (unsigned long)digits);
		mpz_mul_ui(mpq_denref(half), mpq_denref(half), 2);
		mpz_set_ui(mpq_numref(half), 1);
		mpq_canonicalize(half);
	}
	datum->value = al_exact_copy(arena, value);
	mpq_sub(end, value, half);
	datum->low = al_exact_copy(arena, end);
	mpq_add(end, value, half);
	datum->high = al_exact_copy(arena, end);
	mpq_clears(half, end, NULL);
}

/* "80.5 (0.3)" or "80.5(0.3)": cuts the spread off; NULL where there is none. */
static char *cut_spread(char *printed)
{
	char *open = strchr(printed, '(');

	if (!open || open == printed)
		return NULL;
	char *close = strchr(open, ')');
	if (!close || close[1])
		return NULL;
	*close = '\0';
	char *end = open;
	while (end > printed && end[-1] == ' ')
		end--;
	*end = '\0';
	return open + 1;
}

static bool parse_datum(struct al_scenario *s, const char *text, bool is_exact, struct datum *datum)
{
	char *printed = al_strdup(&s->arena, text);
	char *spread = cut_spread(printed);
	int digits, spread_digits;
	mpq_t value, deviation;

	mpq_inits(value, deviation, NULL);
	bool ok = al_exact_parse(printed, value, &digits)
		&& (!spread || al_exact_parse(spread, deviation, &spread_digits));
	if (ok) {
		datum->printed = printed;
		set_interval(&s->arena, datum, value, digits, is_exact);
		datum->spread = spread ? al_exact_copy(&s->arena, deviation) : NULL;
	}
	mpq_clears(value, deviation, NULL);
	return ok;
}

/* ---- columns ---- */

static bool is_name_of_formula(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!(*p == '_' || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')
			    || (p > name && *p >= '0' && *p <= '9')))
			return false;
	return *name;
}

/* A column's name, and whether it is one of the two that name a row. */
static bool add_column(struct al_scenario *s, const struct cJSON *node, struct data_set *set,
	const char *name, struct al_error *err)
{
	const struct data_set *other;
	size_t column;

	if (strcmp(name, "case") == 0)
		return set->has_case = true;
	if (strcmp(name, "variant") == 0)
		return set->has_variant = true;
	if (!is_name_of_formula(name))
		return al_json_fail(&s->doc, node, err,
			"column \"%s\" must be of letters, digits and '_', as formulas name it", name);
	for (size_t i = 0; i < set->n_columns; i++)
		if (strcmp(set->columns[i].name, name) == 0)
			return al_json_fail(&s->doc, node, err, "column \"%s\" appears twice", name);
	if (find_metric(s, name, &other, &column))
		return al_json_fail(&s->doc, node, err, "column \"%s\" stands in \"%s\" already", name,
			other->id);
	set->columns[set->n_columns++].name = name;
	return true;
}

static bool read_metrics(struct al_scenario *s, const struct cJSON *metrics, struct data_set *set,
	struct al_error *err)
{
	static const char *const words[] = {[PLAIN] = "plain", [HIGHER_IS_BETTER] = "higher",
		[LOWER_IS_BETTER] = "lower"};

	al_json_each(member, metrics) {
		size_t i = 0;
		int found = PLAIN;
		if (is_note(member))
			continue;
		while (i < set->n_columns && strcmp(set->columns[i].name, al_json_key(member)) != 0)
			i++;
		if (i == set->n_columns)
			return al_json_fail(&s->doc, member, err, "metric \"%s\" is no column of this set",
				al_json_key(member));
		if (!read_word(s, metrics, al_json_key(member), words, 3, &found, err))
			return false;
		set->columns[i].direction = (enum direction)found;
	}
	return true;
}

/* ---- rows ---- */

static void note_variant(struct al_scenario *s, const char *name)
{
	if (find_variant(s, name, NULL))
		return;
	struct variant *variant = al_new(&s->arena, struct variant);
	variant->use.name = name;
	s->data_variants = al_grow(&s->arena, s->data_variants, s->n_data_variants,
		&s->data_variants_room, sizeof(*s->data_variants));
	s->data_variants[s->n_data_variants++] = variant;
}

/* Fields as texts (NULL: missing) under the set's header. */
static bool add_row(struct al_scenario *s, const struct cJSON *node, struct data_set *set,
	const char *const *header, const char *const *fields, size_t n_fields, struct al_error *err)
{
	struct data_row *row = &set->rows[set->n_rows++];
	struct datum *cells = al_new_array(&s->arena, struct datum, set->n_columns + 1);
	size_t column = 0;

	row->cells = cells;
	for (size_t i = 0; i < n_fields; i++) {
		bool is_case = strcmp(header[i], "case") == 0, is_variant = strcmp(header[i], "variant") == 0;
		if ((is_case || is_variant) && !fields[i])
			return al_json_fail(&s->doc, node, err, "the %s is missing", header[i]);
		if (is_case && !find_case(s, row->kase = fields[i], err))
			return al_json_in(&s->doc, node, err);
		if (is_variant)
			note_variant(s, row->variant = fields[i]);
		if (is_case || is_variant)
			continue;
		if (fields[i] && !parse_datum(s, fields[i], set->is_exact, &cells[column]))
			return al_json_fail(&s->doc, node, err,
				"\"%s\" in column \"%s\" is no number as papers print it", fields[i], header[i]);
		column++;
	}
	return true;
}

static bool read_inline_row(struct al_scenario *s, const struct cJSON *node, struct data_set *set,
	const char *const *header, size_t n_header, struct al_error *err)
{
	const char **fields = al_new_array(&s->arena, const char *, n_header);
	size_t n = 0;

	if (!al_json_expect(&s->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) != n_header)
		return al_json_fail(&s->doc, node, err, "the row has %zu cells, expected %zu",
			al_json_size(node), n_header);
	al_json_each(cell, node) {
		if (al_json_kind(cell) != AL_JSON_NULL && !al_json_text(&s->doc, cell, &fields[n], err))
			return false;
		n++;
	}
	return add_row(s, node, set, header, fields, n_header, err);
}

static bool read_inline(struct al_scenario *s, const struct cJSON *node, struct data_set *set,
	struct al_error *err)
{
	const struct cJSON *columns, *rows;

	if (!al_json_get_node(&s->doc, node, "columns", AL_JSON_ARRAY, true, &columns, err)
		|| !al_json_get_node(&s->doc, node, "rows", AL_JSON_ARRAY, true, &rows, err))
		return false;
	size_t n = al_json_size(columns), i = 0;
	const char **header = al_new_array(&s->arena, const char *, n + 1);
	set->columns = al_new_array(&s->arena, struct data_column, n + 1);
	set->rows = al_new_array(&s->arena, struct data_row, al_json_size(rows) + 1);
	al_json_each(column, columns)
		if (!al_json_text(&s->doc, column, &header[i], err)
			|| !add_column(s, column, set, header[i++], err))
			return false;
	al_json_each(row, rows)
		if (!read_inline_row(s, row, set, header, n, err))
			return false;
	return true;
}

/* ---- CSV (RFC 4180) ---- */

/* Copies one field to its own beginning, unquoted; returns what ended it and steps over it. */
static char next_field(char **p)
{
	char *in = *p, *out = *p;

	if (*in == '"') {
		for (in++; *in && !(in[0] == '"' && in[1] != '"'); *out++ = *in++)
			in += in[0] == '"';
		in += *in == '"';
	}
	while (*in && !strchr(",\r\n", *in))
		*out++ = *in++;
	char end = *in;
	in += end != '\0';
	in += end == '\r' && *in == '\n';
	*out = '\0';
	*p = in;
	return end;
}

/* Cuts the next record of `*p` into fields, in place; an empty field is missing (NULL). */
static bool next_record(char **p, const char **fields, size_t *n)
{
	char end = ',';

	for (*n = 0; end == ','; ++*n) {
		if (*n == CSV_MOST_FIELDS)
			return false;
		char *begin = *p;
		end = next_field(p);
		fields[*n] = *begin ? begin : NULL;
	}
	return true;
}

static size_t count_lines(const char *text)
{
	size_t n = 1;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

static bool read_csv_text(struct al_scenario *s, const struct cJSON *node, struct data_set *set,
	const char *path, char *text, struct al_error *err)
{
	const char **header = al_new_array(&s->arena, const char *, CSV_MOST_FIELDS);
	const char *fields[CSV_MOST_FIELDS];
	size_t n_header, n, line = 1;

	set->columns = al_new_array(&s->arena, struct data_column, CSV_MOST_FIELDS);
	set->rows = al_new_array(&s->arena, struct data_row, count_lines(text));
	if (!next_record(&text, header, &n_header))
		return al_json_fail(&s->doc, node, err, "%s: more than %d columns", path, CSV_MOST_FIELDS);
	for (size_t i = 0; i < n_header; i++)
		if (!add_column(s, node, set, header[i] ? header[i] : "", err))
			return false;
	for (line = 2; *text; line++) {
		if (!next_record(&text, fields, &n) || (n != n_header && !(n == 1 && !fields[0])))
			return al_json_fail(&s->doc, node, err, "%s:%zu: found %zu cells, expected %zu", path,
				line, n, n_header);
		if (n == n_header && !add_row(s, node, set, header, fields, n, err))
			return al_in(err, "%s:%zu", path, line);
	}
	return true;
}

static bool read_csv(struct al_scenario *s, const struct cJSON *node, struct data_set *set,
	struct al_error *err)
{
	const char *name;
	struct al_text text;

	if (!al_json_text(&s->doc, node, &name, err))
		return false;
	const char *path = name[0] == '/' || !*s->folder ? name
							  : al_format(&s->arena, "%s/%s", s->folder, name);
	if (!al_file_read(&text, path, CSV_LIMIT, err))
		return al_json_in(&s->doc, node, err);
	char *copy = al_strndup(&s->arena, text.data, text.length);
	al_text_finish(&text);
	return read_csv_text(s, node, set, path, copy, err);
}

/* ---- sets ---- */

static bool read_set(struct al_scenario *s, const struct cJSON *node, struct data_set *set,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "source", "metric", "columns", "rows", "file",
		"exact"};
	const struct cJSON *metrics, *file;
	const char *source;

	if (!al_json_only(&s->doc, node, keys, 8, err) || !read_id(s, node, &set->id, err)
		|| !al_json_get_text(&s->doc, node, "title", false, &set->title, err)
		|| !al_json_get_text(&s->doc, node, "source", false, &source, err)
		|| !al_json_get_boolean(&s->doc, node, "exact", false, &set->is_exact, err)
		|| !al_json_get_node(&s->doc, node, "metric", AL_JSON_OBJECT, false, &metrics, err))
		return false;
	file = al_json_get(node, "file");
	return (file ? read_csv(s, file, set, err) : read_inline(s, node, set, err))
		&& read_metrics(s, metrics, set, err);
}

bool read_data(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	s->data = al_new_array(&s->arena, struct data_set, al_json_size(list) + 1);
	al_json_each(node, list) {
		struct data_set set = {0};
		if (!read_set(s, node, &set, err))
			return false;
		s->data[s->n_data++] = set;
	}
	return true;
}
