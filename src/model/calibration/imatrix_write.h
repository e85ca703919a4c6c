/* A calibration as an importance matrix of the GGUF form, for llama.cpp's quantizer: of each module
 * what its projections read, as sums and sums of squares. */
#pragma once

#include "model/calibration/calibration.h"
#include "model/heads/views.h"

/* Weights are called as they are stored in a GGUF file, else as llama.cpp's converter calls them.
 * The file appears whole or not at all. */
bool al_imatrix_write(const struct al_calibration *calibration, const struct al_model_view *view,
	const char *dataset, const char *path, struct al_error *err) AL_MUST_CHECK;
