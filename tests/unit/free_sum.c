/* Computed spectra of sums: against the mean of 50 draws, and what follows by hand. */
#include "unit.h"

#include <math.h>

#include "audit/measures.h"
#include "base/random.h"
#include "linalg/free_sum.h"

enum { HEIGHT = 96, N_TERMS = 6, N_VALUES = 16, N_DRAWS = 50 };

static const double shares[] = {.5, .9, .95, .99};
enum { N_SHARES = sizeof(shares) / sizeof(*shares) };

static struct al_matrix new_matrix(size_t rows, size_t cols)
{
	struct al_matrix m;

	assert_true(al_matrix_init(&m, rows, cols, NULL));
	return m;
}

/* ---- made-up spectra: value k of term i ---- */

static double equal(size_t i, size_t k)
{
	return (double)(i + k) * 0 + 1;
}

static double geometric(size_t i, size_t k)
{
	return pow(.85, (double)k) * (1 + .1 * (double)i);
}

/* A seventh of all squares in one value. */
static double spike(size_t i, size_t k)
{
	return i == 2 && k == 0 ? 3 : geometric(i, k);
}

static double rank_one(size_t i, size_t k)
{
	return k == 0 ? 1 + (double)i : 0;
}

static double deficient(size_t i, size_t k)
{
	return k < 5 + i ? geometric(i, k) : 0;
}

/* Half of the terms hardly count. */
static double grouped(size_t i, size_t k)
{
	return geometric(i, k) * (i % 2 ? 1 : .01);
}

/* One term's values in steps. */
static double in_steps(size_t i, size_t k)
{
	return k < 4 ? 4 : k < 8 ? 1 + .01 * (double)i : .1;
}

static const struct made_up {
	const char *name;
	double (*value)(size_t i, size_t k);
	size_t n_terms;
} made_up[] = {{"equal", equal, N_TERMS}, {"geometric", geometric, N_TERMS},
	{"spike", spike, N_TERMS}, {"rank one", rank_one, N_TERMS},
	{"deficient", deficient, N_TERMS}, {"grouped", grouped, N_TERMS},
	{"in steps", in_steps, N_TERMS}, {"one", geometric, 1}, {"two", equal, 2}};

static struct al_matrix make_terms(const struct made_up *m)
{
	struct al_matrix terms = new_matrix(N_VALUES, m->n_terms);

	for (size_t i = 0; i < m->n_terms; i++)
		for (size_t k = 0; k < N_VALUES; k++)
			terms.data[k + i * terms.ld] = m->value(i, k);
	return terms;
}

/* ---- draws ---- */

/* Adds U S V^T, or puts U S beside the others. */
static void put(enum al_free_kind kind, struct al_random *random, struct al_matrix terms, size_t i,
	struct al_matrix whole)
{
	struct al_matrix u = new_matrix(HEIGHT, N_VALUES), v = new_matrix(HEIGHT, N_VALUES);

	assert_true(al_haar(random, u, NULL));
	assert_true(kind == AL_FREE_BESIDE || al_haar(random, v, NULL));
	for (size_t k = 0; k < N_VALUES; k++)
		for (size_t row = 0; row < HEIGHT; row++)
			u.data[row + k * u.ld] *= terms.data[k + i * terms.ld];
	if (kind == AL_FREE_SUM)
		assert_true(al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(u), al_view(v), 1, whole,
			NULL));
	else
		assert_true(al_copy(al_view(u), al_part(whole, 0, i * N_VALUES, HEIGHT, N_VALUES),
			NULL));
	al_matrix_finish(&v);
	al_matrix_finish(&u);
}

static void count_draw(enum al_free_kind kind, struct al_random *random, struct al_matrix terms,
	double counts[N_SHARES])
{
	struct al_matrix whole = new_matrix(HEIGHT,
		kind == AL_FREE_SUM ? HEIGHT : terms.cols * N_VALUES);
	double values[HEIGHT];

	for (size_t i = 0; i < terms.cols; i++)
		put(kind, random, terms, i, whole);
	const size_t n = whole.cols < HEIGHT ? whole.cols : HEIGHT;
	assert_true(al_singular_values(al_view(whole), values, NULL));
	for (int s = 0; s < N_SHARES; s++)
		counts[s] += (double)al_components(values, n, shares[s]) / N_DRAWS;
	al_matrix_finish(&whole);
}

/* ---- comparisons ---- */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void check_made_up(const struct made_up *m, enum al_free_kind kind)
{
	struct al_random *random = al_random_create(7, m->n_terms, kind, 0);
	struct al_matrix terms = make_terms(m);
	double drawn[N_SHARES] = {0}, computed[HEIGHT];
	const size_t n = least(HEIGHT, m->n_terms * N_VALUES);
	bool is_found;

	assert_true(al_free_sum(kind, al_view(terms), HEIGHT, computed, n, &is_found, NULL));
	assert_true(is_found);
	for (int i = 0; i < N_DRAWS; i++)
		count_draw(kind, random, terms, drawn);
	for (int s = 0; s < N_SHARES; s++) {
		const double found = (double)al_components(computed, n, shares[s]);
		if (!(fabs(found - drawn[s]) <= fmax(1, .007 * drawn[s])))
			fail_msg("%s, %s: %g of the squares in %g, %g in the mean of draws",
				m->name, kind == AL_FREE_SUM ? "sum" : "beside", shares[s], found,
				drawn[s]);
	}
	al_matrix_finish(&terms);
	al_random_destroy(random);
}

