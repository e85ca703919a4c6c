/* audit: how redundant the heads of a checkpoint are, module by module. */
#include "commands/audit_figures.h"
#include "commands/checkpoint.h"
#include "commands/frontier.h"
#include "commands/kernel.h"
#include "commands/pairs.h"
#include "commands/progress.h"

#include <string.h>

#include "audit/matrices.h"
#include "audit/notes.h"
#include "audit/select.h"
#include "audit/summary.h"
#include "base/file.h"
#include "checkpoint/finite.h"

/* ---- options ---- */

#define MEASUREMENT_NAME(name) #name,

static const char *const measurement_names[] = {AL_MEASUREMENTS(MEASUREMENT_NAME)};

struct audit_options {
	struct al_output_options output;
	struct al_layout_options layout;
	const char *against, *tables, *figures, *calibration;
	int64_t n_nulls, n_pairs, seed, offset;
	bool is_centred, folds_norms, is_across;
	uint64_t only; /* a bit for each of al_measurements */
	struct al_input_options input; /* what conversions are measured on */
};

static const struct al_option_row against_rows[] = {
	OPTION_TEXT(struct audit_options, against, "against", "CHECKPOINT",
		"compare head by head with this checkpoint"),
	OPTION_END,
};

static const struct al_option_row rows[] = {
	OPTION_COUNT(struct audit_options, n_nulls, "null", "N",
		"what chance gives: N random draws of independent heads in place of their "
		"computed mean; 0 leaves it out",
		.fallback = AL_NULL_IS_COMPUTED, .most = 1000),
	OPTION_COUNT(struct audit_options, n_pairs, "top", "N",
		"pairs of heads to show (default 20; 0 for all)", .fallback = 20, .most = 1 << 30),
	AL_SEED_ROW(struct audit_options, seed, (INT64_C(1) << 53) - 1),
	OPTION_FLAG(struct audit_options, is_centred, "center",
		"subtract from each row its mean over the head's dimensions before measuring"),
	OPTION_FLAG(struct audit_options, folds_norms, "fold-norms",
		"multiply the preceding norm's scale into W_Q, W_K, W_V"),
	OPTION_SET(struct audit_options, only, "only", "A,B", "only these tables",
		.words = measurement_names, .n_words = AL_N_MEASUREMENTS, .noun = "measurement"),
	OPTION_TEXT(struct audit_options, tables, "tables", "DIR",
		"write every table as CSV, and singular values as .npy, into DIR"),
	OPTION_TEXT(struct audit_options, figures, "figures", "DIR", "draw figures into DIR"),
	OPTION_FLAG(struct audit_options, is_across, "across",
		"also compare heads of different modules, with composition scores"),
	OPTION_COUNT(struct audit_options, offset, "offset", "T",
		"rotary models: W_Q W_K^T of a query T tokens after its key (default 0)",
		.most = 1 << 30),
	OPTION_TEXT(struct audit_options, calibration, "calibration", "DIR",
		"measure weights as inputs use them: what `calibrate` wrote; or the inputs' second "
		"moment, an .npy file (D x D, (D+1) x (D+1) of [x, 1], or D mean squares) or a "
		"folder of MODULE.npy"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {against_rows, 0},
	{al_layout_rows, offsetof(struct audit_options, layout)},
	{al_module_rows, offsetof(struct audit_options, layout)}, {rows, 0},
	{al_input_rows, offsetof(struct audit_options, input)}, {NULL, 0}};

/* ---- what is measured ---- */

struct audit_run {
	struct al_session *session;
	const struct audit_options *options;
	struct al_opened_checkpoint opened;
	struct al_audit audit;
	struct al_table **tables; /* beside al_measurements; NULL: not wanted */
	struct al_table summary;
	struct al_table across, against; /* without columns where they weren't asked for */
	const struct al_attention **measured;
	size_t n_measured;
	bool has_outputs; /* a calibration says what heads put out */
	const char **left_out;
	size_t n_left_out, room;
};

static bool is_wanted(const struct audit_run *run, size_t i)
{
	const struct audit_options *o = run->options;
	enum al_measured measured = al_measurements[i]->measured;

	if (o->only)
		return o->only >> i & 1;
	if (o->against)
		return false; /* the two side by side are the answer */
	return measured == AL_MEASURED_ALWAYS
		|| (measured == AL_MEASURED_WITH_OUTPUTS && run->has_outputs)
		|| (measured == AL_MEASURED_FOR_FILES && (o->tables || o->figures));
}

static void add_needs(struct al_needs *needs, const struct al_needs *more)
{
	needs->weights |= more->weights;
	needs->head_spectra |= more->head_spectra;
	needs->layer_spectra |= more->layer_spectra;
}

static struct al_needs find_needs(const struct audit_run *run)
{
	const struct audit_options *o = run->options;
	struct al_needs needs = {.weights = o->is_across || o->against};

	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (is_wanted(run, i))
			add_needs(&needs, &al_measurements[i]->needs);
	if (o->tables)
		add_needs(&needs, &al_matrices_needs);
	return needs;
}

static void begin_tables(struct audit_run *run)
{
	run->tables = al_new_array(&run->session->arena, struct al_table *, AL_N_MEASUREMENTS);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		const struct al_measurement *m = al_measurements[i];
		if (!is_wanted(run, i))
			continue;
		run->tables[i] = al_new(&run->session->arena, struct al_table);
		al_table_init(run->tables[i], m->id, m->title);
		m->add_columns(run->tables[i], &run->audit);
	}
	al_table_init(&run->summary, "summary", "What the weights say");
}

