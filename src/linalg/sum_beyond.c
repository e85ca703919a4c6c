/* What the largest eigenvalues of a matrix leave: it is made tridiagonal, and only the
 * eigenvalues that are asked for are found, by Sturm sequences and bisection, as many side by side
 * as fit into registers. */
#include <float.h>
#include <math.h>

#include "linalg/band.h"
#include "linalg/internal.h"

/* Eigenvalues. */
enum { LANES = 32 };

/* Of a large matrix's eigenvalues one in so many is found by bisection sooner than all by sterf. */
enum { FEW = 8 };

#define EPSILON DBL_EPSILON
#define DIGITS DBL_MANT_DIG
#define SMALLEST DBL_TRUE_MIN
#include "linalg/in_double.h"
#include "linalg/sum_beyond.inc"
#undef EPSILON
#undef DIGITS
#undef SMALLEST

#define EPSILON FLT_EPSILON
#define DIGITS FLT_MANT_DIG
#define SMALLEST FLT_TRUE_MIN
#include "linalg/in_single.h"
#include "linalg/sum_beyond.inc"
