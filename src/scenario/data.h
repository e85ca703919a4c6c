/* Measured numbers, as a scenario states them. */
#ifndef ATTNLEDGER_SCENARIO_DATA_H
#define ATTNLEDGER_SCENARIO_DATA_H

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

/* Where rows come from, as an object names them; NULL: absent. */
struct al_rows_source {
	const struct cJSON *columns, *rows, *file;
};

/* A printed number: the interval of half a unit of its last digit around it. */
struct al_datum {
	const char *printed; /* NULL: missing */
	mpq_srcptr value, low, high; /* all equal in an exact set */
	mpq_srcptr spread; /* or NULL */
	int digits, spread_digits; /* decimals as printed */
};

enum al_direction { AL_PLAIN, AL_HIGHER_IS_BETTER, AL_LOWER_IS_BETTER };

struct al_data_column {
	const char *name;
	enum al_direction direction;
};

struct al_data_row {
	const char *case_, *variant; /* the names of the scenario's own cases and variants; NULL
					where the set has no such column */
	const struct al_datum *cells; /* [n_columns] of the set */
};

struct al_data_set {
	const char *id, *title, *source;
	struct al_rows_source from;
	const struct cJSON *metrics; /* which values are the better ones; NULL: not said */
	bool is_exact, has_case, has_variant;
	int64_t runs; /* that a number is the mean of; 0: not told */
	struct al_data_column *columns; /* without case and variant */
	size_t n_columns;
	struct al_data_row *rows;
	size_t n_rows;
};

/* The datum of a row, whose names are the scenario's own; NULL where the set has no such row. */
const struct al_datum *al_datum_find(const struct al_data_set *set, const char *case_,
	const char *variant, size_t column);

#endif
