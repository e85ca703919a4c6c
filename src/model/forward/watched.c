/* Statistics of attention weights: entropies, and distances between heads.
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
	watched->rows = al_calloc(n, sizeof(float));
}

void al_watched_finish(struct al_watched *watched)
{
	free(watched->entropy);
	free(watched->rows);
	free(watched->first_row);
	*watched = (struct al_watched){0};
}

static float *find_row(const struct al_watched *w, size_t sequence, size_t sample, size_t head)
{
	return w->rows + w->first_row[sequence]
		+ (sample * w->n_heads + head) * sequence_tokens(w, sequence);
}

void al_watch_weights(struct al_watched *w, size_t index, size_t first, size_t low,
	struct al_view_f weights, double entropy)
{
	const size_t sequence = index / w->n_heads, n = sequence_tokens(w, sequence);

	w->entropy[index] += entropy;
	if (w->taker)
		w->taker->take(w->taker->context, w->layer, sequence, index % w->n_heads, first,
			low, weights);
	for (size_t sample = 0; sample < al_sampled_queries(n); sample++) {
		const size_t query = sampled_query(n, sample);
		if (query >= first && query < first + weights.cols)
			memcpy(find_row(w, sequence, sample, index % w->n_heads) + low,
				weights.data + (query - first) * weights.ld,
				weights.rows * sizeof(float));
	}
}

/* ---- sums ---- */

struct distances {
	const struct al_watched *watched;
	double *of; /* [n_sequences][n_heads][n_heads], added up over a sequence's queries */
};

static void add_query(const struct al_watched *w, size_t sequence, size_t sample, double *alone,
	double *out)
{
	const size_t n = sequence_tokens(w, sequence);

	for (size_t i = 0; i < w->n_heads; i++) {
		const float *p = find_row(w, sequence, sample, i);
		alone[i] = al_mixed_entropy(p, p, n);
		for (size_t j = 0; j < i; j++) {
			const float *q = find_row(w, sequence, sample, j);
			const double mixed = al_mixed_entropy(p, q, n);
			out[i * w->n_heads + j] += sqrt(fmax(0, mixed - (alone[i] + alone[j]) / 2));
		}
	}
}

static bool add_sequence(void *context, size_t sequence, struct al_error *err)
{
	const struct distances *d = context;
	const struct al_watched *w = d->watched;
	AL_FREED double *alone = al_alloc(w->n_heads, sizeof(*alone));
	(void)err;
	for (size_t sample = 0; sample < al_sampled_queries(sequence_tokens(w, sequence)); sample++)
		add_query(w, sequence, sample, alone, d->of + sequence * w->n_heads * w->n_heads);
	return true;
}

bool al_watched_add_up(struct al_watched *w, struct al_trace *trace, struct al_error *err)
{
	const size_t n_sequences = w->batch->n_sequences;
	struct distances d = {w, al_calloc(n_sequences * w->n_heads * w->n_heads, sizeof(double))};

	trace->distance = d.of;
	trace->entropy = w->entropy;
	w->entropy = NULL;
	return al_parallel(n_sequences, add_sequence, &d, err);
}

void al_trace_finish(struct al_trace *trace)
{
	if (!trace)
		return;
	al_matrix_finish_f(&trace->input);
	free(trace->entropy);
	free(trace->distance);
	*trace = (struct al_trace){0};
}
