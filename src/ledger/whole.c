/* A whole model as one ledger: attention modules through their variants, the rest as the family has
 * it. */
#include "ledger/whole.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"

/* ---- layers ---- */

/* How many turns the outermost loop takes within the model. */
static bool count_layers(const struct al_whole *whole, const struct al_loops *loops, int64_t *out,
	struct al_error *err)
{
	const struct al_family *family = whole->ask.family;
	struct al_scope scope = al_settings_scope(whole->ask.settings);
	int64_t from;

	*out = 0;
	if (loops->n == 0)
		return true;
	if (!al_formula_whole(loops->items[0].count, &scope, 0, out, err))
		return false;
	for (size_t i = 0; i < family->n_apart; i++) {
		if (strcmp(family->apart[i].variable, loops->items[0].variable) != 0)
			continue;
		if (!al_formula_whole(family->apart[i].from, &scope, 0, &from, err))
			return false;
		*out = from < *out ? from : *out;
	}
	return true;
}

/* ---- modules ---- */

/* The question's own symbols that a tensor-parallel device has fewer of. */
static const char *const shared_symbols[] = {"d_head", "d_value", "n_heads", "n_kv_heads"};
enum { N_SHARED = sizeof(shared_symbols) / sizeof(*shared_symbols) };

/* Heads are dealt out evenly; key/value heads too, or where there are fewer of them than devices,
 * each is on several. */
static bool share_symbol(const char *symbol, int64_t tp, int64_t *value, struct al_error *err)
{
	if (strcmp(symbol, "d_head") == 0 || strcmp(symbol, "d_value") == 0)
		return true;
	bool is_few = strcmp(symbol, "n_kv_heads") == 0 && *value < tp;
	if (!is_few && *value % tp != 0)
		return al_fail(err, AL_EINPUT, "%s (%lld) is not a multiple of tp (%lld)", symbol,
			(long long)*value, (long long)tp);
	*value = al_divide_up(*value, tp);
	return true;
}

static void set_binding(struct al_variant_use *use, const char *symbol, int64_t value)
{
	for (size_t i = 0; i < use->n_with; i++)
		if (strcmp(use->with[i].symbol, symbol) == 0) {
			use->with[i].value = value;
			return;
		}
	use->with[use->n_with++] = (struct al_binding){.symbol = symbol, .value = value};
}

/* A device's part of a block is the same variant with fewer heads. A variant that names no heads is
 * on every device. */
static bool share_use(struct al_whole *whole, struct al_whole_module *module, struct al_error *err)
{
	struct al_variant_use *use = &module->shard_use;

	*use = module->use;
	use->with = al_new_array(&whole->arena, struct al_binding, use->n_with + N_SHARED);
	for (size_t i = 0; i < use->n_with; i++)
		use->with[i] = module->use.with[i];
	for (int i = 0; whole->ask.tp > 1 && i < N_SHARED; i++) {
		const struct al_setting *setting;
		if (!al_settings_get(&module->block.settings, shared_symbols[i], &setting, NULL)
			|| !setting)
			continue;
		int64_t value = setting->value.integer;
		if (!share_symbol(shared_symbols[i], whole->ask.tp, &value, err))
			return false;
		set_binding(use, shared_symbols[i], value);
	}
	return true;
}

static struct al_whole_module *find_equal(const struct al_whole *whole,
	const struct al_model_module *module)
{
	for (size_t i = 0; whole->ask.use && i < whole->n_modules; i++)
		if (whole->modules[i].layer == module->layer
			&& whole->modules[i].apart == module->apart
			&& whole->modules[i].uses == module->uses
			&& whole->modules[i].module->module == module->module)
			return &whole->modules[i];
	return NULL;
}

static bool open_module(struct al_whole *whole, const struct al_model_module *module,
	struct al_whole_module *out, struct al_error *err)
{
	const struct al_whole_ask *ask = &whole->ask;

