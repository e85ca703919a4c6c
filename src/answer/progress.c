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

/* "20 s", "3 min", "1 h 40 min": of a number of seconds. */
static const char *progress_time(double seconds, char text[32])
{
	enum { MINUTE = 60, HOUR = 3600 };
	const int s = (int)fmin(ceil(seconds), 1e9);

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
static void make_line(struct al_progress *progress, const char *part, size_t done, size_t n,
	double elapsed)
{
	AL_TEXT(end);

	add_steps(&end, done, n, elapsed);
	const size_t width = columns(), taken = al_text_columns(end.data);
	const size_t room = width > taken ? width - taken : 0;
	al_text_finish(&progress->line);
	al_text_init(&progress->line);
	add_cut(&progress->line, progress->whole, room);
	add_cut(&progress->line, ": ", room);
	add_cut(&progress->line, part, room);
	al_text_add(&progress->line, end.data);
}

static void show_line(struct al_progress *progress)
{
	fprintf(stderr, "\r\033[K%s", progress->line.data);
	progress->is_shown = true;
}

static bool show(void *context, const char *part, size_t done, size_t n)
{
	struct al_progress *progress = context;
	const struct al_watch *caller = progress->caller;

	if (caller)
		return !caller->show || caller->show(caller->context, part, done, n);
	const double time = now(), elapsed = time - progress->begin;
	if (!progress->is_wanted || time - progress->made < at_most_every)
		return true;
	pthread_mutex_lock(&progress->mutex);
	make_line(progress, part, done, n, elapsed);
	if (elapsed >= first_after)
		show_line(progress);
	pthread_mutex_unlock(&progress->mutex);
	progress->made = time;
	return true;
}

/* ---- the first second ---- */

static void *wait_and_show(void *context)
{
	struct al_progress *progress = context;
	const double at = progress->begin + first_after;
	const struct timespec until = {(time_t)at, (long)((at - floor(at)) * 1e9)};

	pthread_mutex_lock(&progress->mutex);
	while (!progress->is_over
		&& pthread_cond_timedwait(&progress->end, &progress->mutex, &until) == 0)
		;
	if (!progress->is_over && !progress->is_shown && progress->line.length > 0)
		show_line(progress);
	pthread_mutex_unlock(&progress->mutex);
	return NULL;
}

static void begin_first(struct al_progress *progress)
{
	pthread_condattr_t clock;

	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_mutex_init(&progress->mutex, NULL);
	pthread_cond_init(&progress->end, &clock);
	pthread_condattr_destroy(&clock);
	progress->has_first = pthread_create(&progress->first, NULL, wait_and_show, progress) == 0;
}

static void end(void *context)
{
	struct al_progress *progress = context;

	pthread_mutex_lock(&progress->mutex);
	progress->is_over = true;
	pthread_cond_signal(&progress->end);
	pthread_mutex_unlock(&progress->mutex);
	if (progress->has_first)
		pthread_join(progress->first, NULL);
	if (progress->is_shown)
		fprintf(stderr, "\r\033[K");
	al_text_finish(&progress->line);
	pthread_cond_destroy(&progress->end);
	pthread_mutex_destroy(&progress->mutex);
}

struct al_progress *al_progress_begin(struct al_session *session, const char *whole)
{
	struct al_progress *progress = al_new(&session->arena, struct al_progress);

	*progress = (struct al_progress){.whole = whole,
		.begin = now(),
		.is_wanted = isatty(STDERR_FILENO) && !session->output->is_quiet,
		.caller = session->caller,
		.watch = {show, progress}};
	if (!progress->is_wanted)
		return progress;
	al_text_init(&progress->line);
	begin_first(progress);
	al_arena_defer(&session->arena, end, progress);
	return progress;
}
