#include "paper/arithmetic.h"

#include <ctype.h>

struct scan {
	const struct al_sentence *s;
	struct al_arithmetic_scales scales;
	int depth;
};

/* ---- numbers ---- */

double al_arithmetic_scale(const struct al_word *word, struct al_arithmetic_scales scales)
{
	const bool is_of_bytes = strcmp(word->family, "bytes") == 0;
	const bool is_binary = is_of_bytes ? scales.has_binary_bytes
					   : scales.has_binary_counts && !*word->family;

	const double thousands = word->scale > 1 ? log10(word->scale) / 3 : 0;
	return is_binary && fabs(thousands - rint(thousands)) < 1e-9 ? pow(1.024, rint(thousands))
								     : 1;
}

bool al_arithmetic_is_number(const struct al_sentence *s, size_t i)
{
	return i < s->n && s->words[i].kind >= AL_WORD_NUMBER && s->words[i].value > 0;
}

size_t al_arithmetic_skip_brackets(const struct al_sentence *s, size_t i)
{
	size_t end = i + 1;

	if (!al_sentence_is(s, i, "("))
		return i;
	while (end < s->n
		&& (s->words[end].kind == AL_WORD_LETTERS || al_sentence_is(s, end, "/")
			|| (s->words[end].kind == AL_WORD_OTHER && s->words[end].is_joined
				&& end > i + 1)
			|| al_sentence_is(s, end, "+"))
		&& !al_sentence_has(s, end, AL_WORDS_TIMES))
		end++;
	return al_sentence_is(s, end, ")") ? end + 1 : i;
}

size_t al_arithmetic_skip_noun(const struct al_sentence *s, size_t i, bool *has_bits)
{
	for (size_t n = 0; i < s->n; n++) {
		const bool is_per = al_sentence_is(s, i, "/")
			&& (n > 0 || s->words[i - 1].scale > 0
				|| al_sentence_has(s, i + 1, AL_WORDS_NOUNS));
		const bool is_joint = (al_sentence_is(s, i, "-") || is_per) && s->words[i].is_joined
			&& i + 1 < s->n && s->words[i + 1].kind == AL_WORD_LETTERS;
		i += is_joint;
		if (s->words[i].kind != AL_WORD_LETTERS || al_sentence_has(s, i, AL_WORDS_OPERATORS)
			|| al_sentence_has(s, i, AL_WORDS_NOUN_ENDS))
			break;
		*has_bits |= al_sentence_has(s, i, AL_WORDS_BITS);
		i++;
	}
	return al_arithmetic_skip_brackets(s, i);
}

static bool read_number(const struct scan *c, size_t at, struct al_arithmetic *out)
{
	const struct al_word *word = &c->s->words[at];

	if (!al_arithmetic_is_number(c->s, at))
		return false;
	const double scale = al_arithmetic_scale(word, c->scales);
	*out = (struct al_arithmetic){(word->value - word->half_unit) * scale, word->value * scale,
		(word->value + word->half_unit) * scale, at + 1, at + 1,
		.unit = word->scale * scale, .family = word->family,
		.has_percent = word->kind == AL_WORD_PERCENT};
	/* "3e5", "2nd", "2(3)", but "2\\,bytes"; "59 5" is a number in two pieces */
	const struct al_word *next = at + 1 < c->s->n ? word + 1 : NULL;
	if (next && (next->kind > AL_WORD_SIGN || (next->is_joined && *next->text == '(')))
		return false;
	if (next && next->is_joined && next->kind == AL_WORD_LETTERS
		&& (strlen(next->text) < 4 || !isalpha((unsigned char)*next->text))
		&& !(next->text[1] && al_sentence_has(c->s, at + 1, AL_WORDS_NOUNS))
		&& !al_sentence_has(c->s, at + 1, AL_WORDS_OPERATORS)
		&& !al_sentence_has(c->s, at + 1, AL_WORDS_EQUALS))
		return false;
	out->end = al_arithmetic_skip_noun(c->s, at + 1, &out->has_bits);
	out->has_nouns = out->end > al_arithmetic_skip_brackets(c->s, at + 1);
	return true;
}

/* ---- expressions ---- */

static bool read_sum(struct scan *c, size_t at, struct al_arithmetic *out);

