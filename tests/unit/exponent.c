/* The exponential of the forward pass against the C library's in double. */
#include "unit.h"

#include <math.h>

#include "forward/exponent.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
