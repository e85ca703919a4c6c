/* Groups of equal layers: which of a model's tensors and modules are equal, and how many there are
 * of each, when the number of layers or what a layer's number decides has changed. */
#include "ledger/plan_parts.h"

#include <assert.h>
#include <string.h>

/* ---- items of the family ---- */

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

/* Binds a formula of the item; where it depends on the iteration, so do the groups. */
static const struct al_bound *bind_value(struct al_plan *plan, struct al_plan_item *item,
	const struct al_formula *formula)
{
	struct al_plan_inputs inputs = {0};
	struct al_plan_binder b = {plan, AL_PLAN_NO_MODULE, item->loops, false, &inputs};
	const struct al_bound *bound = al_plan_bind(&b, formula);

	if (formula && is_of_iteration(item, formula))
		add_inputs(plan, &item->grouping, &inputs);
	add_inputs(plan, &item->all, &inputs);
	return bound;
}

static const struct al_bound *bind_grouping(struct al_plan *plan, struct al_plan_item *item,
	const struct al_formula *formula)
{
	struct al_plan_binder b = {plan, AL_PLAN_NO_MODULE, item->loops, false, &item->grouping};

	return al_plan_bind(&b, formula);
}

static void plan_loops(struct al_plan *plan, struct al_plan_item *item,
	const struct al_family_tensor *tensor, const struct al_family_module *module)
{
	const struct al_ledger *ledger = plan->ledger;

	for (size_t i = 0; i < item->loops->n; i++)
		item->is_walked[i] = al_tensor_list_walks(ledger->family, tensor, module,
			ledger->ask.detail, i);
	for (size_t i = 0; i < item->loops->n; i++) {
		item->counts[i] = bind_grouping(plan, item, item->loops->items[i].count);
		item->actives[i] = bind_grouping(plan, item, item->loops->items[i].active);
	}
	add_inputs(plan, &item->grouping, &plan->extra_inputs);
}

static void plan_tensor(struct al_plan *plan, struct al_plan_item *item,
	const struct al_family_tensor *tensor)
{
	const struct al_tensor_list *tensor_list = &plan->ledger->tensor_list;

	item->loops = &tensor->loops;
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
static bool count_layers(const struct al_plan *plan, struct al_plan_item *item)
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
		if (plan->items[i].n > 0 && !count_layers(plan, &plan->items[i]))
			return false;
	return true;
}

/* ---- groups ---- */

struct copies {
	int64_t all, active;
};

struct walk {
	struct al_plan *plan;
	struct al_plan_item *item;
	int64_t iteration[AL_FAMILY_LOOPS];
	size_t found; /* groups so far */
};

static void set_iteration(struct al_plan *plan, const int64_t *iteration, size_t n)
{
	for (size_t i = 0; i < n; i++)
		plan->places[i].number = iteration[i];
}

static const char *extra_of(const struct al_plan *plan, const struct al_plan_item *item,
	const int64_t *iteration)
{
	const struct al_family *family = plan->ledger->family;

	for (size_t i = 0; i < family->n_extras; i++)
		for (size_t j = 0; j < item->loops->n; j++)
			if (strcmp(item->loops->items[j].variable, family->extras[i].variable) == 0
				&& iteration[j] >= plan->extra_from[i])
				return family->extras[i].name;
	return NULL;
}

/* What an iteration makes of the item: its numbers, at the iteration that is set. */
struct group {
	int64_t values[AL_SHAPE_DIMS * 8], count, active, uses, layer;
	const char *extra;
};

static bool evaluate_group(const struct al_plan *plan, const struct al_plan_item *item,
	struct group *out)
{
	for (size_t i = 0; i < item->n_values; i++)
		if (!al_plan_whole(plan, item->values[i], !item->is_module, &out->values[i]))
			return false;
	if (item->is_module)
		return al_plan_whole_or_one(plan, item->uses, &out->uses);
	if (!al_plan_whole_or_one(plan, item->count, &out->count))
		return false;
	out->active = out->count;
	return !item->active || al_plan_whole(plan, item->active, 0, &out->active);
}

static void write_tensor(struct al_model_tensor *t, const struct al_plan_item *item,
	const struct group *g)
{
	for (size_t i = 0; i < item->n_values; i++)
		t->dims[i] = g->values[i];
	t->count = g->count;
	t->active = g->active;
}

static void write_module(struct al_plan *plan, size_t i, const struct al_plan_item *item,
	const struct group *g)
{
	struct al_model_module *of = &plan->ledger->tensor_list.modules[i];
	const size_t m = plan->module_of[i];

	for (size_t j = 0; j < item->n_values; j++) {
		of->with[j].value = g->values[j];
		if (al_plan_has_own_attention(plan->ledger) && plan->with[m][j])
			al_plan_set_number(plan, plan->with[m][j], g->values[j]);
	}
	of->uses = g->uses;
}

static void write_group(struct al_plan *plan, const struct al_plan_item *item, size_t k,
	const struct group *g)
{
	if (item->is_module)
		write_module(plan, item->first + k, item, g);
	else
		write_tensor(&plan->ledger->tensor_list.tensors[item->first + k], item, g);
}

/* Is group k, as it was found in this walk, the same? */
static bool is_group(const struct al_plan *plan, const struct al_plan_item *item, size_t k,
	const struct group *g)
{
	const struct al_tensor_list *tensor_list = &plan->ledger->tensor_list;

	if (item->is_module) {
		const struct al_model_module *m = &tensor_list->modules[item->first + k];
		for (size_t i = 0; i < item->n_values; i++)
			if (m->with[i].value != g->values[i])
				return false;
		return m->uses == g->uses && m->extra == g->extra && m->layer == g->layer;
	}
	const struct al_model_tensor *t = &tensor_list->tensors[item->first + k];
	for (size_t i = 0; i < item->n_values; i++)
		if (t->dims[i] != g->values[i])
			return false;
	return t->count == g->count && t->active == g->active && t->extra == g->extra
		&& t->layer == g->layer;
}

