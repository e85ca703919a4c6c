/* attnledger-full: all commands, with all libraries. */
#include "commands/command.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* glibc raises the size from which a block gets pages of its own whenever such a block is freed;
 * the next module's matrices would then lie between smaller blocks, and memory would grow with
 * every one. With a fixed size the peak is that of one module (tests/bench/run-memory). It is as
 * large as glibc takes, and the heap isn't cut after every matrix: fresh pages for each would cost
 * a third of an audit's time. */
static void reuse_matrices(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, 4 << 20);
#endif
}

int main(int argc, char **argv)
{
	reuse_matrices();
	return al_command_line(argc, argv, &al_full_program);
}
