/* Evaluating a whole model again. */
#include "ledger/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formula/bound.h"
#include "ledger/entries.h"

enum { NO_MODULE = -1, MOST_LAYERS = 4096 };

/* Indices of the places that something mentions. */
struct inputs {
	size_t *items;
	size_t n, room;
};

/* Who a place is of: a symbol, of the question or as a module has it. */
struct owner {
	const char *symbol;
	int module; /* or NO_MODULE */
	bool is_asked;
	uint64_t changed; /* when */
};

/* A formula, and what it mentions. */
struct held {
	const struct al_bound *bound;
	struct inputs inputs;
};

/* A place that follows others. */
struct derived {
	size_t place;
	int module;
	struct held formula;
	const struct al_bound *length; /* of a list: one value a layer; NULL: none */
	struct al_value *list;
	size_t room;
};

/* What must stay as it was. */
struct condition {
	struct held formula;
	bool is_truth; /* only whether it holds */
	int64_t expected;
};

/* A tensor or a module of the family, and the groups that its loops make. */
struct item {
	const struct al_loops *loops;
	const struct al_bound *counts[AL_FAMILY_LOOPS], *actives[AL_FAMILY_LOOPS];
	bool is_walked[AL_FAMILY_LOOPS];
	const struct al_bound *when, *count, *active, *uses; /* NULL: as the family leaves it out */
	const struct al_bound *values[AL_SHAPE_DIMS * 8]; /* dimensions, or what a module sets */
	size_t n_values;
	bool is_module;
	struct inputs grouping, all;
	size_t first, n; /* in the tensor list */
	int64_t n_layers, n_steps; /* iterations that its loops take */
	uint64_t changed;
};

/* One entry of a module. */
struct line {
	struct al_line_shape shape;
	const struct al_bound *dims[AL_MOST_DIMS], *count, *active, *inner;
	struct inputs inputs;
};

struct lines {
	struct line *items;
	size_t n;
	struct condition *conditions; /* which lines are there */
	size_t n_conditions, room;
	uint64_t updated;
	bool is_bound;
};

/* Where a setting's value stands. */
struct link {
	size_t setting, place;
};

struct links {
	struct al_settings *settings;
	struct link *items;
	size_t n;
};

struct al_plan {
	struct al_arena arena;
	struct al_ledger *ledger;
	struct al_place *places; /* the first AL_FAMILY_LOOPS: the iteration of the loops; then 1 */
	struct owner *owners;
	size_t n_places, places_room, owners_room;
	struct derived *derived;
	size_t n_derived, derived_room;
	struct condition *conditions;
	size_t n_conditions, conditions_room;
	struct item *items;
	size_t n_items;
	size_t *module_of; /* of the tensor list's modules: in the ledger's */
	size_t *of_module; /* places that change with a module's copies */
	size_t **with; /* of each module: the places of what is set in it; 0: of none */
	const struct al_bound *apart[AL_FAMILY_APARTS];
	struct inputs apart_inputs;
	int64_t apart_from[AL_FAMILY_APARTS];
	struct lines lists[AL_N_LISTS];
	struct links *links;
	size_t n_links;
	uint64_t clock;
	bool is_impossible;
};

/* ---- places ---- */

static size_t add_place(struct al_plan *plan, const char *symbol, int module)
{
	plan->places = al_grow(&plan->arena, plan->places, plan->n_places, &plan->places_room,
		sizeof(*plan->places));
	plan->owners = al_grow(&plan->arena, plan->owners, plan->n_places, &plan->owners_room,
		sizeof(*plan->owners));
	plan->places[plan->n_places] = (struct al_place){0};
	plan->owners[plan->n_places] = (struct owner){.symbol = symbol, .module = module};
	return plan->n_places++;
}

static bool find_place(const struct al_plan *plan, const char *symbol, int module, size_t *out)
{
	for (*out = AL_FAMILY_LOOPS; *out < plan->n_places; ++*out)
		if (plan->owners[*out].module == module
			&& strcmp(plan->owners[*out].symbol, symbol) == 0)
			return true;
	return false;
}

static void add_input(struct al_plan *plan, struct inputs *inputs, size_t place)
{
	for (size_t i = 0; i < inputs->n; i++)
		if (inputs->items[i] == place)
			return;
	inputs->items = al_grow(&plan->arena, inputs->items, inputs->n, &inputs->room,
		sizeof(*inputs->items));
	inputs->items[inputs->n++] = place;
}

