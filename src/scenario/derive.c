/* Deriving what a claim prints: a path, or a formula over paths. */
#include "scenario/derive.h"

#include <string.h>

static const char *path_of(const struct al_scenario_claim *claim, const char *name)
{
	for (size_t i = 0; i < claim->n_with; i++)
		if (strcmp(claim->with[i].name, name) == 0)
			return claim->with[i].path;
	return NULL;
}

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *value, struct al_error *err)
{
	struct al_derivation *d = context;
	const char *path = path_of(d->claim, reference->symbol);
	const struct al_column *column;
	struct al_scenario_cell cell;

	*found = path != NULL;
	if (!path)
		return true;
	al_scenario_cell_init(&cell);
	bool ok = al_path_value(d->evaluator, path, &d->box, &cell, &column, err);
	if (ok && cell.kind == AL_SCENARIO_MISSING) {
		d->is_missing = true;
		ok = al_fail(err, AL_EINPUT, "%s is missing", path);
	} else if (ok && cell.kind != AL_SCENARIO_NUMBER)
		ok = al_fail(err, AL_EINPUT, "%s is no number", path);
	else if (ok)
		al_value_set_exact(value, cell.number);
	al_scenario_cell_finish(&cell);
	return ok;
}

static size_t known_names(void *context, const char *const **out)
{
	const struct al_derivation *d = context;
	const char **list = al_new_array(&d->evaluator->arena, const char *, d->claim->n_with + 1);

	for (size_t i = 0; i < d->claim->n_with; i++)
		list[i] = d->claim->with[i].name;
	*out = list;
	return d->claim->n_with;
}

static bool evaluate_formula(struct al_derivation *d, struct al_scenario_cell *out,
	struct al_error *err)
{
	struct al_scope scope = {.lookup = look_up, .known = known_names, .context = d};
	struct al_value value;

	al_value_init(&value);
	bool ok = al_formula_eval(d->claim->formula, &scope, &value, err);
	if (ok) {
		al_value_get(&value, out->number);
		out->kind = AL_SCENARIO_NUMBER;
	} else if (d->is_missing) {
		out->kind = AL_SCENARIO_MISSING;
		ok = true;
	}
	al_value_finish(&value);
	return ok;
}

bool al_derive_point(struct al_derivation *d, struct al_scenario_cell *out, struct al_error *err)
{
	if (d->claim->formula)
		return evaluate_formula(d, out, err);
	return al_path_value(d->evaluator, d->claim->path, &d->box, out, &d->column, err);
}

static bool look_up_range(void *context, const struct al_reference *reference,
	struct al_interval *out, struct al_error *err)
{
	struct al_derivation *d = context;
	const char *path = path_of(d->claim, reference->symbol);

	if (path)
		return al_path_enclose(d->evaluator, path, out, err);
	al_interval_set_any(out);
	return true;
}

bool al_derive_range(struct al_derivation *d, struct al_interval *out, struct al_error *err)
{
	struct al_interval_scope scope = {.lookup = look_up_range, .context = d};

	if (!d->claim->formula)
		return al_path_enclose(d->evaluator, d->claim->path, out, err);
	return al_formula_enclose(d->claim->formula, &scope, out, err);
}
