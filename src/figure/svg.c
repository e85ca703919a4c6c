/* SVG: shapes as paths, text as text, colors as CSS variables with a set for dark pages.
 *
 * Programs that don't know CSS find each color in the attribute of its shape; those that do take
 * the variable of that color ("--c0072b2"), which a page may set again. Text has the length that
 * was measured, so that another font doesn't make it meet its neighbors. Nothing has an id:
 * several figures may be in one page. */
#include "figure/canvas.h"

#include "figure/typeset.h"

/* The fallback where the font family isn't installed. */
static const char families_behind[] = "Verdana, sans-serif";

/* ---- numbers and colors ---- */

/* Hundredths of a point. */
static long hundredths(double value)
{
	return lround(value * 100);
}

/* "12.3", "-0.05", "4": as short as hundredths can be written. */
static void add_number(struct al_text *out, long value)
{
	const int digits = value % 100 == 0 ? 0 : value % 10 == 0 ? 1 : 2;

	al_text_addf(out, "%.*f", digits, (double)value / 100);
}

static void add_attribute(struct al_text *out, const char *name, double value)
{
	al_text_addf(out, " %s=\"", name);
	add_number(out, hundredths(value));
	al_text_add(out, "\"");
}

/* In capitals where it encodes a value: no rule for a page's colors finds it then. */
static void add_hex(struct al_text *out, struct al_color c)
{
	al_text_addf(out, c.is_value ? "%02lX%02lX%02lX" : "%02lx%02lx%02lx", lround(c.red * 255),
		lround(c.green * 255), lround(c.blue * 255));
}

static void list_color(struct al_canvas *canvas, struct al_color color)
{
	for (size_t i = 0; i < canvas->n_colors; i++) {
		const struct al_color known = canvas->colors[i];
		if (known.red == color.red && known.green == color.green
			&& known.blue == color.blue)
			return;
	}
	if (!color.is_value && canvas->n_colors < AL_MOST_COLORS)
		canvas->colors[canvas->n_colors++] = color;
}

static void add_color(struct al_canvas *canvas, const char *name, struct al_color color)
{
	list_color(canvas, color);
	al_text_addf(&canvas->svg, " %s=\"#", name);
	add_hex(&canvas->svg, color);
	al_text_add(&canvas->svg, "\"");
}

/* ---- paths ---- */

/* Where the pen is, in hundredths: steps from there never add up their roundings. */
struct pen {
	struct al_text *out;
	cairo_t *cr;
	long x, y;
};

static void place(const struct pen *pen, const cairo_path_data_t *point, long out[2])
{
	double x = point->point.x, y = point->point.y;

	cairo_user_to_device(pen->cr, &x, &y);
	out[0] = hundredths(x);
	out[1] = hundredths(y);
}

/* A space is needed where no minus separates two numbers. */
static void add_next(struct al_text *out, long value)
{
	if (value >= 0)
		al_text_add(out, " ");
	add_number(out, value);
}

static void add_line(struct pen *pen, const long to[2])
{
	const long dx = to[0] - pen->x, dy = to[1] - pen->y;

	al_text_add(pen->out, dy == 0 ? "h" : dx == 0 ? "v" : "l");
	add_number(pen->out, dy == 0 || dx != 0 ? dx : dy);
	if (dx != 0 && dy != 0)
		add_next(pen->out, dy);
}

static void add_curve(struct pen *pen, const cairo_path_data_t *points)
{
	long at[2];

	al_text_add(pen->out, "c");
	for (int i = 0; i < 3; i++) {
		place(pen, &points[i], at);
		(i ? add_next : add_number)(pen->out, at[0] - pen->x);
		add_next(pen->out, at[1] - pen->y);
	}
}

static void add_segment(struct pen *pen, const cairo_path_data_t *data)
{
	long at[2] = {pen->x, pen->y};

	if (data->header.length > 1)
		place(pen, &data[data->header.length - 1], at);
	if (data->header.type == CAIRO_PATH_MOVE_TO) {
		al_text_add(pen->out, "M");
		add_number(pen->out, at[0]);
		add_next(pen->out, at[1]);
	} else if (data->header.type == CAIRO_PATH_LINE_TO) {
		add_line(pen, at);
	} else if (data->header.type == CAIRO_PATH_CURVE_TO) {
		add_curve(pen, data + 1);
	} else {
		al_text_add(pen->out, "z");
	}
	pen->x = at[0];
	pen->y = at[1];
}

/* cairo puts a move behind each closed path; what only moves isn't drawn. */
static bool is_drawn(const cairo_path_t *path, int i)
{
	const int next = i + path->data[i].header.length;

	return path->data[i].header.type != CAIRO_PATH_MOVE_TO
		|| (next < path->num_data && path->data[next].header.type != CAIRO_PATH_MOVE_TO);
}