static bool changed_since(const struct al_plan *plan, const struct inputs *inputs, uint64_t since)
{
	for (size_t i = 0; i < inputs->n; i++)
		if (plan->owners[inputs->items[i]].changed > since)
			return true;
	return false;
}

static bool is_stale(const struct al_plan *plan, const struct inputs *inputs)
{
	return changed_since(plan, inputs, plan->clock - 1);
}

static void set_number(struct al_plan *plan, size_t place, int64_t value)
{
	if (plan->places[place].is_known && plan->places[place].number == value)
		return;
	plan->places[place] = (struct al_place){.number = value, .is_known = true};
	plan->owners[place].changed = plan->clock;
}

/* ---- binding ---- */

struct binder {
	struct al_plan *plan;
	int module; /* whose symbols come first; or NO_MODULE */
	const struct al_loops *loops; /* their variables come before; or NULL */
	bool is_absorbed;
	struct inputs *inputs;
};

static size_t place_of(struct al_plan *plan, int module, const char *symbol);

static size_t find_for_binding(void *context, const char *symbol)
{
	struct binder *b = context;

	for (size_t i = 0; b->loops && i < b->loops->n; i++)
		if (strcmp(b->loops->items[i].variable, symbol) == 0)
			return i;
	size_t place = b->is_absorbed && strcmp(symbol, "absorbed") == 0
		? AL_FAMILY_LOOPS
		: place_of(b->plan, b->module, symbol);
	add_input(b->plan, b->inputs, place);
	return place;
}

static const struct al_bound *bind(struct binder *b, const struct al_formula *formula)
{
	return formula ? al_formula_bind(&b->plan->arena, formula, find_for_binding, b) : NULL;
}

static void add_condition(struct al_plan *plan, const struct condition *condition)
{
	plan->conditions = al_grow(&plan->arena, plan->conditions, plan->n_conditions,
		&plan->conditions_room, sizeof(*plan->conditions));
	plan->conditions[plan->n_conditions++] = *condition;
}

/* ---- where a symbol's value comes from ---- */

static const struct al_setting *find_setting(const struct al_settings *settings, const char *symbol)
{
	for (size_t i = 0; i < settings->n; i++)
		if (!settings->items[i].is_default
			&& strcmp(settings->items[i].symbol, symbol) == 0)
			return &settings->items[i];
	return NULL;
}

static const struct al_formula *standard_default(const struct al_plan *plan, const char *symbol)
{
	const struct al_settings *settings = &plan->ledger->settings;

	for (size_t i = 0; i < settings->n_symbols; i++)
		if (strcmp(settings->symbols[i].name, symbol) == 0)
			return settings->symbols[i].fallback;
	return NULL;
}

static void copy_value(struct al_place *place, const struct al_setting *setting)
{
	*place = (struct al_place){.number = setting->value.integer,
		.word = setting->value.kind == AL_VALUE_WORD ? setting->value.word : NULL,
		.list = setting->list,
		.n_list = setting->n_list,
		.is_known = true};
}

static void add_derived(struct al_plan *plan, size_t place, int module,
	const struct al_formula *formula, const struct al_formula *length)
{
	static struct al_loop layer = {.variable = "layer"};
	static const struct al_loops layers = {.items = &layer, .n = 1};
	struct derived derived = {.place = place, .module = module};
	struct binder b = {plan, module, length ? &layers : NULL, false, &derived.formula.inputs};

	derived.formula.bound = bind(&b, formula);
	derived.length = bind(&b, length);
	plan->derived = al_grow(&plan->arena, plan->derived, plan->n_derived, &plan->derived_room,
		sizeof(*plan->derived));
	plan->derived[plan->n_derived++] = derived;
}

/* A default of a symbol that nobody gives, as the module sees it. */
static size_t place_of_default(struct al_plan *plan, int module, const char *symbol)
{
	const struct al_formula *fallback = standard_default(plan, symbol);
	struct al_settings *mutable = module == NO_MODULE
		? &plan->ledger->settings
		: &plan->ledger->modules[module].block->settings;
	const struct al_setting *value;
	size_t place = add_place(plan, symbol, module);

	if (!fallback)
		return place;
	add_derived(plan, place, module, fallback, NULL);
	if (al_settings_get(mutable, symbol, &value, NULL) && value)
		copy_value(&plan->places[place], value);
	return place;
}

static bool is_of_module(const struct al_plan *plan, int module, const char *symbol)
{
	const struct al_block *block = plan->ledger->modules[module].block;

	return al_block_fixed(block, symbol) || !find_setting(&plan->ledger->settings, symbol)
		|| (block->basis->has_biases && strcmp(symbol, "biases") == 0);
}

