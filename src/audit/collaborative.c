/* Multiplied embeddings in the best basis: a canonical polyadic decomposition at width d_head. */
#include "audit/collaborative.h"

#include "linalg/cp.h"

bool al_convert_collaborative(struct al_view q, struct al_view k, size_t n_heads, size_t d_head,
	uint64_t seed, double *error, struct al_error *err)
{
	const struct al_heads heads = {.query = q, .key = k, .n_heads = n_heads, .n_kv_heads = n_heads};
	struct al_cp_options options = {.rank = d_head, .n_sweeps = 20, .stop = 1e-4, .seed = seed};
	struct al_cp cp;

	if (options.rank > al_cp_bound(&heads))
		options.rank = al_cp_bound(&heads);
	if (!al_cp(&heads, &options, &cp, err))
		return false;
	*error = cp.relative_error;
	al_cp_finish(&cp);
	return true;
}
