/* Progress: work of more than a second says on a terminal what is done, how many of how many, and
 * how much time is left. */
#pragma once

#include <time.h>

#include "answer/session.h"

struct al_progress {
	const char *whole; /* what is worked on */
	double begin, shown; /* seconds of a clock; shown 0: nothing yet */
	bool is_wanted;
};

/* It leaves an empty line behind when the command has run. */
struct al_progress *al_progress_begin(struct al_session *session, const char *whole);

/* "model: layers.3, 4 of 12, 20 s left": `part` is the step after those that are done, of n of
 * equal weight; n 0: nobody knows how many there are. `progress` is a struct al_progress: whoever
 * watches work takes it with this function. */
void al_progress_show(void *progress, const char *part, size_t done, size_t n);
