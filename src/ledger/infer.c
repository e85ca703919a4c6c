/* Inference memory of a whole model, and what a decoded token reads and computes. */
#include "ledger/infer.h"

#include "ledger/entries.h"
#include "ledger/infer_parts.h"
#include "ledger/quantize_facts.h"
#include "ledger/stage.h"

const enum al_memory_state al_inference_states[AL_N_INFERENCE_STATES] = {
	AL_STATE_WEIGHTS,
	AL_STATE_DRAFT_WEIGHTS,
	AL_STATE_CACHE,
	AL_STATE_STATES,
	AL_STATE_DRAFT_CACHE,
	AL_STATE_ACTIVATIONS,
	AL_STATE_OVERHEAD,
};

/* ---- weights ---- */

/* Scales that the family lists are those of what a checkpoint packs, and of FP8 matrices: these
 * need none where they are widened, and in a file of blocks they are in the blocks. */
static bool is_scale_in_file(const struct al_ledger *ledger, const struct al_quantization *q,
	const struct al_ledger_entry *t)
{
	if (t->beside)
		return true;
	return !q->is_file
		&& (al_family_packs(ledger->family) || q->is_config
			|| (q->dtype && strcmp(q->dtype->name, "fp8") == 0));
}

static bool is_in_file(const struct al_ledger *ledger, const struct al_quantization *q,
	const struct al_ledger_entry *t)
{
	const bool has_mtp = ledger->ask.engine && ledger->ask.engine->has_mtp;

	if ((t->extra && !has_mtp) || t->tied_to)
		return false;
	if (t->entry->kind == AL_TENSOR_SCALE)
		return is_scale_in_file(ledger, q, t);
	return t->entry->kind != AL_TENSOR_BUFFER;
}

static bool is_wanted(const struct al_share *share, const struct al_ledger_entry *t)
{
	return (share->parts >> t->part & 1) && (t->is_in_layers || !share->only_layers);
}

/* ---- pipeline stages and experts ---- */

/* Layers are dealt out evenly, the first stages have one more; what predicts further tokens is
 * behind the last. */
static int64_t stage_of_layer(const struct al_inference *inference, const struct al_ledger_entry *e)
{
	const int64_t pp = inference->pp, each = e->n_layers / pp, more = e->n_layers % pp;

	if (e->extra || e->layer >= e->n_layers)
		return pp - 1;
	return e->layer < more * (each + 1) ? e->layer / (each + 1)
					    : more + (e->layer - more * (each + 1)) / each;
}

/* Tables are of the first stage, heads and the last norm of the last; a table that makes the logits
 * is in both. */
static bool is_on_stage(struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_ledger_entry *e)
{
	if (inference->pp <= 1)
		return true;
	if (e->layer >= 0 && e->n_layers > 0)
		return stage_of_layer(inference, e) == inference->stage;
	if (e->part == AL_PART_EMBEDDING)
		return inference->stage == 0
			|| (inference->stage == inference->pp - 1
				&& al_entry_is_tied_table(ledger, e));
	return inference->stage == (e->sees_text ? inference->pp - 1 : 0);
}

/* Experts of one device: their share of all by expert parallelism, instead of each one's share by
 * tensor parallelism. */
static void device_elements(const struct al_inference *inference, const struct al_ledger_entry *t,
	mpq_t out)
{
	mpq_set(out, t->device);
	if (inference->ep <= 1 || !t->is_expert)
		return;
	mpq_set(out, t->elements);
	al_exact_divide(out, inference->ep);
}

/* ---- one more token of each sequence ---- */

/* One device's part of a part of the tensor's numbers. */
static void share_out(const struct al_ledger_entry *t, mpq_srcptr device, mpq_t numbers)
{
	if (mpq_sgn(t->elements) == 0 || mpq_equal(device, t->elements))
		return;
	mpq_mul(numbers, numbers, device);
	mpq_div(numbers, numbers, t->elements);
}

