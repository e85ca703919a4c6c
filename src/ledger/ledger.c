/* A ledger: attention modules through their variants, the rest as the family has it. */
#include "ledger/ledger.h"

#include "ledger/entries.h"

/* ---- tensors of the other parts ---- */

static bool is_of_vocabulary(const struct al_entry *entry)
{
	return al_shape_mentions(&entry->shape, "vocab");
}

/* The number of active experts comes from a loop or from the tensor itself. */
static bool is_expert(const struct al_family_tensor *tensor)
{
	for (size_t i = 0; i < tensor->loops.n; i++)
		if (tensor->loops.items[i].active)
			return true;
	return tensor->entry.active != NULL;
}

/*= Shoeybi et al. 2019, arXiv:1909.08053, section 3: feed-forward matrices by their inner width,
 * the embedding by the vocabulary; the bias after the sum over devices is on each. */
static bool is_shared_out(const struct al_family_tensor *of)
{
	if (is_of_vocabulary(&of->entry))
		return true;
	if (of->part != AL_PART_FEED_FORWARD)
		return false;
	return of->entry.kind == AL_TENSOR_BIAS ? of->role != AL_FEED_DOWN
						: of->entry.shape.n_dims > 1;
}

/* Rows of the vocabulary are dealt out, the last device's may be fewer. */
static void share_out(struct al_ledger *ledger, struct al_ledger_entry *e)
{
	int64_t tp = ledger->ask.tp;
	const struct al_setting *vocab;

	if (tp <= 1 || !is_shared_out(e->stored->tensor))
		return;
	if (is_of_vocabulary(e->entry) && al_settings_get(&ledger->settings, "vocab", &vocab, NULL)
		&& vocab) {
		al_exact_multiply(e->device, al_divide_up(vocab->value.integer, tp));
		al_exact_divide(e->device, vocab->value.integer);
	} else
		al_exact_divide(e->device, tp);
}

/* "vocab * d_model", or "50257 * 768"; of packed numbers " * 2", so many in an element. A dimension
 * that a loop decides is the number that it is. */
static const char *join_formulas(struct al_ledger *ledger, const struct al_ledger_entry *e,
	bool with_values)
{
	struct al_scope scope = al_settings_scope(&ledger->settings);
	const struct al_shape *shape = &e->entry->shape;
	const int64_t packed = e->stored->tensor->packed;
	AL_TEXT(text);

	for (size_t i = 0; i < shape->n_dims; i++) {
		const char *dim = al_formula_source(shape->dims[i]);
		if (with_values
			&& !al_formula_substituted(shape->dims[i], &scope, &ledger->arena, &dim,
				NULL))
			dim = al_format(&ledger->arena, "%lld", (long long)e->dims[i]);
		al_factor_add(&text, dim, shape->n_dims == 1 && packed == 1);
	}
	if (packed > 1)
		al_text_addf(&text, " * %lld", (long long)packed);
	return al_strdup(&ledger->arena, text.length > 0 ? text.data : "1");
}

static bool add_stored(struct al_ledger *ledger, enum al_list list,
	const struct al_model_item *tensor, struct al_error *err)
{
	const struct al_family_tensor *of = tensor->tensor;
	int64_t n_layers;

	if (!al_ledger_layers(ledger, &of->loops, of->component, &n_layers, err))
		return false;
	struct al_ledger_entry *e = al_ledger_list_add(ledger, list);
	e->entry = &of->entry;
	e->part = of->part;
	e->stored = tensor;
	e->name = tensor->name;
	memcpy(e->dims, tensor->dims, sizeof(tensor->dims));
	e->n_dims = tensor->n_dims;
	e->count = tensor->count;
	e->active_count = tensor->active;
	e->times = tensor->copies;
	e->extra = tensor->extra;
	e->component = e->extra ? AL_COMPONENT_MTP : of->component;
	e->sees_text = e->component == AL_COMPONENT_TEXT;
	const bool is_tower = !e->sees_text && !e->extra;
	e->layer = is_tower ? -1 : tensor->layer;
	e->n_layers = is_tower ? 0 : n_layers;
	e->tied_to = of->tied_to;
	e->is_matrix = tensor->n_dims > 1 && of->entry.kind == AL_TENSOR_WEIGHT;
	e->is_parameter = al_model_tensor_is_parameter(tensor)
		&& (e->is_matrix || !ledger->basis.only_matrices);
	e->is_in_layers = of->loops.n > 0;
	e->is_expert = is_expert(of);
	e->source = ledger->family->source;
	al_entry_multiply_stored(e);
	share_out(ledger, e);
	if (ledger->ask.explains) {
		e->formula = join_formulas(ledger, e, false);
		e->substituted = join_formulas(ledger, e, true);
	}
	return true;
}

