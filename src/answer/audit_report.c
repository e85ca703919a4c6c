/* audit --report FILE: what the page shows, and how it is headed. */
#include "answer/audit_run.h"

#include <libgen.h>

/* ---- the head ---- */

static struct al_page_head begin_head(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;
	const char **facts = al_new_array(arena, const char *, 4);
	size_t n = 0;

	facts[n++] = run->opened->view.family->name;
	if (run->summary.n_rows > 0)
		facts[n++] = al_format(arena, "modules of attention: %s",
			al_table_text(&run->summary, 0, "value"));
	facts[n++] = al_count_text(arena, checkpoint->bytes, "byte");
	facts[n++] = al_format(arena, "fingerprint %016" PRIx64, checkpoint->header_hash);
	return (struct al_page_head){
		.title = basename(al_strdup(arena, al_session_word(run->session, 0))),
		.facts = {facts, n},
		.summary = run->session->claim.text,
	};
}

/* ---- commands ---- */

static const char *add_words(struct al_arena *arena, const char *before, const char *const *words,
	size_t n)
{
	for (size_t i = 0; i < n; i++)
		before = al_format(arena, "%s %s", before, al_page_shell_word(arena, words[i]));
	return before;
}

static const char *add_option(struct al_arena *arena, const char *before, const char *name,
	const char *value)
{
	return value
		? al_format(arena, "%s --%s %s", before, name, al_page_shell_word(arena, value))
		: before;
}

/* The model as `compress` is told of it. */
static const char *model_words(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_command_line *line = &run->session->line;
	const struct al_layout_options *layout = &run->options->layout;
	const char *words = add_words(arena, "", line->words, line->n_words);

	words = add_option(arena, words, "heads", layout->heads);
	return add_option(arena, words, "layout", layout->layout) + 1;
}

/* What shapes the page, in the order of the options: whether one process measured all or several
 * did, the same. */
static const char *command_text(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_command_line *line = &run->session->line;
	const struct al_texts options = al_options_texts(al_audit_shaping, run->options, arena);
	const char *text = add_words(arena, "attnledger audit", line->words, line->n_words);

	text = add_words(arena, text, options.items, options.n);
	return add_option(arena, text, "report", basename(al_strdup(arena, run->options->report)));
}

static bool is_rotary(const struct al_audit_run *run)
{
	for (size_t i = 0; i < run->n_measured; i++)
		if (run->measured[i]->is_rotary)
			return true;
	return false;
}

/* ---- tables ---- */

/* Fills the totals of all modules' conversions, which the caller finishes. */
static const struct al_table *total_conversions(const struct al_audit_run *run,
	struct al_table *totals)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		const struct al_measurement *m = al_measurements[i];
		if (!run->tables[i] || strcmp(m->id, "conversion") != 0)
			continue;
		al_table_init(totals, m->id, m->short_form.title);
		al_measurement_shorten(m, run->tables[i], totals);
		return totals->n_rows ? totals : NULL;
	}
	return NULL;
}

void al_audit_report_add(struct al_audit_run *run)
{
	const char *file = run->options->report;
	AL_ENDS(al_table_finish) struct al_table totals = {0};

	if (!file)
		return;
	struct al_audit_page page = {
		.head = begin_head(run),
		.summary = &run->summary,
		.heads = al_audit_run_table(run, "heads"),
		.layers = al_audit_run_table(run, "layers"),
		.cosines = al_audit_run_table(run, "cosines"),
		.similarity = al_audit_run_table(run, "similarity"),
		.redundant = al_audit_run_table(run, "redundant"),
		.conversions = total_conversions(run, &totals),
		.command = command_text(run),
		.words = model_words(run),
		.merge_needs_calibration = is_rotary(run),
		.left_out = run->left_out,
		.n_left_out = run->n_left_out,
	};
	al_audit_page_write(&page, al_files_add_path(&run->session->files, file));
}
