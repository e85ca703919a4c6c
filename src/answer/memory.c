/* memory: what a model, or the attention in it, takes by state. */
#include "answer/memory.h"

#include "answer/explain.h"
#include "ledger/working.h"

enum { TOTAL = AL_MEMORY_TOTAL };

static const struct al_option_row rows[] = {
	EXPLAIN_ROW(struct al_memory_options, explains),
	OPTION_TEXT(struct al_memory_options, baseline, "baseline", "NAME",
		"variant to compare savings with"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {al_report_rows, 0},
	{al_setting_rows, offsetof(struct al_memory_options, asked)},
	{al_variant_rows, offsetof(struct al_memory_options, asked)},
	{al_weight_rows, offsetof(struct al_memory_options, devices)},
	{al_recipe_rows, offsetof(struct al_memory_options, asked)},
	{al_engine_rows, offsetof(struct al_memory_options, asked)}, {rows, 0},
	{al_device_rows, offsetof(struct al_memory_options, devices)}, {NULL, 0}};

/* Of one request, or of several models. */
struct answer {
	struct al_session *session;
	const struct al_memory_options *options;
	struct al_table *table;
	const char *base_name; /* the variant that savings compare with; NULL: none */
	bool shows_model, shows_variant, is_noted;
	const char *format; /* of the first model's numbers in inference */
	bool has_formats; /* another model's is another one */
	/* of the request that is being answered: */
	struct al_request *request;
	struct al_training training; /* of a model in training */
	struct al_inference inference; /* of a model that runs */
	bool is_about_model;
	mpq_srcptr base; /* the total that savings compare with; NULL: it isn't known */
};

/* ---- figures ---- */

static bool trains(const struct answer *a)
{
	return a->options->devices.is_training;
}

static bool measure_model(struct answer *a, struct al_ledger *ledger, struct al_memory_figures *out,
	struct al_error *err)
{
	struct al_arena *arena = &a->session->arena;
	mpq_ptr values[AL_N_MEMORY_FIGURES];

	out->stage = al_new(arena, struct al_stage_memory);
	al_stage_memory_init(out->stage);
	al_arena_defer(arena, al_stage_memory_finish, out->stage);
	for (int i = 0; i < AL_N_MEMORY_FIGURES; i++)
		out->values[i] = values[i] = al_exact_new(arena);
	if (!al_ledger_train_largest(ledger, &a->training, &out->stage_index, out->stage, err)
		|| !al_ledger_count(ledger, AL_COUNT_PARAMETERS, values[AL_MEMORY_PARAMETERS], err))
		return false;
	for (int state = 0; state < AL_N_TRAINING_STATES; state++)
		al_stage_memory_sum(out->stage, (enum al_memory_state)state, values[state]);
	al_stage_memory_total(out->stage, values[TOTAL]);
	return true;
}

/* By the ledger's measures. */
static bool measure_attention(struct answer *a, struct al_ledger *ledger,
	struct al_memory_figures *out, struct al_error *err)
{
	static const struct {
		int figure;
		enum al_measure measure;
	} measures[] = {{AL_STATE_WEIGHTS, AL_WEIGHTS}, {AL_STATE_GRADIENTS, AL_GRADIENTS},
		{AL_STATE_OPTIMIZER, AL_OPTIMIZER}, {AL_STATE_ACTIVATIONS, AL_ACTIVATIONS},
		{TOTAL, AL_TOTAL}, {AL_MEMORY_PARAMETERS, AL_PARAMETERS}};

	for (size_t i = 0; i < sizeof(measures) / sizeof(*measures); i++) {
		mpq_ptr value = al_exact_new(&a->session->arena);
		if (!al_ledger_measure(ledger, measures[i].measure, a->request->recipe, value, err))
			return false;
		out->values[measures[i].figure] = value;
	}
	return true;
}

static struct al_ledger *open_ledger(struct answer *a,
	const struct al_configured_variant *configured, struct al_error *err)
{
	struct al_request *q = a->request;
	const struct al_ledger_ask block = {.settings = &q->settings,
		.basis = &q->basis,
		.configured = configured};

	return a->is_about_model
		? al_open_training(q, q->is_own ? NULL : configured, &a->training, err)
		: al_ledger_create(q->arena, &block, err);
}

static bool measure_training(struct answer *a, const struct al_configured_variant *configured,
	struct al_memory_figures *out, struct al_error *err)
{
	const struct al_request *q = a->request;
	struct al_ledger *ledger = open_ledger(a, configured, err);

	if (!ledger
		|| !(a->is_about_model ? measure_model : measure_attention)(a, ledger, out, err))
		return false;
	const bool has_attention = !a->is_about_model
		|| (a->training.share.parts >> AL_PART_ATTENTION & 1);
	if (q->lacks_seq
		|| (has_attention
			&& !al_ledger_declares(ledger, AL_TOTAL, q->recipe, &out->undeclared)))
		out->values[AL_STATE_ACTIVATIONS] = out->values[AL_STATE_WORKING] =
			out->values[TOTAL] = NULL;
	return true;
}

/* With one of the request's variants. */
static bool measure(struct answer *a, size_t i, struct al_memory_figures *out, struct al_error *err)
{
	const struct al_configured_variant *configured = &a->request->variants.items[i];

	*out = (struct al_memory_figures){.stage_index = 0};
	if (trains(a))
		return measure_training(a, configured, out, err);
	return a->is_about_model ? al_infer_measure(a->request, configured, &a->inference, out, err)
				 : al_infer_measure_attention(a->request, configured,
					 &a->options->devices, out, err);
}

/* ---- notes and sentences ---- */

static void add_notes(const struct answer *a)
{
	struct al_request *q = a->request;

	al_note_request(q, a->options->devices.is_whole || !trains(a), a->table);
	if (trains(a))
		al_note_recipe(q, a->table);
	if (!trains(a) && a->is_about_model)
		al_infer_note(q, &a->inference, a->options, a->table);
	else if (!trains(a))
		al_table_note(a->table, "activations depend on the rest of the model");
	else if (a->is_about_model)
		al_devices_note(&a->training, a->table);
}

static struct al_memory_told told(const struct answer *a)
{
	return (struct al_memory_told){.options = a->options,
		.request = a->request,
		.training = trains(a) && a->is_about_model ? &a->training : NULL,
		.inference = !trains(a) && a->is_about_model ? &a->inference : NULL,
		.table = a->table,
		.has_contexts = a->shows_model
			&& (a->request->assumes_seq || a->request->lacks_seq),
		.has_formats = a->has_formats};
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

/* Does the answer contain the state? The working set only if the recipe does. */
static bool is_told(const struct answer *a, int state)
{
	if (state == AL_STATE_WORKING)
		return a->is_about_model && trains(a) && al_training_has_working(&a->training);
	if (state >= AL_STATE_STATES)
		return false;
	if (state == AL_STATE_ACTIVATIONS)
		return trains(a) || a->is_about_model;
	return state == AL_STATE_WEIGHTS || (state == AL_STATE_CACHE) != trains(a);
}

/* What a framework's allocator takes of the device. */
static void add_reserved(struct answer *a, const struct al_memory_figures *figures)
{
	const struct al_stage_memory *stage = figures->stage;
	mpq_ptr bytes = al_exact_new(&a->session->arena);

	if (!stage || !figures->values[TOTAL] || mpq_sgn(stage->reserved) == 0)
		return;
	mpq_add(bytes, figures->values[TOTAL], stage->reserved);
	al_table_add_record(a->table,
		&(struct state_record){{"reserved", "reserved (estimate)"}, bytes});
	al_table_mark_total(a->table);
	al_table_note(a->table,
		"the total is allocated at the peak, during %s; reserved is what PyTorch's "
		"allocator takes of the device, an estimate fitted to measured settings: six of "
		"seven of these are within 10 %%",
		stage->moment);
}

static bool answer_by_state(struct answer *a, struct al_error *err)
{
	struct al_memory_figures figures;

	if (!measure(a, 0, &figures, err))
		return false;
	for (int state = 0; state <= TOTAL; state++)
		if (state == TOTAL || is_told(a, state))
			al_table_add_record(a->table,
				&(struct state_record){al_state_titled(state),
					figures.values[state]});
	al_table_mark_total(a->table);
	add_reserved(a, &figures);
	add_notes(a);
	const struct al_memory_told all = told(a);
	al_session_claim(a->session, al_memory_summarize(&a->session->arena, &all));
	if (figures.undeclared.variant)
		al_note_undeclared(&figures.undeclared, a->table);
	if (all.training && a->training.pp > 1)
		al_table_note(a->table, "the fullest stage is number %lld of %lld",
			(long long)figures.stage_index + 1, (long long)a->training.pp);
	return !a->options->explains || !all.training
		|| al_explain_training(a->session, a->request, &a->training, &figures, err);
}

/* ---- a row a model or variant ---- */

struct record {
	struct al_titled model, variant;
	int64_t context;
	struct al_memory_figures figures;
	mpq_srcptr saving;
};

enum {
	WITH_MODEL = 1,
	WITH_VARIANT = 2,
	WITH_WORKING = 4,
	WITH_TRAINING = 8,
	WITH_CACHE = 16,
	WITH_ACTIVATIONS = 32,
	WITH_OVERHEAD = 64,
	WITH_CONTEXT = 128,
	WITH_DRAFT = 256,
};

#define STATE(name, heading, state) \
	AL_COLUMN_BYTES(name, heading), AL_MEMBER(struct record, figures.values[state])

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, model, "Model"), .when = WITH_MODEL},
	{AL_SHOW_KEY(struct record, variant, "Variant"), .when = WITH_VARIANT},
	{AL_SHOW_WHOLE(struct record, context, "Context", .unit = "tokens"), .when = WITH_CONTEXT},
	{AL_COLUMN_COUNT("parameters", "Parameters"),
		AL_MEMBER(struct record, figures.values[AL_MEMORY_PARAMETERS])},
	{STATE("weights", "Weights", AL_STATE_WEIGHTS)},
	{STATE("gradients", "Gradients", AL_STATE_GRADIENTS), .when = WITH_TRAINING},
	{STATE("optimizer", "Optimizer states", AL_STATE_OPTIMIZER), .when = WITH_TRAINING},
	{STATE("draft", "Draft model", AL_STATE_DRAFT_WEIGHTS), .when = WITH_DRAFT},
	{STATE("cache", "Cache", AL_STATE_CACHE), .when = WITH_CACHE},
	{STATE("activations", "Activations", AL_STATE_ACTIVATIONS), .when = WITH_ACTIVATIONS},
	{STATE("working", "Working set", AL_STATE_WORKING), .when = WITH_WORKING},
	{STATE("overhead", "Runtime and graphs", AL_STATE_OVERHEAD), .when = WITH_OVERHEAD},
	{STATE("total", "Total", TOTAL)},
	{AL_SHOW(struct record, saving, "Saving", .unit = "%", .digits = 2), .when = WITH_VARIANT},
	AL_FIELDS_END,
};