/* ---- lists ---- */

static bool fill_list(struct al_ledger *ledger, enum al_list list, struct al_error *err)
{
	for (size_t i = 0; i < ledger->n_modules; i++) {
		struct al_ledger_module *module = &ledger->modules[i];
		if (list > AL_LIST_STORED && !module->sees_text && !module->extra)
			continue; /* the number of images is unknown */
		if (al_module_entries(ledger, module, list, err))
			continue;
		return module->of
			&& (al_block_in(module->block, err), al_in(err, "%s", module->name));
	}
	for (size_t i = 0; list <= AL_LIST_STORED && i < ledger->tensor_list.n_tensors; i++)
		if (!add_stored(ledger, list, &ledger->tensor_list.tensors[i], err))
			return al_in(err, "%s", ledger->tensor_list.tensors[i].name);
	return list != AL_LIST_STORED || !ledger->is_model || !ledger->ask.quantization
		|| al_quantization_add_beside(ledger->ask.quantization, ledger, err);
}

static bool in_model(const struct al_ledger *ledger, struct al_error *err)
{
	return ledger->ask.name && al_in(err, "%s", ledger->ask.name);
}

bool al_ledger_entries(struct al_ledger *ledger, enum al_list list,
	const struct al_ledger_list **out, struct al_error *err)
{
	if (!al_ledger_update(ledger, err))
		return false;
	if (ledger->is_model && list == AL_LIST_TENSORS)
		list = AL_LIST_STORED;
	struct al_ledger_list *l = &ledger->lists[list];
	if (!l->is_current) {
		l->n = 0;
		if (!fill_list(ledger, list, err))
			return list == AL_LIST_STORED && in_model(ledger, err);
		l->is_current = true;
	}
	*out = l;
	return true;
}

bool al_ledger_list(struct al_ledger *ledger, enum al_list list, const struct al_ledger_list **out,
	struct al_error *err)
{
	return al_ledger_entries(ledger, list, out, err)
		|| (!ledger->is_model && al_block_in(&ledger->block, err));
}

void al_ledger_set_tokens(struct al_ledger *ledger, int64_t seq)
{
	ledger->lists[AL_LIST_PRODUCTS].is_current = false;
	ledger->lists[AL_LIST_ABSORBED].is_current = false;
	for (size_t i = 0; i < ledger->n_modules; i++) {
		al_block_set(ledger->modules[i].block, "seq", seq);
		if (ledger->modules[i].device != ledger->modules[i].block)
			al_block_set(ledger->modules[i].device, "seq", seq);
	}
}

/* ---- opening, setting ---- */

/* What was asked of the settings, and the model's values under that. */
static bool settle(struct al_ledger *ledger, struct al_error *err)
{
	const struct al_ledger_ask *ask = &ledger->ask;
	struct al_settings derived = {.symbols = ledger->settings.symbols,
		.n_symbols = ledger->settings.n_symbols};

	if (!ask->model || !ask->model->family)
		return true;
	al_arena_init(&derived.arena);
	al_settings_merge_asked(&derived, &ledger->settings);
	if (!al_model_settings(ask->model, ask->catalog, &derived, err)) {
		al_settings_finish(&derived);
		return false;
	}
	al_settings_finish(&ledger->settings);
	ledger->settings = derived;
	return true;
}

static bool find_family(struct al_ledger *ledger, struct al_error *err)
{
	const struct al_ledger_ask *ask = &ledger->ask;

	ledger->family = ask->family;
	if (ledger->family)
		return true;
	if (!ask->model || !ask->model->family)
		return al_fail(err, AL_EINPUT,
			"--basis per=whole needs a complete model, not only attention");
	return al_catalog_family(ask->catalog, ask->model->family, &ledger->family, err);
}

