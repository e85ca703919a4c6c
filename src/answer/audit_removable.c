/* The verdict on copies of heads and on heads that write almost nothing, from the tables
 * `redundant` and `heads`. */
#include "answer/audit_run.h"

#include "audit/redundant.h"
#include "report/claim.h"

/* A percentage that isn't exceeded: "3 %", "0.4 %". */
static const char *bound_text(struct al_arena *arena, double share)
{
	const double percent = 100 * share;
	const double bound = percent < 0.1 ? 0.1
		: percent < 1		   ? ceil(10 * percent) / 10
					   : ceil(percent);

	return al_claim_real(arena, "bound", "%", bound, al_format(arena, "%g %%", bound));
}

static const char *say_removable(struct al_arena *arena, const struct al_removable *found,
	size_t n_heads)
{
	const size_t n = found->n[AL_REASON_TWIN] + found->n[AL_REASON_SILENT];
	const char *all = n == 1
		? "it"
		: al_format(arena, "all %s", al_claim_count(arena, "removable", (int64_t)n));
	const char *of = al_format(arena, AL_CLAIM_LEAD "%s of %s heads",
		al_claim_count(arena, "removable", (int64_t)n),
		al_claim_count(arena, "heads", (int64_t)n_heads));
	const char *bound = bound_text(arena, found->error);

	if (found->n[AL_REASON_SILENT] == 0)
		return al_format(arena,
			"%s %s of another head. Merging %s changes no layer's scores or values by "
			"more than %s.",
			of, n == 1 ? "is a near copy" : "are near copies", all, bound);
	if (found->n[AL_REASON_TWIN] == 0)
		return al_format(arena,
			"%s write%s almost nothing. Dropping %s changes no layer's values by more "
			"than %s.",
			of, n == 1 ? "s" : "", all, bound);
	return al_format(arena,
		"%s look removable: %s %s of another head, %s write%s almost nothing. Without %s "
		"no layer's scores or values change by more than %s.",
		of, al_claim_count(arena, "copies", (int64_t)found->n[AL_REASON_TWIN]),
		found->n[AL_REASON_TWIN] == 1 ? "is a near copy" : "are near copies",
		al_claim_count(arena, "silent", (int64_t)found->n[AL_REASON_SILENT]),
		found->n[AL_REASON_SILENT] == 1 ? "s" : "", all, bound);
}

static const char *same_text(struct al_arena *arena, size_t n)
{
	return al_format(arena, "%s attend%s as another: %s queries and keys can be shared.",
		al_claim_counted(arena, n, "head"), n == 1 ? "s" : "", n == 1 ? "its" : "their");
}

struct cheapest {
	size_t row;
	double share; /* of a head of its module of average norm; INFINITY: no module has any */
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
	const double average = sqrt(sum / (double)(end - first));
	for (size_t row = first; sum > 0 && row < end; row++)
		if (al_table_number(heads, row, "ov_norm", &norm) && norm / average < best->share)
			*best = (struct cheapest){row, norm / average};
}

static const char *say_needed(const struct al_audit_run *run, const struct al_table *heads)
{
	struct al_arena *arena = &run->session->arena;
	struct cheapest best = {.share = INFINITY};

	for (size_t row = 0, end; row < heads->n_rows; row = end) {
		end = module_end(heads, row);
		find_cheapest(heads, row, end, &best);
	}
	if (isinf(best.share))
		return NULL;
	return al_format(arena,
		"No head looks removable. The cheapest, %s, writes %s of what an average head of "
		"its "
		"layer does; the limit is %s.",
		al_audit_head_text(run, heads, best.row),
		al_claim_real(arena, "share", "%", 100 * best.share,
			al_format(arena, "%.0f %%", 100 * best.share)),
		al_audit_limit_text(arena));
}

const char *al_audit_verdict_say_copies(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_table *redundant = al_audit_run_table(run, "redundant");

	if (!redundant || al_audit_basis(&run->audit) != AL_ON_TOKENS)
		return "";
	const struct al_removable found = al_redundant_count(redundant);
	const size_t n = found.n[AL_REASON_TWIN], n_same = found.n[AL_REASON_SAME_ATTENTION];
	const char *text = n == 0
		? ""
		: al_format(arena,
			"%s repeat%s another: merging %s changes no layer's logits "
			"or output by more than %s.",
			al_claim_counted(arena, n, "head"), n == 1 ? "s" : "",
			n == 1 ? "it" : "them", bound_text(arena, found.error));

	return n_same ? al_format(arena, "%s%s%s", text, n ? " " : "", same_text(arena, n_same))
		      : text;
}

const char *al_audit_verdict_say_removable(const struct al_audit_run *run)
{
	struct al_arena *arena = &run->session->arena;
	const struct al_table *heads = al_audit_run_table(run, "heads");
	const struct al_table *redundant = al_audit_run_table(run, "redundant");
	const bool has_inputs = run->audit.options.covariance != NULL;
	double norm;

	if (!heads || !redundant)
		return "";
	const struct al_removable found = al_redundant_count(redundant);
	const char *text = found.n[AL_REASON_TWIN] + found.n[AL_REASON_SILENT]
		? say_removable(arena, &found, heads->n_rows)
		: say_needed(run, heads);
	if (!text)
		return al_table_number(heads, 0, "ov_norm", &norm)
			? "No head writes anything: their outputs are zero, whatever they read."
			: "";
	if (found.n[AL_REASON_SAME_ATTENTION])
		text = al_format(arena, "%s %s", text,
			same_text(arena, found.n[AL_REASON_SAME_ATTENTION]));
	return al_format(arena, "%s Judged from weights %s%s.", text,
		has_inputs ? "as the recorded inputs use them" : "alone",
		run->opened->view.family->runs ? ": run `calibrate` to judge on text" : "");
}
