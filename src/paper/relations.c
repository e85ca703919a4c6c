/* Ratios and percentages of running text whose two sides are in the same sentence: "from 28.3M to
 * 8.9M, a 3.2x reduction", "37.5 % fewer (5 instead of 8)". What isn't said of a pair of numbers
 * next to it is not looked at: a number elsewhere may be of something else. */
#include "paper/relations.h"

#include "paper/derive.h"
#include "paper/relating.h"
#include "scenario/scenario.h"

/* ---- arithmetic ---- */

struct range {
	double low, high;
};

static struct range range_of(const struct al_word *word)
{
	return (struct range){word->value - word->half_unit, word->value + word->half_unit};
}

static struct range quotient(struct range a, struct range b)
{
	return (struct range){a.low / b.high, a.high / b.low};
}

/* Nothing can be divided by what may have been rounded from zero. */
static bool can_divide(const struct al_pair *pair)
{
	return range_of(&pair->before).low > 0 && range_of(&pair->after).low > 0
		&& strcmp(pair->before.family, pair->after.family) == 0;
}

/* How many times the smaller the larger is; or by how many hundredths of what was it fell or
 * rose. */
static struct range relation_of(const struct al_pair *pair, enum al_word_kind kind)
{
	const struct range before = range_of(&pair->before), after = range_of(&pair->after);
	const bool falls = pair->after.value < pair->before.value;

	if (kind == AL_WORD_TIMES)
		return falls ? quotient(before, after) : quotient(after, before);
	const struct range share = quotient(after, before);
	if (pair->is_share)
		return (struct range){100 * share.low, 100 * share.high};
	return falls ? (struct range){100 * (1 - share.high), 100 * (1 - share.low)}
		     : (struct range){100 * (share.low - 1), 100 * (share.high - 1)};
}

double al_relating_point(const struct al_pair *pair, const struct al_word *said)
{
	const double before = pair->before.value, after = pair->after.value;

	switch (said->kind) {
	case AL_WORD_TIMES:
		return fmax(before, after) / fmin(before, after);
	case AL_WORD_PERCENT:
		return 100 * (pair->is_share ? after : fabs(after - before)) / before;
	default:
		return fabs(after - before)
			/ (said->scale > 0			? said->scale
					: pair->after.scale > 0 ? pair->after.scale
								: 1);
	}
}

/* "1 - 9.1 / 12.4 = 26.6%" */
static const char *derivation_of(const struct al_pair *pair, const struct al_word *said,
	struct al_arena *arena)
{
	const bool falls = pair->after.value < pair->before.value;
	const bool is_ratio = said->kind == AL_WORD_TIMES;
	const bool is_change = !is_ratio && !pair->is_share;
	const struct al_word *above = is_ratio && falls ? &pair->before : &pair->after;
	const struct al_word *below = is_ratio && falls ? &pair->after : &pair->before;

	return al_format(arena, "%s%s / %s%s = %.*f%s", is_change && falls ? "1 - " : "",
		above->text, below->text, is_change && !falls ? " - 1" : "", said->digits + 1,
		al_relating_point(pair, said), is_ratio ? "" : " %");
}

/* ---- judging ---- */

static const char points[] = "points", cut_off[] = "truncation"; /* causes */

static bool holds_elsewhere(struct al_relating *r, const struct al_word *said);

void al_relating_add(struct al_relating *r, const struct al_pair *pair, const struct al_word *said,
	enum al_verdict verdict, const char *but)
{
	struct al_arena *arena = r->out->arena;
	const double right = al_relating_point(pair, said);

