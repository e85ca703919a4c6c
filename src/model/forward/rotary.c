/* Rotary positions: pairs of a head's dimensions turned by the position (views/rotary.h says how
 * fast). */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "model/forward/internal.h"

void al_turns_init(struct al_turns *turns, const struct al_network *network,
	const struct al_attention *attention, size_t n_positions)
{
	const struct al_rotary_rule *rule = &network->rotary;
	const size_t n_pairs = (size_t)attention->rotary_width / 2;
	const double size = rule->attention_factor;

	*turns = (struct al_turns){.n_pairs = n_pairs,
		.n_positions = n_positions,
		.cos = al_alloc(n_pairs * n_positions, sizeof(float)),
		.sin = al_alloc(n_pairs * n_positions, sizeof(float)),
		.pairs = attention->rotary_pairs};
	for (size_t i = 0; i < n_pairs; i++) {
		const double speed = al_rotary_speed(rule, attention, i, n_positions);
		for (size_t j = 0; j < n_positions; j++) {
			turns->cos[i + j * n_pairs] = (float)(size * cos((double)j * speed));
			turns->sin[i + j * n_pairs] = (float)(size * sin((double)j * speed));
		}
	}
}

void al_turns_finish(struct al_turns *turns)
{
	free(turns->cos);
	free(turns->sin);
	*turns = (struct al_turns){0};
}

void al_turn(const struct al_turns *turns, size_t position, float *x)
{
	const float *cosines = turns->cos + position * turns->n_pairs;
	const float *sines = turns->sin + position * turns->n_pairs;
	const bool halves = turns->pairs == AL_PAIRS_HALVES;

	for (size_t i = 0; i < turns->n_pairs; i++) {
		float *a = &x[halves ? i : 2 * i], *b = halves ? a + turns->n_pairs : a + 1;
		const float before = *a;
		*a = before * cosines[i] - *b * sines[i];
		*b = *b * cosines[i] + before * sines[i];
	}
}
