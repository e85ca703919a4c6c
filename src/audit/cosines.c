/* Cosines of all pairs of heads, for who draws them. */
#include "audit/cosines.h"

#include "audit/measurement.h"
#include "audit/pairs.h"

/* Inner products to cosines. */
bool al_module_cosines(struct al_audit_module *module, enum al_form form, struct al_matrix *out,
	struct al_error *err)
{
	struct al_view s;

	if (!al_has_form(&module->heads, form))
		return true;
	if (!al_audit_form_inner(module, form, &s, err)
		|| !al_matrix_init(out, s.rows, s.cols, err))
		return false;
	for (size_t j = 0; j < s.cols; j++)
		for (size_t i = 0; i < s.rows; i++)
			out->data[i + j * out->ld] = al_cosine(s.data[i + j * s.ld],
				s.data[i + i * s.ld], s.data[j + j * s.ld]);
	return true;
}

/* ---- the table ---- */

struct row {
	struct al_audit_place at;
	size_t a, b;
	double qk, ov;
};

static const struct al_table_field fields[] = {
	AL_AUDIT_PLACE_FIELDS,
	{{.key = "head_a", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
		AL_MEMBER(struct row, a)},
	{{.key = "head_b", .title = "and head", .digits = AL_DIGITS_ALL, .is_key = true},
		AL_MEMBER(struct row, b)},
	{{.key = "qk_cosine", .title = "QK cosine", .digits = 3}, AL_MEMBER(struct row, qk)},
	{{.key = "ov_cosine", .title = "OV cosine", .digits = 3}, AL_MEMBER(struct row, ov)},
	AL_FIELDS_END,
};

static double entry(struct al_matrix m, size_t i, size_t j)
{
	return m.data ? m.data[i + j * m.ld] : NAN;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const size_t n = (size_t)module->attention->n_heads;
	struct al_matrix cosines[AL_N_FORMS] = {{0}};
	bool ok = true;

	(void)audit;
	for (int form = 0; ok && form < AL_N_FORMS; form++)
		ok = al_module_cosines(module, (enum al_form)form, &cosines[form], err);
	for (size_t a = 0; ok && a < n; a++)
		for (size_t b = a + 1; b < n; b++)
			al_table_add_record(table,
				&(struct row){al_audit_place_of(module), a, b,
					entry(cosines[AL_FORM_QK], a, b),
					entry(cosines[AL_FORM_OV], a, b)});
	for (int form = 0; form < AL_N_FORMS; form++)
		al_matrix_finish(&cosines[form]);
	return ok;
}

const struct al_measurement al_measurement_cosines = {
	.id = "cosines",
	.title = "All pairs of heads of a module",
	.measured = AL_MEASURED_FOR_REPORT,
	.needs = {.weights = true},
	.fields = fields,
	.add_module = add_module,
};
