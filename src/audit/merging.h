/* Heads that a module can do without: one that does nothing is dropped, one that attends as another
 * does is merged into it, whose W_O takes its outputs too.
 *
 * Scores of different heads are never added up: a merged head's error is that of its own scores,
 * relative to them. Outputs are.
 *
 * On a calibration's tokens scores are the logits that the softmax gets, each query's mean taken
 * away, and a merged head's output is the other's, mapped as well as can be; errors of outputs are
 * relative to the layer's output. By weights head j merged into i scores as i does, and of V_j
 * O_j^T what V_i spans stays: exact where the heads are one up to a change of basis; errors of
 * outputs are relative to all heads' value forms. Both are on [x, 1] where there are biases, and
 * scores over all offsets under rotary positions. */
#pragma once

#include "audit/audit.h"

/* The largest error, in percent of the module's scores and values, at which heads are removable. */
enum { AL_REMOVABLE_PERCENT = 10 };

struct al_merge {
	size_t head, twin; /* twin == head: it is silent */
	double attention, outputs; /* how alike a head and its twin are (pairs.h); NAN: silent */
	double sharpness; /* norm of the head's scores over that of its twin's; NAN: silent */
	double output_share; /* of the squares of all heads' value forms, or outputs */
	double qk_error; /* of the scores of the heads that go with it, the largest; 0: silent */
	double qk_squared, ov_squared; /* what the head costs, relative to all heads */
	double cumulative_error; /* with all before: the larger of scores' and values' */
};

struct al_merging {
	struct al_merge *steps; /* the cheapest next one each; the scratch's, as are the others */
	size_t n;
	struct al_merge *alike; /* of the heads that stay: they attend in the direction of an
				   earlier one, but write something else or are sharper */
	size_t n_alike;
	size_t n_heads;
};

/* Steps up to a cumulative error of `most`; by weights then those that merge near copies: both
 * cosines with the twin reach 0.707, so that half of the squares of its scores and of its values
 * lie along the twin's, and the norms of their scores differ by a factor of at most 2. (On tokens
 * heads with little in common may correlate as much, as those that look at what is near.) Silent is
 * a head with at most the part `most` of the output of a head of average norm. At least one head
 * stays. By weights heads whose scores are not known from their forms alone (norms of queries and
 * keys, latent keys) have no twins. */
bool al_merging_find(struct al_merging *merging, struct al_scratch *scratch,
	const struct al_audit *audit, struct al_audit_module *module, double most,
	struct al_error *err) AL_MUST_CHECK;

/* The first steps whose error is at most `most`. */
size_t al_merging_count(const struct al_merging *merging, double most);

/* "5 into 2, without 7" */
void al_merging_print(const struct al_merging *merging, size_t n, struct al_text *out);
