/* memory --device: what a device's data sheet bounds, by the roofline. */
#include "catalog/gpu.h"
#include "answer/memory.h"

struct record {
	const char *bound, *limited_by;
	mpq_srcptr seconds, tokens_per_second;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, bound, "Bound")},
	{AL_SHOW(struct record, seconds, "At least", .unit = "s", .digits = 6)},
	{AL_SHOW(struct record, tokens_per_second, "At most", .unit = "tokens/s", .digits = 1)},
	{AL_SHOW(struct record, limited_by, "Limited by")},
	AL_FIELDS_END,
};

static mpq_srcptr exactly(struct al_table *table, double value)
{
	mpq_ptr exact = al_exact_new(&table->arena);

	mpq_set_d(exact, value);
	return exact;
}

/*= Williams et al. 2009, Roofline: no faster than bytes are read, nor than FLOPs are computed */
static void add_row(struct al_table *table, const char *name, double read, double computed,
	double tokens)
{
	const double seconds = al_most(read, computed);

	al_table_add_record(table,
		&(struct record){name, read > computed ? "memory bandwidth" : "FLOPs",
			exactly(table, seconds),
			seconds > 0 ? exactly(table, tokens / seconds) : NULL});
}

/* Matrices in fp8 may be multiplied in fp8. */
static int64_t peak_of(const struct al_inference *inference, const struct al_gpu *gpu)
{
	const struct al_quantization *q = inference->weights;
	bool is_fp8 = q->dtype && q->dtype->name && strcmp(q->dtype->name, "fp8") == 0;

	for (size_t i = 0; q->scheme && i < q->scheme->n_rules; i++)
		is_fp8 |= q->scheme->rules[i].dtype
			&& strcmp(q->scheme->rules[i].dtype, "fp8") == 0;
	return is_fp8 && gpu->fp8 ? gpu->fp8 : gpu->bf16;
}

/* FLOPs of a forward over one prompt; NULL: not known. */
static mpq_srcptr count_forward(struct al_request *q)
{
	struct al_ledger_ask ask = al_request_ask(q, &q->variants.items[0], false);
	mpq_ptr flops = al_exact_new(q->arena);
	struct al_basis basis = q->basis;
	int64_t batch;

	basis.per = AL_BASIS_WHOLE;
	ask.basis = &basis;
	if (!al_request_number(q, "batch", 1, 0, &batch, NULL) || batch == 0)
		return NULL;
	struct al_ledger *ledger = al_ledger_create(q->arena, &ask, NULL);
	if (!ledger || !al_ledger_measure(ledger, AL_FLOPS, NULL, flops, NULL))
		return NULL;
	al_exact_divide(flops, batch);
	return flops;
}

static void note_fit(struct al_table *memory, const struct al_gpu *gpu, mpq_srcptr bytes)
{
	AL_EXACT(usable);
	al_exact_set(usable, gpu->usable);
	const bool fits = mpq_cmp(bytes, usable) <= 0;

	al_table_warn(memory, "each device %s: it needs %.2f of %.2f GiB",
		fits ? "has enough memory" : "has too little memory", mpq_get_d(bytes) / 0x1p30,
		(double)gpu->usable / 0x1p30);
}

bool al_add_bounds(struct al_session *session, struct al_request *q,
	const struct al_inference *inference, const struct al_inference_row *total,
	mpq_srcptr weights, struct al_table *memory, const struct al_table **out,
	struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	const double devices = (double)(inference->tp * inference->pp);
	struct al_gpu gpu;
	int64_t n;

	if (!al_gpu_parse(&session->arena, o->devices.device, &gpu, &n, err))
		return al_in(err, "--device");
	note_fit(memory, &gpu, total->bytes);
	al_note_nominal(&(struct al_gpus){&gpu, 1}, memory);
	if (!gpu.bandwidth)
		return true;
	const double peak = (double)peak_of(inference, &gpu), bandwidth = (double)gpu.bandwidth;
	mpq_srcptr flops = count_forward(q);
	struct al_table *table = al_session_table(session, "bounds", fields, 0,
		"Speed limits of %s", o->devices.device);
	if (!inference->is_encoder)
		add_row(table, "each new token", mpq_get_d(total->read) / bandwidth,
			mpq_get_d(total->flops) / peak,
			(double)(inference->batch * o->devices.training.dp));
	const char *first = inference->is_encoder ? "a sequence" : "the first token";
	if (flops)
		add_row(table, first, mpq_get_d(weights) / bandwidth,
			mpq_get_d(flops) / devices / peak, (double)inference->seq);
	al_table_note(table,
		"limits, not predictions: %s %s %lld tokens, for which the weights are read once",
		first, inference->is_encoder ? "is of" : "follows one prompt of",
		(long long)inference->seq);
	al_table_note(table, "peak per device: %.6g TB and %.6g TFLOP per second (%s)",
		bandwidth / 1e12, peak / 1e12, gpu.source);
	*out = table;
	return true;
}
