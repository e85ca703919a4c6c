/* Measures: sums over the entries of a ledger. */
#include "ledger/infer.h"
#include "ledger/train.h"

#include "base/format.h"
#include "base/table.h"
#include "ledger/entries.h"

/* ---- sums over a module's lines: elements, times what the measure makes of one ---- */

struct sum {
	struct al_ledger *ledger;
	enum al_list list;
	const struct al_recipe *recipe;
	/* Multiplies `term`, or makes it 0: the line adds nothing. */
	bool (*worth_of)(const struct sum *sum, const struct al_entry *entry, mpq_t term,
		struct al_error *err);
};

static bool multiply_by_symbol(const struct sum *sum, const char *symbol, mpq_t term,
	struct al_error *err)
{
	int64_t value;

	if (!al_block_read(&sum->ledger->block, symbol, 1, &value, err))
		return false;
	al_exact_multiply(term, value);
	return true;
}

static bool worth_of_saved(const struct sum *sum, const struct al_entry *entry, mpq_t term,
	struct al_error *err)
{
	al_exact_multiply(term, entry->bytes ? entry->bytes : sum->recipe->activation_bytes);
	return multiply_by_symbol(sum, "batch", term, err)
		&& (entry->per == AL_PER_SEQUENCE || multiply_by_symbol(sum, "seq", term, err))
		&& (entry->per != AL_PER_PAIR || multiply_by_symbol(sum, "seq", term, err));
}

/* A multiply-add is two operations. */
static bool worth_of_product(const struct sum *sum, const struct al_entry *entry, mpq_t term,
	struct al_error *err)
{
	(void)entry;
	al_exact_multiply(term, 2);
	return multiply_by_symbol(sum, "batch", term, err);
}

static bool add_lines(const struct sum *sum, mpq_t total, struct al_error *err)
{
	const struct al_ledger_list *lines;

	if (!al_ledger_entries(sum->ledger, sum->list, &lines, err))
		return false;
	AL_EXACT(term);
	for (size_t i = 0; i < lines->n; i++) {
		const struct al_ledger_entry *e = &lines->items[i];
		if (!e->sees_text)
			continue;
		mpq_set(term, e->elements);
		if (!sum->worth_of(sum, e->entry, term, err))
			return al_line_in(sum->list, e->entry, err);
		al_exact_add(total, term);
	}
	return true;
}

/* ---- training ---- */

static bool read_rank(struct al_ledger *ledger, int64_t *out, struct al_error *err)
{
	*out = 0;
	return !al_block_gives(&ledger->block, "rank")
		|| al_block_read(&ledger->block, "rank", 1, out, err);
}

static bool add_state(struct al_ledger *ledger, const struct al_recipe *recipe,
	enum al_memory_state state, mpq_t total, struct al_error *err)
{
	const struct al_ledger_list *tensors;
	int64_t rank;

	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err)
		|| !read_rank(ledger, &rank, err))
		return false;
	AL_EXACT(bytes);
	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (!t->is_parameter)
			continue;
		if (!al_entry_state(recipe, state, t, rank, bytes, err))
			return false;
		al_exact_add(total, bytes);
	}
	return true;
}

/* A recipe's own rule: bytes per token and module. */
static bool add_activations_per_token(const struct sum *sum, mpq_t total, struct al_error *err)
{
	struct al_block *block = &sum->ledger->block;
	struct al_scope scope = al_block_scope(block);
	int64_t bytes, modules;

	if (!al_formula_whole(sum->recipe->activations_per_token, &scope, 0, &bytes, err))
		return al_in(err, "recipe %s", sum->recipe->name);
	al_exact_set(total, bytes);
	if (!multiply_by_symbol(sum, "batch", total, err)
		|| !multiply_by_symbol(sum, "seq", total, err)
		|| !al_block_times(block, AL_PER_MODULE, &modules, err))
		return false;
	al_exact_multiply(total, modules);
	return true;
}

/* `total` is 0. */
static bool add_activations(struct al_ledger *ledger, const struct al_recipe *recipe, mpq_t total,
	struct al_error *err)
{
	const struct sum sum = {ledger, recipe->is_flash ? AL_LIST_FLASH : AL_LIST_EAGER, recipe,
		worth_of_saved};

	return recipe->activations_per_token ? add_activations_per_token(&sum, total, err)
					     : add_lines(&sum, total, err);
}

static bool add_total(struct al_ledger *ledger, const struct al_recipe *recipe, mpq_t total,
	struct al_error *err)
{
	for (int state = AL_STATE_WEIGHTS; state <= AL_STATE_OPTIMIZER; state++)
		if (!add_state(ledger, recipe, (enum al_memory_state)state, total, err))
			return false;
	AL_EXACT(activations);
	bool ok = add_activations(ledger, recipe, activations, err);
	al_exact_add(total, activations);
	return ok;
}

