/* Attention's weights, as the forward pass takes them: dense, each head's rows together. */

#include "model/forward/internal.h"
#include "model/heads/shared_heads.h"

static bool load_factor(const struct al_layer *layer, enum al_projection p, bool is_bias,
	struct al_matrix *out, struct al_error *err)
{
	const struct al_attention *a = layer->attention;
	const struct al_factor_source *source = layer->network->factors;

	if (!source && a->is_shared && p <= AL_KEY)
		return al_shared_heads_load(layer->network->view->checkpoint, a, p == AL_QUERY,
			is_bias, out, err);
	return source ? source->load(source->context, a, p, is_bias, out, err)
		      : al_factor_load(layer->network->view->checkpoint,
			      is_bias ? &a->biases[p] : &a->factors[p], out, err);
}

static bool read_factor(struct al_layer *layer, enum al_projection p, bool is_bias,
	struct al_matrix_f *out, struct al_error *err)
{
	AL_OWNED struct al_matrix numbers = {0};

	return load_factor(layer, p, is_bias, &numbers, err)
		&& (!numbers.data
			|| (al_take_f(&layer->scratch, out, numbers.rows, numbers.cols, err)
				&& al_narrow(al_view(numbers), *out, err)));
}

static bool read_projection(struct al_layer *layer, enum al_projection p, struct al_linear *out,
	struct al_error *err)
{
	const struct al_attention *a = layer->attention;
	const struct al_factor_source *source = layer->network->factors;

	out->op = p == AL_OUTPUT ? AL_PLAIN : AL_TRANSPOSED;
	if (!read_factor(layer, p, false, &out->weight, err))
		return false;
	const bool may_have = source ? p != AL_OUTPUT : a->is_shared && p <= AL_KEY;
	if (a->biases[p].n_runs == 0 && !may_have)
		return true;
	if (!read_factor(layer, p, true, &out->bias, err))
		return false;
	/* a bias is one row of the heads' columns; here it is a column */
	out->bias = (struct al_matrix_f){out->bias.data, out->bias.cols, 1, out->bias.cols};
	return true;
}

/* Queries and keys of other widths than the module's: the heads run as wide as they are. */
static void widen(struct al_layer *layer)
{
	const struct al_attention *a = layer->attention;
	const int64_t width = (int64_t)layer->query.weight.cols / a->n_heads;
	const int64_t key_columns = (int64_t)layer->key.weight.cols;
	struct al_attention *shape;

	if (width == a->d_head && key_columns == a->n_kv_heads * width)
		return;
	shape = al_new(&layer->arena, struct al_attention);
	*shape = *a;
	shape->d_head = width;
	shape->n_kv_heads = key_columns / width;
	layer->shape = shape;
}

/* Values of fewer heads than there are keys, once for each of these. */
static bool repeat_values(struct al_layer *layer, struct al_error *err)
{
	const size_t n = (size_t)layer->shape->n_kv_heads, width = (size_t)layer->shape->d_value;
	const size_t had = layer->value.weight.cols / width;
	const struct al_linear one = layer->value;

	if (had == n)
		return true;
	if (!al_take_f(&layer->scratch, &layer->value.weight, one.weight.rows, n * width, err)
		|| (one.bias.data
			&& !al_take_f(&layer->scratch, &layer->value.bias, n * width, 1, err)))
		return false;
	for (size_t j = 0; j < n * width; j++) {
		const size_t from = j / width * had / n * width + j % width;
		memcpy(layer->value.weight.data + j * layer->value.weight.ld,
			one.weight.data + from * one.weight.ld, one.weight.rows * sizeof(float));
		if (one.bias.data)
			layer->value.bias.data[j] = one.bias.data[from];
	}
	return true;
}

/* The stored tensor that is the output projection's bias; NULL: the family names none. */
static const char *output_bias_name(const struct al_layer *layer)
{
	const struct al_family_module *module = &layer->network->view->family->modules[0];
	const struct al_entries *entries = &layer->attention->variant->tensors;

	for (size_t i = 0; i < module->n_stored; i++)
		for (size_t j = 0; module->stored[i].is && j < entries->n; j++)
			if (entries->items[j].kind == AL_TENSOR_BIAS
				&& entries->items[j].factor == AL_FACTOR_OUTPUT
				&& strcmp(entries->items[j].name, module->stored[i].is) == 0)
				return module->stored[i].name;
	return NULL;
}

/* A norm for each head, a row of one tensor. */
static bool read_rows(const struct al_reading *reading, enum al_forward_tensor what, int64_t heads,
	int64_t d_head, struct al_norm *out, struct al_error *err)
{
	const struct al_tensor *tensor;
	struct al_matrix_f rows;

	*out = (struct al_norm){.kind = reading->network->how->norm,
		.epsilon = reading->network->epsilon};
	if (!al_matrix_resolve(reading, what, heads, d_head, &tensor, err))
		return false;
	if (!tensor)
		return true;
	if (!al_weight_rows_read(reading->scratch, reading->network, tensor, 0, heads, &rows, err)
		|| !al_take_f(reading->scratch, &out->scale, (size_t)(heads * d_head), 1, err))
		return false;
	for (size_t head = 0; head < rows.cols; head++)
		memcpy(out->scale.data + head * rows.rows, rows.data + head * rows.ld,
			rows.rows * sizeof(float));
	return true;
}

