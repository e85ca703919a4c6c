/* Canvas: cairo surfaces that write into memory, and text through pango; SVG by svg.c, of what
 * cairo would draw. */
#include "figure/canvas.h"

#include <cairo-pdf.h>
#include <math.h>
#include <string.h>

#include "figure/encode.h"
#include "figure/typeset.h"

static const double pixels_per_pt = 300.0 / 72.0;

/* A bound on what a stranger's scenario asks for: 20 inches make 6000 x 6000 pixels. */
enum { LEAST_PT = 72, MOST_PT = 1440 };

const struct al_color al_color_ink = {0.13, 0.13, 0.13, false};
const struct al_color al_color_axis = {0.30, 0.30, 0.30, false};
const struct al_color al_color_dominated = {0.64, 0.64, 0.64, false};
const struct al_color al_color_grid = {0.90, 0.90, 0.90, false};
const struct al_color al_color_leader = {0.62, 0.62, 0.62, false};
const struct al_color al_color_white = {1, 1, 1, false};

static const struct {
	double size_pt;
	PangoWeight weight;
} fonts[AL_N_FONTS] = {
	[AL_FONT_TICK] = {7, PANGO_WEIGHT_NORMAL},
	[AL_FONT_TITLE] = {8, PANGO_WEIGHT_NORMAL},
	[AL_FONT_HEADING] = {8, PANGO_WEIGHT_BOLD},
};

bool al_box_meets(const struct al_box *a, const struct al_box *b)
{
	return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

struct al_box al_box_at(double width_pt, double height_pt, double x, double y, double across,
	double down)
{
	double left = x - across * width_pt, top = y - down * height_pt;

	return (struct al_box){left, top, left + width_pt, top + height_pt};
}

static cairo_status_t append(void *text, const unsigned char *bytes, unsigned int length)
{
	al_text_add_bytes(text, (const char *)bytes, length);
	return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *make_pdf(struct al_canvas *canvas, const struct al_figure *figure)
{
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(append, canvas->out,
		canvas->width_pt, canvas->height_pt);

	cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_5);
	/* Without a date of ours cairo writes the time of day. */
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, AL_PDF_DATE);
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE,
		figure->title ? figure->title : figure->id);
	return surface;
}

static cairo_surface_t *make_png(const struct al_canvas *canvas)
{
	return cairo_image_surface_create(CAIRO_FORMAT_RGB24,
		(int)lround(canvas->width_pt * pixels_per_pt),
		(int)lround(canvas->height_pt * pixels_per_pt));
}

static cairo_surface_t *make_surface(struct al_canvas *canvas, const struct al_figure *figure)
{
	if (canvas->format == AL_FIGURE_PDF)
		return make_pdf(canvas, figure);
	return canvas->format == AL_FIGURE_PNG
		? make_png(canvas)
		: cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
}

static void make_context_of(struct al_canvas *canvas, const struct al_figure *figure)
{
	const struct al_box page = {0, 0, canvas->width_pt, canvas->height_pt};

	canvas->surface = make_surface(canvas, figure);
	canvas->cr = cairo_create(canvas->surface);
	cairo_set_antialias(canvas->cr, CAIRO_ANTIALIAS_GRAY);
	/* In units of the surface; readers magnify what has no pixels. */
	cairo_set_tolerance(canvas->cr, canvas->format == AL_FIGURE_PNG ? 0.1 : 0.01);
	al_canvas_color(canvas, al_color_white); /* as paper is; a web page need not be */
	if (canvas->format == AL_FIGURE_SVG)
		al_canvas_fill_box(canvas, &page);
	if (canvas->format == AL_FIGURE_PNG) {
		cairo_paint(canvas->cr);
		cairo_scale(canvas->cr, pixels_per_pt, pixels_per_pt);
	}
}

/* A context that follows no setting of the desktop, the environment or the surface. */
static PangoContext *make_context(PangoFontMap *map)
{
	PangoContext *context = pango_font_map_create_context(map);
	cairo_font_options_t *options = cairo_font_options_create();

	cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	pango_cairo_context_set_font_options(context, options);
	cairo_font_options_destroy(options);
	pango_cairo_context_set_resolution(context, 72);
	pango_context_set_round_glyph_positions(context, FALSE);
	pango_context_set_language(context, pango_language_from_string("en"));
	pango_context_set_base_dir(context, PANGO_DIRECTION_LTR);
	return context;
}

static const char default_family[] = "DejaVu Sans";

/* A family is used where it is installed, and not what a system takes in its place. */
static bool is_installed(PangoFontFamily *const *installed, int n, const char *family)
{
	for (int i = 0; i < n; i++)
		if (g_ascii_strcasecmp(pango_font_family_get_name(installed[i]), family) == 0)
			return true;
	return false;
}

