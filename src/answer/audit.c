/* audit: how redundant the heads of a checkpoint are, module by module. */
#include "answer/audit_run.h"
#include "answer/kernel.h"

/* ---- options ---- */

static const struct al_option_row against_rows[] = {
	OPTION_TEXT(struct al_audit_asked, against, "against", "CHECKPOINT",
		"compare each head with the head of CHECKPOINT that matches it"),
	OPTION_END,
};

const struct al_option_row al_audit_file_rows[] = {
	OPTION_TEXT(struct al_audit_asked, tables, "tables", "DIR",
		"write all tables (CSV) and singular values (.npy) to DIR"),
	OPTION_TEXT(struct al_audit_asked, figures, "figures", "DIR", "write figures to DIR"),
	AL_DRAWING_WIDTH_ROW(struct al_audit_asked, width),
	OPTION_TEXT(struct al_audit_asked, report, "report", "FILE.html",
		"also write the result as a self-contained HTML page"),
	OPTION_FLAG(struct al_audit_asked, is_across, "across",
		"also compare heads of different layers, with composition scores",
		.shows_all = true),
	OPTION_END,
};

static const struct al_option_row rows[] = {
	OPTION_TEXT(struct al_audit_asked, shard, "shard", "I/N",
		"measure only part I of N, to be combined by `merge`; auto: use the process number "
		"from mpirun or srun"),
	OPTION_TEXT(struct al_audit_asked, fragment, "fragment", "DIR",
		"directory for this shard's results; pass the same --tables, --figures and "
		"--report that `merge` will need"),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS_WITHOUT_ONLY, {against_rows, 0},
	{al_layout_rows, offsetof(struct al_audit_asked, layout)},
	{al_module_rows, offsetof(struct al_audit_asked, layout)}, {al_audit_shaping_rows, 0},
	{al_audit_file_rows, 0}, {rows, 0}, {al_audit_ablation_rows, 0},
	{al_input_rows, offsetof(struct al_audit_asked, input)}, {NULL, 0}};

/* ---- measuring ---- */

static bool take_matrix(void *context, const char *name, const struct al_text *content,
	struct al_error *err)
{
	struct al_audit_run *run = context;

	return al_files_put_aside(&run->session->files, run->options->tables, name, content, err);
}

static bool measure_all(struct al_audit_run *run, struct al_error *err)
{
	run->n_steps = run->n_chosen;
	for (size_t i = 0; i < run->n_chosen; i++)
		if (!al_audit_run_measure(run, run->chosen[i], err)
			|| !al_audit_run_hand_on(run, err))
			return false;
	return al_audit_run_check_modules(run, err);
}

/* ---- the command ---- */

static bool run_audit(struct al_session *session, struct al_error *err)
{
	const struct al_audit_asked *o = session->options;
	const char *path = al_session_word(session, 0), *config = al_session_word(session, 1);

	if (config && al_audit_is_series(session))
		return al_audit_series(session, o, err);
	if (o->report && o->against)
		return al_fail(err, AL_EINPUT,
			"--report describes one checkpoint; remove it or --against");
	if (o->shard || o->fragment)
		return al_audit_shard(session, o, path, config, err);
	struct al_audit_asked asked = *o;
	if (!o->report && !o->against)
		asked.report = session->page;
	struct al_audit_run *run = al_audit_run_begin(session, &asked, path, config, err);
	if (!run)
		return false;
	run->take_matrix = take_matrix;
	run->taker = run;
	return measure_all(run, err) && al_audit_run_pairs(run, err)
		&& al_audit_run_count_not_finite(run, NULL, err) && al_audit_run_hash(run, err)
		&& (!al_input_is_given(&o->input) || al_audit_run_losses(run, err))
		&& al_audit_run_answer(run, err);
}

const struct al_command al_command_audit = {
	.words = "CHECKPOINT... [CONFIG]",
	.examples = {"audit model.safetensors --heads 12",
		"audit model/ --modules layers.0-3 --null 8 --tables out",
		"audit run/step-*/ --figures out"},
	.options = groups,
	.options_size = sizeof(struct al_audit_asked),
	.computed_with = al_kernel_library,
	.run = run_audit,
};
