/* The PCA layer across heads: its inputs. */
#include "deacon/layer.h"

const char *const al_architecture_names[AL_N_ARCHITECTURES] = {
	[AL_DIRECT] = "direct",
	[AL_AVERAGE] = "average",
	[AL_NONLINEAR] = "nonlinear",
};

bool al_pca_layer_init(struct al_pca_layer *layer, enum al_pca_architecture architecture,
	size_t n_heads, size_t d_head, struct al_scratch *scratch, struct al_error *err)
{
	const bool is_nonlinear = architecture == AL_NONLINEAR;

	*layer = (struct al_pca_layer){.architecture = architecture,
		.n_heads = n_heads,
		.d_head = d_head,
		.n_features = n_heads + (is_nonlinear ? n_heads * (n_heads + 1) / 2 : 0),
		.width = architecture == AL_AVERAGE ? 1 : d_head};
	layer->n_norm = is_nonlinear ? layer->n_features : n_heads * d_head;
	layer->mean = al_take_array(scratch, layer->n_norm, sizeof(*layer->mean), err);
	layer->scale = al_take_array(scratch, layer->n_norm, sizeof(*layer->scale), err);
	return layer->mean && layer->scale;
}

/* ---- features ---- */

static void expand_dimension(const struct al_pca_layer *layer, const double *row, size_t j,
	double *out)
{
	const size_t h = layer->n_heads, d = layer->d_head;
	double *product = out + 2 * h;

	for (size_t i = 0; i < h; i++) {
		out[i] = row[i * d + j];
		out[h + i] = out[i] * out[i];
		for (size_t k = i + 1; k < h; k++)
			*product++ = row[i * d + j] * row[k * d + j];
	}
}

void al_pca_expand(const void *context, const double *row, double *out)
{
	const struct al_pca_layer *layer = context;

	for (size_t j = 0; j < layer->d_head; j++)
		expand_dimension(layer, row, j, out + j * layer->n_features);
}

static void nonlinear(const struct al_pca_layer *layer, const double *row, double *out)
{
	const size_t n = layer->n_features;
	AL_FREED double *column = al_alloc(n, sizeof(*column));

	for (size_t j = 0; j < layer->d_head; j++) {
		expand_dimension(layer, row, j, column);
		for (size_t k = 0; k < n; k++)
			out[k * layer->width + j] = (column[k] - layer->mean[k]) * layer->scale[k];
	}
}

static void average(const struct al_pca_layer *layer, const double *row, double *out)
{
	const size_t d = layer->d_head;

	for (size_t i = 0; i < layer->n_heads; i++) {
		double sum = 0;
		for (size_t k = i * d; k < (i + 1) * d; k++)
			sum += (row[k] - layer->mean[k]) * layer->scale[k];
		out[i] = sum / (double)d;
	}
}

void al_pca_features(const void *context, const double *row, double *out)
{
	const struct al_pca_layer *layer = context;

	switch (layer->architecture) {
	case AL_NONLINEAR:
		nonlinear(layer, row, out);
		return;
	case AL_AVERAGE:
		average(layer, row, out);
		return;
	default:
		for (size_t k = 0; k < layer->n_norm; k++)
			out[k] = (row[k] - layer->mean[k]) * layer->scale[k];
	}
}

/* ---- names ---- */

const char *al_pca_feature_name(const struct al_pca_layer *layer, size_t feature,
	struct al_arena *arena)
{
	const size_t h = layer->n_heads;
	size_t first = 0, left = feature;

	if (feature < h)
		return al_format(arena, "head %zu", feature);
	if (feature < 2 * h)
		return al_format(arena, "head %zu squared", feature - h);
	for (left -= 2 * h; left >= h - 1 - first; first++)
		left -= h - 1 - first;
	return al_format(arena, "head %zu * head %zu", first, first + 1 + left);
}

const char *al_pca_norm_name(const struct al_pca_layer *layer, size_t feature,
	struct al_arena *arena)
{
	if (layer->architecture == AL_NONLINEAR)
		return al_pca_feature_name(layer, feature, arena);
	return al_format(arena, "head %zu, dimension %zu", feature / layer->d_head,
		feature % layer->d_head);
}
