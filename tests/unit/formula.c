/* Formulas: what is accepted, what is refused and how the message reads, and exact values. */
#include "unit.h"

#include "base/number.h"
#include "base/text.h"
#include "formula/formula.h"

#define N_OF(table) (sizeof(table) / sizeof(*(table)))

/* ---- a scope of three layers ---- */

static const struct {
	const char *name;
	int64_t value;
} numbers[] = {
	{"d_model", 768},
	{"n_heads", 12},
	{"d_head", 64},
	{"layer", 1},
	{"big", INT64_MAX},
	{"zero", 0},
	{"n", 5},
	{"d", 7},
	{"score:glue", 80},
};
static const char *const names[] = {"d_model", "n_heads", "d_head", "layer", "layer_types"};

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	static const char *const layer_types[] = {"full", "window", "full"};

	(void)context;
	if (strcmp(reference->symbol, "layer_types") == 0 && reference->has_index) {
		*found = reference->index >= 0 && reference->index < 3;
		if (*found)
			al_value_set_word(out, layer_types[reference->index]);
		return true;
	}
	if (strcmp(reference->symbol, "total") == 0 && reference->row) {
		*found = true;
		al_value_set_int(out, (int64_t)strlen(reference->row));
		return true;
	}
	if (strcmp(reference->symbol, "broken") == 0)
		return al_fail(err, AL_ESYSTEM, "the scope is broken");
	if (strcmp(reference->symbol, "half") == 0) {
		mpq_t half;
		mpq_init(half);
		mpq_set_ui(half, 1, 2);
		al_value_set_exact(out, half);
		mpq_clear(half);
		*found = true;
	}
	for (size_t i = 0; i < N_OF(numbers); i++)
		if (strcmp(reference->symbol, numbers[i].name) == 0) {
			*found = true;
			al_value_set_int(out, numbers[i].value);
		}
	return true;
}

static size_t known(void *context, const char *const **out)
{
	(void)context;
	*out = names;
	return N_OF(names);
}

static const struct al_scope scope = {.lookup = look_up, .known = known};

/* ---- values ---- */

struct value_case {
	const char *text, *value;
};

static const struct value_case catalog_values[] = {
	/* precedence */
	{"1 + 2*3^2", "19"},
	{"2^3^2", "512"},
	{"-2^2", "-4"},
	{"(-2)^2", "4"},
	{"2^-0", "1"},
	{"0^0", "1"},
	{"7 - 2 - 1", "4"},
	{"24/4/3", "2"},
	{"24/(4/3)", "18"},
	{"2*-3", "-6"},
	{"--3", "3"},
	{"1 + 1 == 2", "1"},
	{"not 1 == 2", "1"},
	{"not not 3", "1"},
	{"1 or 0 and 0", "1"},
	{"(1 or 0) and 0", "0"},
	{"not 1 or 1", "1"},
	/* rationals and promotion */
	{"1/3 + 1/6", "1/2"},
	{"(2/3)^3", "8/27"},
	{"big + 1", "9223372036854775808"},
	{"big + 1 - 1", "9223372036854775807"},
	{"-big - 1", "-9223372036854775808"},
	{"(-big - 1)/-1", "9223372036854775808"},
	{"ceil_div(-big - 1, -1)", "9223372036854775808"},
	{"mod(-big - 1, -1)", "0"},
	{"big*big", "85070591730234615847396907784232501249"},
	{"big*big/big == big", "1"},
	{"2^64", "18446744073709551616"},
	{"9223372036854775808 - 1", "9223372036854775807"},
	{"1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"},
	{"-(9223372036854775808)", "-9223372036854775808"},
	/* whole division */
	{"ceil_div(7, 2)", "4"},
	{"ceil_div(-7, 2)", "-3"},
	{"ceil_div(7, -2)", "-3"},
	{"ceil_div(8, 2)", "4"},
	{"ceil_div(1/2, 1/3)", "2"},
	{"mod(7, 3)", "1"},
	{"mod(-7, 3)", "2"},
	{"mod(7, -3)", "-2"},
	{"mod(7/2, 3)", "1/2"},
	/* comparisons, words, lazy branches */
	{"1/2 < 2/3", "1"},
	{"3 >= 3", "1"},
	{"3 != 3", "0"},
	{"2 > 3 or 2 <= 2", "1"},
	{"layer_types[0] == 'full'", "1"},
	{"layer_types[layer] == 'full'", "0"},
	{"layer_types[2*layer] != 'full'", "0"},
	{"'a' == 'a'", "1"},
	{"if(1, 2, 1/zero)", "2"},
	{"if(zero, nobody, 3)", "3"},
	{"0 and 1/zero", "0"},
	{"1 or nobody", "1"},
	{"min(3, 1/2, 7)", "1/2"},
	{"max(3, 4^35, 7)", "1180591620717411303424"},
	{"min(4)", "4"},
	/* the field's */
	{"3*d_model*n_heads*d_head + (n_heads*d_head)*d_model", "2359296"},
	{"d_model/n_heads", "64"},
};

