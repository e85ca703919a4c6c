/* Exact numbers: decimals in and out, rounding as people round. */
#include "unit.h"

#include "base/exact.h"

static const struct reading {
	const char *text, *rounded;
	int digits;
} readings[] = {
	{"28.32", "28.32", 2},
	{"5,370,112", "5370112", 0},
	{"-0.81", "-0.81", 2},
	{"\u22120.81", "-0.81", 2},
	{"+0.5", "0.5", 1},
	{"0.00", "0.00", 2},
	{"100.0", "100.0", 1},
};

static void reads_decimals_as_printed(void **state)
{
	struct al_arena arena;
	mpq_t q;

	(void)state;
	al_arena_init(&arena);
	mpq_init(q);
	for (size_t i = 0; i < sizeof(readings) / sizeof(*readings); i++) {
		int digits;
		assert_true(al_exact_parse(readings[i].text, q, &digits));
		assert_int_equal(digits, readings[i].digits);
		assert_string_equal(al_exact_decimal(&arena, q, digits), readings[i].rounded);
	}
	mpq_clear(q);
	al_arena_finish(&arena);
}

static void refuses_what_is_no_decimal(void **state)
{
	static const char *const texts[] = {"", "-", ".5", "5.", "1e3", "1,23", "1 2", "3n",
		"1.2.3", "12,34,567"};
	mpq_t q;
	int digits;

	(void)state;
	mpq_init(q);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_false(al_exact_parse(texts[i], q, &digits));
	mpq_clear(q);
}

static void check_rounded(struct al_arena *arena, long n, unsigned long d, int digits,
	const char *expected)
{
	mpq_t q;

	mpq_init(q);
	mpq_set_si(q, n, d);
	mpq_canonicalize(q);
	assert_string_equal(al_exact_decimal(arena, q, digits), expected);
	mpq_clear(q);
}

static void rounds_halves_away_from_zero(void **state)
{
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	check_rounded(&arena, 9895, 100, 1, "99.0");
	check_rounded(&arena, -5, 1000, 2, "-0.01");
	check_rounded(&arena, -4, 1000, 2, "0.00");
	check_rounded(&arena, 1, 3, 4, "0.3333");
	check_rounded(&arena, 2, 3, 0, "1");
	check_rounded(&arena, 123, 1, 2, "123.00");
	al_arena_finish(&arena);
}

static void prints_and_groups(void **state)
{
	struct al_arena arena;
	mpq_t q;

	(void)state;
	al_arena_init(&arena);
	mpq_init(q);
	mpq_set_si(q, 1, 3);
	assert_string_equal(al_exact_text(&arena, q), "0.333333333333333");
	mpq_set_si(q, 64000, 1304);
	mpq_canonicalize(q);
	assert_string_equal(al_exact_text(&arena, q), "49.079754601227");
	mpq_set_si(q, 10, 10001);
	assert_string_equal(al_exact_text(&arena, q), "0.000999900009999");
	mpq_set_si(q, 28311552, 1);
	assert_string_equal(al_exact_text(&arena, q), "28311552");
	assert_string_equal(al_exact_grouped(&arena, "28311552.25"), "28,311,552.25");
	assert_string_equal(al_exact_grouped(&arena, "-999"), "-999");
	mpz_ui_pow_ui(mpq_numref(q), 10, 40);
	mpq_srcptr copy = al_exact_copy(&arena, q);
	assert_string_equal(al_exact_text(&arena, copy),
		"10000000000000000000000000000000000000000");
	mpq_clear(q);
	al_arena_finish(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_decimals_as_printed),
		cmocka_unit_test(refuses_what_is_no_decimal),
		cmocka_unit_test(rounds_halves_away_from_zero),
		cmocka_unit_test(prints_and_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
