/* Reading measured numbers as printed, inline or from a CSV file, keyed by case and variant. */
#include "scenario/read_rows.h"

#include "base/date.h"
#include "scenario/printed.h"

/* ---- a cell ---- */

/* "2024-07": any day of the month. */
static bool parse_date(struct al_scenario *s, const struct al_data_set *set, const char *text,
	struct al_datum *datum)
{
	int64_t days, length;

	if (!al_date_parse(text, &days, &length))
		return false;
	*datum = (struct al_datum){.printed = al_strdup(&s->arena, text), .is_date = true};
	datum->value = datum->low = al_exact_scaled(&s->arena, al_exact_from_int(&s->arena, days),
		1, AL_DAYS_A_YEAR);
	datum->high = set->is_exact
		? datum->value
		: al_exact_scaled(&s->arena, al_exact_from_int(&s->arena, days + length), 1,
			AL_DAYS_A_YEAR);
	return true;
}

/* "84.0 (0.3)", "[83.7, 84.3]", "84.0": it stands for the interval of half a unit of its last
 * printed digit. */
static bool parse_datum(struct al_scenario *s, const struct al_data_set *set, const char *text,
	const char *column, struct al_datum *datum, struct al_error *err)
{
	AL_ARENA(scratch);
	char *printed = al_strdup(&scratch, text);
	const char *spread = al_spread_cut(printed);
	const bool is_range = !spread && *printed == '[';
	mpq_ptr value = al_exact_new(&scratch), deviation = al_exact_new(&scratch);
	mpq_ptr half = al_exact_new(&scratch), end = al_exact_new(&scratch);

	if (is_range ? !al_spread_of_range(&scratch, printed, value, &datum->digits, deviation)
		     : !al_exact_parse(printed, value, &datum->digits)
				|| (spread
					&& !al_exact_parse(spread, deviation,
						&datum->spread_digits)))
		return al_fail(err, AL_EINPUT,
			"\"%s\" in column \"%s\" is neither a number nor a date", text, column);
	if (mpq_sgn(deviation) < 0)
		return al_fail(err, AL_EINPUT, "the spread of \"%s\" in column \"%s\" is negative",
			text, column);
	if (is_range)
		datum->spread_digits = datum->digits;
	if (!set->is_exact)
		al_exact_unit(half, datum->digits, 2);
	datum->printed = al_strdup(&s->arena, text);
	datum->value = al_exact_copy(&s->arena, value);
	mpq_sub(end, value, half);
	datum->low = al_exact_copy(&s->arena, end);
	mpq_add(end, value, half);
	datum->high = al_exact_copy(&s->arena, end);
	if (spread || is_range)
		datum->spread = al_exact_copy(&s->arena, deviation);
	return true;
}

/* ---- columns ---- */

static bool is_name_of_formula(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!(*p == '_' || al_is_letter(*p) || (p > name && al_is_digit(*p))))
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

	if (is_twice || AL_FIND(set->columns, set->n_columns, name))
		return al_fail(err, AL_EINPUT, "column \"%s\" appears twice", name);
	set->has_case = set->has_case || is_case;
	set->has_variant = set->has_variant || is_variant;
	if (is_case || is_variant)
		return true;
	if (!is_name_of_formula(name))
		return al_fail(err, AL_EINPUT,
			"the name of column \"%s\" may only contain letters, digits and '_'", name);
	if (al_metric_find(s, name, &other, &column))
		return al_fail(err, AL_EINPUT, "column \"%s\" is already in \"%s\"", name,
			other->id);
	set->columns[set->n_columns++].name = name;
	return true;
}

/* A list names the columns, or a file's header, which is then `header`. */
static bool add_columns(struct al_scenario *s, struct al_data_set *set, struct al_text_rows *texts,
	struct al_error *err)
{
	const struct al_item *node = al_json_first(set->from.columns);
	const char *name;

	set->columns = al_new_array(&s->arena, struct al_data_column, texts->n_columns + 1);
	if (!texts->header)
		texts->header = al_new_array(&s->arena, const char *, texts->n_columns);
	for (size_t i = 0; i < texts->n_columns; i++) {
		if (node && !al_json_text(&s->doc, node, &texts->header[i], err))
			return false;
		name = texts->header[i] = texts->header[i] ? texts->header[i] : "";
		if (!add_column(s, set, name, err))
			return node ? al_json_in(&s->doc, node, err)
				    : al_in(err, "%s", texts->path);
		node = node ? al_json_next(node) : NULL;
	}
	return true;
}

static bool read_metrics(struct al_scenario *s, struct al_data_set *set, struct al_error *err)
{
	al_json_each (member, set->metrics) {
		const struct al_data_column *column = AL_FIND(set->columns, set->n_columns,
			al_json_key(member));
		if (al_member_is_note(member))
			continue;
		if (!column)
			return al_json_fail(&s->doc, member, err,
				"metric \"%s\" isn't a column of this data set",
				al_json_key(member));
		int found = al_json_find_word(&s->doc, member, al_json_key(member),
			al_direction_words, 3, err);
		if (found < 0)
			return false;
		set->columns[column - set->columns].direction = (enum al_direction)found;
	}
	return true;
}

