/* Heads: rank and spectrum of every head on its own: W_Q^(i) W_K^(i)T, W_V^(i) W_O^(i), W_Q^(i) and
 * W_K^(i). */
#include "audit/measurement.h"
#include "audit/measures.h"
#include "audit/summary.h"

static const enum al_spectrum kinds[] = {AL_SPECTRUM_QK, AL_SPECTRUM_OV, AL_SPECTRUM_Q,
	AL_SPECTRUM_K};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };
enum {
	SPECTRA = AL_SPECTRUM_BIT(AL_SPECTRUM_QK) | AL_SPECTRUM_BIT(AL_SPECTRUM_OV)
		| AL_SPECTRUM_BIT(AL_SPECTRUM_Q) | AL_SPECTRUM_BIT(AL_SPECTRUM_K)
};

/* One of the columns of a spectrum. */
static const struct measure {
	const char *name, *title;
	int digits;
} columns[] = {
	{"rank", "rank", 0},
	{"stable_rank", "stable rank", 1},
	{"effective_rank", "effective rank", 1},
	{"n50", "50 %", 0},
	{"n90", "90 %", 0},
	{"n95", "95 %", 0},
	{"n99", "99 %", 0},
	{"norm", "norm", 3},
};
enum { N_COLUMNS = sizeof(columns) / sizeof(*columns) };

struct row {
	struct al_audit_place at;
	size_t head, kv_head;
	double bias_share;
	const char *route, *tolerance;
};

static const struct al_table_field names[] = {
	AL_AUDIT_PLACE_FIELDS,
	{{.key = "head", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
		AL_MEMBER(struct row, head)},
	{{.key = "kv_head", .title = "KV head", .digits = AL_DIGITS_ALL},
		AL_MEMBER(struct row, kv_head)},
	AL_FIELDS_END,
};
enum { N_NAMES = sizeof(names) / sizeof(*names) - 1 };

static const struct al_table_field others[] = {
	{{.key = "qk_bias_share", .title = "of scores by biases", .digits = 3},
		AL_MEMBER(struct row, bias_share)},
	{{.key = "route", .title = "route"}, AL_MEMBER(struct row, route)},
	{{.key = "rank_tolerance", .title = "ranks count above", .unit = "of the largest value"},
		AL_MEMBER(struct row, tolerance)},
	AL_FIELDS_END,
};

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	(void)audit;
	al_table_add_fields(table, names, 0);
	for (int i = 0; i < N_KINDS; i++)
		for (int j = 0; j < N_COLUMNS; j++)
			al_table_add_column(table,
				(struct al_column){.key = al_format(&table->arena, "%s_%s",
							   al_spectrum_names[kinds[i]],
							   columns[j].name),
					.title = columns[j].title,
					.group = al_spectrum_names[kinds[i]],
					.digits = columns[j].digits});
	al_table_add_fields(table, others, 0);
}

static void set_measures(struct al_table *table, struct al_cell *cell, const struct al_measures *m,
	bool has_rank)
{
	if (has_rank)
		al_cell_set_int(table, cell, (int64_t)m->rank);
	cell++;
	al_cell_set_real(cell++, m->stable_rank);
	al_cell_set_real(cell++, m->effective_rank);
	al_cell_set_int(table, cell++, (int64_t)m->n50);
	al_cell_set_int(table, cell++, (int64_t)m->n90);
	al_cell_set_int(table, cell++, (int64_t)m->n95);
	al_cell_set_int(table, cell++, (int64_t)m->n99);
	al_cell_set_real(cell, m->norm);
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
	return rows > other ? rows : other;
}

/* How the triangular factors of the head's query and key were found. */
static const char *route_of(const struct al_audit_module *module, size_t head, size_t kv_head)
{
	const enum al_route *q = module->triangles.of[AL_QUERY].routes;
	const enum al_route *k = module->triangles.of[AL_KEY].routes;
	bool is_qr = (q && q[head] == AL_ROUTE_QR) || (k && k[kv_head] == AL_ROUTE_QR);

	return is_qr ? "qr" : "cholesky";
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

static bool add_head(struct al_audit_module *module, const struct al_spectra *spectra, size_t head,
	struct al_table *table, struct al_error *err)
{
	const double unit = module->heads.unit;
	const bool has_rank = al_rank_is_told(unit);
	const size_t kv_head = al_kv_head(&module->heads, head);
	struct row row = {.at = al_audit_place_of(module),
		.head = head,
		.kv_head = kv_head,
		.route = route_of(module, head, kv_head)};

	if (!find_bias_share(&row.bias_share, module, spectra, head, err))
		return false;
	if (has_rank)
		row.tolerance = al_format(&table->arena, "%.2g",
			al_rank_tolerance(dimension_of(&module->heads, AL_SPECTRUM_QK), unit));
	struct al_cell *cell = al_table_add_record(table, &row) + N_NAMES;
	for (int i = 0; i < N_KINDS; i++, cell += N_COLUMNS) {
		const struct al_matrix *values = &spectra->values[kinds[i]];
		const size_t column = kinds[i] == AL_SPECTRUM_K ? kv_head : head;
		if (!al_has_spectrum(spectra, kinds[i]))
			continue;
		struct al_measures m = al_measure(values->data + column * values->ld, values->rows,
			dimension_of(&module->heads, kinds[i]), unit);
		set_measures(table, cell, &m, has_rank);
	}
	return true;
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_spectra *spectra;

	if (!al_audit_head_spectra(audit, module, SPECTRA, &spectra, err))
		return false;
	for (size_t i = 0; i < module->heads.n_heads; i++)
		if (!add_head(module, spectra, i, table, err))
			return false;
	return true;
}

static void summarise(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *heads)
{
	struct al_range n90 = al_range_of(&summary->arena, heads, "qk_n90", NULL, NULL);

	al_summary_add(summary, "a head alone",
		al_format(&summary->arena, "rank %s%s holds 90 %% of its scores",
			al_range_text(&summary->arena, n90, 0),
			al_summary_of(&summary->arena, audit->view,
				offsetof(struct al_attention, d_head))));
}

const struct al_measurement al_measurement_heads = {
	.id = "heads",
	.title = "Heads on their own",
	.needs = {.head_spectra = SPECTRA},
	.add_columns = add_columns,
	.add_module = add_module,
	.summary = {{AL_SUMMARY_HEAD_ALONE, summarise}},
};