static unsigned shown(const struct answer *a)
{
	return (a->shows_model ? WITH_MODEL : 0) | (a->shows_variant ? WITH_VARIANT : 0)
		| (told(a).has_contexts ? WITH_CONTEXT : 0)
		| (trains(a) ? WITH_TRAINING : WITH_CACHE)
		| (a->options->asked.draft ? WITH_DRAFT : 0)
		| (is_told(a, AL_STATE_ACTIVATIONS) ? WITH_ACTIVATIONS : 0)
		| (is_told(a, AL_STATE_WORKING) ? WITH_WORKING : 0)
		| (trains(a) || al_is_ideal(a->request) ? 0 : WITH_OVERHEAD);
}

static bool add_variant(struct answer *a, size_t i, struct al_error *err)
{
	struct al_request *q = a->request;
	const struct al_configured_variant *configured = &q->variants.items[i];
	mpq_ptr saving = al_exact_new(&a->session->arena);
	struct record record = {.model = {q->name, q->title},
		.variant = {configured->name, configured->title}};

	if (!measure(a, i, &record.figures, err)
		|| !al_request_number(q, "seq", 1, INT64_MIN, &record.context, err))
		return false;
	mpq_srcptr total = record.figures.values[TOTAL];
	if (a->base && total && al_exact_saving(saving, total, a->base))
		record.saving = saving;
	al_table_add_record(a->table, &record);
	if (record.figures.undeclared.variant)
		al_note_undeclared(&record.figures.undeclared, a->table);
	if (record.figures.has_states)
		al_table_note(a->table, "cache: includes recurrent states");
	return true;
}

