/* A bar each row of a table. */
#include "report/page/page.h"

#include <math.h>
#include <string.h>

enum { HEIGHT = 18, BAR = 12 };

struct layout {
	const struct al_page_bars *bars;
	struct al_arena *arena;
	size_t *rows, n;
	double most;
};

static bool value_of(const struct layout *l, size_t row, const char *key, double *out)
{
	return key && al_table_number(l->bars->table, row, key, out) && isfinite(*out);
}

static const char *text_of(const struct layout *l, size_t row, const char *key)
{
	const struct al_table *table = l->bars->table;
	const int column = al_table_find_column(table, key);

	return column < 0 ? "-"
			  : al_cell_display(l->arena, &al_page_style, &table->columns[column],
				  &table->rows[row][column]);
}

static const char *number_of(const struct layout *l, size_t row)
{
	const char *value = text_of(l, row, l->bars->value);
	double reference;

	if (!value_of(l, row, l->bars->reference, &reference))
		return value;
	return al_format(l->arena, "%s of %s", value, text_of(l, row, l->bars->reference));
}

static bool is_shown(const struct al_page_bars *bars, size_t row)
{
	return !bars->leaves_out
		|| strcmp(al_table_text(bars->table, row, bars->label), bars->leaves_out) != 0;
}

static void measure(struct layout *l)
{
	for (size_t row = 0; row < l->bars->table->n_rows; row++) {
		double value = 0, reference = 0;
		if (!is_shown(l->bars, row) || !value_of(l, row, l->bars->value, &value))
			continue;
		value_of(l, row, l->bars->reference, &reference);
		l->most = fmax(l->most, fmax(value, reference));
		l->rows[l->n++] = row;
	}
}

static double percent(const struct layout *l, double value)
{
	return 100 * fmax(value, 0) / l->most;
}

/* A bar is as wide as its page leaves it: percents, where a picture of one width would shrink with
 * its letters on a phone. */
static void add_bar(struct al_text *out, const struct layout *l, size_t row)
{
	double value = 0, reference;

	value_of(l, row, l->bars->value, &value);
	al_html_addf(out,
		"<div><span>%s</span><span>%s</span><svg aria-hidden=\"true\" height=\"%d\">"
		"<rect class=\"bar\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"/>",
		text_of(l, row, l->bars->label), number_of(l, row), HEIGHT, (HEIGHT - BAR) / 2,
		percent(l, value), BAR);
	if (value_of(l, row, l->bars->reference, &reference)) {
		const double x = percent(l, reference);
		al_text_addf(out,
			"<line class=\"mark\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>", x,
			x, HEIGHT);
	}
	al_text_add(out, "</svg></div>\n");
}

static void draw(struct al_text *out, const struct layout *l)
{
	al_text_add(out, "<figure class=\"bars\">\n");
	for (size_t i = 0; i < l->n; i++)
		add_bar(out, l, l->rows[i]);
	al_html_addf(out, "<figcaption>%s</figcaption></figure>\n", l->bars->axis);
}

void al_page_add_bars(struct al_text *out, const struct al_page_bars *bars)
{
	struct al_arena arena;

	al_arena_init(&arena);
	struct layout layout = {.bars = bars,
		.arena = &arena,
		.rows = al_new_array(&arena, size_t, bars->table->n_rows + 1)};
	measure(&layout);
	if (layout.most > 0)
		draw(out, &layout);
	al_arena_finish(&arena);
}