static void forget_lists(struct al_ledger *ledger)
{
	for (int i = 0; i < AL_N_LISTS; i++)
		ledger->lists[i].is_current = false;
}

static bool open_anew(struct al_ledger *ledger, struct al_error *err)
{
	ledger->is_open = false;
	forget_lists(ledger);
	al_ledger_close_modules(ledger);
	if (!find_family(ledger, err) || !settle(ledger, err))
		return false;
	ledger->is_open = al_tensor_list_init(&ledger->tensor_list, ledger->ask.catalog,
				  ledger->family, &ledger->settings, ledger->ask.detail, err)
		&& al_ledger_open_modules(ledger, err);
	return ledger->is_open || in_model(ledger, err);
}

bool al_ledger_update(struct al_ledger *ledger, struct al_error *err)
{
	if (ledger->is_model ? ledger->is_open : !ledger->is_set)
		return true;
	/* a module alone was checked when it was made */
	if (!(ledger->is_model ? open_anew(ledger, err) : al_block_check(&ledger->block, err)))
		return false;
	ledger->is_set = false;
	return true;
}

void al_ledger_set(struct al_ledger *ledger, const char *symbol, int64_t value)
{
	const bool is_fixed = ledger->has_block && !al_block_set(&ledger->block, symbol, value);

	if (is_fixed && !ledger->is_model)
		return;
	forget_lists(ledger);
	ledger->is_set = true;
	ledger->is_open = false;
	if (ledger->is_model)
		al_settings_ask(&ledger->settings, symbol, value, "set");
}

struct al_settings *al_ledger_settings(struct al_ledger *ledger)
{
	return ledger->has_block ? &ledger->block.settings : &ledger->settings;
}

bool al_ledger_symbol(struct al_ledger *ledger, const char *symbol, int64_t least, int64_t *out,
	struct al_error *err)
{
	return al_block_read(&ledger->block, symbol, least, out, err)
		|| al_block_in(&ledger->block, err);
}

bool al_ledger_modules(struct al_ledger *ledger, int64_t *out, struct al_error *err)
{
	return al_block_times(&ledger->block, AL_PER_MODULE, out, err)
		|| al_block_in(&ledger->block, err);
}

bool al_ledger_open(struct al_ledger *ledger, const struct al_ledger_ask *ask, struct al_error *err)
{
	const struct al_settings *settings = ask->settings;

	*ledger = (struct al_ledger){.ask = *ask,
		.basis = *ask->basis,
		.is_model = ask->family || ask->basis->per == AL_BASIS_WHOLE,
		.has_block = !ask->family};
	if (!ledger->is_model && ask->configured->alternating)
		return al_fail(err, AL_EINPUT,
			"variant %s: layers of one model differ in %s; name a model, with --whole",
			ask->configured->name, ask->configured->alternating);
	if (ledger->has_block
		&& !al_block_init(&ledger->block, ask->configured, settings, ask->basis, err))
		return false;
	al_arena_init(&ledger->arena);
	al_arena_init(&ledger->cached);
	al_arena_init(&ledger->saved);
	ledger->settings.symbols = settings->symbols;
	ledger->settings.n_symbols = settings->n_symbols;
	al_arena_init(&ledger->settings.arena);
	if (!ledger->is_model) {
		al_ledger_open_alone(ledger);
		return true;
	}
	ledger->basis.per = AL_BASIS_MODULE;
	al_settings_merge(&ledger->settings, settings);
	return true;
}

bool al_ledger_open_module(struct al_ledger *ledger, const struct al_configured_variant *configured,
	const struct al_settings *settings, const struct al_basis *basis, struct al_error *err)
{
	const struct al_ledger_ask ask = {.settings = settings,
		.basis = basis,
		.configured = configured};

	return al_ledger_open(ledger, &ask, err);
}