	if (verdict == AL_INCONSISTENT && holds_elsewhere(r, said))
		return;
	const struct al_paper_suspect suspect = {.printed = al_strdup(arena, said->text),
		.value = said->value,
		.right = right,
		.half = said->half_unit,
		.digits = said->digits};
	struct al_paper_finding found = {.line = said->line,
		.printed = suspect.printed,
		.expected = al_paper_expected(arena, right, said->digits),
		.verdict = al_verdict_names[verdict],
		.cause = verdict == AL_CONSISTENT && *but ? but : NULL,
		.note = but == points	 ? "holds as percentage points"
			: but == cut_off ? "cut off, not rounded"
			: *but		 ? al_format(arena, "erratum? it %s", but)
					 : NULL};

	if (verdict == AL_INCONSISTENT)
		found.derivation = derivation_of(pair, said, arena);
	if (verdict == AL_INCONSISTENT && !*but) {
		al_paper_add_wrong(r->out, r->counts, &suspect, &found);
		return;
	}
	al_paper_findings_add(r->out, found);
	r->counts->verdicts[verdict]++;
	r->counts->numbers++;
}

/* The verdict on one of the two ways to read a pair; "": it may be of something else. */
static const char *compare_loosely(struct al_relating *r, const struct al_pair *pair, size_t at,
	enum al_verdict *out)
{
	const struct al_word *said = &r->s->words[at];
	const double point = al_relating_point(pair, said), off = fabs(said->value - point);
	const double half = said->half_unit > 0 ? said->half_unit : 0.5;
	const struct range found = relation_of(pair, said->kind);
	const int direction = pair->after.value < pair->before.value ? -1 : 1;
	const bool is_near = al_statement_gap(r->s, pair, at) <= AL_GAP_UNITS;
	const bool is_change = said->kind == AL_WORD_PERCENT && !pair->is_share;
	const bool is_of_percent = is_change && pair->before.kind == AL_WORD_PERCENT;

	/* "-6 % (5.57 to 5.21)" */
	const bool is_explicit = is_near && al_pair_is_in_brackets(r->s, pair) && is_change
		&& al_statement_direction(r->s, at) != 0;

	*out = AL_UNDERIVABLE;
	/* "at 50 % eviction (40 % vs. 60 %)" */
	if ((is_of_percent && al_statement_direction(r->s, at) == 0
		    && !al_statement_is_telling(said))
		|| (is_change && al_statement_direction(r->s, at) * direction < 0)
		|| (al_significant_digits(said) < 2 && !is_explicit
			&& (off > 0.02 * point || !is_near)))
		return "";
	if (off <= half * (1 + 1e-9))
		*out = AL_REPRODUCED;
	else if (pair->is_far)
		return "";
	else if (is_near && found.low <= said->value + half && found.high >= said->value - half
		&& found.high - found.low < 0.2 * point)
		*out = AL_CONSISTENT;
	else if ((is_near || al_statement_has_sign(r->s, at, "+")
			 || al_statement_has_sign(r->s, at, "-"))
		&& is_of_percent && said->digits > 0
		&& fabs(fabs(pair->after.value - pair->before.value) - said->value)
			< half * (1 + 1e-9)) {
		*out = AL_CONSISTENT;
		return points;
	}
	return "";
}

static bool is_slip(struct al_relating *r, const struct al_pair *pair, size_t at)
{
	const struct al_word *said = &r->s->words[at];
	const bool is_change = said->kind == AL_WORD_PERCENT && !pair->is_share;
	const int direction = pair->after.value < pair->before.value ? -1 : 1;

	return !pair->is_far && al_statement_gap(r->s, pair, at) <= AL_GAP_UNITS
		&& al_significant_digits(said) >= 2
		&& (!is_change || al_statement_direction(r->s, at) * direction >= 0)
		&& al_paper_is_digit_slip(r->out->arena,
			&(struct al_paper_suspect){.printed = said->text,
				.value = said->value,
				.right = al_relating_point(pair, said),
				.half = said->half_unit,
				.digits = said->digits});
}

