/* A model that could be written, run on some of the tokens next to the one that it is made from. */
#pragma once

#include "base/spill.h"
#include "compress/judge.h"

/* Trials in the order in which they were made, in a file: the same search, begun again after it was
 * ended, takes them from there. */
struct al_trial_log {
	const char *path; /* the caller's; NULL: there is none */
	int file;
	size_t n, n_found, n_used; /* trials in it; made by earlier runs; and taken from those */
};

/* `of`: a fingerprint of all that the trials hang on; those of another one are dropped. On failure
 * it may be closed, too. */
bool al_trial_log_open(struct al_trial_log *log, const char *path, uint64_t of,
	struct al_error *err) AL_MUST_CHECK;
/* The file stays unless it is empty or the search complete. Safe on a zeroed struct. */
void al_trial_log_close(struct al_trial_log *log, bool is_complete);
/* False: it is to be made, and added. */
bool al_trial_log_next(struct al_trial_log *log, struct al_judgment *out);
bool al_trial_log_add(struct al_trial_log *log, const struct al_judgment *judgment,
	struct al_error *err) AL_MUST_CHECK;

/* A part of the tokens, and the original's last hidden states on it, which wait in a file. */
struct al_sample_part {
	struct al_network *network; /* the original's */
	struct al_batch all;
	const struct al_watch *watch;
	struct al_spill hidden;
	struct al_trial_log *log; /* NULL: trials aren't kept */
};

/* Runs the original. It is to be finished on failure too. */
bool al_sample_part_init(struct al_sample_part *part, struct al_network *network,
	const struct al_batch *all, const struct al_watch *watch,
	struct al_error *err) AL_MUST_CHECK;
void al_sample_part_finish(struct al_sample_part *part);

/* Each sequence's first token counts in all of them: a format changes it as it does others. */
bool al_sample_part_try(const struct al_sample_part *part, struct al_network *copy,
	struct al_judgment *out, struct al_error *err) AL_MUST_CHECK;
