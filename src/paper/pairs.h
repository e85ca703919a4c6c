/* Pairs of numbers in a sentence that a ratio or a change may be of: "from 64 to 16 GB", "5 instead
 * of 8", "29.2 vs 17.1". */
#pragma once

#include "paper/words.h"

/* The old value, the new one, and their places in the sentence. */
struct al_pair {
	struct al_word before, after;
	size_t first, last; /* words */
	size_t said; /* the statement between them; 0: none is */
	bool is_share; /* "3 out of 8": what is is a part of what was */
	bool is_joined; /* by a word that compares them */
	bool is_of_time; /* times, or rates: "29.2 tokens/s" */
	bool is_loose; /* the two may be of something else than a statement next to them */
	bool is_far; /* so they are most likely: what holds counts, no more */
};

enum { AL_MOST_PAIRS = 32 };

/* The number of pairs: of those that don't overlap, or of those far from each other, which may. */
size_t al_paper_find_pairs(const struct al_sentence *s, bool is_far,
	struct al_pair out[AL_MOST_PAIRS]);
