/* What heads attend to. The scores of previous, duplicate and following tokens are those by which
 * Elhage et al. 2021 (A mathematical framework for transformer circuits) and Olsson et al. 2022
 * (arXiv:2209.11895, prefix matching) describe heads. */
#include "model/calibration/attended.h"

#include "model/forward/activation.h"

/* ---- earlier duplicates ---- */

static void find_earlier(const int32_t *tokens, size_t n, size_t *earlier)
{
	for (size_t i = 0; i < n; i++) {
		size_t at = i;
		while (at > 0 && tokens[at - 1] != tokens[i])
			at--;
		earlier[i] = at > 0 ? at - 1 : SIZE_MAX;
	}
}

size_t al_attended_repeated(const struct al_attended *a, size_t i)
{
	size_t n = 0;

	for (size_t at = a->all->begin[i]; at < a->all->begin[i + 1]; at++)
		n += a->earlier[at] != SIZE_MAX;
	return n;
}

/* ---- of a query ---- */

/* Attention weights of keys from `low` on; 0 on others. */
static double weight_on(const float *weights, size_t low, size_t n, size_t key)
{
	return key >= low && key - low < n ? (double)weights[key - low] : 0;
}

static double *sum_of(double *sums, enum al_statistic_kind kind)
{
	return sums + (kind - AL_STATISTIC_SELF);
}

static void add_query(const size_t *earlier, size_t query, size_t low, const float *weights,
	size_t n, double *sums)
{
	*sum_of(sums, AL_STATISTIC_SELF) += weight_on(weights, low, n, query);
	if (query > 0) {
		*sum_of(sums, AL_STATISTIC_PREVIOUS) += weight_on(weights, low, n, query - 1);
		*sum_of(sums, AL_STATISTIC_FIRST) += weight_on(weights, low, n, 0);
	}
	for (size_t key = earlier[query]; key != SIZE_MAX; key = earlier[key]) {
		*sum_of(sums, AL_STATISTIC_DUPLICATES) += weight_on(weights, low, n, key);
		if (key + 1 < query)
			*sum_of(sums, AL_STATISTIC_SUCCESSORS) += weight_on(weights, low, n,
				key + 1);
	}
	*sum_of(sums, AL_STATISTIC_SPANS) += al_mean_distance(weights, n,
		(double)query - (double)low);
}

/* From several threads, each for another head of a sequence. */
static void take(void *context, const struct al_layer *layer, const struct al_batch *batch,
	size_t sequence, size_t head, size_t first, size_t low, struct al_view_f weights)
{
	struct al_attended *a = context;
	const size_t number = batch->first_sequence - a->all->first_sequence + sequence;
	const size_t *earlier = a->earlier + a->all->begin[number];

	(void)layer;
	for (size_t j = 0; j < weights.cols; j++)
		add_query(earlier, first + j, low, weights.data + j * weights.ld, weights.rows,
			a->sums + (sequence * a->n_heads + head) * AL_N_ATTENDED);
}

void al_attended_take(struct al_attended *a, size_t sequence, size_t head,
	double out[AL_N_ATTENDED])
{
	double *sums = a->sums + (sequence * a->n_heads + head) * AL_N_ATTENDED;

	memcpy(out, sums, AL_N_ATTENDED * sizeof(*out));
	memset(sums, 0, AL_N_ATTENDED * sizeof(*sums));
}

/* ---- all ---- */

void al_attended_init(struct al_attended *a, const struct al_model_view *view,
	const struct al_batch *all)
{
	*a = (struct al_attended){.all = all,
		.earlier = al_alloc(al_batch_tokens(all), sizeof(*a->earlier)),
		.taker = {take, a}};
	for (size_t i = 0; i < all->n_sequences; i++)
		find_earlier(all->tokens + all->begin[i], all->begin[i + 1] - all->begin[i],
			a->earlier + all->begin[i]);
	for (size_t i = 0; i < view->n_modules; i++)
		a->n_heads = al_most((size_t)view->modules[i].n_heads, a->n_heads);
	a->sums = al_calloc(al_least(all->n_sequences, AL_BATCH_TOKENS) * a->n_heads
			* AL_N_ATTENDED,
		sizeof(*a->sums));
}

void al_attended_finish(struct al_attended *a)
{
	free(a->earlier);
	free(a->sums);
}