static void add_path_data(struct al_canvas *canvas, const cairo_path_t *path)
{
	struct pen pen = {.out = &canvas->svg, .cr = canvas->cr};

	for (int i = 0; i < path->num_data; i += path->data[i].header.length)
		if (is_drawn(path, i))
			add_segment(&pen, &path->data[i]);
}

enum { MOST_DASHES = 8 };

static void add_stroke(struct al_canvas *canvas)
{
	double dashes[MOST_DASHES];
	const int n = cairo_get_dash_count(canvas->cr);

	al_text_add(&canvas->svg, " fill=\"none\"");
	add_color(canvas, "stroke", canvas->color);
	add_attribute(&canvas->svg, "stroke-width", cairo_get_line_width(canvas->cr));
	if (n == 0 || n > MOST_DASHES)
		return;
	cairo_get_dash(canvas->cr, dashes, NULL);
	al_text_add(&canvas->svg, " stroke-dasharray=\"");
	for (int i = 0; i < n; i++)
		(i ? add_next : add_number)(&canvas->svg, hundredths(dashes[i]));
	al_text_add(&canvas->svg, "\"");
}

void al_canvas_add_svg_path(struct al_canvas *canvas, bool is_stroke)
{
	cairo_path_t *path = cairo_copy_path(canvas->cr);

	if (path->num_data == 0) {
		cairo_path_destroy(path);
		return;
	}
	al_text_add(&canvas->svg, "<path");
	if (is_stroke)
		add_stroke(canvas);
	else
		add_color(canvas, "fill", canvas->color);
	if (canvas->alpha < 1)
		add_attribute(&canvas->svg, "opacity", canvas->alpha);
	al_text_add(&canvas->svg, " d=\"");
	add_path_data(canvas, path);
	cairo_path_destroy(path);
	al_text_add(&canvas->svg, "\"/>\n");
}

void al_canvas_begin_svg_clip(struct al_canvas *canvas, const struct al_box *box)
{
	static const char *const names[] = {"x", "y", "width", "height"};
	const double values[] = {box->left, box->top, box->right - box->left,
		box->bottom - box->top};

	al_text_add(&canvas->svg, "<svg");
	for (int i = 0; i < 4; i++)
		add_attribute(&canvas->svg, names[i], values[i]);
	al_text_add(&canvas->svg, " viewBox=\"");
	for (int i = 0; i < 4; i++)
		(i ? add_next : add_number)(&canvas->svg, hundredths(values[i]));
	al_text_add(&canvas->svg, "\">\n");
}

/* ---- text ---- */

static void add_escaped(struct al_text *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		const char c = text[i];
		if (c == '<')
			al_text_add(out, "&lt;");
		else if (c == '>')
			al_text_add(out, "&gt;");
		else if (c == '&')
			al_text_add(out, "&amp;");
		else if ((unsigned char)c < ' ' || c == 0x7F)
			al_text_add(out, " ");
		else
			al_text_add_bytes(out, &c, 1);
	}
}

/* How far below the line a level's text is, in points. */
static double drop_of(char level, double size_pt)
{
	return level == AL_LEVEL_LOWER	  ? AL_LEVEL_LOWERED * size_pt
		: level == AL_LEVEL_UPPER ? -AL_LEVEL_RAISED * size_pt
					  : 0;
}

/* A laid out label: its text, the levels of its bytes, and its place. */
struct label_text {
	const char *all, *levels;
	double size_pt;
	bool is_bold;
	double x, y;
};

/* Pieces of one level each; dy counts from the piece before. */
static void add_pieces(struct al_canvas *canvas, const struct label_text *text, size_t from,
	size_t to)
{
	double drop = 0;

	for (size_t next; from < to; from = next) {
		const char level = text->levels[from];
		for (next = from + 1; next < to && text->levels[next] == level;)
			next++;
		const double wanted = drop_of(level, text->size_pt);
		const bool is_moved = level != AL_LEVEL_LINE || wanted != drop;
		if (is_moved) {
			al_text_add(&canvas->svg, "<tspan");
			add_attribute(&canvas->svg, "dy", wanted - drop);
			if (level != AL_LEVEL_LINE)
				add_attribute(&canvas->svg, "font-size",
					AL_LEVEL_SIZE * text->size_pt);
			al_text_add(&canvas->svg, ">");
		}
		add_escaped(&canvas->svg, text->all + from, next - from);
		if (is_moved)
			al_text_add(&canvas->svg, "</tspan>");
		drop = wanted;
	}
}

