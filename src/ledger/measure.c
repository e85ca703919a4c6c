/* Measures: sums over a block's lines. Each line counts its elements, times how many the basis
 * covers, times what the measure makes of one element. */
#include "ledger/block.h"
#include "ledger/states.h"
#include "ledger/train.h"

#include <string.h>

#include "base/number.h"
#include "base/format.h"
#include "base/table.h"
#include "base/text.h"

/* What one element of a line is worth, as a product; none: the line adds nothing. */
enum { MOST_FACTORS = 4 };

struct worth {
	int64_t factors[MOST_FACTORS];
	size_t n;
};

static void multiply_by(struct worth *worth, int64_t factor)
{
	worth->factors[worth->n++] = factor;
}

struct sum {
	struct al_block *block;
	struct al_lines lines;
	const struct al_recipe *recipe;
	bool (*worth_of)(const struct sum *sum, const struct al_entry *entry, struct worth *worth,
		struct al_error *err);
};

/* ---- dtypes ---- */

bool al_dtype_bytes(const char *name, int64_t *bytes, struct al_error *err)
{
	const struct al_dtype *dtype;

	if (!al_dtype_find(name, &dtype, err))
		return false;
	*bytes = (int64_t)dtype->block_bytes;
	return dtype->block_elements == 1
		|| al_fail(err, AL_EINPUT,
			"dtype \"%s\" stores %zu numbers in a block of %zu bytes, expected "
			"one with whole bytes a number",
			name, dtype->block_elements, dtype->block_bytes);
}

/* ---- what an element is worth ---- */

static bool worth_one(const struct sum *sum, const struct al_entry *entry, struct worth *worth,
	struct al_error *err)
{
	(void)sum, (void)entry, (void)err;
	multiply_by(worth, 1);
	return true;
}

static bool worth_of_cached(const struct sum *sum, const struct al_entry *entry,
	struct worth *worth, struct al_error *err)
{
	return entry->per != AL_PER_TOKEN || worth_one(sum, entry, worth, err);
}

static bool multiply_by_symbol(const struct sum *sum, const char *symbol, struct worth *worth,
	struct al_error *err)
{
	int64_t value;

	if (!al_block_read(sum->block, symbol, 1, &value, err))
		return false;
	multiply_by(worth, value);
	return true;
}

/* The decoder's own tokens and, in its cross-attentions, the source's (as many, unless they are
 * given). */
static bool multiply_by_both_sides(const struct sum *sum, struct worth *worth, struct al_error *err)
{
	int64_t seq, source;

	if (!al_block_read(sum->block, "seq", 1, &seq, err))
		return false;
	source = seq;
	if (al_block_gives(sum->block, "source_seq")
		&& !al_block_read(sum->block, "source_seq", 1, &source, err))
		return false;
	multiply_by(worth, seq + source);
	return true;
}

static bool multiply_by_cached_tokens(const struct sum *sum, const struct al_entry *entry,
	struct worth *worth, struct al_error *err)
{
	struct al_scope scope = al_block_scope(sum->block);
	const char *default_tokens = entry->per == AL_PER_SOURCE_TOKEN ? "source_seq" : "seq";
	int64_t tokens;

	if (entry->per == AL_PER_SEQUENCE)
		return true;
	if (entry->per == AL_PER_TOKEN && al_block_is_two_sided(sum->block))
		return multiply_by_both_sides(sum, worth, err);
	if (!entry->tokens)
		return multiply_by_symbol(sum, default_tokens, worth, err);
	if (!al_formula_whole(entry->tokens, &scope, 0, &tokens, err))
		return false;
	multiply_by(worth, tokens);
	return true;
}

static bool worth_of_cached_bytes(const struct sum *sum, const struct al_entry *entry,
	struct worth *worth, struct al_error *err)
{
	int64_t bytes = sum->block->cached_bytes;

	if (entry->dtype && !al_dtype_bytes(entry->dtype, &bytes, err))
		return false;
	multiply_by(worth, bytes);
	return multiply_by_cached_tokens(sum, entry, worth, err)
		&& multiply_by_symbol(sum, "batch", worth, err);
}