/* A whole model, on one device. */
static bool train(struct al_ledger *ledger, enum al_measure measure, const struct al_recipe *recipe,
	mpq_t out, struct al_error *err)
{
	struct al_training training = {.recipe = recipe,
		.share.parts = AL_ALL_PARTS,
		.batch = 1,
		.seq = 1,
		.tp = 1,
		.pp = 1,
		.interleave = 1,
		.dp = 1,
		.cp = 1,
		.ep = 1,
		.is_flash = recipe->is_flash};

	if (!al_block_read(&ledger->block, "batch", 1, &training.batch, err)
		|| !al_block_read(&ledger->block, "seq", 1, &training.seq, err)
		|| !read_rank(ledger, &training.rank, err))
		return false;
	AL_STAGE_MEMORY(stage);
	if (!al_ledger_train(ledger, &training, 0, &stage, err))
		return false;
	if (measure == AL_TOTAL)
		al_stage_memory_total(&stage, out);
	else
		al_stage_memory_sum(&stage, AL_STATE_ACTIVATIONS, out);
	return true;
}

/* ---- cache ---- */

static bool is_new(const struct al_cache_entry *line)
{
	return line->kind != AL_CACHE_CROSS && line->kind != AL_CACHE_STATE;
}

/* Elements that one more token adds. */
static bool add_cached(struct al_ledger *ledger, mpq_t out, struct al_error *err)
{
	const struct al_dtype *storage = al_dtype_named("bf16");
	struct al_cache_entries lines;

	if (!al_ledger_cache(ledger, storage, 0, 0, 1, &lines, err))
		return false;
	for (size_t i = 0; i < lines.n; i++)
		if (is_new(&lines.lines[i]))
			al_exact_add(out, lines.lines[i].entry->elements);
	return true;
}

/* The value of a symbol where it is given. */
static bool read_given(struct al_block *block, const char *symbol, int64_t *out,
	struct al_error *err)
{
	return !al_block_gives(block, symbol) || al_block_read(block, symbol, 1, out, err);
}

/* States alone depend on no tokens. */
static bool add_cached_bytes(struct al_ledger *ledger, mpq_t out, struct al_error *err)
{
	const struct al_dtype *storage = ledger->ask.cache ? ledger->ask.cache
							   : al_dtype_named("bf16");
	struct al_block *block = &ledger->block;
	int64_t batch = 1, seq = 0, source_seq;
	struct al_cache_entries lines;

	if (!read_given(block, "seq", &seq, err))
		return false;
	source_seq = seq;
	if (!read_given(block, "source_seq", &source_seq, err)
		|| !read_given(block, "batch", &batch, err)
		|| !al_ledger_cache(ledger, storage, seq, source_seq, batch, &lines, err))
		return false;
	AL_EXACT(one);
	for (size_t i = 0; i < lines.n; i++) {
		const struct al_cache_entry *line = &lines.lines[i];
		if (!line->rank)
			return al_fail(err, AL_EINPUT, "%s: its cache in this engine is unknown",
				line->entry->name);
		if ((line->kind != AL_CACHE_STATE && !al_block_read(block, "seq", 1, &seq, err))
			|| !al_block_read(block, "batch", 1, &batch, err))
			return al_line_in(AL_LIST_CACHE, line->entry->entry, err);
		al_dtype_exact_bytes(line->storage, line->rank, one);
		al_exact_multiply(one, line->held);
		al_exact_multiply(one, batch);
		al_exact_add(out, one);
	}
	if (lines.groups.n_groups > 0) {
		mpq_set(one, lines.groups.padding);
		al_exact_multiply(one, batch);
		al_exact_add(out, one);
	}
	return true;
}

/* ---- parts and FLOPs of a whole model ---- */

static bool is_dense_product(const struct al_ledger_entry *t)
{
	return t->stored && t->is_matrix && t->sees_text && t->entry->kind == AL_TENSOR_WEIGHT
		&& (t->part == AL_PART_FEED_FORWARD || t->part == AL_PART_HEAD);
}

/* Attention's products, and two operations for each number of the matrices that work on a token. */
static bool flops(struct al_ledger *ledger, mpq_t out, struct al_error *err)
{
	const struct sum products = {ledger, AL_LIST_PRODUCTS, NULL, worth_of_product};
	const struct al_ledger_list *tensors;
	int64_t batch, seq;

	if (!al_block_read(&ledger->block, "batch", 1, &batch, err)
		|| !al_block_read(&ledger->block, "seq", 1, &seq, err)
		|| !al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++)
		if (is_dense_product(&tensors->items[i]))
			al_exact_add(out, tensors->items[i].active);
	al_exact_multiply(out, 2 * batch);
	al_exact_multiply(out, seq);
	return add_lines(&products, out, err);
}

static bool sum_part(struct al_ledger *ledger, enum al_part part, mpq_t out, struct al_error *err)
{
	const struct al_ledger_list *tensors;

	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++)
		if (tensors->items[i].is_parameter && tensors->items[i].part == part)
			al_exact_add(out, tensors->items[i].elements);
	return true;
}

static bool share_of_attention(struct al_ledger *ledger, mpq_t out, struct al_error *err)
{
	AL_EXACT(all);
	bool ok = al_ledger_count(ledger, AL_COUNT_PARAMETERS, all, err)
		&& sum_part(ledger, AL_PART_ATTENTION, out, err);
	al_exact_multiply(out, 100);
	if (mpq_sgn(all) != 0)
		mpq_div(out, out, all);
	return ok;
}

