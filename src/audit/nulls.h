/* Nulls: what the same spectra look like where heads have nothing to do with each other.
 *
 * Random weights already show narrow heads of high rank and a concatenation of lower rank; what is
 * redundant is the distance from a null. There are two: Gaussian weights of the same shape, and
 * independent heads, where every head keeps its own spectrum and norm (Q_i' = U_i R_i, K_g' = V_g
 * S_g with its own triangular factors) and only the subspaces are new, Haar-random. There is one
 * V_g for a key/value head, so that what heads share by design stays shared.
 *
 * Where inputs weigh the heads, the second is drawn of the stored heads, and weighed as they are:
 * inputs that use few directions make any heads alike.
 *
 * The second is computed, or drawn. A draw is a function of (seed, module, draw): one draw serves
 * all kinds of spectra. Weights are drawn in double; all heads together are then multiplied in
 * float, whose components for 90 % are the same. */
#pragma once

#include "audit/thinned.h"
#include "base/base.h"

/* Gaussian weights of a shape (data isn't read): each of its heads, and all together, computed of
 * the heads where that `is_computed` and can be. It depends on the shape alone, so modules of one
 * shape share it. Both are zeroed; on failure, too, they are to be finished. */
bool al_null_gaussian(struct al_spectra *heads, struct al_spectra *layer,
	const struct al_heads *shape, bool has_values, bool is_computed, uint64_t seed,
	struct al_error *err) AL_MUST_CHECK;

/* Weights of independent heads with the triangular factors of a module. Their elements are divided
 * by scales[p], so that no float product overflows. `drawn` is zeroed; on failure, too, it is to be
 * finished. */
bool al_null_draw(struct al_drawn *drawn, const struct al_triangles *triangles, uint64_t seed,
	uint64_t module, uint64_t draw, double scales[AL_N_PROJECTIONS],
	struct al_error *err) AL_MUST_CHECK;

/* Their spectra, scaled back, added to `layer`; `thinned`, which may be NULL, is what fewer of them
 * fill. */
bool al_null_spectra(struct al_spectra *layer, struct al_thinned *thinned,
	const struct al_drawn *drawn, const double scales[AL_N_PROJECTIONS],
	struct al_error *err) AL_MUST_CHECK;

/* Both. */
bool al_null_independent(struct al_spectra *layer, struct al_thinned *thinned,
	const struct al_triangles *triangles, uint64_t seed, uint64_t module, uint64_t draw,
	struct al_error *err) AL_MUST_CHECK;

/* Identifies a null: its draws are a function of these. */
struct al_null_name {
	uint64_t seed, module;
};

/* The same without draws, as the free convolution of the heads' spectra (linalg/free_sum.h), which
 * are given: `heads` has those of Q, K, QK and, where there are values, OV. `*is_found` is false
 * where queries and keys are of different widths or the equations could not be
 * solved. `thinned` may be NULL. */
bool al_null_compute(struct al_spectra *layer, struct al_thinned *thinned,
	const struct al_triangles *triangles, const struct al_spectra *heads,
	const struct al_null_name *name, bool *is_found, struct al_error *err) AL_MUST_CHECK;

struct al_null_range {
	double mean, low, high;
};

/* Components for `share` of the squares, over the draws of a null (n_draws > 0). */
struct al_null_range al_null_components(const struct al_spectra *draws, size_t n_draws,
	enum al_spectrum kind, double share);
