/* Similarity of heads: cosines of their forms, and the principal angles between the subspaces that
 * their queries, keys, values and outputs live in. */
#include "audit/measurement.h"
#include "audit/subspaces.h"
#include "audit/summary.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	(void)audit;
	al_table_add_column(table,
		(struct al_column){.key = "module_a", .title = "Module", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "head_a",
			.title = "Head",
			.digits = AL_DIGITS_ALL,
			.is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "module_b", .title = "and module", .is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "head_b",
			.title = "Head",
			.digits = AL_DIGITS_ALL,
			.is_key = true});
	al_table_add_column(table,
		(struct al_column){.key = "qk_cosine", .title = "QK cosine", .digits = 3});
	al_table_add_column(table,
		(struct al_column){.key = "ov_cosine", .title = "OV cosine", .digits = 3});
	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const char *name = al_projection_names[p];
		al_table_add_column(table,
			(struct al_column){.key = al_format(&table->arena, "%s_kernel", name),
				.title = "mean squared cosine",
				.group = name,
				.digits = 3});
		al_table_add_column(table,
			(struct al_column){.key = al_format(&table->arena, "%s_angle_min", name),
				.title = "smallest",
				.unit = "°",
				.group = name,
				.digits = 1});
		al_table_add_column(table,
			(struct al_column){.key = al_format(&table->arena, "%s_angle_max", name),
				.title = "largest",
				.unit = "°",
				.group = name,
				.digits = 1});
	}
}

/* ---- angles ---- */

/* All pairs of one projection: angles[i + j*n], i < j. */
struct angle_work {
	const struct al_bases *bases;
	struct al_matrix gram;
	struct al_angles *angles;
};

static bool find_pair(void *context, size_t index, struct al_error *err)
{
	const struct angle_work *work = context;
	const struct al_bases *b = work->bases;
	size_t i = index % b->n_heads, j = index / b->n_heads;

	if (i >= j)
		return true;
	struct al_matrix block = al_part(work->gram, i * b->width, j * b->width, b->ranks[i],
		b->ranks[j]);
	return al_angles_find(al_view(block), &work->angles[index], err);
}

static bool all_angles(const struct al_audit_module *module, enum al_projection p,
	struct al_angles *angles, struct al_error *err)
{
	struct al_bases bases;
	struct angle_work work = {.bases = &bases, .angles = angles};

	if (!al_bases_init(&bases, &module->heads, p, err))
		return false;
	bool ok = al_matrix_init(&work.gram, bases.u.cols, bases.u.cols, err)
		&& al_gram(AL_TRANSPOSED, al_view(bases.u), work.gram, err)
		&& al_parallel(bases.n_heads * bases.n_heads, find_pair, &work, err);
	al_matrix_finish(&work.gram);
	al_bases_finish(&bases);
	return ok;
}

/* ---- rows ---- */

struct pairs {
	struct al_view inner[AL_N_FORMS]; /* the module's */
	struct al_angles *angles[AL_N_PROJECTIONS];
	size_t n[AL_N_PROJECTIONS];
};

static void pairs_finish(struct pairs *pairs)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		free(pairs->angles[p]);
}

static bool pairs_init(struct pairs *pairs, struct al_audit_module *module, struct al_error *err)
{
	const struct al_heads *heads = &module->heads;
	bool ok = true;

	*pairs = (struct pairs){0};
	for (int i = 0; ok && i < AL_N_FORMS; i++)
		ok = !al_has_form(heads, (enum al_form)i)
			|| al_audit_form_inner(module, (enum al_form)i, &pairs->inner[i], err);
	for (int p = 0; ok && p < AL_N_PROJECTIONS; p++) {
		size_t n = al_heads_run(heads, (enum al_projection)p).n_heads;
		if (!al_heads_run(heads, (enum al_projection)p).weights.data)
			continue;
		pairs->n[p] = n;
		pairs->angles[p] = al_calloc(n * n, sizeof(struct al_angles));
		ok = all_angles(module, (enum al_projection)p, pairs->angles[p], err);
	}
	return ok;
}

static void set_cosine(struct al_cell *cell, struct al_view s, size_t i, size_t j)
{
	double ii, jj;

	if (!s.data)
		return;
	ii = s.data[i + i * s.ld];
	jj = s.data[j + j * s.ld];
	if (ii > 0 && jj > 0)
		al_cell_set_real(cell, s.data[i + j * s.ld] / sqrt(ii) / sqrt(jj));
}

