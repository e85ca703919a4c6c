/* Ratios and percentages of running text whose two sides are in the same sentence: "from 28.3M to
 * 8.9M, a 3.2x reduction", "37.5 % fewer (5 instead of 8)". What isn't in one of the forms below is
 * not looked at: a number elsewhere in the sentence may be of something else. */

#include "paper/expressions.h"
#include "paper/stated.h"
#include "scenario/scenario.h"

/* The old value, the new one, and their places in the sentence. */
struct pair {
	struct al_word before, after;
	size_t first, last; /* words */
	bool is_share; /* "3 out of 8": what is is a part of what was */
	bool is_loose; /* the two may be of something else than a statement next to them */
};

enum { MOST_KEPT_WORDS = 10000 };

struct reader {
	const struct al_deriving *deriving;
	struct al_paper_subjects *subjects;
	struct al_paper_findings *out;
	struct al_lint_counts *counts;
	struct al_arena words; /* of the last sentences */
	size_t n_words;
	struct al_sentence sentence;
};

#define N_OF(list) (sizeof(list) / sizeof(*(list)))

/* ---- pairs ---- */

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
	struct pair *out)
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
	*out = (struct pair){numbers[!form->is_before_first], numbers[form->is_before_first], at,
		next - 1, form->is_share, form->is_loose};
	return true;
}

static bool read_pair(const struct al_sentence *s, size_t at, struct pair *out)
{
	for (size_t i = 0; i < N_OF(forms); i++)
		if (read_form(s, at, &forms[i], out))
			return true;
	return false;
}

enum { MOST_PAIRS = 16 };

