/* Statements that no form of a pair explains: of any two quantities of one unit near them, in the
 * sentence or the paragraph before it. The nearest two count of which a statement holds to its last
 * digit, unless as near ones are so many that chance would do. */
#include "paper/relating.h"
#include "scenario/scenario.h"

/* ---- what a statement may mean ---- */

enum meaning { FACTOR, FALL, RISE, SHARE, DIFFERENCE, POINTS, N_MEANINGS };

/* "a gap of 0.6", "the gap between the two is 0.6" */
static bool is_gap(const struct al_sentence *s, size_t at)
{
	enum { NEAR = 2 };
	const bool is_told = al_sentence_is(s, at - 1, "is") || al_sentence_is(s, at - 1, "of");

	return al_sentence_has_near(s, at, NEAR, AL_WORDS_GAPS)
		|| (is_told && al_sentence_has_any(s, 0, at, AL_WORDS_GAPS));
}

/* "delta = 0.38" */
static bool is_delta(const struct al_sentence *s, size_t at)
{
	return al_sentence_is(s, at - 1, "=") && al_sentence_has(s, at - 2, AL_WORDS_GAPS);
}

/* "+4.0 points", "4.0 BLEU points", "a 4.0-point gain" */
static bool is_in_points(const struct al_sentence *s, size_t at)
{
	const bool has_name = at + 1 < s->n
		&& (s->words[at + 1].kind == AL_WORD_LETTERS
			|| (al_sentence_is(s, at + 1, "-") && s->words[at].digits > 0));

	return al_sentence_has(s, at + 1, AL_WORDS_POINTS)
		|| (has_name && al_sentence_has(s, at + 2, AL_WORDS_POINTS));
}

/* "+0.07", "12.9 GB less": a number that may be a difference. */
static bool is_difference(const struct al_sentence *s, size_t at)
{
	const struct al_word *word = &s->words[at];
	/* "GPT-4.1", "1.84--1.86" */
	const bool is_of_name = at > 1 && s->words[at - 1].is_joined
		&& (s->words[at - 2].kind == AL_WORD_LETTERS || al_sentence_is(s, at - 2, "-"));
	const bool is_signed = !is_of_name && al_statement_sign(s, at) != 0;
	const bool is_alone = at + 1 == s->n || !s->words[at + 1].is_joined
		|| (s->words[at + 1].kind == AL_WORD_SIGN && !al_sentence_is(s, at + 1, "/"))
		|| is_in_points(s, at);

	/* "[0.562, 0.809]" */
	const bool is_interval = al_sentence_is(s, at - 1, "[") || al_sentence_is(s, at + 1, "]");

	return is_alone && !is_interval && word->value > 0
		&& (word->digits > 0 || al_statement_is_telling(word) || is_in_points(s, at))
		&& (is_signed || is_delta(s, at)
			|| (word->kind == AL_WORD_NUMBER
				&& (al_statement_direction(s, at) != 0 || is_in_points(s, at)
					|| al_sentence_is(s, at - 1, "by") || is_gap(s, at)
					|| al_sentence_has(s, at + 1, AL_WORDS_COMPARING))));
}

/* "620 (84.2 %)", "8 layers (25 %)", "12 tool calls (25 %)", but not "position 1 (20 %)" */
static bool is_of_count(const struct al_sentence *s, size_t at)
{
	enum { LEAST = 10 };
	size_t n = 0;

	if (at < 3 || !al_sentence_is(s, at - 1, "("))
		return false;
	while (n + 2 < at && s->words[at - 2 - n].kind == AL_WORD_LETTERS)
		n++;
	const struct al_word *of = &s->words[at - 2 - n];
	return al_word_is_count(of) && (n > 0 || of->value >= LEAST);
}

static unsigned meanings_of(const struct al_sentence *s, size_t at)
{
	enum { NEAR = 2, FAR = 10 };
	const struct al_word *said = &s->words[at];
	const int direction = al_statement_direction(s, at);

	if (said->kind == AL_WORD_TIMES)
		return 1u << FACTOR;
	if (said->kind != AL_WORD_PERCENT && !is_difference(s, at))
		return 0;
	if (said->kind != AL_WORD_PERCENT)
		return 1u << DIFFERENCE | 1u << POINTS;
	if (direction != 0)
		return 1u << (direction < 0 ? FALL : RISE) | 1u << POINTS;
	const bool is_by = al_sentence_is(s, at - 1, "by");
	if (al_sentence_has_near(s, at, is_by ? FAR : NEAR, AL_WORDS_COMPARING)
		|| (is_by
			&& (al_sentence_has_near(s, at, FAR, AL_WORDS_FALLING)
				|| al_sentence_has_near(s, at, FAR, AL_WORDS_RISING))))
		return 1u << FALL | 1u << RISE | 1u << POINTS;
	return al_sentence_is(s, at + 1, "of") || al_sentence_is(s, at - 1, "only")
			|| is_of_count(s, at)
		? 1u << SHARE
		: 0;
}

