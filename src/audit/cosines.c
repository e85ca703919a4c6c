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

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	static const struct al_column columns[] = {
		{.key = "head_a", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
		{.key = "head_b", .title = "and head", .digits = AL_DIGITS_ALL, .is_key = true},
		{.key = "qk_cosine", .title = "QK cosine", .digits = 3},
		{.key = "ov_cosine", .title = "OV cosine", .digits = 3},
	};

	(void)audit;
	al_audit_add_module_columns(table);
	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

static void add_row(struct al_table *table, const struct al_audit_module *module, size_t a,
	size_t b, const struct al_matrix cosines[AL_N_FORMS])
{
	struct al_cell *cell = al_table_add_row(table);

	al_audit_set_module(table, &cell, module);
	al_cell_set_int(table, cell++, (int64_t)a);
	al_cell_set_int(table, cell++, (int64_t)b);
	for (int form = 0; form < AL_N_FORMS; form++, cell++)
		if (cosines[form].data)
			al_audit_set_number(cell, cosines[form].data[a + b * cosines[form].ld]);
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
			add_row(table, module, a, b, cosines);
	for (int form = 0; form < AL_N_FORMS; form++)
		al_matrix_finish(&cosines[form]);
	return ok;
}

const struct al_measurement al_measurement_cosines = {
	.id = "cosines",
	.title = "All pairs of heads of a module",
	.measured = AL_MEASURED_FOR_REPORT,
	.needs = {.weights = true},
	.add_columns = add_columns,
	.add_module = add_module,
};
