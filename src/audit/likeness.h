/* How alike the heads of a module are on the tokens of a calibration. */
#pragma once

#include "model/calibration/calibration.h"

/* Of all pairs, [n_heads][n_heads] each, in the caller's scratch. */
struct al_likeness {
	/* Covariances of logits, the scores that the softmax gets: over the keys that a query sees,
	 * each query's mean taken away, all queries alike. */
	struct al_matrix logits;
	struct al_matrix correlation; /* of them */
	/* Linear CKA of outputs (Kornblith et al. 2019, eq. 5): 1 where one is the other turned and
	 * scaled. */
	struct al_matrix outputs;
};

bool al_likeness_find(struct al_scratch *scratch, const struct al_module_statistics *statistics,
	struct al_likeness *out, struct al_error *err) AL_MUST_CHECK;

/* By which pairs are put in order: logits and outputs together. */
static inline double al_likeness_score(double correlation, double outputs)
{
	return correlation + outputs;
}

/* The head that does most alike. */
struct al_alike_head {
	int64_t head; /* INT64_MIN: there is no other */
	double logits, outputs; /* correlation and CKA */
};

/* out[n_heads] of the module. */
bool al_heads_alike(const struct al_module_statistics *statistics, struct al_alike_head *out,
	struct al_error *err) AL_MUST_CHECK;
