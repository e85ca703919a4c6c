/* A model's tensor list: a family's modules and tensors under the settings of one config. */
#include "catalog/tensor_list.h"

#include <assert.h>

struct run {
	struct al_tensor_list *list;
	struct al_catalog *catalog;
	struct al_settings *settings;
	const struct al_family *family;
	int64_t extra_from
		[AL_FAMILY_EXTRAS]; /* of each of what the family calls not part of the model */
	enum al_tensor_list_detail detail;
};

/* The number of iterations that a walk represents after it passed loops without taking them. */
struct copies {
	int64_t all, active;
};

/* One item of the family: what its loops are, what depends on them, and what an iteration does. */
struct item {
	const struct al_loops *loops;
	const char *name;
	bool is_walked[AL_FAMILY_LOOPS]; /* the others only multiply */
	const struct al_family_tensor *tensor;
	const struct al_family_module *module;
	const struct al_variant *variant; /* of the module */
};

/* ---- what an iteration is ---- */

static bool formulas_mention(const struct al_formula *const *formulas, size_t n,
	const char *variable)
{
	for (size_t i = 0; i < n; i++)
		if (al_formula_mentions(formulas[i], variable))
			return true;
	return false;
}

static bool tensor_mentions(const struct al_family_tensor *tensor, const char *variable)
{
	const struct al_formula *formulas[AL_ENTRY_FORMULAS];

	return formulas_mention(formulas, al_entry_formulas(&tensor->entry, formulas), variable);
}

static bool module_mentions(const struct al_family_module *module, const char *variable)
{
	for (size_t i = 0; i < module->n_set; i++)
		if (al_formula_mentions(module->set[i].value, variable))
			return true;
	return al_formula_mentions(module->when, variable)
		|| al_formula_mentions(module->uses, variable);
}

/* Does anything of the item depend on the variable of a loop, in other loops or as what isn't part
 * of the model? */
static bool is_used(const struct run *run, const struct item *item, const char *variable)
{
	for (size_t i = 0; i < run->family->n_extras; i++)
		if (strcmp(run->family->extras[i].variable, variable) == 0)
			return true;
	for (size_t i = 0; i < item->loops->n; i++)
		if (al_formula_mentions(item->loops->items[i].count, variable)
			|| al_formula_mentions(item->loops->items[i].active, variable))
			return true;
	return item->tensor ? tensor_mentions(item->tensor, variable)
			    : module_mentions(item->module, variable);
}

static void find_walked(const struct run *run, struct item *item)
{
	for (size_t i = 0; i < item->loops->n; i++)
		item->is_walked[i] = run->detail == AL_TENSORS_BY_NAME
			|| (run->detail == AL_TENSORS_BY_LAYER && i == 0)
			|| is_used(run, item, item->loops->items[i].variable);
}

bool al_component_has_extras(enum al_component component)
{
	return component != AL_COMPONENT_VISION && component != AL_COMPONENT_AUDIO;
}

/* The part that the iteration counts as; NULL: part of the model. */
static const char *extra_of(const struct run *run, const struct item *item,
	const struct al_iteration *iteration)
{
	const enum al_component component = item->tensor ? item->tensor->component
							 : item->module->component;

	if (!al_component_has_extras(component))
		return NULL;
	for (size_t i = 0; i < run->family->n_extras; i++) {
		const struct al_extra *extra = &run->family->extras[i];
		int index = al_find_name(extra->variable, iteration->variables, iteration->n);
		if (index >= 0 && iteration->values[index] >= run->extra_from[i])
			return extra->name;
	}
	return NULL;
}

static int64_t layer_of(const struct run *run, const struct al_iteration *iteration)
{
	return run->detail == AL_TENSORS_BY_LAYER && iteration->n > 0 ? iteration->values[0] : -1;
}

/* ---- evaluation ---- */

static bool evaluate_tensor(const struct al_scope *scope, struct al_model_item *out,
	struct al_error *err)
{
	const struct al_entry *entry = &out->tensor->entry;

	out->n_dims = entry->shape.n_dims;
	for (size_t i = 0; i < out->n_dims; i++)
		if (!al_formula_whole(entry->shape.dims[i], scope, 1, &out->dims[i], err))
			return false;
	out->count = 1;
	if (entry->count && !al_formula_whole(entry->count, scope, 0, &out->count, err))
		return false;
	out->active = out->count;
	return !entry->active || al_formula_whole(entry->active, scope, 0, &out->active, err);
}

static bool evaluate_module(const struct run *run, const struct al_scope *scope,
	struct al_model_item *out, struct al_error *err)
{
	const struct al_family_module *module = out->module;

	out->uses = 1;
	if (module->uses && !al_formula_whole(module->uses, scope, 0, &out->uses, err))
		return false;
	out->with = al_new_array(&run->list->arena, struct al_binding, module->n_set);
	for (size_t i = 0; i < module->n_set; i++) {
		struct al_binding *binding = &out->with[out->n_with++];
		binding->symbol = module->set[i].symbol;
		if (!al_formula_whole(module->set[i].value, scope, 0, &binding->value, err))
			return false;
	}
	return true;
}