/* Copies of a tensor that `batch` tokens use: an expert is read once however many of them it works
 * on, and they choose as many different ones as there are. */
static void used_elements(const struct al_ledger_entry *t, int64_t batch, mpq_srcptr device,
	mpq_t out)
{
	mpq_set(out, t->active);
	if (t->is_expert)
		al_exact_multiply(out, batch);
	if (mpq_cmp(out, t->elements) > 0)
		mpq_set(out, t->elements);
	share_out(t, device, out);
}

/* A table is looked up, unless it makes the logits too. */
static bool is_looked_up(struct al_ledger *ledger, const struct al_ledger_entry *t)
{
	return t->part == AL_PART_EMBEDDING && t->is_matrix && !al_entry_is_tied_table(ledger, t);
}

/* The FLOPs of one more token of each sequence with a matrix. */
static void matrix_flops(const struct al_ledger_entry *t, int64_t batch, mpq_srcptr device,
	mpq_t out)
{
	mpq_set(out, t->active);
	share_out(t, device, out);
	al_exact_multiply(out, 2 * batch);
}

/* Scales the bytes of n rows to those of whole tiles. */
static void fill_tiles(mpq_t bytes, int64_t n, int64_t tile)
{
	if (n <= 0)
		return;
	al_exact_multiply(bytes, (n + tile - 1) / tile * tile);
	al_exact_divide(bytes, n);
}

/* Of what tensor parallelism cuts, one device's part: an up-projection's rows, a down-projection's
 * columns. */
static int64_t part_of(const struct al_inference *inference, int64_t n)
{
	return inference->ep <= 1 && inference->tp > 1 && n % inference->tp == 0 ? n / inference->tp
										 : n;
}

/* Packed experts as the engine's kernels have them in memory. */
static void lay_out(const struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_ledger_entry *t, mpq_t bytes)
{
	const struct al_engine_choice *choice = ledger->ask.engine;
	const bool is_scale = t->entry->kind == AL_TENSOR_SCALE;
	int64_t facts[AL_N_FACTS] = {0};

	if (!choice || !t->is_expert || !t->stored || inference->weights->is_file
		|| !(is_scale ? al_family_packs(ledger->family) : t->stored->tensor->packed > 1))
		return;
	const enum al_feed_forward_role role = t->stored->tensor->role;
	al_facts_set_shape(t, NULL, facts);
	int64_t rows = facts[AL_FACT_ROWS], columns = facts[AL_FACT_COLS];
	rows = role == AL_FEED_UP ? part_of(inference, rows) : rows;
	columns = role == AL_FEED_DOWN ? part_of(inference, columns) : columns;
	fill_tiles(bytes, rows, choice->engine->tile_rows);
	if (!is_scale)
		fill_tiles(bytes, columns, choice->engine->tile_columns);
}

static void weigh(struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_ledger_entry *t, const struct al_dtype *storage,
	struct al_inference_row *out)
{
	const bool is_looked = is_looked_up(ledger, t);

	AL_EXACT(device);
	device_elements(inference, t, device);
	al_dtype_exact_bytes(storage, device, out->bytes);
	lay_out(ledger, inference, t, out->bytes);
	used_elements(t, inference->batch, device, out->read);
	if (is_looked) {
		al_exact_multiply(out->read, inference->batch);
		al_exact_divide(out->read, t->dims[0]);
	}
	al_dtype_exact_bytes(storage, out->read, out->read);
	if (t->is_matrix && !is_looked && t->entry->kind == AL_TENSOR_WEIGHT)
		matrix_flops(t, inference->batch, device, out->flops);
}

/* How often a draft model runs for a new token depends on how many of its tokens are taken. */
static void read_nothing(struct al_inference_row *row)
{
	mpq_set_ui(row->read, 0, 1);
	mpq_set_ui(row->flops, 0, 1);
}

