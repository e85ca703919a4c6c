/* Numbers as papers print them. */
#include "unit.h"

#include "base/number.h"
#include "scenario/printed.h"

static const struct {
	const char *text, *first, *last; /* first NULL: it is no number */
	int digits;
	int64_t scale;
	const char *unit; /* "": none */
	bool is_fraction, is_about;
} cases[] = {
	{"28.32", "28.32", "28.32", 2, 1, "", false, false},
	{"55%", "55", "55", 0, 1, "", false, false},
	{"4.0 x", "4", "4", 1, 1, "", false, false},
	{"4\303\227", "4", "4", 0, 1, "", false, false},
	{"~ 55", "55", "55", 0, 1, "", false, true},
	{"about  5.5", "5.5", "5.5", 1, 1, "", false, true},
	{"28.3M", "28.3", "28.3", 1, 1, "M", false, false},
	{"28 GiB", "28", "28", 0, 1, "GiB", false, false},
	{"28 B", "28", "28", 0, 1, "B", false, false},
	{"80.0 \302\261 0.3", "80", "80", 1, 1, "", false, false},
	{"80.0 (0.3)", "80", "80", 1, 1, "", false, false},
	{"80.0 +- x", NULL, NULL, 0, 1, "", false, false},
	{"80.0 (", NULL, NULL, 0, 1, "", false, false},
	{"2/3", "2/3", "2/3", 0, 1, "", true, false},
	{"2.0/3", NULL, NULL, 0, 1, "", false, false},
	{"2/0", NULL, NULL, 0, 1, "", false, false},
	{"2/-3", NULL, NULL, 0, 1, "", false, false},
	{"1e6", "1", "1", 0, 1000000, "", false, false},
	{"1.5E-3", "3/2000", "3/2000", 4, 1, "", false, false},
	{"2e0", "2", "2", 0, 1, "", false, false},
	{"1e18", "1", "1", 0, INT64_C(1000000000000000000), "", false, false},
	{"1e19", NULL, NULL, 0, 1, "", false, false},
	{"1e-18", "1/1000000000000000000", "1/1000000000000000000", 18, 1, "", false, false},
	{"1e-19", NULL, NULL, 0, 1, "", false, false},
	{"1e", NULL, NULL, 0, 1, "", false, false},
	{"1e 6", NULL, NULL, 0, 1, "", false, false},
	{"1e6x9", NULL, NULL, 0, 1, "", false, false},
	{"0.6..17.44", "0.6", "17.44", 1, 1, "", false, false},
	{"0.60..17.4x", "0.6", "17.4", 1, 1, "", false, false},
	{"1e3..2e3", "1", "2", 0, 1000, "", false, false},
	{"1e3..2e4", NULL, NULL, 0, 1, "", false, false},
	{"1..", NULL, NULL, 0, 1, "", false, false},
	{"..1", NULL, NULL, 0, 1, "", false, false},
	{"%", NULL, NULL, 0, 1, "", false, false},
	{"", NULL, NULL, 0, 1, "", false, false},
};

static void assert_exact(mpq_srcptr found, const char *expected)
{
	mpq_t q;
	int digits;

	mpq_init(q);
	if (strchr(expected, '/'))
		assert_int_equal(mpq_set_str(q, expected, 10), 0);
	else
		assert_true(al_exact_parse(expected, q, &digits));
	assert_true(mpq_equal(found, q));
	mpq_clear(q);
}

static void numbers_are_read(void **state)
{
	AL_ARENA(arena);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_printed printed;
		if (al_printed_parse(&printed, &arena, cases[i].text) != (cases[i].first != NULL))
			fail_msg("\"%s\"", cases[i].text);
		if (!cases[i].first)
			continue;
		assert_exact(printed.first, cases[i].first);
		assert_exact(printed.last, cases[i].last);
		assert_int_equal(printed.digits, cases[i].digits);
		assert_int_equal(printed.scale, cases[i].scale);
		assert_string_equal(printed.unit ? printed.unit : "", cases[i].unit);
		assert_int_equal(printed.is_fraction, cases[i].is_fraction);
		assert_int_equal(printed.is_about, cases[i].is_about);
	}
}

/* The spread is half the width of what is in brackets. */
static void ranges_are_read(void **state)
{
	static const struct {
		const char *text, *middle, *spread; /* NULL: it is no range */
		int digits;
	} ranges[] = {
		{"[83.7, 84.3]", "84", "0.3", 1},
		{"[83.7, 84.4]", "84.05", "0.35", 2},
		{"[1, 1.25]", "1.125", "0.125", 3},
		{"[1.50, 1]", "1.25", "-0.25", 2},
		{"[83.7,84.3]", NULL, NULL, 0},
		{"83.7, 84.3]", NULL, NULL, 0},
		{"[83.7, 84.3", NULL, NULL, 0},
		{"[x, 84.3]", NULL, NULL, 0},
		{"[", NULL, NULL, 0},
		{"", NULL, NULL, 0},
	};
	AL_ARENA(arena);

	(void)state;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		mpq_ptr middle = al_exact_new(&arena), spread = al_exact_new(&arena);
		int digits;
		const bool is_range = al_spread_of_range(&arena, al_strdup(&arena, ranges[i].text),
			middle, &digits, spread);
		if (is_range != (ranges[i].middle != NULL))
			fail_msg("\"%s\"", ranges[i].text);
		if (!is_range)
			continue;
		assert_exact(middle, ranges[i].middle);
		assert_exact(spread, ranges[i].spread);
		assert_int_equal(digits, ranges[i].digits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_read),
		cmocka_unit_test(ranges_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
