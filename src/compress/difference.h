/* How far the attention of a compressed module is from the original's, for one input. */
#pragma once

#include "model/forward/forward.h"

/* One of the two, in the shape of the original's: its weights, and what they make of an input. */
struct al_side_scores {
	struct al_matrix weights[AL_N_PROJECTIONS], biases[AL_N_PROJECTIONS];
	size_t n_heads;
	double scale;
	struct al_matrix seen[AL_N_PROJECTIONS]; /* [n_tokens][...] of queries, keys and values */
	struct al_scratch input; /* its */
};

/* Of the first `end` projections; those that the module hasn't got are empty. Finish it also where
 * loading failed. */
bool al_side_load(struct al_side_scores *side, const struct al_factor_source *source,
	const struct al_attention *attention, int end, double scale,
	struct al_error *err) AL_MUST_CHECK;
void al_side_finish(struct al_side_scores *side);

/* Rows x [n_tokens][d_query] ask, rows y [n_tokens][d_key] answer; what was taken before is
 * forgotten. */
bool al_side_take_input(struct al_side_scores *side, struct al_view x, struct al_view y,
	struct al_error *err) AL_MUST_CHECK;

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
	struct al_error *err) AL_MUST_CHECK;
void al_difference_finish(struct al_attention_difference *difference);

/* Adds a head. Logits count as the softmax sees them: what all keys of a query have in common is
 * taken off. One that is gone shows in the output alone. A compressed side without values has the
 * original's. */
bool al_difference_add(struct al_attention_difference *difference,
	const struct al_side_scores *original, const struct al_side_scores *compressed, size_t head,
	bool is_gone, struct al_error *err) AL_MUST_CHECK;

/* What all heads put out is complete; what they put out of other scores comes next. */
void al_difference_settle(struct al_attention_difference *difference);

/* ||error||/||output|| of all that was settled; NAN where there is no output. */
double al_difference_output_error(const struct al_attention_difference *difference);
