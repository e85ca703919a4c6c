/* The lines of a module under its settings and the basis. */
#include "ledger/entries.h"

/* ---- what counts ---- */

static bool is_replaceable_output(const struct al_entry *entry)
{
	return entry->role == AL_ROLE_OUTPUT && !entry->is_fixed;
}

static bool is_tensor(enum al_list list)
{
	return list == AL_LIST_TENSORS || list == AL_LIST_STORED;
}

static bool is_tensor_wanted(const struct al_basis *basis, const struct al_entry *entry)
{
	if (basis->only_matrices && (entry->shape.n_dims < 2 || entry->kind != AL_TENSOR_WEIGHT))
		return false;
	if (basis->output_projection == AL_OUTPUT_NONE && is_replaceable_output(entry))
		return false;
	return basis->roles >> entry->role & 1;
}

/* What a kernel doesn't save. */
static const unsigned unsaved[AL_N_LISTS] = {
	[AL_LIST_EAGER] = 1u << AL_SAVED_FLASH | 1u << AL_SAVED_REPEATED,
	[AL_LIST_FLASH] = 1u << AL_SAVED_EAGER | 1u << AL_SAVED_REPEATED,
	[AL_LIST_REPEATED] = 1u << AL_SAVED_FLASH | 1u << AL_SAVED_GROUPED,
};

bool al_entry_is_wanted(const struct al_block *block, enum al_list list,
	const struct al_entry *entry)
{
	if (list == AL_LIST_TENSORS && entry->kind >= AL_TENSOR_BUFFER)
		return false;
	if (is_tensor(list))
		return is_tensor_wanted(block->basis, entry);
	return !(unsaved[list] >> entry->saved & 1);
}

/* ---- shapes ---- */

struct al_line al_line_of(const struct al_block *block, enum al_list list,
	const struct al_entry *entry)
{
	struct al_line line = {.entry = entry, .count = entry->count, .active = entry->active};

	if (is_tensor(list) && block->basis->output_projection == AL_OUTPUT_FULL
		&& entry->kind == AL_TENSOR_WEIGHT && is_replaceable_output(entry))
		return (struct al_line){.entry = entry,
			.dims = {block->d_model, block->d_model},
			.n_dims = 2};
	for (size_t i = 0; i < entry->shape.n_dims; i++)
		line.dims[line.n_dims++] = entry->shape.dims[i];
	for (size_t i = 0; i < entry->left.n_dims; i++)
		line.dims[line.n_dims++] = entry->left.dims[i];
	if (entry->right.n_dims > 0)
		line.dims[line.n_dims++] = entry->right.dims[1];
	return line;
}

/* ---- evaluation ---- */

static bool check_inner(const struct al_entry *entry, const struct al_scope *scope, int64_t inner,
	struct al_error *err)
{
	int64_t right;

	if (!al_formula_whole(entry->right.dims[0], scope, 0, &right, err))
		return false;
	return right == inner
		|| al_fail(err, AL_EINPUT, "left ends in %s = %lld and right begins with %s = %lld",
			al_formula_source(entry->left.dims[1]), (long long)inner,
			al_formula_source(entry->right.dims[0]), (long long)right);
}

static bool evaluate_counts(const struct al_line *shape, const struct al_scope *scope,
	struct al_ledger_entry *out, struct al_error *err)
{
	out->count = 1;
	if (shape->count && !al_formula_whole(shape->count, scope, 0, &out->count, err))
		return false;
	out->active_count = out->count;
	if (!shape->active)
		return true;
	if (!al_formula_whole(shape->active, scope, 0, &out->active_count, err))
		return false;
	return out->active_count <= out->count
		|| al_fail(err, AL_EINPUT, "%lld are active, more than the total of %lld",
			(long long)out->active_count, (long long)out->count);
}

/* Dimensions and counts. */
static bool evaluate_shape(struct al_block *block, enum al_list list, const struct al_entry *entry,
	struct al_ledger_entry *out, struct al_error *err)
{
	const struct al_line shape = al_line_of(block, list, entry);
	const bool is_product = list >= AL_LIST_PRODUCTS; /* with no entry yet it may be empty */
	struct al_scope scope = al_block_scope(block);

