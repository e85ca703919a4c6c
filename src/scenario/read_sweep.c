/* Reading a scenario's sweeps. */
#include "scenario/read.h"

#include <string.h>

#include "base/text.h"

static bool read_range(struct al_scenario *s, const struct cJSON *node, struct al_sweep_axis *axis,
	struct al_error *err)
{
	static const char *const keys[] = {"from", "to", "step"};

	axis->step = 1;
	if (!al_json_only(&s->doc, node, keys, 3, err)
		|| !al_json_get_whole(&s->doc, node, "from", true, &axis->from, err)
		|| !al_json_get_whole(&s->doc, node, "to", true, &axis->to, err)
		|| !al_json_get_whole(&s->doc, node, "step", false, &axis->step, err))
		return false;
	if (axis->from < 0 || axis->to < axis->from || axis->step < 1)
		return al_json_fail(&s->doc, node, err,
			"found from %lld to %lld by %lld, expected 0 <= from <= to and a step of 1 "
			"or more",
			(long long)axis->from, (long long)axis->to, (long long)axis->step);
	return true;
}

static bool read_axis(struct al_scenario *s, const struct cJSON *node, struct al_sweep_axis *axis,
	struct al_error *err)
{
	axis->symbol = al_json_key(node);
	if (al_json_kind(node) == AL_JSON_OBJECT)
		return read_range(s, node, axis, err);
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

static bool read_axes(struct al_scenario *s, const struct cJSON *node, struct al_sweep *sweep,
	struct al_error *err)
{
	al_json_each (member, node) {
		if (al_member_is_note(member))
			continue;
		if (sweep->n_axes == AL_SWEEP_MOST_AXES)
			return al_json_fail(&s->doc, node, err, "more than %d symbols",
				AL_SWEEP_MOST_AXES);
		if (!read_axis(s, member, &sweep->axes[sweep->n_axes++], err))
			return false;
	}
	return sweep->n_axes > 0
		|| al_json_fail(&s->doc, node, err, "the sweep goes over no symbol");
}

static bool add_measure(struct al_scenario *s, const struct cJSON *node, struct al_sweep *sweep,
	struct al_error *err)
{
	const char *names[AL_N_MEASURES], *key;

	if (!al_json_text(&s->doc, node, &key, err))
		return false;
	int found = al_measure_find(key);
	if (found < 0) {
		for (int i = 0; i < AL_N_MEASURES; i++)
			names[i] = al_measures[i].key;
		al_fail_unknown(err, "measure", key, names, AL_N_MEASURES);
		return al_json_in(&s->doc, node, err);
	}
	for (size_t i = 0; i < sweep->n_measures; i++)
		if (sweep->measures[i] == (enum al_measure)found)
			return al_json_fail(&s->doc, node, err, "measure \"%s\" appears twice",
				key);
	sweep->measures[sweep->n_measures++] = (enum al_measure)found;
	return true;
}

static bool read_measures(struct al_scenario *s, const struct cJSON *owner, struct al_sweep *sweep,
	struct al_error *err)
{
	const struct cJSON *node = al_json_get(owner, "measure");

	if (!node)
		return al_json_fail(&s->doc, owner, err, "key \"measure\" is missing");
	if (al_json_kind(node) != AL_JSON_ARRAY)
		return add_measure(s, node, sweep, err);
	al_json_each (item, node)
		if (!add_measure(s, item, sweep, err))
			return false;
	return sweep->n_measures > 0
		|| al_json_fail(&s->doc, node, err, "the list of measures is empty");
}

static bool add_variant(struct al_scenario *s, const struct al_scenario_variant *variant,
	const struct cJSON *node, const struct al_configured_variant **list, struct al_sweep *sweep,
	struct al_error *err)
{
	if (!variant->configured.variant)
		return al_json_fail(&s->doc, node, err, "variant \"%s\" is known from data only",
			variant->configured.name);
	list[sweep->n_variants++] = &variant->configured;
	return true;
}

static bool read_sweep_variants(struct al_scenario *s, const struct cJSON *owner,
	struct al_sweep *sweep, struct al_error *err)
{
	const struct cJSON *node;
	const char *name;

