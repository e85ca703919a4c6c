/* One sweep of alternating least squares over the three factors, in either precision. */
#pragma once

#include "linalg/heads.h"

/* The factors of T_i ~ query diag(mixing_i) key^T, [d_query][R], [d_key][R], [n_heads][R]. */
struct al_cp_terms {
	struct al_matrix query, key, mixing;
};

bool al_terms_init(struct al_cp_terms *terms, const struct al_heads *heads, size_t rank,
	struct al_error *err) AL_MUST_CHECK;
void al_terms_finish(struct al_cp_terms *terms);

/* al_residual of them. */
bool al_terms_residual(const struct al_heads *heads, double norm_squared,
	const struct al_cp_terms *terms, double most_flops, double *relative_error,
	bool *is_estimate, struct al_error *err) AL_MUST_CHECK;

struct al_sweep;

/* Room for sweeps in the precision of the heads, which must outlive it. NULL, and *err, where the
 * system has no memory. destroy(NULL) is safe. */
struct al_sweep *al_sweep_create(const struct al_heads *heads, size_t rank,
	struct al_error *err) AL_MUST_CHECK;
void al_sweep_destroy(struct al_sweep *sweep);

/* Copies of the factors: in; and out what the last step made of them. */
bool al_sweep_load(struct al_sweep *sweep, const struct al_cp_terms *terms,
	struct al_error *err) AL_MUST_CHECK;
bool al_sweep_store(struct al_sweep *sweep, struct al_cp_terms *terms,
	struct al_error *err) AL_MUST_CHECK;

/* ||T||^2 - ||residual||^2 of the factors that were loaded, as it comes out of the products. */
bool al_sweep_explain(struct al_sweep *sweep, double *explained,
	struct al_error *err) AL_MUST_CHECK;

/* The fit after a sweep. */
struct al_swept {
	double explained; /* as above */
	double size; /* the sum of the terms' squared norms: where it exceeds ||T||^2 by far, terms
			cancel each other, and digits with them */
};

/* Improves query, mixing and key, each with the other two as they are; no step makes the residual
 * larger but for rounding. */
bool al_sweep_step(struct al_sweep *sweep, struct al_swept *out,
	struct al_error *err) AL_MUST_CHECK;

/* Goes on by `momentum` times the way from where the last extrapolation began to here, so that the
 * next sweep begins further on; 0 only remembers where here is. The next step may make the residual
 * larger: al_sweep_go_back then returns to here. */
bool al_sweep_extrapolate(struct al_sweep *sweep, double momentum,
	struct al_error *err) AL_MUST_CHECK;
bool al_sweep_go_back(struct al_sweep *sweep, struct al_error *err) AL_MUST_CHECK;
