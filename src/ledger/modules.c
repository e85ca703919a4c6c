/* Attention modules of a ledger: equal ones once, and what a tensor-parallel device has of each. */
#include "ledger/ledger.h"

#include "ledger/entries.h"

/* ---- layers ---- */

bool al_ledger_layers(struct al_ledger *ledger, const struct al_loops *loops,
	enum al_component component, int64_t *out, struct al_error *err)
{
	const struct al_family *family = ledger->family;
	struct al_scope scope = al_settings_scope(&ledger->settings);
	int64_t from;

	*out = 0;
	if (loops->n == 0)
		return true;
	if (!al_formula_whole(loops->items[0].count, &scope, 0, out, err))
		return false;
	for (size_t i = 0; al_component_has_extras(component) && i < family->n_extras; i++) {
		if (strcmp(family->extras[i].variable, loops->items[0].variable) != 0)
			continue;
		if (!al_formula_whole(family->extras[i].from, &scope, 0, &from, err))
			return false;
		*out = al_least(from, *out);
	}
	return true;
}

/* ---- what one tensor-parallel device has of a module ---- */

/* Heads are dealt out evenly. */
static bool share_symbol(const struct al_cut *cut, int64_t tp, int64_t *value, struct al_error *err)
{
	const bool is_few = cut->may_be_copied && *value < tp;

	if (!is_few && *value % tp != 0)
		return al_fail(err, AL_EINPUT, "%s (%lld) is not a multiple of tp (%lld)",
			cut->symbol, (long long)*value, (long long)tp);
	*value = al_divide_up(*value, tp);
	return true;
}

static void set_binding(struct al_configured_variant *configured, const char *symbol, int64_t value)
{
	for (size_t i = 0; i < configured->n_with; i++)
		if (strcmp(configured->with[i].symbol, symbol) == 0) {
			configured->with[i].value = value;
			return;
		}
	configured->with[configured->n_with++] = (struct al_binding){.symbol = symbol,
		.value = value};
}

/* A width that is derived from numbers of the whole module stays; what is another symbol by default
 * follows it. */
static void keep_defaults(struct al_settings *settings, const struct al_symbol *symbols, size_t n,
	struct al_configured_variant *configured)
{
	const struct al_setting *setting;

	for (size_t i = 0; i < n; i++)
		if (symbols[i].fallback
			&& !al_symbol_is_name(al_formula_source(symbols[i].fallback))
			&& al_settings_get(settings, symbols[i].name, &setting, NULL) && setting)
			set_binding(configured, symbols[i].name, setting->value.integer);
}

/* A device's part of a module is the same variant with its share of what the file cuts. */
static bool share_heads(struct al_ledger *ledger, struct al_ledger_module *module,
	struct al_error *err)
{
	struct al_configured_variant *configured = &module->device_configured;
	const struct al_variant *variant = module->configured.variant;
	struct al_settings *settings = &module->block->settings;
	const struct al_setting *setting;

	*configured = module->configured;
	configured->with = al_new_array(&ledger->tensor_list.arena, struct al_binding,
		configured->n_with + settings->n_symbols + variant->n_defaults + variant->n_cuts);
	for (size_t i = 0; i < configured->n_with; i++)
		configured->with[i] = module->configured.with[i];
	keep_defaults(settings, settings->symbols, settings->n_symbols, configured);
	keep_defaults(settings, variant->defaults, variant->n_defaults, configured);
	for (size_t i = 0; i < variant->n_cuts; i++) {
		const struct al_cut *cut = &variant->cuts[i];
		if (!al_settings_get(settings, cut->symbol, &setting, NULL) || !setting)
			continue;
		int64_t value = setting->value.integer;
		if (!share_symbol(cut, ledger->ask.tp, &value, err))
			return false;
		set_binding(configured, cut->symbol, value);
	}
	return true;
}

/* An engine may have a variant whole on every device. */
static bool is_cut(const struct al_ledger *ledger, const struct al_variant *variant)
{
	const struct al_engine_choice *choice = ledger->ask.engine;

	return ledger->ask.tp > 1 && variant->n_cuts > 0
		&& (!choice
			|| al_find_name(variant->name, choice->engine->whole.items,
				   choice->engine->whole.n)
				< 0);
}

static bool open_device(struct al_ledger *ledger, struct al_ledger_module *module,
	struct al_error *err)
{
	struct al_block *device;

	module->device = module->block;
	if (!is_cut(ledger, module->configured.variant))
		return true;
	device = al_new(&ledger->tensor_list.arena, struct al_block);
	if (!module->sees_text && !module->extra && !share_heads(ledger, module, NULL))
		return true; /* a tower whose heads can't be dealt out is on each device */
	if (!share_heads(ledger, module, err)
		|| !al_block_init(device, &module->device_configured, &ledger->settings,
			&ledger->basis, err))
		return false;
	module->device = device;
	return true;
}

const char *al_ledger_uncut(const struct al_ledger *ledger)
{
	for (size_t i = 0; ledger->ask.tp > 1 && i < ledger->n_modules; i++) {
		const struct al_configured_variant *configured = &ledger->modules[i].configured;
		if (ledger->modules[i].sees_text && !configured->variant->declares_cuts)
			return configured->variant->name;
	}
	return NULL;
}

/* ---- modules ---- */

/* A variant in place of all attention leaves towers alone. */
static const struct al_configured_variant *configured_of(const struct al_ledger *ledger,
	const struct al_model_item *of)
{
	const struct al_configured_variant *configured = ledger->ask.configured;

	return configured && !configured->is_models_own
			&& of->module->component == AL_COMPONENT_TEXT
		? configured
		: NULL;
}

