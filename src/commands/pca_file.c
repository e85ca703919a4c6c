/* pca FILE: head outputs, or the weights of PCA layers, as files hold them. */
#include "commands/pca.h"

#include <string.h>

#include "audit/select.h"
#include "formats/finite.h"
#include "commands/checkpoint.h"
#include "commands/progress.h"

struct pca_run {
	struct pca_source source;
	const struct pca_options *options;
	struct al_rows_file outputs, target;
	struct al_progress progress;
};

/* The target of that name; one tensor alone goes with one alone. */
static bool find_target(const struct pca_run *run, struct al_rows rows[2], struct al_error *err)
{
	const struct al_checkpoint *file = &run->target.checkpoint;
	const char *name = rows[0].tensor->name;
	const struct al_tensor *tensor = file->n_tensors == 1
			&& run->outputs.checkpoint.n_tensors == 1
		? &file->tensors[0]
		: NULL;

	for (size_t i = 0; !tensor && i < file->n_tensors; i++)
		if (strcmp(file->tensors[i].name, name) == 0)
			tensor = &file->tensors[i];
	if (!tensor)
		return al_fail(err, AL_EINPUT, "%s: has no tensor \"%.120s\"", file->path, name);
	if (!al_rows_of(&rows[1], &run->target, tensor, err))
		return al_in(err, "%s", file->path);
	return rows[1].n_rows == rows[0].n_rows
		|| al_fail(err, AL_EINPUT,
			"%s: found %zu tokens, expected as many as the heads' %zu", file->path,
			rows[1].n_rows, rows[0].n_rows);
}

static bool open_rows(const struct pca_run *run, const struct al_tensor *tensor,
	struct al_rows rows[2], struct al_error *err)
{
	const int64_t n_heads = run->options->n_heads;

	if (!al_rows_of(&rows[0], &run->outputs, tensor, err))
		return false;
	if (rows[0].width == 0 || rows[0].width % (size_t)n_heads != 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": %zu numbers a token are no whole number a head "
			"(--heads %lld)",
			tensor->name, rows[0].width, (long long)n_heads);
	return !run->options->target || find_target(run, rows, err);
}

/* Weights [m][n] or, by columns, [n][m]; no more components than features. */
static bool read_weights(const struct pca_run *run, const struct al_rows *rows,
	struct al_matrix *out, struct al_error *err)
{
	const bool by_columns = run->options->is_by_columns;
	const size_t m = by_columns ? rows->width : rows->n_rows,
		     n = by_columns ? rows->n_rows : rows->width;
	struct al_matrix stored = {0};

	if (m > n || m == 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": found %zu components of %zu features, expected no more "
			"components than features (%s --by-columns?)",
			rows->tensor->name, m, n, by_columns ? "without" : "with");
	bool ok = al_matrix_init(out, n, m, err)
		&& al_matrix_init(&stored, rows->width, rows->n_rows, err)
		&& al_rows_read(rows, 0, rows->n_rows, stored.data, rows->width, err);
	for (size_t c = 0; ok && c < m; c++)
		for (size_t i = 0; i < n; i++)
			out->data[i + c * n] = by_columns ? stored.data[c + i * m]
							  : stored.data[i + c * n];
	al_matrix_finish(&stored);
	return ok
		&& al_check_not_finite(al_matrix_count_not_finite(al_view(*out)), (int64_t)(m * n),
			rows->tensor->name, err);
}

static bool take_given(struct pca_run *run, const struct al_tensor *tensor, struct al_error *err)
{
	struct pca_tables *tables = &run->source.tables;
	struct al_rows rows;
	struct al_matrix weights = {0};

	pca_figures_begin(tables, run->options);
	bool ok = al_rows_of(&rows, &run->outputs, tensor, err)
		&& read_weights(run, &rows, &weights, err);

	if (ok)
		pca_weights_add(tables, tensor->name, NULL, tensor->name, al_view(weights));
	al_matrix_finish(&weights);
	return pca_figures_end(tables, run->source.session, tensor->name, ok, err);
}

static bool take_outputs(struct pca_run *run, const struct al_tensor *tensor, struct al_error *err)
{
	struct al_rows rows[2] = {{0}};

	if (!open_rows(run, tensor, rows, err))
		return false;
	if (pca_take_module(&run->source,
		    &(struct pca_subject){.name = tensor->name,
			    .n_heads = (size_t)run->options->n_heads,
			    .width = rows[0].width,
			    .rows = rows},
		    err))
		return true;
	return run->outputs.checkpoint.n_tensors > 1
		&& al_in(err, "tensor \"%.120s\"", tensor->name);
}

static bool take_tensor(struct pca_run *run, const struct al_tensor *tensor, struct al_error *err)
{
	const struct al_checkpoint *file = &run->outputs.checkpoint;

	al_progress_show(&run->progress, file->path, tensor->name,
		(struct al_steps){(size_t)(tensor - file->tensors), file->n_tensors});
	if (run->options->weights ? take_given(run, tensor, err) : take_outputs(run, tensor, err))
		return true;
	if (file->n_tensors > 1 && !run->options->modules)
		al_in(err, "without --modules all %zu tensors are taken", file->n_tensors);
	return al_in(err, "%s", file->path);
}

static bool take_all(struct pca_run *run, struct al_error *err)
{
	const struct al_checkpoint *file = &run->outputs.checkpoint;
	const char *patterns = run->options->modules;
	size_t n = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < file->n_tensors; i++) {
		if (patterns && !al_select_module(patterns, file->tensors[i].name))
			continue;
		ok = take_tensor(run, &file->tensors[i], err);
		n++;
	}
	if (ok && n == 0)
		return al_fail(err, AL_EINPUT, "%s: has no tensor%s%s", file->path,
			patterns ? " of --modules " : "", patterns ? patterns : "");
	return ok && al_checkpoint_check_unchanged(file, err)
		&& (!run->options->target
			|| al_checkpoint_check_unchanged(&run->target.checkpoint, err));
}

static void add_notes(const struct pca_run *run)
{
	const struct pca_options *o = run->options;
	struct al_table *table = run->source.session->tables[0];

	al_checkpoint_note(table, &run->outputs.checkpoint);
	if (o->target)
		al_checkpoint_note(table, &run->target.checkpoint);
	if (o->weights)
		al_table_note(table, "a component: a %s", o->is_by_columns ? "column" : "row");
	pca_note_options(run->source.session);
}

static bool run_files(struct pca_run *run, struct al_error *err)
{
	if (!pca_tables_begin(&run->source.tables, run->source.session, false, err))
		return false;
	al_progress_init(&run->progress, run->source.session);
	bool ok = take_all(run, err);
	al_progress_finish(&run->progress);
	if (ok)
		add_notes(run);
	return ok && pca_save(&run->source.tables, run->source.session, err);
}

bool pca_run_file(struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;
	struct pca_run run = {.source.session = session, .options = o};

	if (!al_rows_file_open(&run.outputs, o->weights ? o->weights : al_session_word(session, 0),
		    err))
		return false;
	bool ok = !o->target || al_rows_file_open(&run.target, o->target, err);
	ok = ok && run_files(&run, err);
	if (o->target)
		al_rows_file_close(&run.target);
	al_rows_file_close(&run.outputs);
	return ok;
}
