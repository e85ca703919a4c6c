/* Batches of whole sequences. */
#include "model/forward/batches.h"

#include <stdlib.h>

#include "base/memory.h"

void al_batch_part_init(struct al_batch_part *part, const struct al_batch *all, size_t first)
{
	size_t n = 1;

	while (first + n < all->n_sequences
		&& all->begin[first + n + 1] - all->begin[first] <= AL_BATCH_TOKENS)
		n++;
	part->begin = al_alloc(n + 1, sizeof(*part->begin));
	for (size_t i = 0; i <= n; i++)
		part->begin[i] = all->begin[first + i] - all->begin[first];
	part->batch = (struct al_batch){all->tokens + all->begin[first], part->begin, n,
		all->first_sequence + first};
}

void al_batch_part_finish(struct al_batch_part *part)
{
	free(part->begin);
	*part = (struct al_batch_part){0};
}

int32_t *al_batch_targets(const struct al_batch *batch)
{
	const size_t n = al_batch_tokens(batch);
	int32_t *targets = al_alloc(n, sizeof(*targets));

	for (size_t i = 0; i + 1 < n; i++)
		targets[i] = batch->tokens[i + 1];
	for (size_t i = 0; i < batch->n_sequences; i++)
		targets[batch->begin[i + 1] - 1] = -1;
	return targets;
}
