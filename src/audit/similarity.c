/* Similarity of heads: cosines of their forms, and the principal angles between the subspaces that
 * their queries, keys, values and outputs live in. */
#include "audit/cosines.h"
#include "audit/measurement.h"
#include "audit/pairs.h"
#include "audit/summary.h"

#include <stdlib.h>

#include "base/memory.h"

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	(void)audit;
	al_pairs_add_columns(table, false);
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct al_pair_side side = {.module = module};
	struct al_matrix cosines[AL_N_FORMS] = {{0}};
	struct al_pair_scores scores = {0};
	bool ok = true;

	(void)table;
	for (int form = 0; ok && form < AL_N_FORMS; form++) {
		ok = al_module_cosines(module, (enum al_form)form, &cosines[form], err);
		scores.cosine[form] = al_view(cosines[form]);
	}
	ok = ok && al_ranking_offer(audit->similar, &side, &side, &scores, err);
	for (int form = 0; form < AL_N_FORMS; form++)
		al_matrix_finish(&cosines[form]);
	al_pair_side_finish(&side);
	return ok;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	al_pairs_add_rows(table, audit->similar);
}

/* The best pairs of all modules are among the best of each. */
static void give_rows(struct al_audit *audit, struct al_table *table)
{
	al_pairs_give_rows(table, audit->similar);
}

static bool take_rows(struct al_audit *audit, const struct al_attention *attention,
	const struct al_table *rows, struct al_error *err)
{
	return al_pairs_take_rows(audit->similar, attention, rows, err);
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
	.needs = {.weights = true, .grams = true},
	.add_columns = add_columns,
	.add_module = add_module,
	.give_rows = give_rows,
	.take_rows = take_rows,
	.finish = finish,
	.short_form = {.columns = {"module_a", "head_a", "module_b", "head_b", "qk_cosine",
			       "ov_cosine"},
		.most_rows = 10},
	.summary = {{AL_SUMMARY_PAIRS, summarise}},
};
