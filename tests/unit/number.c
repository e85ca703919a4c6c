/* Exact numbers: counts, arithmetic in place, decimals in and out, rounding as people round. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static void reads_digits(void **state)
{
	int64_t value;

	(void)state;
	assert_int_equal(al_read_digits("120:8", &value), 3);
	assert_int_equal(value, 120);
	assert_int_equal(al_read_digits("9223372036854775807", &value), 19);
	assert_true(value == INT64_MAX);
	assert_int_equal(al_read_digits("9223372036854775808", &value), 19);
	assert_int_equal(value, -1);
	assert_int_equal(al_read_digits("92233720368547758070000000000000000000", &value), 38);
	assert_int_equal(value, -1);
	assert_int_equal(al_read_digits("-1", &value), 0);
	assert_int_equal(al_read_digits(" 1", &value), 0);
	assert_int_equal(al_read_digits("", &value), 0);
	assert_int_equal(al_read_tokens("128k,", &value), 4);
	assert_int_equal(value, 131072);
	assert_int_equal(al_read_tokens("1M", &value), 2);
	assert_int_equal(value, 1048576);
	assert_int_equal(al_read_tokens("12", &value), 2);
	assert_int_equal(value, 12);
	assert_int_equal(al_read_tokens("k", &value), 0);
	assert_int_equal(al_read_tokens("9007199254740993k", &value), 17);
	assert_int_equal(value, -1);
	assert_int_equal(al_read_tokens("9223372036854775808M", &value), 20);
	assert_int_equal(value, -1);
}

static void counts_within_64_bits(void **state)
{
	const int64_t dims[] = {INT64_C(1) << 40, 0, INT64_C(1) << 22, 2, -1};
	int64_t n;

	(void)state;
	assert_int_equal(al_divide_up(8, 4), 2);
	assert_int_equal(al_divide_up(9, 4), 3);
	assert_int_equal(al_divide_up(0, 4), 0);
	assert_true(al_divide_up(INT64_MAX, 2) == INT64_C(1) << 62);
	assert_true(al_multiply_dims(3, dims, 0, &n) && n == 3);
	assert_true(al_multiply_dims(3, dims, 1, &n) && n == INT64_C(3) << 40);
	assert_true(al_multiply_dims(1, dims, 3, &n) && n == 0);
	assert_false(al_multiply_dims(1, dims, 4, &n)); /* 2^63, however much is times zero */
	assert_false(al_multiply_dims(1, dims + 3, 2, &n));
}

/* GMP's numbers and those of 64 bits, on machines whose long has 32. */
static void converts_64_bits(void **state)
{
	static const struct {
		const char *text;
		bool fits;
		int64_t value;
	} cases[] = {
		{"0", true, 0},
		{"-4294967297", true, -INT64_C(4294967297)},
		{"9223372036854775807", true, INT64_MAX},
		{"9223372036854775808", false, INT64_MAX},
		{"-9223372036854775808", true, INT64_MIN},
		{"-9223372036854775809", false, INT64_MIN},
		{"340282366920938463463374607431768211456", false, INT64_MAX},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t value;
		AL_EXACT(q);
		AL_EXACT(back);
		mpq_set_str(q, cases[i].text, 10);
		assert_true(al_integer_get(mpq_numref(q), &value) == cases[i].fits);
		assert_true(value == cases[i].value);
		al_exact_set(back, value);
		assert_true(mpq_equal(back, q) == cases[i].fits);
		al_exact_multiply(back, -INT64_C(4294967299));
		al_exact_divide(back, INT64_C(8589934598));
		assert_true(al_exact_whole(back) == -(value / 2));
	}
}

static void rounds_to_64_bits(void **state)
{
	AL_EXACT(q);
	(void)state;

	mpq_set_str(q, "-7/2", 10);
	assert_int_equal(al_exact_whole(q), -3);
	assert_int_equal(al_exact_ceil(q), -3);
	mpq_neg(q, q);
	assert_int_equal(al_exact_whole(q), 3);
	assert_int_equal(al_exact_ceil(q), 4);
}

static void check_exact(mpq_srcptr q, const char *expected)
{
	char *text = mpq_get_str(NULL, 10, q);

	assert_string_equal(text, expected);
	free(text);
}

