/* Statements about pairs of numbers: "3.2x", "-26.6 %", "12.9 GB less". */
#pragma once

#include "paper/pairs.h"

/* What is between a pair and the statement about it. */
enum al_gap {
	AL_GAP_LINKS,
	AL_GAP_UNITS, /* links and units: "tokens" */
	AL_GAP_OTHERS, /* words of any kind, no other quantity */
	AL_GAP_APART,
};

enum al_gap al_gap_between(const struct al_sentence *s, size_t from, size_t to);

/* A statement is of a pair in front of it, or in brackets behind it; one of time is of times or
 * rates alone. */
enum al_gap al_statement_gap(const struct al_sentence *s, const struct al_pair *pair, size_t at);

/* "(5 vs. 13 GB)": a ratio in front of it is of these. */
bool al_pair_is_in_brackets(const struct al_sentence *s, const struct al_pair *pair);

/* Is the statement of the quantity that the pair is of, or may it be? */
bool al_statement_is_of_same(const struct al_sentence *s, const struct al_pair *pair, size_t at);

/* Then it is counted where it holds, and called wrong for a single digit alone. */
bool al_statement_is_loose(const struct al_sentence *s, const struct al_pair *pair, size_t at);

/* Of "+0.1%" and "-26.6%": 1 and -1; 0: it has none. */
int al_statement_sign(const struct al_sentence *s, size_t at);

/* Is it a word of falling or rising? */
bool al_statement_has_direction(const struct al_sentence *s, size_t at);

/* -1: it falls, 1: it rises, 0: unknown. */
int al_statement_direction(const struct al_sentence *s, size_t at);

int al_significant_digits(const struct al_word *word);

/* Zeros at the end of "20x" and "100 %" tell nothing. */
bool al_statement_is_telling(const struct al_word *word);
