/* Gated short convolutions (Liquid AI 2025, arXiv:2511.23404; transformers, modeling_lfm2.py,
 * Lfm2ShortConv): each number of a token is a sum over the last tokens, gated before and after. */
#include "model/forward/internal.h"

bool al_convolution_load(struct al_layer *layer, struct al_error *err)
{
	const struct al_pass_convolution *how = &layer->module->variant->pass->convolution;
	const size_t d_model = (size_t)layer->network->d_model;
	const size_t width = al_mixer_width(layer, how->inputs[0]);
	struct al_convolution *c = &layer->convolution;

	return al_mixer_read_linear(layer, how->inputs[0], d_model, width, &c->value, err)
		&& al_mixer_read_linear(layer, how->inputs[1], d_model, width, &c->before, err)
		&& al_mixer_read_linear(layer, how->gate, d_model, width, &c->after, err)
		&& al_mixer_read(layer, &how->taps, 1, al_mixer_rows(layer, how->taps), width,
			&c->taps, err)
		&& al_mixer_read_linear(layer, how->output, width, d_model, &layer->output, err);
}

struct convolving {
	const struct al_layer *layer;
	const struct al_batch *batch;
	struct al_matrix_f inputs, before, after, o;
};

static void multiply(struct al_matrix_f x, struct al_matrix_f by, size_t first, size_t n)
{
	for (size_t j = first; j < first + n; j++)
		for (size_t i = 0; i < x.rows; i++)
			x.data[i + j * x.ld] *= by.data[i + j * by.ld];
}

static void open_before(void *context, size_t first, size_t n)
{
	const struct convolving *c = context;

	multiply(c->inputs, c->before, first, n);
}

static void convolve(void *context, size_t first, size_t n)
{
	const struct convolving *c = context;
	const struct al_cache *cache = c->layer->cache;
	const struct al_matrix_f x = cache ? cache->k : c->inputs;
	size_t sequence = 0;

	for (size_t j = first; j < first + n; j++) {
		const size_t place = al_batch_place(c->batch, j, &sequence);
		const size_t own = cache ? sequence * cache->length : j - place;
		const size_t past = cache ? cache->past : 0;
		al_convolve(c->layer->convolution.taps, x,
			(struct al_convolved){own, own + past + place, 0, x.rows},
			c->o.data + j * c->o.ld);
	}
	multiply(c->o, c->after, first, n);
}

bool al_convolution_apply(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_matrix_f *o, struct al_error *err)
{
	const struct al_pass_place place = {layer->number, batch, 0};
	const struct al_convolution *how = &layer->convolution;
	struct convolving c = {.layer = layer, .batch = batch};
	AL_SCRATCH(scratch);

	if (!al_mixer_project(&scratch, &how->value, place, x, &c.inputs, err)
		|| !al_mixer_project(&scratch, &how->before, place, x, &c.before, err)
		|| !al_mixer_project(&scratch, &how->after, place, x, &c.after, err)
		|| !al_matrix_init_f(o, c.inputs.rows, x.cols, err))
		return false;
	c.o = *o;
	al_each_columns(x.cols, open_before, &c);
	if (layer->cache)
		al_cache_fill(layer->cache, batch, c.inputs, layer->cache->k);
	al_each_columns(x.cols, convolve, &c);
	return true;
}
