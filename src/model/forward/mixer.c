/* Mixers: what layers have in place of attention, by their variant's "pass" (catalog/pass.h). */
#include "model/forward/internal.h"

/* ---- weights ---- */

const struct al_factor *al_attention_tensor(const struct al_attention *a, const char *name)
{
	for (size_t i = 0; name && i < a->n_tensors; i++)
		if (strcmp(a->tensors[i].name, name) == 0)
			return &a->tensors[i].factor;
	return NULL;
}

size_t al_mixer_width(const struct al_layer *layer, const char *name)
{
	const struct al_factor *factor = al_attention_tensor(layer->module, name);

	return factor ? (size_t)factor->width : 0;
}

size_t al_mixer_rows(const struct al_layer *layer, const char *name)
{
	const struct al_factor *factor = al_attention_tensor(layer->module, name);

	return factor ? (size_t)factor->rows : 0;
}

static bool load_part(const struct al_layer *layer, const struct al_factor *factor,
	struct al_matrix_f to, struct al_error *err)
{
	AL_OWNED struct al_matrix numbers = {0};

	return al_factor_load(layer->network->view->checkpoint, factor, &numbers, err)
		&& al_narrow(al_view(numbers), to, err);
}

bool al_mixer_read(struct al_layer *layer, const char *const *names, size_t n, size_t rows,
	size_t cols, struct al_matrix_f *out, struct al_error *err)
{
	size_t all = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		all += al_mixer_width(layer, names[i]);
		if (al_mixer_rows(layer, names[i]) != rows)
			return al_fail(err, AL_EINPUT, "%s has %zu rows, its pass needs %zu",
				names[i], al_mixer_rows(layer, names[i]), rows);
	}
	if (cols && all != cols)
		return al_fail(err, AL_EINPUT, "%s has %zu columns, its pass needs %zu", names[0],
			all, cols);
	if (!al_take_f(&layer->scratch, out, rows, all, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		const size_t width = al_mixer_width(layer, names[i]);
		if (!load_part(layer, al_attention_tensor(layer->module, names[i]),
			    al_part_f(*out, 0, at, rows, width), err))
			return false;
		at += width;
	}
	return true;
}

bool al_mixer_read_linear(struct al_layer *layer, const char *name, size_t inputs, size_t outputs,
	struct al_linear *out, struct al_error *err)
{
	out->op = AL_TRANSPOSED;
	return al_mixer_read(layer, &name, 1, inputs, outputs, &out->weight, err);
}

bool al_mixer_load(struct al_layer *layer, struct al_error *err)
{
	return layer->module->variant->pass->delta.n_inputs > 0 ? al_delta_load(layer, err)
								: al_convolution_load(layer, err);
}

/* ---- running ---- */

bool al_mixer_project(struct al_scratch *scratch, const struct al_linear *linear,
	struct al_pass_place place, struct al_view_f x, struct al_matrix_f *y, struct al_error *err)
{
	return al_take_f(scratch, y, al_linear_rows(linear), x.cols, err)
		&& al_linear_apply(linear, place, x, *y, err);
}

void al_convolve(struct al_matrix_f taps, struct al_matrix_f x, struct al_convolved of, float *out)
{
	const size_t before = of.column - of.begin;
	const size_t missing = taps.rows > before + 1 ? taps.rows - before - 1 : 0;

	for (size_t i = of.first; i < of.first + of.n; i++) {
		const float *tap = taps.data + i * taps.ld;
		double sum = 0;
		for (size_t j = missing; j < taps.rows; j++)
			sum += (double)tap[j]
				* (double)x.data[i + (of.column + j + 1 - taps.rows) * x.ld];
		out[i - of.first] = (float)sum;
	}
}

bool al_mixer_apply(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_matrix_f *o, struct al_error *err)
{
	return al_linear_is_there(&layer->delta.inputs)
		? al_delta_apply(layer, batch, x, o, err)
		: al_convolution_apply(layer, batch, x, o, err);
}

bool al_mixer_cache_init(const struct al_layer *layer, size_t n_sequences, struct al_cache *cache,
	struct al_error *err)
{
	const struct al_delta *d = &layer->delta;
	const struct al_linear *inputs = al_linear_is_there(&d->inputs) ? &d->inputs
									: &layer->convolution.value;

	cache->state = al_calloc(n_sequences * d->n_heads * d->d_value * d->d_head + 1,
		sizeof(*cache->state));
	return al_matrix_init_f(&cache->k, al_linear_rows(inputs), n_sequences * cache->length,
		err);
}