/* What a statement may mean of a pair that is joined: "5 of 8 (62 %)", "27 % (7.4 vs. 5.4)". */
static unsigned meanings_of_joined(const struct al_pair *pair, unsigned meanings)
{
	const unsigned changes = 1u << FALL | 1u << RISE;

	if (meanings & (1u << FACTOR | 1u << DIFFERENCE))
		return meanings;
	if (pair->is_share)
		return 1u << SHARE;
	return meanings & changes || pair->before.kind == AL_WORD_PERCENT ? meanings
									  : meanings | changes;
}

static double apply(enum meaning meaning, double most, double least, bool is_inverse)
{
	switch (meaning) {
	case FACTOR:
		return is_inverse ? least / most : most / least;
	case FALL:
		return 100 * (1 - least / most);
	case RISE:
		return 100 * (most / least - 1);
	case SHARE:
		return 100 * least / most;
	default:
		return most - least;
	}
}

/* The chance that two quantities of one kind give a number in the range: most are near to each
 * other. */
static double chance_of(enum meaning meaning, double low, double high)
{
	double from = low, to = high; /* factors */

	switch (meaning) {
	case FALL:
		if (high >= 100)
			return 0;
		from = 100 / (100 - low);
		to = 100 / (100 - high);
		break;
	case RISE:
		from = 1 + low / 100;
		to = 1 + high / 100;
		break;
	case SHARE:
		from = 100 / high;
		to = 100 / low;
		break;
	case FACTOR:
		break;
	default:
		return 2 * (high - low) / fmax(low + high, high - low);
	}
	return low > 0 ? log(to / from) / (0.2 + fabs(log(sqrt(from * to)))) : 1;
}

/* ---- the nearest two ---- */

struct search {
	const struct al_relating *r;
	const struct al_operands *all;
	struct al_operand said; /* its place is that of the paragraph */
	size_t first; /* place of the sentence's first word */
	unsigned meanings;
	bool is_before; /* of operands in front of the statement alone */
	bool is_exact; /* not only within the rounding of the two */
	bool is_joined; /* of pairs that are joined alone */
	bool is_in_brackets; /* right behind a count: it is a share, if the count is the part */
	bool is_end; /* of a change, that brackets explain: it is a share of counts, if any */
};

static size_t distance(const struct search *c, const struct al_operand *of)
{
	return of->place > c->said.place ? of->place - c->said.place : c->said.place - of->place;
}

/* "8 %" is of its own sentence: of many numbers some two would give it. */
static bool may_be(const struct search *c, const struct al_operand *of)
{
	return !(c->is_before && of->place > c->said.place)
		&& (of->place >= c->first || al_significant_digits(&c->said.word) > 1)
		&& (of->word.value != c->said.word.value
			|| (c->is_joined && of->word.kind != c->said.word.kind));
}

/* "69 stops, 8.63 % of the 800 questions", "of 736 answers, 620 (84.2 %)" */
static bool are_counts(const struct search *c, const struct al_operand *a,
	const struct al_operand *b)
{
	enum { NEAR = 3, BEHIND = 5 };
	const struct al_operand *part = a->word.value < b->word.value ? a : b,
				*whole = part == a ? b : a;

	if (!(c->meanings & 1u << SHARE) || !al_word_is_count(&a->word)
		|| !al_word_is_count(&b->word))
		return false;
	return c->is_in_brackets
		? part->place < c->said.place && part->place + BEHIND >= c->said.place
		: a == part && whole->place > c->said.place && whole->place <= c->said.place + NEAR;
}

/* "from 7.74 to 7.81": the pair that the two are; NULL: none says so. */
static const struct al_pair *find_joined(const struct search *c, const struct al_operand *a,
	const struct al_operand *b)
{
	const size_t at = c->said.place - c->first;

	for (size_t i = 0; i < c->r->n_pairs && a->place >= c->first; i++)
		if (a->place >= c->first + c->r->pairs[i].first
			&& b->place <= c->first + c->r->pairs[i].last
			&& al_statement_gap(c->r->s, &c->r->pairs[i], at) < AL_GAP_APART)
			return &c->r->pairs[i];
	return NULL;
}

/* Of two that are joined the statement is most likely. Percentages, and numbers of which nothing is
 * known, are rather of their own sentence. */
