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

void al_inference_rows_init(struct al_inference_row rows[AL_N_STATES])
{
	for (int i = 0; i < AL_N_STATES; i++)
		mpq_inits(rows[i].bytes, rows[i].allocated, rows[i].read, rows[i].flops, NULL);
}

void al_inference_rows_finish(struct al_inference_row rows[AL_N_STATES])
{
	for (int i = 0; i < AL_N_STATES; i++)
		mpq_clears(rows[i].bytes, rows[i].allocated, rows[i].read, rows[i].flops, NULL);
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

static bool has_role(const struct al_ledger_entry *t, enum al_feed_forward_role role)
{
	return t->stored && t->stored->tensor->role == role;
}

/* Numbers that a row has, as they lie together: what a matrix reads. Variants write [in, out]. */
static int64_t row_of(const struct al_ledger_entry *t)
{
	int64_t row = 1;

	if (!t->stored || t->stored->tensor->order == AL_ORDER_IN_OUT)
		return t->dims[0];
	for (size_t i = 1; i < t->n_dims; i++)
		row *= t->dims[i];
	return row * t->stored->tensor->packed;
}

static const char *format_of(struct al_ledger *ledger, const struct al_file_type *type,
	const struct al_ledger_entry *t)
{
	bool is_value = !t->stored && t->entry->role == AL_ROLE_VALUE;

	if (!t->is_matrix || has_role(t, AL_FEED_ROUTER)
		|| (t->part == AL_PART_EMBEDDING && !al_shape_mentions(&t->entry->shape, "vocab")))
		return type->vector;
	if (t->part == AL_PART_HEAD || (t->part == AL_PART_EMBEDDING && is_tied_table(ledger, t)))
		return type->output;
	if (type->more && (is_value || has_role(t, AL_FEED_DOWN)) && t->layer >= 0
		&& al_file_type_gives_more(t->layer, t->n_layers))
		return type->more;
	return t->is_expert ? type->expert : type->matrix;
}

/* Packed tensors and scales are what a checkpoint of that format holds; in a file of blocks they
 * are in the blocks. */
static bool is_block_file(const struct al_file_type *type)
{
	return strcmp(type->matrix, type->vector) != 0;
}

/* Scales are of packed numbers, a byte each, or else of FP8 matrices, in f32.
 *= OCP Microscaling Formats v1.0, section 5.4: E8M0; arXiv:2412.19437, section 3.3.2 */
static bool has_packed_tensors(const struct al_family *family)
{
	for (size_t i = 0; i < family->n_tensors; i++)
		if (family->tensors[i].packed > 1)
			return true;
	return false;
}

/* What isn't packed takes the format that was asked for: FP8 matrices that are widened need no
 * scales. */
static bool is_scale_in_file(struct al_ledger *ledger, const struct al_file_type *type)
{
	return !is_block_file(type)
		&& (has_packed_tensors(ledger->family) || strcmp(type->matrix, "fp8") == 0);
}

static bool is_in_file(struct al_ledger *ledger, const struct al_file_type *type,
	const struct al_ledger_entry *t)
{
	if (t->extra || t->tied_to)
		return false;
	if (t->entry->kind == AL_TENSOR_SCALE)
		return is_scale_in_file(ledger, type);
	return t->entry->kind != AL_TENSOR_BUFFER;
}

static bool storage_of(struct al_ledger *ledger, const struct al_file_type *type,
	const struct al_ledger_entry *t, const struct al_dtype **out, struct al_error *err)
{
	if (!al_dtype_find(format_of(ledger, type, t), out, err))
		return false;
	if (t->is_matrix)
		*out = al_dtype_of_row(*out, row_of(t));
	return true;
}

static bool tensor_bytes(struct al_ledger *ledger, const struct al_file_type *type,
	const struct al_ledger_entry *t, mpq_srcptr elements, mpq_t out, struct al_error *err)
{
	const struct al_dtype *storage;

	if (!storage_of(ledger, type, t, &storage, err))
		return false;
	if (!is_block_file(type) && t->entry->kind == AL_TENSOR_SCALE)
		return al_dtype_find(has_packed_tensors(ledger->family) ? "u8" : "f32", &storage,
			       err)
			&& (al_dtype_exact_bytes(storage, elements, out), true);
	if (!is_block_file(type) && t->stored && t->stored->tensor->packed > 1) {
		mpq_set(out, elements);
		al_exact_divide(out, t->stored->tensor->packed);
		return true;
	}
	al_dtype_exact_bytes(storage, elements, out);
	return true;
}

static bool is_wanted(const struct al_share *share, const struct al_ledger_entry *t)
{
	return (share->parts >> t->part & 1) && (t->is_in_layers || !share->only_layers);
}

bool al_ledger_file_bytes(struct al_ledger *ledger, const struct al_inference *inference, mpq_t out,
	struct al_error *err)
{
	const struct al_ledger_list *tensors;
	bool ok = true;
	mpq_t bytes;

	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	mpq_init(bytes);
	mpq_set_ui(out, 0, 1);
	for (size_t i = 0; ok && i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (!is_in_file(ledger, &inference->weights, t) || !is_wanted(&inference->share, t))
			continue;
		ok = tensor_bytes(ledger, &inference->weights, t, t->device, bytes, err);
		al_exact_add(out, bytes);
	}
	mpq_clear(bytes);
	return ok;
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

static bool add_weight(struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_ledger_entry *t, struct al_inference_row *row, struct al_error *err)
{
	mpq_t elements, bytes;

	mpq_inits(elements, bytes, NULL);
	used_elements(t, inference->batch, elements);
	if (is_looked_up(ledger, t)) {
		al_exact_multiply(elements, inference->batch);
		al_exact_divide(elements, t->dims[0]);
	}
	bool ok = tensor_bytes(ledger, &inference->weights, t, elements, bytes, err);
	al_exact_add(row->read, bytes);
	if (t->is_matrix && !is_looked_up(ledger, t) && t->entry->kind == AL_TENSOR_WEIGHT) {
		mpq_set(bytes, t->active);
		mpq_mul(bytes, bytes, t->device);
		if (mpq_sgn(t->elements) != 0)
			mpq_div(bytes, bytes, t->elements);
		al_exact_multiply(bytes, 2 * inference->batch);
		al_exact_add(row->flops, bytes);
	}
	mpq_clears(elements, bytes, NULL);
	return ok;
}

static bool add_weights(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row *row, struct al_error *err)
{
	if (!al_ledger_file_bytes(ledger, inference, row->bytes, err))
		return false;
	mpq_set(row->allocated, row->bytes);
	for (size_t i = 0; i < al_ledger_tensors(ledger)->n; i++) {
		const struct al_ledger_entry *t = &al_ledger_tensors(ledger)->items[i];
		if (is_in_file(ledger, &inference->weights, t) && is_wanted(&inference->share, t)
			&& !add_weight(ledger, inference, t, row, err))
			return al_in(err, "%s", t->name);
	}
	return true;
}

/* ---- cache ---- */

static void add_cached(const struct al_inference *inference, const struct al_cache_entry *line,
	struct al_inference_row *row)
{
	bool is_state = line->kind == AL_CACHE_STATE;
	int64_t all = line->kind == AL_CACHE_CROSS ? inference->source_seq
		: is_state			   ? 1
						   : inference->seq;
	mpq_t bytes;

	mpq_init(bytes);
	al_dtype_exact_bytes(line->storage, line->entry->elements, bytes);
	al_exact_multiply(bytes, line->tokens);
	al_exact_multiply(bytes, inference->batch);
	al_exact_divide(bytes, inference->tp);
	al_exact_add(row->bytes, bytes);
	al_exact_add(row->read, bytes);
	al_dtype_exact_bytes(line->storage, line->expanded, bytes);
	al_exact_multiply(bytes, all);
	al_exact_multiply(bytes, inference->batch);
	al_exact_add(row->allocated, bytes);
	mpq_clear(bytes);
}

/* Scores and contexts: products over the sequence, of which a new token makes one row. */
static bool add_score_flops(struct al_ledger *ledger, const struct al_inference *inference,
	mpq_t flops, struct al_error *err)
{
	const struct al_ledger_list *products;
	mpq_t one;

	if (!al_ledger_entries(ledger, AL_LIST_ABSORBED, &products, err))
		return false;
	mpq_init(one);
	for (size_t i = 0; i < products->n; i++) {
		const struct al_ledger_entry *e = &products->items[i];
		if (e->extra
			|| (!al_formula_mentions(e->entry->left.dims[1], "seq")
				&& !al_formula_mentions(e->entry->right.dims[1], "seq")))
			continue;
		mpq_set(one, e->device);
		al_exact_multiply(one, 2 * inference->batch);
		al_exact_divide(one, inference->seq);
		al_exact_add(flops, one);
	}
	mpq_clear(one);
	return true;
}

static bool add_cache(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	struct al_cache_entries cache;

	if (!(inference->share.parts >> AL_PART_ATTENTION & 1))
		return true;
	if (!al_ledger_cache(ledger, inference->cache, inference->seq, inference->source_seq,
		    &cache, err))
		return false;
	for (size_t i = 0; i < cache.n; i++)
		add_cached(inference, &cache.lines[i],
			&rows[cache.lines[i].kind == AL_CACHE_STATE ? AL_STATE_STATES
								    : AL_STATE_CACHE]);
	return add_score_flops(ledger, inference, rows[AL_STATE_CACHE].flops, err);
}

/* ---- activations ---- */

/* What the other lines of its block hold with it, of one block; lines before it were looked at. */
static void sum_block(const struct al_saved_entries *saved, size_t first, mpq_t out)
{
	const struct al_saved_entry *of = &saved->lines[first];
	mpq_t one;

	mpq_init(one);
	mpq_set_ui(out, 0, 1);
	for (size_t i = first; i < saved->n; i++) {
		const struct al_saved_entry *line = &saved->lines[i];
		bool is_mask = line->bytes == 1;
		if (line->block != of->block || is_mask || line->is_statistic
			|| line->per == AL_PER_PAIR || line->blocks == 0)
			continue;
		mpq_set(one, line->device);
		al_exact_divide(one, line->blocks);
		al_exact_add(out, one);
	}
	mpq_clear(one);
}

/* A forward over the whole prompt holds the residual stream and the tensors of one block at a time,
 * at most those of the largest. */
static bool add_activations(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row *row, struct al_error *err)
{
	struct al_saved_entries saved;
	const struct al_setting *width;
	mpq_t sum;

	if (!al_ledger_saved(ledger, true, &saved, err)
		|| !al_settings_get(&ledger->settings, "d_model", &width, err))
		return false;
	mpq_init(sum);
	for (size_t i = 0; i < saved.n; i++) {
		if (saved.lines[i].block < 0)
			continue;
		sum_block(&saved, i, sum);
		if (mpq_cmp(sum, row->bytes) > 0)
			mpq_set(row->bytes, sum);
	}
	mpq_set_si(sum, width ? (long)width->value.integer : 0, 1);
	al_exact_add(row->bytes, sum);
	al_exact_multiply(row->bytes, inference->batch);
	al_exact_multiply(row->bytes, inference->seq);
	al_exact_multiply(row->bytes, inference->activation_bytes);
	mpq_set(row->allocated, row->bytes);
	mpq_clear(sum);
	return true;
}

enum al_tensor_list_detail al_inference_detail(const struct al_inference *inference)
{
	return inference->weights.more ? AL_TENSORS_BY_LAYER : AL_TENSORS_BY_KIND;
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
	return add_weights(ledger, inference, &rows[AL_STATE_WEIGHTS], err)
		&& add_cache(ledger, inference, rows, err)
		&& add_activations(ledger, inference, &rows[AL_STATE_ACTIVATIONS], err);
}
