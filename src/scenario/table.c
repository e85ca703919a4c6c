/* Tables: reading what is wanted, and building it cell by cell. */
#include "scenario/internal.h"

#include <string.h>

#include "base/text.h"

/* ---- columns ---- */

static bool read_direction(const struct al_scenario *s, const struct cJSON *owner, const char *key,
	enum direction *out, struct al_error *err)
{
	static const char *const words[] = {[PLAIN] = "plain", [HIGHER_IS_BETTER] = "higher",
		[LOWER_IS_BETTER] = "lower"};
	int found = (int)*out;

	if (!read_word(s, owner, key, words, 3, &found, err))
		return false;
	*out = (enum direction)found;
	return true;
}

static bool has_prefix(const char *key, const char *prefix, const char **rest)
{
	size_t n = strlen(prefix);

	if (strncmp(key, prefix, n) != 0)
		return false;
	*rest = key + n;
	return true;
}

/* The metric that a column's key asks for, or NULL. */
static const char *metric_of(const char *key)
{
	const char *name;

	if (has_prefix(key, "score:", &name) || has_prefix(key, "prr:", &name)
		|| has_prefix(key, "peop:", &name))
		return name;
	return NULL;
}

static bool check_metric(const struct al_scenario *s, const struct cJSON *node, const char *name,
	struct al_error *err)
{
	const struct data_set *set;
	struct al_arena arena;
	size_t column, n = 0, room = 1;

	if (find_metric(s, name, &set, &column))
		return true;
	for (size_t i = 0; i < s->n_data; i++)
		room += s->data[i].n_columns;
	al_arena_init(&arena);
	const char **names = al_new_array(&arena, const char *, room);
	for (size_t i = 0; i < s->n_data; i++)
		for (size_t j = 0; j < s->data[i].n_columns; j++)
			names[n++] = s->data[i].columns[j].name;
	al_fail_unknown(err, "metric", name, names, n);
	al_arena_finish(&arena);
	return al_json_in(&s->doc, node, err);
}

/* What a key says by itself: title, unit and kind of quantity. */
static bool describe_key(const struct al_scenario *s, const struct cJSON *node,
	struct table_column *column, struct al_error *err)
{
	struct al_column *c = &column->column;
	const char *metric = metric_of(c->key);
	int measure = al_measure_find(c->key);

	if (metric) {
		c->unit = strncmp(c->key, "prr:", 4) == 0 ? "%" : "";
		return check_metric(s, node, metric, err);
	}
	if (measure >= 0) {
		c->title = al_measures[measure].title;
		c->unit = al_measures[measure].unit;
		c->quantity = (enum al_quantity)al_measures[measure].quantity;
	} else if (strcmp(c->key, "saving") == 0) {
		c->title = "Saving";
		c->unit = "%";
		c->digits = 2;
	}
	return true;
}

/* The keys that need no formula, for the message about a wrong one. */
static bool check_key(const struct al_scenario *s, const struct cJSON *node,
	const struct table_column *column, struct al_error *err)
{
	static const char *const own[] = {"saving", "modules", "formula", "difference", "order"};
	const char *key = column->column.key;
	struct al_arena arena;
	size_t n = 0;

	if (column->formula || metric_of(key) || al_measure_find(key) >= 0
		|| al_find_name(key, own, 5) >= 0)
		return true;
	for (size_t i = 0; i < s->settings.n_symbols; i++)
		if (strcmp(s->settings.symbols[i].name, key) == 0)
			return true;
	for (size_t i = 0; i < s->n_variants; i++)
		for (size_t j = 0; j < s->variants[i]->use.variant->n_symbols; j++)
			if (strcmp(s->variants[i]->use.variant->symbols[j].name, key) == 0)
				return true;

	al_arena_init(&arena);
	const char **names =
		al_new_array(&arena, const char *, AL_N_MEASURES + 5 + s->settings.n_symbols);
	for (int i = 0; i < AL_N_MEASURES; i++)
		names[n++] = al_measures[i].key;
	for (int i = 0; i < 5; i++)
		names[n++] = own[i];
	for (size_t i = 0; i < s->settings.n_symbols; i++)
		names[n++] = s->settings.symbols[i].name;
	al_fail_unknown(err, "column", key, names, n);
	al_arena_finish(&arena);
	return al_json_in(&s->doc, node, err);
}