/* ---- measures ---- */

const struct al_measure_info al_measures[AL_N_MEASURES] = {
	[AL_PARAMETERS] = {"parameters", "Parameters", "", AL_QUANTITY_COUNT, false},
	[AL_WEIGHTS] = {"weights", "Weights", "B", AL_QUANTITY_BYTES, true},
	[AL_GRADIENTS] = {"gradients", "Gradients", "B", AL_QUANTITY_BYTES, true},
	[AL_OPTIMIZER] = {"optimizer", "Optimizer states", "B", AL_QUANTITY_BYTES, true},
	[AL_ACTIVATIONS] = {"activations", "Activations", "B", AL_QUANTITY_BYTES, true},
	[AL_TOTAL] = {"total", "Total", "B", AL_QUANTITY_BYTES, true},
	[AL_CACHE] = {"cache", "Cached per token", "", AL_QUANTITY_COUNT, false},
	[AL_CACHE_BYTES] = {"cache_bytes", "Cache", "B", AL_QUANTITY_BYTES, false},
	[AL_FLOPS] = {"flops", "Forward FLOPs", "FLOP", AL_QUANTITY_FLOPS, false},
	[AL_ACTIVE] = {"active", "Active parameters", "", AL_QUANTITY_COUNT, false},
	[AL_EMBEDDING_PARAMETERS] = {"embedding_parameters", "Embedding", "", AL_QUANTITY_COUNT,
		false},
	[AL_ATTENTION_PARAMETERS] = {"attention_parameters", "Attention", "", AL_QUANTITY_COUNT,
		false},
	[AL_FEED_FORWARD_PARAMETERS] = {"feed_forward_parameters", "Feed-forward", "",
		AL_QUANTITY_COUNT, false},
	[AL_NORM_PARAMETERS] = {"norm_parameters", "Norms", "", AL_QUANTITY_COUNT, false},
	[AL_OTHER_PARAMETERS] = {"other_parameters", "Other", "", AL_QUANTITY_COUNT, false},
	[AL_HEAD_PARAMETERS] = {"head_parameters", "Head", "", AL_QUANTITY_COUNT, false},
	[AL_ATTENTION_SHARE] = {"attention_share", "Attention's share", "%", AL_QUANTITY_PLAIN,
		false},
};

int al_measure_find(const char *key)
{
	for (int i = 0; i < AL_N_MEASURES; i++)
		if (strcmp(al_measures[i].key, key) == 0)
			return i;
	return -1;
}

static bool measure_model(struct al_ledger *ledger, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err)
{
	switch (measure) {
	case AL_ACTIVE:
		return al_ledger_count(ledger, AL_COUNT_ACTIVE, out, err);
	case AL_ATTENTION_SHARE:
		return share_of_attention(ledger, out, err);
	case AL_ACTIVATIONS:
	case AL_TOTAL:
		return train(ledger, measure, recipe, out, err);
	case AL_FLOPS:
		return flops(ledger, out, err);
	default:
		return sum_part(ledger, (enum al_part)(measure - AL_EMBEDDING_PARAMETERS), out,
			err);
	}
}

static bool measure_alone(struct al_ledger *ledger, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err)
{
	const struct sum products = {ledger, AL_LIST_PRODUCTS, recipe, worth_of_product};

	switch (measure) {
	case AL_ACTIVATIONS:
		return add_activations(ledger, recipe, out, err);
	case AL_TOTAL:
		return add_total(ledger, recipe, out, err);
	case AL_FLOPS:
		return add_lines(&products, out, err);
	default:
		return al_fail(err, AL_EINPUT, "\"%s\" needs --basis per=whole",
			al_measures[measure].key);
	}
}

/* `out` is 0. */
static bool measure_any(struct al_ledger *ledger, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err)
{
	if (!al_ledger_update(ledger, err))
		return false;
	if (measure == AL_PARAMETERS)
		return al_ledger_count(ledger, AL_COUNT_PARAMETERS, out, err);
	if (measure >= AL_WEIGHTS && measure <= AL_OPTIMIZER)
		return add_state(ledger, recipe, (enum al_memory_state)(measure - AL_WEIGHTS), out,
			err);
	if (measure == AL_CACHE)
		return add_cached(ledger, out, err);
	if (measure == AL_CACHE_BYTES)
		return add_cached_bytes(ledger, out, err);
	return ledger->is_model ? measure_model(ledger, measure, recipe, out, err)
				: measure_alone(ledger, measure, recipe, out, err);
}

bool al_ledger_measure(struct al_ledger *ledger, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err)
{
	if (al_measures[measure].needs_recipe && !recipe)
		return al_fail(err, AL_EUNSET, "\"%s\" needs a recipe", al_measures[measure].key);
	mpq_set_ui(out, 0, 1);
	return measure_any(ledger, measure, recipe, out, err)
		|| (ledger->has_block && al_block_in(&ledger->block, err));
}
