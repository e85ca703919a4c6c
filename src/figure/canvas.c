/* Canvas: cairo surfaces that write into memory, and shapes on them; SVG by svg.c, of what cairo
 * would draw. */
#include "figure/canvas.h"

#include <cairo-pdf.h>
#include <png.h>

static const double pixels_per_pt = 300.0 / 72.0;

const struct al_color al_color_ink = {0.13, 0.13, 0.13, false};
const struct al_color al_color_axis = {0.30, 0.30, 0.30, false};
const struct al_color al_color_grid = {0.90, 0.90, 0.90, false};
const struct al_color al_color_leader = {0.62, 0.62, 0.62, false};
const struct al_color al_color_white = {1, 1, 1, false};

bool al_box_meets(const struct al_box *a, const struct al_box *b)
{
	return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Liang & Barsky 1984. */
bool al_segment_clip(struct al_segment *s, const struct al_box *box)
{
	double dx = s->x1 - s->x0, dy = s->y1 - s->y0;
	const double directions[] = {-dx, dx, -dy, dy};
	const double distances[] = {s->x0 - box->left, box->right - s->x0, s->y0 - box->top,
		box->bottom - s->y0};
	double enter = 0, leave = 1;

	for (int side = 0; side < 4; side++) {
		if (directions[side] == 0 && distances[side] < 0)
			return false;
		if (directions[side] < 0)
			enter = fmax(enter, distances[side] / directions[side]);
		else if (directions[side] > 0)
			leave = fmin(leave, distances[side] / directions[side]);
	}
	if (enter > leave)
		return false;
	*s = (struct al_segment){enter > 0 ? s->x0 + enter * dx : s->x0,
		enter > 0 ? s->y0 + enter * dy : s->y0, leave < 1 ? s->x0 + leave * dx : s->x1,
		leave < 1 ? s->y0 + leave * dy : s->y1};
	return true;
}

struct al_box al_box_at(struct al_size size, double x, double y, double across, double down)
{
	double left = x - across * size.width_pt, top = y - down * size.height_pt;

	return (struct al_box){left, top, left + size.width_pt, top + size.height_pt};
}

static cairo_status_t append(void *text, const unsigned char *bytes, unsigned int length)
{
	al_text_add_bytes(text, (const char *)bytes, length);
	return CAIRO_STATUS_SUCCESS;
}

static cairo_surface_t *make_pdf(struct al_canvas *canvas)
{
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(append, canvas->out,
		canvas->width_pt, canvas->height_pt);

	cairo_pdf_surface_restrict_to_version(surface, CAIRO_PDF_VERSION_1_5);
	/* Without a date of ours cairo writes the time of day. */
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE,
		"2000-01-01T00:00:00Z");
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, canvas->title);
	return surface;
}

static cairo_surface_t *make_png(const struct al_canvas *canvas)
{
	return cairo_image_surface_create(CAIRO_FORMAT_RGB24,
		(int)lround(canvas->width_pt * pixels_per_pt),
		(int)lround(canvas->height_pt * pixels_per_pt));
}

static cairo_surface_t *make_surface(struct al_canvas *canvas)
{
	if (canvas->format == AL_FIGURE_PDF)
		return make_pdf(canvas);
	return canvas->format == AL_FIGURE_PNG
		? make_png(canvas)
		: cairo_recording_surface_create(CAIRO_CONTENT_COLOR, NULL);
}