static const struct value_case cells_values[] = {
	{"total[mhe-mul]", "7"},
	{"total[base,mha] + total[GQA 4.1]", "15"},
	{"score:glue/2", "40"},
	{"2 - 1", "1"},
};

static const struct value_case printed_values[] = {
	{"3nd", "105"},
	{"(3n^2-3n)d^2 - 3nd", "2835"},
	{"3d^2 n", "735"},
	{"2(n+1)(d-1)", "72"},
	{"n\xC2\xB7"
	 "d \xE2\x88\x92 1",
		"34"},
	{"n\xC3\x97"
	 "d\xE2\x8B\x85"
	 "2",
		"70"},
	{"-nd", "-35"},
	{"n/5", "1"},
	{"n^2d", "175"},
};

static void check_value(const struct value_case *c, enum al_dialect dialect)
{
	struct al_arena arena;
	const struct al_formula *formula;
	struct al_value value;
	struct al_error err = {0};
	mpq_t number;
	char text[128];

	al_arena_init(&arena);
	al_value_init(&value);
	if (!al_formula_parse(&arena, c->text, dialect, &formula, &err)
		|| !al_formula_eval(formula, &scope, &value, &err))
		fail_msg("%s: %s", c->text, err.message);
	assert_string_equal(al_formula_source(formula), c->text);
	mpq_init(number);
	al_value_get(&value, number);
	assert_string_equal(mpq_get_str(text, 10, number), c->value);
	mpq_clear(number);
	al_value_finish(&value);
	al_arena_finish(&arena);
}

static void evaluates_exactly(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(catalog_values); i++)
		check_value(&catalog_values[i], AL_DIALECT_CATALOG);
	for (size_t i = 0; i < N_OF(cells_values); i++)
		check_value(&cells_values[i], AL_DIALECT_CELLS);
	for (size_t i = 0; i < N_OF(printed_values); i++)
		check_value(&printed_values[i], AL_DIALECT_PRINTED);
}

/* ---- refusals ---- */

