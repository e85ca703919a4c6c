/* Intervals: what comes out holds every value; where a symbol occurs once, no more than that. */
#include "unit.h"

#include <string.h>

#include "formula/interval.h"

/* x goes from 1/2 to 3, y from -2 to 1, z from 0 to 2. */
static const struct range {
	const char *symbol;
	int low, high, parts;
} ranges[] = {{"x", 1, 6, 2}, {"y", -2, 1, 1}, {"z", 0, 2, 1}};

static bool look_up(void *context, const struct al_reference *reference, struct al_interval *out,
	struct al_error *err)
{
	mpq_t low, high;

	(void)context, (void)err;
	mpq_inits(low, high, NULL);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (strcmp(ranges[i].symbol, reference->symbol) == 0) {
			mpq_set_si(low, ranges[i].low, (unsigned)ranges[i].parts);
			mpq_set_si(high, ranges[i].high, (unsigned)ranges[i].parts);
			mpq_canonicalize(low);
			mpq_canonicalize(high);
		}
	al_interval_set(out, low, high);
	mpq_clears(low, high, NULL);
	return true;
}

/* "low..high", "..low high.." or "any". */
static void describe(const struct al_interval *a, char *out, size_t room)
{
	char low[64], high[64];

	gmp_snprintf(low, sizeof(low), "%Qd", a->low);
	gmp_snprintf(high, sizeof(high), "%Qd", a->high);
	if (a->kind == AL_INTERVAL_ANY)
		snprintf(out, room, "any");
	else if (a->kind == AL_INTERVAL_BETWEEN)
		snprintf(out, room, "%s..%s", low, high);
	else
		snprintf(out, room, "%s%s %s%s", a->has_low ? ".." : "", a->has_low ? low : "",
			a->has_high ? high : "", a->has_high ? ".." : "");
}

static void encloses(void **state)
{
	static const struct {
		const char *formula, *expected;
	} cases[] = {
		{"7", "7..7"},
		{"x", "1/2..3"},
		{"-y", "-1..2"},
		{"x + y", "-3/2..4"},
		{"x - y", "-1/2..5"},
		{"x*y", "-6..3"},
		{"y*y", "-2..4"}, /* twice: more than there is */
		{"y^2", "0..4"},
		{"y^3", "-8..1"},
		{"y^0", "1..1"},
		{"x^(-1)", "1/3..2"},
		{"1/x", "1/3..2"},
		{"1/y", "..-1/2 1.."},
		{"1/z", " 1/2.."},
		{"1/(0-z)", "..-1/2 "},
		{"-(1/z)", "..-1/2 "},
		{"2 - 1/z", "..3/2 "},
		{"3/y + x", "..3/2 7/2.."},
		{"3/y - 4*x", "any"},
		{"x + 1/0", "any"},
		{"1/y + 1/y", "any"},
		{"x*10000000000000000000", "5000000000000000000..30000000000000000000"},
		{"-1/y", "..-1 1/2.."},
		{"x/y", "..-1/4 1/2.."},
		{"(0-x)/y", "..-1/2 1/4.."},
		{"1/(1/y)", "-2..1"},
		{"1/y/y", "any"},
		{"1/(y-y)", "..-1/3 1/3.."},
		{"1/0", "any"},
		{"min(x, 1)", "1/2..1"},
		{"min(x, 1/y)", "any"},
		{"max(x, y, 2)", "2..3"},
		{"ceil_div(7, 2)", "4..4"},
		{"ceil_div(x, 2)", "any"},
		{"mod(7, 2)", "1..1"},
		{"x > y", "0..1"},
		{"x > -3", "0..1"},
		{"x < 1/2", "0..1"},
		{"x <= 1/2", "0..1"},
		{"x == 7", "0..1"},
		{"x != 7", "0..1"},
		{"not x", "0..1"},
		{"y and x", "0..1"},
		{"x and 1", "0..1"},
		{"y or x", "0..1"},
		{"if(x > 0, 1, 1/0)", "any"},
		{"if(x < 0, 1/0, y)", "any"},
		{"if(x > 1, 5, y)", "-2..5"},
		{"if(x > 1, 5, 1/y)", "any"},
	};
	struct al_interval_scope scope = {.lookup = look_up};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct al_formula *formula;
		struct al_interval found;
		struct al_arena arena;
		char text[160];
		al_arena_init(&arena);
		al_interval_init(&found);
		assert_true(al_formula_parse(&arena, cases[i].formula, AL_DIALECT_CELLS, &formula,
			NULL));
		assert_true(al_formula_enclose(formula, &scope, &found, NULL));
		describe(&found, text, sizeof(text));
		if (strcmp(text, cases[i].expected) != 0)
			fail_msg("%s: found %s, expected %s", cases[i].formula, text,
				cases[i].expected);
		al_interval_finish(&found);
		al_arena_finish(&arena);
	}
}

/* x^64 of x^64 ... has more digits than anyone may ask for. */
static void gives_up_long_numbers(void **state)
{
	struct al_interval_scope scope = {.lookup = look_up};
	const struct al_formula *formula;
	struct al_interval found;
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	al_interval_init(&found);
	assert_true(al_formula_parse(&arena, "((x^64)^64)^64", AL_DIALECT_CELLS, &formula, NULL));
	assert_true(al_formula_enclose(formula, &scope, &found, NULL));
	assert_int_equal(found.kind, AL_INTERVAL_ANY);
	al_interval_finish(&found);
	al_arena_finish(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encloses),
		cmocka_unit_test(gives_up_long_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
