/* A bar each row of a table. */
#include "report/page/page.h"

enum { HEIGHT = 18, BAR = 12 };

static bool value_of(const struct al_page_bars *bars, size_t row, const char *key, double *out)
{
	return key && al_table_number(bars->table, row, key, out) && isfinite(*out);
}

static bool is_shown(const struct al_page_bars *bars, size_t row, double *value)
{
	return value_of(bars, row, bars->value, value)
		&& (!bars->leaves_out
			|| strcmp(al_table_text(bars->table, row, bars->label), bars->leaves_out)
				!= 0);
}

static double find_most(const struct al_page_bars *bars)
{
	double most = 0, value;

	for (size_t row = 0; row < bars->table->n_rows; row++) {
		double reference = 0;
		if (!is_shown(bars, row, &value))
			continue;
		(void)value_of(bars, row, bars->reference, &reference);
		most = fmax(most, fmax(value, reference));
	}
	return most;
}

static void add_number(struct al_text *out, const struct al_table *table, size_t row,
	const char *key)
{
	const size_t column = (size_t)al_table_find_column(table, key);

	AL_ARENA(arena);
	al_html_addf(out, "<data data-cell=\"%s/%zu/%s\">%s</data>", table->id, row, key,
		al_cell_display(&arena, &al_page_style, &table->columns[column],
			&table->rows[row][column]));
}

/* A bar is as wide as its page leaves it: percents, where a picture of one width would shrink with
 * its letters on a phone. */
static void add_bar(struct al_text *out, const struct al_page_bars *bars, size_t row, double value,
	double most)
{
	double reference;
	const bool has_mark = value_of(bars, row, bars->reference, &reference);

	al_html_addf(out, "<div><span>%s</span><span>",
		al_table_text(bars->table, row, bars->label));
	add_number(out, bars->table, row, bars->value);
	if (has_mark) {
		al_text_add(out, ", mark ");
		add_number(out, bars->table, row, bars->reference);
	}
	al_html_addf(out,
		"</span><svg aria-hidden=\"true\" height=\"%d\">"
		"<rect class=\"bar\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"/>",
		HEIGHT, (HEIGHT - BAR) / 2, 100 * fmax(value, 0) / most, BAR);
	if (has_mark) {
		const double x = 100 * fmax(reference, 0) / most;
		al_text_addf(out,
			"<line class=\"mark\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>", x,
			x, HEIGHT);
	}
	al_text_add(out, "</svg></div>\n");
}

void al_page_add_bars(struct al_text *out, const struct al_page_bars *bars)
{
	const double most = find_most(bars);
	double value;

	if (!(most > 0))
		return;
	al_text_add(out, "<figure class=\"bars\">\n");
	for (size_t row = 0; row < bars->table->n_rows; row++)
		if (is_shown(bars, row, &value))
			add_bar(out, bars, row, value, most);
	al_html_addf(out, "<figcaption>%s</figcaption></figure>\n", bars->axis);
}
