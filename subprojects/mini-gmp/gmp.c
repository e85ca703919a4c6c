/* Both files in one: the second takes macros of the first. */
#include "mini-gmp.c"
#include "mini-mpq.c"
