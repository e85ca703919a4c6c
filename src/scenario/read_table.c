/* Reading what tables are wanted. */
#include "scenario/read.h"

#include <string.h>

#include "base/text.h"

/* ---- rows ---- */

struct chosen {
	const struct al_case **cases;
	const struct al_scenario_variant **variants;
	size_t n_cases, n_variants;
};

static bool choose_cases(struct al_scenario *s, const struct cJSON *node, struct chosen *chosen,
	struct al_error *err)
{
	const struct cJSON *one = al_json_get(node, "case"), *list;
	const char *id;

	if (!al_json_get_node(&s->doc, node, "cases", AL_JSON_ARRAY, false, &list, err))
		return false;
	if (one && list)
		return al_json_fail(&s->doc, node, err,
			"both \"case\" and \"cases\", expected one of them");
	chosen->cases = al_new_array(&s->arena, const struct al_case *,
		s->n_cases + al_json_size(list) + 1);
	if (one) {
		if (!al_json_text(&s->doc, one, &id, err))
			return false;
		chosen->cases[chosen->n_cases++] = al_case_find(s, id, err);
		return chosen->cases[0] || al_json_in(&s->doc, one, err);
	}
	al_json_each (item, list) {
		if (!al_json_text(&s->doc, item, &id, err))
			return false;
		if (!(chosen->cases[chosen->n_cases++] = al_case_find(s, id, err)))
			return al_json_in(&s->doc, item, err);
	}
	if (list && chosen->n_cases == 0)
		return al_json_fail(&s->doc, list, err, "the list of cases is empty");
	if (!list)
		for (size_t i = 0; i < s->n_cases; i++)
			chosen->cases[chosen->n_cases++] = &s->cases[i];
	return true;
}

static bool choose_variants(struct al_scenario *s, const struct cJSON *node, struct chosen *chosen,
	struct al_error *err)
{
	if (!al_variant_names_read(s, node, "variants", &chosen->variants, &chosen->n_variants,
		    err))
		return false;
	if (chosen->variants)
		return true;
	chosen->variants = al_new_array(&s->arena, const struct al_scenario_variant *,
		s->n_variants + 1);
	for (size_t i = 0; i < s->n_variants; i++)
		chosen->variants[chosen->n_variants++] = s->variants[i];
	return true;
}

static void add_row(struct al_scenario_table *table, const struct al_case *case_,
	const struct al_scenario_variant *variant)
{
	table->rows[table->n_rows++] = (struct al_scenario_row){case_, variant};
}

/* The rows of a data set, as far as the table's cases and variants go. */
static void add_data_rows(struct al_scenario *s, struct al_scenario_table *table,
	const struct al_data_set *set, const struct chosen *chosen)
{
	table->rows = al_new_array(&s->arena, struct al_scenario_row, set->n_rows + 1);
	for (size_t i = 0; i < set->n_rows; i++) {
		const struct al_data_row *row = &set->rows[i];
		const struct al_case *case_ = row->case_ ? al_case_find(s, row->case_, NULL)
							 : chosen->cases[0];
		add_row(table, case_, row->variant ? al_variant_find(s, row->variant, NULL) : NULL);
	}
	table->kind = set->has_variant ? (set->has_case ? AL_ROWS_PRODUCT : AL_ROWS_VARIANTS)
				       : AL_ROWS_CASES;
	table->shows_case = set->has_case;
	table->shows_variant = set->has_variant;
}

/* Cells are counted before they are made: `wide` on each of `n` rows. */
static bool count_cells(struct al_scenario *s, const struct cJSON *node, size_t n, size_t wide,
	struct al_error *err)
{
	if (wide && n > (AL_MOST_CELLS - s->n_cells) / wide)
		return al_json_fail(&s->doc, node, err, "the file's tables have more than %d cells",
			AL_MOST_CELLS);
	s->n_cells += n * wide;
	return true;
}

/* How many cells a row has, keys not counted. */
static size_t width_of(const struct al_scenario_table *table)
{
	size_t wide = 0;

	if (!table->is_pivoted)
		return table->n_columns;
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_scenario_column *column = &table->columns[i];
		wide += column->is_once ? 1 : column->only ? column->n_only : table->n_pivoted;
	}
	return wide;
}

static void add_product(struct al_scenario *s, struct al_scenario_table *table,
	const struct chosen *chosen)
{
	bool by_variant = table->kind != AL_ROWS_CASES && !table->is_pivoted;
	const struct al_scenario_variant *only = chosen->n_variants == 1 ? chosen->variants[0]
									 : NULL;

	table->rows = al_new_array(&s->arena, struct al_scenario_row,
		chosen->n_cases * (chosen->n_variants + 1));
	for (size_t i = 0; i < chosen->n_cases; i++) {
		if (!by_variant)
			add_row(table, chosen->cases[i], table->is_pivoted ? NULL : only);
		for (size_t j = 0; by_variant && j < chosen->n_variants; j++)
			add_row(table, chosen->cases[i], chosen->variants[j]);
	}
	table->shows_case = table->kind != AL_ROWS_VARIANTS;
	table->shows_variant = by_variant;
	table->pivoted = chosen->variants;
	table->n_pivoted = chosen->n_variants;
}

