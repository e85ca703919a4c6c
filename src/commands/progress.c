/* Progress: work of more than a second says on a terminal where it is. */
#include "commands/progress.h"

#include <stdio.h>
#include <unistd.h>

void al_progress_init(struct al_progress *progress, const struct al_session *session)
{
	progress->is_wanted = isatty(STDERR_FILENO) && !session->output->is_quiet;
	progress->is_shown = false;
	clock_gettime(CLOCK_MONOTONIC, &progress->begin);
}

void al_progress_show(struct al_progress *progress, const char *whole, const char *part)
{
	struct timespec now;

	if (!progress->is_wanted)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - progress->begin.tv_sec < 1)
		return;
	fprintf(stderr, "\r\033[K%s: %s", whole, part);
	progress->is_shown = true;
}

void al_progress_finish(struct al_progress *progress)
{
	if (progress->is_shown)
		fprintf(stderr, "\r\033[K");
}
