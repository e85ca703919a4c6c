#include "paper/pairs.h"

#include <ctype.h>

#define N_OF(list) (sizeof(list) / sizeof(*(list)))

/* "from 64 to 16 GB": the first is of the unit of the second. */
static void share_unit(struct al_word *first, const struct al_word *second)
{
	if (first->scale > 0 || second->scale == 0)
		return;
	first->half_unit = 0.5 * second->scale * pow(10, -first->digits);
	first->value *= second->scale;
	first->scale = second->scale;
	first->family = second->family;
}

/* Steps of a form that are no word: a number, the statement about the two, a word of a list. */
static const char number[] = "", said[] = "statement", versus[] = "vs", bases[] = "than",
		  listed[] = "and";

/* How two numbers appear in a sentence: words and numbers, each behind at most so many others. */
static const struct form {
	struct step {
		const char *word; /* NULL: the form ends */
		size_t most;
	} steps[4];
	bool is_before_first; /* the old value is first */
	bool is_share, is_loose;
	bool is_far;
} forms[] = {
	{{{"from", 0}, {number, 2}, {"to", 2}, {number, 2}}, true, false, false, false},
	{{{number, 0}, {"instead", 2}, {"of", 0}, {number, 1}}, false, false, false, false},
	{{{number, 0}, {"rather", 2}, {"than", 0}, {number, 1}}, false, false, false, false},
	{{{number, 0}, {"out", 0}, {"of", 0}, {number, 0}}, false, true, false, false},
	{{{number, 0}, {"\u2192", 3}, {number, 2}}, true, false, true, false},
	{{{number, 0}, {"vs", 4}, {number, 4}}, false, false, true, false},
	{{{number, 0}, {"versus", 4}, {number, 4}}, false, false, true, false},
	{{{number, 0}, {"against", 2}, {number, 4}}, false, false, true, false},
	{{{number, 0}, {"compared", 2}, {"to", 0}, {number, 2}}, false, false, true, false},
	{{{number, 0}, {"compared", 2}, {"with", 0}, {number, 2}}, false, false, true, false},
	{{{number, 0}, {"down", 3}, {"from", 0}, {number, 2}}, false, false, true, false},
	{{{number, 0}, {"up", 3}, {"from", 0}, {number, 2}}, false, false, true, false},
	{{{number, 0}, {"was", 2}, {number, 1}}, false, false, true, false},
	{{{number, 0}, {"of", 1}, {number, 1}}, false, true, true, false},
	{{{"from", 0}, {number, 4}, {"to", 8}, {number, 4}}, true, false, true, true},
	{{{number, 0}, {"to", 2}, {number, 1}}, true, false, true, true},
	{{{number, 0}, {"from", 1}, {number, 3}}, false, false, true, true},
	{{{number, 0}, {versus, 10}, {number, 6}}, false, false, true, true},
	{{{number, 0}, {listed, 6}, {number, 4}}, false, false, true, true},
	{{{number, 0}, {said, 6}, {"of", 0}, {number, 5}}, false, true, true, true},
	{{{number, 0}, {said, 6}, {bases, 4}, {number, 10}}, false, false, true, true},
};

/* A number; of a far pair "KL=0.36" and "29 ms/step", too. */
static bool is_quantity(const struct al_sentence *s, size_t at, bool is_far)
{
	const struct al_word *word = &s->words[at];
	const bool is_last = at + 1 == s->n || !s->words[at + 1].is_joined;

	if (word->kind != AL_WORD_OTHER || !is_far)
		return word->kind >= AL_WORD_NUMBER && word->kind != AL_WORD_OTHER;
	return word->value > 0
		&& ((word->scale > 0 && al_sentence_is(s, at + 1, "/"))
			|| (at > 0 && word->is_joined && al_sentence_is(s, at - 1, "=")
				&& (is_last || s->words[at + 1].kind == AL_WORD_SIGN)));
}

/* "29.2 tokens/s", "3 GB/s" */
static bool is_rate(const struct al_sentence *s, size_t at)
{
	const size_t slash = at + 1 + !al_sentence_is(s, at + 1, "/");

	return al_sentence_is(s, slash, "/") && al_sentence_has(s, slash + 1, AL_WORDS_SECONDS);
}

/* The digits of "FP16", "turbo3" and "q8_0". */
static bool is_of_name(const struct al_sentence *s, size_t at)
{
	const char *before = at > 0 && s->words[at].is_joined ? s->words[at - 1].text : " ";

	return s->words[at].kind == AL_WORD_OTHER
		&& (isalpha((unsigned char)*before) || *before == '_'
			|| (*before == '-' && at > 1
				&& isalpha((unsigned char)*s->words[at - 2].text)));
}

