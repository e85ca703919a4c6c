/* Columns that the row's ledger says: its measures, what is saved of them, its symbols. */
#include "scenario/column.h"

#include "base/number.h"

bool al_place_need_reference(const struct al_cell_place *place,
	const struct al_configured_variant *reference, const char *key, const char *column,
	struct al_error *err)
{
	return reference
		|| al_fail(err, AL_EINPUT, "table \"%s\": column \"%s\" needs the key \"%s\"",
			place->table->id, column, key);
}

static bool compute(struct al_evaluator *evaluator, struct al_memo *memo, enum al_measure which,
	struct al_error *err)
{
	mpq_t number;

	mpq_init(number);
	bool ok = al_ledger_measure(&memo->ledger, which, memo->request.recipe, number, err);
	if (ok && al_ledger_declares(&memo->ledger, which, memo->request.recipe, &memo->undeclared))
		memo->measures[which] = al_exact_copy(&evaluator->arena, number);
	mpq_clear(number);
	return ok;
}

bool al_place_measure(const struct al_cell_place *place, struct al_scenario_row row,
	enum al_measure which, struct al_scenario_cell *out, struct al_error *err)
{
	struct al_memo *memo;

	if (!row.variant)
		return al_fail(err, AL_EINPUT, "table \"%s\": %s of a case needs a variant",
			place->table->id, al_measures[which].key);
	if (!row.variant->variant)
		return al_scenario_cell_set_missing(out);
	if (!al_memo_find(place->evaluator, place->table, row, &memo, err))
		return false;
	if (!memo->measures[which] && !compute(place->evaluator, memo, which, err))
		return al_in(err, "table \"%s\"", place->table->id);
	return memo->measures[which] ? al_scenario_cell_set_number(out, memo->measures[which])
				     : al_scenario_cell_set_missing(out);
}

bool al_column_measure(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	return al_place_measure(place, place->row, kind->measure, out, err);
}

/* The percentage of `total` that the row saves against the baseline. */
bool al_column_saving(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_configured_variant *baseline = place->table->baseline;
	struct al_scenario_cell base;

	if (!al_place_need_reference(place, baseline, "baseline", kind->key, err)
		|| !al_place_measure(place, place->row, AL_TOTAL, out, err))
		return false;
	al_scenario_cell_init(&base);
	bool ok = al_place_measure(place, (struct al_scenario_row){place->row.case_, baseline},
		AL_TOTAL, &base, err);
	bool is_known = out->kind != AL_SCENARIO_MISSING && base.kind != AL_SCENARIO_MISSING;
	if (ok && (!is_known || !al_exact_saving(out->number, out->number, base.number)))
		al_scenario_cell_set_missing(out);
	al_scenario_cell_finish(&base);
	return ok;
}

bool al_column_modules(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	struct al_memo *memo;
	int64_t n;

	(void)kind;
	if (!al_memo_find(place->evaluator, place->table, place->row, &memo, err))
		return false;
	if (!memo->has_ledger)
		return al_scenario_cell_set_missing(out);
	return al_ledger_modules(&memo->ledger, false, &n, err) && al_scenario_cell_set_int(out, n);
}

bool al_column_symbol(const struct al_column_kind *kind, const struct al_cell_place *place,
	struct al_scenario_cell *out, struct al_error *err)
{
	const struct al_setting *setting;
	struct al_memo *memo;

	if (!al_memo_find(place->evaluator, place->table, place->row, &memo, err))
		return false;
	struct al_settings *settings = memo->has_ledger ? al_ledger_settings(&memo->ledger)
							: &memo->request.settings;
	if (!al_settings_get(settings, kind->name, &setting, err))
		return false;
	if (setting && setting->value.kind == AL_VALUE_INTEGER)
		return al_scenario_cell_set_int(out, setting->value.integer);
	out->kind = AL_SCENARIO_UNKNOWN;
	return true;
}
