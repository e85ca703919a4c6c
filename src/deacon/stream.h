/* Sums over tokens, taken in one pass over rows that need not fit into memory.
 *
 * A statistic is a vector of sums to which blocks of rows are added: whoever has rows adds them, a
 * file in parallel panels (al_stream) or a model that runs, block by block (al_sums_add). Panels
 * are as long as they are whoever works on them, and are added up in their order: the same bits for
 * any number of threads. Rows with a number that isn't finite are counted and left out. */
#ifndef ATTNLEDGER_PCA_STREAM_H
#define ATTNLEDGER_PCA_STREAM_H

#include "deacon/rows.h"

struct al_statistic {
	size_t width; /* numbers of a row */
	size_t n_sums;
	size_t block_rows; /* how many rows at once serve best */
	/* Adds rows[n][width], all finite, to sums[n_sums]. Called from several threads. */
	bool (*add)(const void *context, const double *rows, size_t n, double *sums,
		struct al_error *err);
	/* The same of rows that are stored in float32 or less, which spares a copy in double and
	 * adds the same numbers. NULL: it wants doubles. */
	bool (*add_singles)(const void *context, const float *rows, size_t n, double *sums,
		struct al_error *err);
	const void *context;
};

struct al_sums {
	const struct al_statistic *statistic;
	double *sums; /* [n_sums] */
	int64_t n_rows; /* that were added */
	int64_t n_left_out, first_left_out; /* not finite; which row was the first such */
};

bool al_sums_init(struct al_sums *sums, const struct al_statistic *statistic,
	struct al_error *err) AL_MUST_CHECK;
void al_sums_finish(struct al_sums *sums);

/* Adds a block of rows[n][width]; those that aren't finite are left out, and what is there of the
 * others is moved together. */
bool al_sums_add(struct al_sums *sums, double *rows, size_t n, struct al_error *err) AL_MUST_CHECK;

/* Adds all rows of a file, or of two beside each other (`beside` NULL: none; it has as many). */
bool al_stream(struct al_sums *sums, const struct al_rows *rows, const struct al_rows *beside,
	struct al_error *err) AL_MUST_CHECK;

/* The first row that is finite in [width of both]: what is summed is taken relative to it, so that
 * means far from zero cost no digits. False where there is none. */
bool al_stream_first(const struct al_rows *rows, const struct al_rows *beside, double *out,
	struct al_error *err) AL_MUST_CHECK;

#endif
