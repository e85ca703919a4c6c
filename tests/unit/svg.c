/* Reads a figure's SVG tag by tag. */
#include "svg.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_SAMPLES = 16 };

/* Of the font, as shares of its size. */
static const double ascent = 0.76, descent = 0.24;

struct reader {
	struct svg *svg;
	const char *tag, *end; /* the tag being read: behind '<', at '>' */
	size_t depth; /* of <svg> */
};

static const struct svg_box nothing = {INFINITY, INFINITY, -INFINITY, -INFINITY};

static void include(struct svg_box *box, struct svg_point p)
{
	box->left = fmin(box->left, p.x);
	box->right = fmax(box->right, p.x);
	box->top = fmin(box->top, p.y);
	box->bottom = fmax(box->bottom, p.y);
}

/* ---- attributes ---- */

/* The value of ` name="..."` in the tag, in the arena; NULL where absent. */
static const char *attribute(const struct reader *r, const char *name)
{
	size_t length = strlen(name);

	for (const char *p = r->tag; p + length + 3 < r->end; p++)
		if (isspace((unsigned char)p[0]) && strncmp(p + 1, name, length) == 0
			&& strncmp(p + 1 + length, "=\"", 2) == 0) {
			const char *value = p + length + 3;
			return al_strndup(&r->svg->arena, value, strcspn(value, "\""));
		}
	return NULL;
}

static double number(const struct reader *r, const char *name)
{
	const char *value = attribute(r, name);

	return value ? strtod(value, NULL) : 0;
}

static struct svg_color color(const struct reader *r, const char *name)
{
	const char *value = attribute(r, name);

	if (!value || *value != '#')
		return (struct svg_color){-1, -1, -1};
	const long all = strtol(value + 1, NULL, 16);
	return (struct svg_color){(int)(all >> 16), (int)(all >> 8 & 0xFF), (int)(all & 0xFF)};
}

/* ---- paths ---- */

struct path {
	struct svg_point *points;
	size_t n, room;
	struct svg_box box;
	struct svg_point start, at; /* of the part being read; the pen */
};

static void add_point(struct reader *r, struct path *path, struct svg_point point)
{
	path->points = al_grow(&r->svg->arena, path->points, path->n, &path->room,
		sizeof(*path->points));
	path->points[path->n++] = point;
	path->at = point;
	include(&path->box, point);
}

static double next_number(const char **p)
{
	char *end;
	const double value = strtod(*p, &end);

	*p = end;
	return value;
}

/* A step from where the pen is. */
static struct svg_point next_step(const struct path *path, const char **p)
{
	const double dx = next_number(p), dy = next_number(p);

	return (struct svg_point){path->at.x + dx, path->at.y + dy};
}

static double bezier(double a, double b, double c, double d, double t)
{
	double u = 1 - t;

	return u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d;
}

static void add_curve(struct reader *r, struct path *path, const char **p)
{
	const struct svg_point a = path->at, b = next_step(path, p), c = next_step(path, p),
			       d = next_step(path, p);

	for (int i = 1; i < CURVE_SAMPLES; i++) {
		double t = (double)i / CURVE_SAMPLES;
		include(&path->box,
			(struct svg_point){bezier(a.x, b.x, c.x, d.x, t),
				bezier(a.y, b.y, c.y, d.y, t)});
	}
	add_point(r, path, d);
}

static bool read_command(struct reader *r, struct path *path, char command, const char **d)
{
	if (command == 'M') {
		const double x = next_number(d), y = next_number(d);
		path->start = (struct svg_point){x, y};
		add_point(r, path, path->start);
	} else if (command == 'l') {
		add_point(r, path, next_step(path, d));
	} else if (command == 'h') {
		add_point(r, path, (struct svg_point){path->at.x + next_number(d), path->at.y});
	} else if (command == 'v') {
		add_point(r, path, (struct svg_point){path->at.x, path->at.y + next_number(d)});
	} else if (command == 'c') {
		add_curve(r, path, d);
	} else {
		path->at = path->start;
	}
	return command && strchr("Mlhvcz", command) && path->n > 0;
}

static bool read_path(struct reader *r, const char *d, struct path *path)
{
	*path = (struct path){.box = nothing};
	while (d && *d) {
		const char command = *d++;
		if (!read_command(r, path, command, &d))
			return false;
	}
	return path->n > 0;
}

