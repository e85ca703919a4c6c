/* Loss of a decoder, embeddings of an encoder. */
#include "model/forward/evaluate.h"

/* ---- loss ---- */

struct losing {
	struct al_network *network;
	struct al_loss *loss;
};

bool al_losses_add(struct al_network *network, const struct al_batch *batch,
	struct al_view_f hidden, const struct al_alike *alike, struct al_loss *losses, size_t n,
	struct al_error *err)
{
	const size_t n_tokens = al_batch_tokens(batch);
	AL_FREED int32_t *targets = al_batch_targets(batch);
	AL_FREED double *each = al_alloc(n_tokens, sizeof(*each));

	if (!al_network_score(network, batch, hidden,
		    &(struct al_token_scores){.targets = targets, .losses = each, .alike = alike},
		    err))
		return false;
	for (size_t i = 0; i < n_tokens; i++) {
		struct al_loss *loss = &losses[i / (n_tokens / n)];
		loss->nats += each[i];
		loss->n_predicted += targets[i] >= 0;
	}
	return true;
}

static bool add_loss(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	struct losing *losing = context;

	return al_losses_add(losing->network, batch, hidden, NULL, losing->loss, 1, err);
}

bool al_evaluate_loss(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, struct al_loss *out, struct al_error *err)
{
	struct losing losing = {network, out};

	*out = (struct al_loss){0};
	return al_network_pass(network, all, watch,
		&(struct al_visitor){.hidden = add_loss, .context = &losing}, err);
}

/* ---- embeddings ---- */

/* The mean over a sequence's tokens, of length 1. */
static void pool(struct al_view_f hidden, size_t first, size_t n, double *out)
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
	size_t first_sequence;
};

static bool pool_all(void *context, const struct al_batch *batch, struct al_view_f hidden,
	struct al_error *err)
{
	struct pooling *p = context;

	(void)err;
	for (size_t i = 0; i < batch->n_sequences; i++)
		pool(hidden, batch->begin[i], batch->begin[i + 1] - batch->begin[i],
			p->out.data + (batch->first_sequence + i - p->first_sequence) * p->out.ld);
	return true;
}

bool al_evaluate_embeddings(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, struct al_matrix *out, struct al_error *err)
{
	struct pooling pooling = {.first_sequence = all->first_sequence};

	if (!al_matrix_init(out, (size_t)network->d_model, all->n_sequences, err))
		return false;
	pooling.out = *out;
	if (al_network_pass(network, all, watch,
		    &(struct al_visitor){.hidden = pool_all, .context = &pooling}, err))
		return true;
	al_matrix_finish(out);
	return false;
}
