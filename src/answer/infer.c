/* memory without --train: weights, cache and one forward of a whole model on one device; weights
 * and cache of attention alone. */
#include "answer/memory.h"

#include "catalog/gpu.h"

bool al_lay_out_device(struct al_request *q, const struct al_device_options *o,
	struct al_training *training, struct al_error *err)
{
	struct al_gpu gpu;
	int64_t n = 0;

	if (!o->device)
		return true;
	if (!al_gpu_parse(q->arena, o->device, &gpu, &n, err))
		return al_in(err, "--device");
	if (!al_engine_settle(&q->engine, &gpu, err))
		return false;
	if (n > 0 && training->tp * training->pp * training->dp * training->cp == 1
		&& !o->is_training)
		training->tp = n;
	const int64_t degrees = training->tp * training->pp * training->dp * training->cp;
	return n == 0 || degrees == n
		|| al_fail(err, AL_EINPUT,
			"--device %s: the layout has %lld devices, not %lld; use --tp, --pp or "
			"--dp",
			o->device, (long long)degrees, (long long)n);
}

bool al_inference_init(struct al_inference *inference, const struct al_device_options *o,
	struct al_request *q, struct al_error *err)
{
	struct al_training training;

	if (q->engine.kernel && !al_formula_mentions(q->engine.engine->with_attention, "eager"))
		return al_fail(err, AL_EINPUT,
			"--attention: engine %s has no such setting; use --engine llama.cpp, or "
			"--train",
			q->engine.engine->name);
	*inference = (struct al_inference){.activation_bytes = q->engine.engine->activation_bytes,
		.is_encoder = al_request_is_encoder(q),
		.engine = &q->engine};
	q->engine.is_at_peak = true;
	if (!al_devices_init(&training, o, q, err)
		|| !al_request_cache_format(q, o->cache_dtype, err)
		|| !al_request_number(q, "source_seq", 0, training.seq, &inference->source_seq,
			err))
		return false;
	if (!al_lay_out_device(q, o, &training, err))
		return false;
	if (training.tp * training.dp % training.ep != 0)
		return al_fail(err, AL_EINPUT, "tp*dp (%lld) is not a multiple of ep (%lld)",
			(long long)(training.tp * training.dp), (long long)training.ep);
	inference->cache = q->cache.dtype;
	inference->share = training.share;
	inference->batch = al_divide_up(training.batch, training.dp);
	inference->pp = training.pp;
	inference->ep = training.ep;
	inference->seq = training.seq;
	inference->tp = training.tp;
	inference->weights = al_request_quantization(q, o->dtype, err);
	return inference->weights;
}

struct record {
	struct al_titled state;
	mpq_srcptr bytes, read, flops, intensity;
};

enum { WITH_NEW_TOKENS = 1 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, state, "State")},
	{AL_SHOW_BYTES(struct record, bytes, "Memory")},
	{AL_SHOW_BYTES(struct record, read, "Read/new token"), .when = WITH_NEW_TOKENS},
	{AL_SHOW_FLOPS(struct record, flops, "FLOPs/new token"), .when = WITH_NEW_TOKENS},
	{AL_SHOW(struct record, intensity, "FLOPs per byte", .digits = 2), .when = WITH_NEW_TOKENS},
	AL_FIELDS_END,
};

/* If a variant doesn't list an entry, it is unknown, and so is any total that includes it. */
struct answer {
	struct al_table *table;
	const struct al_request *request;
	const struct al_ledger *ledger;
	const struct al_inference *inference;
};

static bool is_known(const struct answer *a, int state, bool of_flops)
{
	struct al_undeclared undeclared;

	if (a->request->lacks_seq && state != AL_STATE_WEIGHTS && state != AL_STATE_STATES
		&& state != AL_STATE_DRAFT_WEIGHTS && state != AL_STATE_OVERHEAD)
		return false;
	if (al_inference_is_known(a->ledger, a->inference, state, of_flops, &undeclared))
		return true;
	al_note_undeclared(&undeclared, a->table);
	return false;
}

