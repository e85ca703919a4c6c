/* Hebbian learning: against numpy, against LAPACK's eigenvectors. */
#include "unit.h"

#include <math.h>

#include "base/random.h"
#include "linalg/constrained.h"
#include "linalg/hebbian.h"

enum { N = 5, M = 3 };

static double covariance[N * N];
static const struct al_view c_view = {covariance, N, N, N};

static int fill_covariance(void **state)
{
	(void)state;
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			covariance[i + k * N] = 1.0 / (1 + abs(i - k)) + (i == k) * i / 4.0;
	return 0;
}

static void start(double *w)
{
	for (int c = 0; c < M; c++)
		for (int i = 0; i < N; i++)
			w[i + c * N] = ((7 * i + 3 * c) % 5 - 2) / 8.0;
}

static struct al_matrix matrix(double *data, size_t cols)
{
	return (struct al_matrix){data, N, cols, N};
}

/* tests/pca/oracle.py: 200 steps of rate 1/8. */
static void numpy_agrees(void **state)
{
	static const double expected[M][N] = {
		{0.2816203049748032, 0.3759645641371131, 0.4630044759628353, 0.5284369347337528,
			0.534529617127681},
		{0.2799182794452342, 0.3911963616300026, 0.3783676024719691, 0.0399342975029507,
			-0.7898445260215445},
		{-0.2955762669787575, -0.3714489095552191, -0.1093944640614428, 0.8204238044989426,
			-0.2993289856524183},
	};
	double w[N * M];

	(void)state;
	start(w);
	assert_true(al_hebbian_batch(c_view, 0.125, 0, 200, matrix(w, M), NULL));
	for (int c = 0; c < M; c++)
		for (int i = 0; i < N; i++)
			assert_true(fabs(w[i + c * N] - expected[c][i]) < 1e-10);
}

static void eigenvectors(double *vectors, double *values)
{
	memcpy(vectors, covariance, sizeof(covariance));
	assert_true(al_eigenvectors(matrix(vectors, N), values, NULL));
}

static void converges_to_eigenvectors(void **state)
{
	double w[N * M], vectors[N * N], values[N], cosines[M], angle, before;

	(void)state;
	eigenvectors(vectors, values);
	start(w);
	assert_true(al_hebbian_alignment(al_view(matrix(w, M)),
		al_columns(al_view(matrix(vectors, N)), 0, M), cosines, &before, NULL));
	assert_true(al_hebbian_batch(c_view, 0.25, 0, 5000, matrix(w, M), NULL)
		&& al_hebbian_alignment(al_view(matrix(w, M)),
			al_columns(al_view(matrix(vectors, N)), 0, M), cosines, &angle, NULL));
	assert_true(before > 0.1 && angle < 1e-10);
	for (int c = 0; c < M; c++)
		assert_true(fabs(cosines[c] - 1) < 1e-12);
}

/* F is the mean of what single patterns ask for. */
static void patterns_add_up(void **state)
{
	enum { PATTERNS = 40 };
	double x[PATTERNS * N], gram[N * N] = {0}, f[N * M], mean[N * M] = {0}, w[N * M];
	struct al_random *random = al_random_create(2, 0, 0, 0);

	(void)state;
	al_random_gaussian(random, x, PATTERNS * N);
	al_random_destroy(random);
	start(w);
	for (int t = 0; t < PATTERNS; t++) {
		double left[N];
		memcpy(left, x + t * N, sizeof(left));
		for (int c = 0; c < M; c++) {
			double y = 0;
			for (int i = 0; i < N; i++)
				y += w[i + c * N] * x[t * N + i];
			for (int i = 0; i < N; i++) {
				left[i] -= y * w[i + c * N];
				mean[i + c * N] += y * left[i] / PATTERNS;
			}
		}
		for (int i = 0; i < N * N; i++)
			gram[i] += x[t * N + i % N] * x[t * N + i / N] / PATTERNS;
	}
	assert_true(al_hebbian_direction((struct al_view){gram, N, N, N}, al_view(matrix(w, M)),
		matrix(f, M), NULL));
	for (int i = 0; i < N * M; i++)
		assert_true(fabs(mean[i] - f[i]) < 1e-12);
}

static void what_diverges(void **state)
{
	double w[N * M];
	struct al_error err;

	(void)state;
	start(w);
	assert_false(al_hebbian_batch(c_view, 5, 0, 100, matrix(w, M), &err));
	assert_int_equal(err.status, AL_EINPUT);
	assert_ptr_equal(strstr(err.message, "a learning rate of 5 diverges: at step "),
		err.message);
}

