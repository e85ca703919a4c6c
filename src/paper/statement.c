/* A statement about a pair of numbers: what it says, and how near to the pair it does. */
#include "paper/statement.h"

#include "paper/operands.h"

/* ---- what is between them ---- */

enum al_gap al_gap_between(const struct al_sentence *s, size_t from, size_t to)
{
	enum { MOST = 10 };
	enum al_gap found = AL_GAP_LINKS;
	size_t n = 0;

	for (size_t i = from; i < to && found != AL_GAP_APART; i++) {
		if (++n > MOST)
			return AL_GAP_APART;
		const bool is_setting = i > from
			&& (al_sentence_is(s, i - 1, "at") || s->words[i].is_joined)
			&& !al_sentence_is(s, i - 1, "(");
		const enum al_gap gap = al_sentence_has(s, i, AL_WORDS_LINKS) ? AL_GAP_LINKS
			: al_sentence_has(s, i, AL_WORDS_UNITS)		      ? AL_GAP_UNITS
			: s->words[i].kind <= AL_WORD_SIGN
				|| (is_setting && s->words[i].kind != AL_WORD_PERCENT)
			? AL_GAP_OTHERS
			: AL_GAP_APART;
		found = al_most(gap, found);
	}
	return found;
}

/* The quantity that a word names, or "". A ratio of it doesn't judge a pair of another one. */
static const char *quantity_of(const struct al_sentence *s, size_t at)
{
	return al_sentence_has(s, at, AL_WORDS_QUANTITIES) ? s->words[at].text : "";
}

/* "4x the parameters", "60 % fewer parameters". */
static size_t quantity_behind(const struct al_sentence *s, size_t at)
{
	enum { MOST = 4 };
	size_t i = at + 1;

	while (i < s->n && i < at + MOST && s->words[i].kind == AL_WORD_LETTERS
		&& !*quantity_of(s, i))
		i++;
	return i;
}

bool al_statement_is_of_same(const struct al_sentence *s, const struct al_pair *pair, size_t at)
{
	const size_t place = quantity_behind(s, at);
	const char *said = quantity_of(s, place), *behind = quantity_of(s, pair->last + 1),
		   *before = quantity_of(s, pair->first - 1);
	const bool has_bytes = strcmp(pair->before.family, "bytes") == 0
		|| al_nouns_match(behind, "bytes");

	/* "4x fewer parameters: 1,000 instead of 4,000" */
	return !*said || al_nouns_match(said, behind) || al_nouns_match(said, before)
		|| (has_bytes && al_sentence_has(s, place, AL_WORDS_OF_BYTES))
		|| (!al_sentence_is(s, pair->first, "from") && !*behind && !*before);
}

/* "(5 vs. 13 GB)": a ratio in front of it is of these. */
bool al_pair_is_in_brackets(const struct al_sentence *s, const struct al_pair *pair)
{
	size_t i = pair->first;

	while (al_sentence_has(s, i - 1, AL_WORDS_BEFORE_PAIRS))
		i--;
	return al_sentence_is(s, i - 1, "(");
}

/* A statement is of a pair in front of it, or in brackets behind it; one of time is of times or
 * rates alone. */
enum al_gap al_statement_gap(const struct al_sentence *s, const struct al_pair *pair, size_t at)
{
	const bool is_of_time = al_sentence_has(s, at + 1, AL_WORDS_OF_TIME);
	const bool has_brackets = pair->is_loose && al_pair_is_in_brackets(s, pair);

	if ((is_of_time && !pair->is_of_time && !has_brackets)
		|| (at >= pair->first && at <= pair->last)
		|| (pair->is_loose && at < pair->first && !has_brackets))
		return AL_GAP_APART;
	if (at > pair->last)
		return al_gap_between(s, pair->last + 1, at);
	/* "the last 10%: from 2 to 1.8" */
	const enum al_gap gap = al_gap_between(s, at + 1, pair->first);
	for (size_t i = at + 1; i < pair->first && gap == AL_GAP_OTHERS; i++)
		if (al_sentence_is(s, i, ":") || al_sentence_is(s, i, ","))
			return AL_GAP_APART;
	return gap;
}

/* ---- what it says ---- */

/* Of "+0.1%" and "-26.6%": 1 and -1; 0: it has none. */
int al_statement_sign(const struct al_sentence *s, size_t at)
{
	return !s->words[at].is_joined			     ? 0
		: al_sentence_has(s, at - 1, AL_WORDS_MINUS) ? -1
							     : al_sentence_is(s, at - 1, "+");
}

/* -1: it falls, 1: it rises, 0: unknown. */
int al_statement_direction(const struct al_sentence *s, size_t at)
{
	const bool falls = al_sentence_has_near(s, at, 3, AL_WORDS_FALLING)
		|| al_statement_sign(s, at) < 0;
	const bool rises = al_sentence_has_near(s, at, 3, AL_WORDS_RISING)
		|| al_statement_sign(s, at) > 0;

	return rises - falls;
}

static double printed_value(const struct al_word *word)
{
	return word->value / (word->scale > 0 ? word->scale : 1);
}

int al_significant_digits(const struct al_word *word)
{
	return (int)floor(log10(fmax(printed_value(word), 1e-9)) + 1e-9) + 1 + word->digits;
}

/* Zeros at the end of "20x" and "100 %" tell nothing. */
bool al_statement_is_telling(const struct al_word *word)
{
	double value = rint(printed_value(word));
	int digits = al_significant_digits(word);

	for (; word->digits == 0 && digits > 1 && fmod(value, 10) == 0; value /= 10)
		digits--;
	return digits >= 2;
}

bool al_statement_has_direction(const struct al_sentence *s, size_t at)
{
	return al_sentence_has(s, at, AL_WORDS_FALLING) || al_sentence_has(s, at, AL_WORDS_RISING);
}

/* "a 73 % reduction in 1 - x", "4x of its size" */
static bool has_object(const struct al_sentence *s, size_t at)
{
	const size_t next = at + 1 + al_statement_has_direction(s, at + 1);

	return al_sentence_is(s, next, "in") || al_sentence_is(s, next, "of");
}

/* Then it is counted where it holds, and called wrong for a single digit alone. */
bool al_statement_is_loose(const struct al_sentence *s, const struct al_pair *pair, size_t at)
{
	const bool has_unit = pair->before.scale > 0 && pair->after.scale > 0;

	/* "drops 4x from 256 to 2048 tokens": what drops is something else */
	const bool is_told = pair->first > 0 && al_sentence_is(s, pair->first - 1, ":");
	/* "at every length from 128 to 16,384": nothing changes */
	const bool is_range = al_sentence_has_before(s, pair->first, 3, AL_WORDS_RANGES);
	if (!pair->is_share
		&& (has_object(s, at) || is_range || (at < pair->first && !has_unit && !is_told)))
		return true;
	const bool is_sure = !pair->is_loose
		|| (has_unit && al_pair_is_in_brackets(s, pair)
			&& s->words[at].kind == AL_WORD_TIMES);

	return !is_sure || al_statement_gap(s, pair, at) != AL_GAP_LINKS
		|| pair->before.kind != AL_WORD_NUMBER
		|| al_sentence_has(s, at + 1, AL_WORDS_OF_TIME);
}
