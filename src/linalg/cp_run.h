/* Sweeps from one start, and what the residual says they reached. */
#pragma once

#include "linalg/sweep.h"

/* Exact but for rounding: sweeps have nothing to add. */
#define AL_CP_EXACT 1e-14

struct al_cp_run {
	const struct al_heads *heads;
	const struct al_cp_options *options; /* whose n_sweeps counts those of `n_sweeps` too */
	double norm; /* ||T||^2 */
	bool is_single; /* of the heads */
	struct al_cp_terms *terms; /* the start, then the best */

	/* ---- what came of it ---- */
	double start_error, error;
	bool is_estimate; /* of error */
	size_t n_sweeps;
	bool is_converged;
	bool is_stopped; /* by the watch */

	/* ---- while it runs ---- */
	struct al_sweep *sweep;
	struct al_cp_terms swept;
	double swept_error, size; /* of the last sweep that wasn't taken back */
	double momentum;
	bool has_momentum, has_direction; /* the sweep at hand began further on; the next may */
};

bool al_cp_run(struct al_cp_run *run, struct al_error *err) AL_MUST_CHECK;
