/* Reads cairo's SVG tag by tag. Up to 1.16 a glyph is a <symbol> and paint stands in style="...";
 * from 1.18 on a glyph is a <g id="glyph-..."> and paint stands in attributes of its own. */
#include "svg.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16, CURVE_SAMPLES = 16 };

/* x' = a*x + c*y + e, y' = b*x + d*y + f */
struct matrix {
	double a, b, c, d, e, f;
};

static const struct matrix identity = {1, 0, 0, 1, 0, 0};

struct glyph {
	const char *id;
	struct svg_box box;
	bool is_blank;
};

struct reader {
	struct svg *svg;
	const char *tag, *end; /* the tag being read: behind '<', at '>' */
	struct matrix matrices[MOST_DEPTH];
	size_t depth;
	const char *symbol; /* the glyph being defined, or NULL */
	size_t symbol_depth; /* of its group */
	struct glyph *glyphs;
	size_t n_glyphs, glyphs_room;
};

static const struct svg_box nothing = {INFINITY, INFINITY, -INFINITY, -INFINITY};

static void include(struct svg_box *box, struct svg_point p)
{
	box->left = fmin(box->left, p.x);
	box->right = fmax(box->right, p.x);
	box->top = fmin(box->top, p.y);
	box->bottom = fmax(box->bottom, p.y);
}

static struct svg_point apply(const struct matrix *m, struct svg_point p)
{
	return (struct svg_point){m->a * p.x + m->c * p.y + m->e, m->b * p.x + m->d * p.y + m->f};
}

static struct matrix multiply(const struct matrix *m, const struct matrix *n)
{
	return (struct matrix){m->a * n->a + m->c * n->b, m->b * n->a + m->d * n->b,
		m->a * n->c + m->c * n->d, m->b * n->c + m->d * n->d,
		m->a * n->e + m->c * n->f + m->e, m->b * n->e + m->d * n->f + m->f};
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

static struct matrix transform(const struct reader *r)
{
	const char *text = attribute(r, "transform");
	double values[6];
	char *p;

	if (!text || strncmp(text, "matrix(", 7) != 0)
		return identity;
	text += 7;
	for (size_t i = 0; i < 6; i++, text = p + (*p == ',')) {
		values[i] = strtod(text, &p);
	}
	return (struct matrix){values[0], values[1], values[2], values[3], values[4], values[5]};
}

/* The value behind "key:" in a style; a key may be the end of another ("width" of
 * "stroke-width"). */
static const char *style_value(const char *style, const char *key)
{
	for (const char *p = style; p && (p = strstr(p, key)); p++)
		if ((p == style || p[-1] == ';' || p[-1] == ' ') && p[strlen(key)] == ':')
			return p + strlen(key) + 1;
	return NULL;
}

/* A property of the tag: an attribute of its own, or in its style. */
static const char *property(const struct reader *r, const char *key)
{
	const char *own = attribute(r, key);

	return own ? own : style_value(attribute(r, "style"), key);
}

static int level(const char **p)
{
	char *end;
	double percent = strtod(*p, &end);

	*p = end + strspn(end, "%,");
	return (int)lround(percent * 255 / 100);
}

static struct svg_color color(const struct reader *r, const char *key)
{
	const char *value = property(r, key);
	struct svg_color none = {-1, -1, -1}, found;

	if (!value || strncmp(value, "rgb(", 4) != 0)
		return none;
	value += 4;
	found.red = level(&value);
	found.green = level(&value);
	found.blue = level(&value);
	return found;
}

/* ---- paths ---- */

struct path {
	struct svg_point *points;
	size_t n, room;
	struct svg_box box;
};

static struct svg_point read_point(const char **p)
{
	struct svg_point point;
	char *end;

