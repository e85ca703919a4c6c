/* Compression: a checkpoint's queries and keys in fewer numbers, written as a checkpoint.
 *
 * What a method doesn't touch is copied bit for bit. The new file's metadata record what was done:
 * attnledger.method, .source (FNV-1a of the original's headers), .scale, .modules (a JSON list:
 * the method where it isn't that one, rank, relative error, parameters, the factor of the logits),
 * .shapes (the heads that are left of every module, and where each projection is that the family
 * doesn't list), .dtype (the one that was asked for, or "by tensor"), .weighted (where errors of
 * quantization were), .config (of a single file: the config.json that a folder would contain). The
 * factor stays the original's, mostly 1/sqrt(d_head), whatever the new width is.
 *
 * In the measure of data methods are closed forms, without iteration. Errors are relative, of what
 * a form minimizes: E|o_i (W_O^(i) - new)|^2 for ov, E|x (W_V - new)|^2 for kv-latent and so on,
 * over the squares of the whole; x are rows of the measure's second moment. Sources: SVD-LLM
 * (arXiv:2403.07378), Palu (arXiv:2407.21118), CARE (arXiv:2603.17946) for one matrix under data;
 * A3 (arXiv:2505.12942) for a head's output. */
#pragma once

#include "base/table.h"
#include "base/watch.h"
#include "compress/layout.h"
#include "model/calibration/calibration.h"

struct al_dropped {
	const char *module; /* a name, or a layer's number */
	int64_t head;
};

/* What errors are weighted by. */
enum al_weighting {
	AL_MEASURE_AUTO, /* outputs for ov; weighed inputs for values, inputs for keys; weights
			    without a calibration */
	AL_MEASURE_WEIGHTS, /* nothing: E[x^T x] = 1 */
	AL_MEASURE_GAIN, /* the gain of the norm before */
	AL_MEASURE_DIAGONAL, /* mean squares of the inputs */
	AL_MEASURE_INPUTS, /* their second moment */
	AL_MEASURE_CENTERED, /* ... less their mean */
	AL_MEASURE_WEIGHED, /* ... and W_O behind the values */
	AL_MEASURE_OUTPUTS, /* the heads' outputs' second moment */
	AL_N_WEIGHTINGS,
};
extern const char *const al_measure_names[AL_N_WEIGHTINGS];

/* What W_O is fitted to. */
enum al_refit {
	AL_REFIT_AUTO, /* the calibration's outputs, where the method's are maps of them */
	AL_REFIT_NONE,
	AL_REFIT_TOKENS, /* the compressed heads' outputs on tokens, in the original model */
	AL_REFIT_SEQUENTIAL, /* ... in a model whose layers before are compressed already */
	AL_N_REFITS,
};
extern const char *const al_refit_names[AL_N_REFITS];

/* Does the model run for W_O? */
static inline bool al_refit_runs(enum al_refit refit)
{
	return refit == AL_REFIT_TOKENS || refit == AL_REFIT_SEQUENTIAL;
}

struct al_data {
	const struct al_calibration *calibration; /* NULL: weights and gains alone */
	enum al_weighting measure;
	enum al_refit refit;
	struct al_network *network; /* of the original, and the tokens, where it runs for W_O */
	const struct al_batch *tokens;
};

struct al_effort {
	size_t n_sweeps, n_restarts; /* as of al_cp_options */
	uint64_t seed;
};