/* A variant in place of all makes modules equal that weren't. */
static struct al_ledger_module *find_equal(const struct al_ledger *ledger,
	const struct al_model_item *of, const struct al_configured_variant *configured)
{
	for (size_t i = 0; configured && i < ledger->n_modules; i++) {
		struct al_ledger_module *module = &ledger->modules[i];
		if (module->layer == of->layer && module->extra == of->extra
			&& module->uses == of->uses && module->of->module == of->module
			&& module->configured.with == configured->with)
			return module;
	}
	return NULL;
}

/* `configured` NULL: the model's own. */
static bool open_module(struct al_ledger *ledger, const struct al_model_item *of,
	const struct al_configured_variant *configured, struct al_error *err)
{
	struct al_ledger_module *out = &ledger->modules[ledger->n_modules];
	const enum al_component component = of->extra ? AL_COMPONENT_MTP : of->module->component;
	const bool is_tower = of->module->component != AL_COMPONENT_TEXT;

	*out = (struct al_ledger_module){.name = of->module->name,
		.of = of,
		.uses = of->uses,
		.layer = is_tower ? -1 : of->layer,
		.extra = of->extra,
		.component = component,
		.sees_text = component == AL_COMPONENT_TEXT,
		.is_cross = of->module->is_cross,
		.is_encoder = of->module->stack == AL_STACK_ENCODER};
	out->configured = configured ? *configured
				     : (struct al_configured_variant){.variant = of->variant,
					     .name = of->variant->name,
					     .with = of->with,
					     .n_with = of->n_with,
					     .is_models_own = true};
	struct al_block *block = al_new(&ledger->tensor_list.arena, struct al_block);
	if (!al_ledger_layers(ledger, &of->module->loops, of->module->component, &out->n_layers,
		    err)
		|| !al_block_init(block, &out->configured, &ledger->settings, &ledger->basis, err))
		return false;
	if (is_tower)
		out->n_layers = 0;
	out->block = block;
	ledger->n_modules++;
	return open_device(ledger, out, err);
}

static bool add_copies(struct al_ledger *ledger, const struct al_model_item *of, int64_t copies,
	const struct al_configured_variant *configured, struct al_error *err)
{
	struct al_ledger_module *module = find_equal(ledger, of, configured);

	if (copies == 0)
		return true;
	if (!module && !open_module(ledger, of, configured, err))
		return false;
	if (!module)
		module = &ledger->modules[ledger->n_modules - 1];
	module->copies += copies;
	return true;
}

/* ---- options that some layers have ---- */

/* Of the first `n` layers, how many have the option. */
static int64_t n_with_option(const struct al_configured_variant *configured, int64_t n)
{
	const int64_t rest = n % configured->n_of;

	return n / configured->n_of * configured->n_on + al_least(rest, configured->n_on);
}

/* The variant of the layers that don't have it. */
static const struct al_configured_variant *without_option(struct al_ledger *ledger)
{
	const struct al_configured_variant *configured = ledger->ask.configured;
	struct al_configured_variant *out = al_new(&ledger->tensor_list.arena,
		struct al_configured_variant);

	*out = *configured;
	out->with = al_new_array(&ledger->tensor_list.arena, struct al_binding, configured->n_with);
	for (size_t i = 0; i < configured->n_with; i++)
		out->with[i] = configured->with[i];
	set_binding(out, configured->alternating, 0);
	return out;
}

/* `without` NULL: all layers are alike; `n` counts those that came before. */
static bool add_module(struct al_ledger *ledger, const struct al_model_item *of,
	const struct al_configured_variant *without, int64_t *n, struct al_error *err)
{
	const struct al_configured_variant *configured = configured_of(ledger, of);

	if (!configured || !without)
		return add_copies(ledger, of, of->copies, configured, err);
	if (of->uses > 1)
		return al_fail(err, AL_EINPUT,
			"variant %s: layers that share a module can't differ in %s",
			configured->name, configured->alternating);
	const int64_t with = n_with_option(configured, *n + of->copies)
		- n_with_option(configured, *n);
	*n += of->copies;
	return add_copies(ledger, of, with, configured, err)
		&& add_copies(ledger, of, of->copies - with, without, err);
}

bool al_ledger_open_modules(struct al_ledger *ledger, struct al_error *err)
{
	const struct al_tensor_list *tensor_list = &ledger->tensor_list;
	const struct al_configured_variant *configured = ledger->ask.configured, *without = NULL;
	int64_t n = 0;

	if (configured && configured->alternating)
		without = without_option(ledger);
	ledger->modules = al_new_array(&ledger->tensor_list.arena, struct al_ledger_module,
		tensor_list->n_modules * (without ? 2 : 1));
	for (size_t i = 0; i < tensor_list->n_modules; i++)
		if (!add_module(ledger, &tensor_list->modules[i], without, &n, err))
			return al_in(err, "%s", tensor_list->modules[i].name);
	return true;
}

void al_ledger_open_alone(struct al_ledger *ledger)
{
	struct al_ledger_module *module = al_new(&ledger->arena, struct al_ledger_module);

	*module = (struct al_ledger_module){.configured = *ledger->ask.configured,
		.block = &ledger->block,
		.device = &ledger->block,
		.copies = 1,
		.uses = 1,
		.layer = -1,
		.sees_text = true};
	ledger->modules = module;
	ledger->n_modules = 1;
}

void al_ledger_close_modules(struct al_ledger *ledger)
{
	for (size_t i = 0; i < ledger->n_modules; i++) {
		struct al_ledger_module *module = &ledger->modules[i];
		if (module->device != module->block)
			al_block_finish(module->device);
		if (module->of)
			al_block_finish(module->block);
	}
	ledger->n_modules = 0;
	al_tensor_list_finish(&ledger->tensor_list);
}
