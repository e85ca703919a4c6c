/* Starting points of alternating least squares. Each fills terms made by al_terms_init. */
#pragma once

#include "linalg/sweep.h"

/* The singular values of every head, [n_heads][n_head_values], each head's largest first. */
size_t al_head_values(const struct al_heads *heads);
bool al_heads_values(const struct al_heads *heads, double *values,
	struct al_error *err) AL_MUST_CHECK;

bool al_start_greedy(const struct al_heads *heads, struct al_cp_terms *terms,
	struct al_error *err) AL_MUST_CHECK;

/* AL_ENO where the layer has no such start at this rank. */
bool al_start_algebraic(const struct al_heads *heads, uint64_t seed, struct al_cp_terms *terms,
	struct al_error *err) AL_MUST_CHECK;
