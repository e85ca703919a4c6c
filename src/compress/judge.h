/* A model and its compressed copy run on the same tokens. */
#pragma once

#include "base/kept.h"
#include "compress/job.h"
#include "model/forward/evaluate.h"

/* Means over the tokens but the last of each sequence: losses in nats; and, the first left out too,
 * KL(original || compressed) and how often the likeliest token is the same. */
struct al_judgment {
	struct al_estimate original, compressed, change; /* losses, and the second less the first */
	struct al_estimate divergence, agreement;
	size_t n_predicted;
};

/* What a judgment is made of, each NULL where it isn't asked for. */
struct al_judged {
	double *tokens; /* [2][tokens]: both models' losses, as those of al_loss */
	struct al_unit *divergences; /* [n_sequences] */
};

/* The original's network; what the job changes takes the place of its own weights. */
bool al_judge(struct al_network *network, struct al_job *job, const struct al_batch *all,
	const struct al_judged *parts, struct al_judgment *out, struct al_error *err) AL_MUST_CHECK;

/* An encoder's embeddings of the sequences, [d_model][sequences] each, which the caller finishes:
 * the original's and the compressed one's. */
bool al_judge_embeddings(struct al_network *network, struct al_job *job, const struct al_batch *all,
	struct al_matrix out[2], struct al_error *err) AL_MUST_CHECK;

/* ---- without.c: al_evaluate_ablations where W_O of a module's other heads is fitted to the
 * calibration's outputs ---- */

bool al_judge_refitted(struct al_network *network, const struct al_calibration *calibration,
	const struct al_batch *all, const struct al_ablation_measure *measured,
	const struct al_watch *watch, struct al_ablations *ablations,
	struct al_error *err) AL_MUST_CHECK;

/* ---- frontier.c: what conversions of a whole model cost, measured: each changes all modules
 * alike, in memory, and the model runs with it ---- */

struct al_candidate {
	enum al_method method;
	int64_t rank; /* drop, merge: heads that each module loses */
	bool of_keys;
	int64_t parameters, original; /* of all modules' attention */
	int64_t cached, cached_originally; /* numbers per token, of all modules */
	double error; /* relative, the root of the mean over modules of its squares, in sample */
	struct al_judgment measured;
	struct al_unit *divergences; /* [n_sequences], the network's arena's */
	bool is_best; /* none that caches as little costs less */
	bool is_tied; /* ... in this sample, but none is told from it */
};

struct al_frontier {
	struct al_arena *arena; /* the network's */
	struct al_candidate *items; /* its */
	size_t n, room;
};

/* Drops and merges heads (where each has keys of its own), shares one query, key and value between
 * all (mhe-mul, where positions aren't rotated), and does ov, kv-latent of values, of keys where
 * they aren't rotated, and gqa at some ranks, with the calibration's closed forms. What a method
 * can't treat is left out. Each result of al_frontier_bytes is kept; `kept` NULL: none is. */
size_t al_frontier_bytes(const struct al_batch *all);
bool al_frontier_find(struct al_frontier *out, struct al_network *network,
	const struct al_calibration *calibration, const struct al_batch *all, struct al_kept *kept,
	const struct al_watch *watch, struct al_error *err) AL_MUST_CHECK;
