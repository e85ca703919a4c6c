/* The embedding whose rows are inputs where a checkpoint is compared with its compressed copy. */
#ifndef ATTNLEDGER_COMPRESS_EMBEDDING_H
#define ATTNLEDGER_COMPRESS_EMBEDDING_H

#include "model/heads/views.h"

/* The embedding of tokens: the family's first that is a table of rows as wide as the module's
 * queries take, or NULL. */
const struct al_tensor *al_embedding_find(const struct al_model_view *view,
	const struct al_attention *attention);

/* Fails with AL_ENOTFINITE where that embedding holds NaN or infinite numbers, whichever rows will
 * be drawn: a norm could turn such a row into any other. `checked` is NULL at first and remembers
 * the embedding for the next module. */
bool al_embedding_check(const struct al_model_view *view, const struct al_attention *attention,
	const struct al_tensor **checked, struct al_error *err) AL_MUST_CHECK;

#endif
