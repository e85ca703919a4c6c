/* Reading a scenario's figures. */
#include "scenario/read.h"

/* ---- axes ---- */

static const struct al_field tick_fields[] = {
	{AL_KEY("value", REAL, offsetof(struct al_wished_tick, value)), .is_required = true},
	{AL_KEY("name", TEXT, offsetof(struct al_wished_tick, name)), .is_required = true},
};
static const struct al_record tick_record = {.fields = AL_FIELDS(tick_fields)};

/* A value, or {"value", "name"}: "8k" for 8192. */
static bool read_tick(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_wished_tick *tick = out;

	if (al_json_kind(node) == AL_JSON_OBJECT ? !al_object_read(s, &tick_record, node, tick, err)
						 : !al_json_real(&s->doc, node, &tick->value, err))
		return false;
	return !tick->name || strlen(tick->name) < AL_FIGURE_TICK_NAME
		|| al_json_fail(&s->doc, node, err, "a tick's name of more than %d bytes",
			AL_FIGURE_TICK_NAME - 1);
}

static bool check_ticks(const struct al_scenario *s, const struct al_item *axis,
	const struct al_axis *read, struct al_error *err)
{
	const struct al_wished_tick *ticks = read->ticks;

	for (size_t i = 1; i < read->n_ticks; i++)
		if (ticks[i].value <= ticks[i - 1].value)
			return al_json_fail(&s->doc, al_json_at(al_json_get(axis, "ticks"), i), err,
				"the tick %g follows %g, expected rising ticks", ticks[i].value,
				ticks[i - 1].value);
	return true;
}

static const char *const scales[] = {[AL_AXIS_LINEAR] = "linear", [AL_AXIS_LOG] = "log"};

#define AT(member) offsetof(struct al_scenario_figure, member)
#define AXIS(axis) \
	{AL_KEY("column", TEXT, AT(axis.column))}, {AL_KEY("title", TEXT, AT(axis.title))}, \
		{AL_KEY("scale", WORD, AT(axis.scale)), AL_WORDS(scales)}, \
		{AL_KEY("free", BOOLEAN, AT(axis.is_free))}, \
		{AL_KEY("min", REAL, AT(axis.min)), .has_offset = AT(axis.has_min)}, \
		{AL_KEY("max", REAL, AT(axis.max)), .has_offset = AT(axis.has_max)}, \
	{ \
		AL_KEY("ticks", LIST, AT(axis.ticks)), \
			.n_offset = AT(axis.n_ticks), .read = read_tick, \
			.item_size = sizeof(struct al_wished_tick), .most = AL_FIGURE_MOST_TICKS, \
			.noun = "ticks" \
	}
static const struct al_field x_fields[] = {AXIS(figure.x)};
static const struct al_field y_fields[] = {
	AXIS(figure.y),
	{AL_KEY("columns", LIST, AT(melted)), .n_offset = AT(n_melted), .least = 1,
		.noun = "columns"},
};
static const struct al_field color_fields[] = {AXIS(figure.color)};
static const struct al_record x_record = {.fields = AL_FIELDS(x_fields)},
			      y_record = {.fields = AL_FIELDS(y_fields)},
			      color_record = {.fields = AL_FIELDS(color_fields)};

/* ---- what is drawn ---- */

static bool find_source(void *context, const char *of, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;
	struct al_scenario_figure *figure = out;

	figure->table = AL_PART(s, tables, of);
	figure->sweep = AL_PART(s, sweeps, of);
	figure->listing = AL_PART(s, listings, of);
	return figure->table || figure->sweep || figure->listing
		|| al_unknown_fail(s, AL_NAMES_DRAWABLE, "table, sweep or listing", of, err);
}

static bool find_listing(void *context, const char *of, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;

	return (*(const struct al_scenario_listing **)out = AL_FIND_KNOWN(s->listings,
			s->n_listings, "listing", of, err))
		!= NULL;
}

static bool check_beneath(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_scenario *s = context;
	const struct al_scenario_figure *figure = record;

	return figure->figure.panel
		|| al_json_fail(&s->doc, node, err, "\"beneath\" needs \"panel\"");
}

/* The text beneath panels comes from a listing. */
static const struct al_field beneath_fields[] = {
	{AL_KEY("of", BY, AT(beneath)), .is_required = true, .find = find_listing},
	{AL_KEY("by", TEXT, AT(beneath_by))},
	{AL_KEY("columns", LIST, AT(figure.beneath)), .is_required = true,
		.n_offset = AT(figure.n_beneath)},
};
static const struct al_record beneath_record = {
	.fields = AL_FIELDS(beneath_fields),
	.check = check_beneath,
};

/* Which values are the better ones on each axis: by default the lower x, the higher y. */
static const char *const better_words[] = {"lower", "higher"};
static const struct al_field frontier_fields[] = {
	{AL_KEY("x", WORD, AT(figure.frontier.better_x)), AL_WORDS(better_words)},
	{AL_KEY("y", WORD, AT(figure.frontier.better_y)), AL_WORDS(better_words), .fallback = 1},
};
static const struct al_record frontier_record = {.fields = AL_FIELDS(frontier_fields)};