/* ---- lists ---- */

/* Layers come in a few kinds; a family where each is its own isn't searched all over for each. */
enum { MOST_KINDS = 64 };

static bool is_equal(const struct al_model_item *a, const struct al_model_item *b)
{
	if (a->tensor != b->tensor || a->module != b->module || a->extra != b->extra
		|| a->layer != b->layer || a->count != b->count || a->active != b->active
		|| a->uses != b->uses || memcmp(a->dims, b->dims, sizeof(a->dims)) != 0)
		return false;
	for (size_t i = 0; i < a->n_with; i++)
		if (a->with[i].value != b->with[i].value)
			return false;
	return true;
}

static struct al_model_item *find_equal(struct al_model_item *items, size_t n,
	const struct al_model_item *item)
{
	for (size_t i = n > MOST_KINDS ? n - MOST_KINDS : 0; i < n; i++)
		if (is_equal(&items[i], item))
			return &items[i];
	return NULL;
}

static bool add(const struct run *run, struct al_model_item **items, size_t *n, size_t *room,
	const struct al_model_item *item, struct al_error *err)
{
	struct al_model_item *equal = run->detail == AL_TENSORS_BY_NAME
		? NULL
		: find_equal(*items, *n, item);

	if (!equal) {
		*AL_APPEND(&run->list->arena, *items, *n, *room) = *item;
		return true;
	}
	if (__builtin_add_overflow(equal->copies, item->copies, &equal->copies))
		return al_fail(err, AL_EINPUT, "the loops make more than 2^63 copies");
	equal->active_copies += item->active_copies;
	return true;
}

/* ---- loops ---- */

static bool enter(const struct run *run, const struct item *item, struct al_iteration *iteration,
	struct copies copies, struct al_error *err)
{
	const struct al_formula *when = item->tensor ? item->tensor->entry.when
						     : item->module->when;
	struct al_tensor_list *list = run->list;
	struct al_scope scope = al_iteration_scope(iteration);
	struct al_model_item out = {.tensor = item->tensor,
		.module = item->module,
		.variant = item->variant,
		.name = item->name,
		.copies = copies.all,
		.active_copies = copies.active,
		.layer = layer_of(run, iteration),
		.extra = extra_of(run, item, iteration)};
	bool is_there = true;

	if (when && !al_formula_holds(when, &scope, &is_there, err))
		return false;
	if (!is_there)
		return true;
	if (item->tensor ? !evaluate_tensor(&scope, &out, err)
			 : !evaluate_module(run, &scope, &out, err))
		return false;
	memcpy(out.iteration, iteration->values, sizeof(out.iteration));
	if (run->detail == AL_TENSORS_BY_NAME)
		out.name = al_iteration_name(iteration, &list->arena, item->name);
	return item->tensor
		? add(run, &list->tensors, &list->n_tensors, &list->tensors_room, &out, err)
		: add(run, &list->modules, &list->n_modules, &list->modules_room, &out, err);
}

static bool count_iterations(const struct al_loop *loop, const struct al_scope *scope,
	int64_t *count, int64_t *active, struct al_error *err)
{
	if (!al_formula_whole(loop->count, scope, 0, count, err))
		return false;
	*active = *count;
	if (!loop->active)
		return true;
	return al_formula_whole(loop->active, scope, 0, active, err)
		&& (*active <= *count
			|| al_fail(err, AL_EINPUT,
				"%s = %lld are active, expected at most %s = %lld",
				al_formula_source(loop->active), (long long)*active,
				al_formula_source(loop->count), (long long)*count));
}

static bool multiply_copies(const struct al_loop *loop, int64_t count, int64_t active,
	struct copies *copies, struct al_error *err)
{
	if (__builtin_mul_overflow(copies->all, count, &copies->all))
		return al_fail(err, AL_EINPUT, "%s = %lld is too many",
			al_formula_source(loop->count), (long long)count);
	copies->active *= active;
	return true;
}

/* The loops from `depth` inwards. */
static bool walk(const struct run *run, const struct item *item, size_t depth,
	struct al_iteration *iteration, struct copies copies, struct al_error *err)
{
	struct al_scope scope = al_iteration_scope(iteration);
	int64_t count, active;

	if (run->list->n_steps++ >= AL_FAMILY_STEPS)
		return al_fail(err, AL_EINPUT, "the loops take more than %d iterations",
			AL_FAMILY_STEPS);
	if (depth == item->loops->n)
		return enter(run, item, iteration, copies, err);
	assert(depth < AL_FAMILY_LOOPS);
	const struct al_loop *loop = &item->loops->items[depth];
	if (!count_iterations(loop, &scope, &count, &active, err))
		return false;
	iteration->n = depth + 1;
	iteration->variables[depth] = loop->variable;
	iteration->values[depth] = 0;
	if (!item->is_walked[depth])
		return count == 0
			|| (multiply_copies(loop, count, active, &copies, err)
				&& walk(run, item, depth + 1, iteration, copies, err));
	for (int64_t i = 0; i < count; i++) {
		const struct copies these = {copies.all, i < active ? copies.active : 0};
		iteration->n = depth + 1;
		iteration->values[depth] = i;
		if (!walk(run, item, depth + 1, iteration, these, err))
			return false;
	}
	return true;
}