static bool is_of_draft(int state)
{
	return state == AL_STATE_DRAFT_WEIGHTS || state == AL_STATE_DRAFT_CACHE;
}

/* `state` AL_N_STATES: the total. */
static void add_row(const struct answer *a, int state, const struct al_inference_row *row)
{
	const bool has_bytes = is_known(a, state, false), has_flops = is_known(a, state, true);
	const bool is_read = has_bytes || (state == AL_STATE_ACTIVATIONS && !a->request->lacks_seq);
	mpq_ptr intensity = al_exact_new(&a->table->arena);
	struct record record = {.state = al_state_titled(state),
		.bytes = has_bytes ? row->bytes : NULL,
		.read = is_read && !is_of_draft(state) ? row->read : NULL,
		.flops = has_flops && !is_of_draft(state) ? row->flops : NULL};

	if (is_read && has_flops && mpq_sgn(row->read) != 0) {
		mpq_div(intensity, row->flops, row->read);
		record.intensity = intensity;
	}
	al_table_add_record(a->table, &record);
}

static bool is_always_there(const struct answer *a, enum al_memory_state state)
{
	return state != AL_STATE_OVERHEAD && state != AL_STATE_STATES && !is_of_draft((int)state)
		&& !(state == AL_STATE_CACHE && a->inference->is_encoder);
}

static void add_rows(const struct answer *a, struct al_inference_row rows[AL_N_STATES])
{
	struct al_inference_row *total = &rows[AL_STATE_WEIGHTS];

	for (int i = 0; i < AL_N_INFERENCE_STATES; i++) {
		const enum al_memory_state state = al_inference_states[i];
		if (is_always_there(a, state) || mpq_sgn(rows[state].bytes) != 0)
			add_row(a, (int)state, &rows[state]);
	}
	for (int i = 1; i < AL_N_STATES; i++) {
		al_exact_add(total->bytes, rows[i].bytes);
		al_exact_add(total->read, rows[i].read);
		al_exact_add(total->flops, rows[i].flops);
	}
	add_row(a, AL_N_STATES, total);
	al_table_mark_total(a->table);
}

static const char *tokens_at_once(struct al_arena *arena, const struct al_engine_choice *choice)
{
	if (choice->chunk == 0)
		return "whole prompts are processed at once";
	if (choice->chunk == 1)
		return "prompts are processed one token at a time";
	return al_format(arena, "prompts are processed %lld tokens at a time",
		(long long)choice->chunk);
}

void al_infer_note(struct al_request *q, const struct al_inference *inference,
	const struct al_memory_options *o, struct al_table *table)
{
	al_note_quantization(inference->weights, o->explains, table);
	al_note_cache_format(q, "cache-dtype", table);
	al_note_engine(q, table);
	if (!q->lacks_seq)
		al_note_context(q, inference->seq, table);
	if (o->devices.training.dp > 1 || inference->ep > 1)
		al_table_warn(table,
			"one of %lld devices, with %lld of the sequences (dp=%lld) and experts "
			"over ep=%lld devices",
			(long long)(inference->tp * inference->pp * o->devices.training.dp),
			(long long)inference->batch, (long long)o->devices.training.dp,
			(long long)inference->ep);
	if (inference->pp > 1)
		al_table_warn(table, "pp=%lld: stage %lld, the fullest of the pipeline",
			(long long)inference->pp, (long long)inference->stage + 1);
	if (al_is_ideal(q))
		al_table_note(table, "lower bound; add --engine NAME for what an engine allocates");
	if (inference->is_encoder)
		al_table_note(table,
			"activations: the residual stream and the largest block of all tokens at "
			"once; an encoder keeps no cache");
	else
		al_table_note(table,
			"activations: residual stream and largest block while %s; new token: one "
			"more per sequence, MLA latents read directly (W_UK and W_UV absorbed)",
			tokens_at_once(&table->arena, &q->engine));
}

