/* The control that an approximation of the scores has to beat: all heads truncated together, at as
 * many parameters, each left with as many of its singular triples as are among the largest of all
 * heads'. */
#pragma once

#include "base/table.h"
#include "linalg/heads.h"

struct al_control {
	double *errors; /* relative error, by the number of triples kept, [most + 1] */
	size_t most, parameters; /* all triples; parameters of one */
};

/* On failure, too, it is to be finished. */
bool al_control_init(struct al_control *control, const struct al_heads *heads,
	struct al_error *err) AL_MUST_CHECK;
void al_control_finish(struct al_control *control);

/* Error with as many triples as these parameters allow. */
double al_control_error(const struct al_control *control, size_t parameters);

/* How an approximation compares: columns of a table whose records have this member. */
struct al_control_row {
	double saving, relative_error, control_error, sharing_gain;
};

#define AL_CONTROL_FIELDS(record, row) \
	{{.key = "saving", .title = "Saving", .unit = "%", .digits = 2}, \
		AL_MEMBER(record, row.saving)}, \
		{{.key = "relative_error", .title = "Relative error", .digits = 6}, \
			AL_MEMBER(record, row.relative_error)}, \
		{{.key = "control_error", .title = "Truncation error", .digits = 6}, \
			AL_MEMBER(record, row.control_error)}, \
	{ \
		{.key = "sharing_gain", .title = "Gain over truncation", .digits = 3}, \
			AL_MEMBER(record, row.sharing_gain) \
	}

/* `error` NAN: unknown; `control` NAN: none. */
struct al_control_row al_control_compare(size_t original, size_t parameters, double error,
	double control);

/* What truncating is, and the gain, in a note's words. */
extern const char al_control_note[];
