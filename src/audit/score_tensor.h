/* A module's queries and keys as the tensor that Tucker and CP decompose. */
#pragma once

#include "linalg/heads.h"

/* Queries and keys alone: in single precision, scaled, in the scratch, where the stored numbers
 * hold no more; else they view the factors. */
bool al_score_tensor_take(struct al_scratch *scratch, const struct al_heads *heads,
	struct al_heads *tensor, struct al_error *err) AL_MUST_CHECK;

/* Without queries or without keys: every score is zero, there is nothing to decompose. */
bool al_score_tensor_is_zero(const struct al_heads *heads);
