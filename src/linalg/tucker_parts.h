/* Between the files of the Tucker decomposition. */
#ifndef ATTNLEDGER_LINALG_TUCKER_PARTS_H
#define ATTNLEDGER_LINALG_TUCKER_PARTS_H

#include "linalg/tucker.h"

bool al_tucker_check(const struct al_heads *heads, const struct al_tucker_options *options,
	struct al_error *err) AL_MUST_CHECK;

/* Are the modes' bases found at random and swept in steps? */
bool al_tucker_is_random(const struct al_heads_shape *s, const struct al_tucker_options *options);

/* P = U U^T of the head mode. */
bool al_tucker_mix_heads(const struct al_tucker *tucker, struct al_matrix p,
	struct al_error *err) AL_MUST_CHECK;

/* Sets relative_error and is_estimate. `norm` is ||T||^2. */
bool al_tucker_measure(const struct al_heads *heads, double norm, struct al_tucker *tucker,
	struct al_error *err) AL_MUST_CHECK;

#endif
