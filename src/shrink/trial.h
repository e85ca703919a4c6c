/* A model that could be written, run on some of the tokens next to the one that it is made from. */
#pragma once

#include "base/kept.h"
#include "base/spill.h"
#include "compress/judge.h"

/* A part of the tokens, and the original's last hidden states on it, which wait in a file. */
struct al_sample_part {
	struct al_network *network; /* the original's */
	struct al_batch all;
	const struct al_watch *watch;
	struct al_spill hidden;
	struct al_kept *trials; /* judgments; NULL: they aren't kept */
};

/* Runs the original. It is to be finished on failure too. */
bool al_sample_part_init(struct al_sample_part *part, struct al_network *network,
	const struct al_batch *all, const struct al_watch *watch,
	struct al_error *err) AL_MUST_CHECK;
void al_sample_part_finish(struct al_sample_part *part);

/* Each sequence's first token counts in all of them: a format changes it as it does others. */
bool al_sample_part_try(const struct al_sample_part *part, struct al_network *copy,
	struct al_judgment *out, struct al_error *err) AL_MUST_CHECK;
