/* Counts that are made of other counts of their sentence: "13 tasks (8 of one kind and 5 of
 * another)", "500 problems with three seeds (1,500 runs in total)". */
#include "paper/derive.h"
#include "paper/relations.h"
#include "paper/statement.h"
#include "scenario/scenario.h"

static bool is_count(const struct al_word *word)
{
	return al_word_is_count(word) && word->value >= 2;
}

/* "128 threads", "36-item", not "4, 8, 16" and "84--90" */
static bool is_named(const struct al_sentence *s, size_t at)
{
	const size_t next = at + 1 + al_sentence_is(s, at + 1, "-");

	return is_count(&s->words[at]) && next < s->n && s->words[next].kind == AL_WORD_LETTERS
		&& !al_sentence_has(s, next, AL_WORDS_LISTED);
}

struct counts {
	double sum, product;
	size_t n;
};

/* Adds the count there, if there is one: numbers of names are none. False: another number. */
static bool add_count(struct counts *all, const struct al_sentence *s, size_t at)
{
	const struct al_word *word = &s->words[at];
	const bool is_number = word->kind > AL_WORD_SIGN
		&& (word->kind != AL_WORD_OTHER || !word->is_joined);

	if (!is_number || !is_named(s, at))
		return !is_number;
	all->sum += word->value;
	all->product *= word->value;
	return ++all->n;
}

/* "13 tasks (8 ... and 5 ...)", "256 (128 threads, 2 elements each)", "153 runs comprise 135 ...
 * plus 18 ...": up to a bracket, or where the counts have made it. */
static bool is_of_parts(const struct al_sentence *s, size_t at)
{
	enum { MOST = 40, LEAST = 100 };
	const double value = s->words[at].value;
	const bool has_each = al_sentence_has_any(s, at, s->n, AL_WORDS_ALTOGETHER);
	const bool is_sure = value >= LEAST && is_named(s, at);
	bool is_next = true;

	for (size_t from = at + 1; from < s->n && from < at + MOST; from++) {
		bool is_end = !al_sentence_has(s, from, AL_WORDS_MADE_OF);
		struct counts all = {.product = 1};
		for (size_t i = from;
			!is_end && i < from + MOST && i < s->n && add_count(&all, s, i); i++) {
			is_end = al_sentence_is(s, i + 1, ")");
			if ((is_sure || (is_end && is_next)) && all.n > 1
				&& (all.sum == value || (has_each && all.product == value)))
				return true;
		}
		is_next &= s->words[from].kind == AL_WORD_LETTERS;
	}
	return false;
}

/* "500 problems with three seeds (1,500 runs in total)" */
static bool is_total(const struct al_sentence *s, size_t at)
{
	enum { NEAR = 3 };
	const double value = s->words[at].value;
	struct counts all = {.product = 1};

	if (!al_sentence_has_near(s, at, NEAR, AL_WORDS_ALTOGETHER))
		return false;
	for (size_t i = at; i-- > 0 && add_count(&all, s, i);)
		if (all.n > 1 && (all.sum == value || all.product == value))
			return true;
	return false;
}

/* "4.2 GB of weights and 1.3 GB of cache, 5.5 GB in total" */
static bool is_sum(const struct al_sentence *s, size_t at)
{
	enum { NEAR = 3 };
	const struct al_word *said = &s->words[at];
	double sum = 0, half = INFINITY;
	size_t n = 0;

	if (said->kind != AL_WORD_NUMBER || said->scale <= 0
		|| !al_sentence_has_near(s, at, NEAR, AL_WORDS_ALTOGETHER))
		return false;
	for (size_t i = at; i-- > 0;) {
		const struct al_word *word = &s->words[i];
		if (word->kind != AL_WORD_NUMBER || strcmp(word->family, said->family) != 0)
			continue;
		sum += word->value;
		half = fmin(half, word->half_unit);
		if (++n > 1 && al_paper_rounds_to(sum, said->value, half))
			return true;
	}
	return false;
}

