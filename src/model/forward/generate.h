/* Text that a decoder writes itself: token after token, with the keys and values of what came
 * before in a cache, so that a token costs the same wherever it is (but for the keys that it
 * looks at). All layers stay in memory meanwhile. */
#pragma once

#include "model/forward/forward.h"

struct al_generator;

/* Some sequences side by side, each of at most `longest` tokens. NULL on failure; an encoder is
 * refused. */
struct al_generator *al_generator_create(struct al_network *network, size_t n_sequences,
	size_t longest, struct al_error *err);
void al_generator_destroy(struct al_generator *generator);

/* The next token of each sequence, and the model's predictions of those after them: logits is
 * initialized, [vocab][sequences]. */
bool al_generator_step(struct al_generator *generator, const int32_t *tokens,
	struct al_matrix_f *logits, struct al_error *err) AL_MUST_CHECK;

/* ---- samples ---- */

/* Tokens of one sequence, unless the model has fewer positions. */
enum { AL_SAMPLE_LONGEST = 256 };

/* Sequences are numbered from 0, and each has random numbers of its own: what is drawn depends on
 * neither the number of threads nor on how many tokens are asked for. */
struct al_sampling {
	size_t n_tokens; /* of all sequences together, their first ones included */
	uint64_t seed;
	bool is_greedy; /* one sequence, always the likeliest token */
};

struct al_sample {
	int32_t *tokens; /* sequence i is tokens[begin[i] .. begin[i + 1]) */
	size_t *begin;
	size_t n_sequences;
};

/* Every sequence begins with the config's bos_token_id and ends with it or an eos_token_id, at
 * AL_SAMPLE_LONGEST tokens, or where there are enough. */
bool al_network_sample(struct al_network *network, const struct al_sampling *how,
	struct al_sample *out, struct al_error *err) AL_MUST_CHECK;
void al_sample_finish(struct al_sample *sample);