	*out = (struct al_whole_module){.module = module,
		.copies = module->copies,
		.uses = module->uses,
		.layer = module->layer,
		.apart = module->apart};
	out->use = ask->use ? *ask->use
			    : (struct al_variant_use){.variant = module->variant,
				    .name = module->variant->name,
				    .with = module->with,
				    .n_with = module->n_with,
				    .is_models_own = true};
	if (!count_layers(whole, &module->module->loops, &out->n_layers, err)
		|| !al_block_init(&out->block, &out->use, ask->settings, &whole->basis, err))
		return false;
	if (share_use(whole, out, err)
		&& al_block_init(&out->shard, &out->shard_use, ask->settings, &whole->basis, err))
		return true;
	al_block_finish(&out->block);
	return false;
}

/* A variant in the place of all makes modules equal that weren't. */
static bool open_modules(struct al_whole *whole, struct al_error *err)
{
	const struct al_model_books *books = &whole->books;

	whole->modules = al_new_array(&whole->arena, struct al_whole_module, books->n_modules);
	for (size_t i = 0; i < books->n_modules; i++) {
		struct al_whole_module *equal = find_equal(whole, &books->modules[i]);
		if (equal) {
			equal->copies += books->modules[i].copies;
			continue;
		}
		if (!open_module(whole, &books->modules[i], &whole->modules[whole->n_modules], err))
			return al_in(err, "%s", books->modules[i].name);
		whole->n_modules++;
	}
	return true;
}

/* ---- tensors of attention ---- */

static struct al_whole_tensor *add_tensor(struct al_whole *whole)
{
	whole->tensors = al_grow(&whole->arena, whole->tensors, whole->n_tensors,
		&whole->tensors_room, sizeof(*whole->tensors));
	return &whole->tensors[whole->n_tensors++];
}

/* What is shared over the model stands in it once, however many modules use it. */
static int64_t copies_of(const struct al_whole_module *module, const struct al_entry *entry)
{
	return entry->per == AL_PER_MODEL ? 1 : module->copies;
}

static bool is_repeated(const struct al_model_module *module)
{
	return module->module->loops.n > 0;
}

static void add_line(struct al_whole *whole, size_t i_module, const struct al_ledger_entry *line,
	mpq_srcptr shard)
{
	struct al_whole_module *module = &whole->modules[i_module];
	const struct al_entry *entry = line->entry;
	int64_t copies = copies_of(module, entry);
	bool is_stored_only = entry->kind >= AL_TENSOR_BUFFER;
	int64_t *dims = al_new_array(&whole->arena, int64_t, line->n_dims);

	memcpy(dims, line->dims, line->n_dims * sizeof(*dims));
	*add_tensor(whole) = (struct al_whole_tensor){
		.part = AL_PART_ATTENTION,
		.module = module->module->name,
		.name = entry->name,
		.entry = entry,
		.dims = dims,
		.n_dims = line->n_dims,
		.layer = module->layer,
		.n_layers = module->n_layers,
		.copies = copies * line->count,
		.elements = al_exact_scaled(&whole->arena, line->elements, copies, 1),
		.active = line->count ? al_exact_scaled(&whole->arena, line->elements,
				  copies * line->active, line->count)
				      : al_exact_from_int(&whole->arena, 0),
		.device = al_exact_scaled(&whole->arena, shard, copies, 1),
		.apart = module->apart,
		.is_parameter = !is_stored_only && !module->apart,
		.is_matrix = line->n_dims > 1 && entry->kind == AL_TENSOR_WEIGHT,
		.is_in_layers = is_repeated(module->module),
		.formula = al_strdup(&whole->arena, line->formula),
		.substituted = line->substituted ? al_strdup(&whole->arena, line->substituted)
						 : NULL,
		.source = module->use.variant->source,
		.i_module = i_module,
	};
}

static bool add_module_tensors(struct al_whole *whole, size_t i_module, struct al_error *err)
{
	struct al_whole_module *module = &whole->modules[i_module];
	struct al_ledger ledger, shard;

	if (!al_ledger_tensors(&ledger, &module->block, true, whole->ask.explains, err))
		return false;
	bool ok = al_ledger_tensors(&shard, &module->shard, true, false, err);
	if (ok) {
		for (size_t i = 0; i < ledger.n; i++)
			add_line(whole, i_module, &ledger.entries[i], shard.entries[i].elements);
		al_ledger_finish(&shard);
	}
	al_ledger_finish(&ledger);
	return ok || al_in(err, "%s", module->module->name);
}

