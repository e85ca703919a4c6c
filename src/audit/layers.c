/* Layers: all heads of a module together, beside what random weights of the same shape and
 * independent heads of the same spectra would show. */
#include "audit/measurement.h"
#include "audit/measures.h"
#include "audit/summary.h"

#include <math.h>
#include <string.h>

static const enum al_spectrum kinds[] = {AL_SPECTRUM_Q, AL_SPECTRUM_K, AL_SPECTRUM_QK,
	AL_SPECTRUM_QU, AL_SPECTRUM_KU, AL_SPECTRUM_OV};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct share {
	const char *name, *title;
} shares[AL_N_SHARES] = {{"n50", "50 %"}, {"n90", "90 %"}, {"n95", "95 %"}, {"n99", "99 %"}};

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

/* Draws have a lowest and a highest. */
static bool is_drawn(const struct al_audit *audit)
{
	return audit->options.n_nulls > 0;
}

static void add_null_columns(struct al_table *table, const char *kind, bool has_draws)
{
	add_column(table, kind, "gaussian_n90", "Gaussian", 0);
	add_column(table, kind, "independent_n90", "independent", 1);
	if (has_draws) {
		add_column(table, kind, "independent_n90_low", "lowest", 0);
		add_column(table, kind, "independent_n90_high", "highest", 0);
	}
}

static void add_redundancy_columns(struct al_table *table, bool has_draws)
{
	static const struct al_column columns[] = {{.key = "redundancy", .digits = 3},
		{.key = "redundancy_low", .digits = 3}, {.key = "redundancy_high", .digits = 3},
		{.key = "sum_redundancy", .title = "of the heads' sum", .digits = 3}};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (has_draws || i == 0 || i == 3)
			al_table_add_column(table, columns[i]);
}

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	static const struct al_table_field place[] = {AL_AUDIT_PLACE_FIELDS, AL_FIELDS_END};

	al_table_add_fields(table, place, 0);
	for (int i = 0; i < N_KINDS; i++)
		for (int j = 0; j < AL_N_SHARES; j++)
			add_column(table, al_spectrum_names[kinds[i]], shares[j].name,
				shares[j].title, 0);
	for (int i = 0; audit->options.n_nulls != 0 && i < N_KINDS; i++)
		add_null_columns(table, al_spectrum_names[kinds[i]], is_drawn(audit));
	if (audit->options.n_nulls != 0)
		add_redundancy_columns(table, is_drawn(audit));
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
		for (int j = 0; j < AL_N_SHARES; j++, ++*cell)
			if (al_has_spectrum(spectra, kinds[i]))
				al_cell_set_int(table, *cell,
					(int64_t)components(spectra, kinds[i], al_shares[j]));
}

/* A module's nulls, as many draws of them as there are, or one that is computed. */
struct nulls {
	const struct al_spectra *gaussian, *independent;
	size_t n;
	bool has_draws;
};

static void set_nulls(struct al_table *table, struct al_cell **cell,
	const struct al_spectra *spectra, const struct nulls *nulls)
{
	const int n_columns = nulls->has_draws ? 4 : 2;

	for (int i = 0; i < N_KINDS; i++, *cell += n_columns) {
		if (!al_has_spectrum(spectra, kinds[i]))
			continue;
		struct al_null_range range = al_null_components(nulls->independent, nulls->n,
			kinds[i], .9);
		al_cell_set_int(table, &(*cell)[0],
			(int64_t)components(nulls->gaussian, kinds[i], .9));
		al_cell_set_real(&(*cell)[1], range.mean);
		if (!nulls->has_draws)
			continue;
		al_cell_set_real(&(*cell)[2], range.low);
		al_cell_set_real(&(*cell)[3], range.high);
	}
}

/* The mean over the draws, the lowest and the highest. */
static void set_redundancy(struct al_cell **cell, const struct al_spectra *spectra,
	const struct nulls *nulls, const struct al_thinned *thinned)
{
	double sum = 0, low = INFINITY, high = -INFINITY;

	for (size_t i = 0; i < nulls->n; i++) {
		const double r = al_redundancy(spectra, &nulls->independent[i], thinned);
		sum += r;
		low = fmin(low, r);
		high = fmax(high, r);
	}
	al_cell_set_real((*cell)++, sum / (double)nulls->n);
	if (!nulls->has_draws)
		return;
	al_cell_set_real((*cell)++, low);
	al_cell_set_real((*cell)++, high);
}

/* Of the heads' sum, in which they may cancel each other. */
static void set_sum_redundancy(struct al_cell *cell, const struct al_spectra *spectra,
	const struct al_spectra *draws, size_t n)
{
	const struct al_null_range range = al_null_components(draws, n, AL_SPECTRUM_QK, .9);
	const size_t n90 = components(spectra, AL_SPECTRUM_QK, .9);

	al_cell_set_real(cell, range.mean > 0 ? 1 - (double)n90 / range.mean : 0);
}

static bool add_nulls(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_cell *cell, const struct al_spectra *spectra,
	struct al_error *err)
{
	struct nulls nulls = {.has_draws = is_drawn(audit)};
	const struct al_spectra *heads;

	if (!al_audit_gaussian(audit, module, &heads, &nulls.gaussian, err)
		|| !al_audit_draws(audit, module, &nulls.independent, err))
		return false;
	nulls.n = module->n_draws;
	set_nulls(table, &cell, spectra, &nulls);
	set_redundancy(&cell, spectra, &nulls, &module->thinned);
	set_sum_redundancy(cell, spectra, nulls.independent, nulls.n);
	if (module->is_drawn)
		al_table_note(table,
			"%s: the null of independent heads is the mean of %zu draws, since it "
			"could not be computed",
			module->attention->name, nulls.n);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_spectra *spectra;

