/* Groups of equal layers: which of a model's tensors and modules are equal, and how many there are
 * of each, when the number of layers or what a layer's number decides has changed. */
#include "ledger/plan_parts.h"

#include <assert.h>
#include <string.h>

/* ---- groups ---- */

struct copies {
	int64_t all, active;
};

struct walk {
	struct al_plan *plan;
	struct al_plan_item *item;
	int64_t from; /* the outermost loop's first iteration */
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

	for (size_t i = 0; item->has_extras && i < family->n_extras; i++)
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
		if (plan->ledger->modules[m].configured.is_models_own && plan->with[m][j])
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

/* ---- the trail: an iteration of the outermost loop comes to one group ---- */

/* Only where no loop within it is walked. */
static bool has_trail(const struct al_plan_item *item)
{
	for (size_t i = 1; i < item->loops->n; i++)
		if (item->is_walked[i])
			return false;
	return item->loops->n > 0 && item->is_walked[0];
}

static void begin_step(struct walk *w)
{
	struct al_plan_item *item = w->item;

	item->trail = al_grow(&w->plan->arena, item->trail, item->n_trail, &item->trail_room,
		sizeof(*item->trail));
	item->trail[item->n_trail++] = (struct al_plan_step){AL_PLAN_NO_GROUP, 0, 0, item->n_steps};
}

static void end_step(struct walk *w, size_t k, struct copies copies)
{
	struct al_plan_step *step = &w->item->trail[w->item->n_trail - 1];

	step->group = k;
	step->copies = copies.all;
	step->active_copies = copies.active;
}

static const int64_t *iteration_of(const struct walk *w, size_t k)
{
	const struct al_tensor_list *tensor_list = &w->plan->ledger->tensor_list;
	const size_t i = w->item->first + k;

	return w->item->is_module ? tensor_list->modules[i].iteration
				  : tensor_list->tensors[i].iteration;
}

/* Takes back what iterations from `w->from` on added. Groups stand in the order in which they were
 * found: those that began before it stay. */
static void go_back(struct walk *w)
{
	struct al_plan_item *item = w->item;

	while (item->n_trail > (size_t)w->from) {
		const struct al_plan_step *step = &item->trail[--item->n_trail];
		item->n_steps = step->n_steps;
		if (step->group != AL_PLAN_NO_GROUP)
			add_copies(w, step->group,
				(struct copies){-step->copies, -step->active_copies});
	}
	while (w->from > 0 && w->found < item->n && iteration_of(w, w->found)[0] < w->from)
		w->found++;
	item->n_steps = w->from > 0 ? item->n_steps - 1 : 0; /* the walk itself is a step */
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
	if (item->n_trail > 0)
		end_step(w, k, copies);
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
	for (int64_t i = depth == 0 ? w->from : 0; i < count; i++) {
		const struct copies these = {copies.all, i < active ? copies.active : 0};
		w->iteration[depth] = i;
		if (depth == 0 && has_trail(item))
			begin_step(w);
		if (!take_iterations(w, depth + 1, these))
			return false;
	}
	return true;
}

/* Evaluates each of the first `n` groups where it was found first. */
static bool update_groups(struct al_plan *plan, const struct al_plan_item *item, size_t n)
{
	const struct al_tensor_list *tensor_list = &plan->ledger->tensor_list;
	struct group g = {.layer = -1};

	for (size_t k = 0; k < n; k++) {
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

bool al_plan_regroup(struct al_plan *plan, struct al_plan_item *item, int64_t from)
{
	struct walk w = {.plan = plan, .item = item, .from = from};

	go_back(&w);
	if (al_plan_is_stale(plan, &item->all) && !update_groups(plan, item, w.found))
		return false;
	return take_iterations(&w, 0, (struct copies){1, 1}) && w.found == item->n;
}

static int64_t first_of(const struct al_plan *plan, const struct al_plan_inputs *inputs)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < inputs->n; i++) {
		const struct al_plan_owner *owner = &plan->owners[inputs->items[i]];
		if (owner->changed == plan->clock && owner->first < first)
			first = owner->first;
	}
	return first;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The first iteration of the outermost loop that may come to another group than before. */
static bool find_first(const struct al_plan *plan, const struct al_plan_item *item, int64_t *first)
{
	const struct al_family *family = plan->ledger->family;
	int64_t count;

	*first = 0;
	if (!has_trail(item) || al_plan_is_stale(plan, &item->along[AL_ALONG_ALL]))
		return true;
	if (!al_plan_whole(plan, item->counts[0], 0, &count))
		return false;
	*first = smaller(count, (int64_t)item->n_trail);
	for (int along = AL_ALONG_INDEX; along < AL_ALONG_ALL; along++)
		*first = smaller(*first, first_of(plan, &item->along[along]));
	for (size_t i = 0; i < family->n_extras; i++)
		if (plan->extra_from[i] != plan->extra_was[i])
			*first = smaller(*first, smaller(plan->extra_from[i], plan->extra_was[i]));
	*first = *first < 0 ? 0 : *first;
	return true;
}

static bool update_item(struct al_plan *plan, struct al_plan_item *item)
{
	const bool is_regrouped = al_plan_is_stale(plan, &item->grouping);
	int64_t from;

	if (!is_regrouped && !al_plan_is_stale(plan, &item->all))
		return true;
	item->changed = plan->clock;
	if (!is_regrouped)
		return update_groups(plan, item, item->n);
	return find_first(plan, item, &from) && al_plan_regroup(plan, item, from)
		&& al_plan_count_layers(plan, item);
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
