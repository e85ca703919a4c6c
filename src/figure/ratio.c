/* Ratio marks: an arrow between two points, and how many times one is the other, divided exactly
 * as the table holds them. */

#include "figure/mark.h"

/* ---- which points ---- */

/* A cell's value, or its text. */
static bool is_named(struct al_plot *plot, size_t row, int column, const char *name)
{
	const struct al_cell *cell = &plot->table->rows[row][column];

	return (cell->kind == AL_CELL_TEXT && strcmp(cell->text, name) == 0)
		|| (cell->kind == AL_CELL_EXACT
			&& strcmp(al_exact_text(&plot->arena, cell->exact), name) == 0)
		|| strcmp(al_plot_name(plot, row, column), name) == 0;
}

static bool is_at_x(struct al_plot *plot, size_t row, const struct al_end *end)
{
	const int column = plot->columns.x;
	double value;

	if (end->x)
		return is_named(plot, row, column, end->x);
	return al_cell_number(&plot->table->rows[row][column], &value) && value == end->x_value;
}

static bool is_end(struct al_plot *plot, size_t row, const struct al_end *end)
{
	return is_at_x(plot, row, end)
		&& (!end->series || is_named(plot, row, plot->columns.series, end->series))
		&& (!end->panel || is_named(plot, row, plot->columns.panel, end->panel));
}

static const char *tell(struct al_arena *arena, const struct al_end *end)
{
	const char *x = end->x ? end->x : al_format(arena, "%g", end->x_value);

	return al_format(arena, "%s%s%s%s%s", x, end->series ? ", " : "",
		end->series ? end->series : "", end->panel ? ", " : "",
		end->panel ? end->panel : "");
}

/* The one row of an end. */
static bool find_row(struct al_plot *plot, const struct al_end *end, size_t *out,
	struct al_error *err)
{
	const struct al_plot_columns *columns = &plot->columns;
	size_t n = 0;

	if ((end->series && columns->series < 0) || (end->panel && columns->panel < 0))
		return al_fail(err, AL_EINPUT, "it names a %s, but the figure has none",
			end->series && columns->series < 0 ? "series" : "panel");
	for (size_t row = 0; row < plot->table->n_rows; row++)
		if (is_end(plot, row, end)) {
			*out = n++ == 0 ? row : *out;
		}
	return n == 1 || al_fail(err, AL_EINPUT, "found %zu rows, expected one", n);
}

static const struct al_point *find_point(const struct al_plot *plot, size_t row)
{
	for (size_t i = 0; i < plot->points.n; i++)
		if (plot->points.items[i].row == row && !isnan(plot->points.items[i].y))
			return &plot->points.items[i];
	return NULL;
}

/* ---- what they hold ---- */

bool al_plot_add_value(struct al_arena *arena, mpq_t sum, const struct al_cell *cell)
{
	mpq_ptr value = al_exact_new(arena);

	if (cell->kind == AL_CELL_REAL && isfinite(cell->real))
		mpq_set_d(value, cell->real);
	else if (cell->kind != AL_CELL_EXACT)
		return false;
	al_exact_add(sum, cell->kind == AL_CELL_EXACT ? cell->exact : value);
	return true;
}

static bool read_end(struct al_plot *plot, const struct al_end *end, const struct al_point **out,
	mpq_t value, struct al_error *err)
{
	size_t row = 0;
	bool is_whole = true;

	if (!find_row(plot, end, &row, err))
		return false;
	for (size_t i = 0; i < plot->columns.n_y; i++)
		is_whole = al_plot_add_value(&plot->arena, value,
				   &plot->table->rows[row][plot->columns.y[i]])
			&& is_whole;
	*out = find_point(plot, row);
	if (!is_whole || !*out)
		return al_fail(err, AL_EINPUT, "found no number");
	return mpq_sgn(value) > 0
		|| al_fail(err, AL_EINPUT, "found %s, expected more than 0",
			al_exact_text(&plot->arena, value));
}

