/* memory: what a model, or the attention in it, takes by state. */
#include "commands/memory.h"
#include "commands/page.h"

#include "base/number.h"
#include "commands/explain.h"
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
	const char *base_name; /* the variant of that; NULL: none */
	bool shows_model, shows_variant, is_noted;
	/* of the request that is being answered: */
	struct al_request *request;
	struct al_training training; /* of a model */
	bool is_about_model;
	mpq_t base; /* the total that savings compare with */
	bool has_base;
};

/* ---- figures ---- */

static void figures_init(struct al_training_figures *figures)
{
	*figures = (struct al_training_figures){.stage_index = 0};
	al_stage_memory_init(&figures->stage);
	for (int i = 0; i < AL_N_TRAINING_FIGURES; i++)
		mpq_init(figures->values[i]);
}

static void figures_finish(struct al_training_figures *figures)
{
	al_stage_memory_finish(&figures->stage);
	for (int i = 0; i < AL_N_TRAINING_FIGURES; i++)
		mpq_clear(figures->values[i]);
}

const char *al_training_state_name(int state)
{
	return state == TOTAL ? "total" : al_memory_state_names[state];
}

const char *al_training_state_title(int state)
{
	const char *title = state == TOTAL ? NULL : al_memory_state_titles[state];

	return title ? title : al_training_state_name(state);
}

bool al_training_is_told(const struct al_training *training, int state)
{
	return state != AL_STATE_WORKING || (training && al_training_has_working(training));
}

/* What the ledger calls a state of attention alone. */
static enum al_measure measure_of(int state)
{
	return state == TOTAL ? AL_TOTAL : (enum al_measure)(AL_WEIGHTS + state);
}

static bool training_is_known(const struct al_training_figures *figures, int state)
{
	return !figures->undeclared.variant
		|| (state != AL_STATE_ACTIVATIONS && state != AL_TRAINING_TOTAL);
}

static bool measure_model(struct answer *a, struct al_ledger *ledger,
	struct al_training_figures *out, struct al_error *err)
{
	if (!al_train_stages(ledger, &a->training, &out->stage, &out->stage_index, err)
		|| !al_ledger_count(ledger, AL_COUNT_PARAMETERS,
			out->values[AL_TRAINING_PARAMETERS], err))
		return false;
	for (int state = 0; state < TOTAL; state++)
		al_stage_memory_sum(&out->stage, (enum al_memory_state)state, out->values[state]);
	al_stage_memory_total(&out->stage, out->values[TOTAL]);
	return true;
}

static bool measure_attention(struct answer *a, struct al_ledger *ledger,
	struct al_training_figures *out, struct al_error *err)
{
	const struct al_recipe *recipe = a->request->recipe;

	for (int state = 0; state <= TOTAL; state++)
		if (al_training_is_told(NULL, state)
			&& !al_ledger_measure(ledger, measure_of(state), recipe, out->values[state],
				err))
			return false;
	return al_ledger_measure(ledger, AL_PARAMETERS, NULL, out->values[AL_TRAINING_PARAMETERS],
		err);
}

static bool open_ledger(struct answer *a, size_t i, struct al_ledger *ledger, struct al_error *err)
{
	struct al_request *q = a->request;

	if (!a->is_about_model)
		return al_ledger_open_module(ledger, &q->variants.items[i], &q->settings, &q->basis,
			err);
	return al_open_training(q, q->is_own ? NULL : &q->variants.items[i], &a->training, ledger,
		err);
}

static bool measure(struct answer *a, size_t i, struct al_training_figures *out,
	struct al_error *err)
{
	struct al_ledger ledger;

	if (!open_ledger(a, i, &ledger, err))
		return false;
	bool ok = a->is_about_model ? measure_model(a, &ledger, out, err)
				    : measure_attention(a, &ledger, out, err);
	if (ok && (!a->is_about_model || (a->training.share.parts >> AL_PART_ATTENTION & 1)))
		(void)al_ledger_declares(&ledger, AL_TOTAL, a->request->recipe, &out->undeclared);
	al_ledger_close(&ledger);
	return ok;
}

static const struct al_training *training_of(const struct answer *a)
{
	return a->is_about_model ? &a->training : NULL;
}

/* ---- notes ---- */

static void add_notes(struct answer *a)
{
	const struct al_request *q = a->request;

	al_note_request(q, a->options->devices.is_whole, a->table);
	al_note_recipe(q, a->table);
	if (a->is_about_model)
		al_devices_note(&a->training, a->table);
}

/* ---- a row a state ---- */