static double doubt_of(const struct search *c, const struct al_operand *a,
	const struct al_operand *b)
{
	const bool is_vague = a->word.kind == AL_WORD_PERCENT || (!*a->noun && !*b->noun);

	return find_joined(c, a, b)		  ? 0.3
		: *a->noun && *b->noun		  ? 0.65
		: is_vague && a->place < c->first ? 3
						  : 1;
}

/* Does "-0.07" say that it falls where it rises? */
static bool is_opposite(const struct search *c, const struct al_operand *a,
	const struct al_operand *b)
{
	const struct al_pair *joined = find_joined(c, a, b);

	return joined && !joined->is_loose
		&& al_statement_direction(c->r->s, c->said.place - c->first)
			* (joined->after.value - joined->before.value)
		< 0;
}

/* "+0.65 points" */
static bool is_points(const struct search *c)
{
	return is_in_points(c->r->s, c->said.place - c->first);
}

/* Points are of percentages, and other differences of what they are in. */
static bool can_mean(const struct search *c, enum meaning meaning, const struct al_operand *of,
	bool is_joined)
{
	const bool is_percent = of->word.kind == AL_WORD_PERCENT;
	/* "ctx=256" */
	const bool is_setting = of->word.kind == AL_WORD_OTHER && of->word.scale == 0
		&& of->word.digits == 0;

	if ((meaning != FACTOR && (of->is_signed || is_setting))
		|| (is_percent
			&& (!c->is_exact || meaning == SHARE
				|| (!is_joined && al_significant_digits(&c->said.word) < 2)
				|| (meaning != FACTOR && !is_points(c)
					&& !al_statement_is_telling(&c->said.word)))))
		return false;
	if (meaning == POINTS)
		return is_percent
			&& (c->said.word.kind == AL_WORD_PERCENT || is_points(c)
				|| (is_joined && c->said.is_signed));
	return meaning != DIFFERENCE
		|| (!is_percent
			&& (is_points(c) || al_operands_match(&c->said, of)
				|| (!(*of->noun && *c->said.noun) && al_word_is_count(&c->said.word)
					&& al_word_is_count(&of->word))));
}

/* "4.5" and "0.36", of one of which nothing is known, are no terms. */
static bool are_unlike(const struct al_operand *a, const struct al_operand *b)
{
	return (!*a->noun || !*b->noun) && a->word.digits != b->word.digits;
}

/* What two quantities make of the statement. */
struct trial {
	double chance; /* of its range */
	enum meaning meaning; /* that they bear out; N_MEANINGS: none */
	enum al_verdict verdict;
};

static struct trial try_pair(const struct search *c, const struct al_operand *a,
	const struct al_operand *b)
{
	const struct al_word *said = &c->said.word;
	const bool is_falling = a->word.value > b->word.value;
	const struct al_word *most = is_falling ? &a->word : &b->word,
			     *least = is_falling ? &b->word : &a->word;
	const double half = said->half_unit > 0 ? said->half_unit : 0.5;
	const struct al_pair *joined = find_joined(c, a, b);
	const unsigned meanings = (joined ? meanings_of_joined(joined, c->meanings) : c->meanings)
		& (c->is_end ? 1u << SHARE : ~0u);
	struct trial out = {0, N_MEANINGS, AL_UNDERIVABLE};

	for (enum meaning m = 0; m < N_MEANINGS; m++) {
		if (!(meanings & 1u << m) || !can_mean(c, m, a, joined)
			|| !can_mean(c, m, b, joined)
			|| (m >= DIFFERENCE && (is_opposite(c, a, b) || are_unlike(a, b)))
			|| (m == DIFFERENCE && !joined && !(*a->noun && *b->noun)
				&& said->value >= least->value))
			continue;
		const bool is_inverse = said->value < 1;
		const double share = c->is_exact ? 0 : 1, up = share * most->half_unit,
			     down = share * least->half_unit;
		const double point = apply(m, most->value, least->value, is_inverse),
			     one = apply(m, most->value + up, least->value - down, is_inverse),
			     other = apply(m, most->value - up, least->value + down, is_inverse);
		const double low = said->value - half - (point - fmin(one, other)),
			     high = said->value + half + (fmax(one, other) - point);
		out.chance += chance_of(m, low, high);
		if (point < low - 1e-9 * low || point > high + 1e-9 * high)
			continue;
		out.meaning = m;
		out.verdict = c->is_exact && !(m == POINTS && said->kind == AL_WORD_PERCENT)
			? AL_REPRODUCED
			: AL_CONSISTENT;
	}
	return out;
}

/* Those that may be meant, the nearest first. */
static size_t order_operands(const struct search *c, const struct al_operand *out[AL_MOST_OPERANDS])
{
	size_t n = 0;

	for (size_t i = 0; i < c->all->n; i++) {
		const struct al_operand *of = &c->all->items[i];
		if (!may_be(c, of))
			continue;
		size_t k = n++;
		for (; k > 0 && distance(c, out[k - 1]) > distance(c, of); k--)
			out[k] = out[k - 1];
		out[k] = of;
	}
	return n;
}

