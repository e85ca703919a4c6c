/* Layout: margins measured from the text that goes into them.
 *
 * Margins decide the length of the axes, that decides the ticks, and their labels decide the
 * margins. So the page is laid out again until the margins, which only grow, hold what they have
 * to. */

#include "figure/mark.h"

enum { MOST_PASSES = 8 };

static const double least_width_pt = 24;

struct margins {
	double left, top, right, bottom;
	double between; /* panels */
	double above; /* panels of a lower row */
};

/* ---- frames and scales ---- */

/* Frames in rows are square, unless the page's height is given or each has its own axes. */
static bool are_square(const struct al_figure *figure)
{
	return figure->panels_a_row > 0 && figure->height_pt == 0 && !figure->x.is_free
		&& !figure->y.is_free && !figure->is_horizontal;
}

/* The size of each frame. */
static struct al_size find_frame_size(const struct al_scene *scene, const struct margins *m)
{
	const size_t columns = al_scene_columns(scene);
	const size_t rows = (scene->plot->n_panels + columns - 1) / columns;
	const double across = scene->canvas->width_pt - m->left - m->right;
	const double down = scene->canvas->height_pt - m->top - m->bottom;

	struct al_size size = {(across + m->between) / (double)columns - m->between,
		(down + m->above) / (double)rows - m->above};

	if (are_square(scene->plot->figure))
		size.width_pt = size.height_pt = fmin(AL_SQUARE_PT,
			fmin(size.width_pt, size.height_pt));
	return size;
}

static void set_frames(struct al_scene *scene, const struct margins *m)
{
	const size_t columns = al_scene_columns(scene);
	const struct al_size size = find_frame_size(scene, m);

	for (size_t i = 0; i < scene->plot->n_panels; i++)
		scene->frames[i] = al_box_at(size,
			m->left + (double)(i % columns) * (size.width_pt + m->between),
			m->top + (double)(i / columns) * (size.height_pt + m->above), 0, 0);
}

static bool check_frames(const struct al_scene *scene, struct al_error *err)
{
	const struct al_box *frame = &scene->frames[0];

	if (frame->right - frame->left >= least_width_pt
		&& frame->bottom - frame->top >= scene->least_height_pt)
		return true;
	return al_fail(err, AL_EINPUT,
		"the text leaves no room to draw in %g x %g pt%s; use a larger figure",
		scene->canvas->width_pt, scene->canvas->height_pt,
		scene->plot->n_panels > 1 ? " with its panels side by side" : "");
}

/* A mark on the axis touches it; others keep away by a marker's size, or the room of a bar's
 * value. */
static struct al_scale y_scale_of(const struct al_scene *scene, const struct al_dimension *y)
{
	const struct al_mark *mark = scene->plot->mark;
	const struct al_box *frame = &scene->frames[0];
	const double away = fmax(AL_INSET_PT, al_scene_values_pt(scene));
	bool is_standing = mark->stands_on_zero && (y->is_log || y->min >= 0);
	bool is_hanging = mark->stands_on_zero && !y->is_log && y->max <= 0;
	const double below = is_standing || mark->has_cells ? 0 : away;
	const double above = is_hanging || mark->has_cells ? 0 : away;

	return scene->plot->figure->is_horizontal
		? al_scale_of(y, frame->left + below, frame->right - above)
		: al_scale_of(y, frame->bottom - below, frame->top + above);
}

static void set_scales(struct al_scene *scene)
{
	const struct al_plot *plot = scene->plot;
	const struct al_box *frame = &scene->frames[0];
	const double length = plot->figure->is_horizontal ? frame->bottom - frame->top
							  : frame->right - frame->left;
	double side = plot->mark->has_slots || plot->mark->has_cells ? 0 : AL_INSET_PT;

	for (size_t panel = 0; panel < plot->n_panels; panel++) {
		struct al_scale *x = &scene->x[panel].scale;
		*x = al_scale_of(&plot->panel_x[panel], side, length - side);
		x->is_log &= !plot->categories;
		scene->y[panel].scale = y_scale_of(scene, &plot->panel_y[panel]);
	}
}

