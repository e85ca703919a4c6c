/* Conversions of all modules put together, and their lines in the summary. */
#include "audit/conversion_totals.h"

#include "audit/summary.h"

static const char *const named[] = {"variant", "setting", "gauge"};
static const char *const errors[] = {"qk_relative_error", "qk_mean_error", "ov_relative_error"};
enum { N_NAMES = 3, N_ERRORS = sizeof(errors) / sizeof(*errors) };

static bool is_same(const struct al_table *a, size_t row, const struct al_table *b, size_t other)
{
	for (int i = 0; i < N_NAMES; i++)
		if (strcmp(al_table_text(a, row, named[i]), al_table_text(b, other, named[i])) != 0)
			return false;
	return true;
}

/* The modules' rows of one conversion, put together. */
struct total {
	double parameters, before, cache_saving, errors[N_ERRORS];
	size_t n_modules, n_errors[N_ERRORS];
};

static void add_to_total(struct total *t, const struct al_table *table, size_t row)
{
	double parameters = 0, saving = 0, cache = 0, error;

	(void)(al_table_number(table, row, "parameters", &parameters)
		&& al_table_number(table, row, "saving", &saving)
		&& al_table_number(table, row, "cache_saving", &cache));
	t->parameters += parameters;
	t->before += parameters / (1 - saving / 100);
	t->cache_saving += cache;
	t->n_modules++;
	for (int i = 0; i < N_ERRORS; i++) {
		if (!al_table_number(table, row, errors[i], &error))
			continue;
		t->errors[i] = t->n_errors[i]++ && t->errors[i] > error ? t->errors[i] : error;
	}
}

static void set_total(struct al_table *out, const struct al_table *table, size_t row,
	const struct total *t)
{
	struct al_cell *cells = al_table_add_row(out), *cell = cells;

	for (int i = 0; i < N_NAMES; i++)
		al_cell_copy(out, cell++, &table->rows[row][al_table_find_column(table, named[i])]);
	al_cell_set_real(cell++, 100 * (1 - t->parameters / t->before));
	al_cell_set_real(cell, t->cache_saving / (double)t->n_modules);
	for (int i = 0; i < N_ERRORS; i++) {
		const int column = al_table_find_column(out, errors[i]);
		if (column >= 0 && t->n_errors[i])
			al_cell_set_real(cells + column, t->errors[i]);
	}
}

/* Is there a number in the column? Without rotary positions none is over all offsets. */
static bool has_numbers(const struct al_table *table, const char *key)
{
	double number;

	for (size_t row = 0; row < table->n_rows; row++)
		if (al_table_number(table, row, key, &number))
			return true;
	return false;
}

void al_conversion_total(struct al_table *out, const struct al_table *table)
{
	for (int i = 0; i < N_NAMES; i++)
		al_table_copy_column(out, table, named[i]);
	al_table_copy_column(out, table, "saving");
	al_table_copy_column(out, table, "cache_saving");
	for (int i = 0; i < N_ERRORS; i++)
		if (has_numbers(table, errors[i]))
			al_table_copy_column(out, table, errors[i]);
	for (size_t row = 0; row < table->n_rows; row++) {
		struct total total = {0};
		bool is_first = true;
		for (size_t other = 0; other < row && is_first; other++)
			is_first = !is_same(table, row, table, other);
		for (size_t other = row; is_first && other < table->n_rows; other++)
			if (is_same(table, row, table, other))
				add_to_total(&total, table, other);
		if (is_first)
			set_total(out, table, row, &total);
	}
}

/* ---- the summary ---- */

/* The largest of the errors; NaN where there is none. */
static double worst(const struct al_table *table, size_t row)
{
	double largest = NAN, error;

	for (int i = 0; i < N_ERRORS; i++)
		if (al_table_number(table, row, errors[i], &error))
			largest = fmax(largest, error);
	return largest;
}

/* Rounding of numbers in single precision stays below. */
static const double EXACT = 1e-6;

/* Savings by removing redundant heads don't count as conversions to another form of attention. */
static bool is_of_redundant_heads(const struct al_table *table, size_t row)
{
	return strncmp(al_table_text(table, row, "setting"), "redundant", 9) == 0;
}

bool al_conversion_find_exact(const struct al_table *totals, size_t *out)
{
	double best[2] = {0, 0}, cache, saving;
	bool is_found = false;

	for (size_t row = 0; row < totals->n_rows; row++) {
		if (!(worst(totals, row) <= EXACT)
			|| !al_table_number(totals, row, "cache_saving", &cache)
			|| !al_table_number(totals, row, "saving", &saving)
			|| (cache == best[0] ? saving <= best[1] : cache < best[0]))
			continue;
		best[0] = cache;
		best[1] = saving;
		*out = row;
		is_found = !is_of_redundant_heads(totals, row);
	}
	return is_found;
}

/* Of those that save parameters with an error of at most `most`: the one that saves most; with
 * `most` 0 the one of least error. */
static bool find_best(const struct al_table *table, double most, size_t *out)
{
	double best = INFINITY;

	for (size_t row = 0; row < table->n_rows; row++) {
		double saving = 0, error = worst(table, row);
		(void)al_table_number(table, row, "saving", &saving);
		double cost = most > 0 ? -saving : error;
		if (saving > 0 && (most == 0 || error <= most) && cost < best) {
			best = cost;
			*out = row;
		}
	}
	return best < INFINITY;
}

static void add_conversion(struct al_table *summary, const struct al_table *table, const char *item,
	size_t row)
{
	double saving = 0, cache = 0;
	const char *setting = al_table_text(table, row, "setting");

	(void)(al_table_number(table, row, "saving", &saving)
		&& al_table_number(table, row, "cache_saving", &cache));
	al_summary_add(summary, item,
		al_format(&summary->arena,
			"%s%s%s: error %.2g, saves %.0f %% of parameters, %.0f %% of the cache",
			al_table_text(table, row, "variant"), *setting ? " " : "", setting,
			worst(table, row), saving, cache));
}

void al_conversion_summarize(struct al_table *summary, const struct al_audit *audit,
	const struct al_table *conversion)
{
	static const struct {
		double most;
		const char *item;
	} levels[] = {{.01, "under 1 % error"}, {.05, "under 5 %"}, {.1, "under 10 %"},
		{0, "least error"}};
	AL_ENDS(al_table_finish) struct al_table all = {0};
	size_t row = 0, last = SIZE_MAX;

	(void)audit;
	if (conversion->n_rows == 0)
		return;
	al_table_init(&all, "all", "");
	al_conversion_total(&all, conversion);
	if (!find_best(&all, .1, &row))
		al_summary_add(summary, "conversions",
			"none saves parameters at 10 % error or less");
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		if (!find_best(&all, levels[i].most, &row) || row == last)
			continue;
		add_conversion(summary, &all, levels[i].item, row);
		last = row;
	}
}
