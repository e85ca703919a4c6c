/* Estimates of what an approximation leaves, by Gaussian vectors. */
#ifndef ATTNLEDGER_LINALG_PROBES_H
#define ATTNLEDGER_LINALG_PROBES_H

#include "linalg/heads.h"

/* The mean of ||(T_i - T'_i) x||^2 over AL_RESIDUAL_PROBES vectors x, summed over the heads; see
 * al_residual. */
bool al_residual_estimate(const struct al_heads *heads,
	const struct al_approximation *approximation, double *sum,
	struct al_error *err) AL_MUST_CHECK;

#endif