/* The total that savings compare with: --baseline, mha, or the first. */
static bool find_base(struct answer *a, struct al_error *err)
{
	const struct al_configured_variants *variants = &a->request->variants;
	const char *name = a->options->baseline;
	const char **names = al_new_array(&a->session->arena, const char *, variants->n + 1);
	struct al_memory_figures figures;

	for (size_t i = 0; i < variants->n; i++)
		names[i] = variants->items[i].name;
	int found = al_find_name(name ? name : "mha", names, variants->n);
	if (found < 0 && name)
		return al_fail_unknown(err, "baseline", name, names, variants->n);
	if (!measure(a, found < 0 ? 0 : (size_t)found, &figures, err))
		return false;
	a->base = figures.values[TOTAL];
	a->base_name = names[al_most(0, found)];
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
		al_table_keep_note(a->table, "saving: compared with %s", a->base_name);
	a->is_noted = true;
	const struct al_memory_told all = told(a);
	if (a->request->is_last)
		al_session_claim(a->session,
			al_memory_summarize_compared(&a->session->arena, &all,
				a->shows_model ? NULL : a->base_name));
	return true;
}

/* ---- requests ---- */

/* With an unknown number of tokens, numbers that don't depend on it are those of one token.
 */
static bool assume(struct answer *a, struct al_error *err)
{
	return al_request_assume(a->request, err)
		&& (!a->request->lacks_seq || al_request_set(a->request, "seq", 1, err));
}

