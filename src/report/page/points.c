/* Scatter plot of savings and errors. */
#include "report/page/page.h"

enum { WIDTH = 720, HEIGHT = 380, LEFT = 56, RIGHT = 20, TOP = 16, BOTTOM = 48 };

static const double STEP_X = 20, STEP_Y = .2;

/* False also of what saves nothing but adds: it has no place in the picture. */
static bool point_at(const struct al_page_points *points, size_t row, double *x, double *y)
{
	double error;

	*y = NAN;
	for (const char *const *key = points->y; *key; key++)
		if (al_table_number(points->table, row, *key, &error))
			*y = fmax(*y, error);
	return al_table_number(points->table, row, points->x, x) && *x >= 0 && isfinite(*y);
}

/* Saves as much at less error, or more at the same; of equals the first. */
static bool is_outdone(const struct al_page_points *points, size_t row)
{
	double x, y, other_x, other_y;

	if (!point_at(points, row, &x, &y) || x <= 0)
		return true;
	for (size_t other = 0; other < points->table->n_rows; other++) {
		if (other == row || !point_at(points, other, &other_x, &other_y))
			continue;
		if (other_x >= x && other_y <= y && (other_x > x || other_y < y || other < row))
			return true;
	}
	return false;
}

const size_t *al_page_frontier(struct al_arena *arena, const struct al_page_points *points,
	size_t *n)
{
	size_t *rows = al_new_array(arena, size_t, points->table->n_rows + 1);

	*n = 0;
	for (size_t row = 0; row < points->table->n_rows; row++) {
		double x, y, at_x, at_y;
		if (is_outdone(points, row))
			continue;
		point_at(points, row, &x, &y);
		size_t at = (*n)++;
		for (; at > 0 && point_at(points, rows[at - 1], &at_x, &at_y) && at_x > x; at--)
			rows[at] = rows[at - 1];
		rows[at] = row;
	}
	return rows;
}

/* ---- drawing ---- */

struct scale {
	double most_x, most_y;
};

static double across(const struct scale *s, double x)
{
	return LEFT + x / s->most_x * (WIDTH - LEFT - RIGHT);
}

static double up(const struct scale *s, double y)
{
	return HEIGHT - BOTTOM - y / s->most_y * (HEIGHT - TOP - BOTTOM);
}

/* Up to a multiple of 20 %, and of 0.2. */
static struct scale find_scale(const struct al_page_points *points)
{
	struct scale s = {STEP_X, STEP_Y};
	double x, y;

	for (size_t row = 0; row < points->table->n_rows; row++)
		if (point_at(points, row, &x, &y)) {
			s.most_x = fmax(s.most_x, STEP_X * ceil(x / STEP_X));
			s.most_y = fmax(s.most_y, STEP_Y * ceil(y / STEP_Y));
		}
	return s;
}

static void add_axes(struct al_text *out, const struct al_page_points *points,
	const struct scale *s)
{
	for (int i = 0; i * STEP_Y < s->most_y + STEP_Y / 2; i++) {
		const double y = up(s, i * STEP_Y);
		al_text_addf(out,
			"<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
			"<text class=\"mu\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.3g</text>\n",
			LEFT, y, WIDTH - RIGHT, LEFT - 8, y + 4, i * STEP_Y);
	}
	for (int i = 0; i * STEP_X < s->most_x + STEP_X / 2; i++)
		al_text_addf(out,
			"<text class=\"mu\" x=\"%.1f\" y=\"%d\" "
			"text-anchor=\"middle\">%.3g</text>\n",
			across(s, i * STEP_X), HEIGHT - BOTTOM + 18, i * STEP_X);
	al_html_addf(out,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text><text "
		"transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
		(WIDTH + LEFT) / 2, HEIGHT - 8, points->x_title, (HEIGHT - BOTTOM + TOP) / 2,
		points->y_title);
}

static void add_title(struct al_text *out, const struct al_page_points *points, size_t row)
{
	al_text_add(out, "<title>");
	for (const char *const *name = points->names; *name; name++) {
		const char *text = al_table_text(points->table, row, *name);
		al_html_addf(out, "%s%s", name > points->names && *text ? ", " : "", text);
	}
	al_text_add(out, "</title>");
}

static void add_circle(struct al_text *out, const struct al_page_points *points,
	const struct scale *s, size_t row, size_t number)
{
	double x, y;

	if (!point_at(points, row, &x, &y))
		return;
	al_text_addf(out, "<g class=\"%s\">", number ? "best" : "point");
	add_title(out, points, row);
	al_text_addf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>", across(s, x), up(s, y),
		number ? 9 : 4);
	if (number)
		al_text_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%zu</text>",
			across(s, x), up(s, y) + 4, number);
	al_text_add(out, "</g>\n");
}

static void add_line(struct al_text *out, const struct al_page_points *points,
	const struct scale *s, const size_t *rows, size_t n)
{
	double x, y;

	al_text_add(out, "<path class=\"line\" d=\"");
	for (size_t i = 0; i < n; i++)
		if (point_at(points, rows[i], &x, &y))
			al_text_addf(out, "%c%.1f %.1f", i ? 'L' : 'M', across(s, x), up(s, y));
	al_text_add(out, "\"/>\n");
}

void al_page_add_points(struct al_text *out, const struct al_page_points *points)
{
	const struct scale s = find_scale(points);
	size_t n;

	AL_ARENA(arena);
	const size_t *rows = al_page_frontier(&arena, points, &n);
	al_html_addf(out,
		"<svg class=\"points\" role=\"img\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\" aria-label=\"%s\">\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, points->y_title);
	add_axes(out, points, &s);
	for (size_t row = 0; row < points->table->n_rows; row++)
		if (is_outdone(points, row))
			add_circle(out, points, &s, row, 0);
	add_line(out, points, &s, rows, n);
	for (size_t i = 0; i < n; i++)
		add_circle(out, points, &s, rows[i], i + 1);
	al_text_add(out, "</svg>\n");
}
