/* Ticks: where an axis is labeled, and with what.
 *
 * Linear axes by the search of Talbot, Lin & Hanrahan, "An Extension of Wilkinson's Algorithm for
 * Positioning Tick Labels on Axes" (2010): simplicity, coverage, density and legibility are
 * weighed. Bytes get steps that are powers of two. Log axes get decades, with 2 and 5 where there
 * is room, or powers of two. */
#pragma once

#include "base/table.h"

enum { AL_MOST_TICKS = 32, AL_MOST_MINOR_TICKS = 128, AL_TICK_LABEL_SIZE = 40 };

struct al_tick {
	double value;
	char label[AL_TICK_LABEL_SIZE];
};

struct al_ticks {
	struct al_tick items[AL_MOST_TICKS];
	size_t n;
	double minor[AL_MOST_MINOR_TICKS]; /* log axes: without labels */
	size_t n_minor;
};

/* The range of an axis. */
struct al_dimension {
	const char *title;
	enum al_quantity quantity; /* how labels are written */
	bool is_log;
	bool is_date; /* values are years */
	bool is_whole; /* all values are whole numbers: no ticks between them */
	bool is_binary; /* ticks in powers of two */
	bool is_min_fixed, is_max_fixed; /* no tick beyond it; else the axis may grow to one */
	double min, max; /* min < max; both positive on a log axis */
};

/* Values to points along an axis. */
struct al_scale {
	bool is_log;
	double min, max;
	double start_pt, end_pt;
};

struct al_scale al_scale_of(const struct al_dimension *d, double start_pt, double end_pt);
double al_scale_at(const struct al_scale *scale, double value);

struct al_tick_request {
	struct al_dimension axis;
	double length_pt; /* of the axis from min to max */
	double spacing_pt; /* wished from tick to tick */
	double gap_pt; /* least between two labels */
	/* How far a label reaches along the axis. */
	double (*extent_pt)(void *context, const char *label);
	void *context;
};

/* False where no two ticks have room. */
bool al_ticks_find(const struct al_tick_request *request, struct al_ticks *out);

/* The same of dates, and their labels (dates.c). */
bool al_ticks_find_dates(const struct al_tick_request *request, struct al_ticks *out);
void al_ticks_label_dates(struct al_ticks *ticks);

/* Writes the labels of `ticks`: counts as 50M and 1.2B, bytes as 16 MiB, others in decimals, all of
 * one unit where that keeps them short. */
void al_ticks_label(struct al_ticks *ticks, enum al_quantity quantity, bool is_log);

/* Three digits of a single value: 1.28M, 0.0123. */
void al_tick_label_rounded(char label[AL_TICK_LABEL_SIZE], double value, enum al_quantity quantity);

/* A value as its column has it: in its unit, with so many digits; AL_DIGITS_ALL: three digits. */
void al_value_label(char label[AL_TICK_LABEL_SIZE], mpq_srcptr value,
	const struct al_column *column, int digits);

/* Do the labels keep the gap? The smallest distance between two of them in *least_pt. */
bool al_ticks_are_legible(const struct al_tick_request *request, const struct al_ticks *ticks,
	double *least_pt);
