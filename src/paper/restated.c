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

/* Bits of the last format that the words name, or of the first; 0: of none. */
static double find_bits(struct al_relating *r, size_t from, size_t end, bool is_last)
{
	const char *text = al_sentence_join(r->s, r->out->arena, from, end);
	double bits = 0, bytes;

	for (const char *p = text; *p && (is_last || bits == 0);) {
		const size_t length = al_paper_format_at(text, p, &bytes);
		bits = length > 0 ? 8 * bytes : bits;
		p += length > 0 ? length : 1;
	}
	return bits;
}

/* The words next to a statement, up to another one. */
static size_t clause_end(const struct al_sentence *s, size_t at, bool is_before)
{
	enum { MOST = 16 };
	size_t n = 0;

	for (size_t i = at; n < MOST && (is_before ? i > 0 : i + 1 < s->n); n++) {
		i = is_before ? i - 1 : i + 1;
		if (s->words[i].kind == AL_WORD_TIMES || s->words[i].kind == AL_WORD_PERCENT)
			break;
	}
	return is_before ? at - n : at + n + 1;
}

/* "4-bit (", "INT8, about": links alone are between the format and the statement. */
static bool is_next_to_format(struct al_relating *r, size_t from, size_t at)
{
	enum { MOST = 6 };
	size_t first = at, end;

	while (first > from && first + MOST > at && find_bits(r, first, at, true) <= 0)
		first--;
	for (end = first; end < at && find_bits(r, first, end, true) <= 0;)
		end++;
	return end < at && al_gap_between(r->s, end, at) == AL_GAP_LINKS;
}

/* "5-bit (3.2x)", "at 4-bit roughly 4x", "from FP16 to INT8, 2x savings", "16x compression by 1-bit
 * codes": of 16 bits, or of 32. What tells nothing by itself is next to the format, or is said of a
 * compression. */
static bool read_bits_as_factor(struct al_relating *r, size_t at)
{
	enum { NEAR = 3 };
	const struct al_sentence *s = r->s;
	const size_t from = clause_end(s, at, true), end = clause_end(s, at, false);
	const double before = find_bits(r, from, at, true);
	const double bits = before > 0 ? before : find_bits(r, at + 1, end, false);
	const bool is_next = is_next_to_format(r, from, at);

	if (s->words[at].kind != AL_WORD_TIMES || bits < 1 || bits > 16
		|| al_sentence_has_near(s, at, 2, AL_WORDS_OF_TIME)
		|| !(is_next || al_statement_is_telling(&s->words[at])
			|| al_sentence_has_near(s, at, NEAR, AL_WORDS_COMPRESSING)))
		return false;
	return add_restated(r, at, 16 / bits) || (is_next && add_restated(r, at, 32 / bits));
}

bool al_paper_read_restated(struct al_relating *r, size_t at)
{
	return read_factor_as_percent(r, at) || read_bits_as_factor(r, at);
}