static bool find_ratio(struct al_plot *plot, const struct al_ratio *ratio,
	struct al_plot_ratio *out, struct al_error *err)
{
	const struct al_end *const ends[] = {&ratio->of, &ratio->to};
	mpq_ptr values[] = {al_exact_new(&plot->arena), al_exact_new(&plot->arena)};

	for (int i = 0; i < 2; i++)
		if (!read_end(plot, ends[i], &out->points[i], values[i], err))
			return al_in(err, "the ratio's end %s", tell(&plot->arena, ends[i]));
	if (out->points[0]->panel != out->points[1]->panel)
		return al_fail(err, AL_EINPUT, "the ratio's ends %s and %s are in two panels",
			tell(&plot->arena, ends[0]), tell(&plot->arena, ends[1]));
	if (out->points[0] == out->points[1])
		return al_fail(err, AL_EINPUT, "a ratio of %s to itself",
			tell(&plot->arena, ends[0]));
	mpq_div(values[0], values[0], values[1]);
	const char *decimal = al_exact_decimal(&plot->arena, values[0], ratio->digits);
	out->label = al_format(&plot->arena, "%s\u00d7", al_exact_grouped(&plot->arena, decimal));
	return true;
}

bool al_plot_find_ratios(struct al_plot *plot, struct al_error *err)
{
	const struct al_figure *figure = plot->figure;

	plot->ratios = al_new_array(&plot->arena, struct al_plot_ratio, figure->n_ratios);
	for (size_t i = 0; i < figure->n_ratios; i++)
		if (!find_ratio(plot, &figure->ratios[i], &plot->ratios[i], err))
			return false;
	return true;
}

/* ---- arrows ---- */

static const double leg_pt = 0.7, head_pt = 3.2, label_gap_pt = 2.4, line_pt = 0.5;

static struct al_spot place_of(const struct al_scene *scene, const struct al_point *point)
{
	const struct al_mark *mark = scene->plot->mark;

	return mark->find_end ? mark->find_end(scene, point) : al_scene_at(scene, point);
}

/* The leg is over or beneath the end that is nearer to the axis. */
static struct al_arrow arrow_of(const struct al_scene *scene, const struct al_plot_ratio *ratio)
{
	struct al_spot far = place_of(scene, ratio->points[0]);
	struct al_spot near = place_of(scene, ratio->points[1]);

	if (far.y > near.y) {
		const struct al_spot other = far;
		far = near;
		near = other;
	}
	return (struct al_arrow){.leg = {near.x, far.y, near.x, near.y},
		.level = {far.x, far.y, near.x, far.y}};
}

/* Where a label would be: on the right of the leg, on the left, upon it. */
enum side { RIGHT, LEFT, UPON, N_SIDES };

static void put_at(struct al_scene *scene, const struct al_segment *leg, double share,
	enum side side, struct al_label *label)
{
	static const double away[] = {[RIGHT] = label_gap_pt, [LEFT] = -label_gap_pt, [UPON] = 0};
	static const double across[] = {[RIGHT] = 0, [LEFT] = 1, [UPON] = 0.5};

	al_label_put(scene->canvas, label, leg->x0 + away[side],
		leg->y0 + share * (leg->y1 - leg->y0), across[side], 0.5);
}

/* Upon a leg there is room for its ends, too. */
static bool fits(const struct al_segment *leg, enum side side, const struct al_box *box)
{
	return side != UPON
		|| (box->top > leg->y0 + 2 * head_pt && box->bottom < leg->y1 - 2 * head_pt);
}

/* At the leg's middle first; else next to its end. */
static bool put_label(const struct al_obstacles *obstacles, const struct al_arrow *arrow,
	struct al_label *label)
{
	static const double shares[] = {.5, .4, .6, .3, .7, .2, .8, .1, .9, 0, 1};
	const size_t n = sizeof(shares) / sizeof(*shares);