static void choose_family(struct al_canvas *canvas, PangoFontMap *map,
	const struct al_lettering *lettering)
{
	PangoFontFamily **installed = NULL;
	const char *family = default_family;
	int n = 0;

	if (lettering->n_families > 0)
		pango_font_map_list_families(map, &installed, &n);
	for (size_t i = 0; i < lettering->n_families && family == default_family; i++)
		if (is_installed(installed, n, lettering->families[i]))
			family = lettering->families[i];
	g_free(installed);
	g_strlcpy(canvas->family, family, sizeof(canvas->family));
}

static void choose_sizes(struct al_canvas *canvas, const struct al_lettering *lettering)
{
	for (size_t i = 0; i < AL_N_FONTS; i++) {
		const double wanted = i == AL_FONT_TICK ? lettering->tick_pt : lettering->title_pt;
		canvas->sizes_pt[i] = wanted > 0 ? wanted : fonts[i].size_pt;
	}
}

static PangoLayout *make_layout(const struct al_canvas *canvas, PangoContext *context,
	enum al_font font)
{
	PangoLayout *layout = pango_layout_new(context);
	PangoFontDescription *description = pango_font_description_new();

	pango_font_description_set_family(description, canvas->family);
	pango_font_description_set_absolute_size(description, canvas->sizes_pt[font] * PANGO_SCALE);
	pango_font_description_set_weight(description, fonts[font].weight);
	pango_layout_set_font_description(layout, description);
	pango_font_description_free(description);
	pango_layout_set_auto_dir(layout, FALSE);
	pango_layout_set_single_paragraph_mode(layout, TRUE);
	return layout;
}

/* Other families have their figures above or below the middle of a line, where ticks are. */
static double rise_of(PangoLayout *layout)
{
	PangoRectangle ink, line;

	pango_layout_set_text(layout, "0", -1);
	pango_layout_get_extents(layout, &ink, &line);
	return (ink.y + ink.height / 2.0 - line.y - line.height / 2.0) / PANGO_SCALE;
}

/* A font map of its own costs a canvas about a millisecond, and nothing is left behind. */
static void make_fonts(struct al_canvas *canvas, const struct al_lettering *lettering)
{
	PangoFontMap *map = pango_cairo_font_map_new_for_font_type(CAIRO_FONT_TYPE_FT);
	PangoContext *context = make_context(map);

	choose_family(canvas, map, lettering);
	choose_sizes(canvas, lettering);
	for (size_t i = 0; i < AL_N_FONTS; i++) {
		canvas->layouts[i] = make_layout(canvas, context, (enum al_font)i);
		if (strcmp(canvas->family, default_family) != 0)
			canvas->rises_pt[i] = rise_of(canvas->layouts[i]);
	}
	g_object_unref(context);
	g_object_unref(map);
}

static bool check_size(double size_pt, const char *what, struct al_error *err)
{
	if (size_pt >= LEAST_PT && size_pt <= MOST_PT)
		return true;
	return al_fail(err, AL_EINPUT, "a figure's %s of %g pt, expected %d to %d", what, size_pt,
		LEAST_PT, MOST_PT);
}

static bool check_status(cairo_status_t status, struct al_error *err)
{
	if (status == CAIRO_STATUS_SUCCESS)
		return true;
	return al_fail(err, AL_ESYSTEM, "drawing failed: %s", cairo_status_to_string(status));
}

bool al_canvas_begin(struct al_canvas *canvas, const struct al_figure *figure, double height_pt,
	enum al_figure_format format, struct al_text *out, struct al_error *err)
{
	*canvas = (struct al_canvas){.format = format, .out = out, .height_pt = height_pt};
	canvas->width_pt = figure->width_pt != 0 ? figure->width_pt : AL_FIGURE_COLUMN_PT;
	if (!check_size(canvas->width_pt, "width", err)
		|| !check_size(canvas->height_pt, "height", err))
		return false;
	canvas->title = figure->title ? figure->title : figure->id;
	al_svg_begin(&canvas->svg);
	make_context_of(canvas, figure);
	make_fonts(canvas, &figure->lettering);
	return check_status(cairo_status(canvas->cr), err);
}

static bool end_pdf(struct al_canvas *canvas, struct al_error *err)
{
	cairo_surface_finish(canvas->surface);
	al_encode_pdf_date(canvas->out);
	return check_status(cairo_surface_status(canvas->surface), err);
}

