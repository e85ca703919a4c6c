/* Symmetric matrices of several kinds, for the tests of what makes them tridiagonal. */
#ifndef ATTNLEDGER_TESTS_SYMMETRIC_H
#define ATTNLEDGER_TESTS_SYMMETRIC_H

#include "unit.h"

#include <math.h>

#include "base/random.h"
#include "linalg/linalg.h"

enum kind { FULL, RANK_ONE, DIAGONAL, TRIDIAGONAL, NEARLY, ZERO, N_KINDS };

static inline struct al_matrix new_matrix(size_t rows, size_t cols)
{
	struct al_matrix m;

	assert_true(al_matrix_init(&m, rows, cols, NULL));
	return m;
}

static inline struct al_matrix example(enum kind kind, size_t n, double scale)
{
	struct al_random *random = al_random_create(7, n, kind, 0);
	struct al_matrix g = new_matrix(n, n), x = new_matrix(n, n);

	al_random_gaussian(random, x.data, n * n);
	for (size_t j = 0; j < n; j++)
		for (size_t i = j; i < n; i++) {
			const double all[N_KINDS] = {[FULL] = x.data[i + j * n],
				[RANK_ONE] = x.data[i] * x.data[j],
				[DIAGONAL] = i == j ? x.data[i] : 0,
				[TRIDIAGONAL] = i - j < 2 ? x.data[i + j * n] : 0,
				[NEARLY] = (i - j < 2 ? 1 : 0x1p-100) * x.data[i + j * n]};
			g.data[i + j * n] = g.data[j + i * n] = scale * all[kind];
		}
	al_matrix_finish(&x);
	al_random_destroy(random);
	return g;
}

/* What isn't to be read. */
static inline void hide_above(struct al_matrix g)
{
	for (size_t j = 0; j < g.cols; j++)
		for (size_t i = 0; i < j; i++)
			g.data[i + j * g.ld] = NAN;
}

#endif