	for (size_t i = 0; i < n * N_SIDES; i++) {
		const enum side side = i < 2 * n ? (i % 2 ? LEFT : RIGHT) : UPON;
		put_at(obstacles->scene, &arrow->leg, shares[side == UPON ? i - 2 * n : i / 2],
			side, label);
		if (fits(&arrow->leg, side, &label->box)
			&& !al_segment_crosses(&arrow->level, &label->box)
			&& al_obstacles_leave(obstacles, &label->box))
			return true;
	}
	return al_label_put_near(obstacles, label,
		       al_label_measure(obstacles->scene->canvas, label), arrow->leg.x0,
		       arrow->leg.y0)
		&& !al_segment_crosses(&arrow->level, &label->box)
		&& !al_segment_crosses(&arrow->leg, &label->box);
}

static bool add_ratio(struct al_obstacles *obstacles, const struct al_plot_ratio *ratio,
	struct al_error *err)
{
	struct al_scene *scene = obstacles->scene;
	struct al_arrow arrow = arrow_of(scene, ratio);
	struct al_label label = al_tick_label(ratio->label);

	for (int end = 0; end < 2; end++)
		if (!al_scene_holds(scene, ratio->points[end]))
			return al_fail(err, AL_EINPUT,
				"the ratio %s has an end beyond the axes' limits", ratio->label);
	if (!put_label(obstacles, &arrow, &label))
		return al_fail(err, AL_EINPUT, "no room for the ratio %s: use a larger figure",
			ratio->label);
	arrow.label = label.box;
	al_obstacles_add_segment(obstacles, arrow.leg);
	al_obstacles_add_segment(obstacles, arrow.level);
	al_scene_add_label(scene, &label);
	scene->arrows[scene->n_arrows++] = arrow;
	return true;
}

bool al_scene_add_ratios(struct al_scene *scene, struct al_obstacles *obstacles,
	struct al_error *err)
{
	const size_t n = scene->plot->figure->n_ratios;

	scene->arrows = al_new_array(scene->arena, struct al_arrow, n);
	for (size_t i = 0; i < n; i++) {
		const struct al_plot_ratio *ratio = &scene->plot->ratios[i];
		if (!add_ratio(&obstacles[ratio->points[0]->panel], ratio, err))
			return false;
	}
	return true;
}

static void draw_head(const struct al_scene *scene, double x, double y, double towards)
{
	cairo_t *cr = scene->canvas->cr;

	cairo_move_to(cr, x, y);
	cairo_line_to(cr, x - head_pt / 2.4, y - towards * head_pt);
	cairo_line_to(cr, x + head_pt / 2.4, y - towards * head_pt);
	cairo_close_path(cr);
	al_canvas_color(scene->canvas, al_color_ink);
	al_canvas_fill(scene->canvas);
}

static void draw_leg(const struct al_scene *scene, const struct al_segment *leg,
	const struct al_box *label)
{
	const double x = leg->x0;

	if (!al_segment_crosses(leg, label)) {
		al_canvas_line(scene->canvas, x, leg->y0, x, leg->y1, leg_pt, al_color_ink);
		return;
	}
	al_canvas_line(scene->canvas, x, leg->y0, x, label->top, leg_pt, al_color_ink);
	al_canvas_line(scene->canvas, x, label->bottom, x, leg->y1, leg_pt, al_color_ink);
}

/* A leg that is too short for two heads has none. */
static void draw_arrow(const struct al_scene *scene, const struct al_arrow *arrow)
{
	static const double dashes[] = {1.6, 1.4};
	const struct al_segment *leg = &arrow->leg, *level = &arrow->level;

	cairo_set_dash(scene->canvas->cr, dashes, 2, 0);
	al_canvas_line(scene->canvas, level->x0, level->y0, level->x1, level->y1, line_pt,
		al_color_ink);
	cairo_set_dash(scene->canvas->cr, NULL, 0, 0);
	draw_leg(scene, leg, &arrow->label);
	if (leg->y1 - leg->y0 < 2.5 * head_pt)
		return;
	draw_head(scene, leg->x1, leg->y1, 1);
	draw_head(scene, leg->x0, leg->y0, -1);
}

void al_scene_draw_ratios(const struct al_scene *scene)
{
	for (size_t i = 0; i < scene->n_arrows; i++)
		draw_arrow(scene, &scene->arrows[i]);
}
