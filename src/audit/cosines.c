/* How alike all pairs of heads are, for who draws them. */
#include "audit/measurement.h"
#include "audit/pairs.h"

struct row {
	struct al_audit_place at;
	size_t a, b;
	double attention, outputs;
};

static const struct al_table_field fields[] = {
	AL_AUDIT_PLACE_FIELDS,
	{AL_COLUMN_WHOLE("head_a", "Head", .is_key = true), AL_MEMBER(struct row, a)},
	{AL_COLUMN_WHOLE("head_b", "and head", .is_key = true), AL_MEMBER(struct row, b)},
	AL_AUDIT_LIKENESS_FIELDS(struct row, attention, outputs),
	AL_FIELDS_END,
};

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = module->heads.n_heads;
	struct al_pair_scores s;

	if (!al_module_likeness(&scratch, audit, module, &s, err))
		return false;
	for (size_t a = 0; a < n; a++)
		for (size_t b = a + 1; b < n; b++)
			al_table_add_record(table,
				&(struct row){al_audit_place_of(module), a, b,
					al_pair_score(s.likeness[AL_FORM_QK], a, b),
					al_pair_score(s.likeness[AL_FORM_OV], a, b)});
	return true;
}

const struct al_measurement al_measurement_cosines = {
	.id = "cosines",
	.title = "All pairs of heads of a module",
	.measured = AL_MEASURED_FOR_REPORT,
	.needs = {.weights = true},
	.fields = fields,
	.add_module = add_module,
};
