/* Sums whose terms and total are in one sentence: "4 GB + 0.75 GB + 1.5 GB, about 6.25 GB". Between
 * two terms there may be a remark in brackets, and nothing else. */
#include "paper/lint.h"
#include "scenario/scenario.h"

struct sum {
	double low, high, value; /* in the unit of the last term */
	size_t n, last; /* terms; the last one's place */
	size_t n_units; /* terms that have one */
	const char *family;
};

static bool is_sign(const struct al_sentence *s, size_t i, const char *text)
{
	return i < s->n && s->words[i].kind == AL_WORD_SIGN && strcmp(s->words[i].text, text) == 0;
}

static bool is_one_of(const struct al_sentence *s, size_t i, const char *const *list, size_t n)
{
	return i < s->n && (s->words[i].kind == AL_WORD_LETTERS || s->words[i].kind == AL_WORD_SIGN)
		&& al_find_name(s->words[i].text, list, n) >= 0;
}

/* Behind "(weights)", or where it would begin. */
static size_t skip_remark(const struct al_sentence *s, size_t i)
{
	enum { MOST = 8 };
	size_t end = i + 1;

	if (!is_sign(s, i, "("))
		return i;
	while (end < s->n && end < i + MOST && s->words[end].kind == AL_WORD_LETTERS)
		end++;
	return is_sign(s, end, ")") ? end + 1 : i;
}

/* A factor, a range or a name before the first term would make it another number. */
static bool begins_alone(const struct al_sentence *s, size_t i)
{
	static const char *const operators[] = {"+", "-", "*", "/", "^", "x", "of", "=", "<", ">"};

	return i == 0
		|| (s->words[i - 1].kind <= AL_WORD_SIGN
			&& !is_one_of(s, i - 1, operators, sizeof(operators) / sizeof(*operators)));
}

static void add_term(struct sum *sum, const struct al_word *word, size_t at)
{
	sum->low += word->value - word->half_unit;
	sum->high += word->value + word->half_unit;
	sum->value += word->value;
	sum->n_units += word->scale > 0;
	sum->family = word->family;
	sum->n++;
	sum->last = at;
}

/* Of "4 + 0.75 GB" the last unit is that of all terms. */
static bool share_unit(const struct al_sentence *s, size_t first, struct sum *sum)
{
	const struct al_word *last = &s->words[sum->last];
	const bool is_shared = sum->n_units == 1 && last->scale > 0;

	for (size_t i = first; i < sum->last; i++) {
		const struct al_word *word = &s->words[i];
		if (word->kind != AL_WORD_NUMBER)
			continue;
		const double half = 0.5 * pow(10, -word->digits) * last->scale;
		if (!is_shared
			&& (strcmp(word->family, last->family) != 0
				|| (word->scale > 0) != (last->scale > 0)))
			return false;
		if (!is_shared)
			continue;
		sum->low += word->value * (last->scale - 1) + word->half_unit - half;
		sum->high += word->value * (last->scale - 1) - word->half_unit + half;
		sum->value += word->value * (last->scale - 1);
	}
	return true;
}

static bool read_terms(const struct al_sentence *s, size_t at, struct sum *out)
{
	*out = (struct sum){0};
	if (s->words[at].kind != AL_WORD_NUMBER || !begins_alone(s, at))
		return false;
	add_term(out, &s->words[at], at);
	for (size_t plus = skip_remark(s, at + 1); is_sign(s, plus, "+");
		plus = skip_remark(s, out->last + 1)) {
		if (plus + 1 >= s->n || s->words[plus + 1].kind != AL_WORD_NUMBER)
			return false;
		add_term(out, &s->words[plus + 1], plus + 1);
	}
	return out->n >= 2 && share_unit(s, at, out);
}

/* The total behind "=", "is about", "for a total of"; NULL: there is none, or it is a term of
 * something else. */
static const struct al_word *find_total(const struct al_sentence *s, const struct sum *sum,
	bool *is_about)
{
	static const char *const links[] = {"=", "~", ",", "(", "is", "are", "equals", "which",
		"that", "for", "a", "total", "totals", "totalling", "of", "sum", "sums", "to",
		"together", "approximately", "about", "roughly", "around", "or", "i", "e", ".", ":",
		"gives", "giving", "in", "all"};
	static const char *const marks[] = {"=", "~", "total", "totals", "totalling", "together",
		"sum", "sums", "equals", "approximately", "about", "roughly", "gives", "giving"};
	static const char *const about[] = {"~", "approximately", "about", "roughly", "around"};
	static const char *const operators[] = {"+", "-", "*", "/", "x", "^"};
	enum { MOST = 8 };
	const size_t first = skip_remark(s, sum->last + 1);
	bool is_marked = false;

	for (size_t i = first; i < s->n && i < first + MOST; i++) {
		if (s->words[i].kind == AL_WORD_NUMBER)
			return is_marked && !is_one_of(s, i + 1, operators, 6) ? &s->words[i]
									       : NULL;
		if (!is_one_of(s, i, links, sizeof(links) / sizeof(*links)))
			return NULL;
		is_marked |= is_one_of(s, i, marks, sizeof(marks) / sizeof(*marks));
		*is_about |= is_one_of(s, i, about, sizeof(about) / sizeof(*about));
	}
	return NULL;
}

static void judge(const struct sum *sum, const struct al_word *total, bool is_about,
	struct al_paper_findings *out, struct al_lint_counts *counts)
{
	const double scale = total->scale > 0 ? total->scale : 1;
	const double unit = total->half_unit > 0 ? total->half_unit : 0.5 * scale;
	const double slack = unit * (is_about ? 3 : 1) + 1e-9 * total->value;
	const bool is_exact = fabs(sum->value - total->value) <= unit;
	const enum al_verdict verdict = is_exact ? AL_REPRODUCED
		: sum->high < total->value - slack || sum->low > total->value + slack
		? AL_INCONSISTENT
		: AL_CONSISTENT;

	al_paper_findings_add(out,
		(struct al_paper_finding){.line = total->line,
			.printed = al_strdup(out->arena, total->text),
			.expected = al_format(out->arena, "%.*f", total->digits + 1,
				sum->value / scale),
			.verdict = al_verdict_names[verdict],
			.cause = verdict == AL_INCONSISTENT ? "sum" : NULL,
			.note = verdict == AL_INCONSISTENT ? al_format(out->arena,
					"the sum of the %zu terms before it", sum->n)
							   : NULL});
	counts->verdicts[verdict]++;
	counts->numbers++;
}

void al_paper_read_sums(const struct al_sentence *sentence, struct al_paper_findings *out,
	struct al_lint_counts *counts)
{
	for (size_t i = 0; i < sentence->n; i++) {
		struct sum sum;
		bool is_about = false;
		if (!read_terms(sentence, i, &sum))
			continue;
		const struct al_word *total = find_total(sentence, &sum, &is_about);
		const bool has_unit = total && total->scale > 0;
		if (total && strcmp(total->family, sum.family) == 0
			&& has_unit == (sum.n_units > 0))
			judge(&sum, total, is_about, out, counts);
		i = sum.last;
	}
}
