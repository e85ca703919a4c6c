/* Progress: work of more than a second says on a terminal where it is. */
#ifndef ATTNLEDGER_COMMANDS_PROGRESS_H
#define ATTNLEDGER_COMMANDS_PROGRESS_H

#include <time.h>

#include "commands/command.h"

struct progress {
	struct timespec begin;
	bool is_wanted, is_shown;
};

void progress_init(struct progress *progress, const struct session *session);
void progress_show(struct progress *progress, const char *whole, const char *part);
/* Leaves an empty line behind. */
void progress_finish(struct progress *progress);

#endif
