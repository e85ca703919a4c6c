/* run: a scenario's tables and figures, as files and on paper. */
#include "answer/draw.h"
#include "answer/progress.h"
#include "answer/scenarios.h"
#include "answer/venue.h"
#include "report/numbers.h"
#include "report/page/page.h"
#include "scenario/contents.h"

#include <glib.h>

#include "base/file.h"

/* ---- options ---- */

struct run_options {
	struct al_output_options output;
	const char *folder, *profile, *report;
	bool prints_nothing;
};

static const struct al_option_row folder_rows[] = {
	OPTION_TEXT(struct run_options, folder, "output", "DIR",
		"folder to write files to (default: plots)", .letter = 'o', .text = "plots"),
	OPTION_END,
};

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct run_options, report, "report", "FILE.html",
		"also write the result as a self-contained HTML page"),
	OPTION_TEXT(struct run_options, profile, "profile", "NAME",
		"format LaTeX tables and figures for a venue: a name (list profiles) or a file "
		"(default: the scenario's, if any)"),
	OPTION_FLAG(struct run_options, prints_nothing, "no-tables",
		"write files only, print no tables"),
	OPTION_END,
};

static const struct al_option_group groups[] = {{al_format_rows, 0}, {folder_rows, 0},
	{al_display_rows, 0}, {al_only_rows, 0}, {rows, 0}, {NULL, 0}};

/* ---- files ---- */

static bool add_table(struct al_files *files, const struct al_table *table,
	const struct al_style *style, const char *folder, const char *id, const char *format,
	struct al_error *err)
{
	const struct al_writer *writer;

	if (!al_writer_find(format, &writer, err))
		return false;
	al_write(writer, style, &table, 1, al_files_add(files, folder, id, writer->extension));
	return true;
}

/* ---- a scenario ---- */

struct jobs {
	struct al_session *session;
	const struct al_profile *profile; /* that the command line names */
	const char *folder, *report; /* of all scenarios; report NULL: no page */
	struct al_progress *progress;
	struct al_text page; /* of --report */
	size_t n_figures; /* so far */
	struct al_names names; /* of the scenarios so far */
};

struct job {
	struct jobs *all;
	struct al_files *files;
	struct al_scenario *scenario;
	const char *folder;
	const struct al_profile *profile; /* NULL: none */
	struct al_names inputs; /* what the proof shows: names of LaTeX files */
	struct al_numbers numbers; /* of its own tables */
	struct al_text *page; /* of --report; NULL: none */
};

static void add_input(struct job *job, const char *name)
{
	al_names_add(&job->inputs, al_strdup(&job->all->session->arena, name));
}

static bool show(struct job *job, const char *id, struct al_error *err)
{
	struct jobs *all = job->all;
	const size_t n_named = all->session->line.n_words;

	return al_watch_show(&all->progress->watch, id, all->names.n - 1,
		n_named ? n_named : al_embedded_scenarios.n_files, err);
}

static bool add_formats(struct job *job, const struct al_table *table, struct al_error *err)
{
	static const char *const formats[] = {"csv", "latex", "markdown", "json"};
	const struct al_style style = {.command = "run", .profile = job->profile};

	for (int i = 0; i < 4; i++)
		if (!add_table(job->files, table, &style, job->folder, table->id, formats[i], err))
			return false;
	add_input(job, table->id);
	return true;
}

/* A curve of more rows is in its file; on paper it would bury the tables. */
enum { MOST_PRINTED_POINTS = 50 };

/* People read whose table it is, and where a long curve is. */
static void print_for_people(struct job *job, struct al_table *table, bool is_sweep)
{
	const char *name = job->scenario->name;

	table->title = al_format(&table->arena, "%s/%s: %s", name, table->id, table->title);
	if (is_sweep && table->n_rows > MOST_PRINTED_POINTS) {
		al_table_note(table, "%zu points: %s/%s.csv", table->n_rows, job->folder,
			table->id);
		table->n_rows = table->n_columns = 0;
	}
}

static bool run_table(struct job *job, size_t index, struct al_error *err)
{
	struct al_table table;

	if (!al_scenario_table(job->scenario, index, &table, err))
		return false;
	bool ok = show(job, table.id, err) && add_formats(job, &table, err);
	if (index < job->scenario->n_tables)
		al_numbers_add(&job->numbers, &table);
	if (job->page)
		al_page_add_table(job->page,
			&(struct al_page_table){.table = &table,
				.is_folded = table.n_rows > MOST_PRINTED_POINTS});
	if (strcmp(job->all->session->writer->name, "text") == 0)
		print_for_people(job, &table, index >= job->scenario->n_tables);
	al_session_take(job->all->session, &table);
	return ok;
}

static bool run_tables(struct job *job, struct al_error *err)
{
	for (size_t i = 0; i < al_scenario_n_tables(job->scenario); i++)
		if (!run_table(job, i, err))
			return false;
	return true;
}

/* A picture that keeps to itself: nothing of its style is the page's. */
static void add_picture(struct al_text *out, const char *title, const struct al_text *svg)
{
	char *base64 = g_base64_encode((const guchar *)svg->data, svg->length);

	al_text_addf(out, "<figure><img src=\"data:image/svg+xml;base64,%s", base64);
	al_html_addf(out, "\" alt=\"%s\"><figcaption>%s</figcaption></figure>\n", title, title);
	g_free(base64);
}

