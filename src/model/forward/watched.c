/* Statistics of attention weights: entropies, distances between heads, and covariances of what
 * their softmax gets, less its mean over the keys, which a softmax ignores.
 *
 * The weights of all heads are there together only for some queries of each sequence. Of two heads'
 * weights p and q the Jensen-Shannon divergence is H((p + q)/2) - (H(p) + H(q))/2, H being the
 * entropy (Lin 1991, eq. 4.1); its root is a distance (Endres and Schindelin 2003). */

#include "model/forward/activation.h"
#include "model/forward/internal.h"

static size_t sampled_query(size_t n_tokens, size_t sample)
{
	return (sample + 1) * n_tokens / al_sampled_queries(n_tokens) - 1;
}

static size_t sequence_tokens(const struct al_watched *w, size_t sequence)
{
	return w->batch->begin[sequence + 1] - w->batch->begin[sequence];
}

void al_watched_init(struct al_watched *watched, const struct al_layer *layer,
	const struct al_batch *batch, const struct al_weights_taker *taker)
{
	const size_t n_heads = (size_t)layer->attention->n_heads;
	size_t n = 0;

	*watched = (struct al_watched){.layer = layer,
		.batch = batch,
		.taker = taker,
		.n_heads = n_heads,
		.entropy = al_calloc(batch->n_sequences * n_heads, sizeof(double)),
		.first_row = al_alloc(batch->n_sequences, sizeof(size_t))};
	for (size_t i = 0; i < batch->n_sequences; i++) {
		const size_t tokens = sequence_tokens(watched, i);
		watched->first_row[i] = n;
		n += al_sampled_queries(tokens) * n_heads * tokens;
	}
	watched->rows = al_alloc(n, sizeof(float));
	watched->scores = al_alloc(n, sizeof(float));
}

void al_watched_finish(struct al_watched *watched)
{
	free(watched->entropy);
	free(watched->rows);
	free(watched->scores);
	free(watched->first_row);
	*watched = (struct al_watched){0};
}

/* In `rows` and `scores`. */
static size_t find_row(const struct al_watched *w, size_t sequence, size_t sample, size_t head)
{
	return w->first_row[sequence] + (sample * w->n_heads + head) * sequence_tokens(w, sequence);
}

/* Keys that a query doesn't see. */
static void clear_others(float *row, size_t n, size_t low, size_t n_seen)
{
	memset(row, 0, low * sizeof(*row));
	memset(row + low + n_seen, 0, (n - low - n_seen) * sizeof(*row));
}

void al_watch_scores(struct al_watched *w, size_t index, size_t query, size_t low,
	const float *scores, size_t n)
{
	const size_t sequence = index / w->n_heads, n_tokens = sequence_tokens(w, sequence);
	const size_t rank = (query + 1) * al_sampled_queries(n_tokens);
	const size_t sample = (rank + n_tokens - 1) / n_tokens - 1;
	float *row = w->scores + find_row(w, sequence, sample, index % w->n_heads);
	const double share = 1 / sqrt((double)n);
	double mean = 0;

	if (sampled_query(n_tokens, sample) != query)
		return;
	for (size_t i = 0; i < n; i++)
		mean += (double)scores[i];
	mean /= (double)n;
	for (size_t i = 0; i < n; i++)
		row[low + i] = (float)(((double)scores[i] - mean) * share);
	clear_others(row, n_tokens, low, n);
}

void al_watch_weights(struct al_watched *w, size_t index, size_t first, size_t low,
	struct al_view_f weights, double entropy)
{
	const size_t sequence = index / w->n_heads, n = sequence_tokens(w, sequence);

	w->entropy[index] += entropy;
	if (w->taker)
		w->taker->take(w->taker->context, w->layer, w->batch, sequence, index % w->n_heads,
			first, low, weights);
	for (size_t sample = 0; sample < al_sampled_queries(n); sample++) {
		const size_t query = sampled_query(n, sample);
		float *row = w->rows + find_row(w, sequence, sample, index % w->n_heads);
		if (query < first || query >= first + weights.cols)
			continue;
		memcpy(row + low, weights.data + (query - first) * weights.ld,
			weights.rows * sizeof(float));
		clear_others(row, n, low, weights.rows);
	}
}

/* ---- sums ---- */

/* Of two heads [n_sequences][n_heads][n_heads], added up over a sequence's queries. */
struct pairs {
	const struct al_watched *watched;
	double *distance, *logits;
};

static void add_query(const struct pairs *p, size_t sequence, size_t sample, double *alone)
{
	const struct al_watched *w = p->watched;
	const size_t n = sequence_tokens(w, sequence);

	for (size_t i = 0; i < w->n_heads; i++) {
		const size_t a = find_row(w, sequence, sample, i);
		alone[i] = al_mixed_entropy(w->rows + a, w->rows + a, n);
		for (size_t j = 0; j <= i; j++) {
			const size_t b = find_row(w, sequence, sample, j);
			const size_t at = (sequence * w->n_heads + i) * w->n_heads + j;
			const double mixed = j < i ? al_mixed_entropy(w->rows + a, w->rows + b, n)
						   : alone[i];
			p->distance[at] += sqrt(fmax(0, mixed - (alone[i] + alone[j]) / 2));
			p->logits[at] += al_inner_f(w->scores + a, w->scores + b, n);
		}
	}
}

static bool add_sequence(void *context, size_t sequence, struct al_error *err)
{
	const struct pairs *p = context;
	const struct al_watched *w = p->watched;
	AL_FREED double *alone = al_alloc(w->n_heads, sizeof(*alone));
	(void)err;
	for (size_t sample = 0; sample < al_sampled_queries(sequence_tokens(w, sequence)); sample++)
		add_query(p, sequence, sample, alone);
	return true;
}

bool al_watched_add_up(struct al_watched *w, struct al_trace *trace, struct al_error *err)
{
	const size_t n_sequences = w->batch->n_sequences, n = n_sequences * w->n_heads * w->n_heads;
	struct pairs pairs = {w, al_calloc(n, sizeof(double)), al_calloc(n, sizeof(double))};

	trace->distance = pairs.distance;
	trace->logits = pairs.logits;
	trace->entropy = w->entropy;
	w->entropy = NULL;
	return al_parallel(n_sequences, add_sequence, &pairs, err);
}

void al_trace_finish(struct al_trace *trace)
{
	if (!trace)
		return;
	al_matrix_finish_f(&trace->input);
	free(trace->entropy);
	free(trace->distance);
	free(trace->logits);
	*trace = (struct al_trace){0};
}
