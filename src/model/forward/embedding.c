/* The two ends: from tokens to hidden states, and what is behind the last layer. */

#include "model/forward/internal.h"

/* Adds row[index] of a table, times `scale`, to column j. */
static bool add_row(const struct al_network *network, const struct al_tensor *table, int64_t index,
	float scale, float *column, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix_f row;

	if (!al_weight_rows_read(&scratch, network, table, index, 1, &row, err))
		return false;
	for (size_t i = 0; i < row.rows; i++)
		column[i] += scale * row.data[i];
	return true;
}

/* x becomes linear(x), where there is one. */
static bool project(const struct al_linear *linear, struct al_pass_place place,
	struct al_matrix_f *x, struct al_error *err)
{
	struct al_matrix_f y = {0};

	if (!al_linear_is_there(linear))
		return true;
	bool ok = al_matrix_init_f(&y, al_linear_rows(linear), x->cols, err)
		&& al_linear_apply(linear, place, al_view_f(*x), y, err);
	al_matrix_finish_f(ok ? x : &y);
	if (ok)
		*x = y;
	return ok;
}

/* A row of the table for each token. */
static bool look_up(const struct al_reading *reading, const struct al_batch *batch,
	struct al_matrix_f *x, struct al_error *err)
{
	const struct al_network *network = reading->network;
	const struct al_tensor *tokens;

	if (!al_matrix_resolve(reading, AL_FORWARD_TOKENS, network->vocab, 0, &tokens, err)
		|| !al_matrix_init_f(x, (size_t)tokens->shape[1], al_batch_tokens(batch), err))
		return false;
	for (size_t at = 0; at < x->cols; at++)
		if (!add_row(network, tokens, batch->tokens[at], (float)network->embedding_scale,
			    x->data + at * x->ld, err))
			return false;
	return true;
}

static bool project_tokens(const struct al_reading *reading, struct al_pass_place place,
	struct al_matrix_f *x, struct al_error *err)
{
	struct al_linear linear = {0};

	return al_linear_read(reading, AL_FORWARD_TOKENS_PROJECT, reading->network->d_model,
		       (int64_t)x->rows, &linear, err)
		&& project(&linear, place, x, err);
}

/* Learned positions, and that all tokens are of the first type. */
static bool add_positions(const struct al_reading *reading, const struct al_batch *batch,
	size_t past, struct al_matrix_f x, struct al_error *err)
{
	const struct al_network *network = reading->network;
	const int64_t width = (int64_t)x.rows;
	const struct al_tensor *positions, *types;

	if (!al_matrix_resolve(reading, AL_FORWARD_POSITIONS, 0, width, &positions, err)
		|| !al_matrix_resolve(reading, AL_FORWARD_TYPES, 0, width, &types, err))
		return false;
	for (size_t i = 0; i < batch->n_sequences; i++)
		for (size_t at = batch->begin[i]; at < batch->begin[i + 1]; at++) {
			float *column = x.data + at * x.ld;
			const int64_t position = network->first_position
				+ (int64_t)(past + at - batch->begin[i]);
			if ((positions && !add_row(network, positions, position, 1, column, err))
				|| (types && !add_row(network, types, 0, 1, column, err)))
				return false;
		}
	return true;
}

/* Norm and projection, as one end of the model has them. */
static bool pass_end(const struct al_reading *reading, enum al_forward_tensor norm_name,
	enum al_forward_tensor project_name, int64_t rows, struct al_pass_place place,
	struct al_matrix_f *x, struct al_error *err)
{
	const int64_t width = (int64_t)x->rows;
	struct al_linear linear = {0};
	struct al_norm norm;

	if (!al_norm_read(reading, norm_name, width, &norm, err)
		|| !al_linear_read(reading, project_name, rows, width, &linear, err))
		return false;
	if (al_norm_is_there(&norm))
		al_norm_apply(&norm, *x);
	return project(&linear, place, x, err) && al_check_columns(place, al_view_f(*x), err);
}

bool al_network_embed(struct al_network *network, const struct al_batch *batch, size_t past,
	struct al_matrix_f *x, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_reading reading = al_reading_of(network, &scratch);
	const struct al_pass_place place = {AL_BEFORE_LAYERS, batch, 0};

	*x = (struct al_matrix_f){0};
	return look_up(&reading, batch, x, err) && project_tokens(&reading, place, x, err)
		&& add_positions(&reading, batch, past, *x, err)
		&& pass_end(&reading, AL_FORWARD_EMBEDDING_NORM, AL_FORWARD_EMBEDDING_PROJECT,
			network->d_model, place, x, err)
		&& ((int64_t)x->rows == network->d_model
			|| al_fail(err, AL_EINPUT, "the embedding is %zu wide, d_model is %lld",
				x->rows, (long long)network->d_model));
}

bool al_network_finish(struct al_network *network, const struct al_batch *batch, struct al_view_f x,
	struct al_matrix_f *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_reading reading = al_reading_of(network, &scratch);
	const struct al_pass_place place = {AL_BEHIND_LAYERS, batch, 0};
	const struct al_tensor *tokens;

	/* what the head reads is as wide as the embedding where something is projected back */
	*out = (struct al_matrix_f){0};
	return al_matrix_resolve(&reading, AL_FORWARD_TOKENS, 0, 0, &tokens, err)
		&& al_read_input(NULL, &(struct al_norm){0}, x, out, err)
		&& pass_end(&reading, AL_FORWARD_LAST_NORM, AL_FORWARD_LAST_PROJECT,
			tokens->shape[1], place, out, err);
}

bool al_network_run_from(struct al_network *network, int64_t first, const struct al_batch *batch,
	struct al_matrix_f x, struct al_matrix_f *out, struct al_error *err)
{
	for (int64_t number = first; number < network->n_layers; number++) {
		struct al_layer *layer = al_layer_load(network, number, err);
		const bool ok = layer && al_layer_run(layer, batch, x, err);
		al_layer_free(layer);
		if (!ok)
			return false;
	}
	return al_network_finish(network, batch, al_view_f(x), out, err);
}
