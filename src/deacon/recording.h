/* What the heads of a model put out while it runs, and what its output projections make of that,
 * kept in a temporary file without a name: as many numbers as tokens ask for, and none in memory.
 * The file is gone with the program, however it ends. */
#pragma once

#include "model/forward/pass.h"
#include "deacon/rows.h"

struct al_recording {
	struct al_spill file;
	size_t n_tokens;
	struct al_rows (*rows)[2]; /* [modules of the view]: heads and targets; without rows where a
				      module wasn't wanted */
};

/* Runs the model on all sequences and records modules `i` of its view with is_wanted[i]. On failure
 * nothing is left to finish. */
bool al_recording_make(struct al_recording *out, struct al_network *network,
	const struct al_batch *all, const bool *is_wanted, const struct al_watch *watch,
	struct al_error *err) AL_MUST_CHECK;
void al_recording_finish(void *recording);
