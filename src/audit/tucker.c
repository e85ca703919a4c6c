/* Tucker and CP against width: what the stack of a module's forms W_i = Q_i K_g^T costs in how many
 * parameters; the control truncates each head at its own singular values. */
#include "audit/control.h"
#include "audit/measurement.h"
#include "audit/score_tensor.h"

#include "linalg/cp.h"
#include "linalg/tucker.h"

/* Widths below the heads' full width, in eighths of it: of modules beyond WIDE fewer, whose work
 * grows as the cube of their width. */
static const size_t eighths[] = {1, 2, 3, 4, 6};
static const size_t wide_eighths[] = {1, 2, 4};
enum { WIDE = 2048 };

/* Operations that CP's sweeps may take at one width: some twenty seconds of a core. */
#define CP_FLOPS 1e12

/* CP ends where, at the rate of its last sweeps, 2,000 more lower the error by 0.8 %. */
enum { MOST_SWEEPS = 2000 };
#define CP_STOP (.008 / MOST_SWEEPS)

/* Heads that share dimensions but for noise leave less than this to Tucker, and CP may begin with
 * those dimensions. */
#define NOISE .2

struct row {
	struct al_audit_place at;
	const char *method, *core;
	size_t rank, parameters;
	struct al_control_row control;
};

static const struct al_table_field fields[] = {
	AL_AUDIT_PLACE_FIELDS,
	{AL_SHOW_KEY(struct row, method, "Method")},
	{AL_SHOW(struct row, core, "Core")},
	{AL_SHOW_WHOLE(struct row, rank, "Rank")},
	{AL_SHOW_COUNT(struct row, parameters, "Parameters")},
	AL_CONTROL_FIELDS(struct row, control),
	AL_FIELDS_END,
};

/* The module as a tensor, in the precision that its stored numbers deserve. */
struct measured {
	const struct al_audit_module *module;
	struct al_scratch scratch;
	struct al_heads tensor; /* in it, or a view */
	struct al_control control;
	size_t original;
	const struct al_audit_options *options;
	struct al_table *table;
};

static bool measured_init(struct measured *m, struct al_error *err)
{
	const struct al_heads *heads = &m->module->heads;

	m->original = heads->query.rows * heads->query.cols + heads->key.rows * heads->key.cols;
	return al_score_tensor_take(&m->scratch, heads, &m->tensor, err)
		&& al_control_init(&m->control, &m->tensor, err);
}

static void measured_finish(struct measured *m)
{
	al_scratch_finish(&m->scratch);
	al_control_finish(&m->control);
}

static void add_row(struct measured *m, const char *method, const char *core, size_t rank,
	size_t parameters, double error)
{
	al_table_add_record(m->table,
		&(struct row){al_audit_place_of(m->module), method, core, rank, parameters,
			al_control_compare(m->original, parameters, error,
				al_control_error(&m->control, parameters))});
}

static bool add_tucker(struct measured *m, size_t rank, double *error, struct al_error *err)
{
	const struct al_tucker_bounds bounds = al_tucker_bounds(&m->tensor);
	struct al_tucker_options options = {.modes = AL_TUCKER_PARTIAL,
		.seed = m->options->seed,
		.query_rank = al_least(rank, bounds.query),
		.key_rank = al_least(rank, bounds.key)};
	struct al_tucker tucker;

	al_tucker_refine(&m->tensor, &options);
	if (!al_tucker(&m->tensor, &options, &tucker, err))
		return false;
	add_row(m, "tucker", "factored", rank, al_tucker_parameters_factored(&tucker),
		tucker.relative_error);
	add_row(m, "tucker", "dense", rank, al_tucker_parameters_dense(&tucker),
		tucker.relative_error);
	*error = tucker.relative_error;
	al_tucker_finish(&tucker);
	return true;
}

/* 0: too few to converge. */
static size_t count_sweeps(const struct measured *m, size_t rank)
{
	const double n = CP_FLOPS / al_cp_sweep_flops(&m->tensor, rank);

	return n > MOST_SWEEPS ? MOST_SWEEPS : n < AL_CP_SWEEPS ? 0 : (size_t)n;
}

static bool decompose(struct measured *m, size_t rank, double tucker_error, double *error,
	struct al_error *err)
{
	const struct al_cp_options options = {.rank = rank,
		.start = tucker_error < NOISE ? AL_CP_AUTO : AL_CP_GREEDY,
		.n_sweeps = count_sweeps(m, rank),
		.stop = CP_STOP,
		.seed = m->options->seed};
	struct al_cp cp;

	if (!al_cp(&m->tensor, &options, &cp, err))
		return false;
	if (al_cp_has_settled(&cp))
		*error = cp.relative_error;
	else
		al_table_warn(m->table,
			"%s, rank %zu: collab did not converge in %zu sweeps; the error is at most "
			"%.4f",
			m->module->attention->name, rank, cp.n_sweeps, cp.relative_error);
	al_cp_finish(&cp);
	return true;
}

/* Beyond half of the full width the best terms nearly cancel each other, and sweeps crawl: by what
 * a tolerance stops at, thousands more gain several per cent. But where Tucker, which CP is a case
 * of, loses nothing, CP may lose nothing either. */
static bool is_within_reach(const struct measured *m, size_t rank, size_t bound,
	double tucker_error)
{
	return (2 * rank <= bound || tucker_error < AL_CP_SETTLED) && count_sweeps(m, rank) > 0;
}

/* No number where more sweeps would print another. */
static bool add_cp(struct measured *m, size_t rank, size_t bound, double tucker_error,
	struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(&m->tensor);
	double error = NAN;

	if (is_within_reach(m, rank, bound, tucker_error)
		&& !decompose(m, rank, tucker_error, &error, err))
		return false;
	add_row(m, "collab", NULL, rank, rank * (s.d_query + s.d_key + s.n_heads), error);
	return true;
}

