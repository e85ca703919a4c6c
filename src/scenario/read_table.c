/* Reads the specification of tables. */
#include "scenario/read.h"

/* ---- rows ---- */

static void add_row(struct al_scenario_table *table, const struct al_case *case_,
	const struct al_configured_variant *variant)
{
	table->rows[table->n_rows++] = (struct al_scenario_row){case_, variant};
}

/* The data set determines the rows. */
static void add_data_rows(struct al_scenario *s, struct al_scenario_table *table)
{
	const struct al_data_set *set = table->of_data;

	table->rows = al_new_array(&s->arena, struct al_scenario_row, set->n_rows);
	for (size_t i = 0; i < set->n_rows; i++) {
		const struct al_scenario_row *row = &set->rows[i].row;
		add_row(table, row->case_ ? row->case_ : table->cases.items[0], row->variant);
	}
	table->kind = !set->has_variant ? AL_ROWS_CASES
		: set->has_case		? AL_ROWS_PRODUCT
					: AL_ROWS_VARIANTS;
	table->shows_case = set->has_case;
	table->shows_variant = set->has_variant;
	table->n_variants = 0;
}

/* Cells are counted before they are made: `wide` on each of `n` rows. */
static bool count_cells(struct al_scenario *s, const struct al_item *node, size_t n, size_t wide,
	struct al_error *err)
{
	if (wide && n > (AL_MOST_CELLS - s->n_cells) / wide)
		return al_json_fail(&s->doc, node, err, "the file's tables have more than %d cells",
			AL_MOST_CELLS);
	s->n_cells += n * wide;
	return true;
}

/* Columns, from left to right. */
static bool show_columns(struct al_scenario *s, const struct al_item *node,
	struct al_scenario_table *table, struct al_error *err)
{
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_scenario_column *column = &table->columns[i];
		const struct al_configured_variant *const *variants = column->only
			? column->only
			: table->variants;
		const size_t n_variants = column->only ? column->n_only : table->n_variants;
		const bool is_pivoted = table->is_pivoted && !column->is_once;
		const bool has_own = table->is_pivoted && n_variants > 0;
		const size_t n = is_pivoted ? n_variants : 1;
		if (!count_cells(s, node, table->n_rows, n, err))
			return false;
		for (size_t j = 0; j < n; j++)
			*AL_APPEND(&s->arena, table->shown, table->n_shown,
				table->shown_room) = (struct al_shown_column){column,
				has_own ? variants[j] : NULL};
	}
	return true;
}

static void add_product(struct al_scenario *s, struct al_scenario_table *table)
{
	bool by_variant = table->kind != AL_ROWS_CASES && !table->is_pivoted;
	const struct al_configured_variant *only = table->n_variants == 1 ? table->variants[0]
									  : NULL;

	table->rows = al_new_array(&s->arena, struct al_scenario_row,
		table->cases.n * (table->n_variants + 1));
	for (size_t i = 0; i < table->cases.n; i++) {
		if (!by_variant)
			add_row(table, table->cases.items[i], table->is_pivoted ? NULL : only);
		for (size_t j = 0; by_variant && j < table->n_variants; j++)
			add_row(table, table->cases.items[i], table->variants[j]);
	}
	/* A scenario without cases has one, which has no name. */
	const bool is_unnamed = table->cases.n == 1 && !*table->cases.items[0]->id;
	table->shows_variant = by_variant;
	table->shows_case = table->kind != AL_ROWS_VARIANTS && !(by_variant && is_unnamed);
}

/* By default rows are made of what varies. */
static enum al_rows_kind kind_of_rows(const struct al_scenario_table *table)
{
	if (table->kind != AL_ROWS_OF_WHAT_VARIES)
		return table->kind;
	if (table->n_variants > 0 && table->cases.n == 1)
		return AL_ROWS_VARIANTS;
	return table->n_variants > 1 ? AL_ROWS_PRODUCT : AL_ROWS_CASES;
}

static bool add_rows(struct al_scenario *s, const struct al_item *node,
	struct al_scenario_table *table, struct al_error *err)
{
	const size_t n_before = s->n_cells;

	if (table->of_data) {
		add_data_rows(s, table);
		return true;
	}
	table->kind = kind_of_rows(table);
	if (table->kind == AL_ROWS_VARIANTS && table->cases.n > 1)
		return al_json_fail(&s->doc, node, err,
			"rows are variants, but there are %zu cases", table->cases.n);
	if (!count_cells(s, node, table->cases.n, table->n_variants + 1, err))
		return false;
	s->n_cells = n_before;
	add_product(s, table);
	return true;
}

/* ---- values ---- */

/* Which rows: "variants", "cases", "product" or "data:ID". */
static bool read_rows(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	static const char *const kinds[] = {"variants", "cases", "product"}, data[] = "data:";
	const struct al_scenario *s = context;
	struct al_scenario_table *table = out;
	const char *word;

	if (!al_json_text(&s->doc, node, &word, err))
		return false;
	if (strncmp(word, data, strlen(data)) == 0) {
		table->of_data = AL_PART(s, data, word + strlen(data));
		return table->of_data
			|| al_json_fail(&s->doc, node, err, "no data set \"%s\"",
				word + strlen(data));
	}
	int found = al_json_find_word(&s->doc, node, "rows", kinds, 3, err);
	if (found >= 0)
		table->kind = (enum al_rows_kind)(AL_ROWS_VARIANTS + found);
	return found >= 0;
}