void al_ledger_close(struct al_ledger *ledger)
{
	al_ledger_close_modules(ledger);
	for (int list = 0; list < AL_N_LISTS; list++)
		for (size_t i = 0; i < ledger->lists[list].n_made; i++) {
			struct al_ledger_entry *e = &ledger->lists[list].items[i];
			mpq_clears(e->elements, e->active, e->device, NULL);
		}
	if (ledger->has_block)
		al_block_finish(&ledger->block);
	al_settings_finish(&ledger->settings);
	al_arena_finish(&ledger->saved);
	al_arena_finish(&ledger->cached);
	al_arena_finish(&ledger->arena);
	*ledger = (struct al_ledger){0};
}

static void close_ledger(void *ledger)
{
	al_ledger_close(ledger);
}

struct al_ledger *al_ledger_create(struct al_arena *arena, const struct al_ledger_ask *ask,
	struct al_error *err)
{
	struct al_ledger *ledger = al_new(arena, struct al_ledger);

	if (!al_ledger_open(ledger, ask, err))
		return NULL;
	al_arena_defer(arena, close_ledger, ledger);
	return ledger;
}

/* ---- counts ---- */

const struct al_count_info al_counts[AL_N_COUNTS] = {
	[AL_COUNT_PARAMETERS] = {"parameters", "Parameters"},
	[AL_COUNT_ACTIVE] = {"active", "Active for one token"},
	[AL_COUNT_ACTIVE_WITHOUT_EMBEDDING] = {"active_without_embedding",
		"Active for one token, without embeddings"},
	[AL_COUNT_WITHOUT_EMBEDDING] = {"without_embedding", "Without embeddings"},
	[AL_COUNT_NON_EMBEDDING] = {"without_embedding_and_head", "Without embeddings and head"},
	[AL_COUNT_TIED] = {"tied", "Copies of tied tensors"},
	[AL_COUNT_BUFFERS] = {"buffers", "Buffers"},
	[AL_COUNT_SCALES] = {"scales", "Quantization scales"},
	[AL_COUNT_EXTRA] = {"apart", "Not part of the model"},
	[AL_COUNT_STORED] = {"stored", "Stored, without optional tensors"},
};

bool al_entry_is_own(const struct al_ledger_entry *entry)
{
	return entry->extra ? entry->entry->kind != AL_TENSOR_SCALE && !entry->tied_to
			    : entry->is_parameter;
}

bool al_entry_is_stored(const struct al_ledger_entry *entry)
{
	return (!entry->tied_to || entry->extra)
		&& !(entry->stored && entry->stored->tensor->is_optional);
}

static bool is_counted(const struct al_ledger_entry *t, enum al_count count)
{
	switch (count) {
	case AL_COUNT_PARAMETERS:
	case AL_COUNT_ACTIVE:
		return t->is_parameter;
	case AL_COUNT_ACTIVE_WITHOUT_EMBEDDING:
	case AL_COUNT_WITHOUT_EMBEDDING:
		return t->is_parameter && t->part != AL_PART_EMBEDDING;
	case AL_COUNT_NON_EMBEDDING:
		return t->is_parameter && t->part != AL_PART_EMBEDDING && t->part != AL_PART_HEAD;
	case AL_COUNT_TIED:
		return t->tied_to && !t->extra;
	case AL_COUNT_BUFFERS:
		return t->entry->kind == AL_TENSOR_BUFFER && !t->extra
			&& !(t->stored && t->stored->tensor->is_old);
	case AL_COUNT_SCALES:
		return t->entry->kind == AL_TENSOR_SCALE;
	case AL_COUNT_EXTRA:
		return t->extra && t->entry->kind != AL_TENSOR_SCALE;
	case AL_COUNT_STORED:
		return al_entry_is_stored(t);
	case AL_N_COUNTS:
		break;
	}
	return false;
}

bool al_ledger_count(struct al_ledger *ledger, enum al_count count, mpq_t out, struct al_error *err)
{
	bool is_active = count == AL_COUNT_ACTIVE || count == AL_COUNT_ACTIVE_WITHOUT_EMBEDDING;
	const struct al_ledger_list *tensors;

	mpq_set_ui(out, 0, 1);
	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (is_counted(t, count))
			al_exact_add(out, is_active ? t->active : t->elements);
	}
	return true;
}
