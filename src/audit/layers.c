/* Layers: all heads of a module together, beside what random weights of the same shape and
 * independent heads of the same spectra would show. */
#include "audit/audit.h"
#include "audit/measures.h"

static const enum al_spectrum kinds[] = {AL_SPECTRUM_Q, AL_SPECTRUM_K, AL_SPECTRUM_QK,
	AL_SPECTRUM_QU, AL_SPECTRUM_KU, AL_SPECTRUM_OV};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct share {
	const char *name, *title;
	double share;
} shares[] = {{"n50", "50 %", .5}, {"n90", "90 %", .9}, {"n95", "95 %", .95}, {"n99", "99 %", .99}};
enum { N_SHARES = sizeof(shares) / sizeof(*shares) };

/* ---- columns ---- */

static void add_column(struct al_table *table, const char *kind, const char *name,
	const char *title, int digits)
{
	al_table_add_column(table,
		(struct al_column){.key = al_format(&table->arena, "%s_%s", kind, name),
			.title = title,
			.group = kind,
			.digits = digits});
}

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	al_audit_add_module_columns(table);
	for (int i = 0; i < N_KINDS; i++)
		for (int j = 0; j < N_SHARES; j++)
			add_column(table, al_spectrum_names[kinds[i]], shares[j].name,
				shares[j].title, 0);
	for (int i = 0; audit->options.n_nulls > 0 && i < N_KINDS; i++) {
		const char *kind = al_spectrum_names[kinds[i]];
		add_column(table, kind, "gaussian_n90", "Gaussian", 0);
		add_column(table, kind, "independent_n90", "independent", 1);
		add_column(table, kind, "independent_n90_low", "lowest", 0);
		add_column(table, kind, "independent_n90_high", "highest", 0);
	}
	if (audit->options.n_nulls > 0) {
		al_table_add_column(table, (struct al_column){.key = "redundancy", .digits = 3});
		al_table_add_column(table,
			(struct al_column){.key = "redundancy_low", .digits = 3});
		al_table_add_column(table,
			(struct al_column){.key = "redundancy_high", .digits = 3});
	}
}

/* ---- rows ---- */

static size_t components(const struct al_spectra *spectra, enum al_spectrum kind, double share)
{
	const struct al_matrix *values = &spectra->values[kind];

	return al_components(values->data, values->rows, share);
}

static void set_components(struct al_table *table, struct al_cell **cell,
	const struct al_spectra *spectra)
{
	for (int i = 0; i < N_KINDS; i++)
		for (int j = 0; j < N_SHARES; j++, ++*cell)
			if (al_has_spectrum(spectra, kinds[i]))
				al_cell_set_int(table, *cell,
					(int64_t)components(spectra, kinds[i], shares[j].share));
}

static void set_nulls(struct al_table *table, struct al_cell **cell,
	const struct al_spectra *spectra, const struct al_spectra *gaussian,
	const struct al_spectra *draws, size_t n)
{
	for (int i = 0; i < N_KINDS; i++, *cell += 4) {
		if (!al_has_spectrum(spectra, kinds[i]))
			continue;
		struct al_null_range range = al_null_components(draws, n, kinds[i], .9);
		al_cell_set_int(table, &(*cell)[0], (int64_t)components(gaussian, kinds[i], .9));
		al_cell_set_real(&(*cell)[1], range.mean);
		al_cell_set_real(&(*cell)[2], range.low);
		al_cell_set_real(&(*cell)[3], range.high);
	}
	struct al_null_range range = al_null_components(draws, n, AL_SPECTRUM_QK, .9);
	size_t n90 = components(spectra, AL_SPECTRUM_QK, .9);
	al_cell_set_real((*cell)++, al_redundancy(n90, range.mean));
	al_cell_set_real((*cell)++, al_redundancy(n90, range.low));
	al_cell_set_real((*cell)++, al_redundancy(n90, range.high));
}

static bool add_nulls(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_cell *cell, const struct al_spectra *spectra,
	struct al_error *err)
{
	const struct al_spectra *heads, *gaussian, *draws;

	if (!al_audit_gaussian(audit, module, &heads, &gaussian, err)
		|| !al_audit_draws(audit, module, &draws, err))
		return false;
	set_nulls(table, &cell, spectra, gaussian, draws, (size_t)audit->options.n_nulls);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_spectra *spectra;

	if (!al_audit_layer_spectra(audit, module, &spectra, err))
		return false;
	struct al_cell *cell = al_table_add_row(table);
	al_audit_set_module(table, &cell, module);
	set_components(table, &cell, spectra);
	return audit->options.n_nulls == 0 || add_nulls(audit, module, table, cell, spectra, err);
}

const struct al_measurement al_measurement_layers = {
	.id = "layers",
	.title = "Heads together, beside the nulls (components for a share of the squares)",
	.add_columns = add_columns,
	.add_module = add_module,
};