/* "M" and the like scale what people read; any other text is a unit of its own. */
static void set_unit(struct al_column *column, const char *unit)
{
	if (unit_factor(unit) == 1) {
		column->unit = unit;
		return;
	}
	column->scale = unit;
	if (column->quantity == AL_QUANTITY_PLAIN)
		column->quantity = unit[1] ? AL_QUANTITY_BYTES : AL_QUANTITY_COUNT;
}

static bool read_quantity(const struct al_scenario *s, const struct cJSON *owner,
	struct al_column *column, struct al_error *err)
{
	static const char *const words[] = {
		[AL_QUANTITY_PLAIN] = "plain",
		[AL_QUANTITY_COUNT] = "count",
		[AL_QUANTITY_BYTES] = "bytes",
		[AL_QUANTITY_FLOPS] = "flops",
	};
	int found = (int)column->quantity;

	if (!read_word(s, owner, "quantity", words, 4, &found, err))
		return false;
	column->quantity = (enum al_quantity)found;
	return true;
}

/* What a pivoted table does with the column: once, or only some variants. */
static bool read_pivoting(struct al_scenario *s, const struct cJSON *node,
	struct table_column *column, struct al_error *err)
{
	const struct cJSON *list;
	const char *name;

	if (!al_json_get_boolean(&s->doc, node, "once", false, &column->is_once, err)
		|| !al_json_get_node(&s->doc, node, "variants", AL_JSON_ARRAY, false, &list, err))
		return false;
	if (!list)
		return true;
	column->only = al_new_array(&s->arena, const struct variant *, al_json_size(list) + 1);
	al_json_each(item, list) {
		if (!al_json_text(&s->doc, item, &name, err))
			return false;
		if (!(column->only[column->n_only++] = find_variant(s, name, err)))
			return al_json_in(&s->doc, item, err);
	}
	return true;
}

static bool read_column_object(struct al_scenario *s, const struct cJSON *node,
	struct table_column *column, struct al_error *err)
{
	static const char *const keys[] = {"key", "title", "unit", "digits", "group", "formula", "best",
		"quantity", "once", "variants"};
	const char *unit = NULL, *text = NULL;
	int64_t digits;

	if (!al_json_only(&s->doc, node, keys, 10, err)
		|| !al_json_get_text(&s->doc, node, "key", true, &column->column.key, err)
		|| !describe_key(s, node, column, err)
		|| !al_json_get_text(&s->doc, node, "title", false, &column->column.title, err)
		|| !al_json_get_text(&s->doc, node, "group", false, &column->column.group, err)
		|| !al_json_get_text(&s->doc, node, "unit", false, &unit, err)
		|| !al_json_get_text(&s->doc, node, "formula", false, &text, err)
		|| !read_direction(s, node, "best", &column->best, err)
		|| !read_quantity(s, node, &column->column, err) || !read_pivoting(s, node, column, err))
		return false;
	digits = column->column.digits;
	if (al_json_get(node, "digits")
		&& !al_json_whole_from(&s->doc, al_json_get(node, "digits"), 0, &digits, err))
		return false;
	if (digits > 30)
		return al_json_fail(&s->doc, al_json_get(node, "digits"), err,
			"%lld digits, expected at most 30", (long long)digits);
	column->column.digits = (int)digits;
	if (unit)
		set_unit(&column->column, unit);
	if (text && !al_formula_parse(&s->arena, text, AL_DIALECT_CELLS, &column->formula, err))
		return al_json_in(&s->doc, al_json_get(node, "formula"), err);
	return true;
}

