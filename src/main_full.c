/* attnledger-full: all commands, with all libraries. */
#include "commands/program.h"

#ifdef __GLIBC__
#include <printf.h>

/* OpenBLAS brings libgfortran, and that libquadmath, which registers a printf conversion of its own
 * when it is loaded. From the first one on, glibc's printf takes several times as long for every
 * text. Nothing here prints numbers of 128 bits: this function precedes glibc's and refuses the
 * registration. */
int register_printf_type(printf_va_arg_function *function)
{
	(void)function;
	return -1;
}
#endif

int main(int argc, char **argv)
{
	return al_command_line(argc, argv, &al_full_program);
}