	if (!al_audit_layer_counts(audit, module, &spectra, err))
		return false;
	const struct al_audit_place place = al_audit_place_of(module);
	struct al_cell *cell = al_table_add_record(table, &place) + 2;
	set_components(table, &cell, spectra);
	return audit->options.n_nulls == 0 || add_nulls(audit, module, table, cell, spectra, err);
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	if (audit->options.n_nulls != 0)
		al_table_note(table,
			"redundancy: the share of independent heads without which as many "
			"components hold 90 %% of all heads' scores, W_1 to W_H side by side; "
			"sum_redundancy: 1 - qk_n90/qk_independent_n90, of their sum");
}

/* ---- the summary ---- */

static const char *print_whole(struct al_arena *arena, int64_t low, int64_t high)
{
	return low == high ? al_format(arena, "%lld", (long long)low)
			   : al_format(arena, "%lld to %lld", (long long)low, (long long)high);
}

static const struct al_attention *find_module(const struct al_model_view *view, const char *name)
{
	for (size_t i = 0; i < view->n_modules; i++)
		if (strcmp(view->modules[i].name, name) == 0)
			return &view->modules[i];
	return NULL;
}

static void add_modules(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *layers)
{
	struct {
		int64_t low, high;
	} heads = {INT64_MAX, 0}, kv = {INT64_MAX, 0}, width = {INT64_MAX, 0};
	struct al_arena *arena = &summary->arena;

	for (size_t row = 0; row < layers->n_rows; row++) {
		const struct al_attention *a = find_module(audit->view,
			al_table_text(layers, row, "module"));
		if (!a)
			continue;
		heads.low = a->n_heads < heads.low ? a->n_heads : heads.low;
		heads.high = a->n_heads > heads.high ? a->n_heads : heads.high;
		kv.low = a->n_kv_heads < kv.low ? a->n_kv_heads : kv.low;
		kv.high = a->n_kv_heads > kv.high ? a->n_kv_heads : kv.high;
		width.low = a->d_head < width.low ? a->d_head : width.low;
		width.high = a->d_head > width.high ? a->d_head : width.high;
	}
	al_summary_add(summary, "modules",
		al_format(arena, "%zu, each of %s heads%s of width %s", layers->n_rows,
			print_whole(arena, heads.low, heads.high),
			kv.low == heads.low && kv.high == heads.high
				? ""
				: al_format(arena, " on %s keys",
					print_whole(arena, kv.low, kv.high)),
			print_whole(arena, width.low, width.high)));
}

static void summarise(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *layers)
{
	struct al_arena *arena = &summary->arena;

	al_summary_add(summary, "heads together",
		al_format(arena, "rank %s holds 90 %% of their scores",
			al_range_text(arena, al_range_of(arena, layers, "qk_n90", NULL, NULL), 0)));
	if (audit->options.n_nulls == 0)
		return;
	struct al_range independent = al_range_of(arena, layers, "qk_independent_n90", NULL, NULL);
	struct al_range gaussian = al_range_of(arena, layers, "qk_gaussian_n90", NULL, NULL);
	al_summary_add(summary, "what chance gives",
		al_format(arena, "rank %.0f if heads were independent, %.0f for Gaussian weights",
			independent.middle, gaussian.middle));
	al_summary_add(summary, "redundancy",
		al_format(arena, "%s shared, beyond chance",
			al_range_text(arena, al_range_of(arena, layers, "redundancy", NULL, NULL),
				2)));
}

/* ---- redundancy, layer by layer ---- */

/* Self and cross attention have the same layers. */
static bool has_layer_twice(const struct al_table *table)
{
	double a, b;

	for (size_t i = 0; i < table->n_rows; i++)
		for (size_t j = 0; j < i; j++)
			if (al_table_number(table, i, "layer", &a)
				&& al_table_number(table, j, "layer", &b) && a == b)
				return true;
	return false;
}

/* By layer, or by module where that wouldn't tell them apart. */
static void take_redundancy(struct al_table *points, const struct al_table *layers)
{
	const int of = al_table_find_column(layers, has_layer_twice(layers) ? "module" : "layer");
	const int redundancy = al_table_find_column(layers, "redundancy");
	struct al_column place = layers->columns[of];

	if (redundancy < 0)
		return;
	place.key = "place";
	al_table_add_column(points, place);
	al_table_add_column(points, layers->columns[redundancy]);
	for (size_t row = 0; row < layers->n_rows; row++) {
		struct al_cell *cell = al_table_add_row(points);
		al_cell_copy(points, &cell[0], &layers->rows[row][of]);
		al_cell_copy(points, &cell[1], &layers->rows[row][redundancy]);
	}
}

static const struct al_drawing drawing = {
	.figure =
		{
			.id = "redundancy",
			.title = "Redundancy beyond independent heads",
			.mark = "bar",
			.x = {.column = "place"},
			.y = {.column = "redundancy", .title = "Redundancy"},
		},
	.take_points = take_redundancy,
};

const struct al_measurement al_measurement_layers = {
	.id = "layers",
	.title = "Heads together, beside what chance gives (components for a share of the squares)",
	.needs = {.weights = true},
	.add_columns = add_columns,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.columns = {"module", "q_n90", "k_n90", "ov_n90", "qk_n90",
			       "qk_gaussian_n90", "qk_independent_n90", "redundancy"}},
	.summary = {{AL_SUMMARY_MODULES, add_modules}, {AL_SUMMARY_HEADS_TOGETHER, summarise}},
	.drawings = &drawing,
	.n_drawings = 1,
};
