/* A symmetric matrix made tridiagonal, G = H T H^T, as LAPACK's sytrd leaves it.
 *
 * LAPACK takes a column's product with the matrix as it was and puts the columns before it right
 * afterwards, so that most of its work is on thin matrices. A matrix that stays in a core's cache
 * is better brought up to date in the pass that multiplies it: that took 0.6 to 0.75 of the time
 * for 64 to 384 rows. */
#include "linalg/tridiagonal.h"

#include <math.h>
#include <string.h>

#include "linalg/internal.h"

/* Bytes of half a matrix that a core's own cache holds, beside what else is there. */
enum { CACHED = 600 << 10 };

/* Of the widest registers. */
enum { REGISTER_BYTES = 64 };

#include "linalg/in_double.h"
#include "linalg/tridiagonal.inc"

#include "linalg/in_single.h"
#include "linalg/tridiagonal.inc"
