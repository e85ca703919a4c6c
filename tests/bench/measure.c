/* Runs a command several times and prints the median of its wall time in milliseconds and its peak
 * memory in MiB: measure RUNS COMMAND... */
#define _DEFAULT_SOURCE   /* wait4 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RUNS = 1000 };

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

int main(int argc, char **argv)
{
	double ms[MOST_RUNS], mib[MOST_RUNS];
	int n = argc > 2 ? atoi(argv[1]) : 0;

	if (n < 1 || n > MOST_RUNS) {
		fprintf(stderr, "usage: measure RUNS COMMAND...\n");
		return 2;
	}
	for (int i = 0; i < n; i++) {
		if (!run(argv + 2, &ms[i], &mib[i])) {
			fprintf(stderr, "measure: %s failed\n", argv[2]);
			return 1;
		}
	}
	qsort(ms, (size_t)n, sizeof(*ms), compare);
	qsort(mib, (size_t)n, sizeof(*mib), compare);
	printf("%.2f %.1f\n", ms[n / 2], mib[n / 2]);
	return 0;
}
