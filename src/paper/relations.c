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

/* How many times the smaller the larger is, or of a factor below 1 the inverse; or by how many
 * hundredths of what was it fell or rose. */
static struct range relation_of(const struct al_pair *pair, const struct al_word *said)
{
	const struct range before = range_of(&pair->before), after = range_of(&pair->after);
	const bool falls = pair->after.value < pair->before.value;

	if (said->kind == AL_WORD_TIMES)
		return falls == (said->value >= 1) ? quotient(before, after)
						   : quotient(after, before);
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
		return said->value < 1 ? fmin(before, after) / fmax(before, after)
				       : fmax(before, after) / fmin(before, after);
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
	const bool is_back = is_ratio && falls == (said->value >= 1);
	const struct al_word *above = is_back ? &pair->before : &pair->after;
	const struct al_word *below = is_back ? &pair->after : &pair->before;

	return al_format(arena, "%s%s / %s%s = %.*f%s", is_change && falls ? "1 - " : "",
		above->text, below->text, is_change && !falls ? " - 1" : "", said->digits + 1,
		al_relating_point(pair, said), is_ratio ? "" : " %");
}

/* ---- judging ---- */

static const char points[] = "points", cut_off[] = "truncation"; /* causes */

/* Is a statement that is wrong of its pair right of another one? */
static bool holds_elsewhere(struct al_relating *r, const struct al_pair *pair,
	const struct al_word *said)
{
	if (al_paper_read_nearby(r, (size_t)(said - r->s->words)))
		return true;
	for (size_t i = 0; i < r->n_pairs; i++)
		if (r->pairs[i].first != pair->first && can_divide(&r->pairs[i])
			&& al_paper_rounds_to(al_relating_point(&r->pairs[i], said), said->value,
				said->half_unit))
			return true;
	return false;
}

static bool is_same(const struct al_pair *a, const struct al_pair *b)
{
	return a->before.value == b->before.value && a->after.value == b->after.value;
}

void al_relating_add(struct al_relating *r, const struct al_pair *pair, const struct al_word *said,
	enum al_verdict verdict, const char *but)
{
	struct al_arena *arena = r->out->arena;
	const double right = al_relating_point(pair, said);

	if (verdict == AL_INCONSISTENT
		&& (pair->told >> said->kind & 1 || holds_elsewhere(r, pair, said)))
		return;
	for (size_t i = 0; i < r->n_pairs; i++)
		if (verdict != AL_INCONSISTENT && is_same(&r->pairs[i], pair))
			r->pairs[i].told |= 1u << said->kind;
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
		.note = strcmp(but, points) == 0    ? "holds as percentage points"
			: strcmp(but, cut_off) == 0 ? "cut off, not rounded"
			: *but			    ? al_format(arena, "erratum? it %s", but)
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

static bool is_slip(struct al_relating *r, const struct al_pair *pair, size_t at)
{
	const struct al_word *said = &r->s->words[at];
	const bool is_change = said->kind == AL_WORD_PERCENT && !pair->is_share;
	const int direction = pair->after.value < pair->before.value ? -1 : 1;

	return al_statement_gap(r->s, pair, at) <= AL_GAP_UNITS && al_significant_digits(said) >= 2
		&& (!is_change || al_statement_direction(r->s, at) * direction >= 0)
		&& al_paper_is_digit_slip(r->out->arena,
			&(struct al_paper_suspect){.printed = said->text,
				.value = said->value,
				.right = al_relating_point(pair, said),
				.half = said->half_unit,
				.digits = said->digits});
}

/* A statement that may be of something else: wrong by a slip of one digit. */
static void judge_loosely(struct al_relating *r, const struct al_pair *pair, size_t at)
{
	if (!al_paper_read_nearby(r, at) && is_slip(r, pair, at))
		al_relating_add(r, pair, &r->s->words[at], AL_INCONSISTENT, "");
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
	const struct range found = relation_of(pair, said);
	const double point = al_relating_point(pair, said);

	const bool is_directed = said->kind == AL_WORD_PERCENT && !pair->is_share;

	if (is_directed && is_falling == is_rising) {
		judge_loosely(r, pair, at);
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

/* Judges the statement by the only pair that it is nearest to; false: it is next to none. */
static bool read_relation(struct al_relating *r, size_t at)
{
	const struct al_sentence *s = r->s;
	const struct al_pair *pairs = r->pairs;
	const size_t n_pairs = r->n_pairs;
	size_t n = 0, found = 0;
	enum al_gap best = AL_GAP_APART;

	for (size_t i = 0; i < n_pairs; i++) {
		const enum al_gap gap = al_statement_gap(s, &pairs[i], at);
		if (gap == AL_GAP_APART || gap > best || !al_statement_is_of_same(s, &pairs[i], at))
			continue;
		n = gap < best ? 1 : n + 1;
		found = i;
		best = gap;
	}
	if (n != 1 || has_neighbor(s, pairs, n_pairs, found) || !can_divide(&pairs[found]))
		return n > 0;
	if (al_statement_is_loose(s, &pairs[found], at))
		judge_loosely(r, &pairs[found], at);
	else
		judge(r, &pairs[found], at);
	return true;
}

/* "3 3 %", "9 . 7 %", but not "S1 77.1 %" */
static bool is_in_pieces(const struct al_sentence *s, size_t at)
{
	return at > 0
		&& ((s->words[at - 1].kind > AL_WORD_SIGN && !al_sentence_is_of_name(s, at - 1))
			|| al_sentence_is(s, at - 1, "."));
}

void al_paper_read_relations(struct al_sentence *sentence, const struct al_operands *operands,
	struct al_paper_findings *out, struct al_lint_counts *counts)
{
	struct al_relating r = {sentence, out, counts, operands, .n_pairs = 0};

	al_paper_read_fractions(sentence);
	r.n_pairs = al_paper_find_pairs(sentence, r.pairs);
	for (size_t i = 0; i < sentence->n; i++) {
		const enum al_word_kind kind = sentence->words[i].kind;
		const bool is_relation = kind == AL_WORD_PERCENT || kind == AL_WORD_TIMES;
		const size_t n = counts->numbers;
		if (sentence->words[i].is_judged)
			continue;
		if (is_relation
			&& (is_in_pieces(sentence, i)
				|| (!read_relation(&r, i) && al_paper_read_restated(&r, i))))
			continue;
		if (counts->numbers == n)
			(void)(al_paper_read_nearby(&r, i) || al_paper_read_rate(&r, i));
	}
}
