/* fit without --solve: which devices hold a model, and how many of each it takes. */
#include "answer/fit.h"

#include "report/claim.h"

/* Tensor-parallel devices that are tried where no degree is given. */
static const int64_t counts[] = {1, 2, 4, 8};
enum { N_COUNTS = sizeof(counts) / sizeof(*counts) };

/* A model laid out over so many devices. */
struct layout {
	struct al_fit fit;
	int64_t n_devices; /* 0: it can't be laid out like that */
};

struct record {
	const char *variant, *device;
	int64_t devices; /* INT64_MIN: not even the most that were tried hold it */
	mpq_srcptr bytes, memory, spare;
};

enum { WITH_VARIANT = 1 };

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_SHOW_KEY(struct record, device, "Device")},
	{AL_SHOW_BYTES(struct record, memory, "Memory")},
	{AL_SHOW_COUNT(struct record, devices, "Devices")},
	{AL_SHOW_BYTES(struct record, bytes, "Each needs")},
	{AL_SHOW_BYTES(struct record, spare, "To spare")},
	AL_FIELDS_END,
};

/* ---- rows ---- */

static int64_t n_devices(const struct al_fit *f)
{
	const struct al_training *t = &f->training;

	return f->is_inference ? f->inference.tp * f->inference.pp * t->dp
			       : t->tp * t->pp * t->dp * t->cp;
}

/* false: the model can't be laid out like that. */
static bool lay_out(const struct al_fit *f, int64_t n, struct layout *out, struct al_error *err)
{
	struct al_device_options o = f->options->devices;

	*out = (struct layout){.fit = *f};
	for (int i = 0; i < AL_N_STATES; i++)
		out->fit.states[i] = al_exact_new(&f->session->arena);
	if (n > 1)
		o.training.tp = n;
	if (!al_fit_begin(&out->fit, &o, err))
		return false;
	out->n_devices = n_devices(&out->fit);
	return true;
}

/* As it is asked for; of inference on no number of devices also over more of them. */
static bool lay_out_each(const struct al_fit *f, struct layout layouts[N_COUNTS],
	struct al_error *err)
{
	struct al_error ignored;

	for (size_t i = 0; i < N_COUNTS; i++)
		layouts[i].n_devices = 0;
	if (!lay_out(f, counts[0], &layouts[0], err))
		return false;
	for (size_t i = 1; i < N_COUNTS; i++)
		if (layouts[0].n_devices == 1 && layouts[0].fit.is_inference
			&& !f->options->devices.device)
			(void)lay_out(f, counts[i], &layouts[i], &ignored);
	return true;
}

static bool add_device(struct al_fit *f, const struct al_gpu *gpu, struct layout layouts[N_COUNTS],
	struct al_table *table, struct al_error *err)
{
	mpq_ptr bytes = al_exact_new(&table->arena), spare = al_exact_new(&table->arena);
	struct record record = {.variant = f->configured ? f->configured->name : NULL,
		.device = gpu->name,
		.devices = INT64_MIN};

	for (size_t i = 0; i < N_COUNTS && record.devices == INT64_MIN; i++) {
		struct al_fit *side = &layouts[i].fit;
		if (layouts[i].n_devices == 0)
			continue;
		if (!al_fit_take_device(side, gpu, err) || !al_fit_hold(side, bytes, err))
			return false;
		record.memory = side->budget;
		record.bytes = bytes;
		if (mpq_cmp(bytes, side->budget) > 0)
			continue;
		record.devices = layouts[i].n_devices;
		mpq_sub(spare, side->budget, bytes);
		record.spare = spare;
	}
	al_table_add_record(table, &record);
	return true;
}

static bool add_variant(struct al_fit *f, const struct al_gpus *gpus, struct al_table *table,
	struct al_error *err)
{
	struct layout layouts[N_COUNTS];
	struct al_undeclared undeclared;

	if (!lay_out_each(f, layouts, err))
		return false;
	if (!al_fit_is_known(&layouts[0].fit, &undeclared)) {
		al_note_undeclared(&undeclared, table);
		return true;
	}
	for (size_t i = 0; i < gpus->n; i++)
		if (!add_device(f, &gpus->items[i], layouts, table, err))
			return false;
	*f = layouts[0].fit;
	if (gpus->n > 1)
		f->gpu = (struct al_gpu){0};
	return true;
}

/* ---- in a sentence ---- */

/* The rows of one variant. */
struct rows {
	const struct al_table *table;
	size_t from, n;
};