static size_t find_pairs(const struct al_sentence *s, struct pair out[MOST_PAIRS])
{
	size_t n = 0;

	for (size_t i = 0; i < s->n && n < MOST_PAIRS; i++)
		if (read_pair(s, i, &out[n]))
			i = out[n++].last;
	return n;
}

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
	enum gap found = to > from + MOST ? APART : to > from + MOST_LINKS ? OTHERS : LINKS;

	for (size_t i = from; i < to && found != APART; i++) {
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
	return found;
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

static bool is_of_same(const struct al_sentence *s, const struct pair *pair, size_t at)
{
	const char *said = quantity_behind(s, at);
	const char *behind = quantity_of(s, pair->last + 1);
	const char *before = pair->first > 0 ? quantity_of(s, pair->first - 1) : NULL;
	const bool is_from = al_sentence_is(s, pair->first, "from");
	const struct al_paper_list *of_bytes = &s->vocabulary->words[AL_WORDS_OF_BYTES];

	if (!said || said == behind || said == before)
		return true;
	if (strcmp(pair->before.family, "bytes") == 0
		&& al_find_name(said, (const char *const *)of_bytes->items, of_bytes->n) >= 0)
		return true;
	/* "4x fewer parameters: 1,000 instead of 4,000" */
	return !is_from && !behind && !before;
}

/* "(5 vs. 13 GB)": a ratio in front of it is of these. */
static bool is_in_brackets(const struct al_sentence *s, const struct pair *pair)
{
	const size_t about = pair->first > 0 && al_sentence_is(s, pair->first - 1, "~");

	return al_sentence_is(s, pair->first - about - 1, "(");
}

/* A statement is of a pair in front of it, or in brackets behind it; one of time is of times or
 * rates alone. */
static enum gap find_gap(const struct al_sentence *s, const struct pair *pair, size_t at)
{
	const bool is_of_time = al_sentence_has(s, at + 1, AL_WORDS_OF_TIME);
	const bool has_brackets = pair->is_loose && is_in_brackets(s, pair);

	if ((is_of_time && strcmp(pair->before.family, "s") != 0 && !has_brackets)
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

/* Then it is counted where it holds, and called wrong for a single digit alone. */
static bool is_said_loosely(const struct al_sentence *s, const struct pair *pair, size_t at)
{
	const bool has_unit = pair->before.scale > 0 && pair->after.scale > 0;
	const bool is_sure = !pair->is_loose
		|| (has_unit && is_in_brackets(s, pair) && s->words[at].kind == AL_WORD_TIMES);

	return !is_sure || find_gap(s, pair, at) != LINKS || pair->before.kind != AL_WORD_NUMBER
		|| al_sentence_has(s, at + 1, AL_WORDS_OF_TIME);
}

static bool has_near(const struct al_sentence *s, size_t at, size_t reach, enum al_paper_words list)
{
	const size_t from = at > reach ? at - reach : 0;

	for (size_t i = from; i < s->n && i <= at + reach; i++)
		if (i != at && al_sentence_has(s, i, list))
			return true;
	return false;
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

/* How many times the smaller the larger is; or by how many hundredths of what was it fell or
 * rose. */
static struct range relation_of(const struct pair *pair, enum al_word_kind kind)
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

static double point_of(const struct pair *pair, enum al_word_kind kind)
{
	const double before = pair->before.value, after = pair->after.value;

	if (kind == AL_WORD_TIMES)
		return fmax(before, after) / fmin(before, after);
	return 100 * (pair->is_share ? after : fabs(after - before)) / before;
}

static const char points[] = "points", cut_off[] = "truncation"; /* causes */

static void add(struct reader *r, const struct pair *pair, const struct al_word *said,
	enum al_verdict verdict, const char *but)
{
	const bool is_wrong = verdict == AL_INCONSISTENT;

	al_paper_findings_add(r->out,
		(struct al_paper_finding){.line = said->line,
			.printed = al_strdup(r->out->arena, said->text),
			.expected = al_format(r->out->arena, "%.*f", said->digits + 1,
				point_of(pair, said->kind)),
			.verdict = al_verdict_names[verdict],
			.cause = verdict == AL_CONSISTENT && *but ? but : NULL,
			.note = is_wrong
				? al_format(r->out->arena, "%s and %s in the same sentence%s",
					pair->before.text, pair->after.text, but)
				: but == points	 ? "holds as percentage points"
				: but == cut_off ? "cut off, not rounded"
						 : NULL});
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

/* A statement that may be of something else. Which of the two is the old value is open; a single
 * digit shows nothing unless it is exact. */
static void judge_loosely(struct reader *r, const struct pair *pair, size_t at)
{
	const struct al_word *said = &r->sentence.words[at];
	const struct pair swapped = {pair->after, pair->before, pair->first, pair->last, false,
		true};
	const int direction = direction_at(&r->sentence, at);
	const double half = said->half_unit > 0 ? said->half_unit : 0.5;
	const bool is_near = find_gap(&r->sentence, pair, at) <= UNITS;

	for (int i = 0; i < (pair->is_share ? 1 : 2); i++) {
		const struct pair *p = i ? &swapped : pair;
		const double point = point_of(p, said->kind), off = fabs(said->value - point);
		const struct range found = relation_of(p, said->kind);
		const int found_direction = p->after.value < p->before.value ? -1 : 1;
		if (said->kind == AL_WORD_PERCENT && !p->is_share
			&& direction * found_direction < 0)
			continue;
		if (significant_digits(said) < 2 && (off > 0.02 * point || !is_near))
			continue;
		if (off <= half * (1 + 1e-9))
			add(r, p, said, AL_REPRODUCED, "");
		else if (is_near && found.low <= said->value + half
			&& found.high >= said->value - half && found.high - found.low < 0.2 * point)
			add(r, p, said, AL_CONSISTENT, "");
		else if (is_near && i == 0
			&& al_paper_is_digit_slip(r->out->arena,
				&(struct al_paper_suspect){.printed = said->text,
					.value = said->value,
					.right = point,
					.half = said->half_unit,
					.digits = said->digits}))
			add(r, p, said, AL_INCONSISTENT, "");
		else
			continue;
		return;
	}
}

static void judge(struct reader *r, const struct pair *pair, size_t at)
{
	const struct al_sentence *s = &r->sentence;
	const struct al_word *said = &s->words[at];
	const bool falls = pair->after.value < pair->before.value;
	const bool is_falling = has_near(s, at, 3, AL_WORDS_FALLING),
		   is_rising = has_near(s, at, 3, AL_WORDS_RISING);
	const double slack = 1e-9 * fmax(1, said->value); /* of the arithmetic in double */
	const double rounding = said->half_unit * (has_near(s, at, 2, AL_WORDS_ABOUT) ? 3 : 1);
	const struct range found = relation_of(pair, said->kind);
	const double point = point_of(pair, said->kind);

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
		add(r, pair, said, AL_CONSISTENT, points);
	else if (is_directed && is_falling != falls)
		add(r, pair, said, AL_INCONSISTENT, falls ? ": it falls" : ": it rises");
	else if (fabs(said->value - point) <= said->half_unit + slack)
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

/* Nothing can be divided by what may have been rounded from zero. */
static bool can_divide(const struct pair *pair)
{
	return range_of(&pair->before).low > 0 && range_of(&pair->after).low > 0
		&& strcmp(pair->before.family, pair->after.family) == 0;
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

static bool has_direction(const struct al_sentence *s, size_t at)
{
	return al_sentence_has(s, at, AL_WORDS_FALLING) || al_sentence_has(s, at, AL_WORDS_RISING);
}

/* "from 4 to 2 and from 8 to 2, a 2x reduction" could be of either. */
static bool has_neighbor(const struct al_sentence *s, const struct pair *pairs, size_t n, size_t i)
{
	return (i > 0 && are_links(s, pairs[i - 1].last + 1, pairs[i].first))
		|| (i + 1 < n && are_links(s, pairs[i].last + 1, pairs[i + 1].first));
}

static void read_relation(struct reader *r, const struct pair *pairs, size_t n_pairs, size_t at)
{
	const struct al_sentence *s = &r->sentence;
	size_t n = 0, found = 0;
	enum gap best = APART;

	/* "3 3 %", "9 . 7 %" */
	if (at > 0 && (s->words[at - 1].kind > AL_WORD_SIGN || al_sentence_is(s, at - 1, ".")))
		return;

	for (size_t i = 0; i < n_pairs; i++) {
		const enum gap gap = find_gap(s, &pairs[i], at);
		if (gap == APART || gap > best || !is_of_same(s, &pairs[i], at))
			continue;
		n = gap < best ? 1 : n + 1;
		found = i;
		best = gap;
	}
	if (n != 1 || has_neighbor(s, pairs, n_pairs, found) || !can_divide(&pairs[found]))
		return;
	(is_said_loosely(s, &pairs[found], at) ? judge_loosely : judge)(r, &pairs[found], at);
}

static void read_sentence(struct reader *r)
{
	struct al_sentence *s = &r->sentence;
	struct pair pairs[MOST_PAIRS];

	al_paper_read_expressions(s, r->out, r->counts);
	al_paper_read_stated(s, r->deriving, r->subjects);
	al_paper_read_sizes(s, r->deriving, r->subjects);
	for (size_t i = 0; i < s->n; i++)
		if (has_direction(s, i + 1))
			read_fraction(s, i);
	const size_t n_pairs = find_pairs(s, pairs);
	for (size_t i = 0; n_pairs > 0 && i < s->n; i++)
		if (s->words[i].kind == AL_WORD_PERCENT || s->words[i].kind == AL_WORD_TIMES)
			read_relation(r, pairs, n_pairs, i);
	r->n_words += s->n;
	s->n = 0;
	if (r->n_words < MOST_KEPT_WORDS)
		return;
	al_arena_finish(&r->words);
	al_arena_init(&r->words);
	r->sentence = (struct al_sentence){.vocabulary = s->vocabulary};
	r->n_words = 0;
}

/* "- 4 GB", "3. ...", "# ...", "\\item". */
static bool begins_item(const struct al_paper *paper, const struct al_paper_line *line)
{
	static const char item[] = "\\item";
	size_t i = 0;

	while (i < line->length && strchr(" \t>", line->text[i]))
		i++;
	const char *text = line->text + i;
	const size_t left = line->length - i, n = al_number_length(text);
	if (paper->kind == AL_PAPER_TEX)
		return left >= strlen(item) && memcmp(text, item, strlen(item)) == 0;
	return (left > 1 && strchr("-*+#", text[0]) && strchr(" #", text[1]))
		|| (n > 0 && left > n + 1 && strchr(".)", text[n]) && text[n + 1] == ' ');
}

/* A sentence ends at a table, at an empty line and at a list's item, too. */
static void read_line(struct reader *r, const struct al_paper_line *line, size_t number,
	struct al_arena *plain)
{
	const char *text = al_paper_plain(plain, line->text, line->length);
	const char *rest = text;

	if (line->is_of_table || (!*text && !line->is_part)) {
		read_sentence(r);
		return;
	}
	if (begins_item(r->deriving->paper, line))
		read_sentence(r);
	while (al_sentence_add_line(&r->sentence, &r->words, text, number, &rest))
		read_sentence(r);
}

void al_paper_read_relations(const struct al_deriving *deriving, struct al_paper_subjects *subjects)
{
	const struct al_paper *paper = deriving->paper;
	struct reader r = {.deriving = deriving,
		.subjects = subjects,
		.sentence.vocabulary = &subjects->vocabulary,
		.out = deriving->out,
		.counts = deriving->counts};

	al_arena_init(&r.words);
	for (size_t i = 0; i < paper->n_lines; i++) {
		AL_ARENA(plain);
		read_line(&r, &paper->lines[i], i + 1, &plain);
	}
	read_sentence(&r);
	al_arena_finish(&r.words);
}