/* The value as the module has it: fixed, an option, a default, or else the question's. */
static size_t place_of(struct al_plan *plan, int module, const char *symbol)
{
	const struct al_settings *settings = module == NO_MODULE
		? &plan->ledger->settings
		: &plan->ledger->modules[module].block->settings;
	size_t place;

	if (module != NO_MODULE && !is_of_module(plan, module, symbol))
		return place_of(plan, NO_MODULE, symbol);
	if (find_place(plan, symbol, module, &place))
		return place;
	const struct al_setting *setting = find_setting(settings, symbol);
	if (!setting)
		return place_of_default(plan, module, symbol);
	place = add_place(plan, setting->symbol, module);
	copy_value(&plan->places[place], setting);
	plan->owners[place].is_asked = module == NO_MODULE && setting->is_asked;
	return place;
}

/* What a config derives follows what it is derived from, in the order of the derivation. */
static void plan_settings(struct al_plan *plan)
{
	const struct al_settings *settings = &plan->ledger->settings;

	for (size_t i = 0; i < settings->n; i++) {
		const struct al_setting *s = &settings->items[i];
		size_t place = place_of(plan, NO_MODULE, s->symbol);
		if (s->formula && !s->is_asked)
			add_derived(plan, place, NO_MODULE, s->formula, s->length);
		else if (s->length && !s->is_asked) {
			struct condition c = {.expected = (int64_t)s->n_list};
			struct binder b = {plan, NO_MODULE, NULL, false, &c.formula.inputs};
			c.formula.bound = bind(&b, s->length);
			add_condition(plan, &c);
		}
	}
}

/* A symbol that is derived may not be mentioned by what is derived before it. */
static void check_order(struct al_plan *plan)
{
	for (size_t i = 0; i < plan->n_derived; i++)
		for (size_t j = i; j < plan->n_derived; j++) {
			const struct inputs *inputs = &plan->derived[i].formula.inputs;
			for (size_t k = 0; k < inputs->n; k++)
				plan->is_impossible |= inputs->items[k] == plan->derived[j].place;
		}
}

/* Conditions hold of numbers that are known. */
static bool are_numbers(const struct al_plan *plan, const struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++) {
		const struct al_place *place = &plan->places[inputs->items[i]];
		if (!place->is_known || place->list || place->word)
			return false;
	}
	return true;
}

static void require(struct al_plan *plan, int module, const char *text)
{
	struct condition c = {.is_truth = true, .expected = 1};
	struct binder b = {plan, module, NULL, false, &c.formula.inputs};
	const struct al_formula *formula;

	if (!al_formula_parse(&plan->arena, text, AL_DIALECT_CATALOG, &formula, NULL))
		return;
	c.formula.bound = bind(&b, formula);
	if (are_numbers(plan, &c.formula.inputs))
		add_condition(plan, &c);
}

/* ---- items of the family ---- */

static void add_inputs(struct al_plan *plan, struct inputs *to, const struct inputs *from)
{
	for (size_t i = 0; i < from->n; i++)
		add_input(plan, to, from->items[i]);
}

static bool is_of_iteration(const struct item *item, const struct al_formula *formula)
{
	for (size_t i = 0; i < item->loops->n; i++)
		if (item->is_walked[i]
			&& al_formula_mentions(formula, item->loops->items[i].variable))
			return true;
	return false;
}

/* Binds a formula of the item; where it depends on the iteration, so do the groups. */
static const struct al_bound *bind_value(struct al_plan *plan, struct item *item,
	const struct al_formula *formula)
{
	struct inputs inputs = {0};
	struct binder b = {plan, NO_MODULE, item->loops, false, &inputs};
	const struct al_bound *bound = bind(&b, formula);

	if (formula && is_of_iteration(item, formula))
		add_inputs(plan, &item->grouping, &inputs);
	add_inputs(plan, &item->all, &inputs);
	return bound;
}

static const struct al_bound *bind_grouping(struct al_plan *plan, struct item *item,
	const struct al_formula *formula)
{
	struct binder b = {plan, NO_MODULE, item->loops, false, &item->grouping};

	return bind(&b, formula);
}

static void plan_loops(struct al_plan *plan, struct item *item,
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
	add_inputs(plan, &item->grouping, &plan->apart_inputs);
}