static const struct refusal {
	enum al_dialect dialect;
	const char *text, *message;
} refusals[] = {
	/* parsing */
	{AL_DIALECT_CATALOG, "", "the formula is empty"},
	{AL_DIALECT_CATALOG, " ", "the formula is empty"},
	{AL_DIALECT_CATALOG, "1 +",
		"column 4: the formula ends, expected a number, a symbol or \"(\""},
	{AL_DIALECT_CATALOG, "(1", "column 3: the formula ends, expected \")\""},
	{AL_DIALECT_CATALOG, "1)", "column 2: found \")\", expected an operator"},
	{AL_DIALECT_CATALOG, "2n", "column 2: found \"n\", expected an operator"},
	{AL_DIALECT_CATALOG, "a b", "column 3: found \"b\", expected an operator"},
	{AL_DIALECT_CATALOG, "+1", "column 1: found \"+\", expected a number, a symbol or \"(\""},
	{AL_DIALECT_CATALOG, "1.5",
		"column 2: found a decimal point, expected a whole number (write "
		"1/2 for 0.5)"},
	{AL_DIALECT_CATALOG, "a = b", "column 3: unexpected character \"=\""},
	{AL_DIALECT_CATALOG, "a \xC2\xB7 b", "column 3: unexpected character \"\xC2\xB7\""},
	{AL_DIALECT_CATALOG, "a \x01", "column 3: unexpected character \"\\x01\""},
	{AL_DIALECT_CATALOG, "a < b < c",
		"column 7: found \"<\", expected \"and\" between two comparisons"},
	{AL_DIALECT_CATALOG, "2^65", "column 3: the exponent is beyond 64"},
	{AL_DIALECT_CATALOG, "2^99999999999999999999", "column 3: the exponent is beyond 64"},
	{AL_DIALECT_CATALOG, "12345678901234567890123456789012345678901",
		"column 1: a number of 41 digits, expected at most 40"},
	{AL_DIALECT_CATALOG, "min", "column 4: the formula ends, expected \"(\" after a function"},
	{AL_DIALECT_CATALOG, "min()",
		"column 5: found \")\", expected a number, a symbol or \"(\""},
	{AL_DIALECT_CATALOG, "if(1, 2)", "column 1: if has 2 arguments, expected 3"},
	{AL_DIALECT_CATALOG, "mod(1, 2, 3)", "column 1: mod has 3 arguments, expected 2"},
	{AL_DIALECT_CATALOG,
		"min(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)",
		"column 1: min has more than 32 arguments"},
	{AL_DIALECT_CATALOG,
		"if(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)",
		"column 1: if has 33 arguments, expected 3"},
	{AL_DIALECT_CATALOG, "min(1; 2)", "column 6: unexpected character \";\""},
	{AL_DIALECT_CATALOG, "min(1 2)", "column 7: found \"2\", expected \",\" or \")\""},
	{AL_DIALECT_CATALOG, "'full'", "column 1: a word can only be compared with == or !="},
	{AL_DIALECT_CATALOG, "a + 'full'", "column 5: a word can only be compared with == or !="},
	{AL_DIALECT_CATALOG, "a < 'full'", "column 5: a word can only be compared with == or !="},
	{AL_DIALECT_CATALOG, "a['full']", "column 3: a word can only be compared with == or !="},
	{AL_DIALECT_CATALOG, "a == 'full", "column 6: the formula ends within a quoted word"},
	{AL_DIALECT_CATALOG, "a[1", "column 4: the formula ends, expected \"]\""},
	{AL_DIALECT_CATALOG, "score:glue", "column 6: unexpected character \":\""},
	{AL_DIALECT_CELLS, "a[]", "column 3: expected a row's name and \"]\""},
	{AL_DIALECT_CELLS, "a[mha", "column 3: expected a row's name and \"]\""},
	{AL_DIALECT_PRINTED, "n_h", "column 2: unexpected character \"_\""},
	{AL_DIALECT_PRINTED, "n2", "column 2: found \"2\", expected an operator"},
	{AL_DIALECT_PRINTED, "1/2 n",
		"column 5: a factor after a quotient is ambiguous, expected "
		"brackets"},
	{AL_DIALECT_PRINTED, "n < d", "column 3: unexpected character \"<\""},
	{AL_DIALECT_PRINTED, "n\xE2\x88\x92",
		"column 3: the formula ends, expected a number, a symbol or \"(\""},
	/* evaluation */
	{AL_DIALECT_CATALOG, "d_head*(d_modl)",
		"column 9: unknown symbol \"d_modl\" (did you mean \"d_model\"?)"},
	{AL_DIALECT_CATALOG, "1 + xyzzyx",
		"column 5: unknown symbol \"xyzzyx\" (known: d_model, "
		"n_heads, d_head, layer, layer_types)"},
	{AL_DIALECT_CATALOG, "layer_types[7] == 'full'",
		"column 1: \"layer_types[7]\" has no value"},
	{AL_DIALECT_CATALOG, "layer_types[1/2] == 'full'",
		"column 14: the index is not a whole number"},
	{AL_DIALECT_CATALOG, "layer_types[0] + 1",
		"column 1: found the word 'full', expected a number"},
	{AL_DIALECT_CATALOG, "not layer_types[0]",
		"column 5: found the word 'full', expected a number"},
	{AL_DIALECT_CATALOG, "n == 'full'", "column 6: found the word 'full', expected a number"},
	{AL_DIALECT_CATALOG, "n <= layer_types[0]",
		"column 6: found the word 'full', expected a number"},
	{AL_DIALECT_CATALOG, "broken", "the scope is broken"},
	{AL_DIALECT_CATALOG, "d_model/(n_heads - 12)",
		"column 8: division by zero in \"d_model/(n_heads - 12)\""},
	{AL_DIALECT_CATALOG, "mod(1, zero)", "column 1: division by zero in \"mod(1, zero)\""},
	{AL_DIALECT_CATALOG, "ceil_div(1, 0)", "column 1: division by zero in \"ceil_div(1, 0)\""},
	{AL_DIALECT_CATALOG, "big^64*big^64", "column 7: more than 4096 bits in \"big^64*big^64\""},
	{AL_DIALECT_CATALOG, "((2^64)^63)^2",
		"column 12: more than 4096 bits in \"((2^64)^63)^2\""},
	{AL_DIALECT_CATALOG, "2^-1",
		"column 2: an exponent that is not a whole number from 0 to 64 in \"2^-1\""},
	{AL_DIALECT_CATALOG, "2^(1/2)",
		"column 2: an exponent that is not a whole number from 0 to 64 in \"2^(1/2)\""},
	{AL_DIALECT_CATALOG, "2^d_model",
		"column 2: an exponent that is not a whole number from 0 to 64 in \"2^d_model\""},
};