static void agrees_with_draws(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++) {
		check_made_up(&made_up[i], AL_FREE_BESIDE);
		check_made_up(&made_up[i], AL_FREE_SUM);
	}
}

/* What the computed values came to, weighted by their place, when they were recorded: the draws
 * can't tell that from the third digit on. In the order of `made_up`: beside, sum. */
static void stays_as_it_was(void **state)
{
	static const double recorded[][2] = {
		{2682.36323, 1940.03628},
		{1001.74279, 783.17896},
		{1006.30249, 780.14552},
		{55.2023436, 54.5569583},
		{552.817256, 484.306835},
		{327.901382, 298.184569},
		{1806.32174, 1599.86053},
		{33.1975358, 33.2325537},
		{452.643803, 415.9399},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++)
		for (int kind = 0; kind < 2; kind++) {
			struct al_matrix terms = make_terms(&made_up[i]);
			double values[HEIGHT], sum = 0;
			const size_t n = least(HEIGHT, made_up[i].n_terms * N_VALUES);
			bool is_found;
			assert_true(al_free_sum((enum al_free_kind)kind, al_view(terms), HEIGHT,
				values, n, &is_found, NULL));
			for (size_t k = 0; k < n; k++)
				sum += (double)(k + 1) * values[k];
			if (!(fabs(sum / recorded[i][kind] - 1) < 1e-7))
				fail_msg("%s, %d: %.9g", made_up[i].name, kind, sum);
			al_matrix_finish(&terms);
		}
}

/* The squares add up, the values fall, and scale goes through. */
static void keeps_squares_and_scale(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct al_matrix terms = make_terms(&made_up[1]);
		double values[HEIGHT], large[HEIGHT], expected = 0, found = 0;
		bool is_found;
		for (size_t k = 0; k < terms.rows * terms.cols; k++)
			expected += terms.data[k] * terms.data[k];
		assert_true(al_free_sum((enum al_free_kind)kind, al_view(terms), HEIGHT, values,
			HEIGHT, &is_found, NULL));
		for (size_t k = 0; k < terms.rows * terms.cols; k++)
			terms.data[k] *= 1e100;
		assert_true(al_free_sum((enum al_free_kind)kind, al_view(terms), HEIGHT, large,
			HEIGHT, &is_found, NULL));
		for (size_t k = 0; k < HEIGHT; k++) {
			found += values[k] * values[k];
			assert_true(k == 0 || values[k] <= values[k - 1]);
			assert_true(fabs(large[k] / 1e100 - values[k]) <= 1e-9 * values[0]);
		}
		assert_true(fabs(found - expected) < 1e-9 * expected);
		al_matrix_finish(&terms);
	}
}

/* Projections onto halves of a space: of the sum half of the eigenvalues are above 1, and none is
 * above 2 (the arcsine law). */
static void two_projections_give_the_arcsine_law(void **state)
{
	struct al_matrix terms = new_matrix(HEIGHT / 2, 2);
	const double pi = acos(-1);
	double values[HEIGHT];
	bool is_found;

	(void)state;
	for (size_t k = 0; k < HEIGHT; k++)
		terms.data[k] = 1;
	assert_true(al_free_sum(AL_FREE_BESIDE, al_view(terms), HEIGHT, values, HEIGHT, &is_found,
		NULL));
	assert_true(is_found);
	for (size_t k = 0; k < HEIGHT; k++) {
		const double square = 1 + cos(pi * ((double)k + .5) / HEIGHT);
		assert_true(fabs(values[k] * values[k] - square) < .01);
	}
	al_matrix_finish(&terms);
}

static void takes_zeros_and_refuses_what_is_too_many(void **state)
{
	struct al_matrix zero = new_matrix(4, 3);
	double values[5] = {1, 1, 1, 1, 1};
	struct al_error err;
	bool is_found;

	(void)state;
	assert_true(al_free_sum(AL_FREE_SUM, al_view(zero), 5, values, 5, &is_found, NULL));
	assert_true(is_found && values[0] == 0 && values[4] == 0);
	assert_true(al_free_sum(AL_FREE_SUM, al_view(zero), 4, values, 4, &is_found, NULL));
	assert_false(al_free_sum(AL_FREE_SUM, al_view(zero), 3, values, 2, &is_found, &err));
	assert_string_equal(err.message, "2 of 4 singular values of a height of 3");
	assert_false(al_free_sum(AL_FREE_SUM, al_view(zero), 4, values, 5, &is_found, &err));
	assert_string_equal(err.message, "5 of 4 singular values of a height of 4");
	zero.data[3] = NAN;
	assert_false(al_free_sum(AL_FREE_SUM, al_view(zero), 5, values, 5, &is_found, NULL));
	al_matrix_finish(&zero);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_draws),
		cmocka_unit_test(stays_as_it_was),
		cmocka_unit_test(keeps_squares_and_scale),
		cmocka_unit_test(two_projections_give_the_arcsine_law),
		cmocka_unit_test(takes_zeros_and_refuses_what_is_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