static bool is_step(const struct al_sentence *s, const struct form *form, const struct step *step,
	size_t at)
{
	return step->word == number ? is_quantity(s, at, form->is_far)
		: step->word == said
		? s->words[at].kind == AL_WORD_PERCENT || s->words[at].kind == AL_WORD_TIMES
		: step->word == versus ? al_sentence_has(s, at, AL_WORDS_VERSUS)
		: step->word == bases  ? al_sentence_has(s, at, AL_WORDS_BASES)
		: step->word == listed ? al_sentence_is(s, at, ",") || al_sentence_is(s, at, "and")
				       : al_sentence_is(s, at, step->word);
}

/* The last word of "\u00b1 0.12", and of what is in brackets; 0: none begins. */
static size_t end_of_aside(const struct al_sentence *s, bool skips_brackets, size_t at)
{
	if (al_sentence_is(s, at, "\u00b1") && at + 1 < s->n)
		return at + 1;
	return skips_brackets ? al_sentence_aside(s, at) : 0;
}

/* Moves `*at` to the step, which is one of the next words but for "~", "(" and asides; in a far
 * pair but for all signs and names. */
static bool find_step(const struct al_sentence *s, const struct form *form, const struct step *step,
	bool skips_brackets, size_t *at)
{
	size_t last = *at + step->most, aside;

	for (; *at < s->n && *at <= last; ++*at) {
		if (is_step(s, form, step, *at))
			return true;
		if ((aside = end_of_aside(s, skips_brackets, *at)) > 0) {
			last += aside + 1 - *at;
			*at = aside;
			continue;
		}
		const bool is_sign = s->words[*at].kind == AL_WORD_SIGN
			&& (form->is_far || al_sentence_has(s, *at, AL_WORDS_ABOUT)
				|| al_sentence_is(s, *at, "("));
		if (s->words[*at].kind != AL_WORD_LETTERS && !is_sign
			&& !(form->is_far && is_of_name(s, *at)))
			return false;
	}
	return false;
}

/* Of "~190" only two digits are sure. */
static double about_half(const struct al_sentence *s, size_t at)
{
	const struct al_word *word = &s->words[at];
	const double scale = word->scale > 0 ? word->scale : 1, count = rint(word->value / scale);
	double unit = 10;

	if (at == 0 || !al_sentence_has(s, at - 1, AL_WORDS_ABOUT))
		return 0;
	while (word->digits == 0 && unit <= count && fmod(count, unit) == 0)
		unit *= 10;
	return unit > 10 ? 0.05 * unit * scale : 1.5 * pow(10, -word->digits) * scale;
}

/* "N=2" may be of anything. */
static bool is_telling(const struct al_word *word)
{
	return word->scale > 0 || word->digits > 0 || word->value >= 10;
}

static bool read_form(const struct al_sentence *s, size_t at, const struct form *form,
	bool skips_brackets, struct al_pair *out)
{
	struct al_word numbers[2];
	size_t n = 0, next = at, places[2], statement = 0;

	for (size_t i = 0; i < N_OF(form->steps) && form->steps[i].word; i++, next++) {
		if (!find_step(s, form, &form->steps[i], skips_brackets, &next))
			return false;
		statement = form->steps[i].word == said ? next : statement;
		if (form->steps[i].word != number)
			continue;
		places[n] = next;
		numbers[n++] = s->words[next];
	}
	for (size_t i = 0; i < 2; i++)
		if (numbers[i].kind == AL_WORD_OTHER)
			numbers[i].kind = AL_WORD_NUMBER;
	if (numbers[0].kind != numbers[1].kind)
		return false;
	if (!form->is_share && (!form->is_far || form->is_before_first))
		share_unit(&numbers[0], &numbers[1]);
	if (form->is_far && !is_telling(&numbers[0]) && !is_telling(&numbers[1]))
		return false;
	if (form->steps[1].word == listed
		&& (numbers[0].scale != numbers[1].scale || numbers[0].kind != AL_WORD_NUMBER))
		return false;
	for (size_t i = 0; i < 2; i++)
		numbers[i].half_unit = fmax(numbers[i].half_unit, about_half(s, places[i]));
	*out = (struct al_pair){numbers[!form->is_before_first], numbers[form->is_before_first], at,
		next - 1, statement, form->is_share,
		statement == 0 && form->steps[1].word != listed,
		strcmp(numbers[0].family, "s") == 0
			|| (is_rate(s, places[0]) || is_rate(s, places[1])),
		form->is_loose, form->is_far};
	return true;
}

size_t al_paper_find_pairs(const struct al_sentence *s, bool is_far,
	struct al_pair out[AL_MOST_PAIRS])
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < N_OF(forms) && n < AL_MOST_PAIRS; k++) {
			if (forms[k].is_far != is_far
				|| !(read_form(s, i, &forms[k], false, &out[n])
					|| (is_far && read_form(s, i, &forms[k], true, &out[n]))))
				continue;
			i = is_far ? i : out[n].last;
			n++;
			if (!is_far)
				break;
		}
	return n;
}
