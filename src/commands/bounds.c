/* memory --inference --device: what a device's data sheet bounds, by the roofline. */
#include "base/number.h"
#include "catalog/gpu.h"
#include "commands/memory.h"

#include <string.h>

/*= Williams et al. 2009, Roofline: no faster than bytes are read, nor than FLOPs are computed */
struct bound {
	double seconds;
	bool is_memory;
};

static double number(mpq_srcptr q)
{
	return mpq_get_d(q);
}

static struct bound bound_of(double bytes, double flops, const struct al_gpu *gpu, int64_t peak)
{
	const double read = bytes / (double)gpu->bandwidth, computed = flops / (double)peak;

	return (struct bound){read > computed ? read : computed, read > computed};
}

static struct al_table *open_table(struct al_session *session, const char *device)
{
	static const struct al_column columns[] = {
		{.key = "bound", .title = "Bound", .is_key = true},
		{.key = "seconds", .title = "At least", .unit = "s", .digits = 6},
		{.key = "tokens_per_second", .title = "At most", .unit = "tokens/s", .digits = 1},
		{.key = "limited_by", .title = "Limited by"},
	};
	struct al_table *table = al_session_table(session, "bounds",
		al_format(&session->arena, "What %s bounds", device));

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
	return table;
}

static void set_real(struct al_table *table, struct al_cell *cell, double value)
{
	mpq_t exact;

	mpq_init(exact);
	mpq_set_d(exact, value);
	al_cell_set_exact(table, cell, exact);
	mpq_clear(exact);
}

static void add_row(struct al_table *table, const char *name, struct bound bound, double tokens)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, &cell[0], name);
	set_real(table, &cell[1], bound.seconds);
	if (bound.seconds > 0)
		set_real(table, &cell[2], tokens / bound.seconds);
	al_cell_set_text(table, &cell[3], bound.is_memory ? "memory bandwidth" : "FLOPs");
}

/* Matrices in fp8 may be multiplied in fp8. */
static int64_t peak_of(const struct al_inference *inference, const struct al_gpu *gpu)
{
	const struct al_quantisation *q = inference->weights;
	bool is_fp8 = q->dtype && q->dtype->name && strcmp(q->dtype->name, "fp8") == 0;

	for (size_t i = 0; q->scheme && i < q->scheme->n_rules; i++)
		is_fp8 |= q->scheme->rules[i].dtype
			&& strcmp(q->scheme->rules[i].dtype, "fp8") == 0;
	return is_fp8 && gpu->fp8 ? gpu->fp8 : gpu->bf16;
}

/* FLOPs of a forward over one prompt; false: not known. */
static bool count_forward(struct al_request *q, mpq_t out)
{
	struct al_ledger_ask ask = al_request_ask(q, &q->variants.items[0], false);
	struct al_basis basis = q->basis;
	const struct al_setting *batch;
	struct al_ledger ledger;

	basis.per = AL_BASIS_WHOLE;
	ask.basis = &basis;
	ask.configured = &q->variants.items[0];
	if (!al_settings_get(&q->settings, "batch", &batch, NULL) || !batch
		|| !al_ledger_open(&ledger, &ask, NULL))
		return false;
	bool ok = al_ledger_measure(&ledger, AL_FLOPS, NULL, out, NULL);
	al_ledger_close(&ledger);
	if (ok)
		al_exact_divide(out, batch->value.integer);
	return ok;
}

bool al_add_bounds(struct al_session *session, struct al_request *q,
	const struct al_inference *inference, const struct al_inference_row *total,
	mpq_srcptr weights, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	const double devices = (double)(inference->tp * inference->pp);
	const double all = (double)(inference->batch * o->devices.dp);
	struct al_gpu gpu;
	int64_t n;
	mpq_t flops;

	if (!al_gpu_parse(&session->arena, o->devices.device, &gpu, &n, err))
		return al_in(err, "--device");
	const int64_t peak = peak_of(inference, &gpu);
	mpq_init(flops);
	const bool has_flops = count_forward(q, flops);
	struct al_table *table = open_table(session, o->devices.device);
	add_row(table, "a new token",
		bound_of(number(total->read), number(total->flops), &gpu, peak), all);
	if (has_flops)
		add_row(table, "the first token",
			bound_of(number(weights), number(flops) / devices, &gpu, peak),
			(double)inference->seq);
	const bool fits = mpq_cmp_si(total->bytes, gpu.usable, 1) <= 0;
	al_table_note(table, "each device %s: %.2f of %.2f GiB are needed",
		fits ? "holds it" : "can't hold it", number(total->bytes) / 0x1p30,
		(double)gpu.usable / 0x1p30);
	al_table_note(table,
		"bounds, not predictions: the first token is of one prompt of %lld tokens, whose "
		"weights are read once",
		(long long)inference->seq);
	al_table_note(table,
		"each device reads %.6g TB and computes %.6g TFLOP a second, nothing lost (%s)",
		(double)gpu.bandwidth / 1e12, (double)peak / 1e12, gpu.source);
	mpq_clear(flops);
	return true;
}
