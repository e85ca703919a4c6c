/* memory: what a model, or the attention in it, takes by state. */
#include "answer/memory.h"

#include "answer/explain.h"
#include "ledger/working.h"

enum { TOTAL = AL_TRAINING_TOTAL };

static const struct al_option_row rows[] = {
	EXPLAIN_ROW(struct al_memory_options, explains),
	OPTION_TEXT(struct al_memory_options, baseline, "baseline", "NAME",
		"the variant that savings compare with"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {al_report_rows, 0},
	{al_setting_rows, offsetof(struct al_memory_options, asked)},
	{al_variant_rows, offsetof(struct al_memory_options, asked)},
	{al_recipe_rows, offsetof(struct al_memory_options, asked)},
	{al_weight_rows, offsetof(struct al_memory_options, devices)},
	{al_engine_rows, offsetof(struct al_memory_options, asked)}, {rows, 0},
	{al_device_rows, offsetof(struct al_memory_options, devices)}, {NULL, 0}};

/* An answer about training: of one request, or of several models. */
struct answer {
	struct al_session *session;
	const struct al_memory_options *options;
	struct al_table *table;
	const char *base_name; /* the variant that savings compare with; NULL: none */
	bool shows_model, shows_variant, is_noted;
	/* of the request that is being answered: */
	struct al_request *request;
	struct al_training training; /* of a model */
	bool is_about_model;
	mpq_srcptr base; /* the total that savings compare with; NULL: it isn't known */
};

/* ---- figures ---- */

/* Is the state one that is told of the training? The working set is where the recipe tells it;
 * `training` NULL: attention alone, which has none. */
static bool is_told(const struct al_training *training, int state)
{
	return state != AL_STATE_WORKING || (training && al_training_has_working(training));
}

static bool measure_model(struct answer *a, struct al_ledger *ledger,
	struct al_training_figures *out, struct al_error *err)
{
	struct al_arena *arena = &a->session->arena;
	mpq_ptr values[AL_N_TRAINING_FIGURES];

	out->stage = al_new(arena, struct al_stage_memory);
	al_stage_memory_init(out->stage);
	al_arena_defer(arena, al_stage_memory_finish, out->stage);
	for (int i = 0; i < AL_N_TRAINING_FIGURES; i++)
		out->values[i] = values[i] = al_exact_new(arena);
	if (!al_ledger_train_largest(ledger, &a->training, &out->stage_index, out->stage, err)
		|| !al_ledger_count(ledger, AL_COUNT_PARAMETERS, values[AL_TRAINING_PARAMETERS],
			err))
		return false;
	for (int state = 0; state < TOTAL; state++)
		al_stage_memory_sum(out->stage, (enum al_memory_state)state, values[state]);
	al_stage_memory_total(out->stage, values[TOTAL]);
	return true;
}

/* By the ledger's measures. */
static bool measure_attention(struct answer *a, struct al_ledger *ledger,
	struct al_training_figures *out, struct al_error *err)
{
	static const enum al_measure measures[AL_N_TRAINING_FIGURES] = {
		[AL_STATE_WEIGHTS] = AL_WEIGHTS,
		[AL_STATE_GRADIENTS] = AL_GRADIENTS,
		[AL_STATE_OPTIMIZER] = AL_OPTIMIZER,
		[AL_STATE_ACTIVATIONS] = AL_ACTIVATIONS,
		[TOTAL] = AL_TOTAL,
		[AL_TRAINING_PARAMETERS] = AL_PARAMETERS,
	};

	for (int i = 0; i < AL_N_TRAINING_FIGURES; i++) {
		mpq_ptr value = al_exact_new(&a->session->arena);
		if (is_told(NULL, i)
			&& !al_ledger_measure(ledger, measures[i], a->request->recipe, value, err))
			return false;
		out->values[i] = value;
	}
	return true;
}

static struct al_ledger *open_ledger(struct answer *a, size_t i, struct al_error *err)
{
	struct al_request *q = a->request;
	const struct al_ledger_ask block = {.settings = &q->settings,
		.basis = &q->basis,
		.configured = &q->variants.items[i]};

	return a->is_about_model
		? al_open_training(q, q->is_own ? NULL : &q->variants.items[i], &a->training, err)
		: al_ledger_create(q->arena, &block, err);
}

/* With one of the request's variants. */
static bool measure(struct answer *a, size_t i, struct al_training_figures *out,
	struct al_error *err)
{
	struct al_ledger *ledger = open_ledger(a, i, err);

	*out = (struct al_training_figures){.stage_index = 0};
	if (!ledger
		|| !(a->is_about_model ? measure_model : measure_attention)(a, ledger, out, err))
		return false;
	if ((!a->is_about_model || (a->training.share.parts >> AL_PART_ATTENTION & 1))
		&& !al_ledger_declares(ledger, AL_TOTAL, a->request->recipe, &out->undeclared))
		out->values[AL_STATE_ACTIVATIONS] = out->values[TOTAL] = NULL;
	return true;
}

static const struct al_training *training_of(const struct answer *a)
{
	return a->is_about_model ? &a->training : NULL;
}

static void add_notes(struct answer *a)
{
	const struct al_request *q = a->request;

	al_note_request(q, a->options->devices.is_whole, a->table);
	al_note_recipe(q, a->table);
	if (a->is_about_model)
		al_devices_note(&a->training, a->table);
}

/* ---- a row a state ---- */

struct state_record {
	struct al_titled state;
	mpq_srcptr bytes;
};

static const struct al_table_field state_fields[] = {
	{AL_SHOW_KEY(struct state_record, state, "State")},
	{AL_SHOW_BYTES(struct state_record, bytes, "Memory")},
	AL_FIELDS_END,
};

static bool answer_by_state(struct answer *a, struct al_error *err)
{
	struct al_training_figures figures;

	if (!measure(a, 0, &figures, err))
		return false;
	for (int state = 0; state <= TOTAL; state++)
		if (is_told(training_of(a), state))
			al_table_add_record(a->table,
				&(struct state_record){al_state_titled(state == TOTAL ? AL_N_STATES
										      : state),
					figures.values[state]});
	al_table_mark_total(a->table);
	add_notes(a);
	al_session_claim(a->session,
		al_memory_summarize_training(&a->session->arena, a->table, a->request,
			training_of(a), a->options->devices.is_whole));
	if (figures.undeclared.variant)
		al_note_undeclared(&figures.undeclared, a->table);
	if (a->is_about_model && a->training.pp > 1)
		al_table_note(a->table, "the stage that needs most is number %lld of %lld",
			(long long)figures.stage_index + 1, (long long)a->training.pp);
	return !a->options->explains || !a->is_about_model
		|| al_explain_training(a->session, a->request, &a->training, &figures, err);
}

/* ---- a row a model or variant ---- */

struct record {
	struct al_titled model, variant;
	struct al_training_figures figures;
	mpq_srcptr saving;
};

enum { WITH_MODEL = 1, WITH_VARIANT = 2, WITH_WORKING = 4 };

#define STATE(name, heading, state) \
	AL_COLUMN_BYTES(name, heading), AL_MEMBER(struct record, figures.values[state])

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, model, "Model"), .when = WITH_MODEL},
	{AL_SHOW_KEY(struct record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_COLUMN_COUNT("parameters", "Parameters"),
		AL_MEMBER(struct record, figures.values[AL_TRAINING_PARAMETERS])},
	{STATE("weights", "Weights", AL_STATE_WEIGHTS)},
	{STATE("gradients", "Gradients", AL_STATE_GRADIENTS)},
	{STATE("optimizer", "Optimizer states", AL_STATE_OPTIMIZER)},
	{STATE("activations", "Activations", AL_STATE_ACTIVATIONS)},
	{STATE("working", "Working set", AL_STATE_WORKING), .when = WITH_WORKING},
	{STATE("total", "Total", TOTAL)},
	{AL_SHOW(struct record, saving, "Saving", .unit = "%", .digits = 2), .when = WITH_VARIANT},
	AL_FIELDS_END,
};

