/* A bar each row of a table. */
#include "page/page.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 720, PITCH = 24, BAR = 12, TOP = 8, BOTTOM = 44, LETTER = 8, LABEL_LETTERS = 28 };

struct layout {
	const struct al_page_bars *bars;
	struct al_arena *arena;
	size_t *rows, n;
	double most, left, right, bottom;
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

/* At most so many letters, from the first one on. */
static const char *label_of(const struct layout *l, size_t row)
{
	const char *text = text_of(l, row, l->bars->label), *end = text;

	for (size_t n = 0; *end && n < LABEL_LETTERS - 1; n++)
		end += al_character_at(end).bytes;
	return *end ? al_format(l->arena, "%.*s\342\200\246", (int)(end - text), text) : text;
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
	size_t label = 0, number = 0;

	for (size_t row = 0; row < l->bars->table->n_rows; row++) {
		double value = 0, reference = 0;
		if (!is_shown(l->bars, row) || !value_of(l, row, l->bars->value, &value))
			continue;
		value_of(l, row, l->bars->reference, &reference);
		l->most = fmax(l->most, fmax(value, reference));
		label = al_text_columns(label_of(l, row)) > label
			? al_text_columns(label_of(l, row))
			: label;
		number = strlen(number_of(l, row)) > number ? strlen(number_of(l, row)) : number;
		l->rows[l->n++] = row;
	}
	l->left = (double)(label * LETTER + 12);
	l->right = WIDTH - (double)(number * LETTER + 12);
	l->bottom = (double)(TOP + l->n * PITCH);
}

static double place(const struct layout *l, double value)
{
	return l->left + fmax(value, 0) / l->most * (l->right - l->left);
}

static void add_bar(struct al_text *out, const struct layout *l, size_t i)
{
	const double y = (double)(TOP + i * PITCH), middle = y + PITCH / 2. + 4.5;
	double value = 0, reference;

	value_of(l, l->rows[i], l->bars->value, &value);
	al_text_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", l->left - 8, middle);
	al_html_add(out, label_of(l, l->rows[i]));
	al_text_addf(out,
		"</text><rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
		l->left, y + (PITCH - BAR) / 2., place(l, value) - l->left, BAR);
	if (value_of(l, l->rows[i], l->bars->reference, &reference))
		al_text_addf(out, "<path class=\"mark\" d=\"M%.1f %.1fv%d\"/>", place(l, reference),
			y + 3, PITCH - 6);
	al_text_addf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", WIDTH - 4, middle);
	al_html_add(out, number_of(l, l->rows[i]));
	al_text_add(out, "</text>\n");
}

static void add_axis(struct al_text *out, const struct layout *l)
{
	al_text_addf(out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", l->left, l->bottom + 2,
		l->right);
	al_text_addf(out, "<text class=\"mu\" x=\"%.1f\" y=\"%.1f\">", l->left, l->bottom + 22);
	al_html_add(out, l->bars->axis);
	al_text_add(out, "</text>\n");
}

static void draw(struct al_text *out, const struct layout *l)
{
	al_text_addf(out, "<svg class=\"bars\" role=\"img\" width=\"%d\" height=\"%.0f\" ", WIDTH,
		l->bottom + BOTTOM);
	al_text_addf(out, "viewBox=\"0 0 %d %.0f\"", WIDTH, l->bottom + BOTTOM);
	al_html_add_attribute(out, "aria-label", l->bars->axis);
	al_text_add(out, ">\n");
	for (size_t i = 0; i < l->n; i++)
		add_bar(out, l, i);
	add_axis(out, l);
	al_text_add(out, "</svg>\n");
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
