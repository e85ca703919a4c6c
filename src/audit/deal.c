/* Shares of equal size, nearly: the largest item first (Graham 1969). */
#include "audit/deal.h"

#include <stdlib.h>

#include "base/memory.h"

struct item {
	double size;
	size_t place;
};

/* The largest first; equal ones in their order. */
static int compare(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

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
	struct item *items = al_calloc(n + 1, sizeof(*items));
	double *loads = al_calloc(n_shards, sizeof(*loads));

	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){sizes[i], i};
	qsort(items, n, sizeof(*items), compare);
	for (size_t i = 0; i < n; i++) {
		const size_t shard = find_least(loads, n_shards);
		loads[shard] += items[i].size;
		shards[items[i].place] = shard;
	}
	free(loads);
	free(items);
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
