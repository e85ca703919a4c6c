/* A symmetric matrix made tridiagonal, G = H T H^T, as LAPACK's sytrd leaves it.
 *
 * LAPACK takes a column's product with the matrix as it was and puts the columns before it right
 * afterwards, so that most of its work is on thin matrices. A matrix that stays in cache is
 * better brought up to date in the pass that multiplies it: with AVX-512 that takes 0.4 to 0.5 of
 * the time for 64 to 192 rows, for 768 0.6 in single and 0.7 in double precision, and still 0.75
 * where the half of 1,024 rows leaves a core's own cache. */
#include "linalg/tridiagonal.h"

#include <math.h>
#include <string.h>

#include "linalg/internal.h"

/* Bytes of half a matrix: beyond a core's own cache it is the shared one that holds it. */
enum { CACHED = 4 << 20 };

/* Of the widest registers. */
enum { REGISTER_BYTES = 64 };

/* What is left of a register's sums to be added up for all columns together. */
enum { PARTS = 4 };

#include "linalg/in_double.h"
#include "linalg/tridiagonal.inc"

#include "linalg/in_single.h"
#include "linalg/tridiagonal.inc"
