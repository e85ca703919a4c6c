/* How an encoder predicts masked tokens: its head reads norm(activation(dense x)). */
#include "model/forward/activation.h"
#include "model/forward/internal.h"

bool al_network_predicts_masked(struct al_network *network, bool *out, struct al_error *err)
{
	const struct al_reading reading = al_reading_of(network, NULL);
	const struct al_tensor *dense = NULL, *head = NULL;

	*out = false;
	if (!network->how->mask)
		return true;
	if (!al_matrix_resolve(&reading, AL_FORWARD_MASKED_DENSE, 0, network->d_model, &dense, err)
		|| !al_matrix_resolve(&reading, AL_FORWARD_HEAD, network->vocab, 0, &head, err))
		return false;
	*out = dense && head;
	return true;
}

struct activating {
	const struct al_activation *activation;
	struct al_matrix_f x;
};

static void activate(void *context, size_t first, size_t n)
{
	const struct activating *a = context;

	for (size_t j = first; j < first + n; j++)
		al_activate(a->activation, NULL, NULL, a->x.data + j * a->x.ld, a->x.rows);
}

bool al_network_transform(struct al_network *network, const struct al_batch *batch,
	struct al_view_f hidden, struct al_matrix_f *out, struct al_error *err)
{
	const struct al_pass_place place = {AL_BEHIND_LAYERS, batch, 0};
	AL_SCRATCH(scratch);
	const struct al_reading reading = al_reading_of(network, &scratch);
	const struct al_tensor *tokens;
	struct al_linear dense;
	struct al_norm norm;

	/* what the head reads is as wide as the embedding */
	*out = (struct al_matrix_f){0};
	if (!al_matrix_resolve(&reading, AL_FORWARD_TOKENS, 0, 0, &tokens, err))
		return false;
	const int64_t width = tokens->shape[1];
	if (!al_linear_read(&reading, AL_FORWARD_MASKED_DENSE, width, (int64_t)hidden.rows, &dense,
		    err)
		|| !al_norm_read(&reading, AL_FORWARD_MASKED_NORM, width, &norm, err)
		|| !al_matrix_init_f(out, (size_t)width, hidden.cols, err))
		return false;
	if (!al_linear_apply(&dense, place, hidden, *out, err))
		return false;
	struct activating activating = {network->masked_activation, *out};
	al_each_columns(out->cols, activate, &activating);
	al_norm_apply(&norm, *out);
	return true;
}
