/* Shares of equal size, nearly: the largest item first (Graham 1969). */
#include "audit/deal.h"

#include "linalg/linalg.h"

static size_t find_least(const double *loads, size_t n)
{
	size_t least = 0;

	for (size_t i = 1; i < n; i++)
		if (loads[i] < loads[least])
			least = i;
	return least;
}

void al_deal(const double *sizes, size_t n, size_t n_shards, size_t *shards)
{
	AL_FREED size_t *order = al_calloc(n + 1, sizeof(*order));
	AL_FREED double *loads = al_calloc(n_shards, sizeof(*loads));

	al_sort_order(sizes, n, order);
	for (size_t i = 0; i < n; i++) {
		const size_t shard = find_least(loads, n_shards);
		loads[shard] += sizes[order[i]];
		shards[order[i]] = shard;
	}
}

double al_attention_size(const struct al_attention *attention)
{
	double size = 0;

	for (int p = 0; p < AL_N_PROJECTIONS; p++) {
		const struct al_factor *factor = &attention->factors[p];
		if (factor->n_runs)
			size += (double)factor->rows * (double)factor->heads
				* (double)factor->width;
	}
	return size;
}
