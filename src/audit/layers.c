/* Layers: all heads of a module together, compared with what random weights of the same shape and
 * independent heads of the same spectra would show. */
#include "audit/measurement.h"
#include "audit/measures.h"
#include "audit/summary.h"

/* One spectrum's cells. */
struct kind {
	int64_t components[AL_N_SHARES], gaussian; /* INT64_MIN: there is none */
	struct al_null_range independent;
};

struct row {
	struct al_audit_place at;
	struct kind of[AL_N_SPECTRA];
	struct al_null_range redundancy; /* the mean over the draws, the lowest and the highest */
	double sum_redundancy;
};

/* ---- columns ---- */

/* Draws have a lowest and a highest. */
enum { DRAWN = 1 };

static const struct al_table_field names[] = {AL_AUDIT_PLACE_FIELDS, AL_FIELDS_END};

static const struct al_table_field counts[] = {
	{{.key = "n50", .title = "50 %"}, AL_MEMBER(struct kind, components[0])},
	{{.key = "n90", .title = "90 %"}, AL_MEMBER(struct kind, components[1])},
	{{.key = "n95", .title = "95 %"}, AL_MEMBER(struct kind, components[2])},
	{{.key = "n99", .title = "99 %"}, AL_MEMBER(struct kind, components[3])},
	AL_FIELDS_END,
};

static const struct al_table_field nulls[] = {
	{{.key = "gaussian_n90", .title = "Gaussian"}, AL_MEMBER(struct kind, gaussian)},
	{{.key = "independent_n90", .title = "independent", .digits = 1},
		AL_MEMBER(struct kind, independent.mean)},
	{{.key = "independent_n90_low", .title = "lowest"}, AL_MEMBER(struct kind, independent.low),
		.when = DRAWN},
	{{.key = "independent_n90_high", .title = "highest"},
		AL_MEMBER(struct kind, independent.high), .when = DRAWN},
	AL_FIELDS_END,
};

static const struct al_table_field redundancies[] = {
	{{.key = "redundancy", .digits = 3}, AL_MEMBER(struct row, redundancy.mean)},
	{{.key = "redundancy_low", .digits = 3}, AL_MEMBER(struct row, redundancy.low),
		.when = DRAWN},
	{{.key = "redundancy_high", .digits = 3}, AL_MEMBER(struct row, redundancy.high),
		.when = DRAWN},
	{AL_SHOW(struct row, sum_redundancy, "of the heads' sum", .digits = 3)},
	AL_FIELDS_END,
};

static void add_groups(struct al_table *table, const struct al_table_field *fields, unsigned shown)
{
	for (size_t i = 0; i < AL_N_SPECTRA; i++)
		al_table_add_group(table, al_spectrum_names[i], fields,
			offsetof(struct row, of) + i * sizeof(struct kind), shown);
}

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	const bool is_drawn = audit->options.n_nulls > 0 || audit->options.covariance;
	const unsigned shown = is_drawn ? DRAWN : 0;

	al_table_add_fields(table, names, 0);
	add_groups(table, counts, 0);
	if (audit->options.n_nulls == 0)
		return;
	add_groups(table, nulls, shown);
	al_table_add_fields(table, redundancies, shown);
}

/* ---- rows ---- */

static int64_t components(const struct al_spectra *spectra, int kind, double share)
{
	const struct al_matrix *values = &spectra->values[kind];

	return al_has_spectrum(spectra, (enum al_spectrum)kind)
		? (int64_t)al_components(values->data, values->rows, share)
		: INT64_MIN;
}

static struct al_null_range find_redundancy(const struct al_spectra *spectra,
	const struct al_spectra *draws, size_t n, const struct al_thinned *thinned)
{
	struct al_null_range range = {0, INFINITY, -INFINITY};

	for (size_t i = 0; i < n; i++) {
		const double r = al_redundancy(spectra, &draws[i], thinned);
		range.mean += r;
		range.low = fmin(range.low, r);
		range.high = fmax(range.high, r);
	}
	range.mean /= (double)n;
	return range;
}

/* A module's nulls: as many draws of them as there are, or one that is computed. */
static bool set_nulls(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct row *row, const struct al_spectra *spectra,
	struct al_error *err)
{
	const struct kind *sum = &row->of[AL_SPECTRUM_QK];
	const struct al_spectra *heads, *gaussian, *draws;

	if (!al_audit_gaussian(audit, module, &heads, &gaussian, err)
		|| !al_audit_draws(audit, module, &draws, err))
		return false;
	for (int i = 0; i < AL_N_SPECTRA; i++) {
		/* Of weights that no inputs weigh. */
		row->of[i].gaussian = audit->options.covariance ? INT64_MIN
								: components(gaussian, i, .9);
		if (al_has_spectrum(spectra, (enum al_spectrum)i))
			row->of[i].independent = al_null_components(draws, module->n_draws,
				(enum al_spectrum)i, .9);
	}
	row->redundancy = find_redundancy(spectra, draws, module->n_draws, &module->thinned);
	/* Spectrum of the heads' sum, in which heads may cancel each other. */
	row->sum_redundancy = sum->independent.mean > 0
		? 1 - (double)sum->components[1] / sum->independent.mean
		: 0;
	if (module->is_drawn)
		al_table_note(table,
			"%s: unrelated heads by the mean of %zu random draws, because the closed "
			"form failed",
			module->attention->name, module->n_draws);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct row row = {.at = al_audit_place_of(module)};
	const struct al_spectra *spectra;

