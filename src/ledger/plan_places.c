/* Places: where the value of each symbol of a ledger stands. Formulas are bound to places once;
 * when a symbol is set, what a config or a default derives from it is computed again in its
 * place. */
#include "ledger/plan_parts.h"

#include <string.h>

#include "base/text.h"

enum { MOST_LAYERS = 4096 };

/* ---- places ---- */

size_t al_plan_add_place(struct al_plan *plan, const char *symbol, int module)
{
	plan->places = al_grow(&plan->arena, plan->places, plan->n_places, &plan->places_room,
		sizeof(*plan->places));
	plan->owners = al_grow(&plan->arena, plan->owners, plan->n_places, &plan->owners_room,
		sizeof(*plan->owners));
	plan->places[plan->n_places] = (struct al_place){0};
	plan->owners[plan->n_places] = (struct al_plan_owner){.symbol = symbol, .module = module};
	return plan->n_places++;
}

bool al_plan_find_place(const struct al_plan *plan, const char *symbol, int module, size_t *out)
{
	for (*out = AL_FAMILY_LOOPS; *out < plan->n_places; ++*out)
		if (plan->owners[*out].module == module
			&& strcmp(plan->owners[*out].symbol, symbol) == 0)
			return true;
	return false;
}

void al_plan_add_input(struct al_plan *plan, struct al_plan_inputs *inputs, size_t place)
{
	for (size_t i = 0; i < inputs->n; i++)
		if (inputs->items[i] == place)
			return;
	inputs->items = al_grow(&plan->arena, inputs->items, inputs->n, &inputs->room,
		sizeof(*inputs->items));
	inputs->items[inputs->n++] = place;
}

bool al_plan_changed_since(const struct al_plan *plan, const struct al_plan_inputs *inputs,
	uint64_t since)
{
	for (size_t i = 0; i < inputs->n; i++)
		if (plan->owners[inputs->items[i]].changed > since)
			return true;
	return false;
}

bool al_plan_is_stale(const struct al_plan *plan, const struct al_plan_inputs *inputs)
{
	return al_plan_changed_since(plan, inputs, plan->clock - 1);
}

void al_plan_note_change(struct al_plan *plan, size_t place, int64_t first)
{
	struct al_plan_owner *owner = &plan->owners[place];

	if (owner->changed != plan->clock || first < owner->first)
		owner->first = first;
	owner->changed = plan->clock;
}

void al_plan_set_number(struct al_plan *plan, size_t place, int64_t value)
{
	struct al_place *p = &plan->places[place];

	if (p->is_known && p->number == value)
		return;
	al_plan_note_change(plan, place, p->is_known && p->number < value ? p->number : value);
	*p = (struct al_place){.number = value, .is_known = true};
}

/* ---- binding ---- */

static size_t find_for_binding(void *context, const char *symbol)
{
	struct al_plan_binder *b = context;

	for (size_t i = 0; b->loops && i < b->loops->n; i++)
		if (strcmp(b->loops->items[i].variable, symbol) == 0)
			return i;
	size_t place = b->is_absorbed && strcmp(symbol, "absorbed") == 0
		? AL_FAMILY_LOOPS
		: al_plan_place_of(b->plan, b->module, symbol);
	al_plan_add_input(b->plan, b->inputs, place);
	return place;
}

const struct al_bound *al_plan_bind(struct al_plan_binder *b, const struct al_formula *formula)
{
	return formula ? al_formula_bind(&b->plan->arena, formula, find_for_binding, b) : NULL;
}

static void add_condition(struct al_plan *plan, const struct al_plan_condition *condition)
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
	struct al_plan_derived derived = {.place = place, .module = module};
	struct al_plan_binder b = {plan, module, length ? &layers : NULL, false,
		&derived.formula.inputs};

	derived.formula.bound = al_plan_bind(&b, formula);
	b.inputs = &derived.length.inputs;
	derived.length.bound = al_plan_bind(&b, length);
	plan->derived = al_grow(&plan->arena, plan->derived, plan->n_derived, &plan->derived_room,
		sizeof(*plan->derived));
	plan->derived[plan->n_derived++] = derived;
}