	if (!al_json_get_node(&s->doc, owner, "variants", AL_JSON_ARRAY, false, &node, err))
		return false;
	const struct al_configured_variant **list = al_new_array(&s->arena,
		const struct al_configured_variant *, s->n_variants + al_json_size(node) + 1);
	sweep->variants = list;
	for (size_t i = 0; !node && i < s->n_variants; i++)
		if (!add_variant(s, s->variants[i], owner, list, sweep, err))
			return false;
	al_json_each (item, node) {
		if (!al_json_text(&s->doc, item, &name, err))
			return false;
		const struct al_scenario_variant *variant = al_variant_find(s, name, err);
		if (!variant)
			return al_json_in(&s->doc, item, err);
		if (!add_variant(s, variant, item, list, sweep, err))
			return false;
	}
	return sweep->n_variants > 0
		|| al_json_fail(&s->doc, owner, err, "the sweep has no variants");
}

static bool add_case(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_sweep *sweep, struct al_error *err)
{
	const char *id;

	if (!al_json_text(&s->doc, node, &id, err))
		return false;
	sweep->cases[sweep->n_cases] = al_case_find(s, id, err);
	return sweep->cases[sweep->n_cases++] || al_json_in(&s->doc, node, err);
}

/* "case", "cases", or the first that there is. */
static bool read_sweep_cases(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_sweep *sweep, struct al_error *err)
{
	const struct cJSON *list, *one = al_json_get(node, "case");

	if (!al_json_get_node(&s->doc, node, "cases", AL_JSON_ARRAY, false, &list, err))
		return false;
	if (list && one)
		return al_json_fail(&s->doc, list, err, "expected either \"case\" or \"cases\"");
	sweep->shows_case = list != NULL;
	sweep->cases = al_new_array(&s->arena, const struct al_case *, al_json_size(list) + 1);
	if (one)
		return add_case(s, one, sweep, err);
	if (!list)
		sweep->cases[sweep->n_cases++] = &s->cases[0];
	al_json_each (item, list)
		if (!add_case(s, item, sweep, err))
			return false;
	return sweep->n_cases > 0 || al_json_fail(&s->doc, list, err, "the list of cases is empty");
}

/* An axis' symbol must be one that something could need. */
static bool check_symbols(const struct al_scenario *s, const struct cJSON *over,
	struct al_error *err)
{
	al_json_each (member, over)
		if (!al_member_is_note(member) && !al_member_symbol_check(s, member, err))
			return false;
	return true;
}

static bool count_points(struct al_scenario *s, const struct cJSON *node,
	const struct al_scenario_sweep *sweep, struct al_error *err)
{
	int64_t points;

	if (!al_sweep_points(&sweep->sweep, &points, err))
		return al_json_in(&s->doc, node, err);
	s->n_points += points * (int64_t)sweep->n_cases;
	return s->n_points <= AL_SWEEP_MOST_POINTS
		|| al_json_fail(&s->doc, node, err, "the file's sweeps have more than %d points",
			AL_SWEEP_MOST_POINTS);
}

static bool read_sweep(struct al_scenario *s, const struct cJSON *node,
	struct al_scenario_sweep *sweep, struct al_error *err)
{
	static const char *const keys[] = {"id", "title", "case", "cases", "variants", "over",
		"tie", "set", "basis", "recipe", "measure"};
	struct al_sweep *spec = &sweep->sweep;
	const struct cJSON *over;

	if (!al_json_only(&s->doc, node, keys, sizeof(keys) / sizeof(*keys), err)
		|| !al_id_read(s, node, &spec->id, err))
		return false;
	spec->title = s->title;
	return al_json_get_text(&s->doc, node, "title", false, &spec->title, err)
		&& read_sweep_cases(s, node, sweep, err)
		&& al_changes_read(s, node, spec->id, &sweep->changes, err)
		&& read_sweep_variants(s, node, spec, err) && read_measures(s, node, spec, err)
		&& al_substitutions_read(s, al_json_get(node, "tie"), &spec->ties, &spec->n_ties,
			err)
		&& al_json_get_node(&s->doc, node, "over", AL_JSON_OBJECT, true, &over, err)
		&& check_symbols(s, over, err) && check_symbols(s, al_json_get(node, "tie"), err)
		&& read_axes(s, over, spec, err) && count_points(s, node, sweep, err);
}

bool al_sweeps_read(struct al_scenario *s, const struct cJSON *list, struct al_error *err)
{
	if (!al_size_check(s, list, "sweeps", AL_MOST_PARTS_OF_A_KIND, err))
		return false;
	s->sweeps = al_new_array(&s->arena, struct al_scenario_sweep, al_json_size(list) + 1);
	al_json_each (node, list) {
		struct al_scenario_sweep *sweep = &s->sweeps[s->n_sweeps];
		if (!read_sweep(s, node, sweep, err))
			return false;
		s->n_sweeps++;
	}
	return true;
}
