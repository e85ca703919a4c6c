/* W_O fitted to what a compressed module's heads put out, by running the model on tokens. */
#ifndef ATTNLEDGER_COMPRESS_REFIT_H
#define ATTNLEDGER_COMPRESS_REFIT_H

#include "compress/pieces.h"
#include "model/forward/forward.h"

/* What W_O is fitted to. */
enum al_refit {
	AL_REFIT_AUTO, /* the calibration's outputs, where the method's are maps of them */
	AL_REFIT_NONE,
	AL_REFIT_TOKENS, /* the compressed heads' outputs on tokens, in the original model */
	AL_REFIT_SEQUENTIAL, /* ... in a model whose layers before are compressed already */
	AL_N_REFITS,
};
extern const char *const al_refit_names[AL_N_REFITS];

struct al_refitting {
	struct al_network *network; /* of the original */
	const struct al_batch *all;
};

/* Fits pieces->of[AL_PIECE_OUTPUT] and sets the relative error of the module's output. `before`
 * gives the weights of the layers before it; NULL: the original's. */
bool al_refit_module(const struct al_refitting *refitting, const struct al_factor_source *before,
	const struct al_module_layout *layout, struct al_pieces *pieces,
	struct al_error *err) AL_MUST_CHECK;

#endif
