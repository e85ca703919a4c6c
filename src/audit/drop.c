/* Heads by what they put out on real tokens: what leaving each one out changes, as it is, and with
 * W_O of the others fitted anew, in the layer's output and in the stream behind it, which gives
 * their one order. Needs a calibration; an imatrix, of which heads' outputs have no products with
 * each other, gives the first alone. */
#include "audit/likeness.h"
#include "audit/doing.h"
#include "audit/measurement.h"
#include "audit/summary.h"

#include "model/calibration/outputs.h"

struct row {
	struct al_audit_place at;
	size_t head;
	struct al_head_worth worth;
	double relative; /* per cent */
	int64_t twin;
	const char *place;
	const char *doing; /* written when all heads are known */
	struct al_estimate added; /* without it, written when that was measured */
	struct al_alike_head alike;
};

static const struct al_table_field fields[] = {
	AL_AUDIT_PLACE_FIELDS,
	{AL_SHOW_KEY(struct row, head, "Head", .digits = AL_DIGITS_ALL)},
	{AL_SHOW(struct row, doing, "Attends to")},
	{{.key = "loss_increase", .title = "Loss added", .unit = "nats per token", .digits = 4},
		AL_MEMBER(struct row, added.mean), .when = AL_AUDIT_ABLATES_LOSS},
	{{.key = "loss_increase_error", .title = "+-", .digits = 4},
		AL_MEMBER(struct row, added.error), .when = AL_AUDIT_ABLATES_LOSS},
	{{.key = "embedding_change", .title = "Cosine distance", .digits = 5},
		AL_MEMBER(struct row, added.mean), .when = AL_AUDIT_ABLATES_EMBEDDINGS},
	{{.key = "embedding_change_error", .title = "+-", .digits = 5},
		AL_MEMBER(struct row, added.error), .when = AL_AUDIT_ABLATES_EMBEDDINGS},
	{{.key = "alike", .title = "head", .group = "Nearest head"},
		AL_MEMBER(struct row, alike.head)},
	{{.key = "logit_correlation", .title = "logits", .group = "Nearest head", .digits = 2},
		AL_MEMBER(struct row, alike.logits)},
	{{.key = "output_cka", .title = "outputs", .group = "Nearest head", .digits = 2},
		AL_MEMBER(struct row, alike.outputs)},
	{{.key = "error_compensated", .title = "error", .group = "Refit", .digits = 4},
		AL_MEMBER(struct row, worth.compensated.mean)},
	{{.key = "error_compensated_error", .title = "+-", .group = "Refit", .digits = 4},
		AL_MEMBER(struct row, worth.compensated.error)},
	{{.key = "turn_refitted", .title = "turn", .group = "Refit", .unit = "°", .digits = 2},
		AL_MEMBER(struct row, worth.cost.mean)},
	{{.key = "turn_refitted_error", .title = "+-", .group = "Refit", .digits = 2},
		AL_MEMBER(struct row, worth.cost.error)},
	{AL_SHOW(struct row, relative, "Of mean", .unit = "%", .digits = 1)},
	{AL_SHOW(struct row, place, "Of its layer")},
	{{.key = "turn", .title = "Turn without it", .unit = "°", .digits = 2},
		AL_MEMBER(struct row, worth.turn)},
	{{.key = "error_dropped", .title = "Error without it", .digits = 4},
		AL_MEMBER(struct row, worth.dropped)},
	{{.key = "output_share", .title = "Share of output", .digits = 4},
		AL_MEMBER(struct row, worth.share)},
	{AL_SHOW_WHOLE(struct row, twin, "Best replacement")},
	{{.key = "error_by_twin", .title = "Error, replaced", .digits = 4},
		AL_MEMBER(struct row, worth.by_twin)},
	AL_FIELDS_END,
};

static void add_columns(struct al_table *table, const struct al_audit *audit)
{
	al_table_add_fields(table, fields, audit->options.ablated);
}

/* The root of the mean square of what leaving out a head costs: heads that have nothing in common
 * cost 1/sqrt(n) of the output each, however many they are. */
static double average(const struct al_head_worth *worth, size_t n_heads)
{
	double sum = 0;

	for (size_t i = 0; i < n_heads; i++) {
		const double cost = isnan(worth[i].turn) ? worth[i].dropped : worth[i].turn;
		sum += cost * cost;
	}
	return sqrt(sum / (double)n_heads);
}

/* A module's heads, [n_heads] each. */
struct judged {
	struct al_head_worth *worth;
	struct al_alike_head *alike;
};

