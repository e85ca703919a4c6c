/* The mixing matrix of collaborative attention at half of the heads' width: which shared dimensions
 * each head takes. */
#include "audit/measurement.h"
#include "audit/score_tensor.h"

#include "linalg/cp.h"

enum { SWEEPS = 20 };

struct row {
	struct al_audit_place at;
	size_t head, dimension;
	double weight;
};

static const struct al_table_field fields[] = {
	AL_AUDIT_MODULE_FIELD,
	{AL_SHOW_WHOLE(struct row, head, "Head")},
	{AL_SHOW_WHOLE(struct row, dimension, "Shared dimension")},
	{AL_SHOW(struct row, weight, "Weight", .digits = 3)},
	AL_FIELDS_END,
};

static size_t strongest_head(struct al_matrix mixing, size_t dimension)
{
	const double *column = mixing.data + dimension * mixing.ld;
	size_t best = 0;

	for (size_t i = 1; i < mixing.rows; i++)
		if (fabs(column[i]) > fabs(column[best]))
			best = i;
	return best;
}

/* The order of dimensions is free: those in which a head is the strongest are put together. */
static void add_mixing(struct al_table *table, const char *module, struct al_matrix mixing)
{
	size_t place = 0;

	for (size_t head = 0; head < mixing.rows; head++)
		for (size_t r = 0; r < mixing.cols; r++) {
			if (strongest_head(mixing, r) != head)
				continue;
			for (size_t i = 0; i < mixing.rows; i++)
				al_table_add_record(table,
					&(struct row){{module, 0}, i, place,
						mixing.data[i + r * mixing.ld]});
			place++;
		}
}

static bool mix(const struct al_heads *heads, const char *module, uint64_t seed,
	struct al_table *table, struct al_error *err)
{
	const size_t width = (al_cp_bound(heads) / heads->n_heads + 1) / 2;
	const struct al_cp_options options = {.rank = width * heads->n_heads,
		.start = AL_CP_AUTO,
		.n_sweeps = SWEEPS,
		.stop = 1e-5,
		.seed = seed};
	struct al_cp cp;

	if (!al_cp(heads, &options, &cp, err))
		return false;
	add_mixing(table, module, cp.mixing);
	al_cp_finish(&cp);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_heads tensor;

	return al_score_tensor_is_zero(&module->heads)
		|| (al_score_tensor_take(&scratch, &module->heads, &tensor, err)
			&& mix(&tensor, module->attention->name, audit->options.seed, table, err));
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	(void)audit;
	al_table_note(table,
		"mixing weights m_ir for shared dimensions of half the heads' width, "
		"columns scaled to length 1, at most %d sweeps; dimensions are sorted "
		"by the head with the largest weight",
		SWEEPS);
}

/* ---- the figure: a module's mixing, compared with concatenation at the same width ---- */

struct point {
	const char *panel;
	double dimension, head, weight;
};

static const struct al_table_field points_fields[] = {
	{AL_SHOW(struct point, panel, NULL)},
	{AL_SHOW(struct point, dimension, NULL)},
	{AL_SHOW(struct point, head, NULL)},
	{AL_SHOW(struct point, weight, NULL)},
	AL_FIELDS_END,
};

/* Concatenated heads: every dimension belongs to one. */
static void add_blocks(struct al_table *points, size_t n_heads, size_t n_dimensions)
{
	for (size_t r = 0; r < n_dimensions; r++)
		for (size_t i = 0; i < n_heads; i++)
			al_table_add_record(points,
				&(struct point){"concatenated heads", (double)r, (double)i,
					r * n_heads / n_dimensions == i});
}

/* A module's rows end with its last head and dimension. */
static void take_points(struct al_table *points, const struct al_table *rows)
{
	struct point point = {"collaborative heads", 0, 0, 0};

	for (size_t row = 0; row < rows->n_rows; row++)
		if (al_table_number(rows, row, "dimension", &point.dimension)
			&& al_table_number(rows, row, "head", &point.head)
			&& al_table_number(rows, row, "weight", &point.weight))
			al_table_add_record(points, &point);
	add_blocks(points, (size_t)point.head + 1, (size_t)point.dimension + 1);
}

static const struct al_drawing drawing = {
	.figure =
		{
			.id = "mixing",
			.title = "Mixing",
			.mark = "heatmap",
			.x = {.column = "dimension", .title = "Shared dimension"},
			.y = {.column = "head", .title = "Head"},
			.color = {.column = "weight",
				.title = "Weight of a shared dimension in a head",
				.has_min = true,
				.has_max = true,
				.min = -1,
				.max = 1},
			.is_diverging = true,
			.panel = "panel",
			.width_pt = AL_FIGURE_PAGE_PT,
			.height_pt = 200,
		},
	.modules_a_figure = 1,
	.is_titled_by_module = true,
	.points = points_fields,
	.take_points = take_points,
};

const struct al_measurement al_measurement_mixing = {
	.id = "mixing",
	.title = "Mixing of shared dimensions",
	.measured = AL_MEASURED_WHEN_NAMED,
	.needs_own_keys = true,
	.needs = {.weights = true},
	.drawings = &drawing,
	.n_drawings = 1,
	.fields = fields,
	.add_module = add_module,
	.finish = finish,
};