static bool worth_of_saved(const struct sum *sum, const struct al_entry *entry, struct worth *worth,
	struct al_error *err)
{
	multiply_by(worth, entry->bytes ? entry->bytes : sum->recipe->activation_bytes);
	return multiply_by_symbol(sum, "batch", worth, err)
		&& (entry->per == AL_PER_SEQUENCE || multiply_by_symbol(sum, "seq", worth, err))
		&& (entry->per != AL_PER_PAIR || multiply_by_symbol(sum, "seq", worth, err));
}

/* A multiply-add is two operations. */
static bool worth_of_product(const struct sum *sum, const struct al_entry *entry,
	struct worth *worth, struct al_error *err)
{
	(void)entry;
	multiply_by(worth, 2);
	return multiply_by_symbol(sum, "batch", worth, err);
}

/* ---- sums ---- */

static bool add_line(const struct sum *sum, const struct al_entry *entry, mpz_t total, mpz_t term,
	struct al_error *err)
{
	struct al_ledger_entry line;
	struct worth worth = {.n = 0};
	bool counts;

	if (!al_line_evaluate(sum->block, &sum->lines, entry, &counts, &line, err))
		return false;
	if (!counts)
		return true;
	if (!sum->worth_of(sum, entry, &worth, err))
		return al_line_in(&sum->lines, entry, err);
	if (worth.n == 0)
		return true;
	al_line_elements(term, &line);
	mpz_mul_si(term, term, line.times);
	for (size_t i = 0; i < worth.n; i++)
		mpz_mul_si(term, term, worth.factors[i]);
	mpz_add(total, total, term);
	return true;
}

static bool add_lines(const struct sum *sum, mpz_t total, struct al_error *err)
{
	const struct al_entries *entries = al_lines_of(sum->block, sum->lines.list);
	bool ok = true;
	mpz_t term;

	mpz_init(term);
	for (size_t i = 0; ok && i < entries->n; i++)
		ok = add_line(sum, &entries->items[i], total, term, err);
	mpz_clear(term);
	return ok;
}

/* A recipe's own rule: bytes per token and module. */
static bool add_activations_per_token(const struct sum *sum, mpz_t total, struct al_error *err)
{
	struct al_scope scope = al_block_scope(sum->block);
	int64_t bytes, batch, seq, modules;
	mpz_t term;

	if (!al_formula_whole(sum->recipe->activations_per_token, &scope, 0, &bytes, err))
		return al_in(err, "recipe %s", sum->recipe->name);
	if (!al_block_read(sum->block, "batch", 1, &batch, err)
		|| !al_block_read(sum->block, "seq", 1, &seq, err)
		|| !al_block_times(sum->block, AL_PER_MODULE, &modules, err))
		return false;
	mpz_init_set_si(term, bytes);
	mpz_mul_si(term, term, batch);
	mpz_mul_si(term, term, seq);
	mpz_mul_si(term, term, modules);
	mpz_add(total, total, term);
	mpz_clear(term);
	return true;
}

static bool add_activations(struct al_block *block, const struct al_recipe *recipe, mpz_t total,
	struct al_error *err)
{
	struct al_lines lines = {.list = AL_LIST_ACTIVATIONS, .is_flash = recipe->is_flash};
	struct sum sum = {block, lines, recipe, worth_of_saved};

	return recipe->activations_per_token ? add_activations_per_token(&sum, total, err)
					     : add_lines(&sum, total, err);
}

static bool add_parameters(struct al_block *block, int64_t bytes, mpz_t total, struct al_error *err)
{
	struct sum sum = {block, {.list = AL_LIST_TENSORS}, NULL, worth_one};

	if (!add_lines(&sum, total, err))
		return false;
	mpz_mul_si(total, total, bytes);
	return true;
}

/* ---- states that a tensor's shape decides ---- */

static bool add_tensor_state(struct al_block *block, const struct al_recipe *recipe,
	enum al_state state, const struct al_ledger_entry *line, mpq_t total, struct al_error *err)
{
	const struct al_state_tensor tensor = {.dims = line->dims,
		.n_dims = line->n_dims,
		.is_matrix = line->n_dims > 1 && line->entry->kind == AL_TENSOR_WEIGHT,
		.is_hidden = true};
	int64_t rank = 0;
	mpq_t bytes;