static bool add_weight(struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_ledger_entry *t, enum al_memory_state state,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	struct al_stored_format format;

	if (!al_quantized_format(inference->weights, ledger, t, &format, err))
		return al_in(err, "%s", t->name);
	AL_INFERENCE_ROW(row);
	weigh(ledger, inference, t, &format.dtype, &row);
	if (state != AL_STATE_WEIGHTS)
		read_nothing(&row);
	al_inference_tally(inference,
		&(struct al_inference_part){.state = state,
			.name = t->name,
			.entry = t,
			.numbers = t->device,
			.storage = &format.dtype,
			.row = &row},
		rows);
	return true;
}

static bool add_weights(struct al_ledger *ledger, const struct al_inference *inference,
	enum al_memory_state state, struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	const struct al_ledger_list *tensors;

	if (!al_ledger_entries(ledger, AL_LIST_TENSORS, &tensors, err))
		return false;
	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (is_in_file(ledger, inference->weights, t) && is_wanted(&inference->share, t)
			&& is_on_stage(ledger, inference, t)
			&& !add_weight(ledger, inference, t, state, rows, err))
			return false;
	}
	return true;
}

/* On the last stage of a pipeline. */
static bool is_behind(const struct al_inference *inference)
{
	return inference->pp <= 1 || inference->stage == inference->pp - 1;
}

static bool add_draft(const struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	struct al_inference of_draft = *inference;

	if (!ledger->ask.draft || !is_behind(inference))
		return true;
	of_draft.weights = ledger->ask.draft->ask.quantization;
	of_draft.pp = 1;
	return add_weights(ledger->ask.draft, &of_draft, AL_STATE_DRAFT_WEIGHTS, rows, err)
		|| al_in(err, "draft model");
}

/* ---- cache ---- */

static void add_cached(const struct al_inference *inference, const struct al_cache_entry *line,
	struct al_inference_row rows[AL_N_STATES])
{
	const enum al_memory_state state = line->is_draft ? AL_STATE_DRAFT_CACHE
		: line->kind == AL_CACHE_STATE		  ? AL_STATE_STATES
							  : AL_STATE_CACHE;

	AL_INFERENCE_ROW(row);
	AL_EXACT(numbers);
	mpq_set(numbers, line->rank);
	al_exact_multiply(numbers, inference->batch);
	al_dtype_exact_bytes(line->storage, numbers, row.read);
	al_exact_multiply(row.read, line->tokens);
	al_exact_multiply(numbers, line->held);
	al_dtype_exact_bytes(line->storage, numbers, row.bytes);
	if (line->is_draft)
		read_nothing(&row);
	al_inference_tally(inference,
		&(struct al_inference_part){.state = state,
			.name = line->entry->name,
			.entry = line->entry,
			.cached = line,
			.numbers = numbers,
			.storage = line->storage,
			.row = &row},
		rows);
}

/* Of a pipeline's stage its share. */
static void add_padding(const struct al_inference *inference, const struct al_layer_groups *groups,
	struct al_inference_row rows[AL_N_STATES])
{
	const struct al_dtype bytes = {.block_elements = 1, .block_bytes = 1};

	AL_INFERENCE_ROW(row);
	if (groups->n_groups == 0 || mpq_sgn(groups->padding) == 0)
		return;
	mpq_set(row.bytes, groups->padding);
	al_exact_multiply(row.bytes, inference->batch);
	al_exact_divide(row.bytes, al_most(inference->pp, 1));
	al_inference_tally(inference,
		&(struct al_inference_part){.state = AL_STATE_CACHE,
			.name = "padding",
			.formula = "batch * blocks * page * layers of a group - entries",
			.numbers = row.bytes,
			.storage = &bytes,
			.row = &row},
		rows);
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