static bool add_width(struct measured *m, size_t rank, size_t bound, struct al_error *err)
{
	const size_t sides = m->module->heads.query.rows + m->module->heads.key.rows;
	double tucker_error;
	char step[64];

	snprintf(step, sizeof(step), "width %zu of %zu", rank, bound);
	if (!al_watch_show(m->options->watch, step, 0, 0, err))
		return false;
	add_row(m, "truncate", NULL, rank, rank * sides, m->control.errors[rank]);
	return add_tucker(m, rank, &tucker_error, err) && add_cp(m, rank, bound, tucker_error, err);
}

/* At the heads' full width the error is 0: nothing to compute. */
static void add_full_width(struct measured *m, size_t bound)
{
	const struct al_heads_shape s = al_heads_shape(&m->tensor);
	const struct al_tucker_bounds b = al_tucker_bounds(&m->tensor);
	const struct al_tucker all = {.query = {.rows = s.d_query, .cols = b.query},
		.key = {.rows = s.d_key, .cols = b.key},
		.core_query = {.rows = b.query, .cols = s.n_heads * s.d_head},
		.core_key = {.rows = b.key, .cols = s.n_kv_heads * s.d_head},
		.n_heads = s.n_heads,
		.n_kv_heads = s.n_kv_heads};

	add_row(m, "truncate", NULL, bound, bound * (s.d_query + s.d_key),
		m->control.errors[bound]);
	add_row(m, "tucker", "factored", bound, al_tucker_parameters_factored(&all), 0);
	add_row(m, "tucker", "dense", bound, al_tucker_parameters_dense(&all), 0);
	add_row(m, "collab", NULL, bound, bound * (s.d_query + s.d_key + s.n_heads), 0);
}

static bool measure(struct measured *m, struct al_error *err)
{
	const size_t bound = al_cp_bound(&m->tensor);
	const bool is_wide = bound > WIDE;
	const size_t *widths = is_wide ? wide_eighths : eighths;
	const size_t n = is_wide ? sizeof(wide_eighths) / sizeof(*widths)
				 : sizeof(eighths) / sizeof(*widths);
	size_t before = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t rank = bound * widths[i] / 8;
		if (rank > before && !add_width(m, rank, bound, err))
			return false;
		before = rank;
	}
	add_full_width(m, bound);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct measured m = {.module = module, .options = &audit->options, .table = table};

	if (al_score_tensor_is_zero(&module->heads))
		return true;
	bool ok = measured_init(&m, err) && measure(&m, err);
	measured_finish(&m);
	return ok;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	(void)audit;
	al_table_note(table,
		"saving: relative to W_Q and W_K without biases; collab: sweeps stop when %d more "
		"reduce the error by less than 1 %%; no error is given for ranks above half the "
		"full rank, or whose %d sweeps need over %.0e operations: use compress --method "
		"collab --sweeps N",
		MOST_SWEEPS, AL_CP_SWEEPS, CP_FLOPS);
	al_table_note(table, "%s", al_control_note);
	al_table_note(table,
		"truncate: as many singular triples, chosen across all heads, so heads keep "
		"different ranks; compress --method qk keeps one rank for all heads");
}

/* ---- the figure: error against what is kept, module by module ---- */

struct point {
	const char *module, *method;
	double parameters, error; /* where the error isn't known the line has a gap */
};

static const struct al_table_field points_fields[] = {
	{AL_SHOW(struct point, module, NULL)},
	{AL_SHOW(struct point, method, NULL)},
	{AL_SHOW(struct point, parameters, NULL)},
	{AL_SHOW(struct point, error, NULL)},
	AL_FIELDS_END,
};

static void add_point(struct al_table *points, const struct al_table *rows, size_t row,
	const char *method, const char *error)
{
	struct point point = {al_table_text(rows, row, "module"), method, 0, NAN};

	if (!al_table_number(rows, row, "parameters", &point.parameters))
		return;
	(void)al_table_number(rows, row, error, &point.error);
	al_table_add_record(points, &point);
}

/* CP and the control at as many parameters share one row; Tucker's error has nothing to do with
 * how its core is kept. */
static void take_points(struct al_table *points, const struct al_table *rows)
{
	for (size_t row = 0; row < rows->n_rows; row++) {
		if (strcmp(al_table_text(rows, row, "method"), "collab") == 0) {
			add_point(points, rows, row, "CP", "relative_error");
			add_point(points, rows, row, "truncated heads", "control_error");
		} else if (strcmp(al_table_text(rows, row, "core"), "factored") == 0) {
			add_point(points, rows, row, "Tucker", "relative_error");
		}
	}
}

static const struct al_drawing drawing = {
	.figure =
		{
			.id = "width",
			.mark = "line",
			.x = {.column = "parameters", .title = "Query and key numbers kept"},
			.y = {.column = "error", .title = "Relative error", .has_min = true},
			.series = "method",
			.panel = "module",
			.width_pt = AL_FIGURE_PAGE_PT,
			.height_pt = 200,
			.legend = true,
		},
	.modules_a_figure = 3,
	.points = points_fields,
	.take_points = take_points,
};

const struct al_measurement al_measurement_tucker = {
	.id = "tucker",
	.title = "Error by shared width: Tucker, CP and truncated heads",
	.measured = AL_MEASURED_WHEN_NAMED,
	.needs_own_keys = true,
	.needs = {.weights = true},
	.drawings = &drawing,
	.n_drawings = 1,
	.fields = fields,
	.add_module = add_module,
	.finish = finish,
};