static bool read_rows(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_table *table, const struct chosen *chosen, struct al_error *err)
{
	static const char *const kinds[] = {"variants", "cases", "product"};
	const char *word = NULL, *id;

	if (!al_json_get_text(&s->doc, node, "rows", false, &word, err))
		return false;
	if (word && al_key_has_prefix(word, "data:", &id)) {
		const struct al_data_set *set = al_data_find(s, id);
		if (!set)
			return al_json_fail(&s->doc, al_json_get(node, "rows"), err,
				"no data set \"%s\"", id);
		add_data_rows(s, table, set, chosen);
		return true;
	}
	table->kind = chosen->n_variants == 0 ? AL_ROWS_CASES
		: chosen->n_cases > 1 ? (chosen->n_variants > 1 ? AL_ROWS_PRODUCT : AL_ROWS_CASES)
				      : AL_ROWS_VARIANTS;
	if (word) {
		int found = al_find_name(word, kinds, 3);
		if (found < 0) {
			al_fail_unknown(err, "rows", word, kinds, 3);
			return al_json_in(&s->doc, al_json_get(node, "rows"), err);
		}
		table->kind = (enum al_rows_kind)found;
	}
	if (table->kind == AL_ROWS_VARIANTS && chosen->n_cases > 1)
		return al_json_fail(&s->doc, node, err,
			"rows are variants, but there are %zu cases", chosen->n_cases);
	if (!count_cells(s, node, chosen->n_cases, chosen->n_variants + 1, err))
		return false;
	s->n_cells -= chosen->n_cases * (chosen->n_variants + 1);
	add_product(s, table, chosen);
	return true;
}

/* ---- tables ---- */

static bool read_reference(const struct al_scenario *s, const struct cJSON *node, const char *key,
	const struct al_scenario_variant **out, struct al_error *err)
{
	const char *name = NULL;

	if (!al_json_get_text(&s->doc, node, key, false, &name, err))
		return false;
	if (name && !(*out = al_variant_find(s, name, err)))
		return al_json_in(&s->doc, al_json_get(node, key), err);
	return true;
}

static bool read_pivot(const struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_table *table, struct al_error *err)
{
	const char *word = NULL;

	if (!al_json_get_text(&s->doc, node, "pivot", false, &word, err))
		return false;
	table->is_pivoted = word != NULL;
	if (word && strcmp(word, "variant") != 0)
		return al_json_fail(&s->doc, al_json_get(node, "pivot"), err,
			"pivot \"%s\", expected \"variant\"", word);
	return true;
}

/* The symbols that the polynomials of the table are told in. */
static bool check_symbols(const struct al_scenario *s, const struct cJSON *node,
	const struct al_scenario_table *table, struct al_error *err)
{
	const struct cJSON *substitute = al_json_get(node, "substitute");

	if (table->order && !al_symbol_name_check(s, al_json_get(node, "order"), table->order, err))
		return false;
	al_json_each (member, substitute)
		if (!al_member_is_note(member) && !al_member_symbol_check(s, member, err))
			return false;
	return true;
}

static bool read_table(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_table *table, struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "case", "cases", "variants", "rows",
		"set", "basis", "recipe", "per", "baseline", "retention", "elasticity", "pivot",
		"substitute", "order", "against", "columns", "mark_best", "best_among"};
	const struct cJSON *columns;
	struct chosen chosen = {0};

	if (!al_json_only(&s->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_id_read(s, node, &table->id, err))
		return false;
	table->title = s->title;
	return al_json_get_text(&s->doc, node, "title", false, &table->title, err)
		&& al_json_get_text(&s->doc, node, "order", false, &table->order, err)
		&& al_json_get_boolean(&s->doc, node, "mark_best", false, &table->marks_best, err)
		&& al_changes_read(s, node, table->id, &table->changes, err)
		&& read_pivot(s, node, table, err)
		&& al_variant_names_read(s, node, "best_among", &table->best_among,
			&table->n_best_among, err)
		&& read_reference(s, node, "baseline", &table->baseline, err)
		&& read_reference(s, node, "retention", &table->retention, err)
		&& read_reference(s, node, "elasticity", &table->elasticity, err)
		&& read_reference(s, node, "against", &table->against, err)
		&& al_substitutions_read(s, al_json_get(node, "substitute"), &table->substitutions,
			&table->n_substitutions, err)
		&& choose_cases(s, node, &chosen, err) && choose_variants(s, node, &chosen, err)
		&& read_rows(s, node, table, &chosen, err) && check_symbols(s, node, table, err)
		&& al_json_get_node(&s->doc, node, "columns", AL_JSON_ARRAY, true, &columns, err)
		&& al_columns_read(s, columns, table, err)
		&& count_cells(s, node, table->n_rows, width_of(table), err);
}

bool al_tables_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	if (!al_size_check(s, list, "tables", AL_MOST_PARTS_OF_A_KIND, err))
		return false;
	s->tables = al_new_array(&s->arena, struct al_scenario_table, al_json_size(list) + 1);
	al_json_each (node, list) {
		struct al_scenario_table table = {0};
		if (!read_table(s, node, &table, err))
			return false;
		s->tables[s->n_tables++] = table;
	}
	return true;
}
