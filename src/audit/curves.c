/* Curves: the share of the squares that each component captures, head by head and all heads
 * together. */
#include "audit/measurement.h"
#include "audit/measures.h"

/* A component of a curve. Whose curve it is: INT64_MIN: of all heads together, of no draw. */
struct row {
	struct al_audit_place at;
	int64_t head, draw;
	const char *matrix;
	size_t component;
	double share, cumulative;
};

static const struct al_table_field fields[] = {
	AL_AUDIT_MODULE_FIELD,
	{AL_SHOW_KEY(struct row, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct row, draw, "Draw", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_KEY(struct row, matrix, "Matrix")},
	{AL_SHOW_WHOLE(struct row, component, "Component")},
	{AL_SHOW(struct row, share, "Share", .digits = 5)},
	{AL_SHOW(struct row, cumulative, "Captured", .digits = 5)},
	AL_FIELDS_END,
};

static void add_curve(const struct row *subject, const double *values, size_t n,
	struct al_table *table)
{
	double *share = al_alloc(2 * n, sizeof(*share));
	struct row row = *subject;

	al_captured(values, n, share, share + n);
	for (size_t i = 0; i < n; i++) {
		row.component = i + 1;
		row.share = share[i];
		row.cumulative = share[n + i];
		al_table_add_record(table, &row);
	}
	free(share);
}

/* A spectrum of every head, or the one of all heads. */
static void add_spectrum(const struct row *first, struct al_matrix values, struct al_table *table)
{
	struct row subject = *first;

	for (size_t j = 0; j < values.cols; j++) {
		subject.head = first->head < 0 ? INT64_MIN : (int64_t)j;
		add_curve(&subject, values.data + j * values.ld, values.rows, table);
	}
}

static void add_spectra(const struct al_audit_module *module, const struct al_spectra *spectra,
	int64_t first_head, struct al_table *table)
{
	for (int kind = 0; kind < AL_N_SPECTRA; kind++) {
		const struct row subject = {al_audit_place_of(module), first_head, INT64_MIN,
			al_spectrum_names[kind], 0, 0, 0};
		add_spectrum(&subject, spectra->values[kind], table);
	}
}

/* Of the product W_Q W_K^T: in Gaussian weights, of each head and of all together, "qk_gaussian",
 * and in every draw of independent heads, or as computed, "qk_independent". */
static bool add_nulls(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct row subject = {al_audit_place_of(module), 0, INT64_MIN, "qk_gaussian", 0, 0, 0};
	const struct al_spectra *heads, *layer, *draws;

	if (audit->options.n_nulls == 0)
		return true;
	if (!al_audit_gaussian(audit, module, &heads, &layer, err)
		|| !al_audit_draws(audit, module, &draws, err))
		return false;
	add_spectrum(&subject, heads->values[AL_SPECTRUM_QK], table);
	subject.head = INT64_MIN;
	add_spectrum(&subject, layer->values[AL_SPECTRUM_QK], table);
	subject.matrix = "qk_independent";
	for (subject.draw = 0; subject.draw < (int64_t)module->n_draws; subject.draw++)
		add_spectrum(&subject, draws[subject.draw].values[AL_SPECTRUM_QK], table);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_spectra *heads, *layer;

	if (!al_audit_head_spectra(module, &heads, err)
		|| !al_audit_layer_spectra(audit, module, AL_ALL_SPECTRA, 0, &layer, err))
		return false;
	add_spectra(module, heads, 0, table);
	add_spectra(module, layer, INT64_MIN, table);
	return add_nulls(audit, module, table, err);
}

/* ---- figures: single heads and all together; the heads of each module together, and by chance
 * ---- */

struct point {
	const char *panel, *series;
	int64_t strand;
	double component, captured;
};

static const struct al_table_field points_fields[] = {
	{AL_SHOW(struct point, panel, NULL)},
	{AL_SHOW(struct point, series, NULL)},
	{AL_SHOW(struct point, strand, NULL)},
	{AL_SHOW(struct point, component, NULL)},
	{AL_SHOW(struct point, captured, NULL)},
	AL_FIELDS_END,
};

/* A row as a point: by what it is the spectrum of. */
static const struct curve {
	const char *matrix;
	bool is_of_heads;
	const char *series;
} drawn[] =
	{
		{"q", true, "$W_Q$"},
		{"k", true, "$W_K$"},
		{"qk", true, "$W_Q W_K^T$"},
		{"q", false, "$W_Q$"},
		{"k", false, "$W_K$"},
		{"qk", false, "$W_Q W_K^T$"},
		{"qk_gaussian", true, "$W_Q W_K^T$ of Gaussian weights"},
		{"qk_gaussian", false, "$W_Q W_K^T$ of Gaussian weights"},
		{"qk_independent", false, "$W_Q W_K^T$ of independent heads"},
},
  drawn_of_modules[] = {
	  {"qk", false, "all heads together"},
	  {"qk_independent", false, "unrelated heads with the same spectra"},
};

static const char *const nulls[] = {"$W_Q W_K^T$ of Gaussian weights",
	"$W_Q W_K^T$ of independent heads"};

/* A strand begins where components begin again. Of modules one draw is drawn. */
static void take_curve(struct al_table *points, const struct al_table *rows,
	const struct curve *curve, bool is_of_modules, int64_t *strand)
{
	for (size_t row = 0; row < rows->n_rows; row++) {
		struct point point = {.series = curve->series};
		double head, draw;
		const bool is_of_heads = al_table_number(rows, row, "head", &head);
		if (is_of_heads != curve->is_of_heads
			|| strcmp(al_table_text(rows, row, "matrix"), curve->matrix) != 0
			|| (is_of_modules && al_table_number(rows, row, "draw", &draw) && draw > 0)
			|| !al_table_number(rows, row, "component", &point.component)
			|| !al_table_number(rows, row, "cumulative", &point.captured))
			continue;
		*strand += point.component == 1;
		point.strand = *strand;
		point.panel = is_of_modules ? al_table_text(rows, row, "module")
			: is_of_heads	    ? "Heads separately"
					    : "Heads concatenated";
		al_table_add_record(points, &point);
	}
}

static void take_points(struct al_table *points, const struct al_table *rows)
{
	int64_t strand = 0;

	for (size_t i = 0; i < sizeof(drawn) / sizeof(*drawn); i++)
		take_curve(points, rows, &drawn[i], false, &strand);
}

static void take_module_points(struct al_table *points, const struct al_table *rows)
{
	int64_t strand = 0;

	for (size_t i = 0; i < sizeof(drawn_of_modules) / sizeof(*drawn_of_modules); i++)
		take_curve(points, rows, &drawn_of_modules[i], true, &strand);
}

static const struct al_wished_tick ticks[] = {{0, NULL}, {.5, NULL}, {.9, NULL}, {1, NULL}},
				   few_ticks[] = {{0, NULL}, {.5, NULL}, {1, NULL}};

/* Captured variance over components. */
#define AXES(x_is_free, y_ticks) \
	.x = {.column = "component", .title = "Components", .is_free = (x_is_free)}, \
	.y = {.column = "captured", \
		.title = "Captured variance", \
		.has_min = true, \
		.has_max = true, \
		.max = 1, \
		.ticks = (y_ticks), \
		.n_ticks = sizeof(y_ticks) / sizeof(*(y_ticks))}

static const struct al_drawing drawings[] = {
	{
		.figure = {.id = "captured",
			.title = "Variance captured by the components of heads, separately and "
				 "together",
			.mark = "line",
			AXES(true, ticks),
			.series = "series",
			.strands = {.column = "strand",
				.bands = nulls,
				.n_bands = sizeof(nulls) / sizeof(*nulls)},
			.panel = "panel",
			.width_pt = AL_FIGURE_PAGE_PT,
			.height_pt = 200},
		.points = points_fields,
		.take_points = take_points,
	},
	{
		.figure = {.id = "beyond-chance",
			.title = "What heads share: captured variance of $W_Q W_K^T$",
			.mark = "line",
			AXES(false, few_ticks),
			.series = "series",
			.panel = "panel",
			.panels_a_row = 6,
			.width_pt = AL_FIGURE_PAGE_PT,
			.legend = true},
		.modules_a_figure = 84,
		.points = points_fields,
		.take_points = take_module_points,
	},
};

const struct al_measurement al_measurement_curves = {
	.id = "curves",
	.title = "Captured variance",
	.measured = AL_MEASURED_FOR_FILES,
	.needs = {.weights = true, .layer_spectra = AL_ALL_SPECTRA},
	.drawings = drawings,
	.n_drawings = sizeof(drawings) / sizeof(*drawings),
	.fields = fields,
	.add_module = add_module,
};
