/* Arithmetic in sentences, whose value is printed behind "=" or in brackets: "2 x 32 layers x 8
 * heads = 512", "4 GB + 0.75 GB, about 4.75 GB", "13/20 (65 %)", "784 heads (28 x 28)". What isn't
 * read to its end is passed over. */
#include "paper/expressions.h"

#include "paper/arithmetic.h"
#include "paper/derive.h"
#include "scenario/scenario.h"

/* No other number, name or operator is before it; "8 heads of 64 + 2" has one. */
static bool begins_here(const struct al_sentence *s, size_t i)
{
	enum { NEAR = 4 };

	if (i == 0)
		return true;
	if ((s->words[i - 1].kind > AL_WORD_SIGN && !al_sentence_is_of_name(s, i - 1))
		|| al_sentence_is(s, i - 1, ")")
		|| (al_sentence_has(s, i - 1, AL_WORDS_OPERATORS)
			&& !al_sentence_is(s, i - 1, "*")))
		return false;
	for (size_t k = 1; al_sentence_has(s, i - 1, AL_WORDS_OF) && k <= NEAR && k < i; k++)
		if (s->words[i - 1 - k].kind > AL_WORD_SIGN)
			return false;
	return !s->words[i].is_joined || al_sentence_has(s, i - 1, AL_WORDS_BEFORE_NUMBERS);
}

/* ---- what is printed of it ---- */

struct claim {
	struct al_word *printed;
	size_t end; /* the word behind it */
	bool is_about, is_marked, has_nouns; /* is_marked: by "=" or a word */
};

/* A number of which nothing else is made. */
static bool read_claim(const struct al_sentence *s, size_t i, struct claim *out)
{
	struct al_arithmetic value;

	if (!al_arithmetic_is_number(s, i)
		|| !al_arithmetic_read(s, i, (struct al_arithmetic_scales){0}, &value)
		|| value.n_operators > 0)
		return false;
	out->printed = &s->words[i];
	out->end = value.end;
	out->has_nouns = value.has_nouns;
	return true;
}

/* The place behind "=", "& ~"; `i` itself if there is none. */
static size_t skip_equals(const struct al_sentence *s, size_t i, bool *is_about)
{
	const size_t first = i + al_sentence_is(s, i, "&");
	size_t end = first;

	while (al_sentence_has(s, end, AL_WORDS_EQUALS))
		*is_about |= !al_sentence_is(s, end++, "=");
	return end > first ? end : i;
}

/* "= 512", "= 4 x 128 = 512", of which the last number is found next. */
static bool find_behind_equals(const struct al_sentence *s, size_t i, struct claim *out)
{
	struct al_arithmetic value;

	*out = (struct claim){.is_marked = true};
	for (size_t next; (next = skip_equals(s, i, &out->is_about)) > i; i = value.end) {
		if (read_claim(s, next, out))
			return true;
		if (!al_arithmetic_read(s, next, (struct al_arithmetic_scales){0}, &value))
			return false;
	}
	return false;
}

/* "... is about 512", "... for a total of 512". */
static bool find_behind_words(const struct al_sentence *s, size_t first, struct claim *out)
{
	*out = (struct claim){0};
	for (size_t i = first; i < s->n; i++) {
		if (al_arithmetic_is_number(s, i))
			return out->is_marked && read_claim(s, i, out);
		if (!al_sentence_has(s, i, AL_WORDS_TOTAL_LINKS))
			return false;
		out->is_marked |= al_sentence_has(s, i, AL_WORDS_TOTALS);
		out->is_about |= al_sentence_has(s, i, AL_WORDS_ABOUT);
	}
	return false;
}

/* "13/20 (65 %)", "(13/20, 65 %)". */
static bool find_in_brackets(const struct al_sentence *s, size_t i, bool is_in_brackets,
	struct claim *out)
{
	*out = (struct claim){0};
	return (al_sentence_is(s, i, "(")
		       || (is_in_brackets && al_sentence_is(s, i, ",") && i + 1 < s->n
			       && s->words[i + 1].kind == AL_WORD_PERCENT))
		&& read_claim(s, skip_equals(s, i + 1, &out->is_about), out)
		&& (al_sentence_is(s, out->end, ")") || al_sentence_is(s, out->end, ",")
			|| al_sentence_is(s, out->end, ";"));
}

