/* What is said again in other words: fractions, factors as percentages, bits as factors. */
#include "paper/derive.h"
#include "paper/relating.h"
#include "scenario/scenario.h"

/* "two thirds" in front of `end`. */
static bool ends_with_fraction(const struct al_sentence *s, size_t end,
	const struct al_paper_fraction *fraction)
{
	size_t at = end;

	for (size_t i = fraction->n_words; i-- > 0;)
		if (at == 0 || strcmp(s->words[--at].text, fraction->words[i]) != 0)
			return false;
	return true;
}

/* "a quarter fewer" is a percentage; a fraction p/q in words is what is nearer to it than
 * 1/(2 q^2). */
void al_paper_read_fractions(struct al_sentence *s)
{
	const struct al_paper_vocabulary *v = s->vocabulary;

	for (size_t at = 0; at + 1 < s->n; at++)
		for (size_t i = 0; i < v->n_fractions && al_statement_has_direction(s, at + 1);
			i++) {
			const double p = (double)v->fractions[i].p, q = (double)v->fractions[i].q;
			if (ends_with_fraction(s, at + 1, &v->fractions[i]))
				s->words[at] = (struct al_word){.kind = AL_WORD_PERCENT,
					.text = s->words[at].text,
					.line = s->words[at].line,
					.value = 100 * p / q,
					.half_unit = 50 / (q * q)};
		}
}

static bool add_restated(struct al_relating *r, size_t at, double right)
{
	const struct al_word *said = &r->s->words[at];

	if (fabs(said->value - right) > said->half_unit * (1 + 1e-9))
		return false;
	al_paper_add_holding(r->out, r->counts, said, right, AL_REPRODUCED);
	return true;
}

/* "a ratio of 1.027 (2.7 %)" */
static bool read_factor_as_percent(struct al_relating *r, size_t at)
{
	const struct al_sentence *s = r->s;
	const struct al_word *said = &s->words[at], *factor = &s->words[at > 2 ? at - 2 : 0];

	return at > 2 && said->kind == AL_WORD_PERCENT && al_sentence_is(s, at - 1, "(")
		&& (factor->kind == AL_WORD_TIMES
			|| (factor->kind == AL_WORD_NUMBER && factor->scale == 0))
		&& factor->digits >= said->digits + 2 && fabs(factor->value - 1) < 1
		&& add_restated(r, at, 100 * fabs(factor->value - 1));
}

/* "5-bit (3.2x)", "at 3 bits it shrinks 5.3x": of 16 bits, or of 32. */
static bool read_bits_as_factor(struct al_relating *r, size_t at)
{
	enum { MOST = 10 };
	const struct al_sentence *s = r->s;

	for (size_t i = at; i-- > 2 && i + MOST > at && s->words[i].kind < AL_WORD_PERCENT;) {
		const size_t count = i - 1 - al_sentence_is(s, i - 1, "-");
		const double bits = s->words[count].value;
		if (!al_sentence_is(s, i, "bit") && !al_sentence_is(s, i, "bits"))
			continue;
		const bool is_next = (i + 2 == at && al_sentence_is(s, i + 1, "("))
			|| al_sentence_is(s, at + 1, "compression")
			|| al_sentence_is(s, at + 2, "compression");
		return s->words[at].kind == AL_WORD_TIMES && s->words[count].kind >= AL_WORD_NUMBER
			&& bits >= 1 && bits <= 16
			&& (is_next || al_statement_is_telling(&s->words[at]))
			&& (add_restated(r, at, 16 / bits) || add_restated(r, at, 32 / bits));
	}
	return false;
}

bool al_paper_read_restated(struct al_relating *r, size_t at)
{
	return read_factor_as_percent(r, at) || read_bits_as_factor(r, at);
}
