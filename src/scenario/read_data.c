/* Reading measured numbers as printed, inline or from a CSV file, keyed by case and variant. */
#include "scenario/read.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "base/path.h"
#include "base/text.h"
#include "scenario/csv.h"
#include "scenario/spread.h"

enum { CSV_LIMIT = 16 << 20, MOST_COLUMNS = 256 };

/* ---- a cell ---- */

/* The interval of half a unit of the last printed digit. */
static void set_interval(struct al_arena *arena, struct al_datum *datum, mpq_srcptr value,
	int digits, bool is_exact)
{
	mpq_t half, end;

	mpq_inits(half, end, NULL);
	if (!is_exact)
		al_exact_unit(half, digits, 2);
	datum->value = al_exact_copy(arena, value);
	mpq_sub(end, value, half);
	datum->low = al_exact_copy(arena, end);
	mpq_add(end, value, half);
	datum->high = al_exact_copy(arena, end);
	mpq_clears(half, end, NULL);
}

/* "84.0 (0.3)", "[83.7, 84.3]", "84.0". */
static bool parse_number(const char *text, char *printed, mpq_t value, int *digits, mpq_t deviation,
	int *spread_digits, bool *has_spread)
{
	char *spread = al_spread_cut(printed);

	*has_spread = spread || *printed == '[';
	if (spread)
		return al_exact_parse(printed, value, digits)
			&& al_exact_parse(spread, deviation, spread_digits);
	if (!*has_spread)
		return al_exact_parse(text, value, digits);
	bool ok = al_spread_of_range(printed, value, digits, deviation);
	*spread_digits = *digits;
	return ok;
}

static void set_datum(struct al_scenario *s, const char *text, const struct al_data_set *set,
	mpq_srcptr value, int digits, struct al_datum *datum)
{
	datum->printed = text;
	set_interval(&s->arena, datum, value, digits, set->is_exact);
	datum->digits = digits;
}