static void make_context_of(struct al_canvas *canvas)
{
	const struct al_box page = {0, 0, canvas->width_pt, canvas->height_pt};

	canvas->surface = make_surface(canvas);
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

static bool check_size(double size_pt, const char *what, struct al_error *err)
{
	if (size_pt >= AL_FIGURE_LEAST_PT && size_pt <= AL_FIGURE_MOST_PT)
		return true;
	return al_fail(err, AL_EINPUT, "a figure's %s is %g pt, expected %d to %d", what, size_pt,
		AL_FIGURE_LEAST_PT, AL_FIGURE_MOST_PT);
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
	al_text_init(&canvas->svg);
	make_context_of(canvas);
	return check_status(cairo_status(canvas->cr), err);
}

/* ---- PNG: one that knows its resolution, and is quick to write ---- */

static void append_png(png_structp png, png_bytep bytes, size_t length)
{
	al_text_add_bytes(png_get_io_ptr(png), (const char *)bytes, length);
}

static void flush(png_structp png)
{
	(void)png;
}

static void refuse(png_structp png, png_const_charp message)
{
	al_fail(png_get_error_ptr(png), AL_ESYSTEM, "cannot encode the PNG: %s", message);
	png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp message)
{
	(void)png;
	(void)message;
}

/* Flat colors compress best without a filter, and trying all of them would double the time. */
static void describe(png_structp png, png_infop info, cairo_surface_t *image)
{
	png_uint_32 per_meter = (png_uint_32)lround(pixels_per_pt * 72 / 0.0254);

	png_set_IHDR(png, info, (png_uint_32)cairo_image_surface_get_width(image),
		(png_uint_32)cairo_image_surface_get_height(image), 8, PNG_COLOR_TYPE_RGB,
		PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_set_pHYs(png, info, per_meter, per_meter, PNG_RESOLUTION_METER);
	png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
	png_set_compression_level(png, 5);
}

/* A pixel of RGB24 is 0x00RRGGBB in the machine's byte order. */
enum {
	ORDER = G_BYTE_ORDER == G_LITTLE_ENDIAN
		? PNG_TRANSFORM_BGR | PNG_TRANSFORM_STRIP_FILLER_AFTER
		: PNG_TRANSFORM_STRIP_FILLER_BEFORE
};

static bool encode_png(cairo_surface_t *image, struct al_text *out, struct al_error *err)
{
	const int height = cairo_image_surface_get_height(image);
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, err, refuse, ignore);
	png_infop info = png ? png_create_info_struct(png) : NULL;
	AL_ARENA(arena);
	png_bytepp rows = al_new_array(&arena, png_bytep, (size_t)height);

	if (!info)
		al_fail(err, AL_ESYSTEM, "cannot encode the PNG: out of memory");
	if (!info || setjmp(png_jmpbuf(png))) {
		png_destroy_write_struct(&png, &info);
		return false;
	}
	for (int y = 0; y < height; y++)
		rows[y] = cairo_image_surface_get_data(image)
			+ y * (ptrdiff_t)cairo_image_surface_get_stride(image);
	png_set_write_fn(png, out, append_png, flush);
	describe(png, info, image);
	png_set_rows(png, info, rows);
	png_write_png(png, info, ORDER, NULL);
	png_destroy_write_struct(&png, &info);
	return true;
}

/* ---- PDF ---- */

/* cairo 1.16 leaves out the "D:" before a date that it was given (ISO 32000-1, 7.9.4): a date of
 * the same length, without its seconds, so that no offset in the file changes. */
static void repair_date(struct al_text *pdf)
{
	static const char found[] = "/CreationDate (20000101000000Z)";
	static const char wanted[] = "/CreationDate (D:200001010000Z)";
	size_t length = strlen(found);

	for (size_t i = 0; i + length <= pdf->length; i++)
		if (memcmp(pdf->data + i, found, length) == 0)
			memcpy(pdf->data + i, wanted, length);
}

static bool end_pdf(struct al_canvas *canvas, struct al_error *err)
{
	cairo_surface_finish(canvas->surface);
	repair_date(canvas->out);
	return check_status(cairo_surface_status(canvas->surface), err);
}

bool al_canvas_end(struct al_canvas *canvas, struct al_error *err)
{
	if (!check_status(cairo_status(canvas->cr), err))
		return false;
	if (canvas->format == AL_FIGURE_PDF)
		return end_pdf(canvas, err);
	if (canvas->format == AL_FIGURE_SVG) {
		al_canvas_write_svg(canvas);
		return true;
	}
	cairo_surface_flush(canvas->surface);
	return encode_png(canvas->surface, canvas->out, err);
}

void al_canvas_finish(struct al_canvas *canvas)
{
	for (size_t i = 0; i < AL_N_FONTS; i++)
		if (canvas->layouts[i])
			g_object_unref(canvas->layouts[i]);
	al_text_finish(&canvas->svg);
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

void al_canvas_paint(struct al_canvas *canvas, bool is_stroke)
{
	if (canvas->format == AL_FIGURE_SVG)
		al_canvas_add_svg_path(canvas, is_stroke);
	else if (is_stroke)
		cairo_stroke_preserve(canvas->cr);
	else
		cairo_fill_preserve(canvas->cr);
}

void al_canvas_fill(struct al_canvas *canvas)
{
	al_canvas_paint(canvas, false);
	cairo_new_path(canvas->cr);
}

void al_canvas_stroke(struct al_canvas *canvas)
{
	al_canvas_paint(canvas, true);
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

void al_canvas_stroke_box(struct al_canvas *canvas, const struct al_box *box, double width_pt,
	struct al_color color)
{
	al_canvas_color(canvas, color);
	cairo_set_line_width(canvas->cr, width_pt);
	trace_box(canvas, box);
	al_canvas_stroke(canvas);
}

void al_canvas_begin_clip(struct al_canvas *canvas, const struct al_box *box)
{
	cairo_save(canvas->cr);
	if (canvas->format == AL_FIGURE_SVG) {
		al_canvas_begin_svg_clip(canvas, box);
		return;
	}
	trace_box(canvas, box);
	cairo_clip(canvas->cr);
}

void al_canvas_end_clip(struct al_canvas *canvas)
{
	if (canvas->format == AL_FIGURE_SVG)
		al_text_add(&canvas->svg, "</svg>\n");
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
