/* Reading a scenario's sweeps. */
#include "scenario/read.h"

/* ---- axes ---- */

#define AT(member) offsetof(struct al_sweep_axis, member)
static const struct al_field range_fields[] = {
	{AL_KEY("from", WHOLE, AT(from)), .is_required = true},
	{AL_KEY("to", WHOLE, AT(to)), .is_required = true},
	{AL_KEY("step", WHOLE, AT(step)), .fallback = 1, .least = 1},
};
#undef AT
static const struct al_record range_record = {.fields = AL_FIELDS(range_fields)};

static bool read_list(struct al_scenario *s, const struct al_item *node, struct al_sweep_axis *axis,
	struct al_error *err)
{
	if (!al_json_expect(&s->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) == 0)
		return al_json_fail(&s->doc, node, err, "the list of values is empty");

	int64_t *list = al_new_array(&s->arena, int64_t, al_json_size(node));
	al_json_each (value, node)
		if (!al_json_whole_from(&s->doc, value, 0, &list[axis->n_list++], err))
			return false;
	axis->list = list;
	return true;
}

/* Over a symbol that something could need: a range, or a list of values. */
static bool read_axis(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_sweep_axis *axis = out;

	if (!al_member_symbol_check(s, node, err))
		return false;
	axis->symbol = al_json_key(node);
	return al_json_kind(node) == AL_JSON_OBJECT
		? al_object_read(s, &range_record, node, axis, err)
		: read_list(s, node, axis, err);
}

/* ---- measures ---- */

static bool add_measure(struct al_scenario *s, const struct al_item *node,
	struct al_ledger_sweep *sweep, struct al_error *err)
{
	const char *key;

	return al_json_text(&s->doc, node, &key, err)
		&& (al_sweep_add_measure(sweep, key, err) || al_json_in(&s->doc, node, err));
}

static bool read_measures(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_ledger_sweep *sweep = out;

	if (al_json_kind(node) != AL_JSON_ARRAY)
		return add_measure(s, node, sweep, err);
	al_json_each (item, node)
		if (!add_measure(s, item, sweep, err))
			return false;
	return sweep->n_measures > 0
		|| al_json_fail(&s->doc, node, err, "the list of measures is empty");
}

/* ---- how the table is arranged ---- */

static bool check_arrangement(const struct al_scenario *s, const struct al_item *node,
	const struct al_scenario_sweep *sweep, struct al_error *err)
{
	AL_ENDS(al_names_finish) struct al_names names;

	al_names_init(&names);
	if (sweep->shows_case)
		al_names_add(&names, "case");
	for (size_t i = 0; i < sweep->sweep.n_axes; i++)
		al_names_add(&names, sweep->sweep.axes[i].symbol);
	al_names_add(&names, "variant");
	const size_t n_keys = names.n;
	for (size_t i = 0; i < sweep->sweep.n_measures; i++)
		al_names_add(&names, al_measures[sweep->sweep.measures[i]].key);
	return al_arrangement_check(s, node, &sweep->arrangement, &names, n_keys, err);
}

/* ---- sweeps ---- */

static bool count_points(struct al_scenario *s, const struct al_item *node,
	const struct al_scenario_sweep *sweep, struct al_error *err)
{
	int64_t points;

	if (!al_sweep_points(&sweep->sweep, &points, err))
		return al_json_in(&s->doc, node, err);
	s->n_points += points * (int64_t)sweep->cases.n;
	return s->n_points <= AL_SWEEP_MOST_POINTS
		|| al_json_fail(&s->doc, node, err, "the file's sweeps have more than %d points",
			AL_SWEEP_MOST_POINTS);
}

static bool finish_sweep(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_scenario *s = context;
	struct al_scenario_sweep *sweep = out;

	if (!sweep->sweep.title)
		sweep->sweep.title = s->title;
	sweep->shows_case = sweep->cases.n > 0;
	if (!al_chosen_cases_complete(s, node, 1, &sweep->cases, err))
		return false;
	if (!sweep->sweep.variants) {
		sweep->sweep.variants = s->variants;
		sweep->sweep.n_variants = s->n_variants;
	}
	if (sweep->sweep.n_axes == 0)
		return al_json_fail(&s->doc, al_json_get(node, "over"), err,
			"the sweep goes over no symbol");
	if (sweep->sweep.n_variants == 0)
		return al_json_fail(&s->doc, node, err, "the sweep has no variants");
	for (size_t i = 0; i < sweep->sweep.n_variants; i++)
		if (sweep->sweep.variants[i]->n_tied > 0)
			return al_json_fail(&s->doc, node, err,
				"variant %s has a formula for %s, which a sweep doesn't follow: "
				"use \"tie\"",
				sweep->sweep.variants[i]->name,
				sweep->sweep.variants[i]->tied[0].symbol);
	return count_points(s, node, sweep, err) && check_arrangement(s, node, sweep, err);
}

#define AT(member) offsetof(struct al_scenario_sweep, member)
static const struct al_field sweep_fields[] = {
	{AL_KEY("id", BY, AT(sweep.id)), .is_required = true, .find = al_scenario_find_id},
	{AL_KEY("title", TEXT, AT(sweep.title))},
	AL_CASES(AT(cases)),
	{AL_KEY("variants", LIST, AT(sweep.variants)), .n_offset = AT(sweep.n_variants),
		.find = al_scenario_find_counted,
		.item_size = sizeof(const struct al_configured_variant *)},
	{AL_KEY("over", MEMBERS, AT(sweep.axes)), .is_required = true, .n_offset = AT(sweep.n_axes),
		.read = read_axis, .item_size = sizeof(struct al_sweep_axis),
		.most = AL_SWEEP_MOST_AXES, .noun = "symbols"},
	AL_SUBSTITUTIONS("tie", AT(sweep.ties), AT(sweep.n_ties), al_scenario_read_substitution),
	AL_CHANGES(AT(changes)),
	{AL_KEY("pivot", TEXT, AT(arrangement.pivot_by))},
	AL_ARRANGEMENT(AT(arrangement)),
	{AL_KEY("measure", BY, AT(sweep)), .is_required = true, .read = read_measures},
};
#undef AT
const struct al_record al_sweep_record = {
	.fields = AL_FIELDS(sweep_fields),
	.size = sizeof(struct al_scenario_sweep),
	.check = finish_sweep,
};