static void add_states(struct answer *a, const struct al_training_figures *figures)
{
	struct al_table *table = a->table;

	al_table_add_column(table,
		(struct al_column){.key = "state", .title = "State", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "bytes",
			.title = "Memory",
			.unit = "B",
			.quantity = AL_QUANTITY_BYTES,
			.digits = AL_DIGITS_ALL});
	for (int state = 0; state <= TOTAL; state++) {
		if (!al_training_is_told(training_of(a), state))
			continue;
		struct al_cell *row = al_table_add_row(table);
		al_cell_set_titled(table, &row[0], al_training_state_name(state),
			al_training_state_title(state));
		if (training_is_known(figures, state))
			al_cell_set_exact(table, &row[1], figures->values[state]);
	}
	al_table_mark_total(table);
}

static bool answer_by_state(struct answer *a, struct al_error *err)
{
	struct al_training_figures figures;

	figures_init(&figures);
	bool ok = measure(a, 0, &figures, err);
	if (ok) {
		add_states(a, &figures);
		add_notes(a);
		a->session->style.summary = al_memory_summarize_training(&a->session->arena,
			a->table, a->request, training_of(a), a->options->devices.is_whole);
		if (figures.undeclared.variant)
			al_note_undeclared(&figures.undeclared, a->table);
		if (a->is_about_model && a->training.pp > 1)
			al_table_note(a->table, "the stage that needs most is number %lld of %lld",
				(long long)figures.stage_index + 1, (long long)a->training.pp);
	}
	if (ok && a->options->explains && a->is_about_model)
		ok = al_explain_training(a->session, a->request, &a->training, &figures, err);
	figures_finish(&figures);
	return ok;
}

/* ---- a row a model or variant ---- */

static struct al_column column_of(int state)
{
	struct al_column column = al_measure_column(measure_of(state));

	if (state == AL_STATE_WORKING) {
		column.key = al_training_state_name(state);
		column.title = "Working set";
	}
	return column;
}

static void add_columns(struct answer *a)
{
	struct al_table *t = a->table;

	if (a->shows_model)
		al_table_add_column(t,
			(struct al_column){.key = "model", .title = "Model", .is_key = true});
	if (a->shows_variant)
		al_table_add_column(t,
			(struct al_column){.key = "variant", .title = "Variant", .is_key = true});
	al_table_add_column(t, al_measure_column(AL_PARAMETERS));
	for (int state = 0; state <= TOTAL; state++)
		if (al_training_is_told(training_of(a), state))
			al_table_add_column(t, column_of(state));
	if (a->shows_variant)
		al_table_add_column(t,
			(struct al_column){.key = "saving",
				.title = "Saving",
				.unit = "%",
				.digits = 2});
}

static void set_saving(struct answer *a, struct al_cell *cell, mpq_srcptr total)
{
	mpq_t saving;

	mpq_init(saving);
	if (a->has_base && al_exact_saving(saving, total, a->base))
		al_cell_set_exact(a->table, cell, saving);
	mpq_clear(saving);
}

static void add_row(struct answer *a, size_t i, const struct al_training_figures *figures)
{
	const struct al_configured_variant *configured = &a->request->variants.items[i];
	struct al_cell *cell = al_table_add_row(a->table);

	if (a->shows_model)
		al_cell_set_titled(a->table, cell++, a->request->name, a->request->title);
	if (a->shows_variant)
		al_cell_set_titled(a->table, cell++, configured->name,
			configured->title ? configured->title : configured->name);
	al_cell_set_exact(a->table, cell++, figures->values[AL_TRAINING_PARAMETERS]);
	for (int state = 0; state <= TOTAL; state++) {
		if (!al_training_is_told(training_of(a), state))
			continue;
		if (training_is_known(figures, state))
			al_cell_set_exact(a->table, cell, figures->values[state]);
		cell++;
	}
	if (a->shows_variant && training_is_known(figures, TOTAL))
		set_saving(a, cell, figures->values[TOTAL]);
	if (figures->undeclared.variant)
		al_note_undeclared(&figures->undeclared, a->table);
}

static bool add_variant(struct answer *a, size_t i, struct al_error *err)
{
	struct al_training_figures figures;

	figures_init(&figures);
	bool ok = measure(a, i, &figures, err);
	if (ok)
		add_row(a, i, &figures);
	figures_finish(&figures);
	return ok;
}

/* The total that savings compare with: --baseline, mha, or the first. */
static bool find_base(struct answer *a, const char **out, struct al_error *err)
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
	figures_init(&figures);
	bool ok = measure(a, found < 0 ? 0 : (size_t)found, &figures, err);
	a->has_base = ok && training_is_known(&figures, TOTAL);
	mpq_set(a->base, figures.values[TOTAL]);
	figures_finish(&figures);
	*out = names[found < 0 ? 0 : found];
	return ok;
}

