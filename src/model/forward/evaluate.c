/* Loss of a decoder, embeddings of an encoder. */
#include "model/forward/evaluate.h"

/* ---- loss ---- */

/* The first of a batch's sequences, counted from the first of all. */
static size_t first_of(const struct al_batch *batch, const struct al_batch *all)
{
	return batch->first_sequence - all->first_sequence;
}

/* To the tokens that are predicted: by the one before, or where they are. */
static void keep_tokens(size_t n, const int32_t *targets, const double *losses, bool by_previous,
	double *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (double)NAN;
	for (size_t i = 0; i < n; i++)
		if (targets[i] >= 0)
			out[i + by_previous] = losses[i];
}

/* Of a decoder, or an encoder. */
static bool score(struct al_network *network, const struct al_batch *batch, struct al_view_f hidden,
	const struct al_token_scores *scores, struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f read = {0};

	if (network->how->kind == AL_FORWARD_DECODER)
		return al_network_score(network, batch, hidden, scores, err);
	return al_network_transform(network, batch, hidden, &read, err)
		&& al_network_score(network, batch, al_view_f(read), scores, err);
}

bool al_loss_add(struct al_network *network, const struct al_batch *batch, struct al_view_f hidden,
	const struct al_alike *alike, const struct al_loss *out, struct al_error *err)
{
	const size_t first = first_of(batch, out->all);
	const size_t n_tokens = al_batch_tokens(batch);
	AL_FREED int32_t *next = out->targets ? NULL : al_batch_targets(batch);
	const int32_t *targets = next ? next : out->targets + out->all->begin[first];
	AL_FREED double *each = al_alloc(n_tokens, sizeof(*each));

	if (!score(network, batch, hidden,
		    &(struct al_token_scores){.targets = targets, .losses = each, .alike = alike},
		    err))
		return false;
	for (size_t i = 0; i < batch->n_sequences; i++)
		for (size_t j = batch->begin[i]; j < batch->begin[i + 1]; j++) {
			out->sequences[first + i].sum += each[j];
			out->sequences[first + i].n += targets[j] >= 0;
		}
	if (out->tokens)
		keep_tokens(n_tokens, targets, each, next, out->tokens + out->all->begin[first]);
	return true;
}

struct losing {
	struct al_network *network;
	const struct al_loss *out;
};

static bool add_loss(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	const struct losing *losing = context;

	return al_loss_add(losing->network, batch, hidden, NULL, losing->out, err);
}

bool al_evaluate_loss(struct al_network *network, const struct al_loss *out,
	const struct al_watch *watch, struct al_error *err)
{
	struct losing losing = {network, out};

	memset(out->sequences, 0, out->all->n_sequences * sizeof(*out->sequences));
	return al_network_pass(network, out->all, watch,
		&(struct al_visitor){.hidden = add_loss, .context = &losing}, err);
}

/* ---- masked tokens ---- */

void al_mask_tokens(struct al_masked *out, struct al_arena *arena, const struct al_batch *all,
	int32_t mask)
{
	const size_t n_tokens = al_batch_tokens(all);
	int32_t *tokens = al_new_array(arena, int32_t, n_tokens);

	*out = (struct al_masked){.batch = *all, .targets = al_new_array(arena, int32_t, n_tokens)};
	out->batch.tokens = tokens;
	memcpy(tokens, all->tokens, n_tokens * sizeof(*tokens));
	for (size_t i = 0; i < n_tokens; i++)
		out->targets[i] = -1;
	for (size_t i = 0; i < all->n_sequences; i++) {
		const size_t begin = all->begin[i], n = all->begin[i + 1] - begin;
		for (size_t j = al_least((n - 1) / 2, AL_MASK_FIRST); j > 0 && j + 1 < n;
			j += AL_MASK_EVERY, out->n++) {
			out->targets[begin + j] = all->tokens[begin + j];
			tokens[begin + j] = mask;
		}
	}
}

/* ---- embeddings ---- */

void al_pool(struct al_view_f hidden, size_t first, size_t n, double *out)
{
	double sum = 0;

	for (size_t i = 0; i < hidden.rows; i++) {
		out[i] = 0;
		for (size_t j = first; j < first + n; j++)
			out[i] += (double)hidden.data[i + j * hidden.ld];
		sum += out[i] * out[i];
	}
	for (size_t i = 0; sum > 0 && i < hidden.rows; i++)
		out[i] /= sqrt(sum);
}

struct pooling {
	struct al_matrix out;
	const struct al_batch *all;
};

static bool pool_all(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	struct pooling *p = context;

	(void)err;
	for (size_t i = 0; i < batch->n_sequences; i++)
		al_pool(hidden, batch->begin[i], batch->begin[i + 1] - batch->begin[i],
			p->out.data + (first_of(batch, p->all) + i) * p->out.ld);
	return true;
}

bool al_evaluate_embeddings(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, struct al_matrix *out, struct al_error *err)
{
	struct pooling pooling = {.all = all};

	if (!al_matrix_init(out, (size_t)network->d_model, all->n_sequences, err))
		return false;
	pooling.out = *out;
	if (al_network_pass(network, all, watch,
		    &(struct al_visitor){.hidden = pool_all, .context = &pooling}, err))
		return true;
	al_matrix_finish(out);
	return false;
}
