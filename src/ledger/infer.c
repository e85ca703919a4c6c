/* Inference memory of a whole model, and what a decoded token reads and computes. */
#include "ledger/infer.h"

#include <string.h>

#include "base/number.h"
#include "ledger/entries.h"

const enum al_memory_state al_inference_states[AL_N_INFERENCE_STATES] = {
	AL_STATE_WEIGHTS,
	AL_STATE_CACHE,
	AL_STATE_STATES,
	AL_STATE_ACTIVATIONS,
};

static void row_init(struct al_inference_row *row)
{
	mpq_inits(row->bytes, row->allocated, row->read, row->flops, NULL);
}

static void row_finish(struct al_inference_row *row)
{
	mpq_clears(row->bytes, row->allocated, row->read, row->flops, NULL);
}

void al_inference_rows_init(struct al_inference_row rows[AL_N_STATES])
{
	for (int i = 0; i < AL_N_STATES; i++)
		row_init(&rows[i]);
}

void al_inference_rows_finish(struct al_inference_row rows[AL_N_STATES])
{
	for (int i = 0; i < AL_N_STATES; i++)
		row_finish(&rows[i]);
}

static void tally(const struct al_inference *inference, const struct al_inference_part *part,
	struct al_inference_row rows[AL_N_STATES])
{
	struct al_inference_row *sum = &rows[part->state];

	al_exact_add(sum->bytes, part->row->bytes);
	al_exact_add(sum->allocated, part->row->allocated);
	al_exact_add(sum->read, part->row->read);
	al_exact_add(sum->flops, part->row->flops);
	if (inference->watch)
		inference->watch->hear(inference->watch->context, part);
}

/* ---- weights ---- */

static bool is_tied_table(struct al_ledger *ledger, const struct al_ledger_entry *table)
{
	for (size_t i = 0; i < al_ledger_tensors(ledger)->n; i++) {
		const struct al_ledger_entry *t = &al_ledger_tensors(ledger)->items[i];
		const char *tied = t->tied_to;
		if (tied && !t->extra && strcmp(tied, table->name) == 0)
			return true;
	}
	return false;
}

/* Scales that the family lists are those of what a checkpoint packs, and of FP8 matrices: these
 * need none where they are widened, and in a file of blocks they are in the blocks. */
static bool is_scale_in_file(const struct al_ledger *ledger, const struct al_quantisation *q,
	const struct al_ledger_entry *t)
{
	if (t->beside)
		return true;
	return !q->is_file
		&& (al_family_packs(ledger->family) || q->is_config
			|| (q->dtype && strcmp(q->dtype->name, "fp8") == 0));
}

static bool is_in_file(const struct al_ledger *ledger, const struct al_quantisation *q,
	const struct al_ledger_entry *t)
{
	if (t->extra || t->tied_to)
		return false;
	if (t->entry->kind == AL_TENSOR_SCALE)
		return is_scale_in_file(ledger, q, t);
	return t->entry->kind != AL_TENSOR_BUFFER;
}

static bool is_wanted(const struct al_share *share, const struct al_ledger_entry *t)
{
	return (share->parts >> t->part & 1) && (t->is_in_layers || !share->only_layers);
}

/* ---- one more token of each sequence ---- */

/* Copies of a tensor that `batch` tokens use: an expert is read once however many of them it works
 * on, and they choose as many different ones as there are. */
static void used_elements(const struct al_ledger_entry *t, int64_t batch, mpq_t out)
{
	mpq_set(out, t->active);
	if (t->is_expert)
		al_exact_multiply(out, batch);
	if (mpq_cmp(out, t->elements) > 0)
		mpq_set(out, t->elements);
	if (mpq_sgn(t->elements) != 0) {
		mpq_mul(out, out, t->device);
		mpq_div(out, out, t->elements);
	}
}

/* A table is looked up, unless it makes the logits too. */
static bool is_looked_up(struct al_ledger *ledger, const struct al_ledger_entry *t)
{
	return t->part == AL_PART_EMBEDDING && t->is_matrix && !is_tied_table(ledger, t);
}

/* What one more token of each sequence computes with a matrix. */
static void matrix_flops(const struct al_ledger_entry *t, int64_t batch, mpq_t out)
{
	mpq_mul(out, t->active, t->device);
	if (mpq_sgn(t->elements) != 0)
		mpq_div(out, out, t->elements);
	al_exact_multiply(out, 2 * batch);
}

static void weigh(struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_ledger_entry *t, const struct al_dtype *storage,
	struct al_inference_row *out)
{
	const bool is_looked = is_looked_up(ledger, t);

