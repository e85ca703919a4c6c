/* A plan: how an open ledger follows what is set. It is made of places (plan_places.c), groups
 * (plan_groups.c) and lists (plan_lists.c), which an update goes through in this order. */
#include "ledger/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ledger/plan_parts.h"

/* ---- modules ---- */

bool al_plan_has_own_attention(const struct al_ledger *ledger)
{
	return !ledger->ask.configured || ledger->ask.configured->is_models_own;
}

static bool is_tower(const struct al_ledger_module *module)
{
	return !module->sees_text && !module->extra;
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
				|| (!al_plan_has_own_attention(ledger)
					&& !is_tower(&ledger->modules[m])
					&& of->module == tensor_list->modules[i].module
					&& of->layer == tensor_list->modules[i].layer
					&& of->extra == tensor_list->modules[i].extra
					&& of->uses == tensor_list->modules[i].uses);
			if (is_equal)
				plan->module_of[i] = m;
		}
	for (size_t m = 0; m < ledger->n_modules; m++) {
		const struct al_configured_variant *configured = &ledger->modules[m].configured;
		plan->of_module[m] = al_plan_add_place(plan, "", (int)m);
		plan->with[m] = al_new_array(&plan->arena, size_t, configured->n_with);
		for (size_t i = 0; i < configured->n_with; i++) {
			if (!al_block_fixed(ledger->modules[m].block, configured->with[i].symbol))
				continue;
			plan->with[m][i] = al_plan_place_of(plan, (int)m,
				configured->with[i].symbol);
			if (strcmp(configured->with[i].symbol, "n_kv_heads") == 0)
				al_plan_require(plan, (int)m, "mod(n_heads, n_kv_heads) == 0");
		}
	}
}

static const struct al_plan_item *item_of(const struct al_plan *plan,
	const struct al_family_module *module)
{
	return &plan->items[module - plan->ledger->family->modules];
}

/* Copies of the tensor list's modules; those that a variant makes equal work in as many layers. */
static bool update_modules(struct al_plan *plan)
{
	struct al_ledger *ledger = plan->ledger;

	for (size_t m = 0; m < ledger->n_modules; m++) {
		struct al_ledger_module *module = &ledger->modules[m];
		const struct al_plan_item *item = item_of(plan, module->of->module);
		if (item->changed < plan->clock)
			continue;
		module->copies = 0;
		module->uses = module->of->uses;
		module->n_layers = is_tower(module) ? 0 : item->n_layers;
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

/* A module alone has the question's symbols for its own. */
static void plan_alone(struct al_plan *plan)
{
	const struct al_settings *settings = &plan->ledger->block.settings;

	plan->of_module = al_new_array(&plan->arena, size_t, 1);
	plan->of_module[0] = al_plan_add_place(plan, "", 0);
	for (size_t i = 0; i < settings->n; i++) {
		if (settings->items[i].is_default)
			continue;
		const size_t place = al_plan_place_of(plan, 0, settings->items[i].symbol);
		plan->owners[place].is_asked = true;
	}
}

/* ---- update ---- */

static bool update_model(struct al_plan *plan)
{
	if (!al_plan_update_settings(plan, false))
		return false;
	for (size_t i = 0; i < plan->ledger->family->n_extras; i++) {
		plan->extra_was[i] = plan->extra_from[i];
		if (!al_plan_whole(plan, plan->extras[i], 0, &plan->extra_from[i]))
			return false;
	}
	if (!al_plan_update_items(plan, true) || !update_modules(plan)
		|| !al_plan_update_settings(plan, true) || !al_plan_update_items(plan, false)
		|| !al_plan_are_few_steps(plan))
		return false;
	al_plan_write_settings(plan);
	return true;
}

bool al_plan_update(struct al_plan *plan)
{
	plan->clock++;
	return plan->ledger->is_model ? update_model(plan) : al_plan_update_settings(plan, true);
}

/* ---- making one ---- */

static void plan_model(struct al_plan *plan)
{
	struct al_ledger *ledger = plan->ledger;

	al_plan_settings(plan);
	al_plan_check_order(plan);
	for (int i = 0; i < AL_N_CONFIG_CONDITIONS; i++)
		if (al_config_must_hold(&al_config_conditions[i], &ledger->settings))
			al_plan_require(plan, AL_PLAN_NO_MODULE, al_config_conditions[i].formula);
	al_plan_extras(plan);
	al_plan_items(plan);
	plan->is_impossible |= !al_plan_find_layers(plan);
	plan_modules(plan);
	al_plan_link_settings(plan);
	for (size_t i = 0; i < plan->n_items && !plan->is_impossible; i++)
		plan->is_impossible = !al_plan_regroup(plan, &plan->items[i], 0);
}

struct al_plan *al_plan_create(struct al_ledger *ledger)
{
	struct al_plan *plan;

	if (ledger->ask.tp > 1 || ledger->ask.detail == AL_TENSORS_BY_NAME || ledger->ask.explains)
		return NULL;
	plan = al_calloc(1, sizeof(*plan));
	*plan = (struct al_plan){.ledger = ledger, .clock = 1};
	al_arena_init(&plan->arena);
	for (int i = 0; i <= AL_FAMILY_LOOPS; i++) {
		const size_t place = al_plan_add_place(plan, "", AL_PLAN_NO_MODULE);
		plan->places[place] = (struct al_place){.number = 1, .is_known = true};
	}
	(ledger->is_model ? plan_model : plan_alone)(plan);
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
	const int module = plan->ledger->is_model ? AL_PLAN_NO_MODULE : 0;
	size_t place;

	if (!al_plan_find_place(plan, symbol, module, &place) || !plan->owners[place].is_asked)
		return false;
	plan->clock++;
	al_plan_set_number(plan, place, value);
	plan->clock--;
	return true;
}
