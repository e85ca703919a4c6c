/* Ratios and percentages of running text whose two sides are in the same sentence: "from 28.3M to
 * 8.9M, a 3.2x reduction", "37.5 % fewer (5 instead of 8)". What isn't said of a pair of numbers
 * next to it is not looked at: a number elsewhere may be of something else. */
#include "paper/relations.h"

#include "paper/derive.h"
#include "paper/pairs.h"
#include "scenario/scenario.h"

enum { NEAR, FAR };

struct relations {
	struct al_sentence *s;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
	struct al_pair pairs[2][AL_MOST_PAIRS]; /* near to each other, far from each other */
	size_t n_pairs[2];
};

#define N_OF(list) (sizeof(list) / sizeof(*(list)))

/* ---- the statement about them ---- */

/* What is between a pair and the statement about it. */
enum gap {
	LINKS,
	UNITS, /* links and units: "tokens" */
	OTHERS, /* words of any kind, no other quantity */
	APART,
};

static enum gap gap_of(const struct al_sentence *s, size_t from, size_t to)
{
	enum { MOST_LINKS = 6, MOST = 10 };
	enum gap found = LINKS;
	size_t n = 0;

	for (size_t i = from; i < to && found != APART; i++) {
		const size_t aside = al_sentence_aside(s, i);
		if (aside > 0 && aside < to) { /* "(ctx=256)" */
			found = OTHERS;
			i = aside;
			continue;
		}
		if (++n > MOST)
			return APART;
		const bool is_setting = i > from
			&& (al_sentence_is(s, i - 1, "at") || s->words[i].is_joined)
			&& !al_sentence_is(s, i - 1, "(");
		const enum gap gap = al_sentence_has(s, i, AL_WORDS_LINKS) ? LINKS
			: al_sentence_has(s, i, AL_WORDS_UNITS)		   ? UNITS
			: s->words[i].kind <= AL_WORD_SIGN
				|| (is_setting && s->words[i].kind != AL_WORD_PERCENT)
			? OTHERS
			: APART;
		found = gap > found ? gap : found;
	}
	return n > MOST_LINKS && found < OTHERS ? OTHERS : found;
}

static bool are_links(const struct al_sentence *s, size_t from, size_t to)
{
	return gap_of(s, from, to) <= UNITS;
}

/* The quantity that a word names, or NULL. A ratio of it doesn't judge a pair of another one. */
static const char *quantity_of(const struct al_sentence *s, size_t at)
{
	if (at >= s->n || s->words[at].kind != AL_WORD_LETTERS)
		return NULL;
	const struct al_paper_list *known = &s->vocabulary->words[AL_WORDS_QUANTITIES];
	for (size_t i = 0; i < known->n; i++) {
		const size_t n = strlen(known->items[i]);
		const char *rest = s->words[at].text + n;
		if (strncmp(s->words[at].text, known->items[i], n) == 0
			&& (!*rest || strcmp(rest, "s") == 0))
			return known->items[i];
	}
	return NULL;
}

/* "4x the parameters", "60 % fewer parameters". */
static const char *quantity_behind(const struct al_sentence *s, size_t at)
{
	enum { MOST = 4 };

	for (size_t i = at + 1; i < s->n && i <= at + MOST; i++) {
		if (s->words[i].kind != AL_WORD_LETTERS)
			return NULL;
		if (quantity_of(s, i))
			return quantity_of(s, i);
	}
	return NULL;
}

static bool is_of_same(const struct al_sentence *s, const struct al_pair *pair, size_t at)
{
	const char *said = quantity_behind(s, at);
	const char *behind = quantity_of(s, pair->last + 1);
	const char *before = pair->first > 0 ? quantity_of(s, pair->first - 1) : NULL;
	const bool is_from = al_sentence_is(s, pair->first, "from");
	const struct al_paper_list *of_bytes = &s->vocabulary->words[AL_WORDS_OF_BYTES];

	if (!said || said == behind || said == before)
		return true;
	const bool has_bytes = strcmp(pair->before.family, "bytes") == 0
		|| (behind && strcmp(behind, "byte") == 0);
	if (has_bytes && al_find_name(said, (const char *const *)of_bytes->items, of_bytes->n) >= 0)
		return true;
	/* "4x fewer parameters: 1,000 instead of 4,000" */
	return !is_from && !behind && !before;
}

