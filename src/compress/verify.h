/* Verifying: attention probabilities of a checkpoint and of its compressed copy, side by side. */
#ifndef ATTNLEDGER_COMPRESS_VERIFY_H
#define ATTNLEDGER_COMPRESS_VERIFY_H

#include "base/table.h"
#include "compress/compress.h"

struct al_verify_options {
	size_t n_tokens; /* of each input */
	uint64_t seed;
	const char *modules; /* al_select_module; NULL: all that were compressed */
	bool has_tolerance;
	double tolerance; /* the largest output error that passes */
	/* Called before each module, the one after `done` of `n`; or NULL. */
	void (*watch)(void *context, const char *module, size_t done, size_t n);
	void *context;
};

/* Reads both files back and adds rows: module, layer, input, logit_max, probability_max,
 * total_variation, output_error. Inputs: normal numbers, and rows of the token embedding, where one
 * fits, at mean 0 and variance 1 as the norm before a layer makes them. Everything in double.
 * `compressed` says in its metadata what was done to it; AL_EINPUT where it says nothing, or
 * something that doesn't fit `view`, the original.
 *
 * All else is compared byte for byte with the original, whichever modules were asked for: `holds`
 * says whether nothing differs and every output error is within the tolerance; notes name what
 * differs. Both files' tensors are read, and those with NaN or infinite numbers noted;
 * AL_ENOTFINITE where probabilities or outputs need them. AL_ESYSTEM where one of the files was
 * overwritten meanwhile. */
bool al_verify(struct al_model_view *view, const struct al_checkpoint *compressed,
	const struct al_verify_options *options, struct al_table *table, bool *holds,
	struct al_error *err) AL_MUST_CHECK;

void al_verify_add_columns(struct al_table *table);

#endif