	al_dtype_exact_bytes(storage, t->device, out->bytes);
	mpq_set(out->allocated, out->bytes);
	used_elements(t, inference->batch, out->read);
	if (is_looked) {
		al_exact_multiply(out->read, inference->batch);
		al_exact_divide(out->read, t->dims[0]);
	}
	al_dtype_exact_bytes(storage, out->read, out->read);
	if (t->is_matrix && !is_looked && t->entry->kind == AL_TENSOR_WEIGHT)
		matrix_flops(t, inference->batch, out->flops);
}

static bool add_weight(struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_ledger_entry *t, struct al_inference_row rows[AL_N_STATES],
	struct al_error *err)
{
	struct al_inference_row row;
	struct al_stored_format format;

	if (!al_quantised_format(inference->weights, ledger, t, &format, err))
		return al_in(err, "%s", t->name);
	row_init(&row);
	weigh(ledger, inference, t, &format.dtype, &row);
	tally(inference,
		&(struct al_inference_part){.state = AL_STATE_WEIGHTS,
			.name = t->name,
			.entry = t,
			.numbers = t->device,
			.storage = &format.dtype,
			.row = &row},
		rows);
	row_finish(&row);
	return true;
}

static bool add_weights(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	const struct al_ledger_list *tensors;

	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (is_in_file(ledger, inference->weights, t) && is_wanted(&inference->share, t)
			&& !add_weight(ledger, inference, t, rows, err))
			return false;
	}
	return true;
}

/* ---- cache ---- */

static void add_cached(const struct al_inference *inference, const struct al_cache_entry *line,
	struct al_inference_row rows[AL_N_STATES])
{
	bool is_state = line->kind == AL_CACHE_STATE;
	int64_t all = line->kind == AL_CACHE_CROSS ? inference->source_seq
		: is_state			   ? 1
						   : inference->seq;
	struct al_inference_row row;
	mpq_t numbers;

	row_init(&row);
	mpq_init(numbers);
	mpq_set(numbers, line->entry->elements);
	al_exact_multiply(numbers, line->tokens);
	al_exact_multiply(numbers, inference->batch);
	al_exact_divide(numbers, inference->tp);
	al_dtype_exact_bytes(line->storage, numbers, row.bytes);
	mpq_set(row.read, row.bytes);
	al_dtype_exact_bytes(line->storage, line->expanded, row.allocated);
	al_exact_multiply(row.allocated, all);
	al_exact_multiply(row.allocated, inference->batch);
	tally(inference,
		&(struct al_inference_part){.state = is_state ? AL_STATE_STATES : AL_STATE_CACHE,
			.name = line->entry->name,
			.entry = line->entry,
			.cached = line,
			.numbers = numbers,
			.storage = line->storage,
			.row = &row},
		rows);
	mpq_clear(numbers);
	row_finish(&row);
}

static bool is_over_sequence(const struct al_entry *product)
{
	return al_formula_mentions(product->left.dims[1], "seq")
		|| al_formula_mentions(product->right.dims[1], "seq");
}

/* Scores and contexts: products over the sequence, of which a new token makes one row. */
static bool add_score_flops(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	const struct al_ledger_list *products;
	struct al_inference_row row;

	if (!al_ledger_entries(ledger, AL_LIST_ABSORBED, &products, err))
		return false;
	row_init(&row);
	for (size_t i = 0; i < products->n; i++) {
		const struct al_ledger_entry *e = &products->items[i];
		if (!e->sees_text || !is_over_sequence(e->entry))
			continue;
		mpq_set(row.flops, e->device);
		al_exact_multiply(row.flops, 2 * inference->batch);
		al_exact_divide(row.flops, inference->seq);
		tally(inference,
			&(struct al_inference_part){.state = AL_STATE_CACHE,
				.name = e->name,
				.entry = e,
				.row = &row},
			rows);
	}
	row_finish(&row);
	return true;
}

static bool has_attention(const struct al_inference *inference)
{
	return inference->share.parts >> AL_PART_ATTENTION & 1;
}

static bool add_cache(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	struct al_cache_entries cache;

	if (!has_attention(inference))
		return true;
	if (!al_ledger_cache(ledger, inference->cache, inference->seq, inference->source_seq,
		    &cache, err))
		return false;
	for (size_t i = 0; i < cache.n; i++)
		add_cached(inference, &cache.lines[i], rows);
	return add_score_flops(ledger, inference, rows, err);
}

/* ---- activations ---- */

/* Does a forward hold the line with the others of its block? Masks, statistics and scores are for
 * the backward, or never there. */
static bool is_held(const struct al_saved_entry *line, int64_t block)
{
	const bool is_mask = line->bytes == 1;

	return line->block == block && !is_mask && !line->is_statistic && line->per != AL_PER_PAIR
		&& line->blocks > 0;
}