/* ---- tensors of the other parts ---- */

/* Of experts a loop, or the tensor itself, says how many are active. */
static bool is_expert(const struct al_family_tensor *tensor)
{
	for (size_t i = 0; i < tensor->loops.n; i++)
		if (tensor->loops.items[i].active)
			return true;
	return tensor->entry.active != NULL;
}

/*= Shoeybi et al. 2019, arXiv:1909.08053, section 3: feed-forward matrices by their inner width,
 * the embedding by the vocabulary; the bias behind the sum over devices is on each. */
static bool is_shared_out(const struct al_model_tensor *tensor)
{
	const struct al_family_tensor *of = tensor->tensor;

	if (al_shape_mentions(&of->entry.shape, "vocab"))
		return true;
	if (of->part != AL_PART_FEED_FORWARD)
		return false;
	return of->entry.kind == AL_TENSOR_BIAS ? of->role != AL_FEED_DOWN : tensor->n_dims > 1;
}

/* Rows of the vocabulary are dealt out, the last device's may be fewer. */
static mpq_srcptr device_elements(struct al_whole *whole, const struct al_model_tensor *tensor)
{
	int64_t tp = whole->ask.tp;
	const struct al_setting *vocab;

	if (tp == 1 || !is_shared_out(tensor))
		return tensor->elements;
	if (al_shape_mentions(&tensor->tensor->entry.shape, "vocab")
		&& al_settings_get(whole->ask.settings, "vocab", &vocab, NULL) && vocab)
		return al_exact_scaled(&whole->arena, tensor->elements,
			al_divide_up(vocab->value.integer, tp), vocab->value.integer);
	return al_exact_scaled(&whole->arena, tensor->elements, 1, tp);
}

/* "vocab * d_model" and "50257 * 768"; a shape that a loop decides has no values here. */
static const char *join_formulas(struct al_whole *whole, const struct al_shape *shape,
	bool with_values)
{
	struct al_scope scope = al_settings_scope(whole->ask.settings);
	const char *text = "";

	for (size_t i = 0; i < shape->n_dims; i++) {
		const char *dim = al_formula_source(shape->dims[i]);
		if (with_values
			&& !al_formula_substituted(shape->dims[i], &scope, &whole->arena, &dim,
				NULL))
			return NULL;
		text = al_format(&whole->arena, "%s%s%s", text, i ? " * " : "", dim);
	}
	return text;
}

static mpq_srcptr active_elements(struct al_whole *whole, const struct al_model_tensor *tensor)
{
	if (tensor->copies == 0 || tensor->count == 0)
		return tensor->elements;
	mpq_srcptr per_turn = al_exact_scaled(&whole->arena, tensor->elements,
		tensor->active_copies, tensor->copies);
	return al_exact_scaled(&whole->arena, per_turn, tensor->active, tensor->count);
}

static bool add_stored(struct al_whole *whole, const struct al_model_tensor *tensor,
	struct al_error *err)
{
	const struct al_family_tensor *of = tensor->tensor;
	bool is_matrix = tensor->n_dims > 1 && of->entry.kind == AL_TENSOR_WEIGHT;
	bool explains = whole->ask.explains;
	int64_t n_layers;

	if (!count_layers(whole, &of->loops, &n_layers, err))
		return false;
	*add_tensor(whole) = (struct al_whole_tensor){
		.part = of->part,
		.name = tensor->name,
		.entry = &of->entry,
		.dims = tensor->dims,
		.n_dims = tensor->n_dims,
		.layer = tensor->layer,
		.n_layers = n_layers,
		.copies = tensor->copies * tensor->count,
		.elements = tensor->elements,
		.active = active_elements(whole, tensor),
		.device = device_elements(whole, tensor),
		.apart = tensor->apart,
		.tied_to = of->tied_to,
		.is_parameter = al_model_tensor_is_parameter(tensor)
			&& (is_matrix || !whole->basis.only_matrices),
		.is_matrix = is_matrix,
		.is_in_layers = of->loops.n > 0,
		.is_expert = is_expert(of),
		.stored = tensor,
		.formula = explains ? join_formulas(whole, &of->entry.shape, false) : NULL,
		.substituted = explains ? join_formulas(whole, &of->entry.shape, true) : NULL,
		.source = whole->ask.family->source,
	};
	return true;
}