/* Fits that no other tokens judge aren't shown. */
static void add_row(struct al_table *table, const struct al_audit_module *module, size_t head,
	const struct judged *judged, double mean, bool has_ties)
{
	const struct al_head_worth *worth = &judged->worth[head];
	const bool has_fits = !isnan(worth->compensated.error);
	const bool is_first = has_ties ? worth->is_tied : worth->is_least;
	struct row row = {al_audit_place_of(module), head, *worth,
		mean > 0 ? 100 * worth->cost.mean / mean : 0, (int64_t)worth->twin,
		!has_fits || !is_first ? NULL
			: has_ties     ? "tied"
				       : "least",
		NULL, {NAN, NAN, 0}, judged->alike[head]};

	if (!has_fits)
		row.worth.compensated.mean = NAN;
	if (!has_fits || isnan(worth->turn))
		row.worth.cost = (struct al_estimate){NAN, NAN, 0};
	if (!has_fits || worth->twin == head) {
		row.twin = INT64_MIN;
		row.worth.by_twin = NAN;
	}
	al_table_add_record(table, &row);
}

static void add_rows(struct al_table *table, const struct al_audit_module *module,
	const struct judged *judged)
{
	const struct al_head_worth *worth = judged->worth;
	const size_t n_heads = (size_t)module->attention->n_heads;
	const double mean = average(worth, n_heads);
	size_t n_tied = 0;

	for (size_t head = 0; head < n_heads; head++)
		n_tied += worth[head].is_tied;
	for (size_t head = 0; head < n_heads; head++)
		add_row(table, module, head, judged, mean, n_tied > 1);
}

static bool judge(const struct al_audit *audit, const struct al_attention *a, struct al_view output,
	const struct judged *judged, struct al_error *err)
{
	const struct al_covariance *covariance = audit->options.covariance;
	const struct al_module_statistics *statistics;
	struct al_diagonal d;

	if (!al_covariance_imatrix(covariance))
		return al_calibration_find(&covariance->calibration, a->name, &statistics, err)
			&& al_heads_judge(statistics->of[AL_STATISTIC_HEADS], output,
				al_statistics_turns(&covariance->calibration, statistics),
				(size_t)a->n_heads, judged->worth, err)
			&& al_heads_alike(statistics, judged->alike, err);
	for (int64_t i = 0; i < a->n_heads; i++)
		judged->alike[i] = (struct al_alike_head){INT64_MIN, NAN, NAN};
	if (!al_imatrix_read(&covariance->imatrix, a, AL_OUTPUT, &d, err))
		return false;
	al_heads_judge_diagonal(d.squares, d.means, output, (size_t)a->n_heads, judged->worth);
	al_diagonal_finish(&d);
	return true;
}

/* W_O as it is stored, whatever the audit made of it. Without the heads' outputs the table stays
 * empty. */
static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	const struct al_attention *a = module->attention;
	const struct al_covariance *covariance = audit->options.covariance;
	const size_t n_heads = (size_t)a->n_heads;
	AL_SCRATCH(scratch);
	AL_OWNED struct al_matrix output = {0};
	struct judged judged;

	if (!al_covariance_imatrix(covariance) && !al_covariance_calibration(covariance))
		return true;
	judged.worth = al_take_array(&scratch, n_heads, sizeof(*judged.worth), err);
	judged.alike = al_take_array(&scratch, n_heads, sizeof(*judged.alike), err);
	if (!judged.worth || !judged.alike
		|| !al_factor_load(audit->view->checkpoint, &a->factors[AL_OUTPUT], &output, err)
		|| !judge(audit, a, al_view(output), &judged, err))
		return false;
	add_rows(table, module, &judged);
	return true;
}

static void note_layers(struct al_table *table)
{
	al_table_note(table,
		"compare heads within a layer only: the same change costs more loss in some layers "
		"than in others (run evaluate --ablate heads to measure it)");
}

/* Measurements that need more than a diagonal. */
static void note_imatrix(struct al_table *table)
{
	al_table_note(table,
		"error: norm of the change of the layer's output without the head, "
		"relative to the norm of the output; share: part of the sum of the "
		"heads' squared outputs. Both use the imatrix's mean squares of the "
		"heads' outputs, as if they were uncorrelated");
	al_table_note(table,
		"an imatrix doesn't contain products of heads' outputs, which reveal copies and "
		"the effect of refitting W_O; `calibrate` records them");
	note_layers(table);
}

