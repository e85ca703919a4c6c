/* Columns of measured numbers: scores, how much of a reference's score is retained, and what
 * parameters buy (Xue & Aletras 2023, section 4.6). */
#include "scenario/column.h"

static bool score_of(const struct al_cell_place *place, const char *metric,
	struct al_scenario_row row, struct al_scenario_cell *out, enum al_direction *direction,
	struct al_error *err)
{
	const struct al_data_set *set;
	size_t column;

	if (!al_metric_find(place->evaluator->scenario, metric, &set, &column))
		return al_fail(err, AL_EINPUT, "no data for the metric \"%s\"", metric);
	*direction = set->columns[column].direction;
	return al_evaluator_spend(place->evaluator, set->n_rows / 16, err)
		&& al_scenario_cell_set_datum(out, place->box,
			al_datum_find(set, row.case_->id,
				row.variant ? row.variant->configured.name : NULL, column),
			err);
}

bool al_column_score(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	enum al_direction direction;

	return score_of(place, kind->name, place->row, out, &direction, err);
}

static bool check_direction(enum al_direction direction, const char *metric, struct al_error *err)
{
	return direction != AL_PLAIN
		|| al_fail(err, AL_EINPUT,
			"metric \"%s\" does not say whether higher or lower is better", metric);
}

bool al_column_retention(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_scenario_variant *whose = place->table->retention;
	struct al_scenario_cell reference;
	enum al_direction direction;

	if (!al_place_need_reference(place, whose, "retention", "prr", err)
		|| !score_of(place, kind->name, place->row, out, &direction, err)
		|| !check_direction(direction, kind->name, err))
		return false;
	al_scenario_cell_init(&reference);
	bool ok = score_of(place, kind->name, al_place_row_of_variant(place, whose), &reference,
		&direction, err);
	if (ok
		&& (out->kind == AL_SCENARIO_MISSING || reference.kind == AL_SCENARIO_MISSING
			|| mpq_sgn(reference.number) == 0))
		al_scenario_cell_set_missing(out);
	else if (ok)
		out->kind = al_retention(out->number, out->number, reference.number,
				    direction == AL_HIGHER_IS_BETTER)
			? AL_SCENARIO_NUMBER
			: AL_SCENARIO_MISSING;
	out->datum = NULL;
	al_scenario_cell_finish(&reference);
	return ok;
}

/* The four numbers of an elasticity: score, base score, parameters, base parameters. */
static bool elasticity_parts(const struct al_cell_place *place, const char *metric,
	struct al_scenario_cell parts[4], enum al_direction *direction, struct al_error *err)
{
	struct al_scenario_row base = al_place_row_of_variant(place, place->table->elasticity);

	return score_of(place, metric, place->row, &parts[0], direction, err)
		&& score_of(place, metric, base, &parts[1], direction, err)
		&& check_direction(*direction, metric, err)
		&& al_place_measure(place, place->row, AL_PARAMETERS, &parts[2], err)
		&& al_place_measure(place, base, AL_PARAMETERS, &parts[3], err);
}

bool al_column_elasticity(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	struct al_scenario_cell parts[4];
	enum al_direction direction = AL_PLAIN;
	bool is_missing = false;

	if (!al_place_need_reference(place, place->table->elasticity, "elasticity", "peop", err))
		return false;
	for (int i = 0; i < 4; i++)
		al_scenario_cell_init(&parts[i]);
	bool ok = elasticity_parts(place, kind->name, parts, &direction, err);
	for (int i = 0; i < 4; i++)
		is_missing = is_missing || parts[i].kind == AL_SCENARIO_MISSING;
	al_scenario_cell_set_missing(out);
	if (ok && !is_missing && mpq_sgn(parts[1].number) != 0 && mpq_sgn(parts[3].number) != 0
		&& al_elasticity(out->number, parts[0].number, parts[1].number, parts[2].number,
			parts[3].number, direction == AL_HIGHER_IS_BETTER))
		out->kind = AL_SCENARIO_NUMBER;
	for (int i = 0; i < 4; i++)
		al_scenario_cell_finish(&parts[i]);
	return ok;
}
