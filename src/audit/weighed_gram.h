/* The Gram matrix of weighed heads L_g = K_g R_g^T from that of the heads themselves. */
#ifndef ATTNLEDGER_AUDIT_WEIGHED_GRAM_H
#define ATTNLEDGER_AUDIT_WEIGHED_GRAM_H

#include "linalg/linalg.h"

/* Block (g, h) of `out` [n*height][n*height] is R_g (K_g^T K_h) R_h^T. `gram` is K^T K,
 * [n*width][n*width]; `weights` are the R_g side by side, [height][n*width]. */
bool al_weigh_gram(struct al_view gram, struct al_view weights, size_t width, struct al_matrix out,
	struct al_error *err) AL_MUST_CHECK;

/* The elements of `out` are good to 2^-52 of this size: the largest ||R_g||^2 ||K||^2, in norms
 * that no singular value exceeds. */
double al_weighed_size(struct al_view gram, struct al_view weights, size_t width);

#endif