/* A new group comes in the place of the one that was there: what is not part of the model stays
 * so, and a layer is the same layer. */
static bool begin_group(struct walk *w, const struct group *g)
{
	struct al_tensor_list *tensor_list = &w->plan->ledger->tensor_list;
	const struct al_plan_item *item = w->item;
	const size_t i = item->first + w->found;

	if (w->found == item->n)
		return false;
	const char *extra = item->is_module ? tensor_list->modules[i].extra
					    : tensor_list->tensors[i].extra;
	int64_t layer = item->is_module ? tensor_list->modules[i].layer
					: tensor_list->tensors[i].layer;
	if (extra != g->extra || layer != g->layer)
		return false;
	write_group(w->plan, item, w->found, g);
	if (item->is_module) {
		memcpy(tensor_list->modules[i].iteration, w->iteration, sizeof(w->iteration));
		tensor_list->modules[i].copies = 0;
	} else {
		memcpy(tensor_list->tensors[i].iteration, w->iteration, sizeof(w->iteration));
		tensor_list->tensors[i].copies = tensor_list->tensors[i].active_copies = 0;
	}
	w->found++;
	return true;
}

static void add_copies(struct walk *w, size_t k, struct copies copies)
{
	struct al_tensor_list *tensor_list = &w->plan->ledger->tensor_list;
	const size_t i = w->item->first + k;

	if (w->item->is_module) {
		tensor_list->modules[i].copies += copies.all;
		return;
	}
	tensor_list->tensors[i].copies += copies.all;
	tensor_list->tensors[i].active_copies += copies.active;
}

static bool enter(struct walk *w, struct copies copies)
{
	struct al_plan *plan = w->plan;
	const struct al_plan_item *item = w->item;
	struct group g = {.layer = -1};
	int64_t is_there = 1;
	size_t k = 0;

	set_iteration(plan, w->iteration, item->loops->n);
	if (item->when && !al_plan_whole(plan, item->when, INT64_MIN, &is_there))
		return false;
	if (!is_there)
		return true;
	if (!evaluate_group(plan, item, &g))
		return false;
	g.extra = extra_of(plan, item, w->iteration);
	if (plan->ledger->ask.detail == AL_TENSORS_BY_LAYER && item->loops->n > 0)
		g.layer = w->iteration[0];
	while (k < w->found && !is_group(plan, item, k, &g))
		k++;
	if (k == w->found && !begin_group(w, &g))
		return false;
	add_copies(w, k, copies);
	return true;
}

static bool take_iterations(struct walk *w, size_t depth, struct copies copies)
{
	struct al_plan *plan = w->plan;
	const struct al_plan_item *item = w->item;
	int64_t count, active;

	if (w->item->n_steps++ > AL_FAMILY_STEPS)
		return false;
	if (depth == item->loops->n)
		return enter(w, copies);
	assert(depth < AL_FAMILY_LOOPS);
	set_iteration(plan, w->iteration, depth);
	if (!al_plan_whole(plan, item->counts[depth], 0, &count))
		return false;
	active = count;
	if (item->actives[depth]
		&& (!al_plan_whole(plan, item->actives[depth], 0, &active) || active > count))
		return false;
	w->iteration[depth] = 0;
	if (!item->is_walked[depth]) {
		if (__builtin_mul_overflow(copies.all, count, &copies.all))
			return false;
		copies.active *= active;
		return count == 0 || take_iterations(w, depth + 1, copies);
	}
	for (int64_t i = 0; i < count; i++) {
		const struct copies these = {copies.all, i < active ? copies.active : 0};
		w->iteration[depth] = i;
		if (!take_iterations(w, depth + 1, these))
			return false;
	}
	return true;
}

bool al_plan_regroup(struct al_plan *plan, struct al_plan_item *item)
{
	struct walk w = {.plan = plan, .item = item};

	item->n_steps = 0;
	return take_iterations(&w, 0, (struct copies){1, 1}) && w.found == item->n;
}

/* Evaluates each group where it was found first. */
static bool update_groups(struct al_plan *plan, struct al_plan_item *item)
{
	const struct al_tensor_list *tensor_list = &plan->ledger->tensor_list;
	struct group g = {.layer = -1};

	for (size_t k = 0; k < item->n; k++) {
		const size_t i = item->first + k;
		set_iteration(plan,
			item->is_module ? tensor_list->modules[i].iteration
					: tensor_list->tensors[i].iteration,
			item->loops->n);
		if (!evaluate_group(plan, item, &g))
			return false;
		write_group(plan, item, k, &g);
	}
	return true;
}

static bool update_item(struct al_plan *plan, struct al_plan_item *item)
{
	const bool is_regrouped = al_plan_is_stale(plan, &item->grouping);

	if (!is_regrouped && !al_plan_is_stale(plan, &item->all))
		return true;
	item->changed = plan->clock;
	return (is_regrouped ? al_plan_regroup(plan, item) && count_layers(plan, item)
			     : update_groups(plan, item));
}

bool al_plan_are_few_steps(const struct al_plan *plan)
{
	int64_t steps = 0;

	for (size_t i = 0; i < plan->n_items; i++)
		steps += plan->items[i].n_steps;
	return steps <= AL_FAMILY_STEPS;
}

bool al_plan_update_items(struct al_plan *plan, bool modules)
{
	for (size_t i = 0; i < plan->n_items; i++)
		if (plan->items[i].is_module == modules && !update_item(plan, &plan->items[i]))
			return false;
	return true;
}
