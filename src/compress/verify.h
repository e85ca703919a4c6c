/* Verifying: attention probabilities of a checkpoint and of its compressed copy, side by side. */
#ifndef ATTNLEDGER_COMPRESS_VERIFY_H
#define ATTNLEDGER_COMPRESS_VERIFY_H

#include "base/table.h"
#include "compress/compress.h"

struct al_verify_options {
	size_t n_tokens; /* of each input */
	uint64_t seed;
	const char *modules; /* al_select_module; NULL: all that were compressed */
};

/* Reads both files back and adds rows: module, layer, input, logit_max, probability_max,
 * probability_mean. Inputs: normal numbers, and rows of the token embedding, where one fits, at
 * mean 0 and variance 1 as the norm before a layer makes them. Everything in double. Logits differ
 * by what softmax sees: a difference that all keys of a query have in common is taken off.
 * `compressed` says in its metadata what was done to it; AL_EINPUT where it says nothing, or
 * something that doesn't fit `view`, the original.
 *
 * All else is compared byte for byte with the original, whichever modules were asked for: `is_same`
 * says whether nothing differs, notes name what does. Both files' tensors are read, and those with
 * NaN or infinite numbers noted; AL_ENOTFINITE where the probabilities need them. AL_ESYSTEM where
 * one of the files was overwritten meanwhile. */
bool al_verify(struct al_model_view *view, const struct al_checkpoint *compressed,
	const struct al_verify_options *options, struct al_table *table, bool *is_same,
	struct al_error *err) AL_MUST_CHECK;

void al_verify_add_columns(struct al_table *table);

#endif
