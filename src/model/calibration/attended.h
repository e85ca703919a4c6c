/* What heads attend to: of each head of a batch's sequences the sums behind the statistics from
 * AL_STATISTIC_SELF to _SPANS (calibration.h), taken from attention weights as they come. */
#pragma once

#include "model/calibration/calibration.h"

enum { AL_N_ATTENDED = AL_STATISTIC_SPANS + 1 - AL_STATISTIC_SELF };

struct al_attended {
	const struct al_batch *all;
	size_t *earlier; /* of each token the last equal one before it, counted from the sequence's
			    begin, or SIZE_MAX */
	size_t n_heads; /* the most of any module */
	double *sums; /* [sequence of a batch][n_heads][AL_N_ATTENDED], of one layer */
	struct al_weights_taker taker;
};

/* `attended` stays where it is, and `all` outlives it. */
void al_attended_init(struct al_attended *attended, const struct al_model_view *view,
	const struct al_batch *all);
void al_attended_finish(struct al_attended *attended);

/* Queries of sequence number i of all that have an earlier duplicate. */
size_t al_attended_repeated(const struct al_attended *attended, size_t i);

/* Hands over the sums of head number `head` of a batch's sequence, and begins anew. */
void al_attended_take(struct al_attended *attended, size_t sequence, size_t head,
	double out[AL_N_ATTENDED]);