/* A default of a symbol that nobody gives, as the module sees it. */
static size_t place_of_default(struct al_plan *plan, int module, const char *symbol)
{
	const struct al_formula *fallback = standard_default(plan, symbol);
	struct al_settings *mutable = module == AL_PLAN_NO_MODULE
		? &plan->ledger->settings
		: &plan->ledger->modules[module].block->settings;
	const struct al_setting *value;
	size_t place = al_plan_add_place(plan, symbol, module);

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

size_t al_plan_place_of(struct al_plan *plan, int module, const char *symbol)
{
	const struct al_settings *settings = module == AL_PLAN_NO_MODULE
		? &plan->ledger->settings
		: &plan->ledger->modules[module].block->settings;
	size_t place;

	if (module != AL_PLAN_NO_MODULE && !is_of_module(plan, module, symbol))
		return al_plan_place_of(plan, AL_PLAN_NO_MODULE, symbol);
	if (al_plan_find_place(plan, symbol, module, &place))
		return place;
	const struct al_setting *setting = find_setting(settings, symbol);
	if (!setting)
		return place_of_default(plan, module, symbol);
	place = al_plan_add_place(plan, setting->symbol, module);
	copy_value(&plan->places[place], setting);
	plan->owners[place].is_asked = module == AL_PLAN_NO_MODULE && setting->is_asked;
	return place;
}

void al_plan_settings(struct al_plan *plan)
{
	const struct al_settings *settings = &plan->ledger->settings;

	for (size_t i = 0; i < settings->n; i++) {
		const struct al_setting *s = &settings->items[i];
		size_t place = al_plan_place_of(plan, AL_PLAN_NO_MODULE, s->symbol);
		if (s->formula && !s->is_asked)
			add_derived(plan, place, AL_PLAN_NO_MODULE, s->formula, s->length);
		else if (s->length && !s->is_asked) {
			struct al_plan_condition c = {.expected = (int64_t)s->n_list};
			struct al_plan_binder b = {plan, AL_PLAN_NO_MODULE, NULL, false,
				&c.formula.inputs};
			c.formula.bound = al_plan_bind(&b, s->length);
			add_condition(plan, &c);
		}
	}
}

static bool mentions_place(const struct al_plan_formula *formula, size_t place)
{
	for (size_t i = 0; i < formula->inputs.n; i++)
		if (formula->inputs.items[i] == place)
			return true;
	return false;
}

void al_plan_check_order(struct al_plan *plan)
{
	for (size_t i = 0; i < plan->n_derived; i++)
		for (size_t j = i; j < plan->n_derived; j++)
			plan->is_impossible |= mentions_place(&plan->derived[i].formula,
						       plan->derived[j].place)
				|| mentions_place(&plan->derived[i].length, plan->derived[j].place);
}

/* Conditions hold of numbers that are known. */
static bool are_numbers(const struct al_plan *plan, const struct al_plan_inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++) {
		const struct al_place *place = &plan->places[inputs->items[i]];
		if (!place->is_known || place->list || place->word)
			return false;
	}
	return true;
}

void al_plan_require(struct al_plan *plan, int module, const char *text)
{
	struct al_plan_condition c = {.is_truth = true, .expected = 1};
	struct al_plan_binder b = {plan, module, NULL, false, &c.formula.inputs};
	const struct al_formula *formula;

	if (!al_formula_parse(&plan->arena, text, AL_DIALECT_CATALOG, &formula, NULL))
		return;
	c.formula.bound = al_plan_bind(&b, formula);
	if (are_numbers(plan, &c.formula.inputs))
		add_condition(plan, &c);
}

/* ---- binding ---- */

bool al_plan_whole(const struct al_plan *plan, const struct al_bound *bound, int64_t least,
	int64_t *out)
{
	return al_bound_whole(bound, plan->places, least, out);
}

/* ---- settings ---- */

