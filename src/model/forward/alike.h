/* Words whose rows of the head are almost equal: those that training never met, more than half of
 * stories15M's. With m the mean of their n rows and `spread` the largest distance from it, a hidden
 * state h gives them logits within b = spread |h| of m h, whose mean is m h; so the sum S of their
 * exponentials is
 *
 *     n e^{m h}  <=  S  <=  n e^{m h} e^{b^2 / 2}
 *
 * (Jensen's inequality; Hoeffding's lemma). Where what is between them, as a share of the sum over
 * all words, is at most AL_ALIKE_NATS, one product serves the whole group, and that token's loss is
 * found at most so much too small. For other tokens the group is gone through word by word. */
#pragma once

#include "model/forward/internal.h"

#define AL_ALIKE_NATS 1e-7

struct al_alike {
	size_t n; /* words; 0: there is no group worth it */
	bool *is_in; /* [vocab] */
	double *mean; /* [width] */
	double spread;
	size_t width;
};

/* None for a head with biases or capped logits. */
bool al_alike_find(struct al_network *network, struct al_alike *out,
	struct al_error *err) AL_MUST_CHECK;
void al_alike_finish(struct al_alike *alike);

/* m h, and e^{b^2 / 2} - 1. */
double al_alike_logit(const struct al_alike *alike, const float *hidden);
double al_alike_error(const struct al_alike *alike, const float *hidden);
