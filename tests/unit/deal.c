/* Shares of work: alike for everybody, and nearly equal. */
#include "unit.h"

#include "audit/deal.h"

static void check(const double *sizes, size_t n, size_t n_shards, const size_t *expected)
{
	size_t shards[16];

	al_deal(sizes, n, n_shards, shards);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(shards[i], expected[i]);
}

static void deals_by_size(void **state)
{
	(void)state;
	check((double[]){1, 1, 1, 1, 1}, 5, 2, (size_t[]){0, 1, 0, 1, 0});
	check((double[]){1, 2, 3, 4, 10}, 5, 2, (size_t[]){1, 1, 1, 1, 0});
	check((double[]){5, 4, 3, 3, 3}, 5, 2, (size_t[]){0, 1, 1, 0, 1});
	check((double[]){0, 0, 7}, 3, 3, (size_t[]){1, 1, 0});
	check((double[]){2, 3}, 2, 1, (size_t[]){0, 0});
	check((double[]){2, 3}, 2, 5, (size_t[]){1, 0});
	check(NULL, 0, 3, NULL);
}

/* No shard has more than 4/3 of the best (Graham 1969): of equal items one more than another. */
static void deals_equal_items_evenly(void **state)
{
	double sizes[80];
	size_t shards[80], counts[7] = {0};

	(void)state;
	for (size_t i = 0; i < 80; i++)
		sizes[i] = 4096;
	al_deal(sizes, 80, 7, shards);
	for (size_t i = 0; i < 80; i++)
		counts[shards[i]]++;
	for (size_t i = 0; i < 7; i++)
		assert_between(counts[i], 11, 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deals_by_size),
		cmocka_unit_test(deals_equal_items_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
