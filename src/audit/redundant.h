/* The finished table `redundant`. */
#pragma once

#include "audit/merging.h"
#include "base/table.h"

enum al_redundant_reason {
	AL_REASON_TWIN,
	AL_REASON_SILENT,
	AL_REASON_SAME_ATTENTION, /* these and the next stay */
	AL_REASON_OTHER_SHARPNESS,
	AL_N_REASONS,
};

struct al_removable {
	size_t n[AL_N_REASONS];
	double error; /* of the module that changes most without its removable heads */
};

struct al_removable al_redundant_count(const struct al_table *redundant);