/* Numbers for one token of one block of this kind. */
static void sum_block(const struct al_saved_entries *saved, int64_t block, mpq_t out)
{
	mpq_t one;

	mpq_init(one);
	mpq_set_ui(out, 0, 1);
	for (size_t i = 0; i < saved->n; i++) {
		if (!is_held(&saved->lines[i], block))
			continue;
		mpq_set(one, saved->lines[i].device);
		al_exact_divide(one, saved->lines[i].blocks);
		al_exact_add(out, one);
	}
	mpq_clear(one);
}

/* -1: there is none. */
static int64_t largest_block(const struct al_saved_entries *saved)
{
	int64_t found = -1;
	mpq_t sum, most;

	mpq_inits(sum, most, NULL);
	for (size_t i = 0; i < saved->n; i++) {
		const int64_t block = saved->lines[i].block;
		if (block < 0 || (i > 0 && saved->lines[i - 1].block == block))
			continue;
		sum_block(saved, block, sum);
		if (mpq_cmp(sum, most) <= 0)
			continue;
		mpq_set(most, sum);
		found = block;
	}
	mpq_clears(sum, most, NULL);
	return found;
}

/* `numbers` of one token; they become those of all tokens. */
static void add_held(const struct al_inference *inference, const char *name, mpq_t numbers,
	struct al_inference_row rows[AL_N_STATES])
{
	const struct al_dtype storage = {.block_elements = 1,
		.block_bytes = (size_t)inference->activation_bytes};
	struct al_inference_row row;

	row_init(&row);
	al_exact_multiply(numbers, inference->batch);
	al_exact_multiply(numbers, inference->seq);
	al_dtype_exact_bytes(&storage, numbers, row.bytes);
	mpq_set(row.allocated, row.bytes);
	tally(inference,
		&(struct al_inference_part){.state = AL_STATE_ACTIVATIONS,
			.name = name,
			.numbers = numbers,
			.storage = &storage,
			.row = &row},
		rows);
	row_finish(&row);
}

/* A forward over the whole prompt holds the residual stream and the tensors of one block at a time,
 * at most those of the largest. */
static bool add_activations(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	struct al_saved_entries saved;
	const struct al_setting *width;
	mpq_t numbers;

	if (!al_ledger_saved(ledger, true, &saved, err)
		|| !al_settings_get(&ledger->settings, "d_model", &width, err))
		return false;
	mpq_init(numbers);
	al_exact_set(numbers, width ? width->value.integer : 0);
	add_held(inference, "residual stream", numbers, rows);
	const int64_t block = largest_block(&saved);
	for (size_t i = 0; i < saved.n; i++) {
		if (block < 0 || !is_held(&saved.lines[i], block))
			continue;
		mpq_set(numbers, saved.lines[i].device);
		al_exact_divide(numbers, saved.lines[i].blocks);
		add_held(inference, saved.lines[i].name, numbers, rows);
	}
	mpq_clear(numbers);
	return true;
}

enum al_tensor_list_detail al_inference_detail(const struct al_inference *inference)
{
	return inference->weights->is_by_layer ? AL_TENSORS_BY_LAYER : AL_TENSORS_BY_KIND;
}

bool al_ledger_infer(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	if (!al_ledger_update(ledger, err))
		return false;
	for (int i = 0; i < AL_N_STATES; i++) {
		mpq_set_ui(rows[i].bytes, 0, 1);
		mpq_set_ui(rows[i].allocated, 0, 1);
		mpq_set_ui(rows[i].read, 0, 1);
		mpq_set_ui(rows[i].flops, 0, 1);
	}
	al_ledger_set_tokens(ledger, inference->seq);
	return add_weights(ledger, inference, rows, err) && add_cache(ledger, inference, rows, err)
		&& add_activations(ledger, inference, rows, err);
}

bool al_inference_is_known(const struct al_ledger *ledger, const struct al_inference *inference,
	int state, bool of_flops, struct al_undeclared *out)
{
	const bool is_all = state == AL_N_STATES;
	const bool is_of_cache = is_all || state == AL_STATE_CACHE || state == AL_STATE_STATES;
	const bool is_held = is_all || state == AL_STATE_ACTIVATIONS;

	if (!has_attention(inference))
		return true;
	if (of_flops)
		return !is_of_cache || al_ledger_declares_list(ledger, AL_LIST_ABSORBED, out);
	return (!is_of_cache || al_ledger_declares_list(ledger, AL_LIST_CACHE, out))
		&& (!is_held || al_ledger_declares_list(ledger, AL_LIST_FLASH, out));
}
