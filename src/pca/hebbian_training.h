/* Learning the principal components of heads' outputs by a Hebbian rule: on all tokens at once, on
 * batches of them, or pattern by pattern. */
#ifndef ATTNLEDGER_PCA_HEBBIAN_TRAINING_H
#define ATTNLEDGER_PCA_HEBBIAN_TRAINING_H

#include "linalg/hebbian.h"
#include "pca/principal.h"

struct al_hebbian_options {
	enum al_hebbian rule;
	bool is_online; /* pattern by pattern: each dimension of a token, all heads */
	size_t batch_tokens; /* 0: all tokens at once */
	size_t n_steps; /* all at once: steps; otherwise tokens, one round after another */
	size_t n_inner; /* steps on each batch */
	double rate, halve_after; /* the rate is rate/(1 + step/halve_after); 0: constant */
	/* Called before the first step, after the last and in between at 1, 2, 5, 10, 20, 50 ... */
	bool (*watch)(void *context, size_t step, double rate, struct al_view weights,
		struct al_error *err);
	void (*show)(void *context, size_t step); /* called before each step; may be NULL */
	void *context;
};

/* `weights` [n_features][m] are where learning begins, and end where it ends. `outputs` may be
 * NULL where all tokens are taken at once. */
bool al_hebbian_train(const struct al_principal *principal, const struct al_head_outputs *outputs,
	const struct al_hebbian_options *options, struct al_matrix weights,
	struct al_error *err) AL_MUST_CHECK;

/* Random directions of length 1. */
void al_hebbian_start(struct al_matrix weights, uint64_t seed);

/* Half of what keeps steps on all tokens from growing: 1/2 over the largest eigenvalue. */
double al_hebbian_default_rate(const struct al_principal *principal);

#endif
