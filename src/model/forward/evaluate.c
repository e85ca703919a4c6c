/* Loss of a decoder, embeddings of an encoder. */
#include "model/forward/evaluate.h"

/* ---- loss ---- */

/* The first of a batch's sequences, counted from the first of all. */
static size_t first_of(const struct al_batch *batch, const struct al_batch *all)
{
	return batch->first_sequence - all->first_sequence;
}

/* Token i + 1 is what token i predicts. */
static void keep_tokens(const struct al_batch *batch, const int32_t *targets, const double *losses,
	double *out)
{
	for (size_t i = 0; i < batch->n_sequences; i++)
		out[batch->begin[i]] = (double)NAN;
	for (size_t i = 0; i < al_batch_tokens(batch); i++)
		if (targets[i] >= 0)
			out[i + 1] = losses[i];
}

bool al_loss_add(struct al_network *network, const struct al_batch *batch, struct al_view_f hidden,
	const struct al_alike *alike, const struct al_loss *out, struct al_error *err)
{
	const size_t first = first_of(batch, out->all);
	AL_FREED int32_t *targets = al_batch_targets(batch);
	AL_FREED double *each = al_alloc(al_batch_tokens(batch), sizeof(*each));

	if (!al_network_score(network, batch, hidden,
		    &(struct al_token_scores){.targets = targets, .losses = each, .alike = alike},
		    err))
		return false;
	for (size_t i = 0; i < batch->n_sequences; i++)
		for (size_t j = batch->begin[i]; j < batch->begin[i + 1]; j++) {
			out->sequences[first + i].sum += each[j];
			out->sequences[first + i].n += targets[j] >= 0;
		}
	if (out->tokens)
		keep_tokens(batch, targets, each, out->tokens + out->all->begin[first]);
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