/* "784 heads (28 x 28)", "64 KB = 2 x 32 KB", "12 samples: 4 x 3". */
static bool find_before(const struct al_sentence *s, size_t first,
	const struct al_arithmetic *value, struct claim *out)
{
	const bool is_whole = al_sentence_is(s, first, "(")
		&& al_sentence_is(s, value->last - 1, ")");
	size_t i = first;

	*out = (struct claim){0};
	if (i < 2
		|| (!is_whole && !al_sentence_is(s, i - 1, "=") && !al_sentence_is(s, i - 1, ":")
			&& !(al_sentence_is(s, i - 1, "(")
				&& (al_sentence_is(s, value->end, ")") || value->end == s->n))))
		return false;
	i -= !is_whole;
	while (i > 1 && s->words[i - 1].kind == AL_WORD_LETTERS)
		i--;
	return i > 0 && begins_here(s, i - 1) && read_claim(s, i - 1, out);
}

/* ---- judging ---- */

/* What the expression is in the unit of the number: bits are an eighth of bytes, and a number may
 * have its unit behind "=" alone. */
static size_t list_factors(const struct al_arithmetic *value, const struct al_word *printed,
	bool has_bits, double out[6])
{
	const bool is_percent = *printed->family == '%'; /* "=65.9%", too */
	size_t n = 0;

	if (is_percent && !value->has_percent) {
		out[n++] = 100;
		out[n++] = 100 * value->unit; /* "378/667 TFLOPS" */
		return n - (value->unit <= 1);
	}
	out[n++] = 1;
	if (value->has_percent)
		out[n++] = 0.01;
	if (value->unit == 0 && printed->scale > 1)
		out[n++] = printed->scale;
	if (value->unit > 1 && printed->scale == 0)
		out[n++] = 1 / value->unit;
	if (value->has_bits && !has_bits)
		out[n++] = 0.125;
	return n;
}

enum { N_READINGS = 4 };

static bool read_as(const struct al_sentence *s, size_t at, struct al_arithmetic_scales scales,
	struct al_arithmetic *out)
{
	return al_arithmetic_read(s, at, scales, out) && out->n_operators > 0 && out->low > 0;
}

/* The best verdict of all readings, and the value in it. */
static enum al_verdict compare(const struct al_sentence *s, size_t at, const struct claim *claim,
	double *right)
{
	const struct al_word *printed = claim->printed;
	enum al_verdict found = AL_INCONSISTENT;
	bool has_bits = false;
	struct al_arithmetic value;

	al_arithmetic_skip_noun(s, (size_t)(printed - s->words) + 1, &has_bits);
	for (int reading = 0; reading < N_READINGS; reading++) {
		double factors[6];
		const struct al_arithmetic_scales scales = {reading & 1, reading & 2};
		if (!read_as(s, at, scales, &value))
			continue;
		const double scale = al_arithmetic_scale(printed, scales),
			     meant = printed->value * scale;
		const double half = (printed->half_unit > 0 ? printed->half_unit : 0.5) * scale;
		const size_t n = list_factors(&value, printed, has_bits, factors);
		for (size_t i = 0; i < n; i++) {
			const double slack = half * (claim->is_about ? 3 : 1) + 1e-9 * meant;
			const double point = value.point * factors[i];
			const bool is_near = value.low * factors[i] <= meant + slack
				&& value.high * factors[i] >= meant - slack;
			const bool is_same = fabs(point - meant) <= half + 1e-9 * meant;
			/* 20412 / 80 GPUs are 256 */
			const bool is_rounded_up = al_word_is_count(printed)
				&& value.low >= value.high && point < meant && point > meant - 1;
			const bool is_close = is_near || is_rounded_up
				|| (point > meant && point < meant + 2 * half); /* cut off */
			if (is_same || is_close || reading + (int)i == 0)
				*right = point / scale;
			if (is_same)
				return AL_REPRODUCED;
			if (is_close)
				found = AL_CONSISTENT;
		}
	}
	return found;
}

