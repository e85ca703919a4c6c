/* Progress: work of more than a second says on a terminal what is done, how many of how many, and
 * how much time is left. */
#ifndef ATTNLEDGER_COMMANDS_PROGRESS_H
#define ATTNLEDGER_COMMANDS_PROGRESS_H

#include <time.h>

#include "commands/command.h"

struct al_progress {
	double begin, shown; /* seconds of a clock; shown 0: nothing yet */
	bool is_wanted;
};

/* Steps of equal weight; n 0: nobody knows how many there are. */
struct al_steps {
	size_t done, n;
};

void al_progress_init(struct al_progress *progress, const struct al_session *session);

/* "model: layers.3, 4 of 12, 20 s left": `part` is the step after those that are done. */
void al_progress_show(struct al_progress *progress, const char *whole, const char *part,
	struct al_steps steps);

/* Leaves an empty line behind. */
void al_progress_finish(struct al_progress *progress);

#endif