/* ---- the constrained step ---- */

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Both constraints to rounding, and the paper's form of the same step, over its ranges. */
static void constraints_hold(void **state)
{
	enum { LENGTH = 64 };
	static const double delta_ps[] = {.05, .1, .2, .3, .5}, xis[] = {.8, .85, .9, .95, .99};
	double g[LENGTH], f[LENGTH], step[LENGTH];
	struct al_random *random = al_random_create(3, 0, 0, 0);

	(void)state;
	al_random_gaussian(random, g, LENGTH);
	al_random_gaussian(random, f, LENGTH);
	al_random_destroy(random);
	for (size_t p = 0; p < 5; p++)
		for (size_t x = 0; x < 5; x++) {
			struct al_constrained c;
			const double delta_q = -xis[x] * delta_ps[p] * sqrt(dot(g, g, LENGTH));
			assert_true(al_constrained_step(g, f, LENGTH, delta_ps[p], xis[x], step, &c,
				NULL));
			assert_true(fabs(c.length - delta_ps[p]) < 1e-15);
			assert_true(fabs(dot(g, step, LENGTH) - delta_q) < 1e-14);
			assert_true(c.delta_q == delta_q);
			for (size_t i = 0; i < LENGTH; i++)
				assert_true(fabs(step[i] + c.lambda_1 / (2 * c.lambda_2) * g[i]
						    - f[i] / (2 * c.lambda_2))
					< 1e-14);
		}
}

/* No other step that keeps both constraints goes further along F. */
static void is_the_best(void **state)
{
	enum { LENGTH = 8 };
	double g[LENGTH], f[LENGTH], step[LENGTH], other[LENGTH], rest[LENGTH];
	struct al_random *random = al_random_create(4, 0, 0, 0);
	struct al_constrained c;

	(void)state;
	al_random_gaussian(random, g, LENGTH);
	al_random_gaussian(random, f, LENGTH);
	assert_true(al_constrained_step(g, f, LENGTH, 0.2, 0.8, step, &c, NULL));
	for (int trial = 0; trial < 1000; trial++) {
		/* any direction will do: the step along it keeps the constraints too */
		al_random_gaussian(random, rest, LENGTH);
		assert_true(al_constrained_step(g, rest, LENGTH, 0.2, 0.8, other, &c, NULL));
		assert_true(dot(f, other, LENGTH) <= dot(f, step, LENGTH) + 1e-15);
	}
	al_random_destroy(random);
}

static void no_such_step(void **state)
{
	static const struct {
		double g[2], f[2], delta_p, xi;
		const char *message;
	} cases[] = {
		{{1, 0}, {0, 1}, .2, 1,
			"xi is 1, expected 0 to 1: no step of length delta_p lowers the loss by "
			"more than delta_p times the gradient's norm"},
		{{1, 0}, {0, 1}, .2, 0,
			"xi is 0, expected 0 to 1: no step of length delta_p lowers the loss by "
			"more than delta_p times the gradient's norm"},
		{{0, 0}, {0, 1}, .2, .8,
			"the gradient is 0: no step lowers the loss to first order"},
		{{1, 2}, {-2, -4}, .2, .8,
			"the direction is parallel to the gradient, so it doesn't select a step"},
		{{1, 2}, {0, 0}, .2, .8, "the direction is 0, so it doesn't select a step"},
		{{1, 2}, {0, 1}, 0, .8, "delta_p is 0, expected a positive length"},
		{{NAN, 2}, {0, 1}, .2, .8, "the gradient or the direction isn't finite"},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		double step[2];
		struct al_constrained c;
		struct al_error err;
		assert_false(al_constrained_step(cases[k].g, cases[k].f, 2, cases[k].delta_p,
			cases[k].xi, step, &c, &err));
		assert_string_equal(err.message, cases[k].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numpy_agrees),
		cmocka_unit_test(converges_to_eigenvectors),
		cmocka_unit_test(patterns_add_up),
		cmocka_unit_test(what_diverges),
		cmocka_unit_test(constraints_hold),
		cmocka_unit_test(is_the_best),
		cmocka_unit_test(no_such_step),
	};

	return cmocka_run_group_tests(tests, fill_covariance, NULL);
}
