/* Quantities of the sentences of a paragraph, in their order: what a statement may be of. */
#pragma once

#include "paper/words.h"

struct al_operand {
	struct al_word word;
	size_t place; /* in words from the paragraph's beginning */
	const char *noun, *per; /* "tok" and "s" of "12 tok/s"; "": unknown */
	bool is_signed;
};

enum { AL_MOST_OPERANDS = 48 };

/* The last ones; their texts live as long as those of the sentences. */
struct al_operands {
	struct al_operand items[AL_MOST_OPERANDS];
	size_t n;
	size_t n_words; /* of the sentences before */
};

/* The number at this place; `place` in the sentence. */
struct al_operand al_operand_at(const struct al_sentence *s, size_t at);

/* Adds those of a sentence. */
void al_operands_add(struct al_operands *all, const struct al_sentence *s);

/* "tok" and "tokens", "s" and "second"; false where one is "". */
bool al_nouns_match(const char *a, const char *b);

/* May the two be compared? Their units are the same, or that of one isn't said. */
bool al_operands_match(const struct al_operand *a, const struct al_operand *b);
