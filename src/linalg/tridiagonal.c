/* A symmetric matrix made tridiagonal, G = H T H^T, as LAPACK's sytrd leaves it.
 *
 * LAPACK takes a column's product with the matrix as it was and puts the columns before it right
 * afterwards, so that most of its work is on thin matrices. A matrix that stays in cache is
 * better brought up to date in the pass that multiplies it: that took 0.6 to 0.75 of the time for
 * 64 to 384 rows, for 768 0.7 in single and 0.8 in double precision. */
#include "linalg/tridiagonal.h"

#include <math.h>
#include <string.h>

#include "linalg/internal.h"

/* Bytes of half a matrix: beyond a core's own cache it is the shared one that holds it. */
enum { CACHED = 2500 << 10 };

/* Of the widest registers. */
enum { REGISTER_BYTES = 64 };

#include "linalg/in_double.h"
#include "linalg/tridiagonal.inc"

#include "linalg/in_single.h"
#include "linalg/tridiagonal.inc"