static bool read_column(struct al_scenario *s, const struct cJSON *node, struct table_column *column,
	struct al_error *err)
{
	column->column.digits = AL_DIGITS_ALL;
	if (al_json_kind(node) == AL_JSON_OBJECT) {
		if (!read_column_object(s, node, column, err))
			return false;
	} else if (!al_json_text(&s->doc, node, &column->column.key, err)
		|| !describe_key(s, node, column, err))
		return false;

	const struct data_set *set;
	size_t i;
	const char *metric = metric_of(column->column.key);
	if (metric && column->best == PLAIN && find_metric(s, metric, &set, &i))
		column->best = strncmp(column->column.key, "score:", 6) == 0 ? set->columns[i].direction
									     : HIGHER_IS_BETTER;
	return check_key(s, node, column, err);
}

static bool read_columns(struct al_scenario *s, const struct cJSON *list, struct table *table,
	struct al_error *err)
{
	if (!check_size(s, list, "columns", MOST_PARTS_OF_A_KIND, err))
		return false;
	table->columns = al_new_array(&s->arena, struct table_column, al_json_size(list) + 1);
	al_json_each(node, list) {
		struct table_column *column = &table->columns[table->n_columns];
		if (!read_column(s, node, column, err))
			return false;
		for (size_t i = 0; i < table->n_columns; i++)
			if (strcmp(table->columns[i].column.key, column->column.key) == 0)
				return al_json_fail(&s->doc, node, err, "column \"%s\" appears twice",
					column->column.key);
		table->n_columns++;
	}
	return table->n_columns > 0 || al_json_fail(&s->doc, list, err, "the table has no columns");
}

/* ---- rows ---- */

struct chosen {
	const struct kase **cases;
	const struct variant **variants;
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
		return al_json_fail(&s->doc, node, err, "both \"case\" and \"cases\", expected one of them");
	chosen->cases = al_new_array(&s->arena, const struct kase *, s->n_cases + al_json_size(list) + 1);
	if (one) {
		if (!al_json_text(&s->doc, one, &id, err))
			return false;
		chosen->cases[chosen->n_cases++] = find_case(s, id, err);
		return chosen->cases[0] || al_json_in(&s->doc, one, err);
	}
	al_json_each(item, list) {
		if (!al_json_text(&s->doc, item, &id, err))
			return false;
		if (!(chosen->cases[chosen->n_cases++] = find_case(s, id, err)))
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
	const struct cJSON *list;
	const char *name;

	if (!al_json_get_node(&s->doc, node, "variants", AL_JSON_ARRAY, false, &list, err))
		return false;
	chosen->variants =
		al_new_array(&s->arena, const struct variant *, s->n_variants + al_json_size(list) + 1);
	al_json_each(item, list) {
		if (!al_json_text(&s->doc, item, &name, err))
			return false;
		if (!(chosen->variants[chosen->n_variants++] = find_variant(s, name, err)))
			return al_json_in(&s->doc, item, err);
	}
	if (!list)
		for (size_t i = 0; i < s->n_variants; i++)
			chosen->variants[chosen->n_variants++] = s->variants[i];
	return true;
}

static void add_row(struct table *table, const struct kase *kase, const struct variant *variant)
{
	table->rows[table->n_rows++] = (struct row){kase, variant};
}

/* The rows of a data set, as far as the table's cases and variants go. */
static void add_data_rows(struct al_scenario *s, struct table *table, const struct data_set *set,
	const struct chosen *chosen)
{
	table->rows = al_new_array(&s->arena, struct row, set->n_rows + 1);
	for (size_t i = 0; i < set->n_rows; i++) {
		const struct data_row *row = &set->rows[i];
		const struct kase *kase = row->kase ? find_case(s, row->kase, NULL) : chosen->cases[0];
		add_row(table, kase, row->variant ? find_variant(s, row->variant, NULL) : NULL);
	}
	table->kind = set->has_variant ? (set->has_case ? ROWS_PRODUCT : ROWS_VARIANTS) : ROWS_CASES;
	table->shows_case = set->has_case;
	table->shows_variant = set->has_variant;
}

/* Cells are counted before they are made: `wide` on each of `n` rows. */
static bool count_cells(struct al_scenario *s, const struct cJSON *node, size_t n, size_t wide,
	struct al_error *err)
{
	if (wide && n > (MOST_CELLS - s->n_cells) / wide)
		return al_json_fail(&s->doc, node, err, "the file's tables have more than %d cells", MOST_CELLS);
	s->n_cells += n * wide;
	return true;
}

/* How many cells a row has, keys not counted. */
static size_t width_of(const struct table *table)
{
	size_t wide = 0;

	if (!table->is_pivoted)
		return table->n_columns;
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct table_column *column = &table->columns[i];
		wide += column->is_once ? 1 : column->only ? column->n_only : table->n_pivoted;
	}
	return wide;
}

