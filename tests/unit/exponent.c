/* The exponential of the forward pass against the C library's in double, and activations where they
 * change their form. */
#include "unit.h"

#include <math.h>

#include "model/forward/activation.h"

static void test_one(void **state)
{
	(void)state;
	for (float x = 0; x > -87; x -= 1e-3f) {
		const double expected = exp((double)x);
		assert_true(fabs((double)al_exp_below_zero(x) - expected) <= 2.4e-7 * expected);
	}
	assert_true(al_exp_below_zero(0) == 1);
	assert_true(al_exp_below_zero(-INFINITY) < 1e-37f);
}

static void test_all(void **state)
{
	float x[150];
	double sum = 0, weighed = 0, found;

	(void)state;
	for (int i = 0; i < 150; i++) {
		x[i] = 3 - 0.1f * (float)i;
		sum += exp((double)x[i] - 3);
		weighed += ((double)x[i] - 3) * exp((double)x[i] - 3);
	}
	assert_true(fabs(al_exp_all(x, 150, 3, &found) - sum) <= 1e-6 * sum);
	assert_true(fabs(found - weighed) <= 1e-6 * fabs(weighed));
	assert_true(x[0] == 1);
}

/* In wide vectors and in narrow ones, of which this test is made: the same bits. */
static void test_wide(void **state)
{
	float x[1000], expected[1000], largest = -1e30f;
	double weighed;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		x[i] = -90 * (float)((i * 7919) % 1009) / 1009;
		expected[i] = al_exp_below_zero(x[i] - 0.25f);
		largest = x[i] > largest ? x[i] : largest;
		assert_true(al_largest(x, (size_t)i + 1) == largest);
	}
	assert_true(al_exp_all(x, 1000, 0.25f, &weighed) > 0);
	assert_memory_equal(x, expected, sizeof(x));
}

static void test_entropy(void **state)
{
	float p[37], q[37];
	double expected = 0;

	(void)state;
	for (int i = 0; i < 37; i++) {
		p[i] = i == 5 ? 0 : (float)exp(-2.5 * i);
		q[i] = i % 2 ? 0 : 1 / (float)(1 + i);
		const double mean = ((double)p[i] + (double)q[i]) / 2;
		expected -= mean > 0 ? mean * log(mean) : 0;
	}
	assert_true(fabs(al_mixed_entropy(p, q, 37) - expected) <= 1e-13 * expected);
	assert_true(fabs(al_mixed_entropy(p, q, 6) - al_mixed_entropy(q, p, 6)) == 0);
	assert_true(al_mixed_entropy(p + 5, q + 5, 1) == 0);
}

/* gpt-oss: both sides stay within 7, but for gates below -7. A gate's sigmoid is that of 1.702 of
 * it; 1 is added to the other side. */
static void test_clamped(void **state)
{
	static const double inside[][2] = {{7, 7}, {7, 7}, {6, -7}, {-9, 0}};
	const struct al_activation *clamped;
	float gate[] = {8, 7, 6, -9}, up[] = {9, 7, -8, 0};
	struct al_error err;

	(void)state;
	assert_true(al_activation_find("clamped_swiglu", &clamped, &err));
	al_activate(clamped, NULL, gate, up, 4);
	for (int i = 0; i < 4; i++) {
		const double g = inside[i][0];
		const double expected = (inside[i][1] + 1) * g / (1 + exp(-1.702 * g));
		assert_true(fabs((double)up[i] - expected) <= 1e-5);
	}
}

/* log(1 + e^x) is x beyond what double can add 1 to. */
static void test_softplus(void **state)
{
	(void)state;
	for (double x = -30; x <= 40; x += .5)
		assert_true(fabs(al_softplus(x) - log1p(exp(x))) <= 3e-9);
	assert_true(!islessgreater(al_softplus(800), 800));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_entropy),
		cmocka_unit_test(test_clamped),
		cmocka_unit_test(test_softplus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
