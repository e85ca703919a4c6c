/* The score forms of a layer as A diag(m_i) C^T: multiplied embeddings in whatever basis suits
 * them. A header of its own, as linalg/heads.h and audit/factors.h both name a head's key/value
 * head. */
#ifndef ATTNLEDGER_AUDIT_COLLABORATIVE_H
#define ATTNLEDGER_AUDIT_COLLABORATIVE_H

#include <stdint.h>

#include "linalg/linalg.h"

/* With d_head columns, as alternating least squares find it: the relative error over all heads. Q
 * and K hold the heads side by side, as many of the one as of the other. `least_error` is what no
 * such form can be below (one key projection for all heads): far from 0 the layer isn't
 * collaborative, its algebraic start is left out, and sweeps are in single precision. */
bool al_convert_collaborative(struct al_view q, struct al_view k, size_t n_heads, size_t d_head,
	double least_error, uint64_t seed, double *error, struct al_error *err) AL_MUST_CHECK;

#endif