/* "(5 vs. 13 GB)": a ratio in front of it is of these. */
static bool is_in_brackets(const struct al_sentence *s, const struct al_pair *pair)
{
	static const char *const passed[] = {"~", ",", "e", "g", "i", "."};
	size_t i = pair->first;

	while (i > 0 && s->words[i - 1].kind <= AL_WORD_SIGN
		&& al_find_name(s->words[i - 1].text, passed, N_OF(passed)) >= 0)
		i--;
	return i > 0 && al_sentence_is(s, i - 1, "(");
}

/* A statement is of a pair in front of it, or in brackets behind it; one of time is of times or
 * rates alone. */
static enum gap find_gap(const struct al_sentence *s, const struct al_pair *pair, size_t at)
{
	if (pair->said > 0)
		return pair->said == at ? LINKS : APART;
	const bool is_of_time = al_sentence_has(s, at + 1, AL_WORDS_OF_TIME);
	const bool has_brackets = pair->is_loose && is_in_brackets(s, pair);

	if ((is_of_time && !pair->is_of_time && !has_brackets)
		|| (at >= pair->first && at <= pair->last)
		|| (pair->is_loose && at < pair->first && !has_brackets))
		return APART;
	if (at > pair->last)
		return gap_of(s, pair->last + 1, at);
	/* "the last 10%: from 2 to 1.8" */
	const enum gap gap = gap_of(s, at + 1, pair->first);
	for (size_t i = at + 1; i < pair->first && gap == OTHERS; i++)
		if (al_sentence_is(s, i, ":") || al_sentence_is(s, i, ","))
			return APART;
	return gap;
}

static bool has_direction(const struct al_sentence *s, size_t at)
{
	return al_sentence_has(s, at, AL_WORDS_FALLING) || al_sentence_has(s, at, AL_WORDS_RISING);
}

/* "a 73 % reduction in 1 - x", "4x of its size" */
static bool has_object(const struct al_sentence *s, size_t at)
{
	const size_t next = at + 1 + has_direction(s, at + 1);

	return al_sentence_is(s, next, "in") || al_sentence_is(s, next, "of");
}

/* Then it is counted where it holds, and called wrong for a single digit alone. */
static bool is_said_loosely(const struct al_sentence *s, const struct al_pair *pair, size_t at)
{
	const bool has_unit = pair->before.scale > 0 && pair->after.scale > 0;

	/* "drops 4x from 256 to 2048 tokens": what drops is something else */
	const bool is_told = pair->first > 0 && al_sentence_is(s, pair->first - 1, ":");
	if (!pair->is_share && (has_object(s, at) || (at < pair->first && !has_unit && !is_told)))
		return true;
	const bool is_sure = !pair->is_loose
		|| (has_unit && is_in_brackets(s, pair) && s->words[at].kind == AL_WORD_TIMES);

	return !is_sure || find_gap(s, pair, at) != LINKS || pair->before.kind != AL_WORD_NUMBER
		|| al_sentence_has(s, at + 1, AL_WORDS_OF_TIME);
}

static bool has_near(const struct al_sentence *s, size_t at, size_t reach, enum al_paper_words list)
{
	return al_sentence_has_any(s, at > reach ? at - reach : 0, at + reach + 1, list);
}

/* ---- judging ---- */

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

static double point_of(const struct al_pair *pair, const struct al_word *said)
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
		point_of(pair, said), is_ratio ? "" : " %");
}

static const char points[] = "points", cut_off[] = "truncation"; /* causes */

static bool holds_elsewhere(struct relations *r, const struct al_word *said);

