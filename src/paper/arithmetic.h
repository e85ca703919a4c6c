/* Arithmetic among words: "2 x 32 layers x 8 heads", "(4 + 0.75) GB / 3". */
#pragma once

#include "paper/words.h"

/* K may be 1,000 or 1,024, and so may that of KB. */
struct al_arithmetic_scales {
	bool has_binary_counts, has_binary_bytes;
};

struct al_arithmetic {
	double low, point, high;
	size_t last, end; /* the words behind its last number, and behind what that is of */
	size_t n_operators, n_sums; /* of these: + */
	double unit; /* of its numbers; 0: they have none */
	const char *family;
	bool has_percent, has_bits, has_nouns; /* "layers"; remarks in brackets are none */
};

/* The factor by which a number is larger if its K, or the prefix of its bytes, is 1,024. */
double al_arithmetic_scale(const struct al_word *word, struct al_arithmetic_scales scales);

/* Reads the longest expression that begins there; false: it can't be read to its end. */
bool al_arithmetic_read(const struct al_sentence *s, size_t at, struct al_arithmetic_scales scales,
	struct al_arithmetic *out);

/* Is it a quantity above 0? */
bool al_arithmetic_is_number(const struct al_sentence *s, size_t at);

/* Behind brackets without numbers that begin there: "(K and V)"; or `at`. */
size_t al_arithmetic_skip_brackets(const struct al_sentence *s, size_t at);

/* Behind what a number is of: "layers", "-bit", "bits/byte", "bytes (K and V)". */
size_t al_arithmetic_skip_noun(const struct al_sentence *s, size_t at, bool *has_bits);
