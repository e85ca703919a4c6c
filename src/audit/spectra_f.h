/* al_layer_spectra in float: half the time and memory, for spectra whose large values matter. */
#ifndef ATTNLEDGER_AUDIT_SPECTRA_F_H
#define ATTNLEDGER_AUDIT_SPECTRA_F_H

#include "audit/spectra.h"

struct al_factors_f {
	struct al_view_f of[AL_N_PROJECTIONS]; /* as in al_factors; no data: no such projection */
};

/* `triangles` are those of the same weights and give the shape. Values are good to about 1e-3 of
 * the largest. On failure nothing is left to finish. */
bool al_layer_spectra_f(struct al_spectra *out, const struct al_factors_f *factors,
	const struct al_triangles *triangles, struct al_error *err) AL_MUST_CHECK;

#endif
