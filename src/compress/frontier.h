/* What conversions of a whole model cost, measured: each changes all modules alike, in memory, and
 * the model runs with it. */
#ifndef ATTNLEDGER_COMPRESS_FRONTIER_H
#define ATTNLEDGER_COMPRESS_FRONTIER_H

#include "compress/judge.h"

struct al_candidate {
	enum al_method method;
	int64_t rank; /* drop, merge: heads that each module loses */
	bool of_keys;
	int64_t parameters, original; /* of all modules' attention */
	int64_t cached, cached_originally; /* numbers a token, of all modules */
	double error; /* relative, the root of the mean over modules of its squares, in sample */
	struct al_judgement measured;
	bool is_best; /* none that caches as little costs less */
};

struct al_frontier {
	struct al_arena *arena; /* the network's */
	struct al_candidate *items; /* its */
	size_t n, room;
};

/* Drops and merges heads (where each has keys of its own), shares one query, key and value between
 * all (mhe-mul, where positions aren't rotated), and does ov, kv-latent of values, of keys where
 * they aren't rotated, and gqa at some ranks, with the calibration's closed forms. What a method
 * can't treat is left out. */
bool al_frontier_find(struct al_frontier *out, struct al_network *network,
	const struct al_calibration *calibration, const struct al_batch *all,
	const struct al_watch *watch, struct al_error *err) AL_MUST_CHECK;

#endif
