/* Redundant heads: those that a module can do without at up to a tenth of its scores and values,
 * the cheapest first, then those that repeat another head with more noise than that, and those that
 * only attend as another head does. */
#include "audit/redundant.h"

#include "audit/measurement.h"
#include "audit/summary.h"

static const char *const reasons[AL_N_REASONS] = {"twin", "silent", "same attention",
	"other sharpness"};

struct row {
	struct al_audit_place at;
	struct al_merge step;
	const char *reason;
	int64_t twin;
	double ov_error;
};

static const struct al_table_field fields[] = {
	AL_AUDIT_PLACE_FIELDS,
	{AL_COLUMN_WHOLE("head", "Head", .is_key = true), AL_MEMBER(struct row, step.head)},
	{AL_SHOW(struct row, reason, "Reason")},
	{AL_SHOW_WHOLE(struct row, twin, "Twin")},
	AL_AUDIT_LIKENESS_FIELDS(struct row, step.attention, step.outputs),
	{{.key = "sharpness", .title = "Sharpness", .digits = 3},
		AL_MEMBER(struct row, step.sharpness)},
	{{.key = "output_share", .title = "Share of output", .digits = 4},
		AL_MEMBER(struct row, step.output_share)},
	{{.key = "qk_relative_error", .title = "QK error", .digits = 4},
		AL_MEMBER(struct row, step.qk_error), .when = AL_BY_WEIGHTS},
	{{.key = "ov_relative_error", .title = "OV error", .digits = 4},
		AL_MEMBER(struct row, ov_error), .when = AL_BY_WEIGHTS},
	{{.key = "logit_error", .title = "Logit error", .digits = 4},
		AL_MEMBER(struct row, step.qk_error), .when = AL_ON_TOKENS},
	{{.key = "output_error", .title = "Output error", .digits = 4},
		AL_MEMBER(struct row, ov_error), .when = AL_ON_TOKENS},
	{{.key = "cumulative_error", .title = "Cumulative error", .digits = 4},
		AL_MEMBER(struct row, step.cumulative_error)},
	AL_FIELDS_END,
};

static const double MOST = AL_REMOVABLE_PERCENT / 100.;

static void add_row(struct al_table *table, const struct al_audit_module *module,
	const struct al_merge *step, enum al_redundant_reason reason)
{
	const bool is_twin = step->twin != step->head;

	al_table_add_record(table,
		&(struct row){al_audit_place_of(module), *step, reasons[reason],
			is_twin ? (int64_t)step->twin : INT64_MIN,
			isnan(step->ov_squared) ? NAN : sqrt(fmax(step->ov_squared, 0))});
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_merging merging;

	if (!al_merging_find(&merging, &scratch, audit, module, MOST, err))
		return false;
	for (size_t i = 0; i < merging.n; i++) {
		const struct al_merge *step = &merging.steps[i];
		add_row(table, module, step,
			step->twin != step->head ? AL_REASON_TWIN : AL_REASON_SILENT);
	}
	for (size_t i = 0; i < merging.n_alike; i++)
		add_row(table, module, &merging.alike[i],
			merging.alike[i].qk_error <= MOST ? AL_REASON_SAME_ATTENTION
							  : AL_REASON_OTHER_SHARPNESS);
	return true;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	const bool is_on_tokens = al_audit_basis(audit) == AL_ON_TOKENS;

	al_table_note(table,
		"twin: the head attends like its twin, whose W_O takes over its outputs; silent: "
		"the head is dropped. %s. Heads are listed from the cheapest, as long as the "
		"larger of both stays below %g%s. Heads that stay: same attention: the scores are "
		"the twin's, the outputs aren't; other sharpness: so are the scores but for a "
		"factor, which is the sharpness",
		is_on_tokens
			? "On the calibration's tokens: logit errors are of the head's own logits, "
			  "each query's mean taken away; output errors of the layer's output, with "
			  "the twin's output, mapped, in place of the head's: fitted on all folds "
			  "of sequences but one and judged on that"
			: "QK errors are of the head's own scores, OV errors of all heads' outputs",
		MOST,
		is_on_tokens
			? ""
			: "; near copies follow at any error: heads with a cosine of at least "
			  "0.707 to their twin, in both scores and values, and scores as sharp "
			  "within a factor of 2");
	al_audit_note_basis(audit, table);
}