static bool check_arrangement(const struct al_scenario *s, const struct al_item *node,
	const struct al_scenario_table *table, struct al_error *err)
{
	AL_ENDS(al_names_finish) struct al_names names;

	al_names_init(&names);
	if (table->shows_case)
		al_names_add(&names, "case");
	if (table->shows_variant)
		al_names_add(&names, "variant");
	for (size_t i = 0; i < table->n_columns; i++)
		al_names_add(&names, table->columns[i].column.key);
	return al_arrangement_check(s, node, &table->arrangement, &names, names.n, err);
}

/* ---- tables ---- */

static bool check_columns(const struct al_scenario *s, const struct al_item *node,
	const struct al_scenario_table *table, struct al_error *err)
{
	for (size_t i = 0; i < table->n_columns; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(table->columns[i].column.key, table->columns[j].column.key) == 0)
				return al_json_fail(&s->doc,
					al_json_at(al_json_get(node, "columns"), i), err,
					"column \"%s\" appears twice",
					table->columns[i].column.key);
	return true;
}

/* "variant" alone makes groups of what columns show; anything else, or with "keys", of its own
 * values. */
static void choose_pivot(struct al_scenario_table *table)
{
	struct al_arrangement *a = &table->arrangement;

	table->is_pivoted = a->pivot_by && a->n_keys == 0 && strcmp(a->pivot_by, "variant") == 0;
	if (table->is_pivoted)
		a->pivot_by = NULL;
}

static bool finish_table(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_scenario_table *table = out;

	if (!al_chosen_cases_complete(s, node, s->n_cases, &table->cases, err))
		return false;
	if (table->marks_second && !table->marks_best)
		return al_json_fail(&s->doc, node, err,
			"\"mark_second\" needs \"mark_best\" to be true");
	if (!table->title)
		table->title = s->title;
	choose_pivot(table);
	if (!table->variants) {
		table->variants = s->variants;
		table->n_variants = s->n_variants;
	}
	return check_columns(s, node, table, err) && add_rows(s, node, table, err)
		&& check_arrangement(s, node, table, err) && show_columns(s, node, table, err);
}

static const char *const sizes[] = {"normalsize", "small", "footnotesize", "scriptsize", "tiny"};
static const char *const spread_forms[] = {
	[AL_SPREAD_BRACKETS] = "brackets",
	[AL_SPREAD_SUBSCRIPT] = "subscript",
	[AL_SPREAD_PLUS_MINUS] = "plus-minus",
	[AL_SPREAD_SIUNITX] = "siunitx",
	[AL_SPREAD_NONE] = "none",
};

#define AT(member) offsetof(struct al_scenario_table, member)
#define A_VARIANT(key, member) \
	{ \
		AL_KEY(key, BY, AT(member)), .find = al_scenario_find_variant \
	}
#define SOME_VARIANTS(key, member) \
	{ \
		AL_KEY(key, LIST, AT(member)), \
			.n_offset = AT(n_##member), .find = al_scenario_find_variant, \
			.item_size = sizeof(const struct al_configured_variant *) \
	}
static const struct al_field table_fields[] = {
	{AL_KEY("id", BY, AT(id)), .is_required = true, .find = al_scenario_find_id},
	{AL_KEY("title", TEXT, AT(title))},
	AL_CASES(AT(cases)),
	SOME_VARIANTS("variants", variants),
	{AL_KEY("rows", BY, 0), .read = read_rows},
	AL_CHANGES(AT(changes)),
	{AL_KEY("per", BY, AT(changes.per)), .read = al_scenario_read_per},
	A_VARIANT("baseline", baseline),
	A_VARIANT("retention", retention),
	A_VARIANT("elasticity", elasticity),
	AL_ARRANGEMENT(AT(arrangement)),
	{AL_KEY("pivot", TEXT, AT(arrangement.pivot_by))},
	{AL_KEY("label", TEXT, AT(placing.label))},
	{AL_KEY("size", TEXT, AT(placing.size)), AL_WORDS(sizes)},
	{AL_KEY("wide", BOOLEAN, AT(placing.is_wide))},
	{AL_KEY("multirow", BOOLEAN, AT(placing.merges_keys))},
	{AL_KEY("notes", BOOLEAN, AT(shows_notes)), .fallback = true},
	AL_SUBSTITUTIONS("substitute", AT(substitutions), AT(n_substitutions),
		al_scenario_read_substitution),
	{AL_KEY("order", BY, AT(order)), .find = al_scenario_find_symbol},
	A_VARIANT("against", against),
	{AL_KEY("columns", LIST, AT(columns)), .is_required = true, .n_offset = AT(n_columns),
		.read = al_scenario_read_column, .item_size = sizeof(struct al_scenario_column),
		.least = 1, .most = AL_MOST_PARTS_OF_A_KIND, .noun = "columns"},
	{AL_KEY("mark_best", BOOLEAN, AT(marks_best))},
	{AL_KEY("mark_second", BOOLEAN, AT(marks_second))},
	SOME_VARIANTS("best_among", best_among),
	A_VARIANT("significance", significance),
	{AL_KEY("spread", WORD, AT(spread_form)), AL_WORDS(spread_forms)},
};
#undef AT
const struct al_record al_table_record = {
	.fields = AL_FIELDS(table_fields),
	.size = sizeof(struct al_scenario_table),
	.check = finish_table,
};