/* ---- making one ---- */

static bool fill(struct al_whole *whole, struct al_error *err)
{
	if (!open_modules(whole, err))
		return false;
	for (size_t i = 0; i < whole->n_modules; i++)
		if (!add_module_tensors(whole, i, err))
			return false;
	for (size_t i = 0; i < whole->books.n_tensors; i++)
		if (!add_stored(whole, &whole->books.tensors[i], err))
			return al_in(err, "%s", whole->books.tensors[i].name);
	return true;
}

bool al_whole_init(struct al_whole *whole, const struct al_whole_ask *ask, struct al_error *err)
{
	*whole = (struct al_whole){.ask = *ask, .basis = *ask->basis};
	whole->basis.per = AL_BASIS_MODULE;
	if (!al_model_books_init(&whole->books, ask->catalog, ask->family, ask->settings,
		    ask->detail, err))
		return false;
	al_arena_init(&whole->arena);
	if (fill(whole, err))
		return true;
	al_whole_finish(whole);
	return false;
}

void al_whole_finish(struct al_whole *whole)
{
	for (size_t i = 0; i < whole->n_modules; i++) {
		al_block_finish(&whole->modules[i].block);
		al_block_finish(&whole->modules[i].shard);
	}
	al_model_books_finish(&whole->books);
	al_arena_finish(&whole->arena);
	*whole = (struct al_whole){0};
}

/* ---- counts ---- */

const struct al_count_info al_counts[AL_N_COUNTS] = {
	[AL_COUNT_PARAMETERS] = {"parameters", "Parameters"},
	[AL_COUNT_ACTIVE] = {"active", "Active for one token"},
	[AL_COUNT_ACTIVE_WITHOUT_EMBEDDING] = {"active_without_embedding",
		"Active for one token, without embeddings"},
	[AL_COUNT_WITHOUT_EMBEDDING] = {"without_embedding", "Without embeddings"},
	[AL_COUNT_NON_EMBEDDING] = {"without_embedding_and_head", "Without embeddings and head"},
	[AL_COUNT_TIED] = {"tied", "Tied tensors, where stored again"},
	[AL_COUNT_BUFFERS] = {"buffers", "Buffers"},
	[AL_COUNT_SCALES] = {"scales", "Scales of a quantisation"},
	[AL_COUNT_APART] = {"apart", "Beside the model"},
	[AL_COUNT_STORED] = {"stored", "Stored, without what is optional"},
};

static bool is_counted(const struct al_whole_tensor *t, enum al_count count)
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
		return t->tied_to && !t->apart;
	case AL_COUNT_BUFFERS:
		return t->entry->kind == AL_TENSOR_BUFFER && !t->apart;
	case AL_COUNT_SCALES:
		return t->entry->kind == AL_TENSOR_SCALE;
	case AL_COUNT_APART:
		return t->apart && t->entry->kind != AL_TENSOR_SCALE;
	case AL_COUNT_STORED:
		return (!t->tied_to || t->apart) && !(t->stored && t->stored->tensor->is_optional);
	case AL_N_COUNTS:
		break;
	}
	return false;
}

void al_whole_count(const struct al_whole *whole, enum al_count count, mpq_t out)
{
	bool is_active = count == AL_COUNT_ACTIVE || count == AL_COUNT_ACTIVE_WITHOUT_EMBEDDING;

	mpq_set_ui(out, 0, 1);
	for (size_t i = 0; i < whole->n_tensors; i++) {
		const struct al_whole_tensor *tensor = &whole->tensors[i];
		if (is_counted(tensor, count))
			mpq_add(out, out, is_active ? tensor->active : tensor->elements);
	}
}