/* ---- the finished table ---- */

static enum al_redundant_reason reason_of(const struct al_table *table, size_t row)
{
	return (enum al_redundant_reason)al_find_name(al_table_text(table, row, "reason"), reasons,
		AL_N_REASONS);
}

struct al_removable al_redundant_count(const struct al_table *table)
{
	struct al_removable found = {0};
	double error;

	for (size_t row = 0; row < table->n_rows; row++) {
		found.n[reason_of(table, row)]++;
		if (al_table_number(table, row, "cumulative_error", &error))
			found.error = fmax(found.error, error);
	}
	return found;
}

static size_t count_up_to(const struct al_table *table, double most)
{
	size_t n = 0;
	double error;

	for (size_t row = 0; row < table->n_rows; row++)
		n += al_table_number(table, row, "cumulative_error", &error) && error <= most;
	return n;
}

static const char *print_head(struct al_arena *arena, const struct al_table *table, size_t row)
{
	double head = 0, twin = 0, sharpness = 0;
	const char *module = al_table_text(table, row, "module");
	const enum al_redundant_reason reason = reason_of(table, row);

	(void)al_table_number(table, row, "head", &head);
	(void)al_table_number(table, row, "twin", &twin);
	(void)al_table_number(table, row, "sharpness", &sharpness);
	if (reason == AL_REASON_SILENT)
		return al_format(arena, "%s head %.0f writes almost nothing", module, head);
	if (reason == AL_REASON_OTHER_SHARPNESS)
		return al_format(arena, "%s head %.0f's scores are %.3g times head %.0f's", module,
			head, sharpness, twin);
	return al_format(arena, "%s head %.0f %s head %.0f", module, head,
		reason == AL_REASON_TWIN ? "copies" : "attends as", twin);
}

static void summarize_removable(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *redundant)
{
	struct al_arena *arena = &summary->arena;
	const bool is_on_tokens = al_audit_basis(audit) == AL_ON_TOKENS;
	const char *item = is_on_tokens	    ? "copies, silent heads"
		: audit->options.covariance ? "removable by weights"
					    : "removable heads";
	const size_t within = count_up_to(redundant, MOST), all = count_up_to(redundant, INFINITY);

	if (all == 0) {
		al_summary_add(summary, item,
			al_format(arena,
				is_on_tokens ? "none at %d %% error"
					     : "none (no head costs less than %d %%, and no two "
					       "are near copies)",
				AL_REMOVABLE_PERCENT));
		return;
	}
	al_summary_add(summary, item,
		al_format(arena, "%zu at 1 %% error of their module, %zu at %d %%%s: %s%s",
			count_up_to(redundant, .01), within, AL_REMOVABLE_PERCENT,
			within < all ? al_format(arena, ", %zu more near copies", all - within)
				     : "",
			print_head(arena, redundant, 0), all > 1 ? " ..." : ""));
}

/* "2: layers.0 head 5 attends as head 2 ..." */
static void summarize_alike(struct al_table *summary, const char *item,
	const struct al_table *redundant, enum al_redundant_reason reason)
{
	size_t n = 0, first = 0;

	for (size_t row = redundant->n_rows; row-- > 0;)
		if (reason_of(redundant, row) == reason) {
			n++;
			first = row;
		}
	if (n == 0)
		return;
	al_summary_add(summary, item,
		al_format(&summary->arena, "%zu: %s%s", n,
			print_head(&summary->arena, redundant, first), n > 1 ? " ..." : ""));
}

static void summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *redundant)
{
	summarize_removable(summary, audit, redundant);
	summarize_alike(summary, "same attention", redundant, AL_REASON_SAME_ATTENTION);
	summarize_alike(summary, "other sharpness", redundant, AL_REASON_OTHER_SHARPNESS);
}

const struct al_measurement al_measurement_redundant = {
	.id = "redundant",
	.title = "Removable heads",
	.needs = {.weights = true},
	.fields = fields,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.columns = {"module", "head", "reason", "twin", "qk_cosine", "ov_cosine",
			       "logit_correlation", "output_cka", "sharpness", "cumulative_error"},
		.most_rows = 10},
	.summary = {{AL_SUMMARY_PAIRS, summarize}},
};