static void note_tiles(struct al_table *table, const struct al_engine_choice *choice)
{
	const struct al_engine *engine = choice ? choice->engine : NULL;

	if (engine && (engine->tile_rows > 1 || engine->tile_columns > 1))
		al_table_note(table,
			"experts among them are padded to multiples of %lld rows and %lld columns "
			"for %s's kernels",
			(long long)engine->tile_rows, (long long)engine->tile_columns,
			engine->title);
}

/* Files of blocks pack everything anew; others leave what the checkpoint packs. */
static void note_packed(struct al_table *table, const struct al_inference *inference,
	struct al_ledger *ledger)
{
	for (size_t i = 0; !inference->weights->is_file && i < ledger->tensor_list.n_tensors; i++)
		if (ledger->tensor_list.tensors[i].tensor->packed > 1) {
			al_table_note(table,
				"packed tensors of the checkpoint (%lld numbers per byte, with "
				"their scales) keep their format",
				(long long)ledger->tensor_list.tensors[i].tensor->packed);
			note_tiles(table, ledger->ask.engine);
			return;
		}
}

static struct al_ledger *open_ledger(struct al_request *q,
	const struct al_configured_variant *configured, const struct al_inference *inference,
	bool explains, struct al_error *err)
{
	struct al_ledger_ask ask = al_request_ask(q, configured, true);

	ask.tp = inference->tp;
	ask.detail = al_inference_detail(inference);
	ask.explains = explains;
	ask.quantization = inference->weights;
	return al_request_open_draft(q, &ask, err) ? al_ledger_create(q->arena, &ask, err) : NULL;
}

static struct al_inference_row *infer(struct al_request *q, struct al_ledger *ledger,
	struct al_inference *inference, struct al_error *err)
{
	struct al_inference_row *rows = al_new_array(q->arena, struct al_inference_row,
		AL_N_STATES);

	al_inference_rows_init(rows);
	al_arena_defer(q->arena, al_inference_rows_finish, rows);
	if (!al_ledger_infer_largest(ledger, inference, rows, err))
		return NULL;
	q->uncut = al_ledger_uncut(ledger);
	return rows;
}

static bool answer(struct al_session *session, struct al_request *q, struct al_inference *inference,
	struct al_ledger *ledger, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct answer a = {.table = al_session_table(session, "memory", fields,
				   inference->is_encoder ? 0 : WITH_NEW_TOKENS,
				   "Inference memory of %s", al_request_covered(q, true)),
		.request = q,
		.ledger = ledger,
		.inference = inference};
	const struct al_table *bounds = NULL;

	if (o->explains)
		al_explain_inference(session, inference);
	struct al_inference_row *rows = infer(q, ledger, inference, err);
	if (!rows)
		return false;
	mpq_srcptr weights = al_exact_copy(q->arena, rows[AL_STATE_WEIGHTS].bytes);
	add_rows(&a, rows);
	if (o->devices.device && !q->lacks_seq
		&& !al_add_bounds(session, q, inference, &rows[AL_STATE_WEIGHTS], weights, a.table,
			&bounds, err))
		return false;
	al_note_request(q, true, a.table);
	al_infer_note(q, inference, o, a.table);
	note_packed(a.table, inference, ledger);
	al_session_claim(session,
		al_memory_summarize(&session->arena,
			&(struct al_memory_told){.options = o,
				.request = q,
				.inference = inference,
				.table = a.table,
				.bounds = bounds}));
	return true;
}

bool al_infer_answer(struct al_session *session, struct al_request *q,
	struct al_inference *inference, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct al_ledger *ledger = open_ledger(q, &q->variants.items[0], inference, o->explains,
		err);

	return ledger && answer(session, q, inference, ledger, err);
}

