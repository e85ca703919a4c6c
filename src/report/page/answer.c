/* The page of an answer's tables. */
#include "report/page/answer.h"

static const struct al_page_chart *find_chart(const struct al_page_chart *charts,
	const struct al_table *table)
{
	for (; charts && charts->label; charts++)
		if (al_table_find_column(table, charts->label) == 0
			&& al_table_find_column(table, charts->value) >= 0)
			return charts;
	return NULL;
}

static void add_table(struct al_text *out, const struct al_answer_page *page,
	const struct al_table *table)
{
	const struct al_page_chart *chart = find_chart(page->charts, table);

	al_page_begin_section(out, table->id, table->title, NULL);
	if (chart)
		al_page_add_bars(out,
			&(struct al_page_bars){.table = table,
				.label = chart->label,
				.value = chart->value,
				.leaves_out = chart->total,
				.axis = chart->axis});
	al_page_add_table(out, &(struct al_page_table){.table = table, .caption = ""});
	al_page_end_section(out);
}

void al_answer_page_write(const struct al_answer_page *page, struct al_text *out)
{
	al_page_begin(out, &page->head);
	for (size_t i = 0; i < page->n_tables; i++)
		add_table(out, page, page->tables[i]);
	al_page_end(out, &page->head, page->command, NULL);
}
