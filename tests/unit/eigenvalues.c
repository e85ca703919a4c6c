/* Eigenvalues that are known: of large matrices, a diagonal reflected; of tridiagonal ones. */
#include "unit.h"

#include <math.h>

#include "linalg/internal.h"

/* Once by tridiagonal matrices alone, once in two stages. */
static const size_t sizes[] = {300, 1100};

/* (I - 2 v v^T) diag(1 .. n) (I - 2 v v^T), v of equal elements. */
static double element(size_t i, size_t j, size_t n)
{
	const double size = (double)n, mean = (size + 1) / 2;

	return (i == j ? (double)(i + 1) : 0) - 2 / size * (double)(i + j + 2) + 4 / size * mean;
}

static void are_those_of_the_diagonal(void **state)
{
	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		const size_t n = sizes[s];
		struct al_matrix g, values;
		struct al_matrix_f g_f, values_f;

		assert_true(al_matrix_init(&g, n, n, NULL) && al_matrix_init(&values, n, 1, NULL));
		assert_true(al_matrix_init_f(&g_f, n, n, NULL)
			&& al_matrix_init_f(&values_f, n, 1, NULL));
		for (size_t j = 0; j < n; j++)
			for (size_t i = 0; i < n; i++) {
				g.data[i + j * n] = element(i, j, n);
				g_f.data[i + j * n] = (float)element(i, j, n);
			}
		assert_true(al_eigenvalues(g, values.data, NULL));
		assert_true(al_eigenvalues_f(g_f, values_f.data, NULL));
		for (size_t k = 0; k < n; k++) {
			const double expected = (double)(n - k), size = (double)n;
			assert_true(fabs(values.data[k] - expected) < 1e-13 * size);
			assert_true(fabs((double)values_f.data[k] - expected) < 5e-6 * size);
		}
		al_matrix_finish_f(&values_f);
		al_matrix_finish_f(&g_f);
		al_matrix_finish(&values);
		al_matrix_finish(&g);
	}
}

/* ---- tridiagonal ---- */

enum { MOST_ROWS = 130 };

struct tridiagonal {
	double diagonal[MOST_ROWS], subdiagonal[MOST_ROWS];
};

/* Clement's: n - 1, n - 3, ... 1 - n. */
static double set_clement(struct tridiagonal *t, size_t n, size_t k)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = 0;
		t->subdiagonal[i] = sqrt((double)((i + 1) * (n - 1 - i)));
	}
	return (double)n - 1 - 2 * (double)k;
}

/* Second differences. */
static double set_differences(struct tridiagonal *t, size_t n, size_t k)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = 2;
		t->subdiagonal[i] = -1;
	}
	return 2 - 2 * cos(M_PI * (double)(n - k) / (double)(n + 1));
}

/* Falls apart into rows of one, each eigenvalue seven times and none of them in order. */
static double set_apart(struct tridiagonal *t, size_t n, size_t k)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = -(double)(i * 37 % n / 7);
		t->subdiagonal[i] = 0;
	}
	return -(double)(k / 7);
}

/* Falls apart into blocks [[1, 1], [1, 1]] of rank one, with a last row of 0. */
static double set_rank_one(struct tridiagonal *t, size_t n, size_t k)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = i + 1 < n || n % 2 == 0 ? 1 : 0;
		t->subdiagonal[i] = i % 2 == 0 && i + 1 < n ? 1 : 0;
	}
	return k < n / 2 ? 2 : 0;
}

static double set_equal(struct tridiagonal *t, size_t n, size_t k)
{
	(void)k;
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = -3;
		t->subdiagonal[i] = 0;
	}
	return -3;
}

typedef double set_fn(struct tridiagonal *t, size_t n, size_t k);

static void check_tridiagonal(set_fn *set, size_t n, size_t first, size_t wanted, double scale)
{
	struct tridiagonal t;
	float diagonal[MOST_ROWS], subdiagonal[MOST_ROWS], values_f[MOST_ROWS];
	double values[MOST_ROWS], most = fabs(set(&t, n, 0)) + fabs(set(&t, n, n - 1));

	for (size_t i = 0; i < n; i++) {
		diagonal[i] = (float)(t.diagonal[i] *= scale);
		subdiagonal[i] = (float)(t.subdiagonal[i] *= scale);
	}
	assert_true(
		al_tridiagonal_values(t.diagonal, t.subdiagonal, n, first, values, wanted, NULL));
	assert_true(
		al_tridiagonal_values_f(diagonal, subdiagonal, n, first, values_f, wanted, NULL));
	for (size_t i = 0; i < wanted; i++) {
		const double expected = scale * set(&t, n, first + i);
		if (!(fabs(values[i] - expected) <= 8e-16 * most * scale)
			|| !(fabs((double)values_f[i] - expected) <= 4e-7 * most * scale))
			fail_msg("%zu of %zu: %.17g and %.9g, expected %.17g", first + i, n,
				values[i], (double)values_f[i], expected);
	}
}

static void are_known_of_tridiagonal_matrices(void **state)
{
	static set_fn *const sets[] = {set_clement, set_differences, set_apart, set_rank_one,
		set_equal};
	static const size_t rows[] = {1, 2, 3, 4, 5, 31, 32, 33, 64, 65, MOST_ROWS};

	(void)state;
	for (size_t s = 0; s < sizeof(sets) / sizeof(*sets); s++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			const size_t n = rows[i];
			check_tridiagonal(sets[s], n, 0, n, 1);
			check_tridiagonal(sets[s], n, n / 3, n - n / 3, 0x1p-60);
			check_tridiagonal(sets[s], n, n - 1, 1, 0x1p60);
			check_tridiagonal(sets[s], n, n / 2, 0, 1);
		}
}

static void are_finite(void **state)
{
	const double good[] = {1, 2, 3}, bad[] = {1, INFINITY, NAN};
	struct al_error err;
	double values[3];

	(void)state;
	assert_false(al_tridiagonal_values(bad, good, 3, 0, values, 3, &err));
	assert_int_equal(err.status, AL_ESYSTEM);
	assert_false(al_tridiagonal_values(good, bad + 1, 3, 0, values, 3, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(are_those_of_the_diagonal),
		cmocka_unit_test(are_known_of_tridiagonal_matrices), cmocka_unit_test(are_finite)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
