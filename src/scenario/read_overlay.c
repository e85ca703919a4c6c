/* Reading what a figure lays over its marks: bands, an inset, ratios. */

#include "scenario/read.h"

struct range {
	double from, to;
};

static bool check_range(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_scenario *s = context;
	const struct range *range = record;

	return range->from < range->to
		|| al_json_fail(&s->doc, node, err, "found %g to %g, expected a range upwards",
			range->from, range->to);
}

/* ---- insets ---- */

/* Into two numbers that follow each other. */
static const struct al_field limit_fields[] = {
	{AL_KEY("min", REAL, offsetof(struct range, from)), .is_required = true},
	{AL_KEY("max", REAL, offsetof(struct range, to)), .is_required = true},
};
static const struct al_record limit_record = {
	.fields = AL_FIELDS(limit_fields),
	.check = check_range,
};

#define AT(member) offsetof(struct al_inset, member)
static const struct al_field inset_fields[] = {
	{AL_KEY("x", RECORD, AT(x_min)), .is_required = true, .record = &limit_record},
	{AL_KEY("y", RECORD, AT(y_min)), .record = &limit_record, .has_offset = AT(has_y)},
};
#undef AT
const struct al_record al_inset_record = {.fields = AL_FIELDS(inset_fields)};

/* ---- bands ---- */

static bool read_pair(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;
	struct al_band *band = out;

	if (!al_json_expect(&s->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) != 2)
		return al_json_fail(&s->doc, node, err, "found %zu names, expected two series",
			al_json_size(node));
	al_json_each (item, node)
		if (!al_json_text(&s->doc, item, band->one ? &band->other : &band->one, err))
			return false;
	return true;
}

static bool check_band(void *context, const struct al_item *node, void *record,
	struct al_error *err)
{
	const struct al_scenario *s = context;
	const struct al_band *band = record;

	return (band->low && band->high && !band->one) || (band->one && !band->low && !band->high)
		|| al_json_fail(&s->doc, node, err,
			"expected either \"low\" and \"high\", two columns, or \"between\", two "
			"series");
}

#define AT(member) offsetof(struct al_band, member)
static const struct al_field band_fields[] = {
	{AL_KEY("low", TEXT, AT(low))},
	{AL_KEY("high", TEXT, AT(high))},
	{AL_KEY("between", BY, 0), .read = read_pair},
};
#undef AT
const struct al_record al_band_record = {
	.fields = AL_FIELDS(band_fields),
	.size = sizeof(struct al_band),
	.check = check_band,
};

/* ---- ratios ---- */

static bool read_place(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_scenario *s = context;
	struct al_end *end = out;

	if (al_json_kind(node) == AL_JSON_NUMBER)
		return al_json_real(&s->doc, node, &end->x_value, err);
	return al_json_text(&s->doc, node, &end->x, err);
}

static const struct al_field end_fields[] = {
	{AL_KEY("x", BY, 0), .is_required = true, .read = read_place},
	{AL_KEY("series", TEXT, offsetof(struct al_end, series))},
	{AL_KEY("panel", TEXT, offsetof(struct al_end, panel))},
};
static const struct al_record end_record = {.fields = AL_FIELDS(end_fields)};

#define AT(member) offsetof(struct al_ratio, member)
static const struct al_field ratio_fields[] = {
	{AL_KEY("of", RECORD, AT(of)), .is_required = true, .record = &end_record},
	{AL_KEY("to", RECORD, AT(to)), .is_required = true, .record = &end_record},
	{AL_KEY("digits", INT, AT(digits)), .fallback = 1, .most = AL_FIGURE_MOST_DIGITS},
};
#undef AT
const struct al_record al_ratio_record = {
	.fields = AL_FIELDS(ratio_fields),
	.size = sizeof(struct al_ratio),
};
