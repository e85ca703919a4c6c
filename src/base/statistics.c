/* Distributions of statistics, as GSL computes them. */
#include "base/statistics.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

double al_students_t_chance(double t, double freedom)
{
	return 2 * gsl_cdf_tdist_Q(fabs(t), freedom);
}
