/* Runs commands several times, in turn, and prints a line for each: the medians of its wall time in
 * milliseconds and its peak memory in MiB: measure RUNS COMMAND... [-- COMMAND...] */
#define _DEFAULT_SOURCE /* wait4 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RUNS = 1000, MOST_COMMANDS = 8 };

struct series {
	char **command;
	double ms[MOST_RUNS], mib[MOST_RUNS];
};

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void become(char **command)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	execvp(command[0], command);
	_exit(127);
}

static bool run(char **command, double *ms, double *mib)
{
	struct rusage usage;
	int status;
	double begin = now_ms();
	pid_t child = fork();

	if (child == 0)
		become(command);
	if (child < 0 || wait4(child, &status, 0, &usage) != child)
		return false;
	*ms = now_ms() - begin;
	*mib = (double)usage.ru_maxrss / 1024;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Cuts the arguments at "--" into commands that end in NULL. */
static int cut(char **argv, struct series *series)
{
	int n = 0;

	series[n++].command = argv;
	for (; *argv; argv++) {
		if (strcmp(*argv, "--") == 0 && n < MOST_COMMANDS) {
			*argv = NULL;
			series[n++].command = argv + 1;
		}
	}
	return n;
}

static double median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), compare);
	return values[n / 2];
}

int main(int argc, char **argv)
{
	static struct series series[MOST_COMMANDS];
	int n_runs = argc > 2 ? atoi(argv[1]) : 0;

	if (n_runs < 1 || n_runs > MOST_RUNS) {
		fprintf(stderr, "usage: measure RUNS COMMAND... [-- COMMAND...]\n");
		return 2;
	}
	int n = cut(argv + 2, series);
	for (int i = 0; i < n_runs; i++) {
		for (struct series *s = series; s < series + n; s++) {
			if (!run(s->command, &s->ms[i], &s->mib[i])) {
				fprintf(stderr, "measure: %s failed\n", s->command[0]);
				return 1;
			}
		}
	}
	for (struct series *s = series; s < series + n; s++)
		printf("%.2f %.1f\n", median(s->ms, n_runs), median(s->mib, n_runs));
	return 0;
}