/* A closed path may come back to its start. */
static void drop_repeated_end(struct path *path)
{
	const struct svg_point *first = path->points, *last = path->points + path->n - 1;

	while (path->n > 1 && first->x == last->x && first->y == last->y) {
		path->n--;
		last--;
	}
}

static bool read_shape(struct reader *r)
{
	struct path path;

	if (!read_path(r, attribute(r, "d"), &path))
		return false;
	drop_repeated_end(&path);
	r->svg->shapes = al_grow(&r->svg->arena, r->svg->shapes, r->svg->n_shapes,
		&r->svg->shapes_room, sizeof(*r->svg->shapes));
	r->svg->shapes[r->svg->n_shapes++] = (struct svg_shape){
		.fill = color(r, "fill"),
		.stroke = color(r, "stroke"),
		.stroke_width = number(r, "stroke-width"),
		.is_dashed = attribute(r, "stroke-dasharray") != NULL,
		.points = path.points,
		.n_points = path.n,
		.box = path.box,
	};
	return true;
}

/* ---- text ---- */

/* x' = a*x + c*y + e, y' = b*x + d*y + f */
static struct svg_point turned(const double m[6], double x, double y)
{
	return (struct svg_point){m[0] * x + m[2] * y + m[4], m[1] * x + m[3] * y + m[5]};
}

static void read_matrix(const char *text, double m[6])
{
	if (!text)
		return;
	text += strlen("matrix(");
	for (size_t i = 0; i < 6; i++)
		m[i] = next_number(&text);
}

static bool read_text(struct reader *r)
{
	const double x = number(r, "x"), y = number(r, "y"), size = number(r, "font-size");
	const char *stop = strstr(r->end, "</text>");
	double m[6] = {1, 0, 0, 1, 0, 0};
	struct svg_text text = {.color = color(r, "fill"), .box = nothing};

	if (!stop || size <= 0 || !attribute(r, "textLength"))
		return false;
	read_matrix(attribute(r, "transform"), m);
	include(&text.box, turned(m, x, y - ascent * size));
	include(&text.box, turned(m, x + number(r, "textLength"), y + descent * size));
	text.text = al_strndup(&r->svg->arena, r->end + 1, (size_t)(stop - r->end - 1));
	r->svg->texts = al_grow(&r->svg->arena, r->svg->texts, r->svg->n_texts, &r->svg->texts_room,
		sizeof(*r->svg->texts));
	r->svg->texts[r->svg->n_texts++] = text;
	return true;
}

static bool is_tag(const struct reader *r, const char *name)
{
	size_t length = strlen(name);

	return strncmp(r->tag, name, length) == 0
		&& (isspace((unsigned char)r->tag[length]) || strchr("/>", r->tag[length]));
}

static bool read_tag(struct reader *r)
{
	if (is_tag(r, "svg")) {
		if (r->depth++ == 0) {
			r->svg->width = number(r, "width");
			r->svg->height = number(r, "height");
		}
	} else if (is_tag(r, "/svg")) {
		return r->depth-- > 0;
	} else if (is_tag(r, "path")) {
		return read_shape(r);
	} else if (is_tag(r, "text")) {
		return read_text(r);
	}
	return true;
}

bool svg_read(struct svg *svg, const char *text)
{
	struct reader r = {.svg = svg};

	*svg = (struct svg){0};
	al_arena_init(&svg->arena);
	while ((r.tag = strchr(text, '<'))) {
		r.tag++;
		r.end = strchr(r.tag, '>');
		if (!r.end || !read_tag(&r))
			return false;
		text = r.end;
	}
	return r.depth == 0 && svg->width > 0;
}

void svg_finish(struct svg *svg)
{
	al_arena_finish(&svg->arena);
}

bool svg_color_is(struct svg_color c, int red, int green, int blue)
{
	return c.red == red && c.green == green && c.blue == blue;
}

bool svg_boxes_meet(const struct svg_box *a, const struct svg_box *b)
{
	return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

struct svg_point svg_center(const struct svg_box *box)
{
	return (struct svg_point){(box->left + box->right) / 2, (box->top + box->bottom) / 2};
}
