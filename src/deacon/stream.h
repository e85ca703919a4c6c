/* Sums over tokens, taken in one pass over rows that need not fit into memory.
 *
 * A statistic is a vector of sums to which blocks of rows are added, in parallel panels. Their
 * length doesn't depend on the threads, and they are added up in order: the same bits for any
 * number of threads. Rows with a number that isn't finite are counted and left out. */
#pragma once

#include "deacon/rows.h"

struct al_statistic {
	size_t width; /* numbers of a row */
	size_t n_sums;
	size_t block_rows; /* how many rows at once serve best */
	/* Adds rows[n][width], all finite, to sums[n_sums]. Called from several threads. */
	bool (*add)(const void *context, const double *rows, size_t n, double *sums,
		struct al_error *err);
	const void *context;
};

struct al_sums {
	const struct al_statistic *statistic;
	double *sums; /* [n_sums] */
	int64_t n_rows; /* that were added */
	int64_t n_left_out; /* not finite */
};

/* Sums up rows[0], heads, and with them rows[1], targets, where the statistic's rows are wider than
 * heads; both have as many rows. On failure nothing is left to finish. */
bool al_sums_find(struct al_sums *sums, const struct al_statistic *statistic,
	const struct al_rows rows[2], struct al_error *err) AL_MUST_CHECK;
void al_sums_finish(struct al_sums *sums);

/* The first row that is finite in [width of both]: what is summed is taken relative to it, so that
 * means far from zero cost no digits. False where there is none. */
bool al_rows_first(const struct al_rows rows[2], double *out, struct al_error *err) AL_MUST_CHECK;
