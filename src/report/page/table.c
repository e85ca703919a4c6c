/* Tables of a page. */
#include "report/page/page.h"

#include "report/writer.h"

struct shown_columns {
	size_t *at, n;
	bool *is_number;
};

static void show_column(struct shown_columns *shown, const struct al_table *table, size_t column)
{
	shown->is_number[shown->n] = al_column_is_number(table, column);
	shown->at[shown->n++] = column;
}

static struct shown_columns choose_columns(struct al_arena *arena, const struct al_page_table *page)
{
	const struct al_table *table = page->table;
	const size_t room = table->n_columns + 1;
	struct shown_columns shown = {.at = al_new_array(arena, size_t, room),
		.is_number = al_new_array(arena, bool, room)};

	for (size_t i = 0; !page->columns && i < table->n_columns; i++)
		show_column(&shown, table, i);
	for (const char *const *key = page->columns; key && *key; key++) {
		const int column = al_table_find_column(table, *key);
		if (column >= 0)
			show_column(&shown, table, (size_t)column);
	}
	return shown;
}

/* "QK: 90 %": a heading over several columns belongs to each where they are sorted one by one. */
static void add_heads(struct al_text *out, struct al_arena *arena, const struct al_table *table,
	const struct shown_columns *shown)
{
	al_text_add(out, "<thead><tr>");
	for (size_t i = 0; i < shown->n; i++) {
		const struct al_column *column = &table->columns[shown->at[i]];
		al_text_add(out, shown->is_number[i] ? "<th" : "<th class=\"w\"");
		al_html_addf(out, " data-key=\"%s\">%s%s%s</th>", column->key,
			column->group ? column->group : "", column->group ? ": " : "",
			al_column_head(arena, &al_page_style, column));
	}
	al_text_add(out, "</tr></thead>\n");
}

/* End tags of cells and rows may be left out, which halves the largest tables. */
static void add_row(struct al_text *out, const struct al_table *table, size_t row,
	const struct shown_columns *shown)
{
	AL_ARENA(arena);
	al_text_add(out, "<tr>");
	for (size_t i = 0; i < shown->n; i++) {
		const size_t column = shown->at[i];
		al_text_add(out, shown->is_number[i] ? "<td>" : "<td class=w>");
		al_html_add(out,
			al_cell_display(&arena, &al_page_style, &table->columns[column],
				&table->rows[row][column]));
	}
	al_text_add(out, "\n");
}

static void add_rows(struct al_text *out, const struct al_page_table *page)
{
	AL_ARENA(arena);
	const struct shown_columns shown = choose_columns(&arena, page);
	al_html_addf(out,
		"<div class=\"scroll\" tabindex=\"0\"><table data-table=\"%s\" aria-label=\"%s\">",
		page->table->id, page->table->title);
	add_heads(out, &arena, page->table, &shown);
	al_text_add(out, "<tbody>");
	for (size_t row = 0; row < page->table->n_rows; row++)
		add_row(out, page->table, row, &shown);
	al_text_add(out, "</tbody></table></div>\n");
}

void al_page_add_table(struct al_text *out, const struct al_page_table *page)
{
	const char *caption = page->caption ? page->caption : page->table->title;

	if (page->is_folded)
		al_text_add(out, "<details>");
	if (*caption)
		al_html_addf(out, page->is_folded ? "<summary>%s</summary>" : "<h3>%s</h3>",
			caption);
	al_text_add(out, "\n");
	if (page->table->n_rows == 0)
		al_text_add(out, "<p>None.</p>\n");
	else
		add_rows(out, page);
	for (size_t i = 0; i < page->table->n_notes && !page->hides_notes; i++) {
		al_text_add(out, "<p class=\"note\">");
		al_html_add_prose(out, page->table->notes[i]);
		al_text_add(out, "</p>\n");
	}
	if (page->is_folded)
		al_text_add(out, "</details>\n");
}