static void note_ablated(struct al_table *table, bool is_loss)
{
	al_table_note(table,
		"%s: without the head, its output replaced by zero, on the tokens of this audit; "
		"its "
		"standard error: jackknife over their sequences; of its layer: the head that is "
		"missed least, or those that can't be told from it at 95 %% (paired differences "
		"over sequences, Student's t, Bonferroni)",
		is_loss ? "loss added" : "cosine distance");
}

static bool complete(const struct al_audit *audit, struct al_table *table, struct al_error *err)
{
	const struct al_calibration *calibration = al_covariance_calibration(
		audit->options.covariance);

	return !calibration || al_doing_fill(calibration, table, "doing", err);
}

/* What puts a layer's heads in order. */
static void note_order(struct al_table *table, const struct al_calibration *calibration,
	bool is_measured)
{
	const bool has_turns = al_statistics_turns(calibration, &calibration->modules[0]).n;

	if (has_turns)
		al_table_note(table,
			"turn: the angle between the residual stream behind attention with the "
			"head and without it, averaged over up to %d tokens of each sequence; "
			"with a refit it is multiplied by error with refit / error without the "
			"head",
			AL_TURNED_TOKENS);
	else
		al_table_note(table,
			"the calibration lacks turns of the residual stream, by which heads are "
			"put in order better than by errors: run `calibrate` again");
	al_table_note(table,
		"of mean: the %s, W_O refitted where that was judged, of the root mean square of "
		"the layer's %ss without a head%s",
		has_turns ? "turn" : "error", has_turns ? "turn" : "error",
		is_measured ? ""
			    : "; of its layer: the head of the least, or those that can't be told "
			      "from it at 95 % (Student's t, Bonferroni)");
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	const struct al_calibration *calibration = al_covariance_calibration(
		audit->options.covariance);

	if (al_covariance_imatrix(audit->options.covariance))
		note_imatrix(table);
	if (!calibration)
		return;
	al_table_note(table,
		"attends to: the largest of a head's mean attention weights on itself, the "
		"previous token, the first token, earlier equal tokens and what follows these "
		"(induction), where it is 0.4 or more, or 0.1 or more and twice the median of all "
		"heads (the last two: on random tokens, if `calibrate --behavior` recorded them)");
	al_table_note(table,
		"nearest head: of the same layer with the largest sum of the correlation of logits "
		"(each query's mean taken away) and linear CKA of outputs");
	al_table_note(table,
		"errors: norm of the change of the layer's output, relative to the norm of the "
		"output, on the %.0f calibration tokens; share: part of the sum of the heads' "
		"squared outputs",
		al_statistics_tokens(&calibration->modules[0]));
	note_order(table, calibration, audit->options.ablated);
	if (calibration->n_folds < 2)
		al_table_warn(table,
			"calibrated on one sequence: no others can judge a refitted W_O, so its "
			"error isn't shown; calibrate on several");
	else
		al_table_note(table,
			"W_O of all other heads, or of the best replacement, is fitted on all "
			"folds of sequences but one and judged on that, for each of %zu (errors "
			"with W_O of all others are corrected for the fold that the fit lacks); "
			"standard error: the jackknife's over folds",
			calibration->n_folds);
	if (audit->options.ablated)
		note_ablated(table, audit->options.ablated == AL_AUDIT_ABLATES_LOSS);
	else
		note_layers(table);
}

/* ---- the summary ---- */

static void summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *drop)
{
	struct al_arena *arena = &summary->arena;
	const struct al_range compensated = al_range_of(arena, drop, "error_compensated", NULL,
		NULL);
	const struct al_range dropped = al_range_of(arena, drop, "error_dropped", NULL, NULL);

	(void)audit;
	if (drop->n_rows == 0)
		return;
	const char *changes = al_format(arena, "changes its layer's output by %s",
		al_range_text(arena, dropped, 4));
	if (compensated.n > 0)
		changes = al_format(arena, "%s, with W_O refitted by %s", changes,
			al_range_text(arena, compensated, 4));
	al_summary_add(summary, "one head removed", changes);
}

const struct al_measurement al_measurement_drop = {
	.id = "drop",
	.title = "What each head does, and what its removal changes",
	.measured = AL_MEASURED_WITH_OUTPUTS,
	.needs = {.weights = true},
	.add_columns = add_columns,
	.add_module = add_module,
	.complete = complete,
	.finish = finish,
	.short_form = {.columns = {"module", "head", "doing", "loss_increase",
			       "loss_increase_error", "embedding_change", "embedding_change_error",
			       "alike", "logit_correlation", "output_cka", "error_compensated",
			       "error_compensated_error", "turn_refitted", "turn_refitted_error",
			       "relative", "place"}},
	.summary = {{AL_SUMMARY_PAIRS, summarize}},
};