	point.x = strtod(*p, &end);
	point.y = strtod(end, &end);
	*p = end;
	return point;
}

static void add_point(struct reader *r, struct path *path, struct svg_point point)
{
	path->points = al_grow(&r->svg->arena, path->points, path->n, &path->room,
		sizeof(*path->points));
	path->points[path->n++] = point;
	include(&path->box, point);
}

static double bezier(double a, double b, double c, double d, double t)
{
	double u = 1 - t;

	return u * u * u * a + 3 * u * u * t * b + 3 * u * t * t * c + t * t * t * d;
}

static void add_curve(struct reader *r, struct path *path, const struct matrix *m, const char **p)
{
	struct svg_point a = path->points[path->n - 1];
	struct svg_point b = apply(m, read_point(p)), c = apply(m, read_point(p)),
			 d = apply(m, read_point(p));

	for (int i = 1; i < CURVE_SAMPLES; i++) {
		double t = (double)i / CURVE_SAMPLES;
		include(&path->box,
			(struct svg_point){bezier(a.x, b.x, c.x, d.x, t),
				bezier(a.y, b.y, c.y, d.y, t)});
	}
	add_point(r, path, d);
}

static bool read_path(struct reader *r, const char *d, const struct matrix *m, struct path *path)
{
	*path = (struct path){.box = nothing};
	while (d && *(d += strspn(d, " \t\r\n"))) {
		char command = *d++;
		if ((command == 'M' || command == 'L'))
			add_point(r, path, apply(m, read_point(&d)));
		else if (command == 'C' && path->n > 0)
			add_curve(r, path, m, &d);
		else if (command != 'Z')
			return false;
	}
	return true;
}

/* cairo ends a closed path with a move to its start. */
static void drop_repeated_end(struct path *path)
{
	const struct svg_point *first = path->points, *last = path->points + path->n - 1;

	while (path->n > 1 && first->x == last->x && first->y == last->y) {
		path->n--;
		last--;
	}
}

static void add_glyph(struct reader *r, struct svg_box box, bool is_blank)
{
	r->glyphs = al_grow(&r->svg->arena, r->glyphs, r->n_glyphs, &r->glyphs_room,
		sizeof(*r->glyphs));
	r->glyphs[r->n_glyphs++] = (struct glyph){r->symbol, box, is_blank};
}

static bool read_shape(struct reader *r)
{
	struct matrix own = transform(r);
	struct matrix m = multiply(&r->matrices[r->depth], &own);
	struct path path;

	if (!read_path(r, attribute(r, "d"), &m, &path))
		return false;
	if (r->symbol) {
		add_glyph(r, path.box, path.n == 0);
		return true;
	}
	if (path.n == 0 || (!property(r, "fill") && !property(r, "stroke")))
		return true;
	const char *width = property(r, "stroke-width");
	drop_repeated_end(&path);
	r->svg->shapes = al_grow(&r->svg->arena, r->svg->shapes, r->svg->n_shapes,
		&r->svg->shapes_room, sizeof(*r->svg->shapes));
	r->svg->shapes[r->svg->n_shapes++] = (struct svg_shape){
		.fill = color(r, "fill"),
		.stroke = color(r, "stroke"),
		.stroke_width = width ? strtod(width, NULL) : 0,
		.is_dashed = property(r, "stroke-dasharray") != NULL,
		.points = path.points,
		.n_points = path.n,
		.box = path.box,
	};
	return true;
}

/* ---- glyphs and groups ---- */

static bool read_use(struct reader *r)
{
	const char *id = attribute(r, "xlink:href");
	struct svg_point at = {number(r, "x"), number(r, "y")};

	if (!id || r->svg->n_texts == 0)
		return false;
	for (size_t i = 0; i < r->n_glyphs; i++) {
		const struct glyph *glyph = &r->glyphs[i];
		struct svg_text *text = &r->svg->texts[r->svg->n_texts - 1];
		if (strcmp(glyph->id, id + 1) != 0)
			continue;
		text->n_glyphs++;
		if (glyph->is_blank)
			return true;
		include(&text->box,
			(struct svg_point){glyph->box.left + at.x, glyph->box.top + at.y});
		include(&text->box,
			(struct svg_point){glyph->box.right + at.x, glyph->box.bottom + at.y});
		return true;
	}
	return false;
}

static bool begin_group(struct reader *r)
{
	const char *id = attribute(r, "id");
	struct matrix own = transform(r);

	if (r->depth + 1 == MOST_DEPTH)
		return false;
	r->matrices[r->depth + 1] = multiply(&r->matrices[r->depth], &own);
	r->depth++;
	if (id && strncmp(id, "glyph", 5) == 0) {
		r->symbol = id;
		r->symbol_depth = r->depth;
	}
	if (!property(r, "fill"))
		return true;
	r->svg->texts = al_grow(&r->svg->arena, r->svg->texts, r->svg->n_texts, &r->svg->texts_room,
		sizeof(*r->svg->texts));
	r->svg->texts[r->svg->n_texts++] = (struct svg_text){.color = color(r, "fill"),
		.box = nothing};
	return true;
}

static bool end_group(struct reader *r)
{
	if (r->symbol && r->symbol_depth == r->depth) {
		add_glyph(r, nothing, true); /* found only where the group has no path */
		r->symbol = NULL;
	}
	return r->depth-- > 0;
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
		r->svg->width = number(r, "width");
		r->svg->height = number(r, "height");
	} else if (is_tag(r, "symbol")) {
		r->symbol = attribute(r, "id");
		r->symbol_depth = SIZE_MAX;
	} else if (is_tag(r, "/symbol")) {
		r->symbol = NULL;
	} else if (is_tag(r, "g")) {
		return begin_group(r);
	} else if (is_tag(r, "/g")) {
		return end_group(r);
	} else if (is_tag(r, "use")) {
		return read_use(r);
	} else if (is_tag(r, "path")) {
		return read_shape(r);
	}
	return true;
}

bool svg_read(struct svg *svg, const char *text)
{
	struct reader r = {.svg = svg, .matrices = {identity}};

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
