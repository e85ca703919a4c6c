/* Progress: work of more than a second shows on a terminal its step, how many of how many, and
 * how much time is left. */
#pragma once

#include <pthread.h>
#include <time.h>

#include "base/text.h"
#include "answer/session.h"

struct al_progress {
	const char *whole; /* what is worked on */
	double begin,
		made; /* seconds of a clock, when it began and when `line` was made; 0: never */
	struct al_text line;
	bool is_wanted, is_shown;
	pthread_t first; /* shows the line after the first second, however long the step takes */
	pthread_mutex_t mutex; /* of the line, is_shown, is_over */
	pthread_cond_t end;
	bool has_first, is_over;
	const struct al_watch *caller; /* of a library: it is asked in place of the terminal */
	struct al_watch watch; /* what work is given to show itself */
};

/* Steps are shown by its watch. It leaves an empty line behind when the command has run. */
struct al_progress *al_progress_begin(struct al_session *session, const char *whole);