/* Where the text begins; turned or scaled text has the context's matrix. */
static void add_place(struct al_canvas *canvas, double x, double y)
{
	cairo_matrix_t m;

	cairo_get_matrix(canvas->cr, &m);
	if (m.xx != 1 || m.xy != 0) {
		al_text_addf(&canvas->svg, " transform=\"matrix(%.4g %.4g %.4g %.4g %.2f %.2f)\"",
			m.xx, m.yx, m.xy, m.yy, m.x0, m.y0);
	} else {
		x += m.x0;
		y += m.y0;
	}
	add_attribute(&canvas->svg, "x", x);
	add_attribute(&canvas->svg, "y", y);
}

static void add_line_of_text(struct al_canvas *canvas, const struct label_text *text,
	PangoLayoutIter *iter)
{
	const PangoLayoutLine *line = pango_layout_iter_get_line_readonly(iter);
	size_t from = (size_t)line->start_index, to = from + (size_t)line->length;
	PangoRectangle extent;

	while (to > from && text->all[to - 1] == ' ')
		to--;
	if (to == from)
		return;
	pango_layout_iter_get_line_extents(iter, NULL, &extent);
	al_text_add(&canvas->svg, "<text");
	add_place(canvas, text->x + (double)extent.x / PANGO_SCALE,
		text->y + (double)pango_layout_iter_get_baseline(iter) / PANGO_SCALE);
	add_attribute(&canvas->svg, "font-size", text->size_pt);
	if (text->is_bold)
		al_text_add(&canvas->svg, " font-weight=\"bold\"");
	add_attribute(&canvas->svg, "textLength", (double)extent.width / PANGO_SCALE);
	al_text_add(&canvas->svg, " lengthAdjust=\"spacingAndGlyphs\"");
	add_color(canvas, "fill", canvas->color);
	al_text_add(&canvas->svg, ">");
	add_pieces(canvas, text, from, to);
	al_text_add(&canvas->svg, "</text>\n");
}

void al_canvas_add_svg_text(struct al_canvas *canvas, const struct al_label *label,
	PangoLayout *layout, const char *levels)
{
	PangoLayoutIter *iter = pango_layout_get_iter(layout);
	struct label_text text = {.all = pango_layout_get_text(layout),
		.levels = levels,
		.size_pt = canvas->sizes_pt[label->font],
		.is_bold = label->font == AL_FONT_HEADING};

	cairo_get_current_point(canvas->cr, &text.x, &text.y);
	do {
		add_line_of_text(canvas, &text, iter);
	} while (pango_layout_iter_next_line(iter));
	pango_layout_iter_free(iter);
}

/* ---- the document ---- */

static void add_variables(const struct al_canvas *canvas, bool is_dark)
{
	struct al_text *out = canvas->out;

	al_text_add(out, "svg{");
	for (size_t i = 0; i < canvas->n_colors; i++) {
		const struct al_color c = canvas->colors[i];
		al_text_add(out, i ? ";--c" : "--c");
		add_hex(out, c);
		al_text_add(out, ":#");
		add_hex(out, is_dark ? al_color_on_dark(c) : c);
	}
	al_text_add(out, "}");
}

static void add_rules(const struct al_canvas *canvas, const char *property)
{
	struct al_text *out = canvas->out;

	for (size_t i = 0; i < canvas->n_colors; i++) {
		al_text_addf(out, "[%s=\"#", property);
		add_hex(out, canvas->colors[i]);
		al_text_addf(out, "\"]{%s:var(--c", property);
		add_hex(out, canvas->colors[i]);
		al_text_add(out, ")}\n");
	}
}

static void add_title(const struct al_canvas *canvas)
{
	AL_TEXT(title);
	AL_TEXT(levels);

	al_typeset(canvas->title, &title, &levels);
	al_text_add(canvas->out, "<title>");
	add_escaped(canvas->out, title.data, title.length);
	al_text_add(canvas->out, "</title>\n");
}

void al_canvas_write_svg(const struct al_canvas *canvas)
{
	struct al_text *out = canvas->out;

	al_text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
	al_text_addf(out, " width=\"%gpt\" height=\"%gpt\" viewBox=\"0 0 %g %g\"", canvas->width_pt,
		canvas->height_pt, canvas->width_pt, canvas->height_pt);
	al_text_addf(out, " font-family=\"%s, %s\">\n", canvas->family, families_behind);
	add_title(canvas);
	al_text_add(out, "<style>\n");
	add_variables(canvas, false);
	al_text_add(out, "\n@media(prefers-color-scheme:dark){");
	add_variables(canvas, true);
	al_text_add(out, "}\n");
	add_rules(canvas, "fill");
	add_rules(canvas, "stroke");
	al_text_add(out, "</style>\n");
	al_text_add_bytes(out, canvas->svg.data, canvas->svg.length);
	al_text_add(out, "</svg>\n");
}
