/* What LAPACK doesn't find in single precision is found in double, or named. */
#include "unit.h"

#include <lapacke.h>
#include <math.h>

#include "linalg/linalg.h"

enum { N = 3 };

/* Stands before the library's: destroys what it may and doesn't converge. */
lapack_int LAPACKE_ssyevd(int layout, char job, char triangle, lapack_int n, float *a,
	lapack_int ld, float *values)
{
	(void)layout, (void)job, (void)triangle;
	for (lapack_int j = 0; j < n; j++) {
		values[j] = 99;
		for (lapack_int i = j; i < n; i++)
			a[i + j * ld] = 77;
	}
	return 1;
}

static bool is_double_lost;

/* Of a diagonal matrix alone: 2, 3 and 5, smallest first. */
lapack_int LAPACKE_dsyevd(int layout, char job, char triangle, lapack_int n, double *a,
	lapack_int ld, double *values)
{
	(void)layout, (void)job, (void)triangle;
	for (lapack_int j = 0; j < n; j++)
		for (lapack_int i = j + 1; i < n; i++)
			assert_true(a[i + j * ld] == (i == 2 && j == 0 ? 0.5 : 0));
	for (lapack_int j = 0; j < n; j++)
		values[n - 1 - j] = a[j + j * ld];
	return is_double_lost ? 2 : 0;
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
	assert_true(values[0] == 5 && values[1] == 3 && values[2] == 2);
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