/* A norm for each head, with a name for each: {head}. */
static bool read_each(const struct al_reading *reading, enum al_forward_tensor what, int64_t heads,
	int64_t d_head, struct al_norm *out, struct al_error *err)
{
	struct al_reading of = *reading;

	of.iteration.variables[of.iteration.n++] = "head";
	for (int64_t head = 0; head < heads; head++) {
		struct al_norm one;
		of.iteration.values[of.iteration.n - 1] = head;
		if (!al_norm_read(&of, what, d_head, &one, err))
			return false;
		if (head == 0)
			*out = (struct al_norm){.kind = one.kind, .epsilon = one.epsilon};
		if (head == 0 && al_norm_is_there(&one)
			&& !al_take_f(reading->scratch, &out->scale, (size_t)(heads * d_head), 1,
				err))
			return false;
		if (al_norm_is_there(out) && al_norm_is_there(&one))
			memcpy(out->scale.data + head * d_head, one.scale.data,
				(size_t)d_head * sizeof(float));
	}
	return true;
}

static bool read_qk_norm(const struct al_reading *reading, enum al_forward_tensor what,
	int64_t heads, int64_t d_head, struct al_norm *out, struct al_error *err)
{
	const char *name = reading->network->how->tensors[what].weight;

	switch (reading->network->how->qk_norm) {
	case AL_NORM_OVER_EACH:
		return name && strstr(name, "{head}")
			? read_each(reading, what, heads, d_head, out, err)
			: read_rows(reading, what, heads, d_head, out, err);
	case AL_NORM_OVER_ALL:
		return al_norm_read(reading, what, heads * d_head, out, err);
	default:
		return al_norm_read(reading, what, d_head, out, err);
	}
}

static bool read_projections(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err)
{
	const struct al_attention *a = layer->attention;
	const int64_t d_model = layer->network->d_model;

	if (a->factors[AL_QUERY].rows != d_model || a->factors[AL_OUTPUT].rows != d_model)
		return al_fail(err, AL_EINPUT, "%s: attention is %lld wide, the embedding %lld",
			a->name, (long long)a->factors[AL_QUERY].rows, (long long)d_model);
	if (!read_projection(layer, AL_QUERY, &layer->query, err)
		|| !read_projection(layer, AL_KEY, &layer->key, err))
		return false;
	widen(layer);
	return read_projection(layer, AL_VALUE, &layer->value, err) && repeat_values(layer, err)
		&& read_projection(layer, AL_OUTPUT, &layer->output, err)
		&& al_vector_read(reading, output_bias_name(layer), d_model, &layer->output.bias,
			err);
}

static bool load_projections(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err)
{
	const bool is_latent = layer->network->how->tensors[AL_FORWARD_LATENT_UP].weight;

	if (is_latent && layer->network->factors)
		return al_fail(err, AL_EINPUT,
			"%s: converted latent attention can't be run without being written",
			layer->attention->name);
	if (is_latent)
		return al_latent_load(layer, reading, err)
			&& read_projection(layer, AL_OUTPUT, &layer->output, err)
			&& al_vector_read(reading, output_bias_name(layer), layer->network->d_model,
				&layer->output.bias, err);
	return layer->attention->tensors ? al_variant_load(layer, err)
					 : read_projections(layer, reading, err);
}

static bool load_gate(struct al_layer *layer, struct al_error *err)
{
	AL_OWNED struct al_matrix numbers = {0};

	layer->gate.op = AL_TRANSPOSED;
	return al_factor_load(layer->network->view->checkpoint, &layer->attention->gate, &numbers,
		       err)
		&& (!numbers.data
			|| (al_take_f(&layer->scratch, &layer->gate.weight, numbers.rows,
				    numbers.cols, err)
				&& al_narrow(al_view(numbers), layer->gate.weight, err)));
}

/* Of the heads as they run. */
static bool load_rotation(struct al_layer *layer, struct al_error *err)
{
	const struct al_attention *a = layer->shape;

	if (!a->is_rotary)
		return true;
	if (!al_rotary_rule_read(layer->network->view, a, &layer->arena, &layer->rotary, err))
		return false;
	for (int is_long = 0; is_long < 2; is_long++)
		layer->speeds[is_long] = al_rotary_speeds(&layer->rotary, a, is_long ? SIZE_MAX : 0,
			&layer->arena);
	return true;
}

bool al_attention_load(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err)
{
	const struct al_attention *a = layer->shape = layer->attention;

	if (!a)
		return al_mixer_load(layer, err);
	return load_projections(layer, reading, err) && load_gate(layer, err)
		&& load_rotation(layer, err)
		&& al_vector_read(reading, layer->network->how->tensors[AL_FORWARD_SINKS].weight,
			a->n_heads, &layer->sinks, err)
		&& al_position_bias_load(&layer->bias, reading, (size_t)a->n_heads, err)
		&& read_qk_norm(reading, AL_FORWARD_QUERY_NORM, a->n_heads, a->d_head,
			&layer->query_norm, err)
		&& read_qk_norm(reading, AL_FORWARD_KEY_NORM, layer->shape->n_kv_heads, a->d_head,
			&layer->key_norm, err);
}
