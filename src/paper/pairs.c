#include "paper/pairs.h"

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

/* How two numbers appear in a sentence: words, or NULL for a number, each behind at most so many
 * other words; "" ends a form. */
static const struct form {
	struct step {
		const char *word;
		size_t most;
	} steps[4];
	bool is_before_first; /* the old value is first */
	bool is_share, is_loose;
} forms[] = {
	{{{"from", 0}, {NULL, 2}, {"to", 2}, {NULL, 2}}, true, false, false},
	{{{NULL, 0}, {"instead", 2}, {"of", 0}, {NULL, 1}}, false, false, false},
	{{{NULL, 0}, {"rather", 2}, {"than", 0}, {NULL, 1}}, false, false, false},
	{{{NULL, 0}, {"out", 0}, {"of", 0}, {NULL, 0}}, false, true, false},
	{{{NULL, 0}, {"\u2192", 3}, {NULL, 2}, {"", 0}}, true, false, true},
	{{{NULL, 0}, {"vs", 4}, {NULL, 4}, {"", 0}}, false, false, true},
	{{{NULL, 0}, {"versus", 4}, {NULL, 4}, {"", 0}}, false, false, true},
	{{{NULL, 0}, {"against", 2}, {NULL, 4}, {"", 0}}, false, false, true},
	{{{NULL, 0}, {"compared", 2}, {"to", 0}, {NULL, 2}}, false, false, true},
	{{{NULL, 0}, {"compared", 2}, {"with", 0}, {NULL, 2}}, false, false, true},
	{{{NULL, 0}, {"down", 3}, {"from", 0}, {NULL, 2}}, false, false, true},
	{{{NULL, 0}, {"up", 3}, {"from", 0}, {NULL, 2}}, false, false, true},
	{{{NULL, 0}, {"was", 2}, {NULL, 1}, {"", 0}}, false, false, true},
	{{{NULL, 0}, {"of", 1}, {NULL, 1}, {"", 0}}, false, true, true},
};

static bool is_quantity(const struct al_word *word)
{
	return word->kind >= AL_WORD_NUMBER && word->kind != AL_WORD_OTHER;
}

/* Moves `*at` to the step, which is one of the next words but for "~" and "(". */
static bool find_step(const struct al_sentence *s, const struct step *step, size_t *at)
{
	const size_t last = *at + step->most;

	for (; *at < s->n && *at <= last; ++*at) {
		if (step->word ? al_sentence_is(s, *at, step->word) : is_quantity(&s->words[*at]))
			return true;
		if (s->words[*at].kind > AL_WORD_SIGN
			|| (s->words[*at].kind == AL_WORD_SIGN
				&& !al_sentence_has(s, *at, AL_WORDS_ABOUT)
				&& !al_sentence_is(s, *at, "(")))
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

static bool read_form(const struct al_sentence *s, size_t at, const struct form *form,
	struct al_pair *out)
{
	struct al_word numbers[2];
	size_t n = 0, next = at, places[2];

	for (size_t i = 0; i < N_OF(form->steps); i++, next++) {
		if (form->steps[i].word && !*form->steps[i].word)
			break;
		if (!find_step(s, &form->steps[i], &next))
			return false;
		if (form->steps[i].word)
			continue;
		places[n] = next;
		numbers[n++] = s->words[next];
	}
	if (numbers[0].kind != numbers[1].kind)
		return false;
	if (!form->is_share)
		share_unit(&numbers[0], &numbers[1]);
	for (size_t i = 0; i < 2; i++)
		numbers[i].half_unit = fmax(numbers[i].half_unit, about_half(s, places[i]));
	*out = (struct al_pair){numbers[!form->is_before_first], numbers[form->is_before_first], at,
		next - 1, form->is_share, form->is_loose};
	return true;
}

static bool read_pair(const struct al_sentence *s, size_t at, struct al_pair *out)
{
	for (size_t i = 0; i < N_OF(forms); i++)
		if (read_form(s, at, &forms[i], out))
			return true;
	return false;
}

size_t al_paper_find_pairs(const struct al_sentence *s, struct al_pair out[AL_MOST_PAIRS])
{
	size_t n = 0;

	for (size_t i = 0; i < s->n && n < AL_MOST_PAIRS; i++)
		if (read_pair(s, i, &out[n]))
			i = out[n++].last;
	return n;
}