static void refuses_with_a_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_OF(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct al_arena arena;
		const struct al_formula *formula;
		struct al_value value;
		struct al_error err = {0};

		al_arena_init(&arena);
		al_value_init(&value);
		if (al_formula_parse(&arena, r->text, r->dialect, &formula, &err)
			&& al_formula_eval(formula, &scope, &value, &err))
			fail_msg("accepted: %s", r->text);
		assert_string_equal(err.message, r->message);
		al_value_finish(&value);
		al_arena_finish(&arena);
	}
}

static char *repeated(char *out, const char *piece, size_t times)
{
	*out = '\0';
	for (size_t i = 0; i < times; i++)
		strcat(out, piece);
	return out;
}

static void bounds_length_and_depth(void **state)
{
	char text[1200], closing[600];
	struct al_arena arena;
	const struct al_formula *formula;
	struct al_error err;

	(void)state;
	al_arena_init(&arena);
	repeated(text, "1", 40);
	assert_true(al_formula_parse(&arena, text, AL_DIALECT_CATALOG, &formula, &err));
	strcat(repeated(text, "1+", 255), "11");
	assert_int_equal(strlen(text), 512);
	assert_true(al_formula_parse(&arena, text, AL_DIALECT_CATALOG, &formula, &err));
	strcat(text, "1");
	assert_false(al_formula_parse(&arena, text, AL_DIALECT_CATALOG, &formula, &err));
	assert_string_equal(err.message, "the formula has 513 characters, expected at most 512");

	strcat(strcat(repeated(text, "(", 32), "1"), repeated(closing, ")", 32));
	assert_true(al_formula_parse(&arena, text, AL_DIALECT_CATALOG, &formula, &err));
	static const char *const nests[] = {"(", "-", "not ", "1^", "min(", "a["};
	for (size_t i = 0; i < N_OF(nests); i++) {
		assert_false(al_formula_parse(&arena, repeated(text, nests[i], 64),
			AL_DIALECT_CATALOG, &formula, &err));
		assert_non_null(strstr(err.message, "nested deeper than 32 levels"));
	}
	al_arena_finish(&arena);
}