static unsigned shown(const struct answer *a)
{
	return (a->shows_model ? WITH_MODEL : 0) | (a->shows_variant ? WITH_VARIANT : 0)
		| (is_told(training_of(a), AL_STATE_WORKING) ? WITH_WORKING : 0);
}

static bool add_variant(struct answer *a, size_t i, struct al_error *err)
{
	const struct al_configured_variant *configured = &a->request->variants.items[i];
	mpq_ptr saving = al_exact_new(&a->session->arena);
	struct record record = {.model = {a->request->name, a->request->title},
		.variant = {configured->name, configured->title}};

	if (!measure(a, i, &record.figures, err))
		return false;
	mpq_srcptr total = record.figures.values[TOTAL];
	if (a->base && total && al_exact_saving(saving, total, a->base))
		record.saving = saving;
	al_table_add_record(a->table, &record);
	if (record.figures.undeclared.variant)
		al_note_undeclared(&record.figures.undeclared, a->table);
	return true;
}

/* The total that savings compare with: --baseline, mha, or the first. */
static bool find_base(struct answer *a, struct al_error *err)
{
	const struct al_configured_variants *variants = &a->request->variants;
	const char *name = a->options->baseline;
	const char **names = al_new_array(&a->session->arena, const char *, variants->n + 1);
	struct al_training_figures figures;

	for (size_t i = 0; i < variants->n; i++)
		names[i] = variants->items[i].name;
	int found = al_find_name(name ? name : "mha", names, variants->n);
	if (found < 0 && name)
		return al_fail_unknown(err, "baseline", name, names, variants->n);
	if (!measure(a, found < 0 ? 0 : (size_t)found, &figures, err))
		return false;
	a->base = figures.values[TOTAL];
	a->base_name = names[found < 0 ? 0 : found];
	return true;
}