	if (al_block_gives(block, "rank") && !al_block_read(block, "rank", 1, &rank, err))
		return false;
	mpq_init(bytes);
	bool ok = al_state_of_tensor(recipe, state, &tensor, rank, bytes, err);
	al_exact_multiply(bytes, line->count);
	al_exact_multiply(bytes, line->times);
	mpq_add(total, total, bytes);
	mpq_clear(bytes);
	return ok;
}

static bool add_shaped_state(struct al_block *block, const struct al_recipe *recipe,
	enum al_state state, mpq_t total, struct al_error *err)
{
	const struct al_lines lines = {.list = AL_LIST_TENSORS};
	const struct al_entries *entries = al_lines_of(block, lines.list);

	for (size_t i = 0; i < entries->n; i++) {
		struct al_ledger_entry line;
		bool counts;
		if (!al_line_evaluate(block, &lines, &entries->items[i], &counts, &line, err)
			|| (counts && !add_tensor_state(block, recipe, state, &line, total, err)))
			return false;
	}
	return true;
}

static bool add_state(struct al_block *block, const struct al_recipe *recipe, enum al_state state,
	mpq_t total, struct al_error *err)
{
	const struct al_state_bytes *bytes = al_recipe_state(recipe, state);
	bool ok;
	mpq_t sum;

	mpq_init(sum);
	if (bytes->has_formula)
		ok = add_shaped_state(block, recipe, state, sum, err);
	else
		ok = add_parameters(block, bytes->total, mpq_numref(sum), err);
	mpq_add(total, total, sum);
	mpq_clear(sum);
	return ok;
}

static bool add_total(struct al_block *block, const struct al_recipe *recipe, mpq_t total,
	struct al_error *err)
{
	mpz_t activations;
	mpq_t sum;

	for (int state = 0; state < AL_N_STATES; state++)
		if (!add_state(block, recipe, (enum al_state)state, total, err))
			return false;
	mpz_init(activations);
	bool ok = add_activations(block, recipe, activations, err);
	mpq_init(sum);
	mpq_set_z(sum, activations);
	mpq_add(total, total, sum);
	mpq_clear(sum);
	mpz_clear(activations);
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

/* `total` is 0. */
static bool add_measure(struct al_block *block, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t total, struct al_error *err)
{
	struct sum cache = {block, {.list = AL_LIST_CACHE}, recipe, worth_of_cached};
	struct sum cache_bytes = {block, {.list = AL_LIST_CACHE}, recipe, worth_of_cached_bytes};
	struct sum flops = {block, {.list = AL_LIST_PRODUCTS}, recipe, worth_of_product};

	switch (measure) {
	case AL_PARAMETERS:
		return add_parameters(block, 1, mpq_numref(total), err);
	case AL_WEIGHTS:
		return add_state(block, recipe, AL_STATE_WEIGHTS, total, err);
	case AL_GRADIENTS:
		return add_state(block, recipe, AL_STATE_GRADIENTS, total, err);
	case AL_OPTIMIZER:
		return add_state(block, recipe, AL_STATE_OPTIMIZER, total, err);
	case AL_ACTIVATIONS:
		return add_activations(block, recipe, mpq_numref(total), err);
	case AL_TOTAL:
		return add_total(block, recipe, total, err);
	case AL_CACHE:
		return add_lines(&cache, mpq_numref(total), err);
	case AL_CACHE_BYTES:
		return add_lines(&cache_bytes, mpq_numref(total), err);
	case AL_FLOPS:
		return add_lines(&flops, mpq_numref(total), err);
	default:
		break;
	}
	return al_fail(err, AL_EINPUT,
		"\"%s\" is about a whole model, expected the basis per=whole",
		al_measures[measure].key);
}

bool al_block_measure(struct al_block *block, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err)
{
	if (al_measures[measure].needs_recipe && !recipe)
		return al_fail(err, AL_EINPUT, "\"%s\" needs a recipe", al_measures[measure].key);
	mpq_set_ui(out, 0, 1);
	if (block->basis->per == AL_BASIS_WHOLE)
		return al_whole_measure(block, measure, recipe, out, err)
			|| al_block_in(block, err);
	return add_measure(block, measure, recipe, out, err) || al_block_in(block, err);
}