	if (!al_audit_layer_spectra(audit, module, 0, AL_ALL_SPECTRA, &spectra, err))
		return false;
	for (int i = 0; i < AL_N_SPECTRA; i++) {
		row.of[i].independent = (struct al_null_range){NAN, NAN, NAN};
		for (int j = 0; j < AL_N_SHARES; j++)
			row.of[i].components[j] = components(spectra, i, al_shares[j]);
	}
	if (audit->options.n_nulls != 0 && !set_nulls(audit, module, table, &row, spectra, err))
		return false;
	al_table_add_record(table, &row);
	return true;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	if (audit->options.n_nulls != 0)
		al_table_note(table,
			"redundancy: 1 - h/H, where h unrelated heads need as many components for "
			"90 %% of their scores as these H heads (W_1 to W_H concatenated), counted "
			"with fractions; "
			"sum_redundancy: 1 - qk_n90/qk_independent_n90, for the sum of the heads");
}

/* ---- the summary ---- */

struct extent {
	int64_t low, high;
};

static void extend(struct extent *x, int64_t value)
{
	x->low = al_least(value, x->low);
	x->high = al_most(value, x->high);
}

static const char *print_whole(struct al_arena *arena, struct extent x)
{
	return x.low == x.high
		? al_format(arena, "%lld", (long long)x.low)
		: al_format(arena, "%lld to %lld", (long long)x.low, (long long)x.high);
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
	struct extent heads = {INT64_MAX, 0}, kv = {INT64_MAX, 0}, width = {INT64_MAX, 0};
	struct al_arena *arena = &summary->arena;

	for (size_t row = 0; row < layers->n_rows; row++) {
		const struct al_attention *a = find_module(audit->view,
			al_table_text(layers, row, "module"));
		if (!a)
			continue;
		extend(&heads, a->n_heads);
		extend(&kv, a->n_kv_heads);
		extend(&width, a->d_head);
	}
	al_summary_add(summary, "modules",
		al_format(arena, "%zu, each of %s heads%s of width %s", layers->n_rows,
			print_whole(arena, heads),
			kv.low == heads.low && kv.high == heads.high
				? ""
				: al_format(arena, " on %s keys", print_whole(arena, kv)),
			print_whole(arena, width)));
}

/* Without a sign where it rounds to 0. */
static double whole_percent(double share)
{
	return rint(100 * share) + 0.0;
}

static void summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *layers)
{
	struct al_arena *arena = &summary->arena;

	al_summary_add(summary, "all heads together",
		al_format(arena, "rank %s captures 90 %% of their scores",
			al_range_text(arena, al_range_of(arena, layers, "qk_n90", NULL, NULL), 0)));
	if (audit->options.n_nulls == 0)
		return;
	struct al_range independent = al_range_of(arena, layers, "qk_independent_n90", NULL, NULL);
	struct al_range gaussian = al_range_of(arena, layers, "qk_gaussian_n90", NULL, NULL);
	al_summary_add(summary, "for comparison",
		al_format(arena, "%.0f if the heads were unrelated%s", independent.middle,
			gaussian.n == 0
				? ""
				: al_format(arena, ", %.0f for random weights", gaussian.middle)));
	const struct al_range overlap = al_range_of(arena, layers, "redundancy", NULL, NULL);
	const double more = whole_percent(overlap.middle);
	al_summary_add(summary, "overlap between heads",
		al_format(arena, "%s more than unrelated heads would have%s",
			more > 0 ? al_format(arena, "%.0f %%", more) : "no",
			overlap.n < 2
				? ""
				: al_format(arena, " (%.0f to %.0f %% by layer)",
					whole_percent(overlap.low), whole_percent(overlap.high))));
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

/* By layer, or by module where layers are ambiguous. */
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
			.title = "Redundancy compared with unrelated heads",
			.mark = "bar",
			.x = {.column = "place"},
			.y = {.column = "redundancy", .title = "Redundancy"},
		},
	.take_points = take_redundancy,
};

const struct al_measurement al_measurement_layers = {
	.id = "layers",
	.title = "Dimensions needed for a share of the energy: all heads of a layer, and unrelated "
		 "heads",
	.needs = {.weights = true},
	.add_columns = add_columns,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.columns = {"module", "q_n90", "k_n90", "ov_n90", "qk_n90",
			       "qk_gaussian_n90", "qk_independent_n90", "redundancy"}},
	.summary = {{AL_SUMMARY_MODULES, add_modules}, {AL_SUMMARY_HEADS_TOGETHER, summarize}},
	.drawings = &drawing,
	.n_drawings = 1,
};