static void multiplies_and_divides_in_lowest_terms(void **state)
{
	mpq_t q, other;

	(void)state;
	mpq_inits(q, other, NULL);
	al_exact_set(q, 12);
	al_exact_divide(q, 9);
	check_exact(q, "4/3");
	al_exact_multiply(q, 6);
	check_exact(q, "8");
	al_exact_multiply(q, INT64_MIN);
	check_exact(q, "-73786976294838206464");
	al_exact_set(other, 5);
	al_exact_keep_least(q, other);
	check_exact(q, "-73786976294838206464");
	al_exact_keep_most(q, other);
	check_exact(q, "5");
	al_exact_divide(q, 8);
	assert_true(al_exact_saving(q, q, other));
	check_exact(q, "175/2");
	mpq_set_ui(other, 0, 1);
	assert_false(al_exact_saving(q, q, other));
	mpq_clears(q, other, NULL);
}

static void scales_into_an_arena(void **state)
{
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	mpq_srcptr ten = al_exact_from_int(&arena, 10);
	check_exact(al_exact_scaled(&arena, ten, 1, 4), "5/2");
	check_exact(al_exact_scaled(&arena, ten, 3, 3), "10");
	check_exact(al_exact_scaled(&arena, ten, 0, 3), "0");
	al_arena_finish(&arena);
}

static char finished[8];

static void finish_letter(void *letter)
{
	strcat(finished, letter);
}

static void finishes_with_an_arena(void **state)
{
	char letters[][2] = {"a", "b", "c"};
	struct al_arena arena;

	(void)state;
	finished[0] = '\0';
	al_arena_init(&arena);
	mpq_set_si(al_exact_new(&arena), -3, 2);
	al_arena_defer(&arena, finish_letter, letters[0]);
	const struct al_arena_deferred *mark = arena.deferred;
	al_arena_defer(&arena, finish_letter, letters[1]);
	al_arena_defer(&arena, finish_letter, letters[2]);
	al_arena_settle(&arena, mark);
	assert_string_equal(finished, "cb");
	al_arena_settle(&arena, mark);
	al_arena_finish(&arena);
	assert_string_equal(finished, "cba");
}

static void cuts_and_halves_the_last_digit(void **state)
{
	mpq_t q;

	(void)state;
	mpq_init(q);
	mpq_set_si(q, 9899, 100);
	al_exact_truncate(q, q, 1);
	check_exact(q, "989/10");
	mpq_set_si(q, -9899, 100);
	al_exact_truncate(q, q, 0);
	check_exact(q, "-98");
	al_exact_unit(q, 2, 2);
	check_exact(q, "1/200");
	al_exact_unit(q, 0, 1);
	check_exact(q, "1");
	mpq_clear(q);
}

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
	/* a quarter, and more digits than a double has */
	mpq_set_si(q, 102944000000109378, 8);
	mpq_canonicalize(q);
	assert_string_equal(al_exact_text(&arena, q), "12868000000013672.25");
	mpq_set_si(q, 1, 1000000);
	assert_string_equal(al_exact_text(&arena, q), "0.000001");
	mpq_set_si(q, 28311552, 1);
	assert_string_equal(al_exact_text(&arena, q), "28311552");
	assert_string_equal(al_exact_grouped(&arena, "28311552.25"), "28,311,552.25");
	assert_string_equal(al_exact_grouped(&arena, "-999"), "-999");
	mpz_ui_pow_ui(mpq_numref(q), 10, 40);
	mpq_srcptr copy = al_exact_copy(&arena, q);
	assert_string_equal(al_exact_text(&arena, copy),
		"10000000000000000000000000000000000000000");
	/* 1 + 10^-40 rounds to a whole number: no point is left at its end */
	mpz_set(mpq_denref(q), mpq_numref(q));
	mpz_add_ui(mpq_numref(q), mpq_numref(q), 1);
	assert_string_equal(al_exact_text(&arena, q), "1");
	mpq_clear(q);
	al_arena_finish(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_digits),
		cmocka_unit_test(counts_within_64_bits),
		cmocka_unit_test(converts_64_bits),
		cmocka_unit_test(rounds_to_64_bits),
		cmocka_unit_test(multiplies_and_divides_in_lowest_terms),
		cmocka_unit_test(scales_into_an_arena),
		cmocka_unit_test(finishes_with_an_arena),
		cmocka_unit_test(cuts_and_halves_the_last_digit),
		cmocka_unit_test(reads_decimals_as_printed),
		cmocka_unit_test(refuses_what_is_no_decimal),
		cmocka_unit_test(rounds_halves_away_from_zero),
		cmocka_unit_test(prints_and_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
