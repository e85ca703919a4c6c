/* Correlation of heads: cosine and Pearson matrices of their forms. Pearson takes each form's mean
 * entry off first; the Pearson matrix of a complete orthonormal set can't be the identity, since
 * the all-ones direction is shared out among its members. So both are shown. */
#include "audit/measurement.h"

struct row {
	struct al_audit_place at;
	const char *form;
	size_t a, b;
	double cosine, pearson;
};

static const struct al_table_field fields[] = {
	AL_AUDIT_MODULE_FIELD,
	{AL_SHOW_KEY(struct row, form, "Form")},
	{{.key = "head_a", .title = "Head", .digits = AL_DIGITS_ALL}, AL_MEMBER(struct row, a)},
	{{.key = "head_b", .title = "and head", .digits = AL_DIGITS_ALL}, AL_MEMBER(struct row, b)},
	{AL_SHOW(struct row, cosine, "Cosine", .digits = 3)},
	{AL_SHOW(struct row, pearson, "Pearson", .digits = 3)},
	AL_FIELDS_END,
};

static void add_rows(const struct al_audit_module *module, enum al_form form, struct al_view s,
	const double *means, struct al_table *table)
{
	const double n = al_form_entries(&module->heads, form);

	for (size_t i = 0; i < s.rows; i++)
		for (size_t j = 0; j < s.cols; j++) {
			const double ii = s.data[i + i * s.ld], jj = s.data[j + j * s.ld],
				     ij = s.data[i + j * s.ld];
			al_table_add_record(table,
				&(struct row){al_audit_place_of(module), al_form_names[form], i, j,
					al_cosine(ij, ii, jj),
					al_cosine(ij - n * means[i] * means[j],
						ii - n * means[i] * means[i],
						jj - n * means[j] * means[j])});
		}
}

static bool add_form(struct al_audit_module *module, enum al_form form, struct al_table *table,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_view s;
	struct al_matrix means;

	if (!al_take(&scratch, &means, module->heads.n_heads, 1, err)
		|| !al_form_means(&module->heads, form, means.data, err)
		|| !al_audit_form_inner(module, form, &s, err))
		return false;
	add_rows(module, form, s, means.data, table);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	(void)audit;
	for (int form = 0; form < AL_N_FORMS; form++)
		if (al_has_form(&module->heads, (enum al_form)form)
			&& !add_form(module, (enum al_form)form, table, err))
			return false;
	return true;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	(void)audit;
	al_table_note(table,
		"Pearson correlation first subtracts each matrix's mean entry; for matrices that "
		"form a complete orthonormal basis it can't be the identity, because one of their "
		"linear combinations is constant");
}

/* A map of the heads of each module. */
#define MAP(form, column_name, color_title) \
	{ \
		.figure = \
			{ \
				.id = column_name "-" form, \
				.mark = "heatmap", \
				.x = {.column = "head_b", .title = "Head"}, \
				.y = {.column = "head_a", .title = "Head"}, \
				.color = {.column = column_name, .title = color_title}, \
				.is_diverging = true, \
				.leaves_diagonal = true, \
				.panel = "module", \
				.panels_a_row = 6, \
				.width_pt = AL_FIGURE_PAGE_PT, \
			}, \
		.only = {"form", form}, .modules_a_figure = 84, \
	}

static const struct al_drawing drawings[] = {
	MAP("qk", "cosine", "Cosine of heads' scores, $W_Q W_K^T$"),
	MAP("ov", "cosine", "Cosine of heads' values, $W_V W_O$"),
	MAP("qk", "pearson", "Pearson correlation of heads' scores, $W_Q W_K^T$"),
	MAP("ov", "pearson", "Pearson correlation of heads' values, $W_V W_O$"),
};

const struct al_measurement al_measurement_correlation = {
	.id = "correlation",
	.title = "Correlation between heads",
	.measured = AL_MEASURED_FOR_FILES,
	.needs = {.weights = true},
	.drawings = drawings,
	.n_drawings = sizeof(drawings) / sizeof(*drawings),
	.fields = fields,
	.add_module = add_module,
	.finish = finish,
};