/* ---- figures ---- */

/* What is cached, of constant size or not, is one figure, and a draft model another. */
static void take_rows(struct al_request *q, struct al_inference_row rows[AL_N_STATES],
	struct al_memory_figures *out)
{
	mpq_ptr total = al_exact_new(q->arena);

	out->has_states = mpq_sgn(rows[AL_STATE_STATES].bytes) > 0;
	al_exact_add(rows[AL_STATE_CACHE].bytes, rows[AL_STATE_STATES].bytes);
	al_exact_add(rows[AL_STATE_DRAFT_WEIGHTS].bytes, rows[AL_STATE_DRAFT_CACHE].bytes);
	for (int i = 0; i < AL_N_INFERENCE_STATES; i++) {
		const enum al_memory_state state = al_inference_states[i];
		if (state == AL_STATE_STATES || state == AL_STATE_DRAFT_CACHE)
			continue;
		al_exact_add(total, rows[state].bytes);
		out->values[state] = al_exact_copy(q->arena, rows[state].bytes);
	}
	out->values[AL_MEMORY_TOTAL] = total;
}

static void hide_unknown(const struct al_request *q, const struct al_ledger *ledger,
	const struct al_inference *inference, struct al_memory_figures *out)
{
	static const enum al_memory_state of_tokens[] = {AL_STATE_CACHE, AL_STATE_ACTIVATIONS};

	for (size_t i = 0; i < 2; i++)
		if (q->lacks_seq
			|| !al_inference_is_known(ledger, inference, (int)of_tokens[i], false,
				&out->undeclared))
			out->values[of_tokens[i]] = out->values[AL_MEMORY_TOTAL] = NULL;
}

bool al_infer_measure(struct al_request *q, const struct al_configured_variant *configured,
	struct al_inference *inference, struct al_memory_figures *out, struct al_error *err)
{
	struct al_ledger *ledger = open_ledger(q, configured, inference, false, err);
	struct al_inference_row *rows = ledger ? infer(q, ledger, inference, err) : NULL;
	mpq_ptr parameters = al_exact_new(q->arena);

	if (!rows || !al_ledger_count(ledger, AL_COUNT_PARAMETERS, parameters, err))
		return false;
	out->values[AL_MEMORY_PARAMETERS] = parameters;
	take_rows(q, rows, out);
	hide_unknown(q, ledger, inference, out);
	return true;
}

/* Activations depend on the rest of the model. */
bool al_infer_measure_attention(struct al_request *q,
	const struct al_configured_variant *configured, const struct al_device_options *options,
	struct al_memory_figures *out, struct al_error *err)
{
	const struct al_ledger_ask ask = al_request_ask(q, configured, false);
	struct al_ledger *ledger = al_ledger_create(q->arena, &ask, err);
	mpq_ptr parameters = al_exact_new(q->arena), weights = al_exact_new(q->arena),
		cache = al_exact_new(q->arena), total = al_exact_new(q->arena);
	const struct al_dtype *dtype;

	if (!ledger || !al_dtype_find(options->dtype ? options->dtype : "bf16", &dtype, err)
		|| !al_ledger_measure(ledger, AL_PARAMETERS, NULL, parameters, err)
		|| !(al_request_is_encoder(q)
			|| al_ledger_measure(ledger, AL_CACHE_BYTES, NULL, cache, err)))
		return false;
	al_dtype_exact_bytes(dtype, parameters, weights);
	mpq_add(total, weights, cache);
	out->values[AL_MEMORY_PARAMETERS] = parameters;
	out->values[AL_STATE_WEIGHTS] = weights;
	if (!q->lacks_seq && al_ledger_declares_list(ledger, AL_LIST_CACHE, &out->undeclared)) {
		out->values[AL_STATE_CACHE] = cache;
		out->values[AL_MEMORY_TOTAL] = total;
	}
	return true;
}
