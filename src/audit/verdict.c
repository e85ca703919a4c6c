/* How many heads add little, and what it costs to do without them; where all are needed, what the
 * cheapest of them is worth. */
#include "audit/verdict.h"

#include <math.h>
#include <string.h>

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
	const char *twins = al_format(arena, "%zu repeat%s another head", found->n_twins,
		found->n_twins == 1 ? "s" : "");
	const char *silent = al_format(arena, "%zu write%s almost nothing", found->n_silent,
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
		"%zu of %zu heads add%s little, %s: %s; without %s no layer's scores or values "
		"change by more than %s %%.",
		n, n_heads, n == 1 ? "s" : "", judged, reasons(arena, found),
		n == 1 ? "it" : "all of them", bound(arena, found->error));
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
	double head = 0;

	for (size_t row = 0, end; row < heads->n_rows; row = end) {
		end = module_end(heads, row);
		find_cheapest(heads, row, end, &best);
	}
	if (isinf(best.share))
		return NULL;
	(void)al_table_number(heads, best.row, "head", &head);
	return al_format(arena,
		"No head can go unnoticed, %s: none under %d %% error of its module's scores and "
		"values, none half another's. The smallest W_V W_O, of %s head %.0f, has %.0f %% "
		"of its module's norm.",
		judged, AL_REDUNDANT_PERCENT, al_table_text(heads, best.row, "module"), head,
		100 * best.share);
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
