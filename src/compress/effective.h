/* A compressed module's projections in the shape of the original's: what its pieces multiply out
 * to, heads at their places. With them in place of its own the original model runs as the
 * compressed one does. */
#ifndef ATTNLEDGER_COMPRESS_EFFECTIVE_H
#define ATTNLEDGER_COMPRESS_EFFECTIVE_H

#include "compress/layout.h"

/* Does the layout change this projection (or its bias)? */
bool al_layout_changes(const struct al_module_layout *layout, enum al_projection p, bool is_bias);

/* A projection as the forward pass runs it, from pieces in memory: what has none is the original's
 * own, a bias that there isn't without data. Of heads that share queries and keys (collab) every
 * head's columns, R of them, or one more where there are content biases: what a key's token adds to
 * its scores, which the query takes once; `scale` multiplies their scores. out is initialised. */
bool al_effective_factor(const struct al_module_layout *layout,
	const struct al_matrix pieces[AL_N_PIECES], double scale,
	const struct al_checkpoint *original, enum al_projection p, bool is_bias,
	struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The same from the compressed file. */
bool al_effective_load(const struct al_module_layout *layout,
	const struct al_checkpoint *compressed, double scale, const struct al_checkpoint *original,
	enum al_projection p, bool is_bias, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

/* The other way: from the original's shape a piece, which is made anew; heads' numbers that have no
 * place in it are left out. */
bool al_effective_gather(const struct al_module_layout *layout, enum al_projection p,
	struct al_view effective, struct al_matrix *piece, struct al_error *err) AL_MUST_CHECK;

#endif
