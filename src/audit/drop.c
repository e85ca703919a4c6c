/* Heads by what they put out on real tokens: what leaving each one out changes, as it is, and with
 * W_O of the others fitted anew. Needs a calibration. */
#include "audit/measurement.h"
#include "audit/summary.h"

#include <stdlib.h>

#include "base/memory.h"
#include "calibration/outputs.h"

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	static const struct al_column columns[] = {
		{.key = "head", .title = "Head", .digits = AL_DIGITS_ALL, .is_key = true},
		{.key = "output_share", .title = "Share of outputs", .digits = 4},
		{.key = "error_dropped", .title = "Error dropped", .digits = 4},
		{.key = "error_compensated", .title = "Error, W_O refitted", .digits = 4},
		{.key = "twin", .title = "Best replacement", .digits = AL_DIGITS_ALL},
		{.key = "error_by_twin", .title = "Error replaced", .digits = 4},
	};

	(void)audit;
	al_audit_add_module_columns(table);
	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

static void add_row(struct al_table *table, const struct al_audit_module *module, size_t head,
	const struct al_head_worth *worth)
{
	struct al_cell *cell = al_table_add_row(table);

	al_audit_set_module(table, &cell, module);
	al_cell_set_int(table, cell++, (int64_t)head);
	al_cell_set_real(cell++, worth->share);
	al_cell_set_real(cell++, worth->dropped);
	al_cell_set_real(cell++, worth->compensated);
	if (worth->twin != head) {
		al_cell_set_int(table, cell++, (int64_t)worth->twin);
		al_cell_set_real(cell, worth->by_twin);
	}
}

/* W_O as it is stored, whatever the audit made of it. Without a calibration the table stays
 * empty. */
static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_attention *a = module->attention;
	const struct al_calibration *calibration = al_covariance_calibration(
		audit->options.covariance);
	const size_t n_heads = (size_t)a->n_heads;
	const struct al_module_statistics *statistics;
	struct al_matrix output = {0};

	if (!calibration)
		return true;
	struct al_head_worth *worth = al_calloc(n_heads, sizeof(*worth));
	bool ok = al_calibration_find(calibration, a->name, &statistics, err)
		&& al_factor_load(audit->view->checkpoint, &a->factors[AL_OUTPUT], &output, err)
		&& al_heads_judge(al_view(statistics->of[AL_STATISTIC_HEADS]), al_view(output),
			n_heads, worth, err);

	for (size_t head = 0; ok && head < n_heads; head++)
		add_row(table, module, head, &worth[head]);
	al_matrix_finish(&output);
	free(worth);
	return ok;
}

/* What is fitted has a number for each kept coordinate. */
static void note_sample(const struct al_calibration *calibration, struct al_table *table)
{
	const struct al_module_statistics *first = &calibration->modules[0];
	const double n = al_statistics_tokens(first);
	const double kept = (double)first->of[AL_STATISTIC_HEADS].rows
		* (1 - 1 / (double)al_statistics_heads(first));

	if (n < 10 * kept)
		al_table_note(table,
			"%.1f tokens of the calibration for each of %.0f kept coordinates, fewer "
			"than ten: errors with W_O refitted are larger on other tokens",
			n / kept, kept);
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	const struct al_calibration *calibration = al_covariance_calibration(
		audit->options.covariance);

	if (!calibration)
		return;
	al_table_note(table,
		"errors: E|change of the module's output|^2 / E|output|^2 on the %.0f tokens of "
		"the "
		"calibration (in sample), without the head, with W_O of all others fitted anew, "
		"and with W_O of the best replacement alone; shares: E|o_i W_O|^2 of each head's, "
		"of their sum",
		al_statistics_tokens(&calibration->modules[0]));
	al_table_note(table,
		"compare heads within a layer: what an error of one layer's output costs differs "
		"from layer to layer (evaluate --ablate heads measures it)");
	note_sample(calibration, table);
}

/* ---- the summary ---- */

static void summarise(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *drop)
{
	const struct al_range compensated = al_range_of(&summary->arena, drop, "error_compensated",
		NULL, NULL);
	const struct al_range dropped = al_range_of(&summary->arena, drop, "error_dropped", NULL,
		NULL);

	(void)audit;
	if (drop->n_rows == 0)
		return;
	al_summary_add(summary, "a head left out",
		al_format(&summary->arena,
			"changes its module's output by %s, with W_O refitted by %s",
			al_range_text(&summary->arena, dropped, 4),
			al_range_text(&summary->arena, compensated, 4)));
}

const struct al_measurement al_measurement_drop = {
	.id = "drop",
	.title = "Heads left out, by what they put out",
	.measured = AL_MEASURED_WITH_OUTPUTS,
	.needs = {.weights = true},
	.add_columns = add_columns,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.columns = {"module", "head", "output_share", "error_dropped",
			       "error_compensated", "twin", "error_by_twin"}},
	.summary = {{AL_SUMMARY_PAIRS, summarise}},
};
