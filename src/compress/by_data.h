/* What methods make of a module in the measure of data: closed forms, no iteration.
 *
 * Errors are relative, of what a form minimises: E|o_i (W_O^(i) - new)|^2 for ov, E|x (W_V -
 * new)|^2 for kv-latent and so on, over the squares of the whole; x are rows of the measure's
 * second moment. Sources: SVD-LLM (arXiv:2403.07378), Palu (arXiv:2407.21118), CARE
 * (arXiv:2603.17946) for one matrix under data; A3 (arXiv:2505.12942) for a head's output. */
#ifndef ATTNLEDGER_COMPRESS_BY_DATA_H
#define ATTNLEDGER_COMPRESS_BY_DATA_H

#include "model/calibration/calibration.h"
#include "compress/pieces.h"
#include "compress/refit.h"

/* What errors are weighed by. */
enum al_weighting {
	AL_MEASURE_AUTO, /* outputs for ov; weighed inputs for values, inputs for keys; weights
			    without a calibration */
	AL_MEASURE_WEIGHTS, /* nothing: E[x^T x] = 1 */
	AL_MEASURE_GAIN, /* the gain of the norm before */
	AL_MEASURE_DIAGONAL, /* mean squares of the inputs */
	AL_MEASURE_INPUTS, /* their second moment */
	AL_MEASURE_CENTRED, /* ... less their mean */
	AL_MEASURE_WEIGHED, /* ... and W_O behind the values */
	AL_MEASURE_OUTPUTS, /* the heads' outputs' second moment */
	AL_N_MEASURES,
};
extern const char *const al_measure_names[AL_N_MEASURES];

struct al_data {
	const struct al_calibration *calibration; /* NULL: weights and gains alone */
	enum al_weighting measure;
	enum al_refit refit;
	bool is_aligned; /* gqa: values are turned onto the group's first and averaged */
	struct al_refitting running; /* where the model runs for it */
};

/* Does the model run for W_O? */
static inline bool al_refit_runs(enum al_refit refit)
{
	return refit == AL_REFIT_TOKENS || refit == AL_REFIT_SEQUENTIAL;
}

/* Is W_O of this method fitted to the calibration's outputs? */
bool al_data_refits(const struct al_data *data, enum al_method method);

/* Marks n heads of the module: of drop, which needs a calibration, those whose loss W_O of all
 * others makes up for best, each on its own; of merge one after the other those that twins put out
 * best. is_dropped [n_heads] is false at first. */
bool al_choose_dropped(const struct al_model_view *view, const struct al_data *data,
	enum al_method method, const struct al_attention *attention, size_t n, bool *is_dropped,
	struct al_error *err) AL_MUST_CHECK;

/* For methods on values, merge, and drop with a calibration. */
bool al_pieces_by_data(struct al_pieces *out, const struct al_model_view *view,
	const struct al_module_layout *layout, const struct al_data *data,
	struct al_error *err) AL_MUST_CHECK;

#endif