static void plan_tensor(struct al_plan *plan, struct item *item,
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

static void plan_module(struct al_plan *plan, struct item *item,
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

static void plan_apart(struct al_plan *plan)
{
	const struct al_family *family = plan->ledger->family;
	struct binder b = {plan, NO_MODULE, NULL, false, &plan->apart_inputs};

	for (size_t i = 0; i < family->n_apart; i++)
		plan->apart[i] = bind(&b, family->apart[i].from);
}

static void plan_items(struct al_plan *plan)
{
	const struct al_family *family = plan->ledger->family;

	plan->n_items = family->n_modules + family->n_tensors;
	plan->items = al_new_array(&plan->arena, struct item, plan->n_items);
	for (size_t i = 0; i < family->n_modules; i++)
		plan_module(plan, &plan->items[i], &family->modules[i]);
	for (size_t i = 0; i < family->n_tensors; i++)
		plan_tensor(plan, &plan->items[family->n_modules + i], &family->tensors[i]);
}

static bool whole(const struct al_plan *plan, const struct al_bound *bound, int64_t least,
	int64_t *out)
{
	return al_bound_whole(bound, plan->places, least, out);
}

/* How many iterations the outermost loop takes within the model. */
static bool count_layers(const struct al_plan *plan, struct item *item)
{
	const struct al_family *family = plan->ledger->family;

	item->n_layers = 0;
	if (item->loops->n == 0)
		return true;
	if (!whole(plan, item->counts[0], 0, &item->n_layers))
		return false;
	for (size_t i = 0; i < family->n_apart; i++)
		if (strcmp(family->apart[i].variable, item->loops->items[0].variable) == 0
			&& plan->apart_from[i] < item->n_layers)
			item->n_layers = plan->apart_from[i];
	return true;
}

static bool find_layers(struct al_plan *plan)
{
	for (size_t i = 0; i < plan->ledger->family->n_apart; i++)
		if (!whole(plan, plan->apart[i], 0, &plan->apart_from[i]))
			return false;
	for (size_t i = 0; i < plan->n_items; i++)
		if (plan->items[i].n > 0 && !count_layers(plan, &plan->items[i]))
			return false;
	return true;
}

/* ---- modules ---- */

static bool has_own_attention(const struct al_ledger *ledger)
{
	return !ledger->ask.configured || ledger->ask.configured->is_models_own;
}

static void plan_modules(struct al_plan *plan)
{
	struct al_ledger *ledger = plan->ledger;
	const struct al_tensor_list *tensor_list = &ledger->tensor_list;

	plan->module_of = al_new_array(&plan->arena, size_t, tensor_list->n_modules);
	plan->of_module = al_new_array(&plan->arena, size_t, ledger->n_modules);
	plan->with = al_new_array(&plan->arena, size_t *, ledger->n_modules);
	for (size_t i = 0; i < tensor_list->n_modules; i++)
		for (size_t m = 0; m < ledger->n_modules; m++) {
			const struct al_model_module *of = ledger->modules[m].of;
			bool is_equal = of == &tensor_list->modules[i]
				|| (!has_own_attention(ledger)
					&& of->module == tensor_list->modules[i].module
					&& of->layer == tensor_list->modules[i].layer
					&& of->apart == tensor_list->modules[i].apart
					&& of->uses == tensor_list->modules[i].uses);
			if (is_equal)
				plan->module_of[i] = m;
		}
	for (size_t m = 0; m < ledger->n_modules; m++) {
		const struct al_configured_variant *configured = &ledger->modules[m].configured;
		plan->of_module[m] = add_place(plan, "", (int)m);
		plan->with[m] = al_new_array(&plan->arena, size_t, configured->n_with);
		for (size_t i = 0; i < configured->n_with; i++) {
			if (!al_block_fixed(ledger->modules[m].block, configured->with[i].symbol))
				continue;
			plan->with[m][i] = place_of(plan, (int)m, configured->with[i].symbol);
			if (strcmp(configured->with[i].symbol, "n_kv_heads") == 0)
				require(plan, (int)m, "mod(n_heads, n_kv_heads) == 0");
		}
	}
}

static void link_settings(struct al_plan *plan, struct al_settings *settings, int module)
{
	struct links *links = &plan->links[plan->n_links++];

	al_settings_forget_defaults(settings);
	links->settings = settings;
	links->items = al_new_array(&plan->arena, struct link, settings->n);
	for (size_t i = 0; i < settings->n; i++)
		links->items[links->n++] = (struct link){i,
			place_of(plan, module, settings->items[i].symbol)};
}

static void plan_links(struct al_plan *plan)
{
	struct al_ledger *ledger = plan->ledger;

	plan->links = al_new_array(&plan->arena, struct links, ledger->n_modules + 1);
	link_settings(plan, &ledger->settings, NO_MODULE);
	for (size_t m = 0; m < ledger->n_modules; m++)
		link_settings(plan, &ledger->modules[m].block->settings, (int)m);
}

/* ---- settings ---- */

/* As `whole`; what the family leaves out is 1. */
static bool whole_or_one(const struct al_plan *plan, const struct al_bound *bound, int64_t *out)
{
	*out = 1;
	return !bound || whole(plan, bound, 0, out);
}

static bool holds(const struct al_plan *plan, const struct condition *c)
{
	int64_t value;

	if (!c->formula.bound)
		return true;
	if (!whole(plan, c->formula.bound, INT64_MIN, &value))
		return false;
	return (c->is_truth ? value != 0 : value) == c->expected;
}

/* Room for a value a layer; more than a config's lists may have is left to the family. */
static bool make_room(struct al_plan *plan, struct derived *d, int64_t length)
{
	struct al_place *place = &plan->places[d->place];

	if (length > MOST_LAYERS)
		return false;
	if ((size_t)length > d->room || !d->list) {
		d->room = 2 * (size_t)length + 1;
		struct al_value *list = al_new_array(&plan->arena, struct al_value, d->room);
		memcpy(list, place->list,
			(place->n_list < d->room ? place->n_list : d->room) * sizeof(*list));
		place->list = d->list = list;
	}
	if (place->n_list != (size_t)length)
		plan->owners[d->place].changed = plan->clock;
	place->n_list = (size_t)length;
	return true;
}

/* One value a layer. */
static bool update_list(struct al_plan *plan, struct derived *d)
{
	int64_t length, *layer = &plan->places[0].number, value;

	if (!whole(plan, d->length, 0, &length) || !make_room(plan, d, length))
		return false;
	for (*layer = 0; *layer < length; ++*layer) {
		if (!whole(plan, d->formula.bound, 0, &value))
			return false;
		if (d->list[*layer].integer != value)
			plan->owners[d->place].changed = plan->clock;
		d->list[*layer].integer = value;
	}
	return true;
}

static bool update_derived(struct al_plan *plan, struct derived *d)
{
	int64_t value;

	if (!is_stale(plan, &d->formula.inputs))
		return true;
	if (d->length)
		return update_list(plan, d);
	if (!plan->places[d->place].is_known)
		return !are_numbers(plan, &d->formula.inputs);
	if (!whole(plan, d->formula.bound, 0, &value))
		return false;
	set_number(plan, d->place, value);
	return true;
}

static bool update_settings(struct al_plan *plan, bool of_modules)
{
	for (size_t i = 0; i < plan->n_derived; i++)
		if ((plan->derived[i].module != NO_MODULE) == of_modules
			&& !update_derived(plan, &plan->derived[i]))
			return false;
	for (size_t i = 0; of_modules && i < plan->n_conditions; i++)
		if (is_stale(plan, &plan->conditions[i].formula.inputs)
			&& !holds(plan, &plan->conditions[i]))
			return false;
	return true;
}

static struct al_value *list_of(const struct al_plan *plan, size_t place)
{
	for (size_t i = 0; i < plan->n_derived; i++)
		if (plan->derived[i].place == place)
			return plan->derived[i].list;
	return NULL;
}

static void write_settings(struct al_plan *plan)
{
	for (size_t i = 0; i < plan->n_links; i++) {
		struct links *links = &plan->links[i];
		al_settings_forget_defaults(links->settings);
		for (size_t j = 0; j < links->n; j++) {
			struct al_setting *s = &links->settings->items[links->items[j].setting];
			const size_t place = links->items[j].place;
			if (plan->owners[place].changed < plan->clock)
				continue;
			s->value.integer = plan->places[place].number;
			if (!s->list)
				continue;
			s->list = list_of(plan, place);
			s->n_list = plan->places[place].n_list;
		}
	}
}

/* ---- groups ---- */

struct copies {
	int64_t all, active;
};

struct walk {
	struct al_plan *plan;
	struct item *item;
	int64_t iteration[AL_FAMILY_LOOPS];
	size_t found; /* groups so far */
};

static void set_iteration(struct al_plan *plan, const int64_t *iteration, size_t n)
{
	for (size_t i = 0; i < n; i++)
		plan->places[i].number = iteration[i];
}

static const char *apart_of(const struct al_plan *plan, const struct item *item,
	const int64_t *iteration)
{
	const struct al_family *family = plan->ledger->family;

	for (size_t i = 0; i < family->n_apart; i++)
		for (size_t j = 0; j < item->loops->n; j++)
			if (strcmp(item->loops->items[j].variable, family->apart[i].variable) == 0
				&& iteration[j] >= plan->apart_from[i])
				return family->apart[i].name;
	return NULL;
}

/* What an iteration makes of the item: its numbers, at the iteration that is set. */
struct group {
	int64_t values[AL_SHAPE_DIMS * 8], count, active, uses, layer;
	const char *apart;
};

static bool evaluate_group(const struct al_plan *plan, const struct item *item, struct group *out)
{
	for (size_t i = 0; i < item->n_values; i++)
		if (!whole(plan, item->values[i], !item->is_module, &out->values[i]))
			return false;
	if (item->is_module)
		return whole_or_one(plan, item->uses, &out->uses);
	if (!whole_or_one(plan, item->count, &out->count))
		return false;
	out->active = out->count;
	return !item->active || whole(plan, item->active, 0, &out->active);
}

static void write_tensor(struct al_model_tensor *t, const struct item *item, const struct group *g)
{
	for (size_t i = 0; i < item->n_values; i++)
		t->dims[i] = g->values[i];
	t->count = g->count;
	t->active = g->active;
}

static void write_module(struct al_plan *plan, size_t i, const struct item *item,
	const struct group *g)
{
	struct al_model_module *of = &plan->ledger->tensor_list.modules[i];
	const size_t m = plan->module_of[i];

	for (size_t j = 0; j < item->n_values; j++) {
		of->with[j].value = g->values[j];
		if (has_own_attention(plan->ledger) && plan->with[m][j])
			set_number(plan, plan->with[m][j], g->values[j]);
	}
	of->uses = g->uses;
}

static void write_group(struct al_plan *plan, const struct item *item, size_t k,
	const struct group *g)
{
	if (item->is_module)
		write_module(plan, item->first + k, item, g);
	else
		write_tensor(&plan->ledger->tensor_list.tensors[item->first + k], item, g);
}

/* Is group k, as it was found in this walk, the same? */
static bool is_group(const struct al_plan *plan, const struct item *item, size_t k,
	const struct group *g)
{
	const struct al_tensor_list *tensor_list = &plan->ledger->tensor_list;

	if (item->is_module) {
		const struct al_model_module *m = &tensor_list->modules[item->first + k];
		for (size_t i = 0; i < item->n_values; i++)
			if (m->with[i].value != g->values[i])
				return false;
		return m->uses == g->uses && m->apart == g->apart && m->layer == g->layer;
	}
	const struct al_model_tensor *t = &tensor_list->tensors[item->first + k];
	for (size_t i = 0; i < item->n_values; i++)
		if (t->dims[i] != g->values[i])
			return false;
	return t->count == g->count && t->active == g->active && t->apart == g->apart
		&& t->layer == g->layer;
}

/* A new group comes in the place of the one that was there: what is counted as apart stays so, and
 * a layer is the same layer. */
static bool begin_group(struct walk *w, const struct group *g)
{
	struct al_tensor_list *tensor_list = &w->plan->ledger->tensor_list;
	const struct item *item = w->item;
	const size_t i = item->first + w->found;

	if (w->found == item->n)
		return false;
	const char *apart = item->is_module ? tensor_list->modules[i].apart
					    : tensor_list->tensors[i].apart;
	int64_t layer = item->is_module ? tensor_list->modules[i].layer
					: tensor_list->tensors[i].layer;
	if (apart != g->apart || layer != g->layer)
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
	const struct item *item = w->item;
	struct group g = {.layer = -1};
	int64_t is_there = 1;
	size_t k = 0;

	set_iteration(plan, w->iteration, item->loops->n);
	if (item->when && !whole(plan, item->when, INT64_MIN, &is_there))
		return false;
	if (!is_there)
		return true;
	if (!evaluate_group(plan, item, &g))
		return false;
	g.apart = apart_of(plan, item, w->iteration);
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
	const struct item *item = w->item;
	int64_t count, active;

	if (w->item->n_steps++ > AL_FAMILY_STEPS)
		return false;
	if (depth == item->loops->n)
		return enter(w, copies);
	assert(depth < AL_FAMILY_LOOPS);
	set_iteration(plan, w->iteration, depth);
	if (!whole(plan, item->counts[depth], 0, &count))
		return false;
	active = count;
	if (item->actives[depth]
		&& (!whole(plan, item->actives[depth], 0, &active) || active > count))
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

/* Walks the loops again: as many groups as before, or it can't. */
static bool regroup(struct al_plan *plan, struct item *item)
{
	struct walk w = {.plan = plan, .item = item};

	item->n_steps = 0;
	return take_iterations(&w, 0, (struct copies){1, 1}) && w.found == item->n;
}

/* Evaluates each group where it was found first. */
static bool update_groups(struct al_plan *plan, struct item *item)
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

static bool update_item(struct al_plan *plan, struct item *item)
{
	const bool is_regrouped = is_stale(plan, &item->grouping);

	if (!is_regrouped && !is_stale(plan, &item->all))
		return true;
	item->changed = plan->clock;
	return (is_regrouped ? regroup(plan, item) && count_layers(plan, item)
			     : update_groups(plan, item));
}

/* Do the loops together take no more iterations than the catalogue allows? */
static bool are_few_steps(const struct al_plan *plan)
{
	int64_t steps = 0;

	for (size_t i = 0; i < plan->n_items; i++)
		steps += plan->items[i].n_steps;
	return steps <= AL_FAMILY_STEPS;
}

static bool update_items(struct al_plan *plan, bool modules)
{
	for (size_t i = 0; i < plan->n_items; i++)
		if (plan->items[i].is_module == modules && !update_item(plan, &plan->items[i]))
			return false;
	return true;
}

/* ---- modules ---- */

static const struct item *item_of(const struct al_plan *plan, const struct al_family_module *module)
{
	return &plan->items[module - plan->ledger->family->modules];
}

/* Copies of the tensor list's modules; those that a variant makes equal work in as many layers. */
static bool update_modules(struct al_plan *plan)
{
	struct al_ledger *ledger = plan->ledger;

	for (size_t m = 0; m < ledger->n_modules; m++) {
		struct al_ledger_module *module = &ledger->modules[m];
		const struct item *item = item_of(plan, module->of->module);
		if (item->changed < plan->clock)
			continue;
		module->copies = 0;
		module->uses = module->of->uses;
		module->n_layers = item->n_layers;
		plan->owners[plan->of_module[m]].changed = plan->clock;
	}
	for (size_t i = 0; i < ledger->tensor_list.n_modules; i++) {
		const struct al_model_module *of = &ledger->tensor_list.modules[i];
		struct al_ledger_module *module = &ledger->modules[plan->module_of[i]];
		if (item_of(plan, of->module)->changed < plan->clock)
			continue;
		module->copies += of->copies;
		if (module->uses != of->uses)
			return false;
	}
	return true;
}

bool al_plan_update(struct al_plan *plan)
{
	plan->clock++;
	if (!update_settings(plan, false))
		return false;
	for (size_t i = 0; i < plan->ledger->family->n_apart; i++)
		if (!whole(plan, plan->apart[i], 0, &plan->apart_from[i]))
			return false;
	if (!update_items(plan, true) || !update_modules(plan) || !update_settings(plan, true)
		|| !update_items(plan, false) || !are_few_steps(plan))
		return false;
	write_settings(plan);
	return true;
}

/* ---- lists ---- */

static void bind_line(struct al_plan *plan, enum al_list list, const struct al_ledger_entry *e,
	struct line *line)
{
	const int module = (int)(e->module - plan->ledger->modules);
	struct binder b = {plan, module, NULL, list == AL_LIST_ABSORBED, &line->inputs};
	const struct al_line_shape shape = al_line_shape_of(e->module->block, list, e->entry);

	for (size_t i = 0; i < shape.n_dims; i++)
		line->dims[i] = bind(&b, shape.dims[i]);
	line->count = bind(&b, shape.count);
	line->active = bind(&b, shape.active);
	if (list >= AL_LIST_PRODUCTS)
		line->inner = bind(&b, e->entry->right.dims[0]);
	add_input(plan, &line->inputs, plan->of_module[module]);
}

/* A line of a module is there where its condition holds. */
static void bind_condition(struct al_plan *plan, enum al_list list, size_t m,
	const struct al_entry *entry)
{
	struct al_ledger_module *module = &plan->ledger->modules[m];
	struct lines *lines = &plan->lists[list];
	struct condition c = {.is_truth = true};
	struct binder b = {plan, (int)m, NULL, list == AL_LIST_ABSORBED, &c.formula.inputs};
	int64_t value;

	if (!entry->when || !al_line_is_wanted(module->block, list, entry))
		return;
	c.formula.bound = bind(&b, entry->when);
	if (!whole(plan, c.formula.bound, INT64_MIN, &value))
		lines->is_bound = false;
	c.expected = value != 0;
	lines->conditions = al_grow(&plan->arena, lines->conditions, lines->n_conditions,
		&lines->room, sizeof(*lines->conditions));
	lines->conditions[lines->n_conditions++] = c;
}

void al_plan_bind_list(struct al_plan *plan, enum al_list list)
{
	const struct al_ledger_list *l = &plan->ledger->lists[list];
	struct lines *lines = &plan->lists[list];

	*lines = (struct lines){.n = l->n, .updated = plan->clock, .is_bound = true};
	lines->items = al_new_array(&plan->arena, struct line, l->n);
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

static bool evaluate_line(const struct al_plan *plan, const struct line *line,
	struct al_ledger_entry *e)
{
	int64_t inner;

	for (size_t i = 0; i < e->n_dims; i++)
		if (!whole(plan, line->dims[i], 1, &e->dims[i]))
			return false;
	if (line->inner && (!whole(plan, line->inner, 1, &inner) || inner != e->dims[1]))
		return false;
	if (!whole_or_one(plan, line->count, &e->count))
		return false;
	e->active_count = e->count;
	return !line->active
		|| (whole(plan, line->active, 0, &e->active_count) && e->active_count <= e->count);
}

static bool update_line(const struct al_plan *plan, enum al_list list, const struct line *line,
	struct al_ledger_entry *e)
{
	const struct al_ledger_module *module = e->module;

	if (!evaluate_line(plan, line, e))
		return false;
	e->times = list > AL_LIST_STORED	? module->copies * module->uses
		: e->entry->per == AL_PER_MODEL ? 1
						: module->copies;
	e->n_layers = module->n_layers;
	al_entry_multiply(e);
	return true;
}

static void update_stored(const struct item *item, struct al_ledger_entry *e)
{
	const struct al_model_tensor *t = e->stored;

	memcpy(e->dims, t->dims, sizeof(t->dims));
	e->count = t->count;
	e->active_count = t->active;
	e->times = t->copies;
	if (item->n_layers)
		e->n_layers = item->n_layers;
	al_entry_multiply_stored(e);
}

bool al_plan_update_list(struct al_plan *plan, enum al_list list)
{
	const struct al_ledger *ledger = plan->ledger;
	struct al_ledger_list *l = &plan->ledger->lists[list];
	struct lines *lines = &plan->lists[list];

	if (!lines->is_bound || lines->n != l->n)
		return false;
	for (size_t i = 0; i < lines->n_conditions; i++)
		if (changed_since(plan, &lines->conditions[i].formula.inputs, lines->updated)
			&& !holds(plan, &lines->conditions[i]))
			return false;
	for (size_t i = 0; i < l->n; i++) {
		struct al_ledger_entry *e = &l->items[i];
		const struct item *item = e->stored
			? &plan->items[ledger->family->n_modules
				+ (size_t)(e->stored->tensor - ledger->family->tensors)]
			: NULL;
		if (item ? item->changed <= lines->updated
			 : !changed_since(plan, &lines->items[i].inputs, lines->updated))
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

/* ---- making one ---- */

struct al_plan *al_plan_create(struct al_ledger *ledger)
{
	struct al_plan *plan;

	if (ledger->ask.tp > 1 || ledger->ask.detail == AL_TENSORS_BY_NAME || ledger->ask.explains)
		return NULL;
	plan = al_calloc(1, sizeof(*plan));
	*plan = (struct al_plan){.ledger = ledger, .clock = 1};
	al_arena_init(&plan->arena);
	for (int i = 0; i <= AL_FAMILY_LOOPS; i++) {
		const size_t place = add_place(plan, "", NO_MODULE);
		plan->places[place] = (struct al_place){.number = 1, .is_known = true};
	}
	plan_settings(plan);
	check_order(plan);
	for (int i = 0; i < AL_N_CONFIG_CONDITIONS; i++)
		require(plan, NO_MODULE, al_config_conditions[i]);
	plan_apart(plan);
	plan_items(plan);
	plan->is_impossible |= !find_layers(plan);
	plan_modules(plan);
	plan_links(plan);
	for (size_t i = 0; i < plan->n_items && !plan->is_impossible; i++)
		plan->is_impossible = !regroup(plan, &plan->items[i]);
	if (!plan->is_impossible)
		return plan;
	al_plan_destroy(plan);
	return NULL;
}

void al_plan_destroy(struct al_plan *plan)
{
	if (!plan)
		return;
	al_arena_finish(&plan->arena);
	free(plan);
}

bool al_plan_set(struct al_plan *plan, const char *symbol, int64_t value)
{
	size_t place;

	if (!find_place(plan, symbol, NO_MODULE, &place) || !plan->owners[place].is_asked)
		return false;
	plan->clock++;
	set_number(plan, place, value);
	plan->clock--;
	return true;
}
