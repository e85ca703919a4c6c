/* Which scores differ from a reference's by more than their spread explains: Welch's t-test (Welch
 * 1947) of two means, each of `runs` runs with the standard deviation that is printed with it. */
#include "scenario/build.h"

#include <math.h>

#include "base/statistics.h"

static const double significant = 0.05, highly_significant = 0.01;

/* The square of the mean's own standard error. */
static double error_squared(const struct al_datum *datum, int64_t runs)
{
	const double deviation = mpq_get_d(datum->spread);

	return deviation * deviation / (double)runs;
}

/* The probability that means as far apart as these are of the same expectation; 1 where both
 * spreads are printed as zero, which says nothing of what they are. */
static double chance(const struct al_datum *a, const struct al_datum *b, int64_t runs)
{
	const double left = error_squared(a, runs), right = error_squared(b, runs);
	const double sum = left + right;

	if (sum == 0)
		return 1;
	const double t = (mpq_get_d(a->value) - mpq_get_d(b->value)) / sqrt(sum);
	const double freedom = (double)(runs - 1) * sum * sum / (left * left + right * right);
	return al_students_t_chance(t, freedom);
}

static const char *mark_of(double p)
{
	return p < highly_significant ? "**" : p < significant ? "*" : NULL;
}

static bool reference_of(const struct al_cell_place *place, const struct al_column_kind *kind,
	const struct al_datum **out, struct al_error *err)
{
	struct al_cell_place reference = *place;
	struct al_scenario_cell cell;

	reference.row = (struct al_scenario_row){place->row.case_, place->table->significance};
	al_scenario_cell_init(&cell);
	bool ok = kind->evaluate(kind, &reference, &cell, err);
	*out = cell.datum;
	al_scenario_cell_finish(&cell);
	return ok;
}

bool al_significance_mark(const struct al_cell_place *place,
	const struct al_scenario_column *column, const struct al_datum *datum, const char **mark,
	struct al_error *err)
{
	const struct al_datum *reference;

	*mark = NULL;
	if (!place->table->significance || !datum || !datum->spread || !column->kind
		|| !column->kind->set || place->row.variant == place->table->significance)
		return true;
	if (column->kind->set->runs == 0)
		return al_fail(err, AL_EINPUT,
			"table \"%s\": \"significance\" needs \"runs\" in the data set \"%s\"",
			place->table->id, column->kind->set->id);
	if (!reference_of(place, column->kind, &reference, err))
		return false;
	if (reference && reference->spread)
		*mark = mark_of(chance(datum, reference, column->kind->set->runs));
	return true;
}

/* Of how many runs: of one data set, or of several. */
void al_significance_note(const struct al_scenario_table *table, struct al_table *out)
{
	int64_t least = INT64_MAX, most = 0;

	if (!table->significance)
		return;
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_column_kind *kind = table->columns[i].kind;
		if (!kind || !kind->set || kind->set->runs == 0)
			continue;
		least = kind->set->runs < least ? kind->set->runs : least;
		most = kind->set->runs > most ? kind->set->runs : most;
	}
	if (most == 0)
		return;
	const char *name = table->significance->title ? table->significance->title
						      : table->significance->name;
	const char *runs = least == most
		? al_format(&out->arena, "%lld", (long long)most)
		: al_format(&out->arena, "%lld to %lld", (long long)least, (long long)most);
	al_table_note(out,
		"significance against %s: * p < 0.05, ** p < 0.01, by Welch's two-sided t-test "
		"over %s runs each",
		name, runs);
}
