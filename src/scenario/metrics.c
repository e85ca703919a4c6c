/* Columns of measured numbers: scores, how much of a reference's score is retained, and what
 * parameters buy (Xue & Aletras 2023, section 4.6). */
#include "scenario/column.h"

static bool score_of(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_row row, struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_data_set *set = kind->set;

	if (!set)
		return al_fail(err, AL_EINPUT, "no data for the metric \"%s\"", kind->name);
	return al_evaluator_spend(place->evaluator, set->n_rows / 16, err)
		&& al_scenario_cell_set_datum(out, place->box,
			al_datum_find(set, row, kind->metric), err);
}

bool al_column_score(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	return score_of(kind, place, place->row, out, err);
}

static bool higher_is_better(const struct al_column_kind *kind)
{
	return kind->set->columns[kind->metric].direction == AL_HIGHER_IS_BETTER;
}

static bool check_direction(const struct al_column_kind *kind, struct al_error *err)
{
	return kind->set->columns[kind->metric].direction != AL_PLAIN
		|| al_fail(err, AL_EINPUT,
			"metric \"%s\" does not say whether higher or lower is better", kind->name);
}

bool al_column_retention(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_configured_variant *whose = place->table->retention;
	struct al_scenario_cell reference;

	if (!al_place_need_reference(place, whose, "retention", "prr", err)
		|| !score_of(kind, place, place->row, out, err) || !check_direction(kind, err))
		return false;
	al_scenario_cell_init(&reference);
	bool ok = score_of(kind, place, (struct al_scenario_row){place->row.case_, whose},
		&reference, err);
	if (ok
		&& (out->kind == AL_SCENARIO_MISSING || reference.kind == AL_SCENARIO_MISSING
			|| mpq_sgn(reference.number) == 0))
		al_scenario_cell_set_missing(out);
	else if (ok)
		out->kind = al_retention(out->number, out->number, reference.number,
				    higher_is_better(kind))
			? AL_SCENARIO_NUMBER
			: AL_SCENARIO_MISSING;
	out->datum = NULL;
	al_scenario_cell_finish(&reference);
	return ok;
}

/* The four numbers of an elasticity: score, base score, parameters, base parameters. */
static bool elasticity_parts(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell parts[4], struct al_error *err)
{
	struct al_scenario_row base = (struct al_scenario_row){place->row.case_,
		place->table->elasticity};

	return score_of(kind, place, place->row, &parts[0], err)
		&& score_of(kind, place, base, &parts[1], err) && check_direction(kind, err)
		&& al_place_measure(place, place->row, AL_PARAMETERS, &parts[2], err)
		&& al_place_measure(place, base, AL_PARAMETERS, &parts[3], err);
}

bool al_column_elasticity(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	struct al_scenario_cell parts[4];
	bool is_missing = false;

	if (!al_place_need_reference(place, place->table->elasticity, "elasticity", "peop", err))
		return false;
	for (int i = 0; i < 4; i++)
		al_scenario_cell_init(&parts[i]);
	bool ok = elasticity_parts(kind, place, parts, err);
	for (int i = 0; i < 4; i++)
		is_missing = is_missing || parts[i].kind == AL_SCENARIO_MISSING;
	al_scenario_cell_set_missing(out);
	if (ok && !is_missing && mpq_sgn(parts[1].number) != 0 && mpq_sgn(parts[3].number) != 0
		&& al_elasticity(out->number, parts[0].number, parts[1].number, parts[2].number,
			parts[3].number, higher_is_better(kind)))
		out->kind = AL_SCENARIO_NUMBER;
	for (int i = 0; i < 4; i++)
		al_scenario_cell_finish(&parts[i]);
	return ok;
}
