/* What the program does where the system has no memory left. */
#include <stdatomic.h>
#include <unistd.h>

#include "base/output.h"
#include "commands/program.h"

/* On the stack, and past stdio: what is half printed stays unprinted. */
static void say(size_t bytes)
{
	char line[80];
	int length = bytes == SIZE_MAX
		? snprintf(line, sizeof(line), "attnledger: out of memory\n")
		: snprintf(line, sizeof(line), "attnledger: out of memory: no %zu bytes left\n",
			bytes);
	ssize_t written = write(STDERR_FILENO, line, (size_t)length);

	(void)written;
}

/* If several threads get here, the first prints the message and exits. */
void al_end_exhausted(size_t bytes)
{
	static atomic_flag is_ending = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&is_ending))
		pause();
	al_output_remove_all();
	say(bytes);
	_exit(AL_ESYSTEM);
}
