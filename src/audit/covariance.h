/* Activations' statistics: second moments of a module's inputs, Sigma = E[x^T x], D x D, or those
 * of [x, 1], (D + 1) x (D + 1), or the diagonal of Sigma alone. With W_Q, W_K, W_V replaced by
 * Sigma^1/2 W, of [x, 1] by Sigma^1/2 [W; b], every measurement weighs directions as the inputs use
 * them.
 *
 * A constant in the keys' inputs adds the same to all scores of a query, which a softmax takes
 * away, yet it may dominate the moment. With moments of [x, 1] it is taken off the keys: they are
 * weighed by the covariance. Under rotary positions it isn't the same at all offsets and stays. */
#pragma once

#include "model/calibration/calibration.h"
#include "model/calibration/imatrix.h"

struct al_covariance {
	const char *path;
	bool is_folder;
	struct al_matrix root; /* Sigma^1/2 of the one file for all modules; one row: a diagonal */
	struct al_calibration calibration; /* without modules where there is none */
	struct al_imatrix imatrix; /* without entries where there is none */
};

/* `path`, which must outlive it: a calibration or its folder; an imatrix; an .npy file for all
 * modules, one dimension being a diagonal; or a folder of MODULE.npy (of cross attention that is
 * what its queries read, and MODULE.memory.npy what its keys and values read). A calibration of
 * another checkpoint, a matrix that isn't symmetric, and negative eigenvalues beyond rounding are
 * AL_EINPUT errors. On failure nothing is left to finish. */
bool al_covariance_open(struct al_covariance *covariance, const char *path,
	const struct al_checkpoint *checkpoint, struct al_error *err) AL_MUST_CHECK;
void al_covariance_finish(struct al_covariance *covariance);

/* NULL where it is none, or there is no covariance. */
const struct al_imatrix *al_covariance_imatrix(const struct al_covariance *covariance);
const struct al_calibration *al_covariance_calibration(const struct al_covariance *covariance);

/* Replaces the module's W_Q, W_K and W_V; moments of [x, 1] take their biases in. */
bool al_covariance_apply(const struct al_covariance *covariance,
	const struct al_attention *attention, struct al_matrix weights[AL_N_PROJECTIONS],
	struct al_matrix biases[AL_N_PROJECTIONS], struct al_error *err) AL_MUST_CHECK;

/* G = G^1/2, the symmetric root. `unit` is the roundoff of what G was stored in: asymmetry and
 * negative eigenvalues up to rows*4*unit (at most .01) of the largest are rounding. */
bool al_symmetric_root(struct al_matrix g, double unit, struct al_error *err) AL_MUST_CHECK;
