/* Symmetric matrices by way of a band (Bischof, Lang & Sun, ACM TOMS 26 (2000) 581).
 *
 * To make a matrix tridiagonal at once, each column takes the whole rest of it from memory. A band
 * is made by products with BAND columns at a time; it is small enough for a cache, in which column
 * after column is made tridiagonal and what that pushes out of the band is chased down. */
#include "linalg/band.h"

#include <math.h>
#include <string.h>

#include "linalg/tridiagonal.h"

enum { BAND = 64 };

/* A matrix is multiplied and brought up to date in blocks of so many columns. */
enum { BLOCK = 256 };

/* Columns that are chased together. */
enum { TOGETHER = 4 };

#include "linalg/in_double.h"
#include "linalg/band.inc"
#include "linalg/chase.inc"

#include "linalg/in_single.h"
#include "linalg/band.inc"
#include "linalg/chase.inc"