/* Heads that share a key/value head have the same subspace there. */
static void set_angles(struct al_cell *cell, const struct pairs *pairs, enum al_projection p,
	size_t i, size_t j)
{
	struct al_angles same = {.kernel = 1}, found;

	if (!pairs->angles[p])
		return;
	found = i == j ? same : pairs->angles[p][i < j ? i + j * pairs->n[p] : j + i * pairs->n[p]];
	al_cell_set_real(&cell[0], found.kernel);
	al_cell_set_real(&cell[1], found.smallest);
	al_cell_set_real(&cell[2], found.largest);
}

static void add_pair(const struct al_audit_module *module, const struct pairs *pairs, size_t i,
	size_t j, struct al_table *table)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, module->attention->name);
	al_cell_set_int(table, cell++, (int64_t)i);
	al_cell_set_text(table, cell++, module->attention->name);
	al_cell_set_int(table, cell++, (int64_t)j);
	set_cosine(cell++, pairs->inner[AL_FORM_QK], i, j);
	set_cosine(cell++, pairs->inner[AL_FORM_OV], i, j);
	for (int p = 0; p < AL_N_PROJECTIONS; p++, cell += 3) {
		bool is_shared = p == AL_KEY || p == AL_VALUE;
		set_angles(cell, pairs, (enum al_projection)p,
			is_shared ? al_kv_head(&module->heads, i) : i,
			is_shared ? al_kv_head(&module->heads, j) : j);
	}
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct pairs pairs;
	bool ok = pairs_init(&pairs, module, err);

	(void)audit;
	for (size_t j = 0; ok && j < module->heads.n_heads; j++)
		for (size_t i = 0; i < j; i++)
			add_pair(module, &pairs, i, j, table);
	pairs_finish(&pairs);
	return ok;
}

/* ---- the most similar first ---- */

enum { QK_COSINE = 4, OV_COSINE = 5 };

static double likeness(const struct al_cell *row)
{
	double qk = 0, ov = 0;

	(void)al_cell_number(&row[QK_COSINE], &qk);
	(void)al_cell_number(&row[OV_COSINE], &ov);
	return fmax(fabs(qk), fabs(ov));
}

static int compare_rows(const void *a, const void *b)
{
	double left = likeness(*(struct al_cell *const *)a),
	       right = likeness(*(struct al_cell *const *)b);

	return (left < right) - (left > right);
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	size_t most = audit->options.n_pairs;

	if (table->n_rows > 0)
		qsort(table->rows, table->n_rows, sizeof(*table->rows), compare_rows);
	if (most > 0 && table->n_rows > most) {
		al_table_note(table, "the %zu most similar of %zu pairs", most, table->n_rows);
		table->n_rows = most;
	}
}

/* ---- the summary ---- */

enum { N_PAIRS = 3 };

static const char *print_head(const struct al_table *table, size_t row, const char *module,
	const char *head, struct al_arena *arena)
{
	double index = 0;

	(void)al_table_number(table, row, head, &index);
	return al_format(arena, "%s head %.0f", al_table_text(table, row, module), index);
}

/* By scores or by values, whichever says more; pairs of heads of nothing say nothing. */
static void summarise(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *similarity)
{
	struct al_arena *arena = &summary->arena;

	(void)audit;
	for (size_t row = 0; row < similarity->n_rows && row < N_PAIRS; row++) {
		double qk = 0, ov = 0;
		bool has_qk = al_table_number(similarity, row, "qk_cosine", &qk);
		bool has_ov = al_table_number(similarity, row, "ov_cosine", &ov);
		bool is_ov = has_ov && (!has_qk || fabs(ov) > fabs(qk));
		if (!has_qk && !has_ov)
			continue;
		al_summary_add(summary, row == 0 ? "most similar" : "",
			al_format(arena, "%s and %s: %s cosine %.2f",
				print_head(similarity, row, "module_a", "head_a", arena),
				print_head(similarity, row, "module_b", "head_b", arena),
				is_ov ? "OV" : "QK", is_ov ? ov : qk));
	}
}

const struct al_measurement al_measurement_similarity = {
	.id = "similarity",
	.title = "Pairs of heads, the most similar first",
	.needs = {.weights = true},
	.add_columns = add_columns,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.columns = {"module_a", "head_a", "module_b", "head_b", "qk_cosine",
			       "ov_cosine"},
		.most_rows = 10},
	.summary = {{AL_SUMMARY_PAIRS, summarise}},
};