static bool parse_datum(struct al_scenario *s, const struct al_data_set *set, const char *text,
	const char *column, struct al_datum *datum, struct al_error *err)
{
	char *printed = al_strdup(&s->arena, text);
	bool has_spread;
	int digits, spread_digits;
	mpq_t value, deviation;

	mpq_inits(value, deviation, NULL);
	bool ok = parse_number(text, printed, value, &digits, deviation, &spread_digits,
		&has_spread);
	bool is_negative = ok && has_spread && mpq_sgn(deviation) < 0;
	if (ok && !is_negative)
		set_datum(s, al_strdup(&s->arena, text), set, value, digits, datum);
	if (ok && has_spread) {
		datum->spread_digits = spread_digits;
		datum->spread = al_exact_copy(&s->arena, deviation);
	}
	mpq_clears(value, deviation, NULL);
	if (is_negative)
		return al_fail(err, AL_EINPUT, "the spread of \"%s\" in column \"%s\" is negative",
			text, column);
	return ok
		|| al_fail(err, AL_EINPUT,
			"\"%s\" in column \"%s\" is no number as papers print it", text, column);
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
static bool add_column(struct al_scenario *s, struct al_data_set *set, const char *name,
	struct al_error *err)
{
	const struct al_data_set *other;
	bool is_case = strcmp(name, "case") == 0, is_variant = strcmp(name, "variant") == 0;
	bool is_twice = (is_case && set->has_case) || (is_variant && set->has_variant);
	size_t column;

	for (size_t i = 0; i < set->n_columns; i++)
		is_twice = is_twice || strcmp(set->columns[i].name, name) == 0;
	if (is_twice)
		return al_fail(err, AL_EINPUT, "column \"%s\" appears twice", name);
	set->has_case = set->has_case || is_case;
	set->has_variant = set->has_variant || is_variant;
	if (is_case || is_variant)
		return true;
	if (!is_name_of_formula(name))
		return al_fail(err, AL_EINPUT,
			"column \"%s\" must be of letters, digits and '_', as formulas name it",
			name);
	if (al_metric_find(s, name, &other, &column))
		return al_fail(err, AL_EINPUT, "column \"%s\" stands in \"%s\" already", name,
			other->id);
	set->columns[set->n_columns++].name = name;
	return true;
}

static bool read_metrics(struct al_scenario *s, const struct cJSON *metrics,
	struct al_data_set *set, struct al_error *err)
{
	al_json_each (member, metrics) {
		size_t i = 0;
		if (al_member_is_note(member))
			continue;
		while (i < set->n_columns && strcmp(set->columns[i].name, al_json_key(member)) != 0)
			i++;
		if (i == set->n_columns)
			return al_json_fail(&s->doc, member, err,
				"metric \"%s\" is no column of this set", al_json_key(member));
		int found = al_word_find(s, member, al_json_key(member), al_direction_words, 3,
			err);
		if (found < 0)
			return false;
		set->columns[i].direction = (enum al_direction)found;
	}
	return true;
}

/* ---- rows ---- */

/* The variant of that name; one that stands only in data gets its name here. */
static bool find_variant(struct al_scenario *s, const char *name, const char **out,
	struct al_error *err)
{
	const struct al_scenario_variant *found = al_variant_find(s, name, NULL);

	*out = found ? found->configured.name : name;
	if (found)
		return true;
	if (!*name || strpbrk(name, "/,[]"))
		return al_fail(err, AL_EINPUT,
			"the variant name \"%s\" must not be empty or hold '/', ',', '[' or ']'",
			name);
	if (s->n_data_variants == AL_MOST_NAMES)
		return al_fail(err, AL_EINPUT, "more than %d variants", AL_MOST_NAMES);
	struct al_scenario_variant *variant = al_new(&s->arena, struct al_scenario_variant);
	variant->configured.name = name;
	s->data_variants = al_grow(&s->arena, s->data_variants, s->n_data_variants,
		&s->data_variants_room, sizeof(*s->data_variants));
	s->data_variants[s->n_data_variants++] = variant;
	return true;
}

static bool find_case(const struct al_scenario *s, const char *id, const char **out,
	struct al_error *err)
{
	const struct al_case *found = al_case_find(s, id, err);

	if (found)
		*out = found->id;
	return found != NULL;
}

/* One field under its column's name: what names the row, or the next of its cells. */
static bool add_field(struct al_scenario *s, const struct al_data_set *set, struct al_data_row *row,
	struct al_datum **cell, const char *column, const char *field, struct al_error *err)
{
	bool is_case = strcmp(column, "case") == 0, is_variant = strcmp(column, "variant") == 0;

	if ((is_case || is_variant) && !field)
		return al_fail(err, AL_EINPUT, "the %s is missing", column);
	if (is_case)
		return find_case(s, field, &row->case_, err);
	if (is_variant)
		return find_variant(s, field, &row->variant, err);
	struct al_datum *datum = (*cell)++;
	return !field || parse_datum(s, set, field, column, datum, err);
}

/* Fields as texts (NULL: missing) under the set's header. */
static bool add_row(struct al_scenario *s, struct al_data_set *set, const char *const *header,
	const char *const *fields, size_t n_fields, struct al_error *err)
{
	struct al_data_row *row = &set->rows[set->n_rows++];
	struct al_datum *cells = al_new_array(&s->arena, struct al_datum, set->n_columns + 1);

	row->cells = cells;
	for (size_t i = 0; i < n_fields; i++)
		if (!add_field(s, set, row, &cells, header[i], fields[i], err))
			return false;
	return true;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int compare_rows(const void *a, const void *b)
{
	const struct al_data_row *left = a, *right = b;
	int order = strcmp(or_empty(left->case_), or_empty(right->case_));

	return order ? order : strcmp(or_empty(left->variant), or_empty(right->variant));
}

/* Of two rows of one case and variant only one could ever be asked for. */
static bool check_rows(struct al_scenario *s, const struct cJSON *node,
	const struct al_data_set *set, struct al_error *err)
{
	struct al_arena arena;
	const struct al_data_row *twice = NULL;

	al_arena_init(&arena);
	struct al_data_row *sorted = al_new_array(&arena, struct al_data_row, set->n_rows + 1);
	for (size_t i = 0; i < set->n_rows; i++)
		sorted[i] = set->rows[i];
	qsort(sorted, set->n_rows, sizeof(*sorted), compare_rows);
	for (size_t i = 1; i < set->n_rows && !twice; i++)
		if (compare_rows(&sorted[i - 1], &sorted[i]) == 0)
			twice = &sorted[i];
	bool ok = !twice
		|| al_json_fail(&s->doc, node, err, "data set \"%s\" has two rows of %s%s%s",
			set->id,
			twice->case_ || twice->variant ? or_empty(twice->case_) : "everything",
			twice->case_ && twice->variant ? "/" : "", or_empty(twice->variant));
	al_arena_finish(&arena);
	return ok;
}

static bool read_inline_row(struct al_scenario *s, const struct cJSON *node,
	struct al_data_set *set, const char *const *header, size_t n_header, struct al_error *err)
{
	const char **fields = al_new_array(&s->arena, const char *, n_header);
	size_t n = 0;

	if (!al_json_expect(&s->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) != n_header)
		return al_json_fail(&s->doc, node, err, "the row has %zu cells, expected %zu",
			al_json_size(node), n_header);
	al_json_each (cell, node) {
		if (al_json_kind(cell) != AL_JSON_NULL
			&& !al_json_text(&s->doc, cell, &fields[n], err))
			return false;
		n++;
	}
	return add_row(s, set, header, fields, n_header, err) || al_json_in(&s->doc, node, err);
}

static bool read_inline(struct al_scenario *s, const struct cJSON *columns,
	const struct cJSON *rows, struct al_data_set *set, struct al_error *err)
{
	size_t n = al_json_size(columns), i = 0;

	if (!al_size_check(s, columns, "columns", MOST_COLUMNS, err))
		return false;
	const char **header = al_new_array(&s->arena, const char *, n + 1);
	set->columns = al_new_array(&s->arena, struct al_data_column, n + 1);
	set->rows = al_new_array(&s->arena, struct al_data_row, al_json_size(rows) + 1);
	al_json_each (column, columns)
		if (!al_json_text(&s->doc, column, &header[i], err)
			|| (!add_column(s, set, header[i++], err)
				&& !al_json_in(&s->doc, column, err)))
			return false;
	al_json_each (row, rows)
		if (!read_inline_row(s, row, set, header, n, err))
			return false;
	return true;
}

/* ---- a CSV file ---- */

static bool read_header(struct al_scenario *s, struct al_data_set *set, char **text,
	const char **header, size_t *n, struct al_error *err)
{
	if (!al_csv_next_record(text, header, MOST_COLUMNS, n, err))
		return false;
	set->columns = al_new_array(&s->arena, struct al_data_column, MOST_COLUMNS);
	set->rows = al_new_array(&s->arena, struct al_data_row, al_csv_count_line_ends(*text) + 1);
	for (size_t i = 0; i < *n; i++)
		if (!add_column(s, set, header[i] = or_empty(header[i]), err))
			return false;
	return true;
}

/* One record under the header; an empty line is none. */
static bool read_record(struct al_scenario *s, struct al_data_set *set, char **text,
	const char *const *header, size_t n_header, struct al_error *err)
{
	const char *fields[MOST_COLUMNS];
	size_t n;

	if (!al_csv_next_record(text, fields, MOST_COLUMNS, &n, err))
		return false;
	if (n == 1 && !fields[0])
		return true;
	if (n != n_header)
		return al_fail(err, AL_EINPUT, "found %zu cells, expected %zu", n, n_header);
	return add_row(s, set, header, fields, n, err);
}

static bool read_csv_text(struct al_scenario *s, struct al_data_set *set, const char *path,
	char *text, struct al_error *err)
{
	const char **header = al_new_array(&s->arena, const char *, MOST_COLUMNS);
	size_t n_header;

	if (!read_header(s, set, &text, header, &n_header, err))
		return al_in(err, "%s", path);
	for (size_t record = 2; *text; record++)
		if (!read_record(s, set, &text, header, n_header, err))
			return al_in(err, "%s: record %zu", path, record);
	return true;
}

/* "deacon-weights.csv" of an embedded scenario. */
static const struct al_embedded *find_embedded(struct al_scenario *s, const char *name)
{
	const size_t n = strlen(name);

	if (*s->folder || n <= 4 || strcmp(name + n - 4, ".csv") != 0)
		return NULL;
	return al_embedded_find(&al_embedded_listings, al_strndup(&s->arena, name, n - 4));
}

/* A copy in the arena; NULL on failure. */
static char *read_text(struct al_scenario *s, const struct cJSON *node, const char *path,
	size_t *length, struct al_error *err)
{
	const struct al_embedded *embedded = find_embedded(s, path);
	struct al_text text;

	*length = embedded ? embedded->length : 0;
	if (embedded)
		return al_strndup(&s->arena, embedded->text, embedded->length);
	if (!al_file_read(&text, path, CSV_LIMIT, err)) {
		al_json_in(&s->doc, node, err);
		return NULL;
	}
	char *copy = al_strndup(&s->arena, text.data, text.length);
	*length = text.length;
	al_text_finish(&text);
	return copy;
}

bool al_scenario_read_csv(struct al_scenario *s, const struct cJSON *node, const char **path,
	char **text, struct al_error *err)
{
	const char *name;
	size_t length;

	if (!al_json_text(&s->doc, node, &name, err))
		return false;
	*path = name[0] == '/' || !*s->folder ? name : al_path_join(&s->arena, s->folder, name);
	char *whole = read_text(s, node, *path, &length, err);
	return whole && (al_csv_check(whole, length, text, err) || al_in(err, "%s", *path));
}

static bool read_csv(struct al_scenario *s, const struct cJSON *node, struct al_data_set *set,
	struct al_error *err)
{
	const char *path;
	char *text;

	return al_scenario_read_csv(s, node, &path, &text, err)
		&& read_csv_text(s, set, path, text, err);
}

/* ---- sets ---- */

/* The columns and rows stand in the file of the scenario or in one beside it. */
static bool read_rows(struct al_scenario *s, const struct cJSON *node, struct al_data_set *set,
	struct al_error *err)
{
	static const char *const inline_keys[] = {"columns", "rows"};
	const struct cJSON *file = al_json_get(node, "file"), *parts[2];

	for (int i = 0; i < 2; i++) {
		parts[i] = al_json_get(node, inline_keys[i]);
		if (!parts[i] && !file)
			return al_json_fail(&s->doc, node, err, "key \"%s\" is missing",
				inline_keys[i]);
		if (parts[i] && file)
			return al_json_fail(&s->doc, file, err,
				"a file's columns and rows stand in it alone");
	}
	return file ? read_csv(s, file, set, err) : read_inline(s, parts[0], parts[1], set, err);
}

static bool finish_set(void *s, const struct cJSON *node, void *out, struct al_error *err)
{
	return read_rows(s, node, out, err)
		&& read_metrics(s, al_json_get(node, "metric"), out, err)
		&& check_rows(s, node, out, err);
}

#define AT(member) offsetof(struct al_data_set, member)
static const struct al_field data_fields[] = {
	{AL_KEY("id", BY, AT(id)), .is_required = true, .read = al_scenario_read_id},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", BY, 0), .read = al_scenario_check_text},
	{AL_KEY("metric", BY, 0), .read = al_scenario_check_object},
	{AL_KEY("columns", BY, 0), .read = al_scenario_check_list},
	{AL_KEY("rows", BY, 0), .read = al_scenario_check_list},
	{AL_KEY("file", BY, 0), .read = al_scenario_check_text},
	{AL_KEY("exact", BOOLEAN, AT(is_exact))},
	{AL_KEY("runs", WHOLE, AT(runs)), .least = 2},
};
#undef AT
const struct al_record al_data_record = {
	.fields = AL_FIELDS(data_fields),
	.size = sizeof(struct al_data_set),
	.check = finish_set,
};
