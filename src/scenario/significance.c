/* Which scores differ from a reference's by more than their spread explains: Welch's t-test (Welch
 * 1947) of two means, each of `runs` runs with the standard deviation that is printed with it. */
#include "scenario/build.h"

static const double significant = 0.05, highly_significant = 0.01;

/* The square of the mean's own standard error. */
static double error_squared(const struct al_datum *datum, int64_t runs)
{
	const double deviation = mpq_get_d(datum->spread);

	return deviation * deviation / (double)runs;
}

/* The regularized incomplete beta function by its continued fraction (Abramowitz & Stegun 26.5.8),
 * from behind: it converges for x < (a + 1)/(a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	enum { N_STEPS = 300 };
	double tail = 1;

	for (int m = N_STEPS; m > 0; m--) {
		const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		const double odd = (a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		tail = 1 + even / (1 - odd / tail);
	}
	tail = 1 - (a + b) * x / (a + 1) / tail;
	return exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)) / a / tail;
}

/* The probability that Student's t of so many degrees of freedom is farther from 0 than `t`; 1 of a
 * `t` below the square root of 3, where the fraction needn't converge: it is over 0.08 there. */
static double beyond(double t, double freedom)
{
	const double x = freedom / (freedom + t * t), a = freedom / 2, b = 0.5;

	return x < (a + 1) / (a + b + 2) ? beta_fraction(x, a, b) : 1;
}

/* The probability that means as far apart as these are of the same expectation; 1 where both
 * spreads are printed as zero, which doesn't show what they are. */
static double chance(const struct al_datum *a, const struct al_datum *b, int64_t runs)
{
	const double left = error_squared(a, runs), right = error_squared(b, runs);
	const double sum = left + right;

	if (sum == 0)
		return 1;
	const double t = (mpq_get_d(a->value) - mpq_get_d(b->value)) / sqrt(sum);
	const double freedom = (double)(runs - 1) * sum * sum / (left * left + right * right);
	return beyond(t, freedom);
}

bool al_significance_mark(const struct al_cell_place *place,
	const struct al_scenario_column *column, const struct al_datum *datum, const char **mark,
	struct al_error *err)
{
	const struct al_column_kind *kind = column->kind;
	struct al_cell_place reference = *place;
	AL_SCENARIO_CELL(cell);

	*mark = NULL;
	reference.row.variant = place->table->significance;
	if (!reference.row.variant || !datum || !datum->spread || !kind || !kind->set
		|| place->row.variant == reference.row.variant)
		return true;
	if (kind->set->runs == 0)
		return al_fail(err, AL_EINPUT,
			"table \"%s\": \"significance\" needs \"runs\" in the data set \"%s\"",
			place->table->id, kind->set->id);
	if (!kind->evaluate(kind, &reference, &cell, err))
		return false;
	if (!cell.datum || !cell.datum->spread)
		return true;
	const double p = chance(datum, cell.datum, kind->set->runs);
	*mark = p < highly_significant ? "**" : p < significant ? "*" : NULL;
	return true;
}

/* Notes how many runs there were: of one data set, or of several. */
void al_significance_note(const struct al_scenario_table *table, struct al_table *out)
{
	int64_t least = INT64_MAX, most = 0;

	if (!table->significance)
		return;
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct al_column_kind *kind = table->columns[i].kind;
		if (!kind || !kind->set || kind->set->runs == 0)
			continue;
		least = al_least(kind->set->runs, least);
		most = al_most(kind->set->runs, most);
	}
	if (most == 0)
		return;
	const char *name = table->significance->title ? table->significance->title
						      : table->significance->name;
	const char *runs = least == most
		? al_format(&out->arena, "%lld", (long long)most)
		: al_format(&out->arena, "%lld to %lld", (long long)least, (long long)most);
	al_table_warn(out,
		"significance against %s: * p < 0.05, ** p < 0.01, by Welch's two-sided t-test "
		"over %s runs each",
		name, runs);
}
