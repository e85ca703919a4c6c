/* A calibration as an importance matrix of the GGUF form, for llama.cpp's quantizer: of each module
 * what its projections read, as sums and sums of squares. */
#pragma once

#include "model/calibration/calibration.h"
#include "model/heads/views.h"

/* Takes the statistics of the modules of a calibration that is begun (`put`, with a writer as its
 * context), then writes the file, which appears whole or not at all. Weights are called as they are
 * stored in a GGUF file, else as llama.cpp's converter calls them. */
struct al_imatrix_writer;
struct al_imatrix_writer *al_imatrix_writer_create(const struct al_model_view *view,
	const struct al_calibration *calibration);
void al_imatrix_writer_destroy(void *writer);
bool al_imatrix_writer_put(void *writer, const struct al_module_statistics *module,
	struct al_error *err) AL_MUST_CHECK;
bool al_imatrix_writer_write(struct al_imatrix_writer *writer, const char *dataset,
	const char *path, struct al_error *err) AL_MUST_CHECK;
/* What it has taken, for a recording that goes on later. */
const struct al_kept_memory *al_imatrix_writer_taken(const struct al_imatrix_writer *writer);
