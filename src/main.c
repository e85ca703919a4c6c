/* attnledger: keeps the books of attention. */
#include "commands/command.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* glibc raises the size from which a block gets pages of its own whenever such a block is freed; the
 * next module's matrices would then lie between smaller blocks, and memory would grow with every one.
 * A fixed size keeps the peak that of one module (tests/bench/run-memory). */
static void give_matrices_back(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

int main(int argc, char **argv)
{
	give_matrices_back();
	return al_command_line(argc, argv);
}