static void add(struct relations *r, const struct al_pair *pair, const struct al_word *said,
	enum al_verdict verdict, const char *but)
{
	struct al_arena *arena = r->out->arena;
	const double right = point_of(pair, said);

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

/* "+0.1%", "-26.6%": has it this sign? */
static bool has_sign(const struct al_sentence *s, size_t at, const char *sign)
{
	return at > 0 && s->words[at].is_joined && strcmp(s->words[at - 1].text, sign) == 0;
}

/* -1: it falls, 1: it rises, 0: unknown. */
static int direction_at(const struct al_sentence *s, size_t at)
{
	const bool falls = has_near(s, at, 3, AL_WORDS_FALLING) || has_sign(s, at, "-")
		|| has_sign(s, at, "\u2212");
	const bool rises = has_near(s, at, 3, AL_WORDS_RISING) || has_sign(s, at, "+");

	return rises - falls;
}

static int significant_digits(const struct al_word *word)
{
	return (int)floor(log10(fmax(word->value, 1e-9))) + 1 + word->digits;
}

/* Zeros at the end of "20x" and "100 %" tell nothing. */
static bool is_telling(const struct al_word *word)
{
	double value = word->value;
	int digits = significant_digits(word);

	for (; word->digits == 0 && digits > 1 && fmod(value, 10) == 0; value /= 10)
		digits--;
	return digits >= 2;
}

/* The verdict on one of the two ways to read a pair; "": it may be of something else. */
static const char *compare_loosely(struct relations *r, const struct al_pair *pair, size_t at,
	enum al_verdict *out)
{
	const struct al_word *said = &r->s->words[at];
	const double point = point_of(pair, said), off = fabs(said->value - point);
	const double half = said->half_unit > 0 ? said->half_unit : 0.5;
	const struct range found = relation_of(pair, said->kind);
	const int direction = pair->after.value < pair->before.value ? -1 : 1;
	const bool is_near = find_gap(r->s, pair, at) <= UNITS;
	const bool is_change = said->kind == AL_WORD_PERCENT && !pair->is_share;
	const bool is_of_percent = is_change && pair->before.kind == AL_WORD_PERCENT;

	/* "-6 % (5.57 to 5.21)" */
	const bool is_explicit = is_near && is_in_brackets(r->s, pair) && is_change
		&& direction_at(r->s, at) != 0;

