/* Redundant heads: those that a module can do without at up to a tenth of its scores and values,
 * the cheapest first, then those that repeat another head with more noise than that. */
#include "audit/measurement.h"

#include "audit/merging.h"
#include "audit/summary.h"

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
	{{.key = "qk_cosine", .title = "QK cosine", .digits = 3},
		AL_MEMBER(struct row, step.qk_cosine)},
	{{.key = "ov_cosine", .title = "OV cosine", .digits = 3},
		AL_MEMBER(struct row, step.ov_cosine)},
	{{.key = "output_share", .title = "Share of output", .digits = 4},
		AL_MEMBER(struct row, step.output_share)},
	{{.key = "ov_relative_error", .title = "OV error", .digits = 4},
		AL_MEMBER(struct row, ov_error)},
	{{.key = "cumulative_error", .title = "Cumulative error", .digits = 4},
		AL_MEMBER(struct row, step.cumulative_error)},
	AL_FIELDS_END,
};

static void add_row(struct al_table *table, const struct al_audit_module *module,
	const struct al_merge *step)
{
	const bool is_twin = step->twin != step->head;

	al_table_add_record(table,
		&(struct row){al_audit_place_of(module), *step, is_twin ? "twin" : "silent",
			is_twin ? (int64_t)step->twin : INT64_MIN,
			sqrt(fmax(step->ov_squared, 0))});
}

static bool add_module(struct al_audit *audit, struct al_audit_module *module,
	struct al_table *table, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_merging merging;

	(void)audit;
	if (!al_merging_find(&merging, &scratch, module, AL_REMOVABLE_PERCENT / 100., err))
		return false;
	for (size_t i = 0; i < merging.n; i++)
		add_row(table, module, &merging.steps[i]);
	return true;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	(void)audit;
	al_table_note(table,
		"twin: the head attends like its twin, whose W_O takes over its outputs; silent: "
		"the head is dropped. Heads are listed in the order that increases the larger "
		"error of scores and values least, up to %g; near copies follow at any error: "
		"heads with a cosine of at least 0.707 to their twin, in both scores and values",
		AL_REMOVABLE_PERCENT / 100.);
}

/* ---- the summary ---- */

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
	double head = 0, twin = 0;
	const char *module = al_table_text(table, row, "module");

	(void)al_table_number(table, row, "head", &head);
	if (!al_table_number(table, row, "twin", &twin))
		return al_format(arena, "%s head %.0f writes almost nothing", module, head);
	return al_format(arena, "%s head %.0f copies head %.0f", module, head, twin);
}

static void summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *redundant)
{
	struct al_arena *arena = &summary->arena;
	const size_t within = count_up_to(redundant, AL_REMOVABLE_PERCENT / 100.);
	const char *item = audit->options.covariance ? "removable by weights" : "removable heads";

	if (redundant->n_rows == 0) {
		al_summary_add(summary, item,
			al_format(arena,
				"none (no head costs less than %d %%, and no two are near copies)",
				AL_REMOVABLE_PERCENT));
		return;
	}
	al_summary_add(summary, item,
		al_format(arena, "%zu at 1 %% error of their module, %zu at %d %%%s: %s%s",
			count_up_to(redundant, .01), within, AL_REMOVABLE_PERCENT,
			within < redundant->n_rows ? al_format(arena, ", %zu more near copies",
				redundant->n_rows - within)
						   : "",
			print_head(arena, redundant, 0), redundant->n_rows > 1 ? " ..." : ""));
}

const struct al_measurement al_measurement_redundant = {
	.id = "redundant",
	.title = "Removable heads",
	.needs = {.weights = true},
	.fields = fields,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.columns = {"module", "head", "reason", "twin", "qk_cosine", "ov_cosine",
			       "ov_relative_error", "cumulative_error"},
		.most_rows = 10},
	.summary = {{AL_SUMMARY_PAIRS, summarize}},
};
