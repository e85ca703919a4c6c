/* Reading a table's columns: what a key implies, and what an object adds. */
#include "scenario/read.h"

#include "scenario/column.h"
#include "scenario/printed.h"

/* A key's defaults: title, unit, kind of quantity, which cell is the best. */
static bool read_key(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_scenario_column *column = out;
	struct al_column *c = &column->column;
	struct al_column_kind *kind = al_new(&s->arena, struct al_column_kind);
	const char *key;

	if (!al_json_text(&s->doc, node, &key, err))
		return false;
	*kind = al_column_kind_of(s, key);
	*c = kind->column;
	c->key = key;
	column->kind = kind;
	return !al_column_metric(kind) || kind->set
		|| al_unknown_fail(s, AL_NAMES_METRICS, "metric", kind->name, err)
		|| al_json_in(&s->doc, node, err);
}

static bool check_key(const struct al_scenario *s, const struct al_item *node,
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
static bool finish_column(void *s, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario_column *wanted = out;
	struct al_column *column = &wanted->column;
	const char *unit = column->unit;

	(void)s, (void)err;
	if (!al_json_get(node, "digits"))
		column->digits = wanted->kind->column.digits;
	if (!al_json_get(node, "quantity"))
		column->quantity = wanted->kind->column.quantity;
	if (!al_json_get(node, "unit") || al_unit_factor(unit) == 1)
		return true;
	column->unit = wanted->kind->column.unit;
	column->scale = unit;
	if (column->quantity == AL_QUANTITY_PLAIN)
		column->quantity = unit[1] ? AL_QUANTITY_BYTES : AL_QUANTITY_COUNT;
	return true;
}

static const char *const quantities[] = {
	[AL_QUANTITY_PLAIN] = "plain",
	[AL_QUANTITY_COUNT] = "count",
	[AL_QUANTITY_BYTES] = "bytes",
	[AL_QUANTITY_FLOPS] = "flops",
};

#define AT(member) offsetof(struct al_scenario_column, member)
static const struct al_field column_fields[] = {
	{AL_KEY("key", BY, 0), .is_required = true, .read = read_key},
	{AL_KEY("title", TEXT, AT(column.title))},
	{AL_KEY("unit", TEXT, AT(column.unit))},
	{AL_KEY("digits", INT, AT(column.digits)), .most = 30},
	{AL_KEY("group", TEXT, AT(column.group))},
	{AL_KEY("formula", BY, AT(formula)), .find = al_scenario_find_formula},
	{AL_KEY("best", WORD, AT(best)), .words = al_direction_words, .n_words = 3},
	{AL_KEY("quantity", WORD, AT(column.quantity)), AL_WORDS(quantities)},
	{AL_KEY("once", BOOLEAN, AT(is_once))},
	{AL_KEY("variants", LIST, AT(only)), .n_offset = AT(n_only),
		.find = al_scenario_find_variant,
		.item_size = sizeof(const struct al_configured_variant *)},
};
#undef AT
static const struct al_record column_record = {
	.fields = AL_FIELDS(column_fields),
	.check = finish_column,
};

/* A column is a key alone, or an object with more. */
bool al_scenario_read_column(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_scenario_column *column = out;

	if (al_json_kind(node) == AL_JSON_OBJECT
			? !al_object_read(s, &column_record, node, column, err)
			: !read_key(s, node, column, err))
		return false;
	/* By the kind, else by the metric's data. */
	if (column->best == AL_PLAIN)
		column->best = column->kind->best;
	if (column->best == AL_PLAIN && al_column_metric(column->kind))
		column->best = column->kind->set->columns[column->kind->metric].direction;
	return check_key(s, node, column, err);
}
