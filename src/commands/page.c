/* --report FILE: an answer as a page. */
#include "commands/page.h"

const struct al_option_row al_report_rows[] = {
	OPTION_TEXT(struct al_output_options, report, "report", "FILE",
		"also write the answer as a page, FILE.html, that a browser shows"),
	OPTION_END,
};

/* ---- the command ---- */

static bool is_among(const struct al_option_row *row, const struct al_option_row *rows)
{
	for (; rows->name; rows++)
		if (rows == row)
			return true;
	return false;
}

/* How the answer looks, or how many threads find it, isn't what it says. */
static bool shapes_answer(const struct al_option_row *row)
{
	return !is_among(row, al_format_rows) && !is_among(row, al_output_rows)
		&& !is_among(row, al_display_rows);
}

const char *al_session_command_text(struct al_session *session)
{
	struct al_arena *arena = &session->arena;
	const struct al_command_line *line = &session->line;
	struct al_text text;

	al_text_init(&text);
	al_text_addf(&text, "attnledger %s", session->style.command);
	for (size_t i = 0; i < line->n_words; i++)
		al_text_addf(&text, " %s", al_page_shell_word(arena, line->words[i]));
	for (size_t i = 0; i < line->n_given; i++) {
		const struct al_given_option *given = &line->given[i];
		if (!shapes_answer(given->row))
			continue;
		al_text_addf(&text, " --%s", given->row->name);
		if (given->value)
			al_text_addf(&text, " %s", al_page_shell_word(arena, given->value));
	}
	const char *kept = al_strdup(arena, text.data);
	al_text_finish(&text);
	return kept;
}

/* ---- the page ---- */

/* "count: bert-base gpt2" */
static const char *title_of(struct al_session *session)
{
	const char *title = session->style.command;

	for (size_t i = 0; i < session->line.n_words; i++)
		title = al_format(&session->arena, "%s%s %s", title, i ? "" : ":",
			session->line.words[i]);
	return title;
}

void al_session_add_page(struct al_session *session, const struct al_page_chart *charts)
{
	const struct al_answer_page page = {
		.head = {.title = title_of(session), .summary = session->style.summary},
		.tables = AL_SESSION_TABLES(session),
		.n_tables = session->n_tables,
		.charts = charts,
		.command = al_session_command_text(session),
	};
	al_answer_page_write(&page, al_files_add_path(&session->files, session->output->report));
}