static void link_settings(struct al_plan *plan, struct al_settings *settings, int module)
{
	struct al_plan_links *links = &plan->links[plan->n_links++];

	al_settings_forget_defaults(settings);
	links->settings = settings;
	links->items = al_new_array(&plan->arena, struct al_plan_link, settings->n);
	for (size_t i = 0; i < settings->n; i++)
		links->items[links->n++] = (struct al_plan_link){i,
			al_plan_place_of(plan, module, settings->items[i].symbol)};
}

void al_plan_link_settings(struct al_plan *plan)
{
	struct al_ledger *ledger = plan->ledger;

	plan->links = al_new_array(&plan->arena, struct al_plan_links, ledger->n_modules + 1);
	link_settings(plan, &ledger->settings, AL_PLAN_NO_MODULE);
	for (size_t m = 0; m < ledger->n_modules; m++)
		link_settings(plan, &ledger->modules[m].block->settings, (int)m);
}

/* ---- binding ---- */

bool al_plan_whole_or_one(const struct al_plan *plan, const struct al_bound *bound, int64_t *out)
{
	*out = 1;
	return !bound || al_plan_whole(plan, bound, 0, out);
}

/* ---- settings ---- */

bool al_plan_holds(const struct al_plan *plan, const struct al_plan_condition *c)
{
	int64_t value;

	if (!c->formula.bound)
		return true;
	if (!al_plan_whole(plan, c->formula.bound, INT64_MIN, &value))
		return false;
	return (c->is_truth ? value != 0 : value) == c->expected;
}

/* Room for a value a layer; more than a config's lists may have is left to the family. */
static bool make_room(struct al_plan *plan, struct al_plan_derived *d, int64_t length)
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
	return true;
}

/* One value a layer; where only the number of layers changed, the others stay. */
static bool update_list(struct al_plan *plan, struct al_plan_derived *d)
{
	struct al_place *list = &plan->places[d->place];
	const size_t before = list->n_list;
	int64_t length, *layer = &plan->places[0].number, value;

	if (!al_plan_whole(plan, d->length.bound, 0, &length) || !make_room(plan, d, length))
		return false;
	const size_t shorter = before < (size_t)length ? before : (size_t)length;
	list->n_list = (size_t)length;
	*layer = al_plan_is_stale(plan, &d->formula.inputs) ? 0 : (int64_t)shorter;
	for (; *layer < length; ++*layer) {
		if (!al_plan_whole(plan, d->formula.bound, 0, &value))
			return false;
		if ((size_t)*layer < before && d->list[*layer].integer != value)
			al_plan_note_change(plan, d->place, *layer);
		d->list[*layer].integer = value;
	}
	if (before != (size_t)length)
		al_plan_note_change(plan, d->place, (int64_t)shorter);
	return true;
}

static bool update_derived(struct al_plan *plan, struct al_plan_derived *d)
{
	int64_t value;

	if (!al_plan_is_stale(plan, &d->formula.inputs)
		&& !al_plan_is_stale(plan, &d->length.inputs))
		return true;
	if (d->length.bound)
		return update_list(plan, d);
	if (!plan->places[d->place].is_known)
		return !are_numbers(plan, &d->formula.inputs);
	if (!al_plan_whole(plan, d->formula.bound, 0, &value))
		return false;
	al_plan_set_number(plan, d->place, value);
	return true;
}

bool al_plan_update_settings(struct al_plan *plan, bool of_modules)
{
	for (size_t i = 0; i < plan->n_derived; i++)
		if ((plan->derived[i].module != AL_PLAN_NO_MODULE) == of_modules
			&& !update_derived(plan, &plan->derived[i]))
			return false;
	for (size_t i = 0; of_modules && i < plan->n_conditions; i++)
		if (al_plan_is_stale(plan, &plan->conditions[i].formula.inputs)
			&& !al_plan_holds(plan, &plan->conditions[i]))
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

void al_plan_write_settings(struct al_plan *plan)
{
	for (size_t i = 0; i < plan->n_links; i++) {
		struct al_plan_links *links = &plan->links[i];
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
