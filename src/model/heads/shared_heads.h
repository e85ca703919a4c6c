/* Queries and keys that all heads share, as heads that the forward pass runs: every head's columns,
 * R of them, or one more where there are content biases: what a key's token adds to its scores,
 * which the query takes once. */
#pragma once

#include "model/heads/views.h"

struct al_shared_heads {
	struct al_matrix columns, mixing, content; /* [D][R], [R][n_heads], [D][n_heads] or empty */
	size_t n_heads;
	double factor; /* of queries: the model divides scores by the root of score_divisor */
};

/* out is initialized, [D][n_heads*columns], a bias [1][n_heads*columns] or without data. */
bool al_shared_heads_make(const struct al_shared_heads *heads, bool is_query, bool is_bias,
	struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The same of a module of such heads. */
bool al_shared_heads_load(const struct al_checkpoint *checkpoint,
	const struct al_attention *attention, bool is_query, bool is_bias, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;