static struct al_pair pair_of(const struct al_operand *a, const struct al_operand *b,
	enum meaning meaning)
{
	const bool is_rise = (meaning == RISE) == (a->word.value < b->word.value);

	return (struct al_pair){.before = is_rise ? a->word : b->word,
		.after = is_rise ? b->word : a->word,
		.is_share = meaning == SHARE};
}

/* The nearest pair that fits, unless chance would do. */
static struct trial find_pair(const struct search *c, struct al_pair *out)
{
	const bool is_difference = !(c->meanings & 1u << FACTOR)
		&& c->said.word.kind != AL_WORD_PERCENT;
	const double most_chance = is_difference || !c->is_exact ? 0.05 : 0.1;
	const struct al_operand *near[AL_MOST_OPERANDS];
	const size_t n = order_operands(c, near);
	const struct trial none = {0, N_MEANINGS, AL_UNDERIVABLE};
	struct trial found = none;
	double chance = 0;

	for (size_t i = 1; i < n && found.meaning == N_MEANINGS && chance <= most_chance; i++)
		for (size_t k = 0; k < i; k++) {
			const bool is_first = near[i]->place < near[k]->place;
			const struct al_operand *a = near[is_first ? i : k],
						*b = near[is_first ? k : i];
			if (a->word.value == b->word.value
				|| (!find_joined(c, a, b)
					&& (c->is_joined
						|| (!al_operands_match(a, b)
							&& !are_counts(c, a, b)))))
				continue;
			const struct trial trial = try_pair(c, a, b);
			chance += trial.chance * doubt_of(c, a, b);
			if (trial.meaning == N_MEANINGS)
				continue;
			found = trial;
			*out = pair_of(a, b, found.meaning);
		}
	return chance <= most_chance ? found : none;
}

/* "+ 0.25 x availability", "2.0, 4.0 x c", "the last 10 %:"; but not "150, 3.1x higher". */
static bool is_of_other(const struct al_sentence *s, size_t at)
{
	if (at == 0)
		return false;
	if (s->words[at].kind == AL_WORD_TIMES)
		return al_sentence_is(s, at - 1, "+")
			|| (at > 1 && !al_statement_has_direction(s, at + 1)
				&& !al_sentence_has(s, at + 1, AL_WORDS_COMPARING)
				&& al_sentence_is(s, at - 1, ",")
				&& s->words[at - 2].kind > AL_WORD_SIGN
				&& s->words[at - 2].scale == 0);
	return (s->words[at].kind == AL_WORD_PERCENT
			       ? al_sentence_is(s, at + 1, ":")
			       : al_sentence_is(s, at - 1, "=") && !is_delta(s, at))
		|| (al_sentence_is(s, at - 1, "and") && al_sentence_is(s, at - 3, "between"));
}

/* "up to 73 %", "40.2 +- 0.9" */
static bool is_end_of_change(const struct al_sentence *s, size_t at)
{
	if (s->words[at].kind == AL_WORD_TIMES)
		return false;
	while (al_sentence_has(s, at - 1, AL_WORDS_ABOUT) || al_sentence_is(s, at - 1, "+")
		|| al_sentence_has(s, at - 1, AL_WORDS_MINUS))
		at--;
	return al_sentence_has(s, at - 1, AL_WORDS_ENDS_OF_CHANGES);
}

bool al_paper_read_nearby(struct al_relating *r, size_t at)
{
	const size_t first = r->operands->n_words - r->s->n;
	struct search c = {.r = r,
		.all = r->operands,
		.said = al_operand_at(r->s, at),
		.first = first,
		.meanings = meanings_of(r->s, at)};
	const bool is_percent = r->s->words[at].kind == AL_WORD_PERCENT;
	struct al_pair pair;

	c.said.place += first;
	c.is_in_brackets = is_percent && is_of_count(r->s, at);
	c.is_end = is_end_of_change(r->s, at);
	if (is_of_other(r->s, at)
		|| (c.is_end && !(is_percent && al_sentence_is(r->s, at + 1, "("))))
		return false;
	for (int i = 0; i < (c.is_end ? 2 : 6) && (c.meanings || is_percent); i++) {
		c.is_joined = i < 2;
		c.is_exact = i < 4;
		c.is_before = i % 2 == 0;
		const struct trial found = find_pair(&c, &pair);
		if (found.meaning == N_MEANINGS)
			continue;
		al_relating_add(r, &pair, &r->s->words[at], found.verdict,
			found.meaning == POINTS && is_percent ? "points" : "");
		return true;
	}
	return false;
}
