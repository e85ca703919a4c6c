/* Rows of inference; memory of one forward pass, and what an engine adds to it. */

#include "ledger/infer_parts.h"

/* ---- rows ---- */

void al_inference_row_init(struct al_inference_row *row)
{
	mpq_inits(row->bytes, row->read, row->flops, NULL);
}

void al_inference_row_finish(struct al_inference_row *row)
{
	mpq_clears(row->bytes, row->read, row->flops, NULL);
}

void al_inference_rows_init(struct al_inference_row rows[AL_N_STATES])
{
	for (int i = 0; i < AL_N_STATES; i++)
		al_inference_row_init(&rows[i]);
}

void al_inference_rows_finish(void *object)
{
	struct al_inference_row *rows = object;

	for (int i = 0; i < AL_N_STATES; i++)
		al_inference_row_finish(&rows[i]);
}

void al_inference_tally(const struct al_inference *inference, const struct al_inference_part *part,
	struct al_inference_row rows[AL_N_STATES])
{
	struct al_inference_row *sum = &rows[part->state];

	al_exact_add(sum->bytes, part->row->bytes);
	al_exact_add(sum->read, part->row->read);
	al_exact_add(sum->flops, part->row->flops);
	if (inference->watch)
		inference->watch->hear(inference->watch->context, part);
}

/* ---- lines that a forward holds ---- */

/* Does a forward hold the line with the others of its block? Masks, statistics and scores are for
 * the backward, or never there. */
static bool is_held(const struct al_ledger *ledger, const struct al_saved_entry *line,
	int64_t block)
{
	const struct al_engine_choice *choice = ledger->ask.engine;
	const bool is_mask = line->bytes == 1;

	return line->block == block && !is_mask && !line->is_statistic && line->per != AL_PER_PAIR
		&& line->blocks > 0
		&& !(line->is_routed && choice && choice->engine->has_shared_inputs);
}

/* Numbers for one token of one block of this kind, whose first line is given. */
static void sum_block(const struct al_ledger *ledger, const struct al_saved_entries *saved,
	size_t first, mpq_t out)
{
	AL_EXACT(one);
	mpq_set_ui(out, 0, 1);
	for (size_t i = first; i < saved->n; i++) {
		if (!is_held(ledger, &saved->lines[i], saved->lines[first].block))
			continue;
		mpq_set(one, saved->lines[i].device);
		al_exact_divide(one, saved->lines[i].blocks);
		al_exact_add(out, one);
	}
}

int64_t al_inference_tokens_at_once(const struct al_engine_choice *engine,
	const struct al_inference *inference)
{
	const int64_t chunk = inference->is_encoder ? 0 : engine ? engine->chunk : 1;
	int64_t all;

	if (__builtin_mul_overflow(inference->batch, inference->seq, &all))
		all = INT64_MAX;
	return chunk > 0 && chunk < all ? chunk : all;
}

/* `numbers` of one token; they become those of all tokens that are processed at once. */
static void add_held(const struct al_ledger *ledger, const struct al_inference *inference,
	const char *name, mpq_t numbers, struct al_inference_row rows[AL_N_STATES])
{
	const struct al_dtype storage = {.block_elements = 1,
		.block_bytes = (size_t)inference->activation_bytes};

	AL_INFERENCE_ROW(row);
	al_exact_multiply(numbers, al_inference_tokens_at_once(ledger->ask.engine, inference));
	al_dtype_exact_bytes(&storage, numbers, row.bytes);
	al_inference_tally(inference,
		&(struct al_inference_part){.state = AL_STATE_ACTIVATIONS,
			.name = name,
			.numbers = numbers,
			.storage = &storage,
			.row = &row},
		rows);
}

/* ---- engines ---- */

/* The largest that a layer has; 0: none has one. */
static bool find_window(struct al_ledger *ledger, const struct al_inference *inference,
	int64_t *out, struct al_error *err)
{
	struct al_cache_entries cache;

	*out = 0;
	if (inference->is_encoder)
		return true;
	if (!al_ledger_cache(ledger, inference->cache, inference->seq, inference->source_seq,
		    inference->batch, &cache, err))
		return false;
	for (size_t i = 0; i < cache.n; i++)
		*out = al_most(cache.lines[i].limit, *out);
	return true;
}

static bool engine_bytes(struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_formula *formula, int64_t *out, struct al_error *err)
{
	const struct al_setting *vocab = NULL, *width = NULL, *heads = NULL;
	struct al_engine_scope scope = {.choice = ledger->ask.engine,
		.seq = inference->seq,
		.batch = inference->batch,
		.tp = inference->tp,
		.devices = inference->tp * al_most(inference->pp, 1)};

	*out = 0;
	if (!formula)
		return true;
	if (!al_settings_get(&ledger->settings, "vocab", &vocab, err)
		|| !al_settings_get(&ledger->settings, "d_model", &width, err)
		|| !al_settings_get(&ledger->settings, "n_heads", &heads, err)
		|| (al_formula_mentions(formula, "window")
			&& !find_window(ledger, inference, &scope.window, err)))
		return false;
	scope.vocab = vocab ? vocab->value.integer : 0;
	scope.d_model = width ? width->value.integer : 0;
	scope.n_heads = heads ? heads->value.integer : 0;
	return al_engine_bytes(&scope, formula, out, err);
}

static void add_bytes(const struct al_inference *inference, enum al_memory_state state,
	const char *name, const struct al_formula *formula, int64_t bytes,
	struct al_inference_row rows[AL_N_STATES])
{
	const struct al_dtype storage = {.block_elements = 1, .block_bytes = 1};

