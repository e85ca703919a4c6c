/* Multiplied embeddings in the best basis: a canonical polyadic decomposition at width d_head. */
#include "audit/convert.h"

#include "linalg/cp.h"

/* A layer that is collaborative but for noise leaves less than this. */
static const double NOISE = .5;

static bool decompose(const struct al_heads *heads, struct al_cp_options *options, double *error,
	struct al_error *err)
{
	struct al_cp cp;

	if (options->rank > al_cp_bound(heads))
		options->rank = al_cp_bound(heads);
	if (!al_cp(heads, options, &cp, err))
		return false;
	*error = cp.relative_error;
	al_cp_finish(&cp);
	return true;
}

/* Fails where squares of the weights leave single precision's range. */
static bool decompose_narrowed(const struct al_heads *heads, struct al_cp_options *options,
	double *error)
{
	AL_SCRATCH(scratch);
	struct al_heads narrow;

	return al_heads_narrow(&scratch, heads, &narrow, NULL)
		&& decompose(&narrow, options, error, NULL);
}

bool al_convert_collaborative(const struct al_heads *heads, double least_error, uint64_t seed,
	double *error, struct al_error *err)
{
	struct al_cp_options options = {.rank = heads->d_head,
		.n_sweeps = AL_CP_SWEEPS,
		.stop = AL_CP_STOP,
		.seed = seed};

	if (least_error < NOISE)
		return decompose(heads, &options, error, err);
	options.start = AL_CP_GREEDY;
	return decompose_narrowed(heads, &options, error) || decompose(heads, &options, error, err);
}
