/* Lists: the entries of a ledger's lists (tensors, cache, activations, products), computed again
 * where a symbol that their formulas mention has changed. */
#include "ledger/plan_parts.h"

#include <string.h>

#include "base/number.h"
#include "ledger/entries.h"

/* How many modules the basis covers hangs on what these mention, of one stack or of two. */
static void bind_times(struct al_plan_binder *b, const struct al_block *block)
{
	for (int sides = 0; sides < 2; sides++)
		for (int shared = 0; shared < AL_PER_MODEL; shared++)
			al_plan_bind(b, block->times[sides][shared]);
}

static void bind_line(struct al_plan *plan, enum al_list list, const struct al_ledger_entry *e,
	struct al_plan_entry *line)
{
	const int module = (int)(e->module - plan->ledger->modules);
	struct al_plan_binder b = {plan, module, NULL, list == AL_LIST_ABSORBED, &line->inputs};
	const struct al_line_shape shape = al_line_shape_of(e->module->block, list, e->entry);

	for (size_t i = 0; i < shape.n_dims; i++)
		line->dims[i] = al_plan_bind(&b, shape.dims[i]);
	line->count = al_plan_bind(&b, shape.count);
	line->active = al_plan_bind(&b, shape.active);
	if (list >= AL_LIST_PRODUCTS)
		line->inner = al_plan_bind(&b, e->entry->right.dims[0]);
	bind_times(&b, e->module->block);
	al_plan_add_input(plan, &line->inputs, plan->of_module[module]);
}

/* A line of a module is there where its condition holds. */
static void bind_condition(struct al_plan *plan, enum al_list list, size_t m,
	const struct al_entry *entry)
{
	struct al_ledger_module *module = &plan->ledger->modules[m];
	struct al_plan_entries *lines = &plan->lists[list];
	struct al_plan_condition c = {.is_truth = true};
	struct al_plan_binder b = {plan, (int)m, NULL, list == AL_LIST_ABSORBED, &c.formula.inputs};
	int64_t value;

	if (!entry->when || !al_entry_is_wanted(module->block, list, entry))
		return;
	c.formula.bound = al_plan_bind(&b, entry->when);
	if (!al_plan_whole(plan, c.formula.bound, INT64_MIN, &value))
		lines->is_bound = false;
	c.expected = value != 0;
	lines->conditions = al_grow(&plan->arena, lines->conditions, lines->n_conditions,
		&lines->room, sizeof(*lines->conditions));
	lines->conditions[lines->n_conditions++] = c;
}

/* A list that can't be followed for long is bound ever more rarely. */
void al_plan_bind_list(struct al_plan *plan, enum al_list list)
{
	const struct al_ledger_list *l = &plan->ledger->lists[list];
	struct al_plan_entries *lines = &plan->lists[list];

	*lines = (struct al_plan_entries){.n = l->n,
		.updated = plan->clock,
		.n_fills = lines->n_fills + 1};
	lines->is_bound = al_is_power_of_two(lines->n_fills);
	if (!lines->is_bound)
		return;
	lines->items = al_new_array(&plan->arena, struct al_plan_entry, l->n);
	for (size_t i = 0; i < l->n; i++)
		if (l->items[i].module)
			bind_line(plan, list, &l->items[i], &lines->items[i]);
	for (size_t m = 0; m < plan->ledger->n_modules; m++) {
		const struct al_entries *entries =
			al_lines_of(plan->ledger->modules[m].configured.variant, list);
		for (size_t i = 0; i < entries->n; i++)
			bind_condition(plan, list, m, &entries->items[i]);
	}
}

static bool evaluate_line(const struct al_plan *plan, const struct al_plan_entry *line,
	struct al_ledger_entry *e)
{
	int64_t inner;

	for (size_t i = 0; i < e->n_dims; i++)
		if (!al_plan_whole(plan, line->dims[i], 1, &e->dims[i]))
			return false;
	if (line->inner && (!al_plan_whole(plan, line->inner, 1, &inner) || inner != e->dims[1]))
		return false;
	if (!al_plan_whole_or_one(plan, line->count, &e->count))
		return false;
	e->active_count = e->count;
	return !line->active
		|| (al_plan_whole(plan, line->active, 0, &e->active_count)
			&& e->active_count <= e->count);
}

static bool update_line(const struct al_plan *plan, enum al_list list,
	const struct al_plan_entry *line, struct al_ledger_entry *e)
{
	const struct al_ledger_module *module = e->module;

	if (!evaluate_line(plan, line, e)
		|| !al_line_times(module, list, e->entry, &e->times, NULL))
		return false;
	e->n_layers = module->n_layers;
	al_entry_multiply(e);
	return true;
}

static void update_stored(const struct al_plan_item *item, struct al_ledger_entry *e)
{
	const struct al_model_tensor *t = e->stored;

	memcpy(e->dims, t->dims, sizeof(t->dims));
	e->count = t->count;
	e->active_count = t->active;
	e->times = t->copies;
	if (item->n_layers && (e->sees_text || e->extra))
		e->n_layers = item->n_layers;
	al_entry_multiply_stored(e);
}

bool al_plan_update_list(struct al_plan *plan, enum al_list list)
{
	const struct al_ledger *ledger = plan->ledger;
	struct al_ledger_list *l = &plan->ledger->lists[list];
	struct al_plan_entries *lines = &plan->lists[list];

	if (!lines->is_bound || lines->n != l->n)
		return false;
	for (size_t i = 0; i < lines->n_conditions; i++)
		if (al_plan_changed_since(plan, &lines->conditions[i].formula.inputs,
			    lines->updated)
			&& !al_plan_holds(plan, &lines->conditions[i]))
			return false;
	for (size_t i = 0; i < l->n; i++) {
		struct al_ledger_entry *e = &l->items[i];
		const struct al_plan_item *item = e->stored
			? &plan->items[ledger->family->n_modules
				+ (size_t)(e->stored->tensor - ledger->family->tensors)]
			: NULL;
		if (item ? item->changed <= lines->updated
			 : !al_plan_changed_since(plan, &lines->items[i].inputs, lines->updated))
			continue;
		l->version++;
		if (item)
			update_stored(item, e);
		else if (!update_line(plan, list, &lines->items[i], e))
			return false;
	}
	lines->updated = plan->clock;
	return true;
}