	*out = AL_UNDERIVABLE;
	/* "at 50 % eviction (40 % vs. 60 %)" */
	if ((is_of_percent && direction_at(r->s, at) == 0 && !is_telling(said))
		|| (is_change && direction_at(r->s, at) * direction < 0)
		|| (significant_digits(said) < 2 && !is_explicit
			&& (off > 0.02 * point || !is_near)))
		return "";
	if (off <= half * (1 + 1e-9))
		*out = AL_REPRODUCED;
	else if (pair->is_far)
		return "";
	else if (is_near && found.low <= said->value + half && found.high >= said->value - half
		&& found.high - found.low < 0.2 * point)
		*out = AL_CONSISTENT;
	else if ((is_near || has_sign(r->s, at, "+") || has_sign(r->s, at, "-")) && is_of_percent
		&& said->digits > 0
		&& fabs(fabs(pair->after.value - pair->before.value) - said->value)
			< half * (1 + 1e-9)) {
		*out = AL_CONSISTENT;
		return points;
	}
	return "";
}

static bool is_slip(struct relations *r, const struct al_pair *pair, size_t at)
{
	const struct al_word *said = &r->s->words[at];
	const bool is_change = said->kind == AL_WORD_PERCENT && !pair->is_share;
	const int direction = pair->after.value < pair->before.value ? -1 : 1;

	return !pair->is_far && find_gap(r->s, pair, at) <= UNITS && significant_digits(said) >= 2
		&& (!is_change || direction_at(r->s, at) * direction >= 0)
		&& al_paper_is_digit_slip(r->out->arena,
			&(struct al_paper_suspect){.printed = said->text,
				.value = said->value,
				.right = point_of(pair, said),
				.half = said->half_unit,
				.digits = said->digits});
}

/* Does the statement hold of any pair of the sentence? Then it is of that one. */
static bool holds_elsewhere(struct relations *r, const struct al_word *said)
{
	const size_t at = (size_t)(said - r->s->words);
	enum al_verdict verdict;

	for (size_t i = 0; i < r->n_pairs[NEAR] + r->n_pairs[FAR]; i++) {
		const struct al_pair *pair = i < r->n_pairs[NEAR]
			? &r->pairs[NEAR][i]
			: &r->pairs[FAR][i - r->n_pairs[NEAR]];
		if (!can_divide(pair))
			continue;
		(void)compare_loosely(r, pair, at, &verdict);
		if (verdict == AL_UNDERIVABLE)
			continue;
		if (is_telling(said))
			add(r, pair, said, verdict, "");
		return true;
	}
	return false;
}

/* A statement that may be of something else. Which of the two is the old value is open; a single
 * digit shows nothing unless it is exact. */
static bool judge_loosely(struct relations *r, const struct al_pair *pair, size_t at)
{
	struct al_pair swapped = *pair;
	enum al_verdict verdict;

	swapped.before = pair->after;
	swapped.after = pair->before;
	for (int i = 0; i < (pair->is_share ? 1 : 2); i++) {
		const char *but = compare_loosely(r, i ? &swapped : pair, at, &verdict);
		if (verdict == AL_UNDERIVABLE)
			continue;
		add(r, i ? &swapped : pair, &r->s->words[at], verdict, but);
		return true;
	}
	if (is_slip(r, pair, at))
		add(r, pair, &r->s->words[at], AL_INCONSISTENT, "");
	return false;
}

static void judge(struct relations *r, const struct al_pair *pair, size_t at)
{
	const struct al_sentence *s = r->s;
	const struct al_word *said = &s->words[at];
	const bool falls = pair->after.value < pair->before.value;
	const bool is_falling = has_near(s, at, 3, AL_WORDS_FALLING),
		   is_rising = has_near(s, at, 3, AL_WORDS_RISING);
	const double slack = 1e-9 * fmax(1, said->value); /* of the arithmetic in double */
	const double rounding = said->half_unit * (has_near(s, at, 2, AL_WORDS_ABOUT) ? 3 : 1);
	const struct range found = relation_of(pair, said->kind);
	const double point = point_of(pair, said);

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
		add(r, pair, said, AL_CONSISTENT, points);
	else if (is_directed && is_falling != falls) {
		if (found.low <= said->value + rounding && found.high >= said->value - rounding)
			add(r, pair, said, AL_INCONSISTENT, falls ? "falls" : "rises");
	} else if (fabs(said->value - point) <= said->half_unit + slack)
		add(r, pair, said, AL_REPRODUCED, "");
	else if (point > said->value && point < said->value + 2 * said->half_unit - slack)
		add(r, pair, said, AL_CONSISTENT, cut_off);
	else
		add(r, pair, said,
			found.high < said->value - rounding - slack
					|| found.low > said->value + rounding + slack
				? AL_INCONSISTENT
				: AL_CONSISTENT,
			"");
}

/* "a quarter fewer" is a percentage; a fraction p/q in words is what is nearer to it than
 * 1/(2 q^2). */
static void read_fraction(struct al_sentence *s, size_t at)
{
	static const struct {
		const char *count, *name;
		double p, q;
	} fractions[] = {{NULL, "half", 1, 2}, {"a", "third", 1, 3}, {"one", "third", 1, 3},
		{"two", "thirds", 2, 3}, {"a", "quarter", 1, 4}, {"one", "quarter", 1, 4},
		{"three", "quarters", 3, 4}};
	struct al_word *word = &s->words[at];

	for (size_t i = 0; i < N_OF(fractions); i++) {
		const char *count = fractions[i].count;
		if (!al_sentence_is(s, at, fractions[i].name)
			|| (count && (at == 0 || strcmp(s->words[at - 1].text, count) != 0)))
			continue;
		*word = (struct al_word){.kind = AL_WORD_PERCENT,
			.text = word->text,
			.line = word->line,
			.value = 100 * fractions[i].p / fractions[i].q,
			.half_unit = 50 / (fractions[i].q * fractions[i].q)};
		return;
	}
}

/* "from 4 to 2 and from 8 to 2, a 2x reduction" could be of either. */
static bool has_neighbor(const struct al_sentence *s, const struct al_pair *pairs, size_t n,
	size_t i)
{
	return (i > 0 && are_links(s, pairs[i - 1].last + 1, pairs[i].first))
		|| (i + 1 < n && are_links(s, pairs[i].last + 1, pairs[i + 1].first));
}

/* Judges the statement by the only pair that it is nearest to; false: it is next to none, and is
 * in none. */
static bool read_relation(struct relations *r, size_t at)
{
	const struct al_sentence *s = r->s;
	const struct al_pair *pairs = r->pairs[NEAR];
	const size_t n_pairs = r->n_pairs[NEAR];
	size_t n = 0, found = 0;
	enum gap best = APART;
	bool is_of_pair = false;

	for (size_t i = 0; i < n_pairs; i++) {
		const enum gap gap = find_gap(s, &pairs[i], at);
		is_of_pair |= at >= pairs[i].first && at <= pairs[i].last;
		if (gap == APART || gap > best || !is_of_same(s, &pairs[i], at))
			continue;
		n = gap < best ? 1 : n + 1;
		found = i;
		best = gap;
	}
	if (n != 1 || has_neighbor(s, pairs, n_pairs, found) || !can_divide(&pairs[found]))
		return n > 0 || is_of_pair;
	if (is_said_loosely(s, &pairs[found], at))
		(void)judge_loosely(r, &pairs[found], at);
	else
		judge(r, &pairs[found], at);
	return true;
}

/* Of pairs far from each other the first counts of which the statement holds. */
static bool read_far(struct relations *r, size_t at)
{
	const struct al_pair *pairs = r->pairs[FAR];
	const size_t n_pairs = r->n_pairs[FAR];
	const struct al_word *said = &r->s->words[at];
	const bool tells = is_telling(said);

	for (size_t i = 0; i < n_pairs; i++) {
		const enum gap gap = find_gap(r->s, &pairs[i], at);
		const bool is_near = pairs[i].is_joined && gap <= UNITS
			&& (significant_digits(said) >= 2 || is_in_brackets(r->s, &pairs[i]));
		if (gap != APART && (tells || is_near) && is_of_same(r->s, &pairs[i], at)
			&& can_divide(&pairs[i]) && judge_loosely(r, &pairs[i], at))
			return true;
	}
	return false;
}

/* "+0.07", "12.9 GB less": a number that may be a difference. */
static bool is_difference(const struct al_sentence *s, size_t at)
{
	const struct al_word *word = &s->words[at];
	const bool is_signed = has_sign(s, at, "+") || has_sign(s, at, "-")
		|| has_sign(s, at, "\u2212");
	const bool is_alone = at + 1 == s->n || !s->words[at + 1].is_joined
		|| (s->words[at + 1].kind == AL_WORD_SIGN && !al_sentence_is(s, at + 1, "/"));

	return is_alone && word->value > 0 && (word->digits > 0 || is_telling(word))
		&& (word->kind == AL_WORD_NUMBER || word->kind == AL_WORD_OTHER)
		&& (is_signed
			|| (word->kind == AL_WORD_NUMBER
				&& (has_near(s, at, 2, AL_WORDS_FALLING)
					|| has_near(s, at, 2, AL_WORDS_RISING)
					|| has_near(s, at, 2, AL_WORDS_GAPS))));
}

/* "(7.81 vs 7.74, +0.07)"; it counts where it holds to its last digit. */
static bool read_difference(struct relations *r, size_t at, int which)
{
	const struct al_pair *pairs = r->pairs[which];
	const size_t n_pairs = r->n_pairs[which];
	const struct al_word *said = &r->s->words[at];
	const double value = said->value / (said->scale > 0 ? said->scale : 1);
	const double half = 0.5 * pow(10, -said->digits) * (1 + 1e-9);

	for (size_t i = 0; i < n_pairs; i++) {
		const struct al_pair *p = &pairs[i];
		if (p->said > 0 || p->is_share || p->before.kind != AL_WORD_NUMBER
			|| find_gap(r->s, p, at)
				> (has_near(r->s, at, 2, AL_WORDS_GAPS) ? OTHERS : UNITS)
			|| (*said->family && strcmp(said->family, p->after.family) != 0)
			|| fabs(point_of(p, said) - value) > half
			|| direction_at(r->s, at) * (p->after.value - p->before.value) < 0)
			continue;
		add(r, p, said, AL_REPRODUCED, "");
		return true;
	}
	return false;
}

static bool add_restated(struct relations *r, size_t at, double right)
{
	const struct al_word *said = &r->s->words[at];

	if (fabs(said->value - right) > said->half_unit * (1 + 1e-9))
		return false;
	al_paper_findings_add(r->out,
		(struct al_paper_finding){.line = said->line,
			.printed = al_strdup(r->out->arena, said->text),
			.expected = al_paper_expected(r->out->arena, right, said->digits),
			.verdict = al_verdict_names[AL_REPRODUCED]});
	r->counts->verdicts[AL_REPRODUCED]++;
	r->counts->numbers++;
	return true;
}

/* "a ratio of 1.027 (2.7 %)" */
static bool read_factor_as_percent(struct relations *r, size_t at)
{
	const struct al_sentence *s = r->s;
	const struct al_word *said = &s->words[at], *factor = &s->words[at > 2 ? at - 2 : 0];

	return at > 2 && said->kind == AL_WORD_PERCENT && al_sentence_is(s, at - 1, "(")
		&& (factor->kind == AL_WORD_TIMES
			|| (factor->kind == AL_WORD_NUMBER && factor->scale == 0))
		&& factor->digits >= said->digits + 2 && fabs(factor->value - 1) < 1
		&& add_restated(r, at, 100 * fabs(factor->value - 1));
}

/* "5-bit (3.2x)", "at 3 bits it shrinks 5.3x": of 16 bits, or of 32. */
static bool read_bits_as_factor(struct relations *r, size_t at)
{
	enum { MOST = 10 };
	const struct al_sentence *s = r->s;

	for (size_t i = at; i-- > 2 && i + MOST > at && s->words[i].kind < AL_WORD_PERCENT;) {
		const size_t count = i - 1 - al_sentence_is(s, i - 1, "-");
		const double bits = s->words[count].value;
		if (!al_sentence_is(s, i, "bit") && !al_sentence_is(s, i, "bits"))
			continue;
		const bool is_next = (i + 2 == at && al_sentence_is(s, i + 1, "("))
			|| al_sentence_is(s, at + 1, "compression")
			|| al_sentence_is(s, at + 2, "compression");
		return s->words[at].kind == AL_WORD_TIMES && s->words[count].kind >= AL_WORD_NUMBER
			&& bits >= 1 && bits <= 16 && (is_next || is_telling(&s->words[at]))
			&& (add_restated(r, at, 16 / bits) || add_restated(r, at, 32 / bits));
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
	struct relations r = {.s = sentence, .out = out, .counts = counts};

	for (size_t i = 0; i < sentence->n; i++)
		if (has_direction(sentence, i + 1))
			read_fraction(sentence, i);
	for (int k = NEAR; k <= FAR; k++)
		r.n_pairs[k] = al_paper_find_pairs(sentence, k == FAR, r.pairs[k]);
	for (size_t i = 0; i < sentence->n; i++) {
		const enum al_word_kind kind = sentence->words[i].kind;
		const bool is_relation = kind == AL_WORD_PERCENT || kind == AL_WORD_TIMES;
		if (is_relation && !is_in_pieces(sentence, i) && !read_relation(&r, i)
			&& !read_far(&r, i) && !read_factor_as_percent(&r, i))
			(void)read_bits_as_factor(&r, i);
		else if (!is_relation && is_difference(sentence, i)
			&& !read_difference(&r, i, NEAR))
			read_difference(&r, i, FAR);
	}
}
