/* Progress: work of more than a second shows on a terminal how far it is. */
#include "answer/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

static const double first_after = 1, at_most_every = 0.1;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void clear(void *progress)
{
	if (((const struct al_progress *)progress)->shown > 0)
		fprintf(stderr, "\r\033[K");
}

/* "20 s", "3 min", "1 h 40 min": of a number of seconds. */
static const char *progress_time(double seconds, char text[32])
{
	enum { MINUTE = 60, HOUR = 3600, DAY = 24 * HOUR };
	const int s = (int)fmin(ceil(seconds), 999 * (double)DAY);

	if (s < 2 * MINUTE)
		snprintf(text, 32, "%d s", s);
	else if (s < 2 * HOUR)
		snprintf(text, 32, "%d min", (s + MINUTE / 2) / MINUTE);
	else
		snprintf(text, 32, "%d h %d min", s / HOUR, s % HOUR / MINUTE);
	return text;
}

static size_t columns(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u
									       : 79;
}

/* A stranger's text on one line that is not broken: what doesn't fit is left out. */
static void add_cut(struct al_text *line, const char *text, size_t room)
{
	while (*text && al_text_columns(line->data) < room) {
		char escaped[AL_ESCAPE_BYTES];
		al_text_add_bytes(line, escaped, al_escape_control(&text, escaped));
	}
}

static void add_steps(struct al_text *line, size_t done, size_t n, double elapsed)
{
	char left[32];

	if (done >= n)
		return;
	al_text_addf(line, ", %zu of %zu", done + 1, n);
	if (done > 0)
		al_text_addf(line, ", %s left",
			progress_time(elapsed / (double)done * (double)(n - done), left));
}

/* "model: layers.3, 4 of 12, 20 s left" */
static bool show(void *context, const char *part, size_t done, size_t n)
{
	struct al_progress *progress = context;
	const struct al_watch *caller = progress->caller;

	if (caller)
		return !caller->show || caller->show(caller->context, part, done, n);
	const double time = now(), elapsed = time - progress->begin;
	if (!progress->is_wanted || elapsed < first_after || time - progress->shown < at_most_every)
		return true;
	AL_TEXT(line);
	AL_TEXT(end);
	add_steps(&end, done, n, elapsed);
	const size_t width = columns(), taken = al_text_columns(end.data);
	const size_t room = width > taken ? width - taken : 0;
	add_cut(&line, progress->whole, room);
	add_cut(&line, ": ", room);
	add_cut(&line, part, room);
	fprintf(stderr, "\r\033[K%s%s", line.data, end.data);
	fflush(stderr);
	progress->shown = time;
	return true;
}

struct al_progress *al_progress_begin(struct al_session *session, const char *whole)
{
	struct al_progress *progress = al_new(&session->arena, struct al_progress);

	*progress = (struct al_progress){.whole = whole,
		.begin = now(),
		.is_wanted = isatty(STDERR_FILENO) && !session->output->is_quiet,
		.caller = session->caller,
		.watch = {show, progress}};
	al_arena_defer(&session->arena, clear, progress);
	return progress;
}
