/* Sentences of running text as words and numbers, with the line of each. */
#pragma once

#include "paper/vocabulary.h"

enum al_word_kind {
	AL_WORD_LETTERS, /* in small letters */
	AL_WORD_SIGN, /* any other character */
	AL_WORD_NUMBER, /* a quantity */
	AL_WORD_PERCENT,
	AL_WORD_TIMES, /* "4.2x" */
	AL_WORD_OTHER, /* a number within a name, a range or a formula */
};

struct al_word {
	enum al_word_kind kind;
	const char *text; /* unchanged, a number's unit with it */
	const struct al_paper_listed *listed; /* of letters and signs; NULL: in no list */
	size_t line;
	bool is_joined; /* to the word before, without a space */
	bool is_judged; /* it follows from others */
	double value, half_unit; /* of the last printed digit; 0: a count, which is exact */
	double scale; /* of its unit; 0: it has none */
	int digits; /* decimals */
	const char *family; /* of its unit: "bytes", "" */
};

static inline bool al_word_is_count(const struct al_word *word)
{
	return word->kind == AL_WORD_NUMBER && word->scale <= 0 && word->digits == 0;
}

/* A longer stretch is no sentence. */
enum { AL_SENTENCE_MOST_WORDS = 1000 };

struct al_sentence {
	struct al_word *words;
	size_t n, room;
	const struct al_paper_vocabulary *vocabulary;
};

/* "from 64 to 16 GB": the first, if it has no unit, is of that of the second. */
void al_word_share_unit(struct al_word *first, const struct al_word *second);

/* Is this text at the place, letters or a sign? */
bool al_sentence_is(const struct al_sentence *s, size_t at, const char *text);

/* Is the number there a name's: the 1 of "L1"? */
bool al_sentence_is_of_name(const struct al_sentence *s, size_t at);

/* Is there a word at this place, letters or a sign, and is it in the list? */
bool al_sentence_has(const struct al_sentence *s, size_t at, enum al_paper_words list);

/* Is a word of the list there, from `first` up to `end`? */
bool al_sentence_has_any(const struct al_sentence *s, size_t first, size_t end,
	enum al_paper_words list);

/* Is one at most `reach` words before the place? */
bool al_sentence_has_before(const struct al_sentence *s, size_t at, size_t reach,
	enum al_paper_words list);

/* Is one at the place, or at most `reach` words before or behind it? */
bool al_sentence_has_near(const struct al_sentence *s, size_t at, size_t reach,
	enum al_paper_words list);

/* The words from `first` up to `end` as text. */
const char *al_sentence_join(const struct al_sentence *s, struct al_arena *arena, size_t first,
	size_t end);

/* The length of the number that begins here: digits, with points and commas between them. */
size_t al_number_length(const char *p);

/* The same, and its value and decimals; NaN with several points. */
size_t al_number_read(const char *p, double *value, int *digits);

/* Adds what is left of a line; true where the sentence ends in it, *rest being behind its end. The
 * caller empties the sentence. */
bool al_sentence_add_line(struct al_sentence *s, struct al_arena *arena, const char *text,
	size_t line, const char **rest);
