/* Queries and keys in the measure of their inputs. */
#include "compress/whiten.h"

#include "compress/work.h"

/* Directions of the inputs with less than this share of the largest one's variance are rounding of
 * float32 sums: they count as having so much, so that every root has an inverse. */
static const double LEAST_SHARE = 0x1p-22;

static bool whiten(const struct al_work *w, struct al_view weights, struct al_whitened *out,
	struct al_error *err)
{
	AL_OWNED struct al_matrix moment = {0}, root = {0};

	return al_work_moment(w, weights.rows, &moment, err)
		&& al_matrix_init(&root, weights.rows, weights.rows, err)
		&& al_matrix_init(&out->inverse, weights.rows, weights.rows, err)
		&& al_symmetric_roots(moment, LEAST_SHARE, root, out->inverse, err)
		&& al_matrix_init(&out->weights, weights.rows, weights.cols, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(root), weights, 0, out->weights, err);
}

/* A number that all keys of a query have in common is nothing to the softmax: their inputs' mean
 * takes no part. Queries' does. */
bool al_whiten(const struct al_model_view *view, const struct al_attention *attention,
	const struct al_data *data, struct al_view query, struct al_view key,
	struct al_whitened out[2], struct al_error *err)
{
	const struct al_module_layout layout = {.attention = attention, .method = AL_METHOD_QK};
	struct al_work w = {.view = view, .layout = &layout, .a = attention};

	if (data->calibration
		&& !al_calibration_find(data->calibration, attention->name, &w.statistics, err))
		return false;
	if (!al_measure_choose(&w, data->measure, err))
		return false;
	if (w.measure == AL_MEASURE_WEIGHTS)
		return true;
	const enum al_weighting of_keys = w.measure;
	if (w.measure == AL_MEASURE_CENTRED)
		w.measure = AL_MEASURE_INPUTS;
	if (!whiten(&w, query, &out[AL_QUERY], err))
		return false;
	w.measure = of_keys;
	return whiten(&w, key, &out[AL_KEY], err);
}

bool al_unwhiten(const struct al_whitened *whitened, struct al_matrix *piece, struct al_error *err)
{
	AL_OWNED struct al_matrix out = {0};

	if (!whitened->weights.data)
		return true;
	if (!al_matrix_init(&out, piece->rows, piece->cols, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(whitened->inverse), al_view(*piece), 0,
			out, err))
		return false;
	al_matrix_finish(piece);
	*piece = out;
	out = (struct al_matrix){0};
	return true;
}

void al_whitened_finish(struct al_whitened *whitened)
{
	al_matrix_finish(&whitened->weights);
	al_matrix_finish(&whitened->inverse);
}
