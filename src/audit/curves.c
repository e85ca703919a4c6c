/* Curves: the share of the squares that each component captures, head by head and all heads together. */
#include "audit/audit.h"
#include "audit/measures.h"

#include <stdlib.h>

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	(void)audit;
	al_table_add_column(table, (struct al_column){.key = "module", .title = "Module", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "head", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true});
	al_table_add_column(table, (struct al_column){.key = "matrix", .title = "Matrix", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "component", .title = "Component", .digits = AL_DIGITS_ALL});
	al_table_add_column(table, (struct al_column){.key = "share", .title = "Share", .digits = 5});
	al_table_add_column(table, (struct al_column){.key = "cumulative", .title = "Captured", .digits = 5});
}

/* `head` -1: all heads together. */
static bool add_curve(const struct al_audit_module *module, int64_t head, const char *matrix,
	const double *values, size_t n, struct al_table *table, struct al_error *err)
{
	double *share = malloc(2 * (n + 1) * sizeof(*share));

	if (!share)
		return al_fail(err, AL_ESYSTEM, "no memory for %zu numbers", 2 * n);
	al_captured(values, n, share, share + n);
	for (size_t i = 0; i < n; i++) {
		struct al_cell *cell = al_table_add_row(table);
		al_cell_set_text(table, cell++, module->attention->name);
		if (head >= 0)
			al_cell_set_int(table, cell, head);
		cell++;
		al_cell_set_text(table, cell++, matrix);
		al_cell_set_int(table, cell++, (int64_t)i + 1);
		al_cell_set_real(cell++, share[i]);
		al_cell_set_real(cell, share[n + i]);
	}
	free(share);
	return true;
}

static bool add_spectra(const struct al_audit_module *module, const struct al_spectra *spectra,
	bool is_layer, struct al_table *table, struct al_error *err)
{
	for (int kind = 0; kind < AL_N_SPECTRA; kind++) {
		const struct al_matrix *values = &spectra->values[kind];
		for (size_t j = 0; j < values->cols; j++)
			if (!add_curve(module, is_layer ? -1 : (int64_t)j, al_spectrum_names[kind],
				    values->data + j * values->ld, values->rows, table, err))
				return false;
	}
	return true;
}

/* The full-width product of one draw of independent heads, "qk_independent": the first of those that
 * `layers` counts. */
static bool add_null(const struct al_audit *audit, const struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_matrix *values;
	struct al_spectra draw;

	if (audit->options.n_nulls == 0)
		return true;
	if (!al_null_independent(&draw, &module->triangles, audit->options.seed, module->index, 0, err))
		return false;
	values = &draw.values[AL_SPECTRUM_QK];
	bool ok = add_curve(module, -1, "qk_independent", values->data, values->rows, table, err);
	al_spectra_finish(&draw);
	return ok;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module, struct al_table *table,
	struct al_error *err)
{
	const struct al_spectra *heads, *layer;

	return al_audit_head_spectra(audit, module, &heads, err)
		&& al_audit_layer_spectra(audit, module, &layer, err)
		&& add_spectra(module, heads, false, table, err)
		&& add_spectra(module, layer, true, table, err) && add_null(audit, module, table, err);
}

const struct al_measurement al_measurement_curves = {
	.id = "curves",
	.title = "Captured variance",
	.add_columns = add_columns,
	.add_module = add_module,
};
