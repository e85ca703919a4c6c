#include "paper/pairs.h"

#include "paper/operands.h"

static bool is_quantity(const struct al_word *word)
{
	return word->kind >= AL_WORD_NUMBER && word->kind != AL_WORD_OTHER;
}

static bool is_step(const struct al_sentence *s, const struct al_paper_step *step, size_t at)
{
	return step->word ? al_sentence_is(s, at, step->word) : is_quantity(&s->words[at]);
}

/* The end of brackets that the step isn't in: "from 46 requests (all keys) to 52"; or `at`. */
static size_t skip_remark(const struct al_sentence *s, const struct al_paper_step *step, size_t at)
{
	for (size_t i = at + 1; i < s->n && !is_step(s, step, i) && !al_sentence_is(s, i, "("); i++)
		if (al_sentence_is(s, i, ")"))
			return i;
	return at;
}

/* Moves `*at` to the step, which is one of the next words but for "~", "(", spreads and remarks. */
static bool find_step(const struct al_sentence *s, const struct al_paper_step *step, size_t *at)
{
	size_t last = *at + step->most;

	for (; *at < s->n && *at <= last; ++*at) {
		if (is_step(s, step, *at))
			return true;
		if (al_sentence_is(s, *at, "\u00b1")) { /* "\u00b1 0.12" */
			last += 2;
			++*at;
			continue;
		}
		if (al_sentence_is(s, *at, "(")) {
			const size_t end = skip_remark(s, step, *at);
			last += end > *at ? end + 1 - *at : 0;
			*at = end;
		} else if (s->words[*at].kind != AL_WORD_LETTERS
			&& !al_sentence_has(s, *at, AL_WORDS_EQUALS))
			return false;
	}
	return false;
}

/* Of "~190" only two digits are sure. */
static double about_half(const struct al_sentence *s, size_t at, const struct al_word *word)
{
	const double scale = word->scale > 0 ? word->scale : 1, count = rint(word->value / scale);
	double unit = 10;

	if (!al_sentence_has(s, at - 1, AL_WORDS_ABOUT))
		return 0;
	while (word->digits == 0 && unit <= count && fmod(count, unit) == 0)
		unit *= 10;
	return unit > 10 ? 0.05 * unit * scale : 1.5 * pow(10, -word->digits) * scale;
}

static bool read_form(const struct al_sentence *s, size_t at, const struct al_paper_pair_form *form,
	struct al_pair *out)
{
	const bool is_old_first = form->is_old_first;
	struct al_word numbers[2];
	size_t n = 0, next = at, places[2];

	for (size_t i = 0; i < form->n_steps; i++, next++) {
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
		al_word_share_unit(&numbers[0], &numbers[1]);
	for (size_t i = 0; i < 2; i++)
		numbers[i].half_unit = fmax(numbers[i].half_unit,
			about_half(s, places[i], &numbers[i]));
	*out = (struct al_pair){.before = numbers[!is_old_first],
		.after = numbers[is_old_first],
		.first = at,
		.last = next - 1,
		.is_share = form->is_share,
		.is_of_time = strcmp(numbers[0].family, "s") == 0
			|| *al_operand_at(s, places[0]).per || *al_operand_at(s, places[1]).per,
		.is_loose = form->is_loose};
	return true;
}

size_t al_paper_find_pairs(const struct al_sentence *s, struct al_pair out[AL_MOST_PAIRS])
{
	const struct al_paper_vocabulary *v = s->vocabulary;
	size_t n = 0;

	for (size_t i = 0; i < s->n && n < AL_MOST_PAIRS; i++)
		for (size_t k = 0; k < v->n_pairs; k++)
			if (read_form(s, i, &v->pairs[k], &out[n])) {
				i = out[n++].last;
				break;
			}
	return n;
}
