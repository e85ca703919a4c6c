#include "paper/pairs.h"

#include <ctype.h>

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

static bool is_step(const struct al_sentence *s, const struct al_paper_pair_form *form,
	const struct al_paper_step *step, size_t at)
{
	switch (step->kind) {
	case AL_STEP_NUMBER:
		return is_quantity(s, at, form->nearness == AL_PAIR_FAR);
	case AL_STEP_STATEMENT:
		return s->words[at].kind == AL_WORD_PERCENT || s->words[at].kind == AL_WORD_TIMES;
	case AL_STEP_LISTED:
		return al_sentence_has(s, at, step->list);
	default:
		return al_sentence_is(s, at, step->word);
	}
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
static bool find_step(const struct al_sentence *s, const struct al_paper_pair_form *form,
	const struct al_paper_step *step, bool skips_brackets, size_t *at)
{
	const bool is_far = form->nearness == AL_PAIR_FAR;
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
			&& (is_far || al_sentence_has(s, *at, AL_WORDS_ABOUT)
				|| al_sentence_is(s, *at, "("));
		if (s->words[*at].kind != AL_WORD_LETTERS && !is_sign
			&& !(is_far && is_of_name(s, *at)))
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

/* "12 GB, 3 layers" are no two of a kind. */
static bool are_of_list(const struct al_word numbers[2])
{
	return numbers[0].scale == numbers[1].scale && numbers[0].kind == AL_WORD_NUMBER;
}

static bool read_form(const struct al_sentence *s, size_t at, const struct al_paper_pair_form *form,
	bool skips_brackets, struct al_pair *out)
{
	const bool is_far = form->nearness == AL_PAIR_FAR, is_old_first = form->is_old_first;
	const bool is_list = form->steps[1].kind == AL_STEP_LISTED
		&& form->steps[1].list == AL_WORDS_LISTED;
	struct al_word numbers[2];
	size_t n = 0, next = at, places[2], statement = 0;

	for (const struct al_paper_step *step = form->steps; step->kind; step++, next++) {
		if (!find_step(s, form, step, skips_brackets, &next))
			return false;
		statement = step->kind == AL_STEP_STATEMENT ? next : statement;
		if (step->kind != AL_STEP_NUMBER)
			continue;
		places[n] = next;
		numbers[n++] = s->words[next];
	}
	for (size_t i = 0; i < 2; i++)
		if (numbers[i].kind == AL_WORD_OTHER)
			numbers[i].kind = AL_WORD_NUMBER;
	if (numbers[0].kind != numbers[1].kind)
		return false;
	if (!form->is_share && (!is_far || is_old_first))
		share_unit(&numbers[0], &numbers[1]);
	if ((is_far && !is_telling(&numbers[0]) && !is_telling(&numbers[1]))
		|| (is_list && !are_of_list(numbers)))
		return false;
	for (size_t i = 0; i < 2; i++)
		numbers[i].half_unit = fmax(numbers[i].half_unit, about_half(s, places[i]));
	*out = (struct al_pair){.before = numbers[!is_old_first],
		.after = numbers[is_old_first],
		.first = at,
		.last = next - 1,
		.said = statement,
		.is_share = form->is_share,
		.is_joined = statement == 0 && !is_list,
		.is_of_time = strcmp(numbers[0].family, "s") == 0 || is_rate(s, places[0])
			|| is_rate(s, places[1]),
		.is_loose = form->nearness != AL_PAIR_SURE,
		.is_far = is_far};
	return true;
}

size_t al_paper_find_pairs(const struct al_sentence *s, bool is_far,
	struct al_pair out[AL_MOST_PAIRS])
{
	const struct al_paper_pair_form *forms = s->vocabulary->pairs;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < s->vocabulary->n_pairs && n < AL_MOST_PAIRS; k++) {
			if ((forms[k].nearness == AL_PAIR_FAR) != is_far
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
