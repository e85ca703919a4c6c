/* What the largest eigenvalues of a matrix leave: it is made tridiagonal, and only the
 * eigenvalues that are asked for are found, or what they leave, whichever are fewer. */
#include <math.h>

#include "linalg/band.h"
#include "linalg/bisect.h"
#include "linalg/internal.h"

#include "linalg/in_double.h"
#include "linalg/sum_beyond.inc"

#include "linalg/in_single.h"
#include "linalg/sum_beyond.inc"
