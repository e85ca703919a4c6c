/* Eigenvalues by bisection, against LAPACK's, and what the largest of known ones leave. */
#include "unit.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>

#include "linalg/bisect.h"

enum { LARGEST = 800 };

static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 65, 100, 257, LARGEST};

/* T's diagonal and what is beside it, of `kind`. */
struct tridiagonal {
	double diagonal[LARGEST], beside[LARGEST];
};

static double draw(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return (double)(*state >> 11) * 0x1p-53;
}

typedef void fill_fn(struct tridiagonal *t, size_t n);

static void of_any_sign(struct tridiagonal *t, size_t n)
{
	uint64_t state = n;

	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = 2 * draw(&state) - 1;
		t->beside[i] = 2 * draw(&state) - 1;
	}
}

/* Wilkinson's: most eigenvalues come in pairs that agree in all digits. */
static void in_pairs(struct tridiagonal *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = fabs((double)i - (double)(n - 1) / 2);
		t->beside[i] = 1;
	}
}

/* Copies of one small matrix, all but apart. */
static void in_clusters(struct tridiagonal *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = (double)(i % 5);
		t->beside[i] = i % 5 == 4 ? 1e-9 : 1;
	}
}

static void equal(struct tridiagonal *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = 3;
		t->beside[i] = 0;
	}
}

static void diagonal(struct tridiagonal *t, size_t n)
{
	uint64_t state = n;

	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = draw(&state);
		t->beside[i] = 0;
	}
}

static void of_rank_one(struct tridiagonal *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		t->diagonal[i] = t->beside[i] = 0;
	t->diagonal[n / 2] = 7;
}

static void zero(struct tridiagonal *t, size_t n)
{
	of_rank_one(t, n);
	t->diagonal[n / 2] = 0;
}

/* From 1 down to 1e-12. */
static void graded(struct tridiagonal *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = pow(1e-12, (double)i / (double)n);
		t->beside[i] = t->diagonal[i] / 3;
	}
}

/* Determinants of its parts become smaller at every row as fast as they can. */
static void vanishing(struct tridiagonal *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		t->diagonal[i] = i % 3 == 0 ? 1 : 1e-20;
		t->beside[i] = 1e-14;
	}
}

static fill_fn *const kinds[] = {of_any_sign, in_pairs, in_clusters, equal, diagonal, of_rank_one,
	zero, graded, vanishing};

/* As single precision has it, times `scale`. */
static void round_to_single(struct tridiagonal *t, size_t n, double scale, float *d, float *e)
{
	for (size_t i = 0; i < n; i++) {
		d[i] = (float)(t->diagonal[i] * scale);
		e[i] = (float)(t->beside[i] * scale);
		t->diagonal[i] = (double)d[i];
		t->beside[i] = (double)e[i];
	}
}

static void check_values(fill_fn *fill, size_t n, int exponent)
{
	struct tridiagonal t;
	double values[LARGEST], largest = 0;
	const double scale = ldexp(1, exponent);

	fill(&t, n);
	for (size_t i = 0; i < n; i++) {
		t.diagonal[i] *= scale;
		t.beside[i] *= scale;
	}
	assert_true(al_bisect(t.diagonal, t.beside, n, 0, values, n, NULL));
	assert_int_equal(LAPACKE_dsterf((lapack_int)n, t.diagonal, t.beside), 0);
	for (size_t k = 0; k < n; k++)
		largest = fmax(largest, fabs(t.diagonal[k]));
	for (size_t k = 0; k < n; k++) {
		if (!(fabs(values[k] - t.diagonal[n - 1 - k]) <= 1e-14 * largest))
			fail_msg("number %zu of %zu: %g, expected %g", k, n, values[k],
				t.diagonal[n - 1 - k]);
		assert_true(k == 0 || values[k] <= values[k - 1]);
	}
}

static void check_values_f(fill_fn *fill, size_t n, int exponent)
{
	struct tridiagonal t;
	float d[LARGEST], e[LARGEST], values[LARGEST];
	double largest = 0;

	fill(&t, n);
	round_to_single(&t, n, ldexp(1, exponent), d, e);
	assert_true(al_bisect_f(d, e, n, 0, values, n, NULL));
	assert_int_equal(LAPACKE_dsterf((lapack_int)n, t.diagonal, t.beside), 0);
	for (size_t k = 0; k < n; k++)
		largest = fmax(largest, fabs(t.diagonal[k]));
	for (size_t k = 0; k < n; k++) {
		if (!(fabs((double)values[k] - t.diagonal[n - 1 - k]) <= 4e-7 * largest))
			fail_msg("number %zu of %zu: %g, expected %g", k, n, (double)values[k],
				t.diagonal[n - 1 - k]);
		assert_true(k == 0 || values[k] <= values[k - 1]);
	}
}

static void are_lapacks(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
			for (int part = -1; part <= 1; part++) {
				check_values(kinds[k], sizes[s], 400 * part);
				check_values_f(kinds[k], sizes[s], 60 * part);
			}
}

/* 2 on the diagonal, -1 beside it. */
static void are_known(void **state)
{
	enum { N = 300 };
	double d[N], e[N], values[N];
	const double pi = acos(-1);

	(void)state;
	for (size_t i = 0; i < N; i++) {
		d[i] = 2;
		e[i] = -1;
	}
	assert_true(al_bisect(d, e, N, 0, values, N, NULL));
	for (size_t k = 0; k < N; k++) {
		const double root = 2 * cos(pi * (double)(k + 1) / (2 * (N + 1)));
		assert_true(fabs(values[k] - root * root) < 8 * DBL_EPSILON);
	}
}

/* The same eigenvalues whichever are asked for. */
static void are_found_from_any_on(void **state)
{
	enum { N = 100 };
	struct tridiagonal t;
	double all[N], some[N];

	(void)state;
	of_any_sign(&t, N);
	assert_true(al_bisect(t.diagonal, t.beside, N, 0, all, N, NULL));
	for (size_t first = 0; first < N; first += 9)
		for (size_t wanted = 0; first + wanted <= N; wanted += 11) {
			assert_true(al_bisect(t.diagonal, t.beside, N, first, some, wanted, NULL));
			for (size_t k = 0; k < wanted; k++)
				assert_true(fabs(some[k] - all[first + k]) < 4 * DBL_EPSILON);
		}
}

static void refuses_what_is_not_finite(void **state)
{
	const double infinite[] = {1, INFINITY}, finite[] = {1, 2};
	double values[2];
	struct al_error err = {0};

	(void)state;
	assert_false(al_bisect(infinite, finite, 2, 0, values, 2, &err));
	assert_false(al_bisect(finite, infinite + 1, 2, 0, values, 2, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(are_lapacks),
		cmocka_unit_test(are_known),
		cmocka_unit_test(are_found_from_any_on),
		cmocka_unit_test(refuses_what_is_not_finite),
	};

	return cmocka_run_group_tests_name("bisect", tests, NULL, NULL);
}
