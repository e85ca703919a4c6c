/* A module's queries and keys as the tensor that Tucker and CP decompose. */
#ifndef ATTNLEDGER_AUDIT_SCORE_TENSOR_H
#define ATTNLEDGER_AUDIT_SCORE_TENSOR_H

#include "audit/triangles.h"
#include "linalg/heads.h"

/* In single precision, scaled, where the stored numbers hold no more. Finish it in either case, on
 * failure too; it views the factors. */
struct al_score_tensor {
	struct al_heads heads;
	struct al_narrow_heads narrow;
};

bool al_score_tensor_init(struct al_score_tensor *tensor, const struct al_heads *heads,
	struct al_error *err) AL_MUST_CHECK;
void al_score_tensor_finish(struct al_score_tensor *tensor);

/* Without queries or without keys: every score is zero, there is nothing to decompose. */
bool al_score_tensor_is_zero(const struct al_heads *heads);

#endif
