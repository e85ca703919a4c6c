/* Progress: work of more than a second says on a terminal where it is. */
#ifndef ATTNLEDGER_COMMANDS_PROGRESS_H
#define ATTNLEDGER_COMMANDS_PROGRESS_H

#include <time.h>

#include "commands/command.h"

struct al_progress {
	struct timespec begin;
	bool is_wanted, is_shown;
};

void al_progress_init(struct al_progress *progress, const struct al_session *session);
void al_progress_show(struct al_progress *progress, const char *whole, const char *part);
/* Leaves an empty line behind. */
void al_progress_finish(struct al_progress *progress);

#endif
