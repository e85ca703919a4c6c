/* Matrices made tridiagonal by way of a band: their eigenvalues beside those that LAPACK finds. */
#include "symmetric.h"

#include "linalg/band.h"

/* Around the band's width, and multiples of it. */
static const size_t sizes[] = {1, 2, 3, 4, 63, 64, 65, 66, 67, 127, 128, 129, 191, 200, 257, 391};

/* Both are off by so many roundings of the largest. */
static void check_values(const double *found, const double *expected, size_t n, double rounding)
{
	const double largest = fmax(fabs(expected[0]), fabs(expected[n - 1]));
	const double tolerance = rounding * (100 + (double)n / 2);

	for (size_t i = 0; i < n; i++)
		if (!(fabs(found[i] - expected[i]) <= tolerance * largest))
			fail_msg("%zu of %zu: %.17g for %.17g", i, n, found[i], expected[i]);
}

static void check(enum kind kind, size_t n, double scale)
{
	struct al_matrix g = example(kind, n, scale), h = example(kind, n, scale);
	struct al_matrix t = new_matrix(n, 3);

	hide_above(h);
	assert_true(al_tridiagonal_by_band(h, t.data, t.data + n, NULL));
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < j; i++)
			assert_true(isnan(h.data[i + j * n]));
	assert_int_equal(0, LAPACKE_dsterf(al_int(n), t.data, t.data + n));
	assert_int_equal(0,
		LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', al_int(n), g.data, al_int(n),
			t.data + 2 * n));
	check_values(t.data, t.data + 2 * n, n, 0x1p-53);
	al_matrix_finish(&t);
	al_matrix_finish(&h);
	al_matrix_finish(&g);
}

static void has_the_same_eigenvalues(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (enum kind kind = FULL; kind < N_KINDS; kind++) {
			check(kind, sizes[i], 1);
			check(kind, sizes[i], 0x1p-400);
			check(kind, sizes[i], 0x1p400);
		}
}

static void check_single(enum kind kind, size_t n, double scale)
{
	struct al_matrix g = example(kind, n, scale), t = new_matrix(n, 2);
	struct al_matrix_f h_f, t_f;

	assert_true(al_matrix_init_f(&h_f, n, n, NULL) && al_matrix_init_f(&t_f, n, 2, NULL));
	hide_above(g);
	for (size_t i = 0; i < n * n; i++)
		h_f.data[i] = (float)g.data[i];
	assert_true(al_tridiagonal_by_band_f(h_f, t_f.data, t_f.data + n, NULL));
	assert_true(al_widen(al_view_f(t_f), t, NULL));
	assert_int_equal(0, LAPACKE_dsterf(al_int(n), t.data, t.data + n));
	assert_int_equal(0,
		LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', al_int(n), g.data, al_int(n),
			t.data + n));
	check_values(t.data, t.data + n, n, 0x1p-24);
	al_matrix_finish_f(&t_f);
	al_matrix_finish_f(&h_f);
	al_matrix_finish(&t);
	al_matrix_finish(&g);
}

static void has_the_same_in_single_precision(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (enum kind kind = FULL; kind < N_KINDS; kind++) {
			check_single(kind, sizes[i], 1);
			check_single(kind, sizes[i], 0x1p-60);
			check_single(kind, sizes[i], 0x1p60);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(has_the_same_eigenvalues),
		cmocka_unit_test(has_the_same_in_single_precision)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