static void end_tables(struct audit_run *run)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i])
			al_table_finish(run->tables[i]);
	al_table_finish(&run->summary);
	al_table_finish(&run->across);
	al_table_finish(&run->against);
}

/* ---- modules ---- */

static bool is_chosen(const struct audit_run *run, const struct al_attention *attention)
{
	const char *patterns = run->options->layout.modules;

	return !patterns || al_select_module(patterns, attention->name);
}

/* Weights that aren't finite leave a module out; anything else ends the audit. */
static bool leave_out(struct audit_run *run, const struct al_attention *attention,
	struct al_error *err)
{
	if (err->status != AL_ENOTFINITE)
		return al_in(err, "%s", attention->name);
	run->left_out = al_grow(&run->session->arena, run->left_out, run->n_left_out, &run->room,
		sizeof(*run->left_out));
	run->left_out[run->n_left_out++] = al_format(&run->session->arena, "%s is left out: %s",
		attention->name, err->message);
	return true;
}

static bool take_matrix(void *context, const char *name, const struct al_text *content,
	struct al_error *err)
{
	struct audit_run *run = context;

	return al_files_put_aside(&run->session->files, run->options->tables, name, content, err);
}

static bool measure_module(struct audit_run *run, const struct al_attention *attention,
	struct al_error *err)
{
	struct al_audit_module module;
	bool ok = true;

	if (!al_audit_module_init(&module, &run->audit, attention, err))
		return leave_out(run, attention, err);
	for (size_t i = 0; ok && i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i] && !(al_measurements[i]->needs_own_keys && attention->is_shared))
			ok = al_measurements[i]->add_module(&run->audit, &module, run->tables[i],
				err);
	if (ok && run->options->tables)
		ok = al_matrices_hand_over(&run->audit, &module, take_matrix, run, err);
	al_audit_module_finish(&module);
	run->measured[run->n_measured++] = attention;
	return ok || al_in(err, "%s", attention->name);
}

static void finish_tables(struct audit_run *run)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i] && al_measurements[i]->finish)
			al_measurements[i]->finish(&run->audit, run->tables[i]);
	al_summary_fill(&run->summary, &run->audit, run->tables);
}

struct audit_progress {
	struct audit_run *run;
	struct al_progress progress;
	const char *module;
};

static void show_step(void *context, const char *step)
{
	struct audit_progress *watched = context;

	al_progress_show(&watched->progress, watched->module, step);
}

static bool measure_all(struct audit_run *run, struct al_error *err)
{
	const struct al_model_view *view = &run->opened.view;
	struct audit_progress watched = {.run = run};
	size_t n = 0;
	bool ok = true;

	run->measured = al_new_array(&run->session->arena, const struct al_attention *,
		view->n_modules + 1);
	al_progress_init(&watched.progress, run->session);
	run->audit.options.watch = show_step;
	run->audit.options.watch_context = &watched;
	for (size_t i = 0; ok && i < view->n_modules; i++) {
		if (!is_chosen(run, &view->modules[i]))
			continue;
		watched.module = view->modules[i].name;
		al_progress_show(&watched.progress, run->opened.checkpoint.path, watched.module);
		ok = measure_module(run, &view->modules[i], err);
		n++;
	}
	al_progress_finish(&watched.progress);
	run->audit.options.watch = NULL;
	if (ok && n == 0)
		return al_fail(err, AL_EINPUT, "--modules %s: no such module, the first is %s",
			run->options->layout.modules, view->modules[0].name);
	if (ok && run->n_left_out == n)
		return al_fail(err, AL_EINPUT, "%s", run->left_out[0]);
	return ok;
}

