/* Items of a plan: a family's tensors and modules with their formulas bound, and what decides which
 * iterations of their loops are equal. */
#include "ledger/plan_parts.h"

#include <string.h>

static void add_inputs(struct al_plan *plan, struct al_plan_inputs *to,
	const struct al_plan_inputs *from)
{
	for (size_t i = 0; i < from->n; i++)
		al_plan_add_input(plan, to, from->items[i]);
}

static bool is_of_iteration(const struct al_plan_item *item, const struct al_formula *formula)
{
	for (size_t i = 0; i < item->loops->n; i++)
		if (item->is_walked[i]
			&& al_formula_mentions(formula, item->loops->items[i].variable))
			return true;
	return false;
}

/* What the groups hang on, by where along the outermost loop another value is seen first. */
static void add_grouping(struct al_plan *plan, struct al_plan_item *item,
	const struct al_formula *formula, const struct al_plan_inputs *inputs)
{
	add_inputs(plan, &item->grouping, inputs);
	for (size_t i = 0; i < inputs->n && item->loops->n > 0; i++) {
		const enum al_along along = al_formula_along(formula,
			item->loops->items[0].variable, plan->owners[inputs->items[i]].symbol);
		al_plan_add_input(plan,
			&item->along[along == AL_ALONG_NOWHERE ? AL_ALONG_ALL : along],
			inputs->items[i]);
	}
}

/* Binds a formula of the item; where it depends on the iteration, so do the groups. */
static const struct al_bound *bind_value(struct al_plan *plan, struct al_plan_item *item,
	const struct al_formula *formula)
{
	struct al_plan_inputs inputs = {0};
	struct al_plan_binder b = {plan, AL_PLAN_NO_MODULE, item->loops, false, &inputs};
	const struct al_bound *bound = al_plan_bind(&b, formula);

	if (formula && is_of_iteration(item, formula))
		add_grouping(plan, item, formula, &inputs);
	add_inputs(plan, &item->all, &inputs);
	return bound;
}

static const struct al_bound *bind_grouping(struct al_plan *plan, struct al_plan_item *item,
	const struct al_formula *formula)
{
	struct al_plan_inputs inputs = {0};
	struct al_plan_binder b = {plan, AL_PLAN_NO_MODULE, item->loops, false, &inputs};
	const struct al_bound *bound = al_plan_bind(&b, formula);

	if (formula)
		add_grouping(plan, item, formula, &inputs);
	return bound;
}

/* The loop is walked on or back by as many iterations as its count says. */
static const struct al_bound *bind_first_count(struct al_plan *plan, struct al_plan_item *item)
{
	struct al_plan_binder b = {plan, AL_PLAN_NO_MODULE, item->loops, false, &item->grouping};

	return al_plan_bind(&b, item->loops->items[0].count);
}

static void plan_loops(struct al_plan *plan, struct al_plan_item *item,
	const struct al_family_tensor *tensor, const struct al_family_module *module)
{
	const struct al_ledger *ledger = plan->ledger;

	for (size_t i = 0; i < item->loops->n; i++)
		item->is_walked[i] = al_tensor_list_walks(ledger->family, tensor, module,
			ledger->ask.detail, i);
	for (size_t i = 0; i < item->loops->n; i++) {
		item->counts[i] = i == 0 ? bind_first_count(plan, item)
					 : bind_grouping(plan, item, item->loops->items[i].count);
		item->actives[i] = bind_grouping(plan, item, item->loops->items[i].active);
	}
	add_inputs(plan, &item->grouping, &plan->extra_inputs);
}

static void plan_tensor(struct al_plan *plan, struct al_plan_item *item,
	const struct al_family_tensor *tensor)
{
	const struct al_tensor_list *tensor_list = &plan->ledger->tensor_list;

	item->loops = &tensor->loops;
	item->has_extras = al_component_has_extras(tensor->component);
	plan_loops(plan, item, tensor, NULL);
	item->when = bind_grouping(plan, item, tensor->entry.when);
	item->n_values = tensor->entry.shape.n_dims;
	for (size_t i = 0; i < item->n_values; i++)
		item->values[i] = bind_value(plan, item, tensor->entry.shape.dims[i]);
	item->count = bind_value(plan, item, tensor->entry.count);
	item->active = bind_value(plan, item, tensor->entry.active);
	while (item->first < tensor_list->n_tensors
		&& tensor_list->tensors[item->first].tensor != tensor)
		item->first++;
	while (item->first + item->n < tensor_list->n_tensors
		&& tensor_list->tensors[item->first + item->n].tensor == tensor)
		item->n++;
}

static void plan_module(struct al_plan *plan, struct al_plan_item *item,
	const struct al_family_module *module)
{
	const struct al_tensor_list *tensor_list = &plan->ledger->tensor_list;

	item->is_module = true;
	item->loops = &module->loops;
	item->has_extras = al_component_has_extras(module->component);
	plan_loops(plan, item, NULL, module);
	item->when = bind_grouping(plan, item, module->when);
	item->n_values = module->n_set;
	plan->is_impossible |= module->n_set > sizeof(item->values) / sizeof(*item->values);
	for (size_t i = 0; i < item->n_values && !plan->is_impossible; i++)
		item->values[i] = bind_value(plan, item, module->set[i].value);
	item->uses = bind_value(plan, item, module->uses);
	while (item->first < tensor_list->n_modules
		&& tensor_list->modules[item->first].module != module)
		item->first++;
	while (item->first + item->n < tensor_list->n_modules
		&& tensor_list->modules[item->first + item->n].module == module)
		item->n++;
}

void al_plan_extras(struct al_plan *plan)
{
	const struct al_family *family = plan->ledger->family;
	struct al_plan_binder b = {plan, AL_PLAN_NO_MODULE, NULL, false, &plan->extra_inputs};

	for (size_t i = 0; i < family->n_extras; i++)
		plan->extras[i] = al_plan_bind(&b, family->extras[i].from);
}

void al_plan_items(struct al_plan *plan)
{
	const struct al_family *family = plan->ledger->family;

	plan->n_items = family->n_modules + family->n_tensors;
	plan->items = al_new_array(&plan->arena, struct al_plan_item, plan->n_items);
	for (size_t i = 0; i < family->n_modules; i++)
		plan_module(plan, &plan->items[i], &family->modules[i]);
	for (size_t i = 0; i < family->n_tensors; i++)
		plan_tensor(plan, &plan->items[family->n_modules + i], &family->tensors[i]);
}

/* How many iterations the outermost loop takes within the model. */
bool al_plan_count_layers(const struct al_plan *plan, struct al_plan_item *item)
{
	const struct al_family *family = plan->ledger->family;

	item->n_layers = 0;
	if (item->loops->n == 0)
		return true;
	if (!al_plan_whole(plan, item->counts[0], 0, &item->n_layers))
		return false;
	for (size_t i = 0; i < family->n_extras; i++)
		if (strcmp(family->extras[i].variable, item->loops->items[0].variable) == 0
			&& plan->extra_from[i] < item->n_layers)
			item->n_layers = plan->extra_from[i];
	return true;
}

bool al_plan_find_layers(struct al_plan *plan)
{
	for (size_t i = 0; i < plan->ledger->family->n_extras; i++)
		if (!al_plan_whole(plan, plan->extras[i], 0, &plan->extra_from[i]))
			return false;
	for (size_t i = 0; i < plan->n_items; i++)
		if (plan->items[i].n > 0 && !al_plan_count_layers(plan, &plan->items[i]))
			return false;
	return true;
}