	out->n_dims = shape.n_dims;
	for (size_t i = 0; i < shape.n_dims; i++)
		if (!al_formula_whole(shape.dims[i], &scope, !is_product, &out->dims[i], err))
			return false;
	if (is_product && !check_inner(entry, &scope, out->dims[1], err))
		return false;
	return evaluate_counts(&shape, &scope, out, err);
}

/* How many of the line the basis covers, or the model has. */
static bool line_times(const struct al_ledger_module *module, enum al_list list,
	const struct al_entry *entry, int64_t *out, struct al_error *err)
{
	if (module->of && is_tensor(list))
		/* what is shared over the model is in it once, however many modules use it */
		return *out = entry->per == AL_PER_MODEL ? 1 : module->copies, true;
	if (module->of)
		return *out = module->copies * module->uses, true;
	if (list == AL_LIST_CACHE && entry->shared == AL_PER_MODULE)
		return al_block_cached_times(module->block, out, err);
	return al_block_times(module->block, entry->shared, out, err);
}

/* ---- numbers ---- */

/* The dimensions, times `factor` and `count`. */
static void product(mpz_t out, const struct al_ledger_entry *e, int64_t factor, int64_t count)
{
	int64_t number;

	if (!__builtin_mul_overflow(factor, count, &number)
		&& al_multiply_dims(number, e->dims, e->n_dims, &number)) {
		al_integer_set(out, number);
		return;
	}
	al_integer_set(out, factor);
	al_integer_multiply(out, count);
	for (size_t i = 0; i < e->n_dims; i++)
		al_integer_multiply(out, e->dims[i]);
}

/* A token of the text passes no tower. */
static void clear_unused(struct al_ledger_entry *e)
{
	if (!e->sees_text && !e->extra)
		mpq_set_ui(e->active, 0, 1);
}

/* Sets `elements`, `active` and `device` from dimensions, counts and times. */
static void entry_multiply(struct al_ledger_entry *e)
{
	product(mpq_numref(e->elements), e, e->times, e->count);
	product(mpq_numref(e->active), e, e->times, e->active_count);
	clear_unused(e);
	mpq_set(e->device, e->elements);
}

void al_entry_multiply_stored(struct al_ledger_entry *e)
{
	const struct al_model_item *t = e->stored;
	const int64_t packed = t->tensor->packed;
	const bool is_there = t->copies != 0 && t->count != 0;

	product(mpq_numref(e->elements), e, e->times * packed, e->count);
	product(mpq_numref(e->active), e, (is_there ? t->active_copies : t->copies) * packed,
		is_there ? t->active : t->count);
	clear_unused(e);
	mpq_set(e->device, e->elements);
}

/* ---- texts ---- */

/* Could "text * other" read wrongly? A word such as `and` may have blanks around it. */
static bool needs_brackets(const char *text)
{
	int depth = 0;

	for (const char *p = text; *p; p++) {
		depth += (*p == '(') - (*p == ')');
		if (depth == 0 && strchr("+-<>=! ", *p))
			return true;
	}
	return false;
}

void al_factor_add(struct al_text *text, const char *factor, bool is_only)
{
	bool bracketed = !is_only && needs_brackets(factor);

	al_text_addf(text, "%s%s%s%s", text->length ? " * " : "", bracketed ? "(" : "", factor,
		bracketed ? ")" : "");
}

/* The factors of a line: count and dims. */
static size_t factors_of(const struct al_line *shape,
	const struct al_formula *factors[AL_MOST_DIMS + 1])
{
	size_t n = 0;

	if (shape->count)
		factors[n++] = shape->count;
	for (size_t i = 0; i < shape->n_dims; i++)
		factors[n++] = shape->dims[i];
	return n;
}

/* With values; where an untaken branch mentions a symbol without a value, its value. */
static bool substitute(const struct al_formula *factor, const struct al_scope *scope,
	struct al_arena *arena, const char **out, struct al_error *err)
{
	int64_t value;

	if (al_formula_substituted(factor, scope, arena, out, NULL))
		return true;
	if (!al_formula_whole(factor, scope, 0, &value, err))
		return false;
	*out = al_format(arena, "%lld", (long long)value);
	return true;
}