/* "2 x 32768 x 28 x 4096 x 2 = 7.5 GB", of nothing that may be a part or in other formats. */
static bool is_half(const struct al_sentence *s, const struct al_arithmetic *value,
	const struct al_paper_suspect *suspect, struct al_arena *arena)
{
	enum { LEAST_OPERATORS = 3 };
	const char *cause = al_paper_find_cause(arena, suspect).name;

	return !al_sentence_has_any(s, 0, s->n, AL_WORDS_CONDITIONS) && value->n_sums == 0
		&& value->n_operators >= LEAST_OPERATORS && !value->has_nouns && value->unit == 0
		&& suspect->digits > 0 && cause && strcmp(cause, "half") == 0;
}

/* A sum is wrong if it doesn't add up, others if a digit or half a product in bytes explains it. */
static const char *find_cause(const struct al_sentence *s, const struct al_arithmetic *value,
	const struct claim *claim, const struct al_paper_suspect *suspect, struct al_arena *arena)
{
	const struct al_word *printed = claim->printed;
	const bool is_sum = value->n_sums == value->n_operators && !value->has_nouns
		&& (value->unit > 0) == (printed->scale > 0)
		&& strcmp(value->family, printed->family) == 0;

	if (!claim->is_marked || (claim->is_about && claim->has_nouns)) /* "4+4 (~15 pp)" */
		return NULL;
	if (is_sum)
		return "sum";
	if (!claim->is_about && strcmp(printed->family, "bytes") == 0
		&& is_half(s, value, suspect, arena))
		return "half";
	return !claim->is_about && al_paper_is_digit_slip(arena, suspect) ? "digit" : NULL;
}

static bool judge(const struct al_sentence *s, size_t at, const struct al_arithmetic *value,
	const struct claim *claim, struct al_paper_findings *out, struct al_lint_counts *counts)
{
	double right = 0;
	const enum al_verdict verdict = compare(s, at, claim, &right);
	struct al_word *printed = claim->printed;
	const double scale = printed->scale > 0 ? printed->scale : 1;
	const struct al_paper_suspect suspect = {.printed = al_strdup(out->arena, printed->text),
		.value = printed->value / scale,
		.right = right / scale,
		.half = 0.5 * pow(10, -printed->digits),
		.digits = printed->digits};
	const char *cause = verdict == AL_INCONSISTENT
		? find_cause(s, value, claim, &suspect, out->arena)
		: NULL;
	/* "2/4 (1 late)" */
	const bool is_vague = printed->digits == 0 && printed->scale == 0
		&& printed->kind == AL_WORD_NUMBER && suspect.value < 4
		&& fabs(suspect.right - suspect.value) > 1e-9;
	const bool is_told = (verdict == AL_REPRODUCED && !is_vague)
		|| (verdict == AL_CONSISTENT && claim->is_marked);

	if (is_told)
		al_paper_add_holding(out, counts, printed, suspect.right, verdict);
	else if (cause)
		al_paper_add_wrong(out, counts, &suspect,
			&(struct al_paper_finding){.line = printed->line,
				.expected = al_paper_expected(out->arena, suspect.right,
					suspect.digits),
				.cause = cause,
				.derivation = al_format(out->arena, "%s = %s",
					al_sentence_join(s, out->arena, at, value->end),
					al_paper_instead(out->arena, suspect.printed, suspect.right,
						suspect.digits))});
	return verdict != AL_INCONSISTENT;
}

void al_paper_read_expressions(const struct al_sentence *s, struct al_paper_findings *out,
	struct al_lint_counts *counts)
{
	for (size_t i = 0; i < s->n; i++) {
		struct al_arithmetic value;
		struct claim claim;
		if (!begins_here(s, i) || !read_as(s, i, (struct al_arithmetic_scales){0}, &value))
			continue;
		size_t end = value.last;
		while (find_behind_equals(s, end == value.last ? value.end : end, &claim)) {
			end = claim.end;
			if (!judge(s, i, &value, &claim, out, counts))
				break;
		}
		const bool is_done = end > value.last
			|| (find_in_brackets(s, value.end, al_sentence_is(s, i - 1, "("), &claim)
				&& judge(s, i, &value, &claim, out, counts))
			|| (find_before(s, i, &value, &claim)
				&& judge(s, i, &value, &claim, out, counts));
		if (!is_done && value.n_sums == value.n_operators
			&& find_behind_words(s, al_arithmetic_skip_brackets(s, value.last), &claim))
			judge(s, i, &value, &claim, out, counts);
		i = end - 1;
	}
}
