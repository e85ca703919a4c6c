/* Signals, none of which comes. */
#pragma once

#define _WASI_EMULATED_SIGNAL
#include_next <signal.h>

typedef unsigned long sigset_of_none;
#define sigset_t sigset_of_none
#define SA_SIGINFO 4
#define SA_RESETHAND 0x80000000

struct sigaction {
	void (*sa_handler)(int number);
	sigset_t sa_mask;
	int sa_flags;
};

static inline int sigemptyset(sigset_t *set)
{
	*set = 0;
	return 0;
}

static inline int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
	(void)number;
	(void)action;
	if (before)
		*before = (struct sigaction){.sa_flags = SA_SIGINFO};
	return 0;
}
