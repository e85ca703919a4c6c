/* Text on a canvas, through pango: its fonts; labels measured, put and drawn. */
#include "figure/canvas.h"

#include "figure/typeset.h"

static const struct {
	double size_pt;
	PangoWeight weight;
} fonts[AL_N_FONTS] = {
	[AL_FONT_TICK] = {7, PANGO_WEIGHT_NORMAL},
	[AL_FONT_TITLE] = {8, PANGO_WEIGHT_NORMAL},
	[AL_FONT_HEADING] = {8, PANGO_WEIGHT_BOLD},
};

/* ---- fonts ---- */

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

/* All canvases of a thread share its font map: to find fonts takes longer than to draw a figure. */
void al_canvas_make_fonts(struct al_canvas *canvas, const struct al_lettering *lettering)
{
	PangoFontMap *map = pango_cairo_font_map_get_default();
	PangoContext *context = make_context(map);

	choose_family(canvas, map, lettering);
	choose_sizes(canvas, lettering);
	for (size_t i = 0; i < AL_N_FONTS; i++) {
		canvas->layouts[i] = make_layout(canvas, context, (enum al_font)i);
		if (strcmp(canvas->family, default_family) != 0)
			canvas->rises_pt[i] = rise_of(canvas->layouts[i]);
	}
	g_object_unref(context);
}

/* ---- labels ---- */

static PangoAttribute *between(PangoAttribute *attribute, size_t from, size_t to)
{
	attribute->start_index = (guint)from;
	attribute->end_index = (guint)to;
	return attribute;
}

/* Subscripts and superscripts are smaller, too. */
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

/* The layout set to the label's text, and the text's logical rectangle in pango's units; `levels`,
 * empty, gets those of the bytes. */
static PangoLayout *shape(struct al_canvas *canvas, const struct al_label *label,
	struct al_text *levels, PangoRectangle *extent)
{
	PangoLayout *layout = canvas->layouts[label->font];
	char *valid = g_utf8_make_valid(label->text, -1); /* pango would print a warning */
	AL_TEXT(plain);

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
	return layout;
}

struct al_label al_tick_label(const char *text)
{
	return (struct al_label){.text = text, .font = AL_FONT_TICK, .color = al_color_ink};
}

double al_canvas_tick_width(struct al_canvas *canvas, const char *text)
{
	const struct al_label whole = al_tick_label(text);
	double width = 0;

	for (const char *p = text; *p; p++) {
		unsigned char c = (unsigned char)*p;
		if (c >= 128 || c == '$' || c == '_')
			return al_label_measure(canvas, &whole).width_pt;
		const struct al_label letter = al_tick_label((const char[]){*p, '\0'});
		if (canvas->advances_pt[c] == 0)
			canvas->advances_pt[c] = al_label_measure(canvas, &letter).width_pt;
		width += canvas->advances_pt[c];
	}
	return width;
}

struct al_size al_label_measure(struct al_canvas *canvas, const struct al_label *label)
{
	PangoRectangle extent;
	AL_TEXT(levels);

	shape(canvas, label, &levels, &extent);
	double along = (double)extent.width / PANGO_SCALE;
	double across = (double)extent.height / PANGO_SCALE;
	return label->is_vertical ? (struct al_size){across, along}
				  : (struct al_size){along, across};
}

double al_line_height(struct al_canvas *canvas, enum al_font font)
{
	const struct al_label label = {.text = "0", .font = font};

	if (canvas->line_heights_pt[font] == 0)
		canvas->line_heights_pt[font] = al_label_measure(canvas, &label).height_pt;
	return canvas->line_heights_pt[font];
}

void al_label_put(struct al_canvas *canvas, struct al_label *label, double x, double y,
	double across, double down)
{
	label->box = al_box_at(al_label_measure(canvas, label), x, y, across, down);
}

void al_label_draw(struct al_canvas *canvas, const struct al_label *label)
{
	PangoRectangle extent;
	AL_TEXT(levels);
	PangoLayout *layout = shape(canvas, label, &levels, &extent);

	al_canvas_color(canvas, label->color);
	cairo_save(canvas->cr);
	cairo_translate(canvas->cr, label->box.left,
		label->is_vertical ? label->box.bottom : label->box.top);
	if (label->is_vertical)
		cairo_rotate(canvas->cr, -G_PI_2);
	cairo_translate(canvas->cr, 0, -canvas->rises_pt[label->font]);
	cairo_move_to(canvas->cr, -(double)extent.x / PANGO_SCALE, -(double)extent.y / PANGO_SCALE);
	if (canvas->format == AL_FIGURE_SVG)
		al_canvas_add_svg_text(canvas, label, layout, levels.data);
	else
		pango_cairo_show_layout(canvas->cr, layout);
	cairo_restore(canvas->cr);
	cairo_new_path(canvas->cr);
}
