/* How fast pairs of dimensions turn with the position: a module's rotary positions under the rule
 * of the config for long sequences. */
#pragma once

#include "model/heads/views.h"

struct al_rotary_rule {
	const struct al_rotary_rule_kind *kind;
	double factor, low_factor, high_factor, beta_fast, beta_slow;
	double alpha; /* what a power of the base is multiplied by; 0: nothing */
	double score_factor; /* DeepSeek's: what latent attention's scores are multiplied by */
	double attention_factor; /* what the rotations are multiplied by */
	double original_positions; /* of training */
	const double *short_factors, *long_factors; /* [n_factors] */
	size_t n_factors;
	const double *divisors; /* of each pair's speed, before the rule; NULL: none */
	bool is_exact; /* YaRN's ramp isn't rounded to whole dimensions */
};

/* The rule that the family's "scaling" finds in the config; without one pairs turn as they are.
 * What it refers to is the view's or the arena's. */
bool al_rotary_rule_read(const struct al_model_view *view, const struct al_attention *attention,
	struct al_arena *arena, struct al_rotary_rule *rule, struct al_error *err) AL_MUST_CHECK;

/* "llama3"; NULL where nothing is scaled. */
const char *al_rotary_rule_name(const struct al_rotary_rule *rule);

/* Are the frequencies others in sequences beyond those of training? */
bool al_rotary_hangs_on_length(const struct al_rotary_rule *rule);

/* Is a sequence of n tokens one that the rule turns by other frequencies? */
bool al_rotary_is_long(const struct al_rotary_rule *rule, size_t n);

/* Does al_rotary_speed scale nothing, whatever the rule's name? */
bool al_rotary_is_plain(const struct al_rotary_rule *rule);

/* Pair `index`'s angle from one position to the next, in sequences of `n_positions`. */
double al_rotary_speed(const struct al_rotary_rule *rule, const struct al_attention *attention,
	size_t index, size_t n_positions);

/* Those of all pairs, in the arena. */
const double *al_rotary_speeds(const struct al_rotary_rule *rule,
	const struct al_attention *attention, size_t n_positions, struct al_arena *arena);