struct al_compress_options {
	enum al_method method;
	const int64_t *ranks; /* one for all modules, or one each; NULL: by target */
	size_t n_ranks;
	double target_error; /* the smallest rank that keeps the relative error at or below it; 0 */
	const struct al_dropped *dropped;
	size_t n_dropped;
	size_t n_of_each; /* so many heads of each module go, chosen by the calibration; 0 */
	double budget; /* the ranks of all modules that together save this share; 0 */
	bool budget_is_cache; /* ... of the numbers cached for a token, else of the parameters */
	struct al_data data; /* of methods on values, and for W_O after drop */
	bool of_keys; /* kv-latent: of keys, not values; gqa: of keys too */
	const char *modules; /* al_select_module; NULL: all */
	const struct al_compress_options
		*also; /* of other modules: method, ranks, n_of_each, of_keys, modules; data and
			  effort are the same. NULL: none */
	const struct al_dtype *const *formats; /* [n_tensors] of the checkpoint: what its tensors
						  become, NULL: what they are; or NULL: all */
	bool for_epfml; /* collab: for epfml/collaborative-attention, which divides the logits
			   by sqrt(R/n_heads): mixing and content bias make up for it */
	const struct al_dtype *dtype; /* of the matrices that a GGUF file gets, of all tensors
					 otherwise; NULL: as they are */
	const struct al_imatrix
		*imatrix; /* what weighs errors of quantization; NULL: the calibration */
	bool must_gain; /* a result that isn't smaller than its source is refused */
	struct al_effort effort;
	const struct al_watch *watch; /* before each module; may be NULL */
	/* When the file `written` is complete, before it is put in its place; false leaves none.
	 * May be NULL. */
	bool (*check)(void *context, const char *written, struct al_error *err);
	void *context;
};

/* Compresses the view's checkpoint into `path`, a safetensors file that appears whole or not at
 * all, and adds a row for each module: module, layer, method, rank, parameters, saving,
 * relative_error, sharing_gain. For collab `heads`, which may be NULL, gets a row for each head:
 * module, layer, head, dimensions. AL_EINPUT: a path that is a file of the input, ranks that can't
 * be, modules that the method can't treat, numbers that are not finite. */
bool al_compress(struct al_model_view *view, const struct al_compress_options *options,
	const char *path, struct al_table *table, struct al_table *heads,
	struct al_error *err) AL_MUST_CHECK;

/* Refuses what al_compress would before its work: outputs that can't be written. */
bool al_compress_check_output(struct al_model_view *view, const struct al_compress_options *options,
	const char *path, struct al_error *err) AL_MUST_CHECK;

void al_compress_add_columns(struct al_table *table);
void al_compress_add_head_columns(struct al_table *table);

/* A copy's metadata have this key where tensors are in other number formats than the source's: the
 * one that was asked for, or that each tensor has its own. */
#define AL_RECORD_DTYPE "attnledger.dtype"
#define AL_DTYPE_BY_TENSOR "by tensor"

/* ---- verify.c: attention probabilities of a checkpoint and of its compressed copy ---- */

struct al_verify_options {
	size_t n_tokens; /* of each input */
	uint64_t seed;
	const char *modules; /* al_select_module; NULL: all that were compressed */
	bool has_tolerance;
	double tolerance; /* the largest output error that passes */
	const struct al_watch *watch; /* before each module; may be NULL */
};

/* Reads both files back and adds rows: module, layer, input, logit_max, probability_max,
 * total_variation, output_error. Inputs: normal numbers, and rows of the token embedding, where one
 * fits, at mean 0 and variance 1 as the norm before a layer makes them. Everything in double.
 * The metadata of `compressed` record what was done to it; AL_EINPUT where they record nothing, or
 * something that doesn't fit `view`, the original.
 *
 * All else is compared byte for byte with the original, whichever modules were asked for: `holds`
 * is true if nothing differs and every output error is within the tolerance; notes name what
 * differs. Both files' tensors are read, and those with NaN or infinite numbers noted;
 * AL_ENOTFINITE where probabilities or outputs need them. AL_ESYSTEM where one of the files was
 * overwritten meanwhile. */
bool al_verify(struct al_model_view *view, const struct al_checkpoint *compressed,
	const struct al_verify_options *options, struct al_table *table, bool *holds,
	struct al_error *err) AL_MUST_CHECK;

void al_verify_add_columns(struct al_table *table);