static bool answer_by_variant(struct answer *a, struct al_error *err)
{
	if (a->shows_variant && !find_base(a, err))
		return false;
	for (size_t i = 0; i < a->request->variants.n; i++)
		if (!add_variant(a, i, err))
			return false;
	if (!a->is_noted)
		add_notes(a);
	if (!a->is_noted && a->base_name)
		al_table_note(a->table, "saving: against %s", a->base_name);
	a->is_noted = true;
	if (a->request->is_last)
		al_session_claim(a->session,
			al_memory_summarize_compared(&a->session->arena, a->table,
				a->request->recipe, training_of(a),
				a->shows_model ? NULL : a->base_name));
	return true;
}

/* ---- requests ---- */

static bool begin_request(struct answer *a, struct al_error *err)
{
	return a->is_about_model
		? al_devices_init(&a->training, &a->options->devices, a->request, err)
		: al_devices_refuse(&a->session->line, a->request, err);
}

/* One variant, or a model's own attention, is told by state. */
static bool is_by_state(const struct answer *a)
{
	return !a->options->baseline
		&& (a->is_about_model ? a->request->is_own : a->request->variants.n == 1);
}

static bool answer_one(struct answer *a, struct al_error *err)
{
	const bool explains = a->options->explains, by_state = is_by_state(a);

	if (!begin_request(a, err))
		return false;
	if (!by_state && explains && a->is_about_model)
		return al_fail(err, AL_EINPUT,
			"--explain is for a model with its own attention; expected no variants, "
			"or no --whole");
	a->table = al_session_table(a->session, "memory", by_state ? state_fields : fields,
		by_state ? 0 : shown(a), "Training memory of %s",
		al_request_covered(a->request, a->options->devices.is_whole));
	return (by_state ? answer_by_state : answer_by_variant)(a, err)
		&& (!explains || a->is_about_model
			|| al_explain_attention(a->session, a->request, err));
}

/* One of several. */
static bool add_model(struct answer *a, struct al_error *err)
{
	const struct al_request *q = a->request;

	if (!a->is_about_model)
		return al_fail(err, AL_EINPUT, "%s: comparing several models needs %s", q->name,
			q->is_own ? "models whose parts are all known"
				  : "--whole (attention alone cannot be compared)");
	if (!begin_request(a, err))
		return false;
	if (!a->table)
		a->table = al_session_table(a->session, "memory", fields, shown(a),
			"Training memory");
	return answer_by_variant(a, err);
}

static bool answer(void *context, struct al_request *request, struct al_error *err)
{
	struct answer *a = context;

	a->request = request;
	a->is_about_model = al_request_is_about_model(request, a->options->devices.is_whole);
	if (a->shows_model)
		return add_model(a, err);
	return a->options->devices.is_inference && a->is_about_model
		? al_infer_answer(a->session, request, err)
		: answer_one(a, err);
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct al_memory_options *o = session->options;
	struct answer a = {.session = session,
		.options = o,
		.shows_model = session->line.n_words > 1,
		.shows_variant = al_names_variants(&o->asked)};

	if (!al_devices_check_mode(&session->line, &o->devices, err))
		return false;
	if (o->devices.device && !o->devices.is_inference)
		return al_fail(err, AL_EINPUT,
			"--device bounds inference; add --inference, or use `fit` for training");
	if (o->baseline && !a.shows_variant)
		return al_fail(err, AL_EINPUT,
			"--baseline names one of several variants, use --variant A,B,C");
	if (a.shows_model && (o->devices.is_inference || o->explains))
		return al_fail(err, AL_EINPUT, "--%s answers for one model at a time, found %zu",
			o->explains ? "explain" : "inference", session->line.n_words);
	return al_each_request(session, &o->asked, !a.shows_model, answer, &a, err);
}

static const struct al_page_chart chart = {"state", "bytes", "bytes", "total"};

const struct al_command al_command_memory = {
	.words = "MODEL...|VARIANT",
	.examples = {"memory llama-3-8b --batch 1 --seq 8192 --tp 8 --sp",
		"memory gpt3-175b --variant mha,skv,mhe-mul --basis output_projection=full "
		"--batch 1 --seq 2048"},
	.options = groups,
	.chart = &chart,
	.options_size = sizeof(struct al_memory_options),
	.run = run,
};
