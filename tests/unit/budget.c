/* What an input may cost: steps, and the memory of arenas while they hold it. */
#include "unit.h"

#include "base/base.h"
#include "base/budget.h"

static void steps_grow_with_the_input(void **state)
{
	struct al_budget budget = {.n_input = 1000};
	struct al_error err;

	(void)state;
	assert_true(al_budget_take(&budget, AL_BUDGET_STEPS, &err));
	assert_true(al_budget_take(&budget, 256 * 1000, &err));
	assert_false(al_budget_take(&budget, 1, &err));
	assert_int_equal(err.status, AL_EINPUT);
	assert_string_equal(err.message,
		"too costly: needs 67364865 steps or more, the limit for 1000 bytes of input is "
		"67364864");
	assert_false(al_budget_take(&budget, UINT64_MAX, &err));
	budget.n_input = UINT64_MAX;
	assert_true(al_budget_holds(&budget, 0));
}

static void arenas_take_bytes_and_give_them_back(void **state)
{
	struct al_budget budget = {.n_input = 0};
	struct al_arena arena = {.budget = &budget};
	struct al_error err;

	(void)state;
	al_arena_alloc(&arena, AL_BUDGET_BYTES - 64, 1); /* a sanitizer takes some more */
	assert_true(al_budget_take(&budget, 1, &err));
	al_arena_alloc(&arena, 1, 1);
	assert_false(al_budget_take(&budget, 1, &err));
	assert_non_null(strstr(err.message, " bytes of memory or more, the limit for 0 bytes "));
	al_arena_finish(&arena);
	assert_int_equal(budget.bytes, 0);
	assert_true(al_budget_check(&budget, AL_BUDGET_BYTES, &err));
	assert_false(al_budget_check(&budget, AL_BUDGET_BYTES + 1, &err));
	assert_false(al_budget_check(&budget, UINT64_MAX, &err));
}

static void a_cleared_arena_keeps_its_newest_block(void **state)
{
	struct al_budget budget = {.n_input = 0};
	struct al_arena arena = {.budget = &budget};

	(void)state;
	al_arena_clear(&arena);
	for (int i = 0; i < 100; i++)
		memset(al_arena_alloc(&arena, 1000, 1), 'x', 1000);
	const uint64_t all = budget.bytes;
	al_arena_clear(&arena);
	assert_true(budget.bytes > 0 && budget.bytes < all);
	const uint64_t kept = budget.bytes;
	const char *again = al_arena_alloc(&arena, 1000, 1);
	assert_int_equal(budget.bytes, kept);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(again[i], 0);
	al_arena_finish(&arena);
	assert_int_equal(budget.bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_grow_with_the_input),
		cmocka_unit_test(arenas_take_bytes_and_give_them_back),
		cmocka_unit_test(a_cleared_arena_keeps_its_newest_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
