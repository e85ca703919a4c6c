/* memory --inference: weights, cache and one forward of a whole model on one device. */
#include "commands/memory.h"

#include "base/number.h"
#include "catalog/gpu.h"
#include "commands/explain.h"

#include <string.h>

static bool check_stages(struct al_request *q, int64_t pp, struct al_error *err)
{
	const struct al_setting *layers;

	if (pp <= 1 || !al_settings_get(&q->settings, "n_layers", &layers, err))
		return pp <= 1;
	return (layers && layers->value.integer >= pp)
		|| al_fail(err, AL_EINPUT,
			"pp is %lld, expected at most as many stages as the %lld layers of %s",
			(long long)pp, (long long)(layers ? layers->value.integer : 0), q->name);
}

/* Experts are dealt out over devices that hold the same layers. */
static bool check_experts(struct al_request *q, int64_t devices, int64_t ep, struct al_error *err)
{
	const struct al_setting *experts = NULL;

	if (ep <= 1)
		return true;
	if (devices % ep != 0)
		return al_fail(err, AL_EINPUT, "tp*dp (%lld) is not a multiple of ep (%lld)",
			(long long)devices, (long long)ep);
	if (!al_settings_get(&q->settings, "n_experts", &experts, err))
		return false;
	if (!experts || experts->value.integer == 0)
		return al_fail(err, AL_EINPUT, "--ep %lld: %s has no experts", (long long)ep,
			q->name);
	return experts->value.integer % ep == 0
		|| al_fail(err, AL_EINPUT, "n_experts (%lld) is not a multiple of ep (%lld)",
			(long long)experts->value.integer, (long long)ep);
}

static bool check_engine(const struct al_request *q, struct al_error *err)
{
	return !q->engine.has_mtp || (q->family && q->family->n_extras > 0)
		|| al_fail(err, AL_EINPUT, "--mtp: %s has no layers that predict further tokens",
			q->name);
}

/* "H200x8": tensor parallelism over all where no degree was given; else the degrees make up the
 * number. */
static bool lay_out_device(struct al_request *q, const struct al_device_options *o,
	struct al_training *training, struct al_error *err)
{
	struct al_gpu gpu;
	int64_t n = 0;

	if (!o->device)
		return true;
	if (!al_gpu_parse(q->arena, o->device, &gpu, &n, err))
		return al_in(err, "--device");
	const int64_t degrees = training->tp * training->pp * training->dp;
	if (n > 0 && degrees == 1)
		training->tp = n;
	return n == 0 || training->tp * training->pp * training->dp == n
		|| al_fail(err, AL_EINPUT, "--device %s: tp*pp*dp is %lld, expected %lld",
			o->device, (long long)degrees, (long long)n);
}

bool al_inference_init(struct al_inference *inference, const struct al_device_options *o,
	struct al_request *q, struct al_error *err)
{
	struct al_training training;
	const struct al_setting *source;

	*inference = (struct al_inference){.activation_bytes = 2};
	if (!check_engine(q, err) || !al_devices_init(&training, o, q, err)
		|| !al_devices_tokens(&training, q, err)
		|| !al_request_cache_format(q, o->cache_dtype, err)
		|| !al_settings_get(&q->settings, "source_seq", &source, err))
		return false;
	if (training.interleave > 1 || training.cp > 1 || training.zero > 0)
		return al_fail(err, AL_EINPUT,
			"--inference knows --tp, --pp, --dp and --ep, expected no --interleave, "
			"--cp or --zero");
	if (!check_stages(q, training.pp, err)
		|| !check_experts(q, training.tp * training.dp, training.ep, err))
		return false;
	inference->cache = q->cache.dtype;
	inference->share = training.share;
	inference->batch = (training.batch + training.dp - 1) / training.dp;
	inference->pp = training.pp;
	inference->ep = training.ep;
	inference->seq = training.seq;
	inference->source_seq = source ? source->value.integer : training.seq;
	if (!lay_out_device(q, o, &training, err))
		return false;
	inference->tp = training.tp;
	inference->engine = &q->engine;
	inference->weights = al_new(q->arena, struct al_quantisation);
	return al_quantisation_init(inference->weights, q->arena, q->catalog, q->model, o->dtype,
		err);
}

void al_inference_finish(struct al_inference *inference)
{
	if (inference->weights)
		al_quantisation_finish(inference->weights);
	inference->weights = NULL;
}

static struct al_column bytes_column(const char *key, const char *title)
{
	return (struct al_column){.key = key,
		.title = title,
		.unit = "B",
		.quantity = AL_QUANTITY_BYTES,
		.digits = AL_DIGITS_ALL};
}

void al_inference_columns(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "read",
			.title = "Read/new token",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL},
		{.key = "flops",
			.title = "FLOPs/new token",
			.unit = "FLOP",
			.quantity = AL_QUANTITY_FLOPS,
			.digits = AL_DIGITS_ALL},
	};

	al_table_add_column(table, bytes_column("bytes", "Memory"));
	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