static bool answer_by_variant(struct answer *a, struct al_error *err)
{
	if (a->shows_variant && !find_base(a, &a->base_name, err))
		return false;
	for (size_t i = 0; i < a->request->variants.n; i++)
		if (!add_variant(a, i, err))
			return false;
	if (!a->is_noted)
		add_notes(a);
	if (!a->is_noted && a->base_name)
		al_table_note(a->table, "saving: against %s", a->base_name);
	a->is_noted = true;
	a->session->style.summary = al_memory_summarize_compared(&a->session->arena, a->table,
		a->request->recipe, training_of(a), a->shows_model ? NULL : a->base_name);
	return true;
}

/* ---- requests ---- */

static bool begin_request(struct answer *a, struct al_error *err)
{
	struct al_request *q = a->request;

	a->is_about_model = al_request_is_about_model(q, a->options->devices.is_whole);
	if (!a->is_about_model)
		return al_devices_refuse(&a->session->line, q, err);
	return al_devices_init(&a->training, &a->options->devices, q, err)
		&& al_devices_tokens(&a->training, q, err);
}

/* One variant, or a model's own attention, is told by state. */
static bool is_by_state(const struct answer *a)
{
	return !a->options->baseline
		&& (a->is_about_model ? a->request->is_own : a->request->variants.n == 1);
}

static bool answer_one(struct answer *a, struct al_error *err)
{
	if (!begin_request(a, err))
		return false;
	a->table = al_session_table(a->session, "memory",
		al_format(&a->session->arena, "Training memory of %s",
			al_request_covered(a->request, a->options->devices.is_whole)));
	if (is_by_state(a)) {
		if (!answer_by_state(a, err))
			return false;
	} else {
		if (a->options->explains && a->is_about_model)
			return al_fail(err, AL_EINPUT,
				"--explain tells of a model with its own attention; expected no "
				"variants, or no --whole");
		add_columns(a);
		if (!answer_by_variant(a, err))
			return false;
	}
	return !a->options->explains || a->is_about_model
		|| al_explain_attention(a->session, a->request, err);
}

static bool add_model(struct answer *a, struct al_error *err)
{
	const struct al_request *q = a->request;

	if (!al_request_is_about_model(q, a->options->devices.is_whole))
		return al_fail(err, AL_EINPUT, "%s: comparing several models needs %s", q->name,
			q->is_own ? "models whose parts are all known"
				  : "--whole (attention alone cannot be compared)");
	if (!begin_request(a, err))
		return false;
	if (a->table->n_columns == 0)
		add_columns(a);
	return answer_by_variant(a, err);
}

static bool answer_several(struct answer *a, struct al_error *err)
{
	const struct al_command_line *line = &a->session->line;
	bool ok = true;

	if (a->options->devices.is_inference || a->options->explains)
		return al_fail(err, AL_EINPUT, "--%s answers for one model at a time, found %zu",
			a->options->explains ? "explain" : "inference", line->n_words);
	a->table = al_session_table(a->session, "memory", "Training memory");
	for (size_t i = 0; ok && i < line->n_words; i++) {
		struct al_request request;
		if (!al_ask_request(&request, a->session, &a->options->asked, line->words[i], false,
			    AL_BASIS_MODEL, err))
			return false;
		a->request = &request;
		ok = add_model(a, err);
		al_request_finish(&request);
	}
	return ok;
}

static bool answer_request(struct answer *a, struct al_error *err)
{
	struct al_request request;

	if (!al_ask_request(&request, a->session, &a->options->asked, a->session->line.words[0],
		    true, AL_BASIS_MODEL, err))
		return false;
	a->request = &request;
	bool is_inference = a->options->devices.is_inference
		&& al_request_is_about_model(&request, a->options->devices.is_whole);
	bool ok = is_inference ? al_infer_answer(a->session, &request, err) : answer_one(a, err);
	al_request_finish(&request);
	return ok;
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
	if (o->baseline && !a.shows_variant)
		return al_fail(err, AL_EINPUT,
			"--baseline names one of several variants, expected --variants A,B,C");
	mpq_init(a.base);
	bool ok = session->line.n_words > 1 ? answer_several(&a, err) : answer_request(&a, err);
	mpq_clear(a.base);
	return ok;
}

static const struct al_page_chart charts[] = {
	{"state", "bytes", "bytes", "total"},
	{NULL, NULL, NULL, NULL},
};

const struct al_command al_command_memory = {
	.words = "MODEL...|VARIANT",
	.examples = {"memory llama-3-8b --batch 1 --seq 8192 --tp 8 --sp",
		"memory gpt3-175b --variants mha,skv,mhe-mul --basis output_projection=full "
		"--batch 1 --seq 2048"},
	.options = groups,
	.charts = charts,
	.options_size = sizeof(struct al_memory_options),
	.least_words = 1,
	.most_words = 1000,
	.run = run,
};
