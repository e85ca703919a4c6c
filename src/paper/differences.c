/* Differences of two numbers of a sentence: "7.74 to 7.81 (+0.07)", "a gap of 0.26". */
#include "paper/relating.h"
#include "scenario/scenario.h"

/* "+0.07", "12.9 GB less": a number that may be a difference. */
static bool is_difference(const struct al_sentence *s, size_t at)
{
	const struct al_word *word = &s->words[at];
	const bool is_signed = al_statement_has_sign(s, at, "+")
		|| al_statement_has_sign(s, at, "-") || al_statement_has_sign(s, at, "\u2212");
	const bool is_alone = at + 1 == s->n || !s->words[at + 1].is_joined
		|| (s->words[at + 1].kind == AL_WORD_SIGN && !al_sentence_is(s, at + 1, "/"));

	return is_alone && word->value > 0 && (word->digits > 0 || al_statement_is_telling(word))
		&& (word->kind == AL_WORD_NUMBER || word->kind == AL_WORD_OTHER)
		&& (is_signed
			|| (word->kind == AL_WORD_NUMBER
				&& (al_sentence_has_near(s, at, 2, AL_WORDS_FALLING)
					|| al_sentence_has_near(s, at, 2, AL_WORDS_RISING)
					|| al_sentence_has_near(s, at, 2, AL_WORDS_GAPS))));
}

/* "(7.81 vs 7.74, +0.07)"; it counts where it holds to its last digit. */
static bool read_difference(struct al_relating *r, size_t at, int which)
{
	const struct al_pair *pairs = r->pairs[which];
	const size_t n_pairs = r->n_pairs[which];
	const struct al_word *said = &r->s->words[at];
	const double value = said->value / (said->scale > 0 ? said->scale : 1);
	const double half = 0.5 * pow(10, -said->digits) * (1 + 1e-9);

	for (size_t i = 0; i < n_pairs; i++) {
		const struct al_pair *p = &pairs[i];
		if (p->said > 0 || p->is_share || p->before.kind != AL_WORD_NUMBER
			|| al_statement_gap(r->s, p, at)
				> (al_sentence_has_near(r->s, at, 2, AL_WORDS_GAPS) ? AL_GAP_OTHERS
										    : AL_GAP_UNITS)
			|| (*said->family && strcmp(said->family, p->after.family) != 0)
			|| fabs(al_relating_point(p, said) - value) > half
			|| al_statement_direction(r->s, at) * (p->after.value - p->before.value)
				< 0)
			continue;
		al_relating_add(r, p, said, AL_REPRODUCED, "");
		return true;
	}
	return false;
}

void al_paper_read_difference(struct al_relating *r, size_t at)
{
	if (is_difference(r->s, at) && !read_difference(r, at, AL_PAIRS_NEAR))
		(void)read_difference(r, at, AL_PAIRS_FAR);
}