static void end_svg(struct al_canvas *canvas)
{
	struct al_text title, levels;

	al_text_init(&title);
	al_text_init(&levels);
	al_typeset(canvas->title, &title, &levels);
	al_svg_write(&canvas->svg,
		&(struct al_svg_page){canvas->width_pt, canvas->height_pt, title.data,
			canvas->family},
		canvas->out);
	al_text_finish(&title);
	al_text_finish(&levels);
}

bool al_canvas_end(struct al_canvas *canvas, struct al_error *err)
{
	if (!check_status(cairo_status(canvas->cr), err))
		return false;
	if (canvas->format == AL_FIGURE_PDF)
		return end_pdf(canvas, err);
	if (canvas->format == AL_FIGURE_SVG) {
		end_svg(canvas);
		return true;
	}
	cairo_surface_flush(canvas->surface);
	return al_encode_png(canvas->surface, pixels_per_pt, canvas->out, err);
}

void al_canvas_finish(struct al_canvas *canvas)
{
	for (size_t i = 0; i < AL_N_FONTS; i++)
		if (canvas->layouts[i])
			g_object_unref(canvas->layouts[i]);
	al_svg_finish(&canvas->svg);
	cairo_destroy(canvas->cr);
	cairo_surface_destroy(canvas->surface);
	*canvas = (struct al_canvas){0};
}

/* ---- shapes ---- */

void al_canvas_glass(struct al_canvas *canvas, struct al_color color, double alpha)
{
	canvas->color = color;
	canvas->alpha = alpha;
	cairo_set_source_rgba(canvas->cr, color.red, color.green, color.blue, alpha);
}

void al_canvas_color(struct al_canvas *canvas, struct al_color color)
{
	al_canvas_glass(canvas, color, 1);
}

static void paint(struct al_canvas *canvas, bool is_stroke)
{
	if (canvas->format == AL_FIGURE_SVG)
		al_svg_add_path(&canvas->svg, canvas->cr,
			&(struct al_svg_paint){canvas->color, canvas->alpha, is_stroke});
	else if (is_stroke)
		cairo_stroke_preserve(canvas->cr);
	else
		cairo_fill_preserve(canvas->cr);
}

void al_canvas_fill_preserve(struct al_canvas *canvas)
{
	paint(canvas, false);
}

void al_canvas_stroke_preserve(struct al_canvas *canvas)
{
	paint(canvas, true);
}

void al_canvas_fill(struct al_canvas *canvas)
{
	paint(canvas, false);
	cairo_new_path(canvas->cr);
}

void al_canvas_stroke(struct al_canvas *canvas)
{
	paint(canvas, true);
	cairo_new_path(canvas->cr);
}

static void trace_box(struct al_canvas *canvas, const struct al_box *box)
{
	cairo_rectangle(canvas->cr, box->left, box->top, box->right - box->left,
		box->bottom - box->top);
}

void al_canvas_fill_box(struct al_canvas *canvas, const struct al_box *box)
{
	trace_box(canvas, box);
	al_canvas_fill(canvas);
}

void al_canvas_begin_clip(struct al_canvas *canvas, const struct al_box *box)
{
	cairo_save(canvas->cr);
	if (canvas->format == AL_FIGURE_SVG) {
		al_svg_begin_clip(&canvas->svg, box->left, box->top, box->right - box->left,
			box->bottom - box->top);
		return;
	}
	trace_box(canvas, box);
	cairo_clip(canvas->cr);
}

void al_canvas_end_clip(struct al_canvas *canvas)
{
	if (canvas->format == AL_FIGURE_SVG)
		al_svg_end_clip(&canvas->svg);
	cairo_restore(canvas->cr);
}

void al_canvas_line(struct al_canvas *canvas, double x0, double y0, double x1, double y1,
	double width_pt, struct al_color color)
{
	al_canvas_color(canvas, color);
	cairo_set_line_width(canvas->cr, width_pt);
	cairo_move_to(canvas->cr, x0, y0);
	cairo_line_to(canvas->cr, x1, y1);
	al_canvas_stroke(canvas);
}

/* ---- text ---- */

static PangoAttribute *between(PangoAttribute *attribute, size_t from, size_t to)
{
	attribute->start_index = (guint)from;
	attribute->end_index = (guint)to;
	return attribute;
}

/* What is lower or higher is smaller, too. */
static PangoAttrList *list_levels(const struct al_text *levels, double size_pt)
{
	PangoAttrList *list = pango_attr_list_new();

	for (size_t i = 0; i < levels->length; i++) {
		const bool is_lower = levels->data[i] == AL_LEVEL_LOWER;
		if (levels->data[i] == AL_LEVEL_LINE)
			continue;
		pango_attr_list_insert(list,
			between(pango_attr_scale_new(AL_LEVEL_SIZE), i, i + 1));
		pango_attr_list_insert(list,
			between(pango_attr_rise_new((int)(size_pt * PANGO_SCALE
					* (is_lower ? -AL_LEVEL_LOWERED : AL_LEVEL_RAISED))),
				i, i + 1));
	}
	return list;
}