static bool measure_pairs(struct audit_run *run, struct al_error *err)
{
	const struct audit_options *o = run->options;
	const struct al_measured_modules pairs = {run->session, &o->layout, &run->audit,
		run->measured, run->n_measured};

	return (!o->is_across || al_pairs_across(&pairs, &run->across, err))
		&& (!o->against || al_pairs_against(&pairs, o->against, &run->against, err));
}

/* ---- the answer ---- */

/* Two checkpoints side by side need no summary of the first. */
static bool is_comparison(const struct audit_run *run)
{
	return run->against.n_columns > 0 && !run->options->only;
}

/* The summary, or of the tables that were named the first. */
static struct al_table *first_table(struct audit_run *run)
{
	if (is_comparison(run))
		return &run->against;
	for (size_t i = 0; run->options->only && i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i])
			return run->tables[i];
	return &run->summary;
}

/* With --modules, the tensors of the modules alone are counted. What was measured is known to be
 * finite, but for the rotary part of latent heads, which isn't read. */
static bool note_not_finite(struct audit_run *run, struct al_error *err)
{
	const struct al_model_view *view = &run->opened.view;
	const struct al_checkpoint *checkpoint = &run->opened.checkpoint;
	bool *is_counted = al_new_array(&run->session->arena, bool, checkpoint->n_tensors + 1);

	memset(is_counted, !run->options->layout.modules, checkpoint->n_tensors);
	for (size_t i = 0; i < view->n_modules; i++)
		if (is_chosen(run, &view->modules[i]))
			al_attention_mark_tensors(checkpoint, &view->modules[i], true, is_counted);
	for (size_t i = 0; i < run->n_measured; i++)
		if (!run->measured[i]->is_latent)
			al_attention_mark_weights(checkpoint, run->measured[i], false, is_counted);
	return al_checkpoint_note_not_finite(checkpoint, is_counted, first_table(run), err);
}

static void add_notes(struct audit_run *run)
{
	struct al_table *table = first_table(run);

	al_opened_checkpoint_note(&run->opened, table);
	al_audit_note(&run->audit, run->measured, run->n_measured, table);
	al_kernel_note(table);
	for (size_t i = 0; i < run->n_left_out; i++)
		al_table_note(table, "%s", run->left_out[i]);
}

static bool write_table(struct al_session *session, const char *folder,
	const struct al_table *table, struct al_error *err)
{
	struct al_style style = {0};
	const struct al_writer *csv;

	if (!al_writer_find("csv", &csv, err))
		return false;
	csv->write(&style, &table, 1, al_files_add(&session->files, folder, table->id, "csv"));
	return true;
}

static bool write_tables(struct audit_run *run, struct al_error *err)
{
	const char *folder = run->options->tables;

	if (!folder)
		return true;
	bool ok = al_folder_make(folder, err)
		&& write_table(run->session, folder, &run->summary, err);
	for (size_t i = 0; ok && i < AL_N_MEASUREMENTS; i++)
		ok = !run->tables[i] || write_table(run->session, folder, run->tables[i], err);
	if (ok && run->across.n_columns)
		ok = write_table(run->session, folder, &run->across, err);
	if (ok && run->against.n_columns)
		ok = write_table(run->session, folder, &run->against, err);
	return ok;
}

static bool draw_figures(const struct audit_run *run, struct al_error *err)
{
	const char *folder = run->options->figures;

	return !folder || al_audit_figures_draw(&run->session->files, folder, run->tables, err);
}

/* Moves a table into the answer. */
static void take(struct al_session *session, struct al_table *table)
{
	al_session_take(session, table);
	*table = (struct al_table){0};
}

static void take_short(struct al_session *session, const struct al_measurement *m,
	const struct al_table *table)
{
	const char *title = m->short_form.title ? m->short_form.title : table->title;

	if (al_measurement_has_short_form(m))
		al_measurement_shorten(m, table, al_session_table(session, m->id, title));
}