/* The figure in all formats, and its data: ID.csv is a table's, perhaps of the same id. */
static bool run_figure(struct job *job, size_t index, struct al_error *err)
{
	struct al_figure figure = job->scenario->figures[index].figure;
	struct al_style style = {0};
	struct al_table table;

	if (!show(job, figure.id, err)
		|| !al_scenario_figure_table(job->scenario, index, &table, err))
		return false;
	const char *data = al_format(&table.arena, "%s-figure", figure.id);
	bool ok = al_venue_fit(job->profile, &figure, &table, &figure, err)
		&& add_table(job->files, &table, &style, job->folder, data, "csv", err)
		&& al_draw_into(job->files, &figure, &table, job->folder, err)
		&& al_venue_add_figure(job->files, job->profile, &figure, &table, job->folder, err);
	if (ok)
		add_input(job, data);
	if (ok && job->page)
		add_picture(job->page, figure.title ? figure.title : figure.id,
			al_files_find(job->files, job->folder, figure.id, "svg"));
	al_table_finish(&table);
	return ok || al_scenario_figure_in(job->scenario, index, err);
}

static void add_file(struct job *job, const char *ending, const struct al_text *content)
{
	struct al_text *file = al_files_add(job->files, job->folder, "numbers", ending);

	al_text_add_bytes(file, content->data, content->length);
}

/* For the text of a paper: \ledger{table-13/mha/total} follows the model as the tables do. */
static bool run_tables_and_numbers(struct job *job, struct al_error *err)
{
	al_numbers_begin(&job->numbers, job->scenario->title);
	const bool ok = run_tables(job, err);
	al_numbers_end(&job->numbers);
	if (ok && job->numbers.n > 0) {
		add_file(job, "tex", &job->numbers.latex);
		add_file(job, "json", &job->numbers.json);
	}
	al_numbers_finish(&job->numbers);
	return ok;
}

static bool run_scenario(struct job *job, struct al_error *err)
{
	if (!run_tables_and_numbers(job, err))
		return false;
	for (size_t i = 0; i < job->scenario->n_figures; i++)
		if (!run_figure(job, i, err))
			return false;
	if (job->profile)
		al_venue_add_proof(job->files, job->profile, job->folder, job->inputs.items,
			job->inputs.n);
	return true;
}

/* Two files of one name would write over each other. */
static bool take_name(struct jobs *jobs, const char *name, struct al_error *err)
{
	if (al_names_hold(&jobs->names, name))
		return al_fail(err, AL_EINPUT,
			"two scenarios are named \"%s\" and would be written to the same folder",
			name);
	al_names_add(&jobs->names, al_strdup(&jobs->session->arena, name));
	return true;
}

static bool run_one(void *context, struct al_scenario *scenario, struct al_error *err)
{
	struct jobs *jobs = context;
	const char *name = scenario->name;
	struct job job = {.all = jobs,
		.files = &jobs->session->files,
		.scenario = scenario,
		.folder = al_path_join(&jobs->session->arena, jobs->folder, name),
		.profile = jobs->profile ? jobs->profile : scenario->profile,
		.page = jobs->report ? &jobs->page : NULL};

	jobs->progress->whole = name;
	jobs->n_figures += scenario->n_figures;
	if (job.page)
		al_page_begin_section(job.page, name, name, NULL);
	bool ok = take_name(jobs, name, err) && run_scenario(&job, err);
	if (job.page)
		al_page_end_section(job.page);
	al_names_finish(&job.inputs);
	return ok;
}

/* ---- the page ---- */

static const struct al_page_head page_head = {.title = "Tables and figures", .has_pictures = true};

static void put_page(struct jobs *jobs)
{
	struct al_session *session = jobs->session;
	struct al_text *file;

	al_page_end(&jobs->page, al_session_command_text(session), NULL);
	file = al_files_add_path(&session->files, jobs->report);
	al_text_add_bytes(file, jobs->page.data, jobs->page.length);
}

static const char *say(const struct jobs *jobs)
{
	struct al_session *session = jobs->session;
	struct al_arena *arena = &session->arena;

	return al_format(arena, "%s and %s of %s, written as %s to %s.",
		al_claim_counted(arena, session->n_tables, "table"),
		al_claim_counted(arena, jobs->n_figures, "figure"),
		al_claim_counted(arena, jobs->names.n, "scenario"),
		al_claim_counted(arena, session->files.n, "file"),
		al_claim_name(arena, "folder", jobs->folder));
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct run_options *o = session->options;
	struct jobs jobs = {.session = session, .folder = o->folder, .report = o->report};

	if (!*o->folder)
		return al_fail(err, AL_EINPUT, "-o: the folder's name is empty");
	if (o->profile && !al_profile_find(&session->arena, o->profile, &jobs.profile, err))
		return al_in(err, "--profile");
	session->style.profile = jobs.profile;
	session->prints_nothing = o->prints_nothing;
	al_text_init(&jobs.page);
	al_page_begin(&jobs.page, &page_head);
	al_names_init(&jobs.names);
	jobs.progress = al_progress_begin(session, NULL);
	bool ok = al_each_scenario(session, run_one, &jobs, err);
	if (ok)
		al_session_claim(session, say(&jobs));
	if (ok && jobs.report)
		put_page(&jobs);
	al_text_finish(&jobs.page);
	al_names_finish(&jobs.names);
	return ok;
}

const struct al_command al_command_run = {
	.words = "[SCENARIO...]",
	.examples = {"run", "run scenarios/example-variants.json -o out"},
	.options = groups,
	.options_size = sizeof(struct run_options),
	.run = run,
};
