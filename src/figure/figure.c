/* Figures: a plot from the table, a scene on a canvas, and the canvas into bytes. */
#include "figure/figure.h"

#include "figure/mark.h"

static const double least_height_pt = 24; /* of a frame, where the page's height is given */

/* A layout in which two texts overlap is refused, whichever part of the layout placed them. */
static bool check_text(const struct al_scene *scene, struct al_error *err)
{
	const struct al_canvas *canvas = scene->canvas;

	for (size_t i = 0; i < scene->n_labels; i++) {
		const struct al_label *label = &scene->labels[i];
		const struct al_box *box = &label->box;
		if (box->left < 0 || box->top < 0 || box->right > canvas->width_pt
			|| box->bottom > canvas->height_pt)
			return al_fail(err, AL_EINPUT,
				"no room for \"%s\" in %g x %g pt: use a larger figure",
				label->text, canvas->width_pt, canvas->height_pt);
		for (size_t j = 0; j < i; j++)
			if (al_box_meets(box, &scene->labels[j].box))
				return al_fail(err, AL_EINPUT,
					"no room for both \"%s\" and \"%s\" in %g x %g pt: use a "
					"larger figure",
					scene->labels[j].text, label->text, canvas->width_pt,
					canvas->height_pt);
	}
	return true;
}

static void draw_scene(struct al_scene *scene)
{
	const struct al_mark *mark = scene->plot->mark;

	for (size_t panel = 0; panel < scene->plot->n_panels; panel++) {
		al_scene_draw_back(scene, panel);
		mark->draw(scene, panel);
		al_scene_draw_axes(scene, panel);
	}
	al_scene_draw_ratios(scene);
	al_scene_draw_inset(scene);
	if (mark->has_cells)
		al_scene_draw_color_bar(scene);
	for (size_t i = 0; i < scene->n_leaders; i++) {
		const struct al_segment *s = &scene->leaders[i];
		al_canvas_line(scene->canvas, s->x0, s->y0, s->x1, s->y1, 0.4, al_color_leader);
	}
	for (size_t i = 0; i < scene->n_keys; i++)
		mark->draw_key(scene, i, &scene->keys[i]);
	for (size_t i = 0; i < scene->n_labels; i++)
		al_label_draw(scene->canvas, &scene->labels[i]);
}

/* One attempt at a page. A canvas that ends early still writes. */
static bool draw_page(struct al_plot *plot, double height_pt, double least_frame_pt,
	enum al_figure_format format, struct al_text *out, struct al_error *err)
{
	AL_TEXT(bytes);
	AL_ENDS(al_canvas_finish) struct al_canvas canvas;
	struct al_scene scene = {.canvas = &canvas,
		.plot = plot,
		.arena = &plot->arena,
		.least_height_pt = least_frame_pt};

	if (!al_canvas_begin(&canvas, plot->figure, height_pt, format, &bytes, err))
		return false;
	al_canvas_make_fonts(&canvas, &plot->figure->lettering);
	if (!al_scene_lay_out(&scene, err) || !al_scene_add_callouts(&scene, err)
		|| !check_text(&scene, err))
		return false;
	draw_scene(&scene);
	if (!al_canvas_end(&canvas, err))
		return false;
	al_text_add_bytes(out, bytes.data, bytes.length);
	return true;
}

/* So high that the square frames of all rows fit, with their titles and ticks. */
static double height_of_rows(const struct al_plot *plot, double width_pt)
{
	static const double sides_pt = 30, between_pt = 14, around_pt = 42;
	const double columns = fmin((double)plot->figure->panels_a_row, (double)plot->n_panels);
	const double rows = ceil((double)plot->n_panels / columns);
	const double side = fmin(AL_SQUARE_PT, (width_pt - sides_pt) / columns - AL_PANEL_GAP_PT);

	return round(rows * (side + between_pt) + around_pt);
}

/* A frame so high that each bar that lies takes a line. */
static double height_of_bars(const struct al_plot *plot)
{
	static const double line_pt = 9.5, between_pt = 4;
	const bool is_one = plot->figure->n_stacked > 0 || plot->names_series;
	const double bars = is_one ? 1 : (double)plot->n_series;

	return (double)plot->n_categories * (bars * line_pt + between_pt);
}

/* A page without a given height grows until the text leaves the frames a fair share of it. */
static bool draw_plot(struct al_plot *plot, enum al_figure_format format, struct al_text *out,
	struct al_error *err)
{
	static const double growing[] = {0.68, 0.85, 1.1, 1.4}, around_pt = 30;
	const struct al_figure *figure = plot->figure;
	const double width = figure->width_pt != 0 ? figure->width_pt : AL_FIGURE_COLUMN_PT;
	double height = figure->height_pt;

	if (figure->is_horizontal && height == 0)
		for (height = height_of_bars(plot) + around_pt; height < AL_FIGURE_MOST_PT;
			height *= 1.08)
			if (draw_page(plot, round(height), height_of_bars(plot), format, out, NULL))
				return true;
	if (figure->panels_a_row > 0 && height == 0)
		height = height_of_rows(plot, width);
	else if (height == 0)
		for (size_t i = 0; i < sizeof(growing) / sizeof(*growing); i++) {
			height = round(growing[i] * width);
			if (draw_page(plot, height, 0.3 * width, format, out, NULL))
				return true;
		}
	return draw_page(plot, height, least_height_pt, format, out, err);
}

bool al_figure_draw(const struct al_figure *figure, const struct al_table *table,
	enum al_figure_format format, struct al_text *out, struct al_error *err)
{
	struct al_plot plot;

	const bool is_done = al_plot_init(&plot, figure, table, err)
		&& draw_plot(&plot, format, out, err);
	al_arena_finish(&plot.arena);
	return is_done || al_in(err, "figure \"%s\"", figure->id);
}