/* People get the summary and short tables; who names tables, and programs, get them whole. */
static void answer(struct audit_run *run)
{
	struct al_session *session = run->session;
	bool is_named = run->options->only;
	bool is_short = session->writer->is_for_people && !is_named;

	if (is_short)
		al_table_note(&run->summary,
			"whole tables: --only NAME, --format json, --tables DIR");
	if (!is_named && !is_comparison(run))
		take(session, &run->summary);
	if (run->across.n_columns)
		take(session, &run->across);
	if (run->against.n_columns)
		take(session, &run->against);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		const struct al_measurement *m = al_measurements[i];
		if (!run->tables[i] || (m->measured == AL_MEASURED_FOR_FILES && !is_named))
			continue;
		if (is_short)
			take_short(session, m, run->tables[i]);
		else
			take(session, run->tables[i]);
	}
}

static bool has_input(const struct audit_options *o)
{
	return o->input.tokens || o->input.text;
}

/* Tables that need a calibration are named with one. */
static bool check_outputs(struct audit_run *run, const struct al_covariance *covariance,
	struct al_error *err)
{
	run->has_outputs = al_covariance_calibration(covariance) != NULL;
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (al_measurements[i]->measured == AL_MEASURED_WITH_OUTPUTS && is_wanted(run, i)
			&& !run->has_outputs)
			return al_fail(err, AL_EINPUT,
				"--only %s needs --calibration DIR, which `calibrate` wrote",
				al_measurements[i]->id);
	return run->has_outputs || !has_input(run->options)
		|| al_fail(err, AL_EINPUT,
			"--tokens and --text measure conversions: they need --calibration DIR, "
			"which `calibrate` wrote");
}

/* What conversions cost on tokens. */
static bool measure_conversions(struct audit_run *run, const struct al_covariance *covariance,
	struct al_error *err)
{
	const struct audit_options *o = run->options;

	return !has_input(o)
		|| al_frontier_add(run->session, &run->opened,
			al_covariance_calibration(covariance), &o->input, o->figures, err);
}

static bool run_audit(struct al_session *session, struct al_error *err)
{
	const struct audit_options *o = session->options;
	struct al_needs needs;
	struct audit_run run = {.session = session, .options = o};
	struct al_covariance covariance = {0};
	const struct al_audit_options options = {
		.n_nulls = o->n_nulls,
		.n_pairs = (size_t)o->n_pairs,
		.seed = (uint64_t)o->seed,
		.is_centred = o->is_centred,
		.folds_norms = o->folds_norms,
		.offset = o->offset,
		.covariance = o->calibration ? &covariance : NULL,
		.needs = &needs,
	};

	if (!al_opened_checkpoint_init(&run.opened, session, &o->layout,
		    al_session_word(session, 0), al_session_word(session, 1), true, err))
		return false;
	bool ok = al_audit_set_offset(&run.opened.view, options.offset, err)
		&& (!o->calibration
			|| al_covariance_open(&covariance, o->calibration, &run.opened.checkpoint,
				err))
		&& check_outputs(&run, &covariance, err);
	needs = find_needs(&run);
	al_audit_init(&run.audit, &run.opened.view, &options);
	begin_tables(&run);
	ok = ok && measure_all(&run, err) && measure_pairs(&run, err);
	if (ok) {
		finish_tables(&run);
		add_notes(&run);
	}
	ok = ok && note_not_finite(&run, err)
		&& al_checkpoint_check_unchanged(&run.opened.checkpoint, err);
	ok = ok && write_tables(&run, err) && draw_figures(&run, err);
	if (ok)
		answer(&run);
	ok = ok && measure_conversions(&run, &covariance, err);
	end_tables(&run);
	al_audit_finish(&run.audit);
	al_covariance_finish(&covariance);
	al_opened_checkpoint_finish(&run.opened);
	return ok;
}

const struct al_command al_command_audit = {
	.words = "CHECKPOINT [CONFIG]",
	.examples = {"audit model.safetensors --heads 12",
		"audit model/ --modules layers.0-3 --null 8 --tables out"},
	.options = groups,
	.options_size = sizeof(struct audit_options),
	.least_words = 1,
	.most_words = 2,
	.computes = true,
	.run = run_audit,
};
