/* What LAPACK doesn't find in single precision is found in double, or named. */
#include "unit.h"

#include <lapacke.h>
#include <math.h>

#include "linalg/linalg.h"

enum { N = 3 };

/* Stands before the library's: destroys what it may and doesn't converge. */
lapack_int LAPACKE_ssterf(lapack_int n, float *diagonal, float *beside)
{
	for (lapack_int i = 0; i < n; i++)
		diagonal[i] = 99;
	for (lapack_int i = 0; i + 1 < n; i++)
		beside[i] = 99;
	return 1;
}

static bool is_double_lost;

lapack_int LAPACKE_dsterf(lapack_int n, double *diagonal, double *beside)
{
	const lapack_int info = LAPACKE_dsterf_work(n, diagonal, beside);

	return is_double_lost ? 2 : info;
}

static void fill(float g[N * N])
{
	const float all[] = {5, 0, 0.5F, 0, 3, 0, 0.5F, 0, 2};

	for (size_t i = 0; i < N * N; i++)
		g[i] = all[i];
}

static void is_found_in_double(void **state)
{
	float g[N * N], values[N];
	struct al_error err = {0};

	(void)state;
	fill(g);
	assert_true(al_eigenvalues_f((struct al_matrix_f){g, N, N, N}, values, &err));
	assert_true(fabs((double)values[0] - (7 + sqrt(10)) / 2) < 1e-6);
	assert_true(fabs((double)values[1] - 3) < 1e-6);
	assert_true(fabs((double)values[2] - (7 - sqrt(10)) / 2) < 1e-6);
}

static void is_named(void **state)
{
	float g[N * N], values[N];
	struct al_error err = {0};

	(void)state;
	fill(g);
	is_double_lost = true;
	assert_false(al_eigenvalues_f((struct al_matrix_f){g, N, N, N}, values, &err));
	assert_string_equal(err.message, "dsyevd: did not converge (2)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_found_in_double),
		cmocka_unit_test(is_named),
	};

	return cmocka_run_group_tests_name("unconverged", tests, NULL, NULL);
}
