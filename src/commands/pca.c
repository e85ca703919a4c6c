/* pca: principal components across heads, of what attention heads put out for real tokens. */
#include "commands/pca.h"

#include <ctype.h>
#include <string.h>

#include "audit/select.h"
#include "checkpoint/finite.h"
#include "commands/checkpoint.h"
#include "commands/kernel.h"
#include "commands/progress.h"
#include "linalg/kernel.h"

/* ---- options ---- */

static const struct al_option_row pca_rows[] = {
	OPTION_COUNT(struct pca_options, n_heads, "heads", "H",
		"number of heads whose outputs lie beside each other in a row", .least = 1,
		.most = 1 << 20),
	OPTION_SET(struct pca_options, architectures, "architecture", "A,B",
		"what a pattern is made of: the heads in each dimension (direct, the default), "
		"their averages, or heads, squares and products",
		.words = al_architecture_names, .n_words = AL_N_ARCHITECTURES,
		.noun = "architecture"),
	OPTION_COUNT(struct pca_options, keep, "keep", "M",
		"components that stay (default as many as there are heads)", .least = 1),
	OPTION_TEXT(struct pca_options, target, "target", "FILE",
		"what the output projection should make of each token: how well the components "
		"that stay can"),
	OPTION_TEXT(struct pca_options, modules, "modules", "SELECTION",
		"only these tensors of FILE: layers.0-5,encoder.*.self"),
	OPTION_TEXT(struct pca_options, epsilon, "epsilon", "E",
		"added to each variance before its root (default 0; torch adds 1e-5)"),
	OPTION_FLAG(struct pca_options, is_strict, "strict",
		"refuse tokens with numbers that aren't finite instead of leaving them out"),
	OPTION_TEXT(struct pca_options, weights, "weights", "FILE",
		"instead of head outputs the weights of PCA layers, as a checkpoint holds them: "
		"how alike their components are"),
	OPTION_FLAG(struct pca_options, is_by_columns, "by-columns",
		"of --weights: a component is a column (default: a row, as torch stores them)"),
	OPTION_TEXT(struct pca_options, figures, "figures", "DIR", "draw figures into DIR"),
	OPTION_SET(struct pca_options, only, "only", "A,B", "only these tables",
		.words = pca_table_names, .n_words = PCA_N_TABLES, .noun = "table"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {pca_rows, 0},
	{pca_training_rows, offsetof(struct pca_options, training)}, {NULL, 0}};

/* ---- one module in one architecture ---- */

static bool find_kept(struct pca_module *m, size_t n_features, struct al_error *err)
{
	const struct pca_options *o = m->options;

	m->n_kept = o->keep ? (size_t)o->keep : (size_t)o->n_heads;
	return m->n_kept <= n_features
		|| al_fail(err, AL_EINPUT,
			"--keep %zu: the %s architecture has %zu components of %lld heads",
			m->n_kept, al_architecture_names[m->architecture], n_features,
			(long long)o->n_heads);
}

/* Tokens whose heads are finite, and whose target isn't. */
static bool check_target(const struct pca_module *m, struct al_error *err)
{
	return !m->options->is_strict || m->moments.n_left_out == 0
		|| al_fail(err, AL_EINPUT,
			"%s: %lld of %lld tokens %s numbers that aren't finite, the first is "
			"token %lld",
			m->options->target, (long long)m->moments.n_left_out,
			(long long)(m->moments.n_left_out + m->moments.n_tokens),
			m->moments.n_left_out == 1 ? "has" : "have",
			(long long)m->moments.first_left_out);
}

static bool fit_target(struct pca_module *m, const struct al_head_outputs *outputs,
	struct al_error *err)
{
	m->errors = al_new_array(&m->session->arena, double, m->principal.layer.n_features + 1);
	return al_target_moments_find(&m->moments, outputs, &m->principal, m->n_targets, err)
		&& check_target(m, err)
		&& al_regression_errors(&m->moments, &m->principal, m->errors, err);
}

/* The weights that are trained, or the exact ones, and how alike their components are. */
static bool take_weights(const struct pca_module *m, const struct al_head_outputs *outputs,
	struct pca_tables *tables, struct al_error *err)
{
	const char *architecture = al_architecture_names[m->architecture];
	struct al_matrix weights;

	if (!al_matrix_init(&weights, m->principal.layer.n_features, m->n_kept, err))
		return false;
	bool ok = m->options->training.rule >= 0
		? pca_train(m, outputs, tables, weights, err)
		: al_copy(al_columns(al_view(m->principal.vectors), 0, m->n_kept), weights, err);
	if (ok)
		pca_weights_add(tables, m->name, architecture, m->label, al_view(weights));
	al_matrix_finish(&weights);
	return ok;
}

/* "Direct-8" */
static const char *make_label(const struct pca_module *m)
{
	char *label = al_format(&m->session->arena, "%s-%zu",
		m->architecture == AL_NONLINEAR ? "Non-Linear"
						: al_architecture_names[m->architecture],
		m->n_kept);

	label[0] = (char)toupper((unsigned char)label[0]);
	return label;
}

static bool take_module(struct pca_module *m, const struct al_rows outputs[2],
	struct pca_tables *tables, struct al_error *err)
{
	const struct al_head_outputs heads = al_head_outputs_of_file(outputs);
	struct al_pca_options options = {.architecture = m->architecture,
		.n_heads = (size_t)m->options->n_heads,
		.d_head = outputs[0].width / (size_t)m->options->n_heads,
		.is_strict = m->options->is_strict};

	if (!pca_read_real("epsilon", m->options->epsilon, 0, 0, 1e300, &options.epsilon, err)
		|| !al_principal_find(&m->principal, &heads, &options, err))
		return false;
	bool ok = find_kept(m, m->principal.layer.n_features, err);
	m->label = make_label(m);
	ok = ok && (m->n_targets == 0 || fit_target(m, &heads, err));
	if (ok)
		pca_tables_add(tables, m);
	ok = ok && take_weights(m, &heads, tables, err);
	al_target_moments_finish(&m->moments);
	al_principal_finish(&m->principal);
	return ok;
}

/* ---- a file ---- */

struct pca_run {
	struct al_session *session;
	const struct pca_options *options;
	struct al_rows_file outputs, target;
	struct pca_tables tables;
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

static bool take_architectures(struct pca_run *run, const struct al_tensor *tensor,
	const struct al_rows rows[2], struct al_error *err)
{
	const uint64_t wanted = run->options->architectures ? run->options->architectures
							    : UINT64_C(1) << AL_DIRECT;
	bool ok = true;

	for (int a = 0; ok && a < AL_N_ARCHITECTURES; a++) {
		struct pca_module module = {.session = run->session,
			.options = run->options,
			.name = tensor->name,
			.architecture = (enum al_pca_architecture)a,
			.n_targets = rows[1].width};
		if (wanted >> a & 1)
			ok = take_module(&module, rows, &run->tables, err);
	}
	return ok;
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
	struct al_rows rows;
	struct al_matrix weights = {0};
	bool ok = al_rows_of(&rows, &run->outputs, tensor, err)
		&& read_weights(run, &rows, &weights, err);

	if (ok)
		pca_weights_add(&run->tables, tensor->name, NULL, tensor->name, al_view(weights));
	al_matrix_finish(&weights);
	return ok;
}

static bool take_tensor(struct pca_run *run, const struct al_tensor *tensor, struct al_error *err)
{
	struct al_rows rows[2] = {{0}};

	al_progress_show(&run->progress, run->outputs.checkpoint.path, tensor->name);
	pca_figures_begin(&run->tables, run->options);
	bool ok = run->options->weights
		? take_given(run, tensor, err)
		: open_rows(run, tensor, rows, err) && take_architectures(run, tensor, rows, err);
	ok = ok
		&& (!run->options->figures
			|| pca_figures_draw(run->session, &run->tables, tensor->name, err));
	pca_figures_finish(&run->tables);
	return ok || al_in(err, "%s", run->outputs.checkpoint.path);
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
	struct al_table *table = run->session->tables[0];

	al_checkpoint_note(table, &run->outputs.checkpoint);
	if (o->target)
		al_checkpoint_note(table, &run->target.checkpoint);
	if (o->weights)
		al_table_note(table, "a component: a %s", o->is_by_columns ? "column" : "row");
	else
		al_table_note(table, "batch normalisation: over each %s, epsilon %s",
			o->architectures & (UINT64_C(1) << AL_NONLINEAR)
				? "dimension of each head (nonlinear: over each feature)"
				: "dimension of each head",
			o->epsilon ? o->epsilon : "0");
	if (o->target)
		al_table_note(table,
			"target: errors of the best linear fit with an intercept, relative");
	if (o->training.rule >= 0)
		al_table_note(table, "trained from random weights, seed: %lld",
			(long long)o->training.seed);
	al_table_note(table, "BLAS kernel: %s", al_blas_kernel());
	al_kernel_note(table);
}

static bool run_files(struct pca_run *run, struct al_error *err)
{
	if (!pca_tables_begin(&run->tables, run->session, err))
		return false;
	al_progress_init(&run->progress, run->session);
	bool ok = take_all(run, err);
	al_progress_finish(&run->progress);
	if (ok)
		add_notes(run);
	return ok;
}

/* Head outputs, or the weights of PCA layers. */
static bool check_input(const struct al_session *session, struct al_error *err)
{
	static const char *const of_outputs[] = {"heads", "architecture", "keep", "target",
		"epsilon", "strict"};
	const struct pca_options *o = session->options;

	if (!o->weights && session->line.n_words == 0)
		return al_fail(err, AL_EINPUT, "expected FILE, or --weights FILE");
	if (!o->weights)
		return (o->n_heads
			       || al_fail(err, AL_EINPUT,
				       "expected --heads H, the number of heads"))
			&& (!o->is_by_columns
				|| al_fail(err, AL_EINPUT, "--by-columns goes with --weights"));
	if (session->line.n_words > 0)
		return al_fail(err, AL_EINPUT, "--weights takes no head outputs beside it (%s)",
			al_session_word(session, 0));
	for (size_t i = 0; i < session->line.n_given; i++)
		if (al_find_name(session->line.given[i].row->name, of_outputs,
			    sizeof(of_outputs) / sizeof(*of_outputs))
				>= 0
			|| o->training.rule >= 0)
			return al_fail(err, AL_EINPUT, "--weights takes no --%s",
				o->training.rule >= 0 ? "train" : session->line.given[i].row->name);
	return true;
}

static bool run_pca(struct al_session *session, struct al_error *err)
{
	const struct pca_options *o = session->options;
	struct pca_run run = {.session = session, .options = o};

	if (!check_input(session, err) || !pca_training_check(session, err)
		|| !al_rows_file_open(&run.outputs,
			o->weights ? o->weights : al_session_word(session, 0), err))
		return false;
	bool ok = !o->target || al_rows_file_open(&run.target, o->target, err);
	ok = ok && run_files(&run, err);
	if (o->target)
		al_rows_file_close(&run.target);
	al_rows_file_close(&run.outputs);
	return ok;
}

const struct al_command al_command_pca = {
	.words = "[FILE]",
	.examples = {"pca heads.npy --heads 12 --keep 4",
		"pca heads.npy --heads 8 --target outputs.npy --train deacon --architecture "
		"direct,average,nonlinear --figures out"},
	.options = groups,
	.options_size = sizeof(struct pca_options),
	.most_words = 1,
	.computes = true,
	.run = run_pca,
};
