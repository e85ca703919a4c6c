/* Statistics of activations: second moments of a module's inputs, Sigma = E[x^T x], D x D, or those
 * of [x, 1], (D + 1) x (D + 1), or only the diagonal of Sigma. Replacing W_Q, W_K and W_V by
 * Sigma^1/2 W (for [x, 1] by Sigma^1/2 [W; b]) makes every measurement weight directions by how
 * much the inputs use them.
 *
 * A constant in the keys' inputs adds the same number to all scores of a query. Softmax cancels it,
 * yet it may dominate the moment. With moments of [x, 1] it is subtracted from the keys, which are
 * then weighted by the covariance. With rotary positions it differs by offset and stays. */
#pragma once

#include "model/calibration/calibration.h"
#include "model/calibration/imatrix.h"

struct al_covariance {
	const char *path;
	bool is_folder;
	struct al_matrix root; /* Sigma^1/2, if one file covers all modules; one row: a diagonal */
	struct al_calibration calibration; /* no modules: there is none */
	struct al_imatrix imatrix; /* no entries: there is none */
};

/* Opens `path`, which must outlive the result: a calibration or its folder; an imatrix; one .npy
 * file for all modules (one dimension: a diagonal); or a folder of files MODULE.npy (for cross
 * attention, MODULE.npy covers the queries' inputs and MODULE.memory.npy those of keys and values).
 * AL_EINPUT if the calibration is of another checkpoint (as far as these modules' tensors tell;
 * `modules` NULL: all), a matrix isn't symmetric or has negative eigenvalues beyond rounding. On
 * failure there is nothing to finish. */
bool al_covariance_open(struct al_covariance *covariance, const char *path,
	const struct al_checkpoint *checkpoint, const struct al_attention *const *modules, size_t n,
	struct al_error *err) AL_MUST_CHECK;
void al_covariance_finish(struct al_covariance *covariance);

/* NULL if `covariance` is NULL or of another kind. */
const struct al_imatrix *al_covariance_imatrix(const struct al_covariance *covariance);
const struct al_calibration *al_covariance_calibration(const struct al_covariance *covariance);

/* Replaces the module's W_Q, W_K and W_V; moments of [x, 1] include the biases. */
bool al_covariance_apply(const struct al_covariance *covariance,
	const struct al_attention *attention, struct al_matrix weights[AL_N_PROJECTIONS],
	struct al_matrix biases[AL_N_PROJECTIONS], struct al_error *err) AL_MUST_CHECK;

/* G = G^1/2, the symmetric root. `unit` is the roundoff of G's number format: asymmetry and
 * negative eigenvalues up to rows*4*unit (at most .01) of the largest count as rounding. */
bool al_symmetric_root(struct al_matrix g, double unit, struct al_error *err) AL_MUST_CHECK;
