/* Shared queries and keys of a compressed file (collab) as heads that the forward pass runs. */
#ifndef ATTNLEDGER_COMPRESS_SHARED_H
#define ATTNLEDGER_COMPRESS_SHARED_H

#include "compress/layout.h"

/* Every head's columns, R of them, or one more where the file has content biases: what a key's
 * token adds to its scores, which the query takes once. out is initialised, [D][n_heads*columns],
 * a bias [1][n_heads*columns] or without data. p: query or key; `scale` multiplies the file's
 * scores. */
bool al_shared_load(const struct al_module_layout *layout, const struct al_checkpoint *compressed,
	double scale, enum al_projection p, bool is_bias, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

/* The same from pieces in memory. */
bool al_shared_make(const struct al_module_layout *layout,
	const struct al_matrix pieces[AL_N_PIECES], double scale, enum al_projection p,
	bool is_bias, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

#endif