/* ---- what else callers ask ---- */

static const struct al_formula *parse(struct al_arena *arena, const char *text)
{
	const struct al_formula *formula;
	struct al_error err;

	if (!al_formula_parse(arena, text, AL_DIALECT_CATALOG, &formula, &err))
		fail_msg("%s: %s", text, err.message);
	return formula;
}

static void asks_for_whole_numbers(void **state)
{
	static const struct {
		const char *text;
		int64_t least, value;
		const char *message;
	} cases[] = {
		{"d_model/n_heads", 1, 64, NULL},
		{"zero", 0, 0, NULL},
		{"2^53 - 1", 0, 9007199254740991, NULL},
		{"d_model/7", 1, 0, "d_model/7 = 768/7 is not a whole number"},
		{"n_heads - 12", 1, 0, "n_heads - 12 = 0, expected 1 or more"},
		{"-4^35", 0, 0, "-4^35 = -1180591620717411303424, expected 0 or more"},
		{"2^53", 1, 0, "2^53 = 9007199254740992, expected less than 2^53"},
		{"2^64^1", 1, 0, "2^64^1 = 18446744073709551616, expected less than 2^53"},
		{"(10^50)^10", 1, 0,
			"(10^50)^10 = a number of 501 digits, expected less than 2^53"},
		{"layer_types[0]", 1, 0, "column 1: found the word 'full', expected a number"},
	};
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_error err = {0};
		int64_t value;
		bool ok = al_formula_whole(parse(&arena, cases[i].text), &scope, cases[i].least,
			&value, &err);
		assert_int_equal(ok, cases[i].message == NULL);
		if (ok)
			assert_int_equal(value, cases[i].value);
		else
			assert_string_equal(err.message, cases[i].message);
	}
	al_arena_finish(&arena);
}

static void holds_where_it_is_not_zero(void **state)
{
	static const struct {
		const char *text;
		bool holds;
	} cases[] = {
		{"n_heads", true},
		{"zero", false},
		{"1/2", true},
		{"4^35", true},
		{"n_heads > 12", false},
	};
	struct al_arena arena;
	struct al_error err;

	(void)state;
	al_arena_init(&arena);
	for (size_t i = 0; i < N_OF(cases); i++) {
		bool holds;
		assert_true(al_formula_holds(parse(&arena, cases[i].text), &scope, &holds, &err));
		assert_int_equal(holds, cases[i].holds);
	}
	al_arena_finish(&arena);
}

static void recognizes_plain_integers(void **state)
{
	struct al_arena arena;
	int64_t value;

	(void)state;
	al_arena_init(&arena);
	assert_true(al_formula_is_integer(parse(&arena, " 42 "), &value));
	assert_int_equal(value, 42);
	assert_true(al_formula_is_integer(parse(&arena, "-7"), &value));
	assert_int_equal(value, -7);
	assert_false(al_formula_is_integer(parse(&arena, "1 + 1"), &value));
	assert_false(al_formula_is_integer(parse(&arena, "n"), &value));
	assert_false(al_formula_is_integer(parse(&arena, "--1"), &value));
	assert_false(al_formula_is_integer(parse(&arena, "9223372036854775808"), &value));
	al_arena_finish(&arena);
}

static void append_symbol(void *context, const char *symbol)
{
	strcat(strcat(context, symbol), " ");
}

static void visits_each_reference(void **state)
{
	char visited[200] = "";
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	al_formula_each_symbol(parse(&arena, "b*a^2 + if(c > 0, layer_types[layer] == 'w', a)"),
		append_symbol, visited);
	assert_string_equal(visited, "b a c layer_types layer a ");
	al_arena_finish(&arena);
}