/* "d_model * n_heads*d_head", or with values "768 * 12*64"; "1" for a tensor without dimensions. */
static bool write_product(struct al_ledger *ledger, struct al_block *block,
	const struct al_line *shape, bool substituted, const char **out, struct al_error *err)
{
	struct al_scope scope = al_block_scope(block);
	const struct al_formula *factors[AL_MOST_DIMS + 1];
	size_t n = factors_of(shape, factors);

	AL_TEXT(text);
	for (size_t i = 0; i < n; i++) {
		const char *factor = al_formula_source(factors[i]);
		if (substituted && !substitute(factors[i], &scope, &ledger->arena, &factor, err))
			return false;
		al_factor_add(&text, factor, n == 1);
	}
	*out = al_strdup(&ledger->arena, text.length ? text.data : "1");
	return true;
}

static bool write_texts(struct al_ledger *ledger, struct al_block *block, enum al_list list,
	struct al_ledger_entry *e, struct al_error *err)
{
	const struct al_line shape = al_line_of(block, list, e->entry);

	return write_product(ledger, block, &shape, false, &e->formula, err)
		&& write_product(ledger, block, &shape, true, &e->substituted, err);
}

/* ---- lists ---- */

void al_entry_replace(struct al_ledger_entry *entry, struct al_ledger_entry by)
{
	memcpy(&by.elements, &entry->elements, sizeof(by.elements));
	memcpy(&by.active, &entry->active, sizeof(by.active));
	memcpy(&by.device, &entry->device, sizeof(by.device));
	*entry = by;
}

struct al_ledger_entry *al_ledger_list_add(struct al_ledger *ledger, enum al_list list)
{
	struct al_ledger_list *l = &ledger->lists[list];

	if (l->n == l->n_made) {
		l->items = al_grow(&ledger->arena, l->items, l->n_made, &l->room,
			sizeof(*l->items));
		struct al_ledger_entry *e = &l->items[l->n_made++];
		mpq_inits(e->elements, e->active, e->device, NULL);
	}
	struct al_ledger_entry *e = &l->items[l->n++];
	al_entry_replace(e, (struct al_ledger_entry){.layer = -1});
	return e;
}

const struct al_ledger_list *al_ledger_tensors(const struct al_ledger *ledger)
{
	return &ledger->lists[ledger->is_model ? AL_LIST_STORED : AL_LIST_TENSORS];
}

/* One tensor-parallel device's part of it. */
static bool set_device(struct al_ledger_module *module, enum al_list list,
	struct al_ledger_entry *e, struct al_error *err)
{
	struct al_ledger_entry shard = {.times = e->times};

	if (module->device == module->block)
		return true;
	if (!evaluate_shape(module->device, list, e->entry, &shard, err))
		return al_line_in(list, e->entry, err);
	product(mpq_numref(e->device), &shard, shard.times, shard.count);
	return true;
}

static void set_facts(const struct al_ledger_module *module, enum al_list list,
	struct al_ledger_entry *e)
{
	const struct al_entry *entry = e->entry;

	e->part = AL_PART_ATTENTION;
	e->module = module;
	e->name = entry->name;
	e->layer = module->layer;
	e->n_layers = module->n_layers;
	e->extra = module->extra;
	e->component = module->component;
	e->sees_text = module->sees_text;
	e->is_parameter = is_tensor(list) && entry->kind < AL_TENSOR_BUFFER && !module->extra;
	e->is_matrix = e->n_dims > 1 && entry->kind == AL_TENSOR_WEIGHT;
	e->is_in_layers = !module->of || module->of->module->loops.n > 0;
	e->source = module->configured.variant->source;
}

static bool add_line(struct al_ledger *ledger, struct al_ledger_module *module, enum al_list list,
	const struct al_entry *entry, struct al_error *err)
{
	struct al_scope scope = al_block_scope(module->block);
	struct al_ledger_entry values = {.entry = entry};
	bool counts = al_entry_is_wanted(module->block, list, entry);

	if (counts && entry->when && !al_formula_holds(entry->when, &scope, &counts, err))
		return al_line_in(list, entry, err);
	if (!counts)
		return true;
	if (!evaluate_shape(module->block, list, entry, &values, err))
		return al_line_in(list, entry, err);
	if (!line_times(module, list, entry, &values.times, err))
		return false;
	struct al_ledger_entry *e = al_ledger_list_add(ledger, list);
	e->entry = entry;
	memcpy(e->dims, values.dims, sizeof(values.dims));
	e->n_dims = values.n_dims;
	e->count = values.count;
	e->active_count = values.active_count;
	e->times = values.times;
	set_facts(module, list, e);
	entry_multiply(e);
	if (ledger->ask.explains && !write_texts(ledger, module->block, list, e, err))
		return al_line_in(list, entry, err);
	return set_device(module, list, e, err);
}

