/* Similarity of heads: cosines of their forms, and the principal angles between the subspaces that
 * their queries, keys, values and outputs live in. */
#include "audit/measurement.h"
#include "audit/pairs.h"
#include "audit/summary.h"

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	(void)audit;
	al_pairs_add_columns(table, false);
}

/* Of each module only pairs that may be among the best of all. */
static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct al_pair_side side = {.module = module};
	struct al_pair_scores scores;
	const bool ok = al_module_cosines(&side.scratch, module, &scores, err)
		&& al_pairs_add(table, audit->options.n_pairs, &side, &side, &scores, err);

	al_scratch_finish(&side.scratch);
	return ok;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	al_pairs_finish(table, audit->options.n_pairs, audit->n_pairs);
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
