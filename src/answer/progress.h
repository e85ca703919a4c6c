/* Progress: work of more than a second shows on a terminal its step, how many of how many, and
 * how much time is left. */
#pragma once

#include <time.h>

#include "answer/session.h"

struct al_progress {
	const char *whole; /* what is worked on */
	double begin, shown; /* seconds of a clock; shown 0: nothing yet */
	bool is_wanted;
	const struct al_watch *caller; /* of a library: it is asked in place of the terminal */
	struct al_watch watch; /* what work is given to show itself */
};

/* Steps are shown by its watch. It leaves an empty line behind when the command has run. */
struct al_progress *al_progress_begin(struct al_session *session, const char *whole);
