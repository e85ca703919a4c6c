/* Queries and keys in the measure of data: E|x W|^2 of inputs x is |C^1/2 W|^2, so that what is
 * best for C^1/2 W by weights alone, brought back by C^-1/2, is best for W under the data. */
#ifndef ATTNLEDGER_COMPRESS_WHITEN_H
#define ATTNLEDGER_COMPRESS_WHITEN_H

#include "linalg/linalg.h"
#include "model/heads/views.h"

struct al_data;

/* C^1/2 W and C^-1/2; no data where weights alone count. */
struct al_whitened {
	struct al_matrix weights, inverse;
};

/* Of queries and of keys, [AL_QUERY] and [AL_KEY], which are empty before. */
bool al_whiten(const struct al_model_view *view, const struct al_attention *attention,
	const struct al_data *data, struct al_view query, struct al_view key,
	struct al_whitened out[2], struct al_error *err) AL_MUST_CHECK;

/* C^-1/2 times a piece with a row for each number of an input. */
bool al_unwhiten(const struct al_whitened *whitened, struct al_matrix *piece,
	struct al_error *err) AL_MUST_CHECK;

void al_whitened_finish(struct al_whitened *whitened);

#endif