static void says_which_symbols_are_mentioned(void **state)
{
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	const struct al_formula *formula = parse(&arena,
		"b*a^2 + if(c > 0, layer_types[layer] == 'w', 1)");
	assert_true(al_formula_mentions(formula, "a"));
	assert_true(al_formula_mentions(formula, "layer_types"));
	assert_true(al_formula_mentions(formula, "layer")); /* in an index too */
	assert_false(al_formula_mentions(formula, "w")); /* a word is no symbol */
	assert_false(al_formula_mentions(formula, "layer_type"));
	assert_false(al_formula_mentions(NULL, "a"));
	al_arena_finish(&arena);
}

/* Under a scope that knows d_head = 64, n_heads = 12, zero = 0 ... */
static void says_what_a_value_hangs_on(void **state)
{
	static const struct {
		const char *formula, *symbol;
		bool depends;
	} cases[] = {
		{"if(zero, min(x, y), x)", "y", false},
		{"if(zero, min(x, y), x)", "x", true},
		{"if(d_head > 1, if(zero, y, x), y)", "y", false},
		{"if(x, y, 1)", "y", true}, /* nobody decides it */
		{"d_head*y + x", "y", true},
		{"zero and y", "y", false},
		{"d_head or y", "y", false},
		{"x or y", "y", true},
		{"layer_types[y] == 'full'", "y", true},
		{"d_head", "y", false},
	};
	struct al_arena arena;

	(void)state;
	al_arena_init(&arena);
	for (size_t i = 0; i < N_OF(cases); i++)
		assert_int_equal(al_formula_depends(parse(&arena, cases[i].formula),
					 cases[i].symbol, &scope),
			cases[i].depends);
	assert_false(al_formula_depends(NULL, "y", &scope));
	al_arena_finish(&arena);
}

static void substitutes_in_the_text(void **state)
{
	static const char *const cases[][2] = {
		{"d_model * n_heads*d_head", "768 * 12*64"},
		{"(zero - n_heads)^2", "(0 - 12)^2"},
		{"d_head^half", "64^(1/2)"},
		{"if(layer_types[layer] == 'full', d_head, nobody)",
			"if('window' == 'full', 64, nobody)"},
		{"7", "7"},
	};
	struct al_arena arena;
	struct al_error err;

	(void)state;
	al_arena_init(&arena);
	for (size_t i = 0; i < N_OF(cases); i++) {
		const char *text;
		assert_true(al_formula_substituted(parse(&arena, cases[i][0]), &scope, &arena,
			&text, &err));
		assert_string_equal(text, cases[i][1]);
	}
	al_arena_finish(&arena);
}

static void values_change_their_kind(void **state)
{
	struct al_value value;
	mpq_t q;

	(void)state;
	mpq_init(q);
	al_value_init(&value);
	mpq_set_si(q, 3, 2);
	al_value_set_exact(&value, q);
	assert_int_equal(value.kind, AL_VALUE_EXACT);
	al_value_set_exact(&value, value.exact);
	al_value_set_word(&value, "full");
	assert_int_equal(value.kind, AL_VALUE_WORD);
	mpq_set_si(q, -4, 1);
	al_value_set_exact(&value, q);
	assert_int_equal(value.kind, AL_VALUE_INTEGER);
	assert_int_equal(value.integer, -4);
	al_value_finish(&value);
	al_value_finish(&value);
	mpq_clear(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(evaluates_exactly),
		cmocka_unit_test(refuses_with_a_column),
		cmocka_unit_test(bounds_length_and_depth),
		cmocka_unit_test(asks_for_whole_numbers),
		cmocka_unit_test(holds_where_it_is_not_zero),
		cmocka_unit_test(recognizes_plain_integers),
		cmocka_unit_test(visits_each_reference),
		cmocka_unit_test(says_which_symbols_are_mentioned),
		cmocka_unit_test(says_what_a_value_hangs_on),
		cmocka_unit_test(substitutes_in_the_text),
		cmocka_unit_test(values_change_their_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
