/* A matrix made tridiagonal, against what it was: H T H^T by LAPACK's ormtr. */
#include "symmetric.h"

#include "linalg/tridiagonal.h"

/* Around a register's lanes and the size above which LAPACK does it. */
static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 64, 100, 192, 391, 400, 801, 1025};

/* Larger ones, which take long, are tried in one scale. */
enum { ALL_SCALES = 400 };

/* T between H and H^T. */
static struct al_matrix put_back(struct al_matrix reflectors, const double *diagonal,
	const double *beside, const double *factors)
{
	const size_t n = reflectors.cols;
	const lapack_int order = al_int(n);
	struct al_matrix t = new_matrix(n, n);

	for (size_t i = 0; i < n; i++) {
		t.data[i + i * n] = diagonal[i];
		if (i + 1 < n)
			t.data[i + 1 + i * n] = t.data[i + (i + 1) * n] = beside[i];
	}
	assert_int_equal(0,
		LAPACKE_dormtr(LAPACK_COL_MAJOR, 'L', 'L', 'N', order, order, reflectors.data,
			order, factors, t.data, order));
	assert_int_equal(0,
		LAPACKE_dormtr(LAPACK_COL_MAJOR, 'R', 'L', 'T', order, order, reflectors.data,
			order, factors, t.data, order));
	return t;
}

static void check_same(struct al_matrix g, struct al_matrix back, double tolerance)
{
	const double norm = sqrt(al_inner(al_view(g), al_view(g)));

	for (size_t i = 0; i < g.rows * g.cols; i++)
		if (!(fabs(g.data[i] - back.data[i]) <= tolerance * norm))
			fail_msg("%zu x %zu: %g for %g", g.rows, g.cols, back.data[i], g.data[i]);
}

static void check(enum kind kind, size_t n, double scale)
{
	struct al_matrix g = example(kind, n, scale), h = new_matrix(n, n), t = new_matrix(n, 3);

	assert_true(al_copy(al_view(g), h, NULL));
	hide_above(h);
	assert_true(al_tridiagonal(h, t.data, t.data + n, t.data + 2 * n, NULL));
	struct al_matrix back = put_back(h, t.data, t.data + n, t.data + 2 * n);
	check_same(g, back, 2e-15);
	al_matrix_finish(&back);
	al_matrix_finish(&t);
	al_matrix_finish(&h);
	al_matrix_finish(&g);
}

static void is_what_it_was(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (enum kind kind = FULL; kind < N_KINDS; kind++) {
			check(kind, sizes[i], 1);
			if (sizes[i] > ALL_SCALES)
				continue;
			check(kind, sizes[i], 0x1p-500);
			check(kind, sizes[i], 0x1p500);
		}
}

static void check_single(enum kind kind, size_t n, double scale)
{
	struct al_matrix g = example(kind, n, scale), h = new_matrix(n, n), t = new_matrix(n, 3);
	struct al_matrix_f h_f, t_f;

	assert_true(al_matrix_init_f(&h_f, n, n, NULL) && al_matrix_init_f(&t_f, n, 3, NULL));
	assert_true(al_narrow(al_view(g), h_f, NULL));
	assert_true(al_tridiagonal_f(h_f, t_f.data, t_f.data + n, t_f.data + 2 * n, NULL));
	assert_true(al_widen(al_view_f(h_f), h, NULL) && al_widen(al_view_f(t_f), t, NULL));
	struct al_matrix back = put_back(h, t.data, t.data + n, t.data + 2 * n);
	check_same(g, back, 1e-6);
	al_matrix_finish(&back);
	al_matrix_finish_f(&t_f);
	al_matrix_finish_f(&h_f);
	al_matrix_finish(&t);
	al_matrix_finish(&h);
	al_matrix_finish(&g);
}

static void is_what_it_was_in_single_precision(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (enum kind kind = FULL; kind < N_KINDS; kind++) {
			check_single(kind, sizes[i], 1);
			if (sizes[i] > ALL_SCALES)
				continue;
			check_single(kind, sizes[i], 0x1p-60);
			check_single(kind, sizes[i], 0x1p60);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(is_what_it_was),
		cmocka_unit_test(is_what_it_was_in_single_precision)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