static void add_product(struct al_scenario *s, struct table *table, const struct chosen *chosen)
{
	bool by_variant = table->kind != ROWS_CASES && !table->is_pivoted;
	const struct variant *only = chosen->n_variants == 1 ? chosen->variants[0] : NULL;

	table->rows = al_new_array(&s->arena, struct row, chosen->n_cases * (chosen->n_variants + 1));
	for (size_t i = 0; i < chosen->n_cases; i++) {
		if (!by_variant)
			add_row(table, chosen->cases[i], table->is_pivoted ? NULL : only);
		for (size_t j = 0; by_variant && j < chosen->n_variants; j++)
			add_row(table, chosen->cases[i], chosen->variants[j]);
	}
	table->shows_case = table->kind != ROWS_VARIANTS;
	table->shows_variant = by_variant;
	table->pivoted = chosen->variants;
	table->n_pivoted = chosen->n_variants;
}

static bool read_rows(struct al_scenario *s, const struct cJSON *node, struct table *table,
	const struct chosen *chosen, struct al_error *err)
{
	static const char *const kinds[] = {"variants", "cases", "product"};
	const char *word = NULL, *id;

	if (!al_json_get_text(&s->doc, node, "rows", false, &word, err))
		return false;
	if (word && has_prefix(word, "data:", &id)) {
		const struct data_set *set = find_data(s, id);
		if (!set)
			return al_json_fail(&s->doc, al_json_get(node, "rows"), err, "no data set \"%s\"", id);
		add_data_rows(s, table, set, chosen);
		return true;
	}
	table->kind = chosen->n_variants == 0 ? ROWS_CASES
		: chosen->n_cases > 1 ? (chosen->n_variants > 1 ? ROWS_PRODUCT : ROWS_CASES) : ROWS_VARIANTS;
	if (word) {
		int found = al_find_name(word, kinds, 3);
		if (found < 0) {
			al_fail_unknown(err, "rows", word, kinds, 3);
			return al_json_in(&s->doc, al_json_get(node, "rows"), err);
		}
		table->kind = (enum rows_kind)found;
	}
	if (table->kind == ROWS_VARIANTS && chosen->n_cases > 1)
		return al_json_fail(&s->doc, node, err, "rows are variants, but there are %zu cases", chosen->n_cases);
	if (!count_cells(s, node, chosen->n_cases, chosen->n_variants + 1, err))
		return false;
	s->n_cells -= chosen->n_cases * (chosen->n_variants + 1);
	add_product(s, table, chosen);
	return true;
}

/* ---- tables ---- */