/* "62.4, 58.1 and 71.3 (63.9 on average)" */
static bool is_mean(const struct al_sentence *s, size_t at)
{
	enum { NEAR = 3, LEAST_DIGITS = 3 };
	const struct al_word *said = &s->words[at];
	double sum = 0;
	size_t n = 0;

	if ((said->kind != AL_WORD_NUMBER && said->kind != AL_WORD_PERCENT)
		|| al_significant_digits(said) < LEAST_DIGITS
		|| !al_sentence_has_near(s, at, NEAR, AL_WORDS_AVERAGES))
		return false;
	for (size_t i = at; i-- > 0;) {
		const struct al_word *word = &s->words[i];
		if (word->kind <= AL_WORD_SIGN)
			continue;
		if (word->kind != said->kind || word->digits != said->digits
			|| strcmp(word->family, said->family) != 0)
			return false;
		sum += word->value;
		if (++n > 1 && al_paper_rounds_to(sum / (double)n, said->value, said->half_unit))
			return true;
	}
	return false;
}

/* "1,986 annotations ...: 1,540 questions and 446 others", "1,024 samples at 13 temperatures,
 * 13,312 passes": of any two counts, if so many digits wouldn't be theirs by chance; but not "128,
 * 256, 384". */
static bool is_of_two(const struct al_sentence *s, size_t at)
{
	enum { MOST = 40 };
	static const double most_chance = 0.03, least_part = 0.03;
	const double value = s->words[at].value;
	double digits = value;
	size_t places[2 * MOST], n = 0;

	while (fmod(digits, 10) == 0)
		digits /= 10;
	for (size_t i = at > MOST ? at - MOST : 0; i < s->n && i < at + MOST; i++)
		if (i != at && is_named(s, i) && s->words[i].value != value)
			places[n++] = i;
	if (!is_named(s, at) || (double)(n * (n - 1)) > most_chance * digits)
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			const double a = s->words[places[i]].value, b = s->words[places[k]].value;
			const bool is_sum = a + b == value && fmin(a, b) > least_part * value
				&& fmax(a, b) != 2 * fmin(a, b);
			if (is_sum || (a * b == value && fmod(log2(value), 1) != 0))
				return true;
		}
	return false;
}

/* "59.3 % linear / 40.7 % softmax", "the remaining 30 %"; two that are compared are no parts. */
static bool is_rest(const struct al_sentence *s, size_t at)
{
	enum { NEAR = 2 };
	const bool is_named = al_sentence_has_near(s, at, NEAR, AL_WORDS_RESTS);
	double left = 100 - s->words[at].value;
	int digits = s->words[at].digits;

	if (s->words[at].kind != AL_WORD_PERCENT)
		return false;
	for (size_t i = at; i-- > 0 && left > 0;) {
		if (al_sentence_has(s, i, AL_WORDS_VERSUS) || al_sentence_is(s, i, "to"))
			return false;
		if (s->words[i].kind != AL_WORD_PERCENT)
			continue;
		left -= s->words[i].value;
		digits += s->words[i].digits;
		if (fabs(left) < 1e-6)
			return is_named || digits > 0;
	}
	return false;
}

void al_paper_read_counts(const struct al_sentence *s, struct al_paper_findings *out,
	struct al_lint_counts *counts)
{
	enum { LEAST = 10 };

	for (size_t i = 0; i < s->n; i++)
		if (!s->words[i].is_judged
			&& (is_rest(s, i) || is_sum(s, i) || is_mean(s, i)
				|| (is_count(&s->words[i]) && s->words[i].value >= LEAST
					&& !al_sentence_is(s, i - 1, "=")
					&& (is_of_parts(s, i) || is_total(s, i)
						|| is_of_two(s, i)))))
			al_paper_add_holding(out, counts, &s->words[i],
				s->words[i].value / fmax(s->words[i].scale, 1), AL_REPRODUCED);
}
