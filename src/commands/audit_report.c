/* audit --report FILE: what the page shows, and how it is headed. */
#include "commands/audit_run.h"

#include <inttypes.h>
#include <string.h>

#include "report/page/audit.h"

/* ---- what was left out ---- */

static bool was_measured(const struct al_audit_run *run, const struct al_attention *attention)
{
	for (size_t i = 0; i < run->n_measured; i++)
		if (run->measured[i] == attention)
			return true;
	return false;
}

/* The reasons come in the order of modules. */
static void take_left_out(const struct al_audit_run *run, struct al_audit_page *page)
{
	const struct al_model_view *view = &run->opened.view;
	struct al_page_left_out *items = al_new_array(&run->session->arena, struct al_page_left_out,
		run->n_left_out + 1);
	size_t before = 0;

	page->left_out = items;
	for (size_t i = 0; i < view->n_modules; i++) {
		const struct al_attention *a = &view->modules[i];
		if (!al_audit_run_chooses(run, a))
			continue;
		if (was_measured(run, a)) {
			before++;
		} else if (page->n_left_out < run->n_left_out) {
			items[page->n_left_out] = (struct al_page_left_out){a->name,
				run->left_out[page->n_left_out], (size_t)a->n_heads, before};
			page->n_left_out++;
		}
	}
}

/* ---- the head ---- */

/* The file, or the folder that holds it. */
static const char *last_name(struct al_arena *arena, const char *path)
{
	size_t end = strlen(path);

	while (end > 1 && path[end - 1] == '/')
		end--;
	size_t begin = end;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	return al_strndup(arena, path + begin, end - begin);
}

static struct al_page_head begin_head(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_checkpoint *checkpoint = &run->opened.checkpoint;
	const char **facts = al_new_array(arena, const char *, 4);
	size_t n = 0;

	facts[n++] = run->opened.view.family->name;
	if (run->summary.n_rows > 0)
		facts[n++] = al_format(arena, "modules of attention: %s",
			al_table_text(&run->summary, 0, "value"));
	facts[n++] = al_count_text(arena, checkpoint->bytes, "byte");
	facts[n++] = al_format(arena, "fingerprint %016" PRIx64, checkpoint->header_hash);
	return (struct al_page_head){
		.title = last_name(arena, al_session_word(run->session, 0)),
		.facts = {facts, n},
		.summary = run->session->style.summary,
	};
}

/* ---- commands ---- */

static void add_words(struct al_text *out, struct al_arena *arena, const char *const *words,
	size_t n)
{
	for (size_t i = 0; i < n; i++)
		al_text_addf(out, " %s", al_page_shell_word(arena, words[i]));
}

static const char *keep(struct al_arena *arena, struct al_text *text)
{
	const char *kept = al_strdup(arena, text->data);

	al_text_finish(text);
	return kept;
}

/* The model as `compress` is told of it. */
static const char *model_words(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_command_line *line = &run->session->line;
	const struct al_layout_options *layout = &run->options->layout;
	struct al_text text;

	al_text_init(&text);
	add_words(&text, arena, line->words, line->n_words);
	if (layout->heads)
		al_text_addf(&text, " --heads %s", al_page_shell_word(arena, layout->heads));
	if (layout->layout)
		al_text_addf(&text, " --layout %s", al_page_shell_word(arena, layout->layout));
	return keep(arena, &text) + 1;
}

/* What shapes the page, in the order of the options: whether one process measured all or several
 * did, the same. */
static const char *command_text(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_command_line *line = &run->session->line;
	const struct al_texts options = al_options_texts(al_audit_shaping, run->options, arena);
	struct al_text text;

	al_text_init(&text);
	al_text_add(&text, "attnledger audit");
	add_words(&text, arena, line->words, line->n_words);
	add_words(&text, arena, options.items, options.n);
	al_text_addf(&text, " --report %s",
		al_page_shell_word(arena, last_name(arena, run->options->report)));
	return keep(arena, &text);
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
	struct al_table totals = {0};

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
	};
	take_left_out(run, &page);
	al_audit_page_write(&page, al_files_add_path(&run->session->files, file));
	al_table_finish(&totals);
}