	AL_INFERENCE_ROW(row);
	al_exact_set(row.bytes, bytes);
	al_inference_tally(inference,
		&(struct al_inference_part){.state = state,
			.name = name,
			.numbers = row.bytes,
			.storage = &storage,
			.formula = al_formula_source(formula),
			.row = &row},
		rows);
}

static bool add_overhead(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	const struct al_engine_choice *choice = ledger->ask.engine;
	int64_t bytes;

	if (!choice || !choice->engine->overhead)
		return true;
	if (!engine_bytes(ledger, inference, choice->engine->overhead, &bytes, err))
		return false;
	add_bytes(inference, AL_STATE_OVERHEAD, "runtime and graphs", choice->engine->overhead,
		bytes, rows);
	return true;
}

/* ---- the peak ---- */

/* What is held most: a block's tensors, with what the engine holds with them, or sampling's. */
struct peak {
	int64_t block; /* -1: there is none */
	const struct al_formula *formula; /* NULL: none */
	int64_t bytes; /* by the formula */
	bool is_sampling;
};

/* What the engine holds with each attention module and each feed-forward block. */
struct beside {
	struct peak attention, feed_forward;
};

static bool find_beside(struct al_ledger *ledger, const struct al_inference *inference,
	struct beside *out, struct al_error *err)
{
	const struct al_engine_choice *choice = ledger->ask.engine;

	*out = (struct beside){0};
	if (!choice)
		return true;
	out->attention.formula = choice->engine->with_attention;
	out->feed_forward.formula = choice->engine->with_feed_forward;
	return engine_bytes(ledger, inference, out->attention.formula, &out->attention.bytes, err)
		&& engine_bytes(ledger, inference, out->feed_forward.formula,
			&out->feed_forward.bytes, err);
}

/* The block of the i-th line, its first. */
static void try_block(const struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_saved_entries *saved, size_t i, const struct beside *beside,
	struct peak *out, mpq_t most)
{
	struct peak peak = saved->lines[i].part == AL_PART_ATTENTION ? beside->attention
								     : beside->feed_forward;

	peak.block = saved->lines[i].block;
	AL_EXACT(sum);
	AL_EXACT(more);
	sum_block(ledger, saved, i, sum);
	al_exact_multiply(sum, al_inference_tokens_at_once(ledger->ask.engine, inference));
	al_exact_multiply(sum, inference->activation_bytes);
	al_exact_set(more, peak.bytes);
	al_exact_add(sum, more);
	if (mpq_cmp(sum, most) > 0) {
		mpq_set(most, sum);
		*out = peak;
	}
}

static bool try_sampling(struct al_ledger *ledger, const struct al_inference *inference,
	struct peak *out, mpq_t most, struct al_error *err)
{
	const struct al_engine_choice *choice = ledger->ask.engine;
	struct peak peak = {.block = -1, .is_sampling = true};

	if (!choice || (inference->pp > 1 && inference->stage != inference->pp - 1))
		return true;
	peak.formula = choice->engine->sampling;
	if (!engine_bytes(ledger, inference, peak.formula, &peak.bytes, err))
		return false;
	AL_EXACT(bytes);
	al_exact_set(bytes, peak.bytes);
	if (peak.bytes > 0 && mpq_cmp(bytes, most) >= 0)
		*out = peak;
	return true;
}

static bool find_peak(struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_saved_entries *saved, struct peak *out, struct al_error *err)
{
	struct beside beside;

	*out = (struct peak){.block = -1};
	if (!find_beside(ledger, inference, &beside, err))
		return false;
	AL_EXACT(most);
	for (size_t i = 0; i < saved->n; i++) {
		const int64_t block = saved->lines[i].block;
		if (block < 0 || (i > 0 && saved->lines[i - 1].block == block))
			continue;
		try_block(ledger, inference, saved, i, &beside, out, most);
	}
	return try_sampling(ledger, inference, out, most, err);
}

/* ---- a forward ---- */

static void add_block(const struct al_ledger *ledger, const struct al_inference *inference,
	const struct al_saved_entries *saved, int64_t block,
	struct al_inference_row rows[AL_N_STATES])
{
	AL_EXACT(numbers);

	for (size_t i = 0; i < saved->n && block >= 0; i++) {
		if (!is_held(ledger, &saved->lines[i], block))
			continue;
		mpq_set(numbers, saved->lines[i].device);
		al_exact_divide(numbers, saved->lines[i].blocks);
		add_held(ledger, inference, saved->lines[i].name, numbers, rows);
	}
}

/* A forward over the tokens that are processed at once holds the residual stream and the tensors of
 * one block at a time, at most those of the largest. */
static bool add_activations(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	const struct al_saving saving = {.is_flash = true};
	struct al_saved_entries saved;
	const struct al_setting *width;
	struct peak peak;

	if (!al_ledger_saved(ledger, &saving, &saved, err)
		|| !al_settings_get(&ledger->settings, "d_model", &width, err)
		|| !find_peak(ledger, inference, &saved, &peak, err))
		return false;
	AL_EXACT(numbers);
	al_exact_set(numbers, width ? width->value.integer : 0);
	add_held(ledger, inference, "residual stream", numbers, rows);
	add_block(ledger, inference, &saved, peak.block, rows);
	if (peak.bytes > 0)
		add_bytes(inference, AL_STATE_ACTIVATIONS,
			peak.is_sampling ? "sampling" : "masks and workspace", peak.formula,
			peak.bytes, rows);
	return true;
}

bool al_inference_add_held(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err)
{
	return add_activations(ledger, inference, rows, err)
		&& add_overhead(ledger, inference, rows, err);
}
