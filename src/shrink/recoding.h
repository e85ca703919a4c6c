/* A checkpoint's tensors in other number formats than their own: from then on they are read as a
 * file would give them that was written so. Each is rounded once for each format, when it first
 * gets that, into a file without a name (TMPDIR). */
#pragma once

#include "formats/checkpoint.h"

struct al_recoding {
	struct al_checkpoint *checkpoint; /* the caller's, whose tensors change */
	struct al_recoded_tensor *tensors; /* [n_tensors] */
};

/* Lives in the checkpoint's arena. */
void al_recoding_init(struct al_recoding *recoding, struct al_checkpoint *checkpoint);

/* `dtype` NULL: the tensor's own. Numbers that become infinite are refused. */
bool al_recoding_set(struct al_recoding *recoding, size_t tensor, const struct al_dtype *dtype,
	struct al_error *err) AL_MUST_CHECK;

/* The tensor as it was opened. */
const struct al_tensor *al_recoding_own(const struct al_recoding *recoding, size_t tensor);