/* The row of the fewest devices with, of those, the least memory; SIZE_MAX: none holds it. */
static size_t find_smallest(const struct rows *rows, size_t *n_alone)
{
	size_t found = SIZE_MAX;
	double best = 0, best_memory = 0;

	*n_alone = 0;
	for (size_t row = rows->from; row < rows->from + rows->n; row++) {
		double n, memory;
		if (!al_table_number(rows->table, row, "devices", &n)
			|| !al_table_number(rows->table, row, "memory", &memory))
			continue;
		*n_alone += n == 1;
		if (found != SIZE_MAX && (n > best || (n == best && memory >= best_memory)))
			continue;
		found = row;
		best = n;
		best_memory = memory;
	}
	return found;
}

static const char *say_none(struct al_arena *arena, const struct rows *rows, const char *name,
	const struct al_fit *f)
{
	const struct al_table *table = rows->table;
	const size_t last = rows->from + rows->n - 1;

	return al_format(arena, "It doesn't fit: %s needs %s, and %s %s (%s); try %s.", name,
		al_claim_cell(arena, table, last, "bytes"),
		rows->n == 1 ? "there are" : "the largest device has",
		al_claim_cell(arena, table, last, "memory"), al_fit_conditions(arena, f),
		al_fit_advice(arena, f, al_cell_exact(table, last, "bytes"),
			al_cell_exact(table, last, "memory")));
}

static const char *say(struct al_arena *arena, const struct rows *rows, const struct al_fit *f)
{
	const struct al_table *table = rows->table;
	const bool is_own = f->request->is_own;
	const char *name = is_own ? al_claim_name(arena, "model", f->request->title)
				  : al_claim_cell(arena, table, rows->from, "variant"),
		   *lead = is_own ? AL_CLAIM_LEAD : "", *on = al_fit_conditions(arena, f);
	size_t n_alone, row = find_smallest(rows, &n_alone);

	if (row == SIZE_MAX)
		return say_none(arena, rows, name, f);
	const char *bytes = al_claim_cell(arena, table, row, "bytes"),
		   *device = al_claim_cell(arena, table, row, "device"),
		   *memory = al_claim_cell(arena, table, row, "memory");
	if (rows->n == 1)
		return al_format(arena, "%s fits: it needs %s%s of %s (%s).", name, lead, bytes,
			memory, on);
	if (n_alone > 0)
		return al_format(arena,
			"%s needs %s%s (%s). It fits on %s of %s devices; the smallest is the %s "
			"(%s).",
			name, lead, bytes, on, al_claim_count(arena, "holding", (int64_t)n_alone),
			al_claim_count(arena, "listed", (int64_t)rows->n), device, memory);
	return al_format(arena,
		"%s fits on no single device (%s); it takes at least %s %s, with %s on each.", name,
		on, al_claim_cell(arena, table, row, "devices"), device, bytes);
}

static const char *say_each(struct al_arena *arena, const struct al_table *table, size_t n_devices,
	const struct al_fit *f)
{
	const char *text = NULL;

	if (table->n_rows == 0)
		return al_format(arena,
			"The memory of %s is unknown: a variant's file doesn't list all of it.",
			al_claim_name(arena, "model", f->request->title));
	for (size_t row = 0; row < table->n_rows; row += n_devices) {
		const struct rows rows = {table, row, n_devices};
		text = al_format(arena, "%s%s%s", text ? text : "", text ? " " : "",
			say(arena, &rows, f));
	}
	return text;
}

bool al_fit_devices(struct al_fit *f, const struct al_gpus *gpus, struct al_error *err)
{
	const struct al_request *q = f->request;
	struct al_table *table = al_session_table(f->session, "devices", fields,
		q->is_own ? 0 : WITH_VARIANT, "Devices that hold %s (whole model)%s", q->title,
		q->is_own ? "" : " with each variant as its attention");

	for (size_t i = 0; i < q->variants.n; i++) {
		f->configured = q->is_own ? NULL : &q->variants.items[i];
		if (!add_variant(f, gpus, table, err))
			return false;
	}
	if (gpus->n > 1 && f->is_inference && n_devices(f) == 1)
		al_table_note(table,
			"devices: the fewest of 1, 2, 4 and 8 tensor-parallel ones that hold it");
	const struct rows all = {table, 0, table->n_rows};
	size_t n_alone;
	f->session->answer_is_no = find_smallest(&all, &n_alone) == SIZE_MAX;
	if (table->n_rows > 0)
		al_fit_note(f, table);
	else
		al_note_request(q, true, table);
	al_note_nominal(gpus, table);
	al_session_claim(f->session, say_each(&f->session->arena, table, gpus->n, f));
	return true;
}
