/* Curves: the share of the squares that each component captures, head by head and all heads
 * together. */
#include "audit/audit.h"
#include "audit/measures.h"

#include <stdlib.h>

#include "base/memory.h"

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	(void)audit;
	al_table_add_column(table,
		(struct al_column){.key = "module", .title = "Module", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "head",
			.title = "Head",
			.digits = AL_DIGITS_ALL,
			.is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "draw",
			.title = "Draw",
			.digits = AL_DIGITS_ALL,
			.is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "matrix", .title = "Matrix", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "component",
			.title = "Component",
			.digits = AL_DIGITS_ALL});
	al_table_add_column(table,
		(struct al_column){.key = "share", .title = "Share", .digits = 5});
	al_table_add_column(table,
		(struct al_column){.key = "cumulative", .title = "Captured", .digits = 5});
}

/* Whose curve it is; -1: of all heads together, of no draw. */
struct subject {
	const struct al_audit_module *module;
	int64_t head, draw;
	const char *matrix;
};

static void set_subject(struct al_table *table, struct al_cell *cell, const struct subject *subject)
{
	al_cell_set_text(table, &cell[0], subject->module->attention->name);
	if (subject->head >= 0)
		al_cell_set_int(table, &cell[1], subject->head);
	if (subject->draw >= 0)
		al_cell_set_int(table, &cell[2], subject->draw);
	al_cell_set_text(table, &cell[3], subject->matrix);
}

static void add_curve(const struct subject *subject, const double *values, size_t n,
	struct al_table *table)
{
	double *share = al_alloc(2 * n, sizeof(*share));

	al_captured(values, n, share, share + n);
	for (size_t i = 0; i < n; i++) {
		struct al_cell *cell = al_table_add_row(table);
		set_subject(table, cell, subject);
		al_cell_set_int(table, &cell[4], (int64_t)i + 1);
		al_cell_set_real(&cell[5], share[i]);
		al_cell_set_real(&cell[6], share[n + i]);
	}
	free(share);
}

/* A spectrum of every head, or the one of all heads. */
static void add_spectrum(const struct subject *first, struct al_matrix values,
	struct al_table *table)
{
	struct subject subject = *first;

	for (size_t j = 0; j < values.cols; j++) {
		subject.head = first->head < 0 ? -1 : (int64_t)j;
		add_curve(&subject, values.data + j * values.ld, values.rows, table);
	}
}

static void add_spectra(const struct al_audit_module *module, const struct al_spectra *spectra,
	int64_t first_head, struct al_table *table)
{
	for (int kind = 0; kind < AL_N_SPECTRA; kind++) {
		const struct subject subject = {module, first_head, -1, al_spectrum_names[kind]};
		add_spectrum(&subject, spectra->values[kind], table);
	}
}

/* Of the product W_Q W_K^T: in Gaussian weights, of each head and of all together, "qk_gaussian",
 * and in every draw of independent heads, "qk_independent". */
static bool add_nulls(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct subject subject = {module, 0, -1, "qk_gaussian"};
	const struct al_spectra *heads, *layer, *draws;

	if (audit->options.n_nulls == 0)
		return true;
	if (!al_audit_gaussian(audit, module, &heads, &layer, err)
		|| !al_audit_draws(audit, module, &draws, err))
		return false;
	add_spectrum(&subject, heads->values[AL_SPECTRUM_QK], table);
	subject.head = -1;
	add_spectrum(&subject, layer->values[AL_SPECTRUM_QK], table);
	subject = (struct subject){module, -1, 0, "qk_independent"};
	for (; subject.draw < audit->options.n_nulls; subject.draw++)
		add_spectrum(&subject, draws[subject.draw].values[AL_SPECTRUM_QK], table);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_spectra *heads, *layer;

	if (!al_audit_head_spectra(audit, module, &heads, err)
		|| !al_audit_layer_spectra(audit, module, &layer, err))
		return false;
	add_spectra(module, heads, 0, table);
	add_spectra(module, layer, -1, table);
	return add_nulls(audit, module, table, err);
}

const struct al_measurement al_measurement_curves = {
	.id = "curves",
	.title = "Captured variance",
	.add_columns = add_columns,
	.add_module = add_module,
};