static bool read_reference(const struct al_scenario *s, const struct cJSON *node, const char *key,
	const struct variant **out, struct al_error *err)
{
	const char *name = NULL;

	if (!al_json_get_text(&s->doc, node, key, false, &name, err))
		return false;
	if (name && !(*out = find_variant(s, name, err)))
		return al_json_in(&s->doc, al_json_get(node, key), err);
	return true;
}

static bool read_pivot(const struct al_scenario *s, const struct cJSON *node, struct table *table,
	struct al_error *err)
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

/* Checked once here, so that evaluating a cell can't fail on them. */
static bool check_settings(struct al_scenario *s, const struct table *table, struct al_error *err)
{
	struct al_basis basis = s->basis;
	struct al_settings settings;

	al_settings_init(&settings, s->catalog);
	bool ok = read_settings(s, table->set, table->id, &settings, err)
		&& read_basis(s, table->basis, &basis, err);
	if (ok && table->per && !al_basis_set(&basis, "per", table->per, err))
		ok = al_json_in(&s->doc, al_json_get(table->node, "per"), err);
	al_settings_finish(&settings);
	if (ok && table->order)
		ok = check_symbol_name(s, al_json_get(table->node, "order"), table->order, err);
	const struct cJSON *substitute = al_json_get(table->node, "substitute");
	al_json_each(member, substitute)
		ok = ok && (is_note(member) || check_symbol(s, member, err));
	return ok;
}

static bool read_recipe_name(struct al_scenario *s, const struct cJSON *node, struct table *table,
	struct al_error *err)
{
	const char *name = NULL;

	if (!al_json_get_text(&s->doc, node, "recipe", false, &name, err))
		return false;
	return !name || al_catalog_recipe(s->catalog, name, &table->recipe, err)
		|| al_json_in(&s->doc, al_json_get(node, "recipe"), err);
}

static bool read_table(struct al_scenario *s, const struct cJSON *node, struct table *table,
	struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "case", "cases", "variants", "rows", "set", "basis",
		"recipe", "per", "baseline", "retention", "elasticity", "pivot", "substitute", "order",
		"against", "columns", "mark_best"};
	const struct cJSON *columns;
	struct chosen chosen = {0};

	table->node = node;
	if (!al_json_only(&s->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !read_id(s, node, &table->id, err))
		return false;
	table->title = s->title;
	table->set = al_json_get(node, "set");
	table->basis = al_json_get(node, "basis");
	return al_json_get_text(&s->doc, node, "title", false, &table->title, err)
		&& al_json_get_text(&s->doc, node, "per", false, &table->per, err)
		&& al_json_get_text(&s->doc, node, "order", false, &table->order, err)
		&& al_json_get_boolean(&s->doc, node, "mark_best", false, &table->marks_best, err)
		&& read_recipe_name(s, node, table, err) && read_pivot(s, node, table, err)
		&& read_reference(s, node, "baseline", &table->baseline, err)
		&& read_reference(s, node, "retention", &table->retention, err)
		&& read_reference(s, node, "elasticity", &table->elasticity, err)
		&& read_reference(s, node, "against", &table->against, err)
		&& read_substitutions(s, al_json_get(node, "substitute"), &table->substitutions,
			&table->n_substitutions, err)
		&& choose_cases(s, node, &chosen, err) && choose_variants(s, node, &chosen, err)
		&& read_rows(s, node, table, &chosen, err) && check_settings(s, table, err)
		&& al_json_get_node(&s->doc, node, "columns", AL_JSON_ARRAY, true, &columns, err)
		&& read_columns(s, columns, table, err)
		&& count_cells(s, node, table->n_rows, width_of(table), err);
}

bool read_tables(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	if (!check_size(s, list, "tables", MOST_PARTS_OF_A_KIND, err))
		return false;
	s->tables = al_new_array(&s->arena, struct table, al_json_size(list) + 1);
	al_json_each(node, list) {
		struct table table = {0};
		if (!read_table(s, node, &table, err))
			return false;
		s->tables[s->n_tables++] = table;
	}
	return true;
}
