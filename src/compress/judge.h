/* A model and its compressed copy run on the same tokens. */
#ifndef ATTNLEDGER_COMPRESS_JUDGE_H
#define ATTNLEDGER_COMPRESS_JUDGE_H

#include "compress/job.h"
#include "model/forward/pass.h"

/* Means over the tokens but the last of each sequence: losses in nats; and, the first left out too,
 * KL(original || compressed) and how often the likeliest token is the same. */
struct al_judgement {
	double original, compressed, divergence, agreement;
	size_t n_predicted, n_compared;
};

/* The original's network; what the job changes takes the place of its own weights. */
bool al_judge(struct al_network *network, struct al_job *job, const struct al_batch *all,
	struct al_judgement *out, struct al_error *err) AL_MUST_CHECK;

/* An encoder's embeddings of the sequences, [d_model][sequences] each, which the caller finishes:
 * the original's and the compressed one's. */
bool al_judge_embeddings(struct al_network *network, struct al_job *job, const struct al_batch *all,
	struct al_matrix out[2], struct al_error *err) AL_MUST_CHECK;

#endif
