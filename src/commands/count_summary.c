/* count in a sentence: how many, where most of them are, and what is counted that others may not
 * count. */
#include "commands/count.h"

#include <string.h>

#include "base/number.h"
#include "commands/summary.h"

static bool is_total(const struct al_table *table, size_t row)
{
	return strcmp(al_table_text(table, row, "part"), "total") == 0;
}

static size_t count_totals(const struct al_table *table, size_t *last)
{
	size_t n = 0;

	for (size_t row = 0; row < table->n_rows; row++)
		if (is_total(table, row)) {
			*last = row;
			n++;
		}
	return n;
}

static double sum_of(const struct al_table *table, const char *part)
{
	double sum = 0, number;

	for (size_t row = 0; row < table->n_rows; row++)
		if (strcmp(al_table_text(table, row, "part"), part) == 0
			&& al_table_number(table, row, "parameters", &number))
			sum += number;
	return sum;
}

/* ", most of them in feed_forward (70.2 %)"; "" where there is one part. */
static const char *largest_part(struct al_arena *arena, const struct al_table *table, double total)
{
	const char *largest = NULL;
	double most = 0;

	for (size_t row = 0; row < table->n_rows; row++) {
		const char *part = al_table_text(table, row, "part");
		const double sum = is_total(table, row) ? 0 : sum_of(table, part);
		if (sum > most) {
			most = sum;
			largest = part;
		}
	}
	if (!largest || most == total)
		return "";
	return al_format(arena, ", %s of them in the largest part, %s",
		al_text_of_percent(arena, most / total), largest);
}

static const char *projection_text(const struct al_count_facts *f)
{
	static const char *const texts[] = {
		[AL_OUTPUT_OWN] = "; output projections count as each variant declares them",
		[AL_OUTPUT_FULL] = "; each output projection counts d_model x d_model",
		[AL_OUTPUT_NONE] = "; output projections are not counted",
	};

	return f->is_model && f->projection == AL_OUTPUT_OWN ? "" : texts[f->projection];
}

/* What else the number could have been. */
static const char *assumption(struct al_arena *arena, const struct al_count_facts *f,
	mpq_srcptr total)
{
	if (f->is_stored || *f->components)
		return "";
	if (mpq_cmp(f->active, total) < 0)
		return al_format(arena, "; one token uses %s of them (%s)",
			al_exact_grouped(arena, al_exact_text(arena, f->active)),
			al_text_of_percent(arena, mpq_get_d(f->active) / mpq_get_d(total)));
	if (mpq_sgn(f->tied) > 0)
		return al_format(arena,
			"; tied tensors count once: a file that stores them again holds %s more",
			al_exact_grouped(arena, al_exact_text(arena, f->tied)));
	return projection_text(f);
}

static const char *say_one(struct al_arena *arena, const struct al_table *table, size_t total,
	const struct al_count_facts *f)
{
	mpq_srcptr n = al_cell_exact(table, total, "parameters");
	const char *parts = *f->components ? al_format(arena, " (%s only)", f->components) : "";

	if (!n)
		return NULL;
	return al_format(arena, "%s%s has %s %s%s%s.", al_text_of_capital(arena, f->covered), parts,
		al_text_of_cell(arena, table, total, "parameters"),
		f->is_stored ? "stored numbers" : "parameters",
		largest_part(arena, table, mpq_get_d(n)), assumption(arena, f, n));
}

const char *al_count_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_count_facts *f)
{
	size_t last = 0;
	const size_t n = count_totals(table, &last);

	if (n < 2)
		return n ? say_one(arena, table, last, f) : NULL;
	return al_format(arena, "%s %s%s.", f->is_stored ? "Stored numbers" : "Parameters",
		al_text_of_compared(arena, table, "part", "total", "parameters"),
		*f->components ? "" : projection_text(f));
}
