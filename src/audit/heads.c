/* Heads: rank and spectrum of every head on its own: W_Q^(i) W_K^(i)T, W_V^(i) W_O^(i), W_Q^(i) and
 * W_K^(i). */
#include "audit/measurement.h"
#include "audit/measures.h"
#include "audit/summary.h"

static const enum al_spectrum kinds[] = {AL_SPECTRUM_QK, AL_SPECTRUM_OV, AL_SPECTRUM_Q,
	AL_SPECTRUM_K};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

struct row {
	struct al_audit_place at;
	size_t head, kv_head;
	struct al_measures of[N_KINDS];
	double bias_share;
	const char *route, *tolerance;
};

static const struct al_table_field names[] = {
	AL_AUDIT_PLACE_FIELDS,
	{AL_SHOW_KEY(struct row, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW_WHOLE(struct row, kv_head, "KV head")},
	AL_FIELDS_END,
};

/* One spectrum's columns. */
static const struct al_table_field measures[] = {
	{AL_SHOW(struct al_measures, rank, "rank")},
	{AL_SHOW(struct al_measures, stable_rank, "stable rank", .digits = 1)},
	{AL_SHOW(struct al_measures, effective_rank, "effective rank", .digits = 1)},
	{AL_SHOW(struct al_measures, n50, "50 %")},
	{AL_SHOW(struct al_measures, n90, "90 %")},
	{AL_SHOW(struct al_measures, n95, "95 %")},
	{AL_SHOW(struct al_measures, n99, "99 %")},
	{AL_SHOW(struct al_measures, norm, "norm", .digits = 3)},
	AL_FIELDS_END,
};

static const struct al_table_field others[] = {
	{{.key = "qk_bias_share", .title = "of scores from biases", .digits = 3},
		AL_MEMBER(struct row, bias_share)},
	{AL_SHOW(struct row, route, "route")},
	{{.key = "rank_tolerance", .title = "ranks count above", .unit = "of the largest value"},
		AL_MEMBER(struct row, tolerance)},
	AL_FIELDS_END,
};

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	(void)audit;
	al_table_add_fields(table, names, 0);
	for (size_t i = 0; i < N_KINDS; i++)
		al_table_add_group(table, al_spectrum_names[kinds[i]], measures,
			offsetof(struct row, of) + i * sizeof(struct al_measures), 0);
	al_table_add_fields(table, others, 0);
}

/* The longer side of the matrix behind a spectrum. */
static size_t dimension_of(const struct al_heads *heads, enum al_spectrum kind)
{
	size_t rows = kind == AL_SPECTRUM_Q ? heads->query.rows : heads->key.rows;
	size_t other = rows;

	if (kind == AL_SPECTRUM_OV) {
		rows = heads->value.rows;
		other = heads->output.rows;
	} else if (kind == AL_SPECTRUM_QK)
		other = heads->query.rows;
	return al_most(rows, other);
}

/* How the triangular factors of the head's query and key were found. */
static const char *route_of(const struct al_audit_module *module, size_t head, size_t kv_head)
{
	return module->triangles.of[AL_QUERY].routes[head] == AL_ROUTE_QR
			|| module->triangles.of[AL_KEY].routes[kv_head] == AL_ROUTE_QR
		? "qr"
		: "cholesky";
}

/* The part of a head's squared scores on [x, 1] that biases make: without rotary positions that
 * of its content bias W_K b_Q. */
static bool find_bias_share(double *share, const struct al_audit_module *module,
	const struct al_spectra *spectra, size_t head, struct al_error *err)
{
	const struct al_view qk = al_columns(al_view(spectra->values[AL_SPECTRUM_QK]), head, 1);
	double squared;

	if (!al_form_bias(&module->triangles, &module->heads, AL_FORM_QK, head, &squared, err))
		return false;
	const struct al_measures m = al_measure(qk.data, qk.rows, 1, 0);
	*share = squared / (squared + m.norm * m.norm);
	return true;
}

static struct al_measures measure(const struct al_audit_module *module,
	const struct al_spectra *spectra, enum al_spectrum kind, size_t column)
{
	const struct al_matrix values = spectra->values[kind];
	const double unit = module->heads.unit;
	struct al_measures m = {0, INT64_MIN, NAN, NAN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN,
		NAN};

	if (al_has_spectrum(spectra, kind))
		m = al_measure(values.data + column * values.ld, values.rows,
			dimension_of(&module->heads, kind), unit);
	if (!al_rank_is_told(unit))
		m.rank = INT64_MIN;
	return m;
}

static bool add_head(struct al_audit_module *module, const struct al_spectra *spectra, size_t head,
	struct al_table *table, struct al_error *err)
{
	const double unit = module->heads.unit;
	const size_t kv_head = al_kv_head(&module->heads, head);
	struct row row = {.at = al_audit_place_of(module),
		.head = head,
		.kv_head = kv_head,
		.route = route_of(module, head, kv_head)};

	if (!find_bias_share(&row.bias_share, module, spectra, head, err))
		return false;
	if (al_rank_is_told(unit))
		row.tolerance = al_format(&table->arena, "%.2g",
			al_rank_tolerance(dimension_of(&module->heads, AL_SPECTRUM_QK), unit));
	for (int i = 0; i < N_KINDS; i++)
		row.of[i] = measure(module, spectra, kinds[i],
			kinds[i] == AL_SPECTRUM_K ? kv_head : head);
	al_table_add_record(table, &row);
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_spectra *spectra;

	(void)audit;
	if (!al_audit_head_spectra(module, &spectra, err))
		return false;
	for (size_t i = 0; i < module->heads.n_heads; i++)
		if (!add_head(module, spectra, i, table, err))
			return false;
	return true;
}

static void summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *heads)
{
	struct al_range n90 = al_range_of(&summary->arena, heads, "qk_n90", NULL, NULL);

	al_summary_add(summary, "one head",
		al_format(&summary->arena, "rank %s%s captures 90 %% of its scores",
			al_range_text(&summary->arena, n90, 0),
			al_summary_of(&summary->arena, audit->view,
				offsetof(struct al_attention, d_head))));
}

const struct al_measurement al_measurement_heads = {
	.id = "heads",
	.title = "Ranks of single heads",
	.add_columns = add_columns,
	.add_module = add_module,
	.summary = {{AL_SUMMARY_HEAD_ALONE, summarize}},
};
