/* Eigenvalues of large matrices, which are known: a diagonal, reflected. */
#include "unit.h"

#include <math.h>

#include "linalg/linalg.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(are_those_of_the_diagonal)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