	if (!al_ledger_entries(ledger, AL_LIST_ABSORBED, &products, err))
		return false;
	AL_INFERENCE_ROW(row);
	for (size_t i = 0; i < products->n; i++) {
		const struct al_ledger_entry *e = &products->items[i];
		if (!e->sees_text || !is_over_sequence(e->entry)
			|| !is_on_stage(ledger, inference, e))
			continue;
		mpq_set(row.flops, e->device);
		al_exact_multiply(row.flops, 2 * inference->batch);
		al_exact_divide(row.flops, inference->seq);
		al_inference_tally(inference,
			&(struct al_inference_part){.state = AL_STATE_CACHE,
				.name = e->name,
				.entry = e,
				.row = &row},
			rows);
	}
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

	if (!has_attention(inference) || inference->is_encoder)
		return true;
	if (!al_ledger_cache(ledger, inference->cache, inference->seq, inference->source_seq,
		    inference->batch, &cache, err))
		return false;
	for (size_t i = 0; i < cache.n; i++) {
		if (!cache.lines[i].rank)
			return al_fail(err, AL_EINPUT, "%s: its cache in this engine is unknown",
				cache.lines[i].entry->name);
		if (cache.lines[i].is_draft ? is_behind(inference)
					    : is_on_stage(ledger, inference, cache.lines[i].entry))
			add_cached(inference, &cache.lines[i], rows);
	}
	add_padding(inference, &cache.groups, rows);
	return add_score_flops(ledger, inference, rows, err);
}

enum al_tensor_list_detail al_inference_detail(const struct al_inference *inference)
{
	return inference->weights->is_by_layer || inference->pp > 1 ? AL_TENSORS_BY_LAYER
								    : AL_TENSORS_BY_KIND;
}

bool al_ledger_infer(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	if (!al_ledger_update(ledger, err))
		return false;
	al_inference_rows_finish(rows);
	al_inference_rows_init(rows);
	al_ledger_set_tokens(ledger, inference->seq);
	return add_weights(ledger, inference, AL_STATE_WEIGHTS, rows, err)
		&& add_draft(ledger, inference, rows, err)
		&& add_cache(ledger, inference, rows, err)
		&& al_inference_add_held(ledger, inference, rows, err);
}

static void sum_rows(struct al_inference_row rows[AL_N_STATES], mpq_t out)
{
	mpq_set_ui(out, 0, 1);
	for (int i = 0; i < AL_N_STATES; i++)
		al_exact_add(out, rows[i].bytes);
}

bool al_ledger_infer_largest(struct al_ledger *ledger, struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	const struct al_training degrees = {.pp = inference->pp,
		.interleave = 1,
		.ep = inference->ep};
	const struct al_inference_watch *watch = inference->watch;
	int64_t largest = 0;
	bool ok = true;

	if (!al_stages_check(ledger, &degrees, err))
		return false;
	inference->watch = NULL;
	AL_EXACT(most);
	AL_EXACT(sum);
	for (inference->stage = 0; ok && inference->stage < inference->pp; inference->stage++) {
		ok = inference->pp == 1 || al_ledger_infer(ledger, inference, rows, err);
		sum_rows(rows, sum);
		if (!ok || mpq_cmp(sum, most) <= 0)
			continue;
		mpq_set(most, sum);
		largest = inference->stage;
	}
	inference->stage = largest;
	inference->watch = watch;
	return ok && al_ledger_infer(ledger, inference, rows, err);
}

bool al_inference_is_known(const struct al_ledger *ledger, const struct al_inference *inference,
	int state, bool of_flops, struct al_undeclared *out)
{
	const bool is_all = state == AL_N_STATES;
	const bool is_of_cache = !inference->is_encoder
		&& (is_all || state == AL_STATE_CACHE || state == AL_STATE_STATES);
	const bool is_held = is_all || state == AL_STATE_ACTIVATIONS;

	if (!has_attention(inference))
		return true;
	if (of_flops)
		return !is_of_cache || al_ledger_declares_list(ledger, AL_LIST_ABSORBED, out);
	return (!is_of_cache || al_ledger_declares_list(ledger, AL_LIST_CACHE, out))
		&& (!is_held || al_ledger_declares_list(ledger, AL_LIST_FLASH, out));
}