static void add_columns(struct al_table *t)
{
	al_table_add_column(t,
		(struct al_column){.key = "state", .title = "State", .is_key = true});
	al_inference_columns(t);
	al_table_add_column(t,
		(struct al_column){.key = "intensity", .title = "FLOPs per byte", .digits = 2});
}

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
static void add_row(const struct answer *a, int state, const char *name,
	const struct al_inference_row *row)
{
	struct al_cell *cell = al_table_add_row(a->table);
	const bool has_bytes = is_known(a, state, false), has_flops = is_known(a, state, true);
	const bool is_read = has_bytes || state == AL_STATE_ACTIVATIONS;
	mpq_t intensity;

	al_cell_set_titled(a->table, &cell[0], name,
		state == AL_N_STATES ? NULL : al_memory_state_titles[state]);
	if (has_bytes)
		al_cell_set_exact(a->table, &cell[1], row->bytes);
	cell += 2;
	if (is_read)
		al_cell_set_exact(a->table, cell, row->read);
	if (has_flops)
		al_cell_set_exact(a->table, &cell[1], row->flops);
	if (!is_read || !has_flops || mpq_sgn(row->read) == 0)
		return;
	mpq_init(intensity);
	mpq_div(intensity, row->flops, row->read);
	al_cell_set_exact(a->table, &cell[2], intensity);
	mpq_clear(intensity);
}

static void add_rows(const struct answer *a, struct al_inference_row rows[AL_N_STATES])
{
	struct al_inference_row *total = &rows[AL_STATE_WEIGHTS];

	for (int i = 0; i < AL_N_INFERENCE_STATES; i++) {
		const enum al_memory_state state = al_inference_states[i];
		if (state == AL_STATE_OVERHEAD && mpq_sgn(rows[state].bytes) == 0)
			continue;
		add_row(a, (int)state, al_memory_state_names[state], &rows[state]);
	}
	for (int i = 1; i < AL_N_STATES; i++) {
		al_exact_add(total->bytes, rows[i].bytes);
		al_exact_add(total->read, rows[i].read);
		al_exact_add(total->flops, rows[i].flops);
	}
	add_row(a, AL_N_STATES, "total", total);
	al_table_mark_total(a->table);
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
	if (o->dp > 1 || inference->ep > 1)
		al_table_note(table,
			"one of %lld devices: %lld of the sequences, dp=%lld; experts over ep=%lld",
			(long long)(inference->tp * inference->pp * o->dp),
			(long long)inference->batch, (long long)o->dp, (long long)inference->ep);
	if (inference->pp > 1)
		al_table_note(table,
			"pp=%lld: of the pipeline's stages this is number %lld, which holds most",
			(long long)inference->pp, (long long)inference->stage + 1);
	if (al_is_ideal(q))
		al_table_note(table,
			"the least that must be held; --engine NAME says what an engine holds");
	al_table_note(table,
		"activations: the residual stream and the largest block while %s processed; a new "
		"token: one more in each sequence, MLA latents read as they are (W_UK and W_UV "
		"absorbed)",
		q->engine.chunk == 0 ? "the whole prompt is"
				     : al_format(&table->arena, "%lld tokens of prompts are",
					     (long long)q->engine.chunk));
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

static const struct al_table *find_bounds(const struct al_session *session)
{
	for (size_t i = 0; i < session->n_tables; i++)
		if (strcmp(session->tables[i]->id, "bounds") == 0)
			return session->tables[i];
	return NULL;
}

static bool answer(struct al_session *session, struct al_request *q, struct al_inference *inference,
	struct al_ledger *ledger, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct answer a = {.table = al_session_table(session, "memory",
				   al_format(&session->arena, "Inference memory of %s",
					   al_request_covered(q, o->devices.is_whole))),
		.ledger = ledger,
		.inference = inference};
	struct al_inference_row rows[AL_N_STATES];
	struct al_inference_explainer explainer;

	add_columns(a.table);
	if (o->explains) {
		al_explain_inference(session, inference, &explainer);
		inference->watch = &explainer.watch;
	}
	al_inference_rows_init(rows);
	bool ok = al_ledger_infer_largest(ledger, inference, rows, err);
	mpq_t weights;
	mpq_init(weights);
	mpq_set(weights, rows[AL_STATE_WEIGHTS].bytes);
	if (ok)
		add_rows(&a, rows);
	if (ok && o->devices.device)
		ok = al_add_bounds(session, q, inference, &rows[AL_STATE_WEIGHTS], weights, err);
	mpq_clear(weights);
	al_inference_rows_finish(rows);
	add_notes(a.table, q, inference, &o->devices, o->explains);
	note_packed(a.table, inference, ledger);
	if (ok)
		session->style.summary = al_memory_summarize_inference(&session->arena, a.table,
			find_bounds(session), q, inference, &o->devices);
	return ok;
}

bool al_infer_answer(struct al_session *session, struct al_request *q, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct al_ledger_ask ask = al_request_ask(q, &q->variants.items[0], true);
	struct al_inference inference;
	struct al_ledger ledger;

	if (o->asked.utilization)
		return al_fail(err, AL_EINPUT,
			"--utilization is of a device's memory: expected it with fit --memory");
	if (q->variants.n > 1)
		return al_fail(err, AL_EINPUT,
			"--inference answers for one variant at a time, found %zu", q->variants.n);
	if (!al_inference_init(&inference, &o->devices, q, err))
		return false;
	ask.tp = inference.tp;
	ask.detail = al_inference_detail(&inference);
	ask.explains = o->explains;
	ask.quantisation = inference.weights;
	bool ok = al_ledger_open(&ledger, &ask, err);
	if (ok) {
		ok = answer(session, q, &inference, &ledger, err);
		al_ledger_close(&ledger);
	}
	al_inference_finish(&inference);
	return ok;
}