/* Does the statement hold of any pair of the sentence? Then it is of that one. */
static bool holds_elsewhere(struct al_relating *r, const struct al_word *said)
{
	const size_t at = (size_t)(said - r->s->words);
	enum al_verdict verdict;

	for (size_t i = 0; i < r->n_pairs[AL_PAIRS_NEAR] + r->n_pairs[AL_PAIRS_FAR]; i++) {
		const struct al_pair *pair = i < r->n_pairs[AL_PAIRS_NEAR]
			? &r->pairs[AL_PAIRS_NEAR][i]
			: &r->pairs[AL_PAIRS_FAR][i - r->n_pairs[AL_PAIRS_NEAR]];
		if (!can_divide(pair))
			continue;
		(void)compare_loosely(r, pair, at, &verdict);
		if (verdict == AL_UNDERIVABLE)
			continue;
		if (al_statement_is_telling(said))
			al_relating_add(r, pair, said, verdict, "");
		return true;
	}
	return false;
}

/* A statement that may be of something else. Which of the two is the old value is open; a single
 * digit shows nothing unless it is exact. */
static bool judge_loosely(struct al_relating *r, const struct al_pair *pair, size_t at)
{
	struct al_pair swapped = *pair;
	enum al_verdict verdict;

	swapped.before = pair->after;
	swapped.after = pair->before;
	for (int i = 0; i < (pair->is_share ? 1 : 2); i++) {
		const char *but = compare_loosely(r, i ? &swapped : pair, at, &verdict);
		if (verdict == AL_UNDERIVABLE)
			continue;
		al_relating_add(r, i ? &swapped : pair, &r->s->words[at], verdict, but);
		return true;
	}
	if (is_slip(r, pair, at))
		al_relating_add(r, pair, &r->s->words[at], AL_INCONSISTENT, "");
	return false;
}

static void judge(struct al_relating *r, const struct al_pair *pair, size_t at)
{
	const struct al_sentence *s = r->s;
	const struct al_word *said = &s->words[at];
	const bool falls = pair->after.value < pair->before.value;
	const bool is_falling = al_sentence_has_near(s, at, 3, AL_WORDS_FALLING),
		   is_rising = al_sentence_has_near(s, at, 3, AL_WORDS_RISING);
	const double slack = 1e-9 * fmax(1, said->value); /* of the arithmetic in double */
	const double rounding = said->half_unit
		* (al_sentence_has_near(s, at, 2, AL_WORDS_ABOUT) ? 3 : 1);
	const struct range found = relation_of(pair, said->kind);
	const double point = al_relating_point(pair, said);

	const bool is_directed = said->kind == AL_WORD_PERCENT && !pair->is_share;

	if (is_directed && is_falling == is_rising) {
		(void)judge_loosely(r, pair, at);
		return;
	}
	const double change = fabs(pair->after.value - pair->before.value);
	const double rounding_of_pair = pair->before.half_unit + pair->after.half_unit;
	const bool is_points = is_directed && pair->before.scale == 0 && pair->after.scale == 0
		&& pair->before.digits > 0
		&& fabs(said->value - change) <= said->half_unit + rounding_of_pair + slack;

	if (is_points && is_falling == falls
		&& (found.high < said->value - rounding || found.low > said->value + rounding))
		al_relating_add(r, pair, said, AL_CONSISTENT, points);
	else if (is_directed && is_falling != falls) {
		if (found.low <= said->value + rounding && found.high >= said->value - rounding)
			al_relating_add(r, pair, said, AL_INCONSISTENT, falls ? "falls" : "rises");
	} else if (fabs(said->value - point) <= said->half_unit + slack)
		al_relating_add(r, pair, said, AL_REPRODUCED, "");
	else if (point > said->value && point < said->value + 2 * said->half_unit - slack)
		al_relating_add(r, pair, said, AL_CONSISTENT, cut_off);
	else
		al_relating_add(r, pair, said,
			found.high < said->value - rounding - slack
					|| found.low > said->value + rounding + slack
				? AL_INCONSISTENT
				: AL_CONSISTENT,
			"");
}

