/* A check on a terminal: lines of at most 79 columns instead of a table of nine columns. */
#include "commands/check_text.h"

#include <string.h>

#include "base/text.h"
#include "commands/options.h"
#include "report/writer.h"
#include "scenario/scenario.h"

struct page {
	struct al_arena *arena;
	const struct al_style *style;
	const struct al_table *table;
	struct al_text *out;
};

/* A cell as people read it; NULL: it is missing. */
static const char *cell_of(const struct page *p, size_t row, const char *key)
{
	int column = al_table_find_column(p->table, key);
	const struct al_cell *cell = &p->table->rows[row][column];

	return cell->kind == AL_CELL_MISSING
		? NULL
		: al_cell_display(p->arena, p->style, &p->table->columns[column], cell);
}

static void add_line(const struct page *p, size_t indent, const char *text)
{
	al_text_add_repeated(p->out, ' ', indent);
	al_help_add_wrapped(p->out, text, indent);
}

/* "printed 1.12, found 1.63 (1.61 to 1.64)" */
static const char *compare(const struct page *p, size_t row)
{
	const char *printed = cell_of(p, row, "printed"), *value = cell_of(p, row, "value"),
		   *low = cell_of(p, row, "low"), *high = cell_of(p, row, "high");
	bool is_range = low && high && strcmp(low, high) != 0;

	return al_format(p->arena, "printed %s%s%s%s%s%s%s%s", printed ? printed : "-",
		value ? ", found " : "", value ? value : "", is_range ? " (" : "",
		is_range ? low : "", is_range ? " to " : "", is_range ? high : "",
		is_range ? ")" : "");
}

static void add_claim(const struct page *p, size_t row, enum al_verdict verdict)
{
	const char *where = cell_of(p, row, "where"), *note = cell_of(p, row, "note");
	const char *kind = al_table_text(p->table, row, "kind");
	bool is_printed = strcmp(kind, al_claim_kind_names[AL_CLAIM_PRINTED]) == 0;
	const char *head = al_format(p->arena, "%s %s: %s%s%s%s", cell_of(p, row, "scenario"),
		cell_of(p, row, "id"), al_verdict_names[verdict], is_printed ? "" : " (",
		is_printed ? "" : kind, is_printed ? "" : ")");

	if (verdict == AL_REPRODUCED) {
		add_line(p, 0,
			al_format(p->arena, "%s, %s%s%s", head, where ? where : "",
				where ? ", " : "", compare(p, row)));
		return;
	}
	add_line(p, 0, head);
	if (where)
		add_line(p, 2, where);
	add_line(p, 2, compare(p, row));
	if (note)
		add_line(p, 2, note);
}

static void add_claims(const struct page *p, enum al_verdict verdict)
{
	for (size_t row = 0; row < p->table->n_rows; row++)
		if (strcmp(al_table_text(p->table, row, "verdict"), al_verdict_names[verdict]) == 0)
			add_claim(p, row, verdict);
}

const char *al_check_text(struct al_arena *arena, const struct al_style *style,
	const struct al_table *table)
{
	static const enum al_verdict order[] = {AL_INCONSISTENT, AL_UNDERIVABLE, AL_CONSISTENT,
		AL_REPRODUCED};
	struct al_text text;
	const struct page page = {arena, style, table, &text};

	al_text_init(&text);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		add_claims(&page, order[i]);
	al_text_add(&text, "\n");
	for (size_t i = 1; i <= table->n_notes; i++)
		add_line(&page, 0, al_printable(arena, table->notes[i % table->n_notes]));
	if (style->summary) {
		al_text_add(&text, "\n");
		add_line(&page, 0, style->summary);
	}
	const char *copy = al_strdup(arena, text.data);
	al_text_finish(&text);
	return copy;
}