/* A step of decoding reads latent vectors as they are. */
static void set_absorbed(struct al_ledger_module *module, int64_t is_absorbed)
{
	if (!al_variant_has_option(module->configured.variant, "absorbed"))
		return;
	al_block_set(module->block, "absorbed", is_absorbed);
	if (module->device != module->block)
		al_block_set(module->device, "absorbed", is_absorbed);
}

bool al_module_entries(struct al_ledger *ledger, struct al_ledger_module *module, enum al_list list,
	struct al_error *err)
{
	const struct al_entries *entries = al_lines_of(module->configured.variant, list);
	bool ok = true;

	if (list == AL_LIST_ABSORBED)
		set_absorbed(module, true);
	for (size_t i = 0; ok && i < entries->n; i++)
		ok = add_line(ledger, module, list, &entries->items[i], err);
	if (list == AL_LIST_ABSORBED)
		set_absorbed(module, false);
	return ok;
}

/* ---- the lists of a variant's file: one that it leaves out is not known, and not empty ---- */

/* What the file calls the list, and a message one of its lines. */
static const struct {
	const char *key, *noun;
	size_t offset;
} lists[AL_N_LISTS] = {
	[AL_LIST_TENSORS] = {"tensors", "tensor", offsetof(struct al_variant, tensors)},
	[AL_LIST_STORED] = {"tensors", "tensor", offsetof(struct al_variant, tensors)},
	[AL_LIST_CACHE] = {"cache", "cache", offsetof(struct al_variant, cache)},
	[AL_LIST_EAGER] = {"activations", "activation", offsetof(struct al_variant, activations)},
	[AL_LIST_FLASH] = {"activations", "activation", offsetof(struct al_variant, activations)},
	[AL_LIST_REPEATED] = {"activations", "activation",
		offsetof(struct al_variant, activations)},
	[AL_LIST_PRODUCTS] = {"products", "product", offsetof(struct al_variant, products)},
	[AL_LIST_ABSORBED] = {"products", "product", offsetof(struct al_variant, products)},
};

const struct al_entries *al_lines_of(const struct al_variant *variant, enum al_list list)
{
	return (const void *)((const char *)variant + lists[list].offset);
}

bool al_line_in(enum al_list list, const struct al_entry *entry, struct al_error *err)
{
	return al_in(err, "%s %s", lists[list].noun, entry->name);
}

bool al_ledger_declares_list(const struct al_ledger *ledger, enum al_list list,
	struct al_undeclared *out)
{
	for (size_t i = 0; i < ledger->n_modules; i++) {
		const struct al_configured_variant *configured = &ledger->modules[i].configured;
		if (!ledger->modules[i].sees_text
			|| al_lines_of(configured->variant, list)->is_declared)
			continue;
		if (out)
			*out = (struct al_undeclared){configured->name, lists[list].key};
		return false;
	}
	return true;
}

bool al_ledger_declares(const struct al_ledger *ledger, enum al_measure measure,
	const struct al_recipe *recipe, struct al_undeclared *out)
{
	switch (measure) {
	case AL_ACTIVATIONS:
	case AL_TOTAL:
		return (recipe && recipe->activations_per_token)
			|| al_ledger_declares_list(ledger, AL_LIST_EAGER, out);
	case AL_CACHE:
	case AL_CACHE_BYTES:
		return al_ledger_declares_list(ledger, AL_LIST_CACHE, out);
	case AL_FLOPS:
		return al_ledger_declares_list(ledger, AL_LIST_PRODUCTS, out);
	default:
		return true;
	}
}

void al_note_undeclared(const struct al_undeclared *undeclared, struct al_table *table)
{
	al_table_warn(table, "%s: its file has no list \"%s\", so this is unknown, not zero",
		undeclared->variant, undeclared->list);
}
