/* Pairs of numbers in a sentence that a ratio or a change may be of: "from 64 to 16 GB", "5 instead
 * of 8", "29.2 vs 17.1". */
#pragma once

#include "paper/words.h"

/* The old value, the new one, and their places in the sentence. */
struct al_pair {
	struct al_word before, after;
	size_t first, last; /* words */
	bool is_share; /* "3 out of 8": what is is a part of what was */
	bool is_of_time; /* times, or rates: "29.2 tokens/s" */
	bool is_loose; /* the two may be of something else than a statement next to them */
	unsigned told; /* kinds of statements that hold of it, as bits */
};

enum { AL_MOST_PAIRS = 32 };

/* The number of pairs, which don't overlap. */
size_t al_paper_find_pairs(const struct al_sentence *s, struct al_pair out[AL_MOST_PAIRS]);
