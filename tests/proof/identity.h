/* The identity case of every method: a small model in double, compressed so that nothing may be
 * lost, and both files compared as `verify` does. */
#pragma once

#include "compress/compress.h"

struct al_identity {
	const char *id, *claim;
	enum al_method method;
	bool of_keys;
};

extern const struct al_identity al_identities[];
extern const size_t al_n_identities;

/* The largest of the differences of scores, probabilities and outputs (relative to the largest). */
bool al_identity_run(const struct al_identity *identity, struct al_catalog *catalog, uint64_t seed,
	double *difference, struct al_error *err) AL_MUST_CHECK;
