/* audit --report FILE: what the page shows, and how it is headed. */
#include "answer/audit_run.h"

#include "audit/doing.h"

#include <libgen.h>

/* ---- the head ---- */

static struct al_page_head begin_head(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;
	const char **facts = al_new_array(arena, const char *, 4);
	size_t n = 0;

	facts[n++] = run->opened->view.family->name;
	if (run->summary.n_rows > 0
		&& strcmp(al_table_text(&run->summary, 0, "item"), "modules") == 0)
		facts[n++] = al_format(arena, "modules of attention: %s",
			al_table_text(&run->summary, 0, "value"));
	facts[n++] = al_count_text(arena, checkpoint->bytes, "byte");
	facts[n++] = al_format(arena, "fingerprint %016" PRIx64, run->fingerprint);
	return (struct al_page_head){
		.title = basename(al_strdup(arena, al_session_word(run->session, 0))),
		.facts = {facts, n},
		.summary = run->session->claim.pattern,
	};
}

/* ---- commands ---- */

static const char *add_words(struct al_arena *arena, const char *before, const char *const *words,
	size_t n)
{
	for (size_t i = 0; i < n; i++)
		before = al_format(arena, "%s %s", before, al_shell_word(arena, words[i]));
	return before;
}

static const char *add_option(struct al_arena *arena, const char *before, const char *name,
	const char *value)
{
	return value ? al_format(arena, "%s --%s %s", before, name, al_shell_word(arena, value))
		     : before;
}

/* The model as an argument of `compress`. */
const char *al_audit_model_words(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_command_line *line = &run->session->line;
	const struct al_layout_options *layout = &run->options->layout;
	const char *words = add_words(arena, "", line->words, line->n_words);

	words = add_option(arena, words, "heads", layout->heads);
	return add_option(arena, words, "layout", layout->layout) + 1;
}

/* What shapes the page and the other files. */
static const struct al_option_group reproducing[] = {{al_layout_rows,
							     offsetof(struct al_audit_asked,
								     layout)},
	{al_module_rows, offsetof(struct al_audit_asked, layout)}, {al_audit_shaping_rows, 0},
	{al_audit_file_rows, 0}, {al_audit_ablation_rows, 0},
	{al_input_rows, offsetof(struct al_audit_asked, input)}, {NULL, 0}};

/* In the order of the options: whether one process measured all or several did, the same. */
static const char *command_text(const struct al_audit_run *run)
{
	struct al_session *session = run->session;
	struct al_arena *arena = &session->arena;
	const struct al_texts options = al_options_texts(reproducing, run->options, arena);
	const char *text = add_words(arena, "", options.items, options.n);

	return al_format(arena, "attnledger audit%s",
		al_session_line_text(session,
			al_format(arena, "%s%s", text, al_session_target_text(session))));
}

/* ---- tables ---- */

/* Tables of the answer that no section of the page shows. */
static void add_others(const struct al_audit_run *run, struct al_audit_page *page)
{
	static const char *const shown[] = {"heads", "layers", "similarity", "cosines", "drop",
		"conversion", "redundant"};
	const struct al_table **others = al_new_array(&run->session->arena, const struct al_table *,
		AL_N_MEASUREMENTS + 1);
	size_t n = 0;

	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (al_audit_run_shows(run, i)
			&& (run->options->only || al_measurement_has_short_form(al_measurements[i]))
			&& (al_find_name(al_measurements[i]->id, shown,
				    sizeof(shown) / sizeof(*shown))
					< 0
				|| (page->n_advice > 0 && !page->has_steps
					&& run->tables[i] == page->redundant)))
			others[n++] = run->tables[i];
	if (run->across.n_columns)
		others[n++] = &run->across;
	page->others = others;
	page->n_others = n;
}

static const struct al_table *table_or_null(const struct al_table *table)
{
	return table->n_rows > 0 ? table : NULL;
}

void al_audit_report_add(struct al_audit_run *run)
{
	const char *file = run->options->report;

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
		.drop = al_audit_run_table(run, "drop"),
		.conversions = table_or_null(&run->totals),
		.losses = table_or_null(&run->losses),
		.frontier = table_or_null(&run->frontier),
		.command = command_text(run),
		.has_inputs = run->audit.options.covariance,
		.doings = {al_doing_names, AL_N_DOINGS},
		.left_out = run->left_out,
		.n_left_out = run->n_left_out,
	};
	al_audit_verdict_tiles(run, &page);
	al_audit_advise(run, &page);
	add_others(run, &page);
	al_audit_page_write(&page, al_files_add_path(&run->session->files, file));
}
