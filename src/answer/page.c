/* --report FILE: an answer as a page. */
#include "answer/session.h"
#include "report/page/page.h"

/* "count: bert-base gpt2" */
static const char *title_of(struct al_session *session)
{
	const char *title = session->style.command;

	for (size_t i = 0; i < session->line.n_words; i++)
		title = al_format(&session->arena, "%s%s %s", title, i ? "" : ":",
			session->line.words[i]);
	return title;
}

static void add_table(struct al_text *out, const struct al_page_chart *chart,
	const struct al_table *table)
{
	al_page_begin_section(out, table->id, table->title, NULL);
	if (chart && al_table_find_column(table, chart->label) == 0
		&& al_table_find_column(table, chart->value) >= 0)
		al_page_add_bars(out,
			&(struct al_page_bars){.table = table,
				.label = chart->label,
				.value = chart->value,
				.leaves_out = chart->total,
				.axis = chart->axis});
	al_page_add_table(out, &(struct al_page_table){.table = table, .caption = ""});
	al_page_end_section(out);
}

void al_session_add_page(struct al_session *session, const char *file,
	const struct al_page_chart *chart, const char *command)
{
	const struct al_page_head head = {.title = title_of(session),
		.summary = session->claim.pattern};
	struct al_text *out = al_files_add_path(&session->files, file);

	al_page_begin(out, &head);
	for (size_t i = 0; i < session->n_tables; i++)
		add_table(out, chart, session->tables[i]);
	al_page_end(out, command, NULL);
}
