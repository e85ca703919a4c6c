/* memory --inference: weights, cache and one forward of a whole model on one device. */
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
	if (n > 0 && training->tp * training->pp * training->dp * training->cp == 1
		&& o->is_inference)
		training->tp = n;
	const int64_t degrees = training->tp * training->pp * training->dp * training->cp;
	return n == 0 || degrees == n
		|| al_fail(err, AL_EINPUT,
			"--device %s: %lld devices are laid out, not %lld; use --tp, --pp or --dp",
			o->device, (long long)degrees, (long long)n);
}

bool al_inference_init(struct al_inference *inference, const struct al_device_options *o,
	struct al_request *q, struct al_error *err)
{
	struct al_training training;

	*inference = (struct al_inference){.activation_bytes = 2, .engine = &q->engine};
	if (!al_devices_init(&training, o, q, err)
		|| !al_request_cache_format(q, o->cache_dtype, err)
		|| !al_request_number(q, "source_seq", 0, training.seq, &inference->source_seq,
			err))
		return false;
	if (training.interleave > 1 || training.cp > 1 || training.zero > 0)
		return al_fail(err, AL_EINPUT,
			"--inference knows --tp, --pp, --dp and --ep, expected no --interleave, "
			"--cp or --zero");
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
	inference->weights = al_request_quantisation(q, o->dtype, err);
	return inference->weights;
}

struct record {
	struct al_titled state;
	mpq_srcptr bytes, read, flops, intensity;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, state, "State")},
	{AL_SHOW_BYTES(struct record, bytes, "Memory")},
	{AL_SHOW_BYTES(struct record, read, "Read/new token")},
	{AL_SHOW_FLOPS(struct record, flops, "FLOPs/new token")},
	{AL_SHOW(struct record, intensity, "FLOPs per byte", .digits = 2)},
	AL_FIELDS_END,
};

/* What a variant doesn't declare is not known, and neither is a total with it. */
struct answer {
	struct al_table *table;
	const struct al_ledger *ledger;
	const struct al_inference *inference;
};

static bool is_known(const struct answer *a, int state, bool of_flops)
{
	struct al_undeclared undeclared;

	if (al_inference_is_known(a->ledger, a->inference, state, of_flops, &undeclared))
		return true;
	al_note_undeclared(&undeclared, a->table);
	return false;
}

/* `state` AL_N_STATES: the total. */
static void add_row(const struct answer *a, int state, const struct al_inference_row *row)
{
	const bool has_bytes = is_known(a, state, false), has_flops = is_known(a, state, true);
	const bool is_read = has_bytes || state == AL_STATE_ACTIVATIONS;
	mpq_ptr intensity = al_exact_new(&a->table->arena);
	struct record record = {.state = al_state_titled(state),
		.bytes = has_bytes ? row->bytes : NULL,
		.read = is_read ? row->read : NULL,
		.flops = has_flops ? row->flops : NULL};

	if (is_read && has_flops && mpq_sgn(row->read) != 0) {
		mpq_div(intensity, row->flops, row->read);
		record.intensity = intensity;
	}
	al_table_add_record(a->table, &record);
}

static void add_rows(const struct answer *a, struct al_inference_row rows[AL_N_STATES])
{
	struct al_inference_row *total = &rows[AL_STATE_WEIGHTS];

	for (int i = 0; i < AL_N_INFERENCE_STATES; i++) {
		const enum al_memory_state state = al_inference_states[i];
		if (state != AL_STATE_OVERHEAD || mpq_sgn(rows[state].bytes) != 0)
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

static void add_notes(struct al_table *table, const struct al_request *q,
	const struct al_inference *inference, const struct al_device_options *o, bool explains)
{
	al_note_request(q, true, table);
	al_table_note(table, "weights: %s, cache: %s; batch %lld, %lld tokens, tp=%lld",
		inference->weights->name, inference->cache->name, (long long)inference->batch,
		(long long)inference->seq, (long long)inference->tp);
	al_note_quantisation(inference->weights, explains, table);
	al_note_cache_format(q, "cache-dtype", table);
	al_note_engine(q, table);
	if (o->training.dp > 1 || inference->ep > 1)
		al_table_note(table,
			"one of %lld devices: %lld of the sequences, dp=%lld; experts over ep=%lld",
			(long long)(inference->tp * inference->pp * o->training.dp),
			(long long)inference->batch, (long long)o->training.dp,
			(long long)inference->ep);
	if (inference->pp > 1)
		al_table_note(table,
			"pp=%lld: of the pipeline's stages this is number %lld, which holds most",
			(long long)inference->pp, (long long)inference->stage + 1);
	if (al_is_ideal(q))
		al_table_note(table,
			"the least that must be held; --engine NAME says what an engine holds");
	al_table_note(table,
		"activations: the residual stream and the largest block while %s; a new token: one "
		"more in each sequence, MLA latents read as they are (W_UK and W_UV absorbed)",
		tokens_at_once(&table->arena, &q->engine));
}

static void note_tiles(struct al_table *table, const struct al_engine_choice *choice)
{
	const struct al_engine *engine = choice ? choice->engine : NULL;

	if (engine && (engine->tile_rows > 1 || engine->tile_columns > 1))
		al_table_note(table,
			"experts among them are filled up to multiples of %lld rows and %lld "
			"columns, as %s's kernels read them",
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
				"tensors that the checkpoint packs (%lld numbers per byte, with "
				"their scales) keep their format",
				(long long)ledger->tensor_list.tensors[i].tensor->packed);
			note_tiles(table, ledger->ask.engine);
			return;
		}
}

static bool answer(struct al_session *session, struct al_request *q, struct al_inference *inference,
	struct al_ledger *ledger, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct answer a = {.table = al_session_table(session, "memory", fields, 0,
				   "Inference memory of %s",
				   al_request_covered(q, o->devices.is_whole)),
		.ledger = ledger,
		.inference = inference};
	struct al_inference_row *rows = al_new_array(q->arena, struct al_inference_row,
		AL_N_STATES);
	const struct al_table *bounds = NULL;

	if (o->explains)
		al_explain_inference(session, inference);
	al_inference_rows_init(rows);
	al_arena_defer(q->arena, al_inference_rows_finish, rows);
	if (!al_ledger_infer_largest(ledger, inference, rows, err))
		return false;
	mpq_srcptr weights = al_exact_copy(q->arena, rows[AL_STATE_WEIGHTS].bytes);
	add_rows(&a, rows);
	if (o->devices.device
		&& !al_add_bounds(session, q, inference, &rows[AL_STATE_WEIGHTS], weights, a.table,
			&bounds, err))
		return false;
	add_notes(a.table, q, inference, &o->devices, o->explains);
	note_packed(a.table, inference, ledger);
	al_session_claim(session,
		al_memory_summarize_inference(&session->arena, a.table, bounds, q, inference,
			&o->devices));
	return true;
}

bool al_infer_answer(struct al_session *session, struct al_request *q, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct al_ledger_ask ask = al_request_ask(q, &q->variants.items[0], true);
	struct al_inference inference;

	if (!al_check_engine(q, false, err))
		return false;
	if (q->variants.n > 1)
		return al_fail(err, AL_EINPUT,
			"--inference answers for one variant at a time, found %zu", q->variants.n);
	if (!al_inference_init(&inference, &o->devices, q, err))
		return false;
	ask.tp = inference.tp;
	ask.detail = al_inference_detail(&inference);
	ask.explains = o->explains;
	ask.quantisation = inference.weights;
	struct al_ledger *ledger = al_ledger_create(q->arena, &ask, err);
	return ledger && answer(session, q, &inference, ledger, err);
}