static bool read_atom(struct scan *c, size_t at, struct al_arithmetic *out)
{
	enum { MOST_DEPTH = 8 };

	if (!al_sentence_is(c->s, at, "("))
		return read_number(c, at + al_sentence_is(c->s, at, "~"), out);
	if (++c->depth > MOST_DEPTH || !read_sum(c, at + 1, out)
		|| !al_sentence_is(c->s, out->end, ")"))
		return false;
	/* "(1.6)²" */
	if (out->end + 1 < c->s->n && c->s->words[out->end + 1].is_joined
		&& (unsigned char)*c->s->words[out->end + 1].text >= 128
		&& !al_sentence_has(c->s, out->end + 1, AL_WORDS_OPERATORS))
		return false;
	out->last = out->end + 1;
	out->end = al_arithmetic_skip_noun(c->s, out->last, &out->has_bits);
	c->depth--;
	return true;
}

static bool read_power(struct scan *c, size_t at, struct al_arithmetic *out)
{
	struct al_arithmetic exponent;

	if (!read_atom(c, at, out))
		return false;
	if (!al_sentence_is(c->s, out->end, "^"))
		return true;
	if (!read_atom(c, out->end + 1, &exponent) || exponent.high > 64)
		return false;
	out->low = pow(out->low, out->low < 1 ? exponent.high : exponent.low);
	out->point = pow(out->point, exponent.point);
	out->high = pow(out->high, out->high < 1 ? exponent.low : exponent.high);
	out->last = exponent.last;
	out->end = exponent.end;
	out->has_bits |= exponent.has_bits;
	out->n_operators++;
	return true;
}

static void join(struct al_arithmetic *out, const struct al_arithmetic *other)
{
	out->last = other->last;
	out->end = other->end;
	out->n_operators += other->n_operators + 1;
	out->n_sums += other->n_sums;
	out->family = other->unit > 0 ? other->family : out->family;
	out->unit = fmax(out->unit, other->unit);
	out->has_percent |= other->has_percent;
	out->has_bits |= other->has_bits;
	out->has_nouns |= other->has_nouns;
}

static bool read_product(struct scan *c, size_t at, struct al_arithmetic *out)
{
	struct al_arithmetic factor;

	if (!read_power(c, at, out))
		return false;
	while (al_sentence_has(c->s, out->end, AL_WORDS_TIMES)
		|| al_sentence_has(c->s, out->end, AL_WORDS_DIVIDED)) {
		const bool divides = al_sentence_has(c->s, out->end, AL_WORDS_DIVIDED);
		if (!read_power(c, out->end + 1, &factor) || (divides && factor.low <= 0))
			return false;
		out->low *= divides ? 1 / factor.high : factor.low;
		out->point *= divides ? 1 / factor.point : factor.point;
		out->high *= divides ? 1 / factor.low : factor.high;
		join(out, &factor);
	}
	return true;
}

/* "8-16" is a range. */
static bool is_minus(const struct al_sentence *s, size_t i)
{
	return al_sentence_has(s, i, AL_WORDS_MINUS)
		&& !(s->words[i].is_joined && i + 1 < s->n && s->words[i + 1].is_joined);
}

static bool read_sum(struct scan *c, size_t at, struct al_arithmetic *out)
{
	struct al_arithmetic term;

	if (!read_product(c, at, out))
		return false;
	while (al_sentence_is(c->s, out->end, "+") || is_minus(c->s, out->end)) {
		const bool is_plus = al_sentence_is(c->s, out->end, "+");
		if (!read_product(c, out->end + 1, &term))
			return false;
		/* "4 + 0.75 GB": the unit is that of both */
		const double shared = out->unit == 0 && term.unit > 0 ? term.unit : 1;
		out->low = out->low * shared + (is_plus ? term.low : -term.high);
		out->point = out->point * shared + (is_plus ? term.point : -term.point);
		out->high = out->high * shared + (is_plus ? term.high : -term.low);
		join(out, &term);
		out->n_sums += is_plus;
	}
	return true;
}

bool al_arithmetic_read(const struct al_sentence *s, size_t at, struct al_arithmetic_scales scales,
	struct al_arithmetic *out)
{
	struct scan c = {.s = s, .scales = scales};

	return read_sum(&c, at, out);
}