/* The layout set to the label's text, and the text's logical rectangle in pango's units; `levels`
 * gets those of the bytes. */
static PangoLayout *shape(struct al_canvas *canvas, const struct al_label *label,
	struct al_text *levels, PangoRectangle *extent)
{
	PangoLayout *layout = canvas->layouts[label->font];
	char *valid = g_utf8_make_valid(label->text, -1); /* pango would print a warning */
	struct al_text plain;

	al_text_init(&plain);
	al_text_init(levels);
	al_typeset(valid, &plain, levels);
	g_free(valid);
	pango_layout_set_width(layout,
		label->wrap_pt > 0 ? (int)(label->wrap_pt * PANGO_SCALE) : -1);
	pango_layout_set_alignment(layout,
		label->align == AL_ALIGN_CENTER ? PANGO_ALIGN_CENTER : PANGO_ALIGN_LEFT);
	pango_layout_set_text(layout, plain.data, -1);
	PangoAttrList *list = list_levels(levels, canvas->sizes_pt[label->font]);
	pango_layout_set_attributes(layout, list);
	pango_attr_list_unref(list);
	pango_layout_get_extents(layout, NULL, extent);
	al_text_finish(&plain);
	return layout;
}

struct al_label al_tick_label(const char *text)
{
	return (struct al_label){.text = text, .font = AL_FONT_TICK, .color = al_color_ink};
}

static double width_of(struct al_canvas *canvas, const char *text)
{
	const struct al_label label = al_tick_label(text);
	double width, height;

	al_label_measure(canvas, &label, &width, &height);
	return width;
}

double al_canvas_tick_width(struct al_canvas *canvas, const char *text)
{
	double width = 0;

	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c >= 128 || c == '$')
			return width_of(canvas, text);
		if (canvas->advances_pt[c] == 0)
			canvas->advances_pt[c] = width_of(canvas, (const char[]){*p, '\0'});
		width += canvas->advances_pt[c];
	}
	return width;
}

void al_label_measure(struct al_canvas *canvas, const struct al_label *label, double *width_pt,
	double *height_pt)
{
	PangoRectangle extent;
	struct al_text levels;

	shape(canvas, label, &levels, &extent);
	al_text_finish(&levels);
	double along = (double)extent.width / PANGO_SCALE;
	double across = (double)extent.height / PANGO_SCALE;
	*width_pt = label->is_vertical ? across : along;
	*height_pt = label->is_vertical ? along : across;
}

double al_line_height(struct al_canvas *canvas, enum al_font font)
{
	const struct al_label label = {.text = "0", .font = font};
	double width, height;

	al_label_measure(canvas, &label, &width, &height);
	return height;
}

void al_label_put(struct al_canvas *canvas, struct al_label *label, double x, double y,
	double across, double down)
{
	double width, height;

	al_label_measure(canvas, label, &width, &height);
	label->box = al_box_at(width, height, x, y, across, down);
}

static void show(struct al_canvas *canvas, const struct al_label *label, PangoLayout *layout,
	const struct al_text *levels)
{
	if (canvas->format == AL_FIGURE_SVG)
		al_svg_add_text(&canvas->svg, canvas->cr,
			&(struct al_svg_text){.layout = layout,
				.levels = levels->data,
				.size_pt = canvas->sizes_pt[label->font],
				.is_bold = fonts[label->font].weight == PANGO_WEIGHT_BOLD,
				.color = label->color});
	else
		pango_cairo_show_layout(canvas->cr, layout);
}

void al_label_draw(struct al_canvas *canvas, const struct al_label *label)
{
	PangoRectangle extent;
	struct al_text levels;
	PangoLayout *layout = shape(canvas, label, &levels, &extent);

	al_canvas_color(canvas, label->color);
	cairo_save(canvas->cr);
	cairo_translate(canvas->cr, label->box.left,
		label->is_vertical ? label->box.bottom : label->box.top);
	if (label->is_vertical)
		cairo_rotate(canvas->cr, -G_PI_2);
	cairo_translate(canvas->cr, 0, -canvas->rises_pt[label->font]);
	cairo_move_to(canvas->cr, -(double)extent.x / PANGO_SCALE, -(double)extent.y / PANGO_SCALE);
	show(canvas, label, layout, &levels);
	cairo_restore(canvas->cr);
	cairo_new_path(canvas->cr);
	al_text_finish(&levels);
}