/* ---- text around the frames ---- */

static size_t count_lines(const char *text)
{
	size_t n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Names of lines across horizontal bars (callouts.c). */
static double references_height(const struct al_scene *scene)
{
	const struct al_figure *figure = scene->plot->figure;

	return figure->is_horizontal && figure->n_references > 0
		? al_line_height(scene->canvas, AL_FONT_TICK) + 1
		: 0;
}

/* Lines of the fullest panel. */
static double panel_titles_height(const struct al_scene *scene)
{
	const struct al_plot *plot = scene->plot;
	double most = 0;

	for (size_t panel = 0; panel < plot->n_panels; panel++)
		most = fmax(most, (double)count_lines(plot->panels[panel]));
	return (*plot->panels[0] ? most * al_line_height(scene->canvas, AL_FONT_TITLE) + 1 : 2)
		+ references_height(scene);
}

static void add_panel_title(struct al_scene *scene, size_t panel)
{
	const struct al_box *frame = &scene->frames[panel];
	const char *text = scene->plot->panels[panel];
	const double height = al_line_height(scene->canvas, AL_FONT_TITLE);

	if (!*text)
		return;
	for (size_t left = count_lines(text); left-- > 0;) {
		const size_t length = strcspn(text, "\n");
		const struct al_label label = {.text = al_strndup(scene->arena, text, length),
			.font = AL_FONT_TITLE,
			.color = al_color_ink,
			.align = AL_ALIGN_CENTER};
		al_scene_write(scene, label, (frame->left + frame->right) / 2,
			frame->top - references_height(scene) - 1 - (double)left * height, 0.5, 1);
		text += length + 1;
	}
}

static struct al_label axis_title(const char *text, double room_pt, bool is_vertical)
{
	return (struct al_label){.text = text,
		.font = AL_FONT_TITLE,
		.color = al_color_ink,
		.align = AL_ALIGN_CENTER,
		.wrap_pt = room_pt,
		.is_vertical = is_vertical};
}

/* The title of the axis along the bottom, and of that along the left. */
static struct al_label bottom_title(const struct al_scene *scene)
{
	const struct al_plot *plot = scene->plot;
	const struct al_box *last = &scene->frames[al_scene_columns(scene) - 1];

	return axis_title(plot->figure->is_horizontal ? plot->y.title : plot->x.title,
		last->right - scene->frames[0].left, false);
}

static struct al_label left_title(const struct al_scene *scene)
{
	const struct al_plot *plot = scene->plot;

	return axis_title(plot->figure->is_horizontal ? plot->x.title : plot->y.title,
		scene->frames[0].bottom - scene->frames[0].top, true);
}

static void add_axis_titles(struct al_scene *scene)
{
	const struct al_box *first = &scene->frames[0];
	const struct al_box *last = &scene->frames[al_scene_columns(scene) - 1];
	const struct al_box *lowest = &scene->frames[scene->plot->n_panels - 1];

	al_scene_write(scene, bottom_title(scene), (first->left + last->right) / 2,
		scene->canvas->height_pt - AL_EDGE_PT - al_scene_beneath_height(scene), 0.5, 1);
	al_scene_write(scene, left_title(scene), AL_EDGE_PT, (first->top + lowest->bottom) / 2, 0,
		0.5);
}

/* ---- margins ---- */

/* How far the first or last label along the bottom reaches out of its frame. */
static double overhang(const struct al_scene *scene, bool at_end)
{
	const double width = scene->frames[0].right - scene->frames[0].left;
	double most = 0;

	for (size_t panel = 0; panel < scene->plot->n_panels; panel++) {
		const bool is_y = scene->plot->figure->is_horizontal;
		const struct al_ruler *ruler = is_y ? &scene->y[panel] : &scene->x[panel];
		const size_t n = ruler->ticks.n;
		const struct al_tick *tick = &ruler->ticks.items[at_end && n > 0 ? n - 1 : 0];
		const double x = al_scale_at(&ruler->scale, tick->value)
			- (is_y ? scene->frames[0].left : 0);
		const double half = al_canvas_tick_width(scene->canvas, tick->label) / 2;
		if (n > 0)
			most = fmax(most, at_end ? x + half - width : half - x);
	}
	return most;
}

/* What is to the left, with ticks: of the first panels of rows, or of the others. */
static double ticks_width(const struct al_scene *scene, bool is_first)
{
	const bool has_names = scene->plot->figure->is_horizontal && is_first;
	double most = has_names ? scene->slot_names.height_pt : 0;

	for (size_t panel = 0; panel < scene->plot->n_panels && !scene->plot->figure->is_horizontal;
		panel++)
		if ((panel % al_scene_columns(scene) == 0) == is_first)
			most = fmax(most, al_ticks_width(scene->canvas, &scene->y[panel].ticks));
	return most + AL_TICK_GAP_PT + AL_TICK_PT;
}

static double measure_left(struct al_scene *scene)
{
	struct al_label title = left_title(scene);
	double width = 0;

	if (*title.text)
		width = al_label_measure(scene->canvas, &title).width_pt + AL_TITLE_GAP_PT;
	width += ticks_width(scene, true);
	return AL_EDGE_PT + fmax(width, overhang(scene, false));
}

static double measure_right(struct al_scene *scene)
{
	double ends = scene->has_end_labels ? al_scene_end_labels_width(scene) : 0;

	return AL_EDGE_PT + fmax(2, fmax(ends, overhang(scene, true)));
}

static double measure_bottom(struct al_scene *scene)
{
	struct al_label title = bottom_title(scene);
	double height = 0;
	const bool has_names = scene->plot->categories && !scene->plot->figure->is_horizontal;
	double names = has_names ? scene->slot_names.height_pt
				 : al_line_height(scene->canvas, AL_FONT_TICK);

	if (*title.text)
		height = al_label_measure(scene->canvas, &title).height_pt + AL_TITLE_GAP_PT - 1;
	return AL_EDGE_PT + al_scene_beneath_height(scene) + height + names + AL_TICK_GAP_PT
		+ AL_TICK_PT;
}

/* Adds heading and legend, and returns where the frames may begin. */
static bool add_top(struct al_scene *scene, double *top, struct al_error *err)
{
	const struct al_plot *plot = scene->plot;
	const struct al_label heading = {.text = plot->figure->title,
		.font = AL_FONT_HEADING,
		.color = al_color_ink,
		.wrap_pt = scene->canvas->width_pt - 2 * AL_EDGE_PT};

	*top = AL_EDGE_PT;
	if (heading.text && *heading.text && !plot->figure->is_captioned) {
		*top = al_scene_write(scene, heading, AL_EDGE_PT, *top, 0, 0).bottom
			+ AL_TITLE_GAP_PT;
	}
	if (plot->n_series > 1 && !scene->has_end_labels && !plot->names_series) {
		if (!al_scene_add_legend(scene, *top, top, err))
			return false;
		*top += AL_TITLE_GAP_PT;
	}
	if (plot->mark->has_cells) {
		if (!al_scene_add_color_bar(scene, *top, top, err))
			return false;
		*top += AL_TITLE_GAP_PT;
	}
	*top += panel_titles_height(scene);
	return true;
}

/* True where the margins already hold all. */
static bool grow(double *margin, double needed)
{
	bool holds = needed <= *margin + 0.01;

	*margin = fmax(*margin, needed);
	return holds;
}

/* From one panel to the next in its row. */
static double measure_between(const struct al_scene *scene)
{
	const double left = overhang(scene, false), right = overhang(scene, true);
	const struct al_figure *figure = scene->plot->figure;
	const double ticks = figure->y.is_free && !figure->is_horizontal
		? ticks_width(scene, false) + 2
		: 0;

	return fmax(AL_PANEL_GAP_PT, right + 4 + fmax(left, ticks));
}

/* From a row of panels to the next. */
static double measure_above(const struct al_scene *scene)
{
	const struct al_figure *figure = scene->plot->figure;
	const double ticks = AL_TICK_PT + AL_TICK_GAP_PT
		+ al_line_height(scene->canvas, AL_FONT_TICK);

	return panel_titles_height(scene) + AL_TITLE_GAP_PT
		+ ((figure->is_horizontal ? figure->y.is_free : figure->x.is_free) ? ticks : 0);
}

static bool grow_all(struct al_scene *scene, struct margins *m, double top)
{
	bool holds = grow(&m->left, measure_left(scene));

	holds &= grow(&m->right, measure_right(scene));
	holds &= grow(&m->bottom, measure_bottom(scene));
	holds &= grow(&m->top, top);
	if (scene->plot->n_panels > 1)
		holds &= grow(&m->between, measure_between(scene));
	holds &= grow(&m->above, measure_above(scene));
	return holds;
}

static bool try_margins(struct al_scene *scene, struct margins *m, bool *holds,
	struct al_error *err)
{
	double top;

	scene->n_labels = scene->n_leaders = scene->n_keys = 0;
	set_frames(scene, m);
	if (!check_frames(scene, err))
		return false;
	set_scales(scene);
	for (size_t panel = 0; panel < scene->plot->n_panels; panel++)
		al_scene_find_ticks(scene, panel, false, &scene->plot->panel_y[panel]);
	if (scene->plot->categories)
		al_scene_fit_slot_names(scene);
	for (size_t panel = 0; panel < scene->plot->n_panels && !scene->plot->categories; panel++)
		al_scene_find_ticks(scene, panel, true, &scene->plot->panel_x[panel]);
	if (!add_top(scene, &top, err))
		return false;
	*holds = grow_all(scene, m, top);
	return true;
}

static bool settle(struct al_scene *scene, struct al_error *err)
{
	struct margins m = {20, 4, 4, 20, 0, 0};
	bool holds = false;

	for (int pass = 0; pass < MOST_PASSES && !holds; pass++)
		if (!try_margins(scene, &m, &holds, err))
			return false;
	return true;
}

bool al_scene_lay_out(struct al_scene *scene, struct al_error *err)
{
	const struct al_figure *figure = scene->plot->figure;

	scene->frames = al_new_array(scene->arena, struct al_box, scene->plot->n_panels);
	scene->x = al_new_array(scene->arena, struct al_ruler, scene->plot->n_panels);
	scene->y = al_new_array(scene->arena, struct al_ruler, scene->plot->n_panels);
	scene->has_end_labels = scene->plot->mark->joins && scene->plot->n_series > 1
		&& scene->plot->n_panels == 1 && !figure->legend;
	if (scene->has_end_labels)
		scene->has_end_labels = settle(scene, NULL) && al_scene_end_labels_fit(scene)
			&& al_scene_add_end_labels(scene);
	if (!scene->has_end_labels && !settle(scene, err))
		return false;
	for (size_t panel = 0; panel < scene->plot->n_panels; panel++) {
		const bool is_lowest = al_scene_is_lowest(scene, panel);
		const bool is_first = panel % al_scene_columns(scene) == 0;
		add_panel_title(scene, panel);
		if (scene->plot->categories && (figure->is_horizontal ? is_first : is_lowest))
			al_scene_add_slot_names(scene, panel);
		if (!scene->plot->categories && (figure->x.is_free || is_lowest))
			al_scene_add_tick_labels(scene, panel, true, scene);
		if (figure->y.is_free || (figure->is_horizontal ? is_lowest : is_first))
			al_scene_add_tick_labels(scene, panel, false, scene);
		al_scene_add_beneath(scene, panel);
	}
	add_axis_titles(scene);
	al_scene_add_values(scene);
	return true;
}
