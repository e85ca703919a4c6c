/* What is said again in other words: fractions, factors as percentages, bits as factors. */
#include "paper/derive.h"
#include "paper/relating.h"
#include "scenario/scenario.h"

/* "a factor of 3.2", "a 3.2:1 ratio" */
static bool is_factor(const struct al_sentence *s, size_t at)
{
	const struct al_word *word = &s->words[at];
	const bool is_to_one = at + 2 < s->n && al_sentence_is(s, at + 1, ":") && word[1].is_joined
		&& word[2].is_joined && word[2].value == 1;

	return word->kind == AL_WORD_NUMBER && word->scale <= 0 && word->value > 1
		&& (is_to_one
			|| (al_sentence_is(s, at - 2, "factor")
				&& al_sentence_is(s, at - 1, "of")));
}

/* Factors in words become such with a sign; "a quarter fewer" is a percentage, a fraction p/q in
 * words being what is nearer to it than 1/(2 q^2). */
void al_paper_read_fractions(struct al_sentence *s)
{
	const struct al_paper_list *names = &s->vocabulary->words[AL_WORDS_FRACTIONS];

	for (size_t at = 0; at + 1 < s->n; at++) {
		struct al_word *word = &s->words[at];
		if (is_factor(s, at)) {
			word->kind = AL_WORD_TIMES;
			word->half_unit = 0.5 * pow(10, -word->digits);
		}
		const int place = al_find_name(word->text, (const char *const *)names->items,
			names->n);
		const double q = place < 3 ? place + 2 : place; /* half, third, quarter, thirds */
		const bool has_count = at > 0 && word[-1].kind == AL_WORD_NUMBER;
		if (place < 0 || !al_statement_has_direction(s, at + 1)
			|| !(has_count || place == 0 || al_sentence_is(s, at - 1, "a")
				|| al_sentence_is(s, at - 1, "one")))
			continue;
		*word = (struct al_word){.kind = AL_WORD_PERCENT,
			.text = word->text,
			.family = "%",
			.line = word->line,
			.value = 100 * (has_count ? word[-1].value : 1) / q,
			.half_unit = 50 / (q * q)};
	}
}

static bool add_restated(struct al_relating *r, size_t at, double right)
{
	struct al_word *said = &r->s->words[at];

	if (!al_paper_rounds_to(right, said->value, said->half_unit))
		return false;
	al_paper_add_holding(r->out, r->counts, said, right, AL_REPRODUCED);
	return true;
}

/* "3.2x (68.8 % less)", "saves 75 % (4x)": as far as the rounding of the first allows. */
static bool read_factor_as_saving(struct al_relating *r, size_t at)
{
	enum { NEAR = 3 };
	const struct al_sentence *s = r->s;
	struct al_word *said = &r->s->words[at];
	const struct al_word *first = NULL;

	for (size_t i = at; i-- > 0 && !first;)
		if (s->words[i].kind > AL_WORD_SIGN)
			first = &s->words[i];
	const bool is_percent = said->kind == AL_WORD_PERCENT;
	const struct al_word *percent = is_percent ? said : first,
			     *factor = is_percent ? first : said;
	if (!al_sentence_is(s, at - 1, "(") || !first || percent->kind != AL_WORD_PERCENT
		|| factor->kind != AL_WORD_TIMES || percent->value + percent->half_unit >= 100
		|| !al_sentence_has_near(s, (size_t)(percent - s->words), NEAR, AL_WORDS_FALLING))
		return false;
	const double low = first->value - first->half_unit, high = first->value + first->half_unit,
		     from = is_percent ? 100 - 100 / low : 100 / (100 - low),
		     to = is_percent ? 100 - 100 / high : 100 / (100 - high),
		     right = is_percent ? 100 - 100 / first->value : 100 / (100 - first->value);
	if (said->value + said->half_unit < from || said->value - said->half_unit > to
		|| to - from + 2 * said->half_unit > 0.1 * said->value) /* anything would fit */
		return false;
	al_paper_add_holding(r->out, r->counts, said, right,
		al_paper_rounds_to(right, said->value, said->half_unit) ? AL_REPRODUCED
									: AL_CONSISTENT);
	return true;
}

/* "a ratio of 1.027 (2.7 %)", "0.906 (90.6 %)" */
static bool read_factor_as_percent(struct al_relating *r, size_t at)
{
	const struct al_sentence *s = r->s;
	const struct al_word *said = &s->words[at], *factor = &s->words[at > 2 ? at - 2 : 0];

	return at > 2 && said->kind == AL_WORD_PERCENT && al_sentence_is(s, at - 1, "(")
		&& (factor->kind == AL_WORD_TIMES
			|| (factor->kind == AL_WORD_NUMBER && factor->scale == 0))
		&& factor->digits >= said->digits + 2 && fabs(factor->value - 1) < 1
		&& (add_restated(r, at, 100 * fabs(factor->value - 1))
			|| add_restated(r, at, 100 * factor->value));
}

/* Bits of the last format that the words name, or of the first; 0: of none. */
static double find_bits(struct al_relating *r, size_t from, size_t end, bool is_last)
{
	const char *text = al_sentence_join(r->s, r->out->arena, from, end);
	double bits = 0, bytes;

	for (const char *p = text; *p && (is_last || bits == 0);) {
		const size_t length = al_paper_format_at(text, p, &bytes);
		bits = length > 0 ? 8 * bytes : bits;
		p += al_most(length, 1);
	}
	return bits;
}

static bool is_statement(const struct al_sentence *s, size_t at)
{
	return s->words[at].kind == AL_WORD_TIMES || s->words[at].kind == AL_WORD_PERCENT;
}

/* "5-bit (3.2x)", "at 4-bit roughly 4x", "from FP16 to INT8, 2x savings", "16x compression by 1-bit
 * codes": of 16 bits, or of 32. What tells nothing by itself is next to the format, or is said of a
 * compression. */
static bool read_bits_as_factor(struct al_relating *r, size_t at)
{
	enum { NEXT = 4, NEAR = 3 };
	const struct al_sentence *s = r->s;
	size_t from = at, end = at + 1;

	while (from > 0 && !is_statement(s, from - 1))
		from--;
	while (end < s->n && !is_statement(s, end))
		end++;
	const double before = find_bits(r, from, at, true);
	const double bits = before > 0 ? before : find_bits(r, at + 1, end, false);
	const bool is_next = find_bits(r, at > from + NEXT ? at - NEXT : from, at, true) > 0;

	if (s->words[at].kind != AL_WORD_TIMES || bits < 1 || bits > 16
		|| al_sentence_has_near(s, at, 2, AL_WORDS_OF_TIME)
		|| !(is_next || al_statement_is_telling(&s->words[at])
			|| al_sentence_has_near(s, at, NEAR, AL_WORDS_COMPRESSING)))
		return false;
	return add_restated(r, at, 16 / bits)
		|| (is_next && al_sentence_is(s, at - 1, "(") && add_restated(r, at, 32 / bits));
}

bool al_paper_read_restated(struct al_relating *r, size_t at)
{
	return read_factor_as_saving(r, at) || read_factor_as_percent(r, at)
		|| read_bits_as_factor(r, at);
}
