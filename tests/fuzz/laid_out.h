/* A file whose tensors may be laid out when they are read. */
#pragma once

#include "checkpoint.h"

/* What is listed lies within the file or is laid out, or the file says why it can't be. */
static inline void fuzz_visit(const struct al_checkpoint *checkpoint)
{
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		struct al_error err = {0};
		FUZZ_CHECK(tensor->layout || tensor->offset + tensor->bytes <= checkpoint->bytes);
		FUZZ_CHECK(fuzz_read(checkpoint, tensor, &err) || err.status == AL_EINPUT);
	}
}