/* ---- rows ---- */

/* The variant of that name; one that is only in data gets its name here. */
static bool find_variant(struct al_scenario *s, const char *name,
	const struct al_configured_variant **out, struct al_error *err)
{
	*out = al_variant_find(s, name, NULL);
	if (*out)
		return true;
	if (!al_name_check("variant name", name, err))
		return false;
	if (s->n_known - s->n_variants == AL_MOST_NAMES)
		return al_fail(err, AL_EINPUT, "more than %d variants", AL_MOST_NAMES);
	struct al_configured_variant *variant = al_new(&s->arena, struct al_configured_variant);
	variant->name = name;
	*AL_APPEND(&s->arena, s->variants, s->n_known, s->known_room) = *out = variant;
	return true;
}

/* One field under its column's name: what names the row, or the next of its cells. */
static bool add_field(struct al_scenario *s, const struct al_data_set *set, struct al_data_row *row,
	struct al_datum **cell, const char *column, const char *field, struct al_error *err)
{
	bool is_case = strcmp(column, "case") == 0, is_variant = strcmp(column, "variant") == 0;

	if ((is_case || is_variant) && !field)
		return al_fail(err, AL_EINPUT, "the %s is missing", column);
	if (is_case)
		return (row->row.case_ = al_case_find(s, field, err)) != NULL;
	if (is_variant)
		return find_variant(s, field, &row->row.variant, err);
	struct al_datum *datum = (*cell)++;
	return !field || parse_date(s, set, field, datum)
		|| parse_datum(s, set, field, column, datum, err);
}

static bool add_rows(struct al_scenario *s, struct al_data_set *set,
	const struct al_text_rows *texts, struct al_error *err)
{
	set->rows = al_new_array(&s->arena, struct al_data_row, texts->n);
	for (; set->n_rows < texts->n; set->n_rows++) {
		const struct al_text_row *from = &texts->rows[set->n_rows];
		struct al_data_row *row = &set->rows[set->n_rows];
		struct al_datum *cells = al_new_array(&s->arena, struct al_datum,
			set->n_columns + 1);
		row->cells = cells;
		for (size_t i = 0; i < texts->n_columns; i++)
			if (!add_field(s, set, row, &cells, texts->header[i], from->cells[i], err))
				return al_text_row_in(s, texts, from, err);
	}
	return true;
}

static const char *case_of(const struct al_data_row *row)
{
	return row->row.case_ ? row->row.case_->id : "";
}

static const char *variant_of(const struct al_data_row *row)
{
	return row->row.variant ? row->row.variant->name : "";
}

static int compare_rows(const void *a, const void *b)
{
	int order = strcmp(case_of(a), case_of(b));

	return order ? order : strcmp(variant_of(a), variant_of(b));
}

/* Of two rows of one case and variant only one could ever be asked for. */
static bool check_rows(struct al_scenario *s, const struct al_item *node,
	const struct al_data_set *set, struct al_error *err)
{
	AL_ARENA(arena);
	struct al_data_row *sorted = al_new_array(&arena, struct al_data_row, set->n_rows + 1);

	memcpy(sorted, set->rows, set->n_rows * sizeof(*sorted));
	qsort(sorted, set->n_rows, sizeof(*sorted), compare_rows);
	for (size_t i = 1; i < set->n_rows; i++)
		if (compare_rows(&sorted[i - 1], &sorted[i]) == 0)
			return al_json_fail(&s->doc, node, err,
				"data set \"%s\" has two rows of %s%s%s", set->id,
				set->has_case || set->has_variant ? case_of(&sorted[i])
								  : "everything",
				set->has_case && set->has_variant ? "/" : "",
				variant_of(&sorted[i]));
	return true;
}

/* ---- sets ---- */

static bool finish_set(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_data_set *set = out;
	struct al_text_rows texts = {0};

	if (set->from.file && set->from.columns)
		return al_json_fail(&s->doc, set->from.file, err,
			"\"columns\" and \"rows\" can't be combined with \"file\"");
	return al_text_rows_read(s, node, &set->from, false, &texts, err)
		&& add_columns(s, set, &texts, err) && add_rows(s, set, &texts, err)
		&& read_metrics(s, set, err) && check_rows(s, node, set, err);
}

#define AT(member) offsetof(struct al_data_set, member)
static const struct al_field data_fields[] = {
	{AL_KEY("id", BY, AT(id)), .is_required = true, .find = al_scenario_find_id},
	{AL_KEY("title", TEXT, AT(title))},
	{AL_KEY("source", TEXT, AT(source))},
	{AL_KEY("metric", NODE, AT(metrics)), .kind = AL_JSON_OBJECT},
	AL_ROWS_SOURCE(AT(from)),
	{AL_KEY("exact", BOOLEAN, AT(is_exact))},
	{AL_KEY("runs", WHOLE, AT(runs)), .least = 2},
};
#undef AT
const struct al_record al_data_record = {
	.fields = AL_FIELDS(data_fields),
	.size = sizeof(struct al_data_set),
	.check = finish_set,
};