static const struct al_field reference_fields[] = {
	{AL_KEY("value", REAL, offsetof(struct al_reference_line, value)), .is_required = true},
	{AL_KEY("label", TEXT, offsetof(struct al_reference_line, label))},
};
static const struct al_record reference_record = {
	.fields = AL_FIELDS(reference_fields),
	.size = sizeof(struct al_reference_line),
};

/* ---- size ---- */

static bool read_points(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;
	double *points = out;

	return al_json_real(&s->doc, node, points, err)
		&& ((*points >= AL_FIGURE_LEAST_PT && *points <= AL_FIGURE_MOST_PT)
			|| al_json_fail(&s->doc, node, err, "found %g pt, expected %d to %d",
				*points, AL_FIGURE_LEAST_PT, AL_FIGURE_MOST_PT));
}

/* "column", "page" or points. */
static bool read_width(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	static const char *const names[] = {"column", "page"};
	const struct al_scenario *s = context;

	if (al_json_kind(node) == AL_JSON_NUMBER)
		return read_points(context, node, out, err);
	int found = al_json_find_word(&s->doc, node, "width", names, 2, err);
	if (found >= 0)
		*(double *)out = found ? AL_FIGURE_PAGE_PT : AL_FIGURE_COLUMN_PT;
	return found >= 0;
}

/* ---- figures ---- */

static bool find_id(void *context, const char *id, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;

	*(const char **)out = id;
	if (AL_PART(s, figures, id))
		return al_fail(err, AL_EINPUT, "figure \"%s\" appears twice", id);
	return al_id_check(id, err);
}

static bool finish_figure(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_scenario *s = context;
	struct al_scenario_figure *figure = record;

	figure->node = node;
	figure->figure.is_captioned = true; /* al_venue_add_figure writes one */
	figure->figure.panels_a_row = (size_t)figure->panel_columns;
	if (figure->n_melted > 0) {
		figure->figure.y.column = "value";
		figure->figure.series = "column";
	}
	return check_ticks(s, al_json_get(node, "x"), &figure->figure.x, err)
		&& check_ticks(s, al_json_get(node, "y"), &figure->figure.y, err)
		&& check_ticks(s, al_json_get(node, "color"), &figure->figure.color, err);
}

static const struct al_field figure_fields[] = {
	{AL_KEY("id", BY, AT(figure.id)), .is_required = true, .find = find_id},
	{AL_KEY("title", TEXT, AT(figure.title))},
	{AL_KEY("of", BY, 0), .is_required = true, .find = find_source},
	{AL_KEY("mark", TEXT, AT(figure.mark)), .is_required = true, .words = al_figure_marks,
		.n_words = AL_FIGURE_N_MARKS},
	{AL_KEY("x", RECORD, 0), .record = &x_record, .or_text = AT(figure.x.column)},
	{AL_KEY("y", RECORD, 0), .record = &y_record, .or_text = AT(figure.y.column)},
	{AL_KEY("color", RECORD, 0), .record = &color_record, .or_text = AT(figure.color.column)},
	{AL_KEY("diverging", BOOLEAN, AT(figure.is_diverging))},
	{AL_KEY("values", BOOLEAN, AT(figure.writes_values))},
	{AL_KEY("horizontal", BOOLEAN, AT(figure.is_horizontal))},
	{AL_KEY("stacked", LIST, AT(figure.stacked)), .n_offset = AT(figure.n_stacked),
		.most = AL_FIGURE_MOST_STACKED, .noun = "columns"},
	{AL_KEY("series", TEXT, AT(figure.series))},
	{AL_KEY("panel", TEXT, AT(figure.panel))},
	{AL_KEY("beneath", RECORD, 0), .record = &beneath_record},
	{AL_KEY("label", TEXT, AT(figure.label))},
	{AL_KEY("bands", LIST, AT(figure.bands)), .n_offset = AT(figure.n_bands),
		.record = &al_band_record, .most = AL_FIGURE_MOST_BANDS, .noun = "bands"},
	{AL_KEY("inset", RECORD, AT(figure.inset)), .record = &al_inset_record,
		.has_offset = AT(figure.inset.is_drawn)},
	{AL_KEY("ratios", LIST, AT(figure.ratios)), .n_offset = AT(figure.n_ratios),
		.record = &al_ratio_record, .most = AL_FIGURE_MOST_RATIOS, .noun = "ratios"},
	{AL_KEY("frontier", RECORD, 0), .record = &frontier_record,
		.has_offset = AT(figure.frontier.is_drawn)},
	{AL_KEY("panel_columns", WHOLE, AT(panel_columns)), .least = 1},
	{AL_KEY("width", BY, AT(figure.width_pt)), .read = read_width},
	{AL_KEY("height", BY, AT(figure.height_pt)), .read = read_points},
	{AL_KEY("references", LIST, AT(figure.references)), .n_offset = AT(figure.n_references),
		.record = &reference_record},
	{AL_KEY("legend", BOOLEAN, AT(figure.legend))},
	{AL_KEY("variants", LIST, AT(variants)), .n_offset = AT(n_variants)},
	{AL_KEY("cases", LIST, AT(cases)), .n_offset = AT(n_cases)},
};
#undef AT
const struct al_record al_figure_record = {
	.fields = AL_FIELDS(figure_fields),
	.size = sizeof(struct al_scenario_figure),
	.check = finish_figure,
};
