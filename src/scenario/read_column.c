/* Reading a table's columns: what a key says by itself, and what an object adds. */
#include "scenario/read.h"

#include <string.h>

#include "scenario/column.h"
#include "scenario/units.h"

static bool read_direction(const struct al_scenario *s, const struct cJSON *owner, const char *key,
	enum al_direction *out, struct al_error *err)
{
	static const char *const words[] = {[AL_PLAIN] = "plain",
		[AL_HIGHER_IS_BETTER] = "higher",
		[AL_LOWER_IS_BETTER] = "lower"};
	int found = (int)*out;

	if (!al_word_read(s, owner, key, words, 3, &found, err))
		return false;
	*out = (enum al_direction)found;
	return true;
}

bool al_key_has_prefix(const char *key, const char *prefix, const char **rest)
{
	size_t n = strlen(prefix);

	if (strncmp(key, prefix, n) != 0)
		return false;
	*rest = key + n;
	return true;
}

static bool check_metric(const struct al_scenario *s, const struct cJSON *node, const char *name,
	struct al_error *err)
{
	const struct al_data_set *set;
	struct al_names names;
	size_t column;

	if (al_metric_find(s, name, &set, &column))
		return true;
	al_names_init(&names);
	for (size_t i = 0; i < s->n_data; i++)
		for (size_t j = 0; j < s->data[i].n_columns; j++)
			al_names_add(&names, s->data[i].columns[j].name);
	al_names_fail(&names, "metric", name, err);
	return al_json_in(&s->doc, node, err);
}

/* What a key says by itself: title, unit, kind of quantity, which cell is the best. */
static bool describe_key(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_column *column, struct al_error *err)
{
	struct al_column *c = &column->column;
	struct al_column_kind *kind = al_new(&s->arena, struct al_column_kind);

	*kind = al_column_kind_of(s, c->key);
	c->title = kind->title;
	c->unit = kind->unit;
	c->quantity = kind->quantity;
	c->digits = kind->digits;
	column->kind = kind;
	return !al_column_metric(kind) || check_metric(s, node, al_column_metric(kind), err);
}

static bool check_key(const struct al_scenario *s, const struct cJSON *node,
	const struct al_scenario_column *column, struct al_error *err)
{
	struct al_names names;

	if (column->formula || al_column_is_known(s, column->kind))
		return true;
	al_names_init(&names);
	al_column_add_keys(s, &names);
	al_names_fail(&names, "column", column->column.key, err);
	return al_json_in(&s->doc, node, err);
}

/* "M" and the like scale what people read; any other text is a unit of its own. */
static void set_unit(struct al_column *column, const char *unit)
{
	if (al_unit_factor(unit) == 1) {
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

	if (!al_word_read(s, owner, "quantity", words, 4, &found, err))
		return false;
	column->quantity = (enum al_quantity)found;
	return true;
}

/* What a pivoted table does with the column: once, or only some variants. */
static bool read_pivoting(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_column *column, struct al_error *err)
{
	return al_json_get_boolean(&s->doc, node, "once", false, &column->is_once, err)
		&& al_variant_names_read(s, node, "variants", &column->only, &column->n_only, err);
}

static bool read_column_object(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_column *column, struct al_error *err)
{
	static const char *const keys[] = {"key", "title", "unit", "digits", "group", "formula",
		"best", "quantity", "once", "variants"};
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
		|| !read_quantity(s, node, &column->column, err)
		|| !read_pivoting(s, node, column, err))
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

/* Which cell of a metric's column is the best: as the kind says, else as the data do. */
static enum al_direction best_of(const struct al_scenario *s, const struct al_column_kind *kind)
{
	const struct al_data_set *set;
	size_t i;

	if (kind->best != AL_PLAIN || !al_column_metric(kind)
		|| !al_metric_find(s, kind->name, &set, &i))
		return kind->best;
	return set->columns[i].direction;
}

static bool read_column(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_column *column, struct al_error *err)
{
	if (al_json_kind(node) == AL_JSON_OBJECT) {
		if (!read_column_object(s, node, column, err))
			return false;
	} else if (!al_json_text(&s->doc, node, &column->column.key, err)
		|| !describe_key(s, node, column, err))
		return false;

	if (column->best == AL_PLAIN)
		column->best = best_of(s, column->kind);
	return check_key(s, node, column, err);
}

bool al_columns_read(struct al_scenario *s, const struct cJSON *list,
	struct al_scenario_table *table, struct al_error *err)
{
	if (!al_size_check(s, list, "columns", AL_MOST_PARTS_OF_A_KIND, err))
		return false;
	table->columns = al_new_array(&s->arena, struct al_scenario_column, al_json_size(list) + 1);
	al_json_each (node, list) {
		struct al_scenario_column *column = &table->columns[table->n_columns];
		if (!read_column(s, node, column, err))
			return false;
		for (size_t i = 0; i < table->n_columns; i++)
			if (strcmp(table->columns[i].column.key, column->column.key) == 0)
				return al_json_fail(&s->doc, node, err,
					"column \"%s\" appears twice", column->column.key);
		table->n_columns++;
	}
	return table->n_columns > 0 || al_json_fail(&s->doc, list, err, "the table has no columns");
}
