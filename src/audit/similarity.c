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

/* Of each module only pairs that may be among the best of all. */
static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	struct al_pair_side side = {.module = module};
	struct al_matrix cosines[AL_N_FORMS] = {{0}};
	struct al_pair_scores scores = {0};
	const size_t most = audit->options.n_pairs;
	struct al_ranking ranking = {.most = most, .least = AL_LIKE_NOTHING};
	bool ok = true;

	if (most > 0 && table->n_rows == most)
		ranking.least = al_pairs_likeness(table, most - 1);
	for (int form = 0; ok && form < AL_N_FORMS; form++) {
		ok = al_module_cosines(module, (enum al_form)form, &cosines[form], err);
		scores.cosine[form] = al_view(cosines[form]);
	}
	ok = ok && al_ranking_offer(&ranking, &side, &side, &scores, err);
	if (ok)
		al_pairs_add_rows(table, &ranking);
	if (most > 0)
		al_pairs_cut(table, most);
	al_ranking_finish(&ranking);
	for (int form = 0; form < AL_N_FORMS; form++)
		al_matrix_finish(&cosines[form]);
	al_pair_side_finish(&side);
	return ok;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	al_pairs_cut(table, audit->options.n_pairs);
	al_pairs_note(table, audit->n_pairs);
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
