/* How far the attention of a compressed module is from the original's, for one input. */
#ifndef ATTNLEDGER_COMPRESS_DIFFERENCE_H
#define ATTNLEDGER_COMPRESS_DIFFERENCE_H

#include "compress/side.h"

struct al_attention_difference {
	double logit_max, probability_max;
	double variation; /* the sum over queries of half of sum_j |p_j - p'_j| */
	size_t n_queries;
	struct al_matrix output, error; /* [n_tokens][d_out]: what the original's heads add up to,
					   and how far the compressed ones are from it; no data
					   where the module has no W_V or W_O of its own */
	double output_square, error_square; /* of those before */
};

bool al_difference_init(struct al_attention_difference *out, const struct al_side_scores *original,
	size_t n_tokens, struct al_error *err) AL_MUST_CHECK;
void al_difference_finish(struct al_attention_difference *difference);

/* Adds head `head` of the original beside head `counterpart` of the compressed module. Logits count
 * as the softmax sees them: what all keys of a query have in common is taken off. */
bool al_difference_add(struct al_attention_difference *difference,
	const struct al_side_scores *original, size_t head, const struct al_side_scores *compressed,
	size_t counterpart, struct al_error *err) AL_MUST_CHECK;

/* The same of a head that is gone: the output alone shows it. */
bool al_difference_add_dropped(struct al_attention_difference *difference,
	const struct al_side_scores *original, size_t head, struct al_error *err) AL_MUST_CHECK;

/* What all heads put out is complete; what they put out of other scores comes next. */
void al_difference_settle(struct al_attention_difference *difference);

/* ||error||/||output|| of all that was settled; NAN where there is no output. */
double al_difference_output_error(const struct al_attention_difference *difference);

#endif
