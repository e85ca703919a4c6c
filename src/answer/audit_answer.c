/* An audit's answer: tables finished, noted, written, drawn, and what of them people read. */
#include "answer/audit_run.h"

#include "audit/notes.h"
#include "audit/summary.h"
#include "base/file.h"

/* Two checkpoints side by side need no summary of the first. */
static bool is_comparison(const struct al_audit_run *run)
{
	return run->against.n_columns > 0 && !run->options->only;
}

/* The summary, or of the tables that were named the first. */
static struct al_table *first_table(struct al_audit_run *run)
{
	if (is_comparison(run))
		return &run->against;
	for (size_t i = 0; run->options->only && i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i])
			return run->tables[i];
	return &run->summary;
}

static void add_notes(struct al_audit_run *run)
{
	struct al_table *table = first_table(run);

	al_opened_checkpoint_note_fingerprint(run->opened, run->fingerprint, table);
	al_audit_note(&run->audit, run->measured, run->n_measured, run->kernel, table);
	if (run->kernel_note)
		al_table_warn(table, "%s", run->kernel_note);
	for (size_t i = 0; i < run->n_left_out; i++)
		al_table_warn(table, "%s", run->left_out[i].why);
	al_checkpoint_note_counts(run->opened->checkpoint, run->not_finite, table);
}

/* ---- files ---- */

static void write_table(struct al_audit_run *run, const struct al_table *table)
{
	if (table->n_columns)
		al_csv_add(table, true,
			al_files_add(&run->session->files, run->options->tables, table->id, "csv"));
}

/* Neither printed nor drawn: rows go to the file as they come. */
static bool is_for_file_alone(const struct al_audit_run *run, size_t i)
{
	const struct al_audit_asked *o = run->options;

	return run->tables[i] && al_measurements[i]->measured == AL_MEASURED_FOR_FILES
		&& !al_measurements[i]->finish && o->tables && !o->figures && !o->only;
}

static bool hand_on(struct al_audit_run *run, size_t i, struct al_error *err)
{
	struct al_session *session = run->session;
	const char *name = al_format(&session->arena, "%s.csv", al_measurements[i]->id);

	AL_TEXT(lines);
	al_csv_add(run->tables[i], run->n_handed_on == 0, &lines);
	bool ok = al_files_put_aside(&session->files, run->options->tables, name, &lines, err);
	al_table_finish(run->tables[i]);
	al_audit_run_begin_table(run, i);
	return ok;
}

bool al_audit_run_hand_on(struct al_audit_run *run, struct al_error *err)
{
	if (run->n_measured == run->n_handed_on)
		return true;
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (is_for_file_alone(run, i) && !hand_on(run, i, err))
			return false;
	run->n_handed_on = run->n_measured;
	return true;
}

static void write_tables(struct al_audit_run *run)
{
	write_table(run, &run->summary);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (run->tables[i] && !is_for_file_alone(run, i))
			write_table(run, run->tables[i]);
	write_table(run, &run->across);
	write_table(run, &run->against);
	write_table(run, &run->losses);
	write_table(run, &run->frontier);
}

/* ---- what is read ---- */

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
		al_measurement_shorten(m, table,
			al_session_table(session, m->id, NULL, 0, "%s", title));
}

bool al_audit_run_shows(const struct al_audit_run *run, size_t i)
{
	const struct al_measurement *m = al_measurements[i];
	const bool is_long = m->measured == AL_MEASURED_FOR_FILES
		|| m->measured == AL_MEASURED_FOR_REPORT;

	return run->tables[i] && (!is_long || run->options->only);
}

static void take_if_any(struct al_session *session, struct al_table *table)
{
	if (table->n_columns)
		take(session, table);
}

/* People get the summary and short tables; who names tables, and programs, get them whole. */
static void answer(struct al_audit_run *run)
{
	struct al_session *session = run->session;
	const bool is_named = run->options->only;
	const bool is_short = session->writer->is_for_people && !is_named;

	if (is_short)
		al_table_note(&run->summary,
			"whole tables: --only NAME, --format json, --tables DIR");
	if (!is_named && !is_comparison(run))
		take(session, &run->summary);
	take_if_any(session, &run->across);
	take_if_any(session, &run->against);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		if (!al_audit_run_shows(run, i))
			continue;
		if (is_short)
			take_short(session, al_measurements[i], run->tables[i]);
		else
			take(session, run->tables[i]);
	}
	take_if_any(session, &run->losses);
	take_if_any(session, &run->frontier);
}

/* Totals of conversions over all modules. */
static void add_totals(struct al_audit_run *run)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		const struct al_measurement *m = al_measurements[i];
		if (!run->tables[i] || strcmp(m->id, "conversion") != 0)
			continue;
		al_table_init(&run->totals, "conversions", m->short_form.title);
		al_measurement_shorten(m, run->tables[i], &run->totals);
	}
}

static bool finish_tables(struct al_audit_run *run, struct al_error *err)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		const struct al_measurement *m = al_measurements[i];
		if (run->tables[i] && m->complete && !m->complete(&run->audit, run->tables[i], err))
			return false;
		if (run->tables[i] && m->finish)
			m->finish(&run->audit, run->tables[i]);
	}
	return true;
}

bool al_audit_run_answer(struct al_audit_run *run, struct al_error *err)
{
	const char *folder = run->options->tables;

	if (!finish_tables(run, err))
		return false;
	add_totals(run);
	al_summary_fill(&run->summary, &run->audit, run->tables);
	add_notes(run);
	if (!al_checkpoint_check_unchanged(run->opened->checkpoint, err)
		|| (folder && !al_folder_make(folder, err)))
		return false;
	if (folder)
		write_tables(run);
	if (run->options->figures && !al_audit_figures_draw(run, err))
		return false;
	al_session_claim(run->session,
		is_comparison(run) ? al_audit_against_say(run) : al_audit_verdict(run));
	if (run->session->claim.text && !is_comparison(run))
		al_audit_next(run);
	al_audit_report_add(run);
	answer(run);
	return true;
}
