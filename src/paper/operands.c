#include "paper/operands.h"

#include "paper/statement.h"

/* ---- what a number is of ---- */

/* Is this what a count is of? "calls", not "reaches". */
static bool is_plural(const struct al_sentence *s, size_t at)
{
	enum { LEAST_LETTERS = 5 };
	const size_t n = strlen(s->words[at].text);

	return n >= LEAST_LETTERS && s->words[at].text[n - 1] == 's'
		&& s->words[at].text[n - 2] != 's';
}

static bool is_noun(const struct al_sentence *s, size_t at)
{
	return at < s->n && s->words[at].kind == AL_WORD_LETTERS
		&& !al_sentence_has(s, at, AL_WORDS_LINKS)
		&& !al_sentence_has(s, at, AL_WORDS_NOUN_ENDS)
		&& !al_sentence_has(s, at, AL_WORDS_COMPARING)
		&& !al_statement_has_direction(s, at);
}

/* "12 tok/s", "5 ms/step", "12 tokens per second", "2,081 retrieval calls" */
static void read_noun(const struct al_sentence *s, size_t at, struct al_operand *out)
{
	size_t next = at + 1;

	if (al_sentence_is(s, next, "\u00b1")) /* "3.53 \u00b1 0.04 tok/s" */
		next += 2;
	next += al_sentence_is(s, next, "-") && s->words[next].is_joined
		&& !al_sentence_has(s, next + 1, AL_WORDS_BITS); /* "40-token" */
	size_t plural = next;
	while (is_noun(s, plural) && !is_plural(s, plural))
		plural++;
	if (s->words[at].scale > 0 && *s->words[at].family)
		out->noun = s->words[at].family;
	else if (next < s->n && s->words[next].kind == AL_WORD_LETTERS
		&& al_sentence_has(s, next, AL_WORDS_NOUNS))
		out->noun = s->words[next++].text;
	else if (s->words[at].digits == 0 && is_noun(s, plural)) {
		out->noun = s->words[plural].text;
		next = plural + 1;
	}
	if (!*out->noun)
		return;
	if (next + 1 < s->n && (al_sentence_is(s, next, "/") || al_sentence_is(s, next, "per"))
		&& s->words[next + 1].kind == AL_WORD_LETTERS)
		out->per = s->words[next + 1].text;
}

/* "PPL=11.08", "a BLEU of 0.6", "r = 0.87", but not "k = 5" */
static void read_name(const struct al_sentence *s, size_t at, struct al_operand *out)
{
	const bool tells = out->word.digits > 0 || out->word.value >= 100;
	size_t i = at;

	while (al_sentence_is(s, i - 1, "=") || al_sentence_is(s, i - 1, "of")
		|| al_sentence_has(s, i - 1, AL_WORDS_ABOUT))
		i--;
	if (i > 0 && s->words[i - 1].kind == AL_WORD_LETTERS
		&& (al_sentence_has(s, i - 1, AL_WORDS_SCORES)
			|| (al_sentence_is(s, i, "=") && tells)))
		out->noun = s->words[i - 1].text;
}

/* Of a setting or a name: "K=5", "Table 3", "q8_0", "+- 0.4". */
static bool is_other(const struct al_sentence *s, size_t at, const struct al_operand *q)
{
	const bool is_unit = q->word.scale > 0 && al_sentence_is(s, at + 1, "/");
	const bool is_setting = al_sentence_is(s, at - 1, "=");

	return (q->word.kind == AL_WORD_OTHER && !is_unit && !(is_setting && *q->noun))
		|| al_sentence_has(s, at - 1, AL_WORDS_PLACES)
		|| al_sentence_is(s, at - 1, "\u00b1");
}

struct al_operand al_operand_at(const struct al_sentence *s, size_t at)
{
	struct al_operand q = {s->words[at], at, "", "", al_statement_sign(s, at) != 0};

	read_noun(s, at, &q);
	if (!*q.noun && q.word.scale == 0)
		read_name(s, at, &q);
	return q;
}

/* "351 vs. 423 tok/s", "(3.5 and 6.8 tok/s)": is what the number is of said of the one before? */
static bool is_shared(const struct al_sentence *s, size_t at, const struct al_operand *before,
	size_t n_words)
{
	const size_t between = before->place + 1 - n_words;

	return before->place >= n_words && between + 1 == at && !*before->noun
		&& before->word.scale == 0
		&& (al_sentence_has(s, between, AL_WORDS_VERSUS)
			|| al_sentence_has(s, between, AL_WORDS_LISTED)
			|| al_sentence_is(s, between, "to"));
}

void al_operands_add(struct al_operands *all, const struct al_sentence *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct al_word *word = &s->words[i];
		if (word->kind < AL_WORD_NUMBER || word->value <= 0)
			continue;
		struct al_operand q = al_operand_at(s, i);
		if (is_other(s, i, &q))
			continue;
		if (all->n == AL_MOST_OPERANDS)
			memmove(all->items, all->items + 1, --all->n * sizeof(*all->items));
		q.place += all->n_words;
		struct al_operand *before = all->n > 0 ? &all->items[all->n - 1] : NULL;
		if (before && is_shared(s, i, before, all->n_words)) {
			before->noun = q.noun;
			before->per = q.per;
			al_word_share_unit(&before->word, word);
		}
		all->items[all->n++] = q;
	}
	all->n_words += s->n;
}

/* ---- two of them ---- */

bool al_nouns_match(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	const char *longer = a[n] ? a : b;

	return n > 0 && (!a[n] || !b[n])
		&& (n >= 3 || !longer[n] || strncmp(longer, "sec", 3) == 0);
}

static bool are_alike(const struct al_word *a, const struct al_word *b)
{
	enum { LEAST = 100 };

	if ((a->kind == AL_WORD_PERCENT) != (b->kind == AL_WORD_PERCENT)
		|| (a->scale > 0 && b->scale > 0
			&& (a->scale != b->scale || strcmp(a->family, b->family) != 0)))
		return false;
	return (a->digits > 0 && b->digits > 0 && abs(a->digits - b->digits) <= 1)
		|| (a->scale + b->scale <= 0 && fmin(a->value, b->value) >= LEAST);
}

bool al_operands_match(const struct al_operand *a, const struct al_operand *b)
{
	if (a->word.kind == AL_WORD_TIMES || b->word.kind == AL_WORD_TIMES)
		return false; /* unless they are a pair */
	if (*a->noun && *b->noun)
		return al_nouns_match(a->noun, b->noun) && *a->per == *b->per;
	/* "16.0 tok/s ... (4.77)", "2429 tok/s vs. 2362" */
	return (*a->noun || *b->noun || a->word.digits > 0) && are_alike(&a->word, &b->word);
}