static bool begin_request(struct answer *a, struct al_error *err)
{
	const struct al_device_options *o = &a->options->devices;
	struct al_request *q = a->request;

	if (!assume(a, err))
		return false;
	if (trains(a))
		return a->is_about_model ? al_devices_init(&a->training, o, q, err)
					 : al_devices_refuse(&a->session->line, q, err);
	return al_check_engine(q, false, err)
		&& (a->is_about_model ? al_inference_init(&a->inference, o, q, err)
				      : al_devices_refuse(&a->session->line, q, err)
					&& al_request_cache_format(q, o->cache_dtype, err));
}

/* One variant, or a model's own attention, is listed by state. */
static bool is_by_state(const struct answer *a)
{
	return !a->options->baseline
		&& (a->is_about_model && trains(a) ? a->request->is_own
						   : a->request->variants.n == 1);
}

static bool answer_one(struct answer *a, struct al_error *err)
{
	const bool explains = a->options->explains, by_state = is_by_state(a);

	if (by_state && a->is_about_model && !trains(a))
		return al_infer_answer(a->session, a->request, &a->inference, err);
	if (explains && !a->is_about_model && !trains(a))
		return al_fail(err, AL_EINPUT,
			"--explain needs --train if only attention is known");
	if (!by_state && explains && a->is_about_model)
		return al_fail(err, AL_EINPUT,
			"--explain can't be combined with --variant and --whole");
	a->table = al_session_table(a->session, "memory", by_state ? state_fields : fields,
		by_state ? 0 : shown(a), "%s memory of %s", trains(a) ? "Training" : "Inference",
		al_request_covered(a->request, a->options->devices.is_whole || !trains(a)));
	return (by_state ? answer_by_state : answer_by_variant)(a, err)
		&& (!explains || a->is_about_model
			|| al_explain_attention(a->session, a->request, err));
}

static void note_format(struct answer *a)
{
	const char *format = trains(a)
		? ""
		: al_format(&a->session->arena, "%s, %s", a->inference.weights->name,
			a->inference.cache->name);

	a->format = a->format ? a->format : format;
	a->has_formats |= strcmp(format, a->format) != 0;
}

/* One of several. */
static bool add_model(struct answer *a, struct al_error *err)
{
	const struct al_request *q = a->request;

	if (!a->is_about_model)
		return al_fail(err, AL_EINPUT, "%s: comparing several models needs %s", q->name,
			q->is_own ? "models whose parts are all known"
				  : "--whole (attention alone cannot be compared)");
	note_format(a);
	if (!a->table)
		a->table = al_session_table(a->session, "memory", fields, shown(a), "%s memory",
			trains(a) ? "Training" : "Inference");
	return answer_by_variant(a, err);
}

static bool answer(void *context, struct al_request *request, struct al_error *err)
{
	struct answer *a = context;

	a->request = request;
	a->is_about_model = al_request_is_about_model(request,
		a->options->devices.is_whole || !trains(a));
	if (!begin_request(a, err) || !(a->shows_model ? add_model : answer_one)(a, err))
		return false;
	if (!a->shows_model)
		al_request_next_fit(request, a->session, trains(a), NULL);
	return true;
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
	if (o->devices.device && o->devices.is_training)
		return al_fail(err, AL_EINPUT,
			"--device bounds inference; remove it or --train, or use `fit --train`");
	if (o->baseline && !a.shows_variant)
		return al_fail(err, AL_EINPUT,
			"--baseline needs several variants: use --variant A,B,C");
	if (a.shows_model && o->explains)
		return al_fail(err, AL_EINPUT, "--explain takes one model, found %zu",
			session->line.n_words);
	return al_each_request(session, &o->asked, !a.shows_model, answer, &a, err);
}

static const struct al_page_chart chart = {"state", "bytes", "bytes", "total"};

const struct al_command al_command_memory = {
	.words = "MODEL...|VARIANT",
	.examples = {"memory llama-3-8b", "memory llama-3-8b --train --tp 8 --sp"},
	.options = groups,
	.chart = &chart,
	.options_size = sizeof(struct al_memory_options),
	.run = run,
};
