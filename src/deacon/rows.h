/* Head outputs in a file: a row for each token, from safetensors or .npy, read in blocks, so that a
 * file may be larger than memory. */
#pragma once

#include "base/spill.h"
#include "formats/checkpoint.h"

/* The rows of one tensor: its last dimension is a row, the others are tokens. Or those that were
 * recorded while a model ran (recording.h), float32 one after the other. */
struct al_rows {
	const char *name; /* of the tensor or the module */
	size_t n_rows, width; /* width 0: there are none */
	const struct al_checkpoint *file;
	const struct al_tensor *tensor;
	const struct al_spill *recorded; /* NULL: not recorded */
	uint64_t recorded_at; /* bytes */
};

/* AL_EINPUT where the tensor isn't a matrix of floating-point numbers. */
bool al_rows_of(struct al_rows *rows, const struct al_checkpoint *file,
	const struct al_tensor *tensor, struct al_error *err) AL_MUST_CHECK;

/* Does float32 hold every number exactly? */
bool al_rows_are_single(const struct al_rows *rows);

/* Reads rows [first, +n) into out[n][leading]. Several threads may. */
bool al_rows_read(const struct al_rows *rows, size_t first, size_t n, double *out, size_t leading,
	struct al_error *err) AL_MUST_CHECK;