/* ---- errors ---- */

struct naming {
	struct al_settings *settings;
	const char *list; /* "; n_experts comes from config.json: num_local_experts" */
};

static void name_zero(void *context, const char *symbol)
{
	struct naming *naming = context;
	const struct al_setting *setting;

	if (!al_settings_get(naming->settings, symbol, &setting, NULL) || !setting
		|| setting->value.kind != AL_VALUE_INTEGER || setting->value.integer != 0
		|| setting->formula)
		return;
	const char *piece = al_format(&naming->settings->arena, "; %s comes from %s", symbol,
		setting->origin);
	if (!strstr(naming->list, piece))
		naming->list = al_format(&naming->settings->arena, "%s%s", naming->list, piece);
}

/* Where a size or a loop fails it is by a zero: names the keys of the config that gave it. */
static void name_zeros(const struct run *run, const struct item *item, struct al_error *err)
{
	struct naming naming = {run->settings, ""};
	const char *message = al_strdup(&run->settings->arena, err->message);

	for (size_t i = 0; i < item->loops->n; i++)
		al_formula_each_symbol(item->loops->items[i].count, name_zero, &naming);
	for (size_t i = 0; item->tensor && i < item->tensor->entry.shape.n_dims; i++)
		al_formula_each_symbol(item->tensor->entry.shape.dims[i], name_zero, &naming);
	al_fail(err, err->status, "%s%s", message, naming.list);
}

static bool walk_item(const struct run *run, struct item *item, struct al_error *err)
{
	struct al_iteration iteration = {.settings = run->settings};

	find_walked(run, item);
	if (walk(run, item, 0, &iteration, (struct copies){1, 1}, err))
		return true;
	if (err)
		name_zeros(run, item, err);
	return al_in(err, "%s", item->name);
}

/* From which iterations on the loops are not part of the model. */
static bool find_extras(struct run *run, struct al_error *err)
{
	struct al_scope scope = al_settings_scope(run->settings);

	for (size_t i = 0; i < run->family->n_extras; i++)
		if (!al_formula_whole(run->family->extras[i].from, &scope, 0, &run->extra_from[i],
			    err))
			return al_in(err, "apart %s", run->family->extras[i].name);
	return true;
}

static bool fill(const struct run *run, const struct al_family *family, struct al_error *err)
{
	for (size_t i = 0; i < family->n_modules; i++) {
		const struct al_family_module *module = &family->modules[i];
		struct item item = {.loops = &module->loops,
			.name = module->name,
			.module = module};
		if (!al_catalog_variant(run->catalog, module->variant, &item.variant, err)
			|| !walk_item(run, &item, err))
			return false;
	}
	for (size_t i = 0; run->detail != AL_MODULES_BY_KIND && i < family->n_tensors; i++) {
		const struct al_family_tensor *tensor = &family->tensors[i];
		struct item item = {.loops = &tensor->loops,
			.name = tensor->entry.name,
			.tensor = tensor};
		const size_t n = run->list->n_tensors;
		if (walk_item(run, &item, err))
			continue;
		if (!run->settings->may_lack)
			return false;
		run->list->n_tensors = n;
	}
	return true;
}

/* ---- of a tensor ---- */

size_t al_model_tensor_shape(const struct al_model_item *tensor, int64_t dims[AL_STORED_DIMS])
{
	size_t n = 0;

	if (tensor->tensor->entry.count)
		dims[n++] = tensor->count;
	for (size_t i = 0; i < tensor->n_dims; i++)
		dims[n++] = tensor->dims[i];
	return n;
}

bool al_model_tensor_is_parameter(const struct al_model_item *tensor)
{
	return !tensor->extra && !tensor->tensor->tied_to
		&& tensor->tensor->entry.kind < AL_TENSOR_BUFFER;
}

/* ---- the list ---- */

bool al_tensor_list_init(struct al_tensor_list *list, struct al_catalog *catalog,
	const struct al_family *family, struct al_settings *settings,
	enum al_tensor_list_detail detail, struct al_error *err)
{
	struct run run = {.list = list,
		.catalog = catalog,
		.settings = settings,
		.family = family,
		.detail = detail};

	*list = (struct al_tensor_list){0};
	al_arena_init(&list->arena);
	if (!find_extras(&run, err) || !fill(&run, family, err)) {
		al_tensor_list_finish(list);
		return false;
	}
	return true;
}

void al_tensor_list_finish(struct al_tensor_list *list)
{
	al_arena_finish(&list->arena);
	*list = (struct al_tensor_list){0};
}
