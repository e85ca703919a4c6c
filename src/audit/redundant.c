/* Redundant heads: those that a module can do without at up to a tenth of its scores and values,
 * the cheapest first, then those that repeat another head with more noise than that. */
#include "audit/measurement.h"

#include "audit/merging.h"
#include "audit/summary.h"
#include "audit/verdict.h"
#include "report/claim.h"

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
	{{.key = "output_share", .title = "Share of outputs", .digits = 4},
		AL_MEMBER(struct row, step.output_share)},
	{{.key = "ov_relative_error", .title = "OV error", .digits = 4},
		AL_MEMBER(struct row, ov_error)},
	{{.key = "cumulative_error", .title = "Error with all before", .digits = 4},
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
	if (!al_merging_find(&merging, &scratch, module, AL_REDUNDANT_PERCENT / 100., err))
		return false;
	for (size_t i = 0; i < merging.n; i++)
		add_row(table, module, &merging.steps[i]);
	return true;
}

static void finish(struct al_audit *audit, struct al_table *table)
{
	(void)audit;
	al_table_note(table,
		"twin: the head attends as its twin does, whose W_O takes its outputs too; silent: "
		"it is dropped; in the order in which the larger error of scores and values grows "
		"least, up to %g; after these, at any error, heads at least half of whose scores "
		"and values (of their squares: both cosines reach 0.707) are their twin's",
		AL_REDUNDANT_PERCENT / 100.);
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
		return al_format(arena, "%s head %.0f is silent", module, head);
	return al_format(arena, "%s head %.0f is as head %.0f", module, head, twin);
}

static void summarise(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *redundant)
{
	struct al_arena *arena = &summary->arena;
	const size_t within = count_up_to(redundant, AL_REDUNDANT_PERCENT / 100.);

	(void)audit;
	if (redundant->n_rows == 0) {
		al_summary_add(summary, "redundant heads",
			al_format(arena, "none under %d %% error, none half another's",
				AL_REDUNDANT_PERCENT));
		return;
	}
	al_summary_add(summary, "redundant heads",
		al_format(arena, "%zu under 1 %% error of their module, %zu under %d %%%s: %s%s",
			count_up_to(redundant, .01), within, AL_REDUNDANT_PERCENT,
			within < redundant->n_rows ? al_format(arena, ", %zu more half another's",
				redundant->n_rows - within)
						   : "",
			print_head(arena, redundant, 0), redundant->n_rows > 1 ? " ..." : ""));
}

const struct al_measurement al_measurement_redundant = {
	.id = "redundant",
	.title = "Heads that a module can do without",
	.needs = {.weights = true},
	.fields = fields,
	.add_module = add_module,
	.finish = finish,
	.short_form = {.columns = {"module", "head", "reason", "twin", "qk_cosine", "ov_cosine",
			       "ov_relative_error", "cumulative_error"},
		.most_rows = 10},
	.summary = {{AL_SUMMARY_PAIRS, summarise}},
};

/* ---- the verdict ---- */

/* ---- redundant heads ---- */

struct redundant {
	size_t n_twins, n_silent;
	double error; /* of the module that changes most without its redundant heads */
};

static struct redundant count(const struct al_table *table)
{
	struct redundant found = {0};
	double number;

	for (size_t row = 0; row < table->n_rows; row++) {
		if (al_table_number(table, row, "twin", &number))
			found.n_twins++;
		else
			found.n_silent++;
		if (al_table_number(table, row, "cumulative_error", &number))
			found.error = fmax(found.error, number);
	}
	return found;
}

/* "4 repeat another head, 1 writes almost nothing" */
static const char *reasons(struct al_arena *arena, const struct redundant *found)
{
	const char *twins = al_format(arena, "%s repeat%s another head",
		al_claim_count(arena, "twins", (int64_t)found->n_twins),
		found->n_twins == 1 ? "s" : "");
	const char *silent = al_format(arena, "%s write%s almost nothing",
		al_claim_count(arena, "silent", (int64_t)found->n_silent),
		found->n_silent == 1 ? "s" : "");

	if (found->n_silent == 0)
		return twins;
	return found->n_twins == 0 ? silent : al_format(arena, "%s, %s", twins, silent);
}

/* A percentage that isn't exceeded: "3", "0.4". */
static const char *bound(struct al_arena *arena, double share)
{
	const double percent = 100 * share;

	if (percent < 0.1)
		return "0.1";
	return al_format(arena, percent < 1 ? "%.1f" : "%.0f",
		percent < 1 ? ceil(10 * percent) / 10 : ceil(percent));
}

static const char *say_redundant(struct al_arena *arena, const char *judged, size_t n_heads,
	const struct redundant *found)
{
	const size_t n = found->n_twins + found->n_silent;

	return al_format(arena,
		AL_CLAIM_LEAD
		"%s of %s heads add%s little, %s: %s; without %s no layer's scores or "
		"values change by more than %s.",
		al_claim_count(arena, "redundant", (int64_t)n),
		al_claim_count(arena, "heads", (int64_t)n_heads), n == 1 ? "s" : "", judged,
		reasons(arena, found), n == 1 ? "it" : "all of them",
		al_claim_real(arena, "error", "%", 100 * found->error,
			al_format(arena, "%s %%", bound(arena, found->error))));
}

/* ---- heads that are all needed ---- */

struct cheapest {
	size_t row;
	double share; /* of the norm of its module's values; INFINITY: no module has any */
};

/* Rows of a module follow each other. */
static size_t module_end(const struct al_table *heads, size_t first)
{
	const char *module = al_table_text(heads, first, "module");
	size_t row = first;

	while (row < heads->n_rows && strcmp(al_table_text(heads, row, "module"), module) == 0)
		row++;
	return row;
}

static void find_cheapest(const struct al_table *heads, size_t first, size_t end,
	struct cheapest *best)
{
	double sum = 0, norm;

	for (size_t row = first; row < end; row++)
		if (al_table_number(heads, row, "ov_norm", &norm))
			sum += norm * norm;
	for (size_t row = first; sum > 0 && row < end; row++)
		if (al_table_number(heads, row, "ov_norm", &norm) && norm / sqrt(sum) < best->share)
			*best = (struct cheapest){row, norm / sqrt(sum)};
}

static const char *say_needed(struct al_arena *arena, const char *judged,
	const struct al_table *heads)
{
	struct cheapest best = {.share = INFINITY};

	for (size_t row = 0, end; row < heads->n_rows; row = end) {
		end = module_end(heads, row);
		find_cheapest(heads, row, end, &best);
	}
	if (isinf(best.share))
		return NULL;
	return al_format(arena,
		"No head can go unnoticed, %s: none under %s error of its module's scores and "
		"values, none half another's. The smallest W_V W_O, of %s head %s, has %s of its "
		"module's norm.",
		judged,
		al_claim_real(arena, "limit", "%", AL_REDUNDANT_PERCENT,
			al_format(arena, "%d %%", AL_REDUNDANT_PERCENT)),
		al_claim_cell(arena, heads, best.row, "module"),
		al_claim_cell(arena, heads, best.row, "head"),
		al_claim_real(arena, "share", "%", 100 * best.share,
			al_format(arena, "%.0f %%", 100 * best.share)));
}

const char *al_audit_verdict(struct al_arena *arena, const struct al_audit *audit,
	const struct al_table *heads, const struct al_table *redundant)
{
	const struct redundant found = count(redundant);
	const char *judged = audit->options.covariance ? "as the recorded inputs use them"
						       : "by weights alone";

	return redundant->n_rows ? say_redundant(arena, judged, heads->n_rows, &found)
				 : say_needed(arena, judged, heads);
}