/* "from 4 to 2 and from 8 to 2, a 2x reduction" could be of either. */
static bool has_neighbor(const struct al_sentence *s, const struct al_pair *pairs, size_t n,
	size_t i)
{
	return (i > 0 && al_gap_between(s, pairs[i - 1].last + 1, pairs[i].first) <= AL_GAP_UNITS)
		|| (i + 1 < n
			&& al_gap_between(s, pairs[i].last + 1, pairs[i + 1].first)
				<= AL_GAP_UNITS);
}

/* Judges the statement by the only pair that it is nearest to; false: it is next to none, and is
 * in none. */
static bool read_relation(struct al_relating *r, size_t at)
{
	const struct al_sentence *s = r->s;
	const struct al_pair *pairs = r->pairs[AL_PAIRS_NEAR];
	const size_t n_pairs = r->n_pairs[AL_PAIRS_NEAR];
	size_t n = 0, found = 0;
	enum al_gap best = AL_GAP_APART;
	bool is_of_pair = false;

	for (size_t i = 0; i < n_pairs; i++) {
		const enum al_gap gap = al_statement_gap(s, &pairs[i], at);
		is_of_pair |= at >= pairs[i].first && at <= pairs[i].last;
		if (gap == AL_GAP_APART || gap > best || !al_statement_is_of_same(s, &pairs[i], at))
			continue;
		n = gap < best ? 1 : n + 1;
		found = i;
		best = gap;
	}
	if (n != 1 || has_neighbor(s, pairs, n_pairs, found) || !can_divide(&pairs[found]))
		return n > 0 || is_of_pair;
	if (al_statement_is_loose(s, &pairs[found], at))
		(void)judge_loosely(r, &pairs[found], at);
	else
		judge(r, &pairs[found], at);
	return true;
}

/* Of pairs far from each other the first counts of which the statement holds. */
static bool read_far(struct al_relating *r, size_t at)
{
	const struct al_pair *pairs = r->pairs[AL_PAIRS_FAR];
	const size_t n_pairs = r->n_pairs[AL_PAIRS_FAR];
	const struct al_word *said = &r->s->words[at];
	const bool tells = al_statement_is_telling(said);

	for (size_t i = 0; i < n_pairs; i++) {
		const enum al_gap gap = al_statement_gap(r->s, &pairs[i], at);
		const bool is_near = pairs[i].is_joined && gap <= AL_GAP_UNITS
			&& (al_significant_digits(said) >= 2
				|| al_pair_is_in_brackets(r->s, &pairs[i]));
		if (gap != AL_GAP_APART && (tells || is_near)
			&& al_statement_is_of_same(r->s, &pairs[i], at) && can_divide(&pairs[i])
			&& judge_loosely(r, &pairs[i], at))
			return true;
	}
	return false;
}

/* "3 3 %", "9 . 7 %" */
static bool is_in_pieces(const struct al_sentence *s, size_t at)
{
	return at > 0 && (s->words[at - 1].kind > AL_WORD_SIGN || al_sentence_is(s, at - 1, "."));
}

void al_paper_read_relations(struct al_sentence *sentence, struct al_paper_findings *out,
	struct al_lint_counts *counts)
{
	struct al_relating r = {.s = sentence, .out = out, .counts = counts};

	al_paper_read_fractions(sentence);
	for (int k = AL_PAIRS_NEAR; k <= AL_PAIRS_FAR; k++)
		r.n_pairs[k] = al_paper_find_pairs(sentence, k == AL_PAIRS_FAR, r.pairs[k]);
	for (size_t i = 0; i < sentence->n; i++) {
		const enum al_word_kind kind = sentence->words[i].kind;
		const bool is_relation = kind == AL_WORD_PERCENT || kind == AL_WORD_TIMES;
		if (is_relation && !is_in_pieces(sentence, i) && !read_relation(&r, i)
			&& !read_far(&r, i))
			al_paper_read_restated(&r, i);
		else if (!is_relation)
			al_paper_read_difference(&r, i);
	}
}
