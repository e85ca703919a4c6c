/* Sums over tokens, by fold: each sequence of tokens belongs to one. A column is a fold's numbers;
 * of a symmetric matrix its upper triangle, column by column, n(n + 1)/2 numbers. */
#pragma once

#include "linalg/linalg.h"

/* Folds where there are as many sequences, and at most. */
enum { AL_FOLDS = 4, AL_MOST_FOLDS = 64 };

/* A set of folds: bit f is fold f. */
typedef uint64_t al_folds;
#define AL_ALL_FOLDS UINT64_MAX
static inline al_folds al_fold(size_t fold)
{
	return UINT64_C(1) << fold;
}

/* By how many degrees each head turns the stream, added up over tokens, and over how many; {0}:
 * unknown. Each fold has some. */
struct al_turns {
	struct al_matrix sums; /* [n_heads][folds] */
	const int64_t *n; /* [folds] */
};

/* n of a triangle's n(n + 1)/2 numbers; 0: there is none. */
size_t al_packed_order(size_t length);

/* The sum over some folds: symmetric, [n][n], or a column of numbers. The caller finishes it, on
 * failure too. */
bool al_packed_sum(struct al_matrix packed, al_folds folds, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;
bool al_columns_sum(struct al_matrix columns, al_folds folds, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

/* to += from, [numbers][folds] both: fold f to fold (first + f) % n_folds. */
void al_folds_add(struct al_matrix to, struct al_matrix from, size_t first, size_t n_folds);

/* A symmetric matrix as the one fold that there is, likewise. */
bool al_packed_of(struct al_view symmetric, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;
