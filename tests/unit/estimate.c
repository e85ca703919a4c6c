/* Means of sequences with their errors: against a bootstrap, and how often intervals cover. */
#include "unit.h"

#include "base/estimate.h"
#include "base/random.h"

enum { MOST_UNITS = 64 };

static const double means[] = {1.2, 1.3};

/* A sequence's tokens share a part of their loss, and two models share most of it; lengths
 * differ. */
static size_t draw_length(struct al_random *random)
{
	return 8 + (size_t)(56 * al_random_uniform(random));
}

static void draw(struct al_random *random, struct al_unit *before, struct al_unit *after, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const double length = (double)draw_length(random);
		double common[2], own[2];
		al_random_gaussian(random, common, 2);
		al_random_gaussian(random, own, 2);
		/* skewed, as losses are; exp(g) has mean exp(1/2) */
		const double shared = .3 * (exp(common[0]) - exp(.5)) + .2 * common[1];
		before[i] = (struct al_unit){length * (means[0] + shared) + sqrt(length) * own[0],
			length};
		after[i] = (struct al_unit){length * (means[1] + 1.02 * shared + .05 * own[1])
				+ sqrt(length) * own[0],
			length};
	}
}

static void assert_near(double found, double expected, double most)
{
	assert_true(fabs(found - expected) <= most);
}

static void equal_sequences_have_a_plain_mean(void **state)
{
	const struct al_unit units[] = {{2, 2}, {4, 2}, {9, 2}, {0, 0}};
	const struct al_estimate e = al_estimate_mean(units, 4);

	(void)state;
	assert_int_equal(e.n, 3);
	assert_near(e.mean, 2.5, 1e-15);
	/* of 1, 2 and 4.5: the deviation is sqrt(13/4) */
	assert_near(e.error, sqrt(13. / 4 / 3), 1e-14);
	/* t of 2 degrees of freedom: 4.302653 at 95 %, 6.205347 at 97.5 % */
	assert_near(al_estimate_margin(e, 1) / e.error, 4.302653, 1e-6);
	assert_near(al_estimate_margin(e, 2) / e.error, 6.205347, 1e-6);
}

static void one_sequence_has_no_error(void **state)
{
	const struct al_unit units[] = {{3, 2}, {0, 0}};
	const struct al_estimate e = al_estimate_mean(units, 2);

	(void)state;
	assert_near(e.mean, 1.5, 0);
	assert_true(isnan(e.error) && isnan(al_estimate_margin(e, 1)));
	assert_false(al_estimate_is_apart(e, 1));
}

static double bootstrap(struct al_random *random, const struct al_unit *units, size_t n)
{
	enum { DRAWS = 4000 };
	double sum = 0, squares = 0;

	for (int draw = 0; draw < DRAWS; draw++) {
		struct al_unit all = {0};
		for (size_t i = 0; i < n; i++) {
			const struct al_unit *one =
				&units[(size_t)((double)n * al_random_uniform(random))];
			all.sum += one->sum;
			all.n += one->n;
		}
		sum += all.sum / all.n;
		squares += all.sum / all.n * all.sum / all.n;
	}
	return sqrt(squares / DRAWS - sum / DRAWS * sum / DRAWS);
}

static void errors_are_those_of_a_bootstrap(void **state)
{
	struct al_unit before[MOST_UNITS], after[MOST_UNITS], change[MOST_UNITS];

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		const size_t n = seed % 2 ? 16 : MOST_UNITS;
		struct al_random *random = al_random_create(seed, 0, 0, 0);
		draw(random, before, after, n);
		for (size_t i = 0; i < n; i++)
			change[i] = (struct al_unit){after[i].sum - before[i].sum, before[i].n};
		const double of_mean = al_estimate_mean(before, n).error
			/ bootstrap(random, before, n);
		const double of_change = al_estimate_change(before, after, n).error
			/ bootstrap(random, change, n);
		assert_true(fabs(of_mean - 1) < .2 && fabs(of_change - 1) < .2);
		al_random_destroy(random);
	}
}

/* Of 4,000 intervals 95 % cover within four binomial deviations, 1.4 %, although sequences differ
 * in length and losses are skewed. */
static void intervals_of_changes_cover(void **state)
{
	enum { SAMPLES = 4000, N = 16 };
	struct al_unit before[N], after[N];
	struct al_random *random = al_random_create(1, 2, 3, 4);
	int covered = 0;

	(void)state;
	for (int sample = 0; sample < SAMPLES; sample++) {
		draw(random, before, after, N);
		const struct al_estimate e = al_estimate_change(before, after, N);
		covered += fabs(e.mean - (means[1] - means[0])) <= al_estimate_margin(e, 1);
	}
	al_random_destroy(random);
	assert_true(fabs(covered - .95 * SAMPLES) < .014 * SAMPLES);
}

/* Of heads that are worth the same any may be called the best one; the least of a sample rules that
 * one out in at most 5 % of samples. */
static void the_best_is_seldom_ruled_out(void **state)
{
	enum { SAMPLES = 2000, N = 16, HEADS = 6 };
	struct al_random *random = al_random_create(5, 6, 7, 8);
	struct al_unit heads[HEADS][N], whole[N];
	int ruled_out = 0;

	(void)state;
	for (int sample = 0; sample < SAMPLES; sample++) {
		size_t least = 0;
		draw(random, whole, heads[0], N);
		for (size_t head = 0; head < HEADS; head++) {
			double own[N];
			al_random_gaussian(random, own, N);
			for (size_t i = 0; i < N; i++)
				heads[head][i] = (struct al_unit){whole[i].sum
						+ whole[i].n * .05 * own[i],
					whole[i].n};
			if (al_estimate_change(heads[least], heads[head], N).mean < 0)
				least = head;
		}
		ruled_out += al_estimate_is_apart(al_estimate_change(heads[least], heads[0], N),
			HEADS - 1);
	}
	al_random_destroy(random);
	assert_true(ruled_out < SAMPLES * .05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_sequences_have_a_plain_mean),
		cmocka_unit_test(one_sequence_has_no_error),
		cmocka_unit_test(errors_are_those_of_a_bootstrap),
		cmocka_unit_test(intervals_of_changes_cover),
		cmocka_unit_test(the_best_is_seldom_ruled_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
