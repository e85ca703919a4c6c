/* Canonical polynomials: text and LaTeX, cases, opaque factors, degrees, bounds, and the property
 * that a formula and its polynomial have the same values. */
#include "unit.h"

#include "formula/polynomial.h"

#define N_OF(table) (sizeof(table) / sizeof(*(table)))

static int set_up(void **state)
{
	static struct al_arena arena;

	al_arena_init(&arena);
	*state = &arena;
	return 0;
}

static int tear_down(void **state)
{
	al_arena_finish(*state);
	return 0;
}

static const struct al_formula *parse_in(struct al_arena *arena, const char *text,
	enum al_dialect dialect)
{
	const struct al_formula *formula;
	struct al_error err;

	if (!al_formula_parse(arena, text, dialect, &formula, &err))
		fail_msg("%s: %s", text, err.message);
	return formula;
}

static const struct al_formula *parse(struct al_arena *arena, const char *text)
{
	return parse_in(arena, text, AL_DIALECT_CATALOG);
}

static struct al_polynomial *expand(struct al_arena *arena, const char *text)
{
	struct al_polynomial *polynomial;
	struct al_error err;

	if (!al_polynomial_of(parse(arena, text), NULL, 0, &polynomial, &err))
		fail_msg("%s: %s", text, err.message);
	return polynomial;
}

/* The polynomial's text, in the arena; the polynomial is destroyed. */
static const char *text_of(struct al_arena *arena, struct al_polynomial *polynomial)
{
	struct al_text text;

	al_text_init(&text);
	al_polynomial_text(polynomial, &text);
	const char *copy = al_strdup(arena, text.data);
	al_text_finish(&text);
	al_polynomial_destroy(polynomial);
	return copy;
}

/* ---- text ---- */

static void prints_the_canonical_form(void **state)
{
	static const char *const cases[][2] = {
		{"3*d_model*n_heads*d_head", "3*d_head*d_model*n_heads"},
		{"n_heads + d_model^2*2 - d_head*d_model",
			"-d_head*d_model + 2*d_model^2 + n_heads"},
		{"(a + b)^2 - (a - b)^2", "4*a*b"},
		{"a - a", "0"},
		{"7/2 - 3", "1/2"},
		{"1 - a", "-a + 1"},
		{"a/2 + 1/3", "1/2*a + 1/3"},
		{"-3*a^2/4", "-3/4*a^2"},
		{"2^64*a", "18446744073709551616*a"},
		{"(a^2 - b^2)/(a - b)", "a + b"},
		{"0*a + b^0", "1"},
		{"-(a - 2)", "-a + 2"},
		/* decided conditions pick their branch and leave the other alone */
		{"if(1 < 2, a, 1/0)", "a"},
		{"if(a - a + 1, b, c)", "b"},
		{"0 and 1/0", "0"},
		{"1 or 1/0", "1"},
		{"not 3", "0"},
		{"min(3, 2, 7)*a", "2*a"},
		{"max(a, a + 1)", "a + 1"},
		{"if('x' == 'x', 1, 2)", "1"},
		{"'x' != 'x'", "0"},
		/* opaque factors */
		{"d_model/n_heads", "(d_model/n_heads)"},
		{"2*a*b/(4*b*c)", "1/2*(a/c)"},
		{"(2*a + 2*b)/(3*c - 3*a)", "-2/3*((a + b)/(a - c))"},
		{"a/(b*c)", "(a/(b*c))"},
		{"1/a^2", "(1/a^2)"},
		{"ceil_div(a, 4)^2*b", "b*ceil_div(a, 4)^2"},
		{"ceil_div(7, 4)", "2"},
		{"mod(a*2, b + 1) + mod(7, 4)", "mod(2*a, b + 1) + 3"},
		{"ceil_div(ceil_div(a, 2), 3)", "ceil_div(ceil_div(a, 2), 3)"},
		{"widths[layer + 1]*2", "2*widths[layer + 1]"},
		/* cases */
		{"if(q_rank > 0, a, b)", "a if q_rank > 0; b otherwise"},
		{"if(0 < q_rank, a, b)", "a if q_rank > 0; b otherwise"},
		{"if(not q_rank <= 0, a, b)", "a if q_rank > 0; b otherwise"},
		{"if(q_rank, a, b)", "a if q_rank != 0; b otherwise"},
		{"if(a == b, 1, 2)", "1 if a == b; 2 otherwise"},
		{"if(b != a, 2, 1)", "1 if a == b; 2 otherwise"},
		{"if(c, a, a)", "a"},
		{"min(a, b)", "b if a > b; a otherwise"},
		{"max(b, a)", "a if a > b; b otherwise"},
		{"min(a, 3)", "3 if a > 3; a otherwise"},
		{"if(c > 0, a, b) + if(c > 0, 1, 2)", "a + 1 if c > 0; b + 2 otherwise"},
		{"if(c > 0, a, b) - if(c <= 0, b, a)", "0"},
		{"if(c > 0 and c > 0, a, b)", "a if c > 0; b otherwise"},
		{"if(c > 0 and c <= 0, a, b)", "b"},
		{"if(c > 0 or not c > 0, a, b)", "a"},
		{"if(c > 0, if(c > 0, 1, 2), if(c > 0, 3, 4))", "1 if c > 0; 4 otherwise"},
		{"if(c > 0, a, b)*if(e > 0, 2, 1)",
			"2*a if c > 0 and e > 0; a if c > 0 and e <= 0; 2*b if c <= 0 and e > 0; b "
			"otherwise"},
		{"if(e > 0, if(c > 0, 1, 2), 3)",
			"1 if c > 0 and e > 0; 3 if c > 0 and e <= 0; "
			"2 if c <= 0 and e > 0; 3 otherwise"},
		{"if(types[layer] == 'full', seq, window)",
			"seq if types[layer] == 'full'; window otherwise"},
		{"if('full' != types[0], window, seq)",
			"seq if types[0] == 'full'; window otherwise"},
		{"t[if(c > 0, 1, 2)]", "t[1] if c > 0; t[2] otherwise"},
		{"if(if(c > 0, s, t) == 'x', 1, 0)",
			"1 if c > 0 and s == 'x'; 0 if c > 0 and s != 'x'; "
			"1 if c <= 0 and t == 'x'; 0 otherwise"},
	};

	for (size_t i = 0; i < N_OF(cases); i++)
		assert_string_equal(text_of(*state, expand(*state, cases[i][0])), cases[i][1]);
}

/* The factors are counted together: a sum of 64 symbols is expanded, one more is refused. */
static void bounds_the_factors(void **state)
{
	struct al_polynomial *polynomial;
	struct al_error err;
	struct al_text text;

	al_text_init(&text);
	al_text_add(&text, "mod(a, b)");
	for (int i = 1; i < AL_POLYNOMIAL_FACTORS; i++)
		al_text_addf(&text, " + s%d", i);
	al_polynomial_destroy(expand(*state, text.data));
	al_text_add(&text, " + mod(2*a, b)");
	assert_false(al_polynomial_of(parse(*state, text.data), NULL, 0, &polynomial, &err));
	assert_non_null(strstr(err.message,
		"needs more than 64 factors (symbols, mods, ceil_divs and quotients with a "
		"remainder)"));
	al_text_finish(&text);
}

static const char *name_of(void *context, const char *symbol)
{
	(void)context;
	if (strcmp(symbol, "n_heads") == 0)
		return "n";
	if (strcmp(symbol, "d_head") == 0)
		return "d_h";
	return strcmp(symbol, "d_prime") == 0 ? "d^{\\prime}" : NULL;
}

static void prints_latex(void **state)
{
	static const char *const cases[][2] = {
		{"3*d_head^2*(n_heads^2 - n_heads)", "3 d_h^{2} n^{2} - 3 d_h^{2} n"},
		{"n_heads/2 - 1/3", "\\frac{1}{2} n - \\frac{1}{3}"},
		{"d_prime^2*q_rank", "{d^{\\prime}}^{2} q\\_rank"},
		{"(n_heads/d_head)^2", "\\left(\\frac{n}{d_h}\\right)^{2}"},
		{"2*n_heads/d_head", "2 \\frac{n}{d_h}"},
		{"ceil_div(n_heads, 2)", "\\left\\lceil \\frac{n}{2} \\right\\rceil"},
		{"mod(n_heads + 1, d_head)", "\\left((n + 1) \\bmod d_h\\right)"},
		{"if(n_heads >= 2, 1, 0)",
			"\\begin{cases} 0 & \\text{if } n < 2 \\\\ "
			"1 & \\text{otherwise} \\end{cases}"},
		{"if(n_heads > 2 and kind == 'a_b', 1, 0)",
			"\\begin{cases} 1 & \\text{if } kind = "
			"\\mathrm{a\\_b} \\text{ and } n > 2 \\\\ 0 & \\text{if } kind = "
			"\\mathrm{a\\_b} "
			"\\text{ and } n \\le 2 \\\\ 0 & \\text{otherwise} \\end{cases}"},
		{"if(kind == '^\\~', 1, 0)",
			"\\begin{cases} 1 & \\text{if } kind = "
			"\\mathrm{{\\wedge}{\\backslash}{\\sim}} \\\\ "
			"0 & \\text{otherwise} \\end{cases}"},
	};

	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_polynomial *polynomial = expand(*state, cases[i][0]);
		struct al_text text;
		al_text_init(&text);
		al_polynomial_latex(polynomial, name_of, NULL, &text);
		assert_string_equal(text.data, cases[i][1]);
		al_text_finish(&text);
		al_polynomial_destroy(polynomial);
	}
}

/* ---- what the papers print ---- */

/* MHE's theoretical table: MHA holds 3*d_model*n_heads*d_head, SHA one head of it, MHE-MUL one head
 * and 3*n_heads*d_head embeddings, at d_model = n_heads*d_head. */
static void derives_the_theoretical_table(void **state)
{
	const struct al_substitution substitution = {"d_model", parse(*state, "n_heads*d_head"),
		NULL};
	static const char *const variants[][3] = {
		{"3*d_model*n_heads*d_head", "3*d_head^2*n_heads^2",
			"3*d_head^2*n_heads^2 - 3*d_head^2*n_heads"},
		{"3*d_model*d_head", "3*d_head^2*n_heads", "0"},
		{"3*d_model*d_head + 3*n_heads*d_head", "3*d_head^2*n_heads + 3*d_head*n_heads",
			"3*d_head*n_heads"},
	};
	struct al_polynomial *sha, *variant, *difference;
	struct al_error err;

	assert_true(al_polynomial_of(parse(*state, variants[1][0]), &substitution, 1, &sha, &err));
	for (size_t i = 0; i < N_OF(variants); i++) {
		const struct al_formula *formula = parse(*state, variants[i][0]);
		assert_true(al_polynomial_of(formula, &substitution, 1, &variant, &err));
		assert_true(al_polynomial_difference(variant, sha, &difference, &err));
		assert_string_equal(text_of(*state, difference), variants[i][2]);
		assert_string_equal(text_of(*state, variant), variants[i][1]);
	}
	al_polynomial_destroy(sha);
}

static void compares_printed_polynomials(void **state)
{
	static const char *const same[][2] = {
		{"(3n^2-3n)d^2-3nd", "3*n*d*(n*d) - 3*n*d^2 - 3*d*n"},
		{"3d^2 n", "3*n*d^2"},
		{"d^2n^2+2d^2n", "d^2*n*(n + 2)"},
		{"3nd", "n*3*d"},
		{"3n\xC2\xB7"
		 "d \xE2\x88\x92 n",
			"3*d*n - n"},
	};

	for (size_t i = 0; i < N_OF(same); i++) {
		struct al_polynomial *printed, *typed = expand(*state, same[i][1]);
		struct al_error err;
		assert_true(al_polynomial_of(parse_in(*state, same[i][0], AL_DIALECT_PRINTED), NULL,
			0, &printed, &err));
		assert_true(al_polynomial_equal(printed, typed));
		al_polynomial_destroy(printed);
		al_polynomial_destroy(typed);
	}

	struct al_polynomial *a = expand(*state, "a + b"), *b = expand(*state, "a + c");
	assert_false(al_polynomial_equal(a, b));
	al_polynomial_destroy(a);
	al_polynomial_destroy(b);
}

/* ---- substitution ---- */

static void substitutes_all_at_once(void **state)
{
	const struct al_substitution swap[] = {{"a", parse(*state, "b"), NULL},
		{"b", parse(*state, "a + 1"), NULL}};
	struct al_polynomial *polynomial;
	struct al_error err;

	assert_true(al_polynomial_of(parse(*state, "a^2 + 3*b"), swap, 2, &polynomial, &err));
	assert_string_equal(text_of(*state, polynomial), "b^2 + 3*a + 3");
	assert_true(
		al_polynomial_of(parse(*state, "if(a > b, t[a], c)"), swap, 2, &polynomial, &err));
	assert_string_equal(text_of(*state, polynomial), "t[b] if a + 1 < b; c otherwise");

	const struct al_substitution zero = {"c", parse(*state, "0"), NULL};
	assert_true(
		al_polynomial_of(parse(*state, "if(c > 0, 1/c, a)"), &zero, 1, &polynomial, &err));
	assert_string_equal(text_of(*state, polynomial), "a");

	const struct al_substitution bad = {"c", parse(*state, "1/0"), NULL};
	assert_false(al_polynomial_of(parse(*state, "a + c"), &bad, 1, &polynomial, &err));
	assert_string_equal(err.message, "c = 1/0: column 2: division by zero");
}

/* ---- sums by cases ---- */

static const struct al_substitutions nothing;

static void sums_of_one_condition_keep_two_cases(void **state)
{
	struct al_product tensor = {.n = 2, .when = parse(*state, "q_rank > 0")};
	struct al_polynomial *total = al_polynomial_from_int(0);
	struct al_error err;

	tensor.factors[0] = parse(*state, "q_rank");
	for (int i = 0; i < 10; i++) {
		tensor.factors[1] = i % 2 ? parse(*state, "d_model") : NULL;
		assert_true(al_polynomial_add(total, &tensor, &nothing, &err));
	}
	assert_string_equal(text_of(*state, total),
		"5*d_model*q_rank + 5*q_rank if q_rank > 0; 0 otherwise");
}

static void decided_tensors_need_no_case(void **state)
{
	struct al_substitution none = {"q_rank", parse(*state, "0"), NULL};
	const struct al_substitutions substitutions = {.items = &none, .n = 1};
	struct al_product tensor = {.factors = {parse(*state, "d_model")}, .n = 1};
	struct al_polynomial *sum = al_polynomial_from_int(0);
	struct al_error err;

	tensor.when = parse(*state, "q_rank > 0");
	assert_true(al_polynomial_add(sum, &tensor, &substitutions, &err));
	tensor.when = parse(*state, "q_rank == 0");
	assert_true(al_polynomial_add(sum, &tensor, &substitutions, &err));
	tensor.when = parse(*state, "1/q_rank");
	assert_false(al_polynomial_add(sum, &tensor, &substitutions, &err));
	assert_string_equal(err.message, "column 2: division by zero");
	assert_string_equal(text_of(*state, sum), "d_model");
}

static void multiplies(void **state)
{
	const struct al_product product = {.factors = {parse(*state, "if(c > 0, a + 1, 0)"),
						   parse(*state, "a - 1")},
		.n = 2};
	struct al_polynomial *sum = al_polynomial_from_int(0);
	struct al_error err;

	assert_true(al_polynomial_add(sum, &product, &nothing, &err));
	assert_string_equal(text_of(*state, sum), "a^2 - 1 if c > 0; 0 otherwise");
	al_polynomial_destroy(NULL);
}

/* ---- degrees ---- */

static void finds_degrees(void **state)
{
	static const struct {
		const char *text, *symbol;
		int degree;
		const char *message;
	} cases[] = {
		{"3*n^2*d - 3*n*d^3", "n", 2, NULL},
		{"3*n^2*d - 3*n*d^3", "d", 3, NULL},
		{"3*n^2 - 3*n^2", "n", 0, NULL},
		{"n", "m", 0, NULL},
		{"if(c > 0, n^3, 2*n^3 + 1)", "n", 3, NULL},
		{"if(c > 0, n^3, n)", "n", 0,
			"the degree in n is undecided: 3 or 1, depending on c > 0"},
		{"n*ceil_div(m, 2)", "n", 1, NULL},
		{"n*ceil_div(m, 2)", "m", 0,
			"the degree in m is undecided: it occurs in ceil_div(m, 2)"},
		{"mod(ceil_div(m, 2), k)", "m", 0,
			"the degree in m is undecided: it occurs in mod(ceil_div(m, 2), k)"},
		{"a/n", "n", 0, "the degree in n is undecided: it occurs in (a/n)"},
		{"widths[n]", "n", 0, "the degree in n is undecided: it occurs in widths[n]"},
	};

	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_polynomial *polynomial = expand(*state, cases[i].text);
		struct al_error err = {0};
		int degree;
		bool ok = al_polynomial_degree(polynomial, cases[i].symbol, &degree, &err);
		assert_int_equal(ok, cases[i].message == NULL);
		if (ok)
			assert_int_equal(degree, cases[i].degree);
		else
			assert_string_equal(err.message, cases[i].message);
		al_polynomial_destroy(polynomial);
	}
}

/* ---- bounds ---- */

static void refuses_before_it_expands(void **state)
{
	static const char *const cases[][2] = {
		{"((a+b+c+d)^8)^8", "column 14: expands to degree 64, expected at most 16"},
		{"a^8*a^9", "column 4: expands to degree 17, expected at most 16"},
		{"(a+b+c+d+e+f+g)^9", "column 16: expands to more than 4096 terms"},
		{"(a+b+c+d+e+f)^5*(g+h+i+j+k+l)^5", "column 16: expands to more than 4096 terms"},
		{"((2^60)^60)*((2^60)^60)",
			"column 12: expands to coefficients of more than 4096 bits"},
		{"((2^64)^64)^2", "column 8: expands to coefficients of more than 4096 bits"},
		/* 2,046 and 2,047 bits with a sign each, and what two products carry */
		{"((2^64)^31*2^61*a+b)*((2^64)^31*2^62*c+d)",
			"column 21: expands to coefficients of more than 4096 bits"},
		{"1/(a - a)", "column 2: division by zero"},
		{"mod(a, 0)", "column 1: division by zero"},
		{"a^b", "column 2: an exponent that is not a whole number from 0 to 64"},
		{"a^(1/2)", "column 2: an exponent that is not a whole number from 0 to 64"},
		{"a^-1", "column 2: an exponent that is not a whole number from 0 to 64"},
		{"1 == 'a'", "column 6: found the word 'a', expected a number"},
		{"a + 1 == 'a'", "column 10: found the word 'a', expected a number"},
		{"if(a>0,1,2)+if(b>0,1,3)*if(c>0,1,4)*if(d>0,1,5)*if(e>0,1,6)",
			"column 12: has more than 16 cases"},
		{"ceil_div((a+b+c+d+e+f)^4, 2)",
			"column 1: a factor that stays whole has more than 1024 characters"},
		{"if((a+b+c+d+e+f)^4 > 2, 1, 0)",
			"column 20: a condition that stays open has more than 1024 characters"},
	};

	for (size_t i = 0; i < N_OF(cases); i++) {
		struct al_polynomial *polynomial;
		struct al_error err = {0};
		if (al_polynomial_of(parse(*state, cases[i][0]), NULL, 0, &polynomial, &err))
			fail_msg("accepted: %s", cases[i][0]);
		assert_string_equal(err.message, cases[i][1]);
		assert_null(polynomial);
	}
}

/* ---- a formula and its polynomial agree everywhere ---- */

static const char *const letters[] = {"a", "b", "c"};

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	const int64_t *point = context;

	(void)err;
	for (size_t i = 0; i < N_OF(letters); i++)
		if (strcmp(reference->symbol, letters[i]) == 0) {
			*found = true;
			al_value_set_int(out, point[i]);
		}
	return true;
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 16) % below;
}

static void grow(struct al_text *out, uint32_t *seed, int depth);

static void grow_call(struct al_text *out, uint32_t *seed, int depth, const char *name, int n)
{
	al_text_addf(out, "%s(", name);
	for (int i = 0; i < n; i++) {
		al_text_add(out, i ? ", " : "");
		grow(out, seed, depth);
	}
	al_text_add(out, ")");
}

/* A formula of this depth at most. */
static void grow(struct al_text *out, uint32_t *seed, int depth)
{
	static const char *const operators[] = {"+", "-", "*", "+", "*", "/", "<", "==", "or",
		"and"};
	static const struct {
		const char *name;
		int n;
	} calls[] = {{"if", 3}, {"min", 2}, {"max", 2}, {"ceil_div", 2}, {"mod", 2}, {"not ", 1},
		{"-", 1}};
	uint32_t kind = depth ? draw(seed, 20) : draw(seed, 5);

	if (kind < 2) {
		al_text_addf(out, "%u", draw(seed, 4));
	} else if (kind < 5) {
		al_text_add(out, letters[draw(seed, N_OF(letters))]);
	} else if (kind < 14) {
		al_text_add(out, "(");
		grow(out, seed, depth - 1);
		al_text_addf(out, " %s ", operators[draw(seed, N_OF(operators))]);
		grow(out, seed, depth - 1);
		al_text_add(out, ")");
	} else if (kind < 16) {
		grow_call(out, seed, depth - 1, "", 1);
		al_text_addf(out, "^%u", draw(seed, 4));
	} else {
		uint32_t call = draw(seed, N_OF(calls));
		al_text_add(out, "(");
		grow_call(out, seed, depth - 1, calls[call].name, calls[call].n);
		al_text_add(out, ")");
	}
}

/* The value of a polynomial's text: the first of its cases whose condition holds. */
static bool value_of_text(struct al_arena *arena, const char *text, const struct al_scope *scope,
	struct al_value *out)
{
	for (const char *at = text;; at += strcspn(at, ";") + 2) {
		const char *end = at + strcspn(at, ";");
		char *part = al_strndup(arena, at, (size_t)(end - at));
		char *mark = strstr(part, " if ");
		const struct al_formula *formula;
		struct al_error err;
		bool holds = true;

		if (mark) {
			*mark = '\0';
			if (!al_formula_parse(arena, mark + 4, AL_DIALECT_CATALOG, &formula, &err)
				|| !al_formula_holds(formula, scope, &holds, &err))
				return false;
		} else if ((mark = strstr(part, " otherwise"))) {
			*mark = '\0';
		}
		if (holds)
			return al_formula_parse(arena, part, AL_DIALECT_CATALOG, &formula, &err)
				&& al_formula_eval(formula, scope, out, &err);
		if (!*end)
			return false;
	}
}

/* Where both have a value. A formula may lack one (a division by zero) where its polynomial, in
 * which a factor cancelled, has one, and a long text may exceed the parser's bounds. */
static bool agree_at(struct al_arena *arena, const struct al_formula *formula, const char *text,
	int64_t *point)
{
	const struct al_scope scope = {.lookup = look_up, .context = point};
	struct al_value expected, found;
	mpq_t x, y;

	al_value_init(&expected);
	al_value_init(&found);
	bool both = al_formula_eval(formula, &scope, &expected, NULL)
		&& value_of_text(arena, text, &scope, &found);
	if (both) {
		mpq_inits(x, y, NULL);
		al_value_get(&expected, x);
		al_value_get(&found, y);
		if (!mpq_equal(x, y))
			fail_msg("%s is not %s at a=%d b=%d c=%d", al_formula_source(formula), text,
				(int)point[0], (int)point[1], (int)point[2]);
		mpq_clears(x, y, NULL);
	}
	al_value_finish(&expected);
	al_value_finish(&found);
	return both;
}

static void agrees_with_evaluation(void **state)
{
	uint32_t seed = 20230508;
	int n_compared = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct al_arena arena;
		struct al_polynomial *polynomial;
		const struct al_formula *formula;
		struct al_text source;
		al_arena_init(&arena);
		al_text_init(&source);
		grow(&source, &seed, 4);
		if (al_formula_parse(&arena, source.data, AL_DIALECT_CATALOG, &formula, NULL)
			&& al_polynomial_of(formula, NULL, 0, &polynomial, NULL)) {
			const char *text = text_of(&arena, polynomial);
			for (int j = 0; j < 8; j++) {
				int64_t point[3];
				for (size_t k = 0; k < N_OF(point); k++)
					point[k] = (int64_t)draw(&seed, 12) - 4;
				n_compared += agree_at(&arena, formula, text, point);
			}
		}
		al_text_finish(&source);
		al_arena_finish(&arena);
	}
	assert_true(n_compared > 10000);
}

/* (A + B) - B is A, whatever they are. */
static void subtraction_undoes_addition(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int i = 0; i < 500; i++) {
		struct al_arena arena;
		struct al_polynomial *operands[2] = {NULL, NULL}, *back = NULL;
		struct al_product second = {.n = 1};
		al_arena_init(&arena);
		for (int j = 0; j < 2; j++) {
			const struct al_formula *formula;
			struct al_text source;
			al_text_init(&source);
			grow(&source, &seed, 3);
			if (al_formula_parse(&arena, source.data, AL_DIALECT_CATALOG, &formula,
				    NULL)) {
				(void)!al_polynomial_of(formula, NULL, 0, &operands[j], NULL);
				second.factors[0] = formula;
			}
			al_text_finish(&source);
		}
		if (operands[0] && operands[1]
			&& al_polynomial_difference(operands[0], operands[1], &back, NULL)
			&& al_polynomial_add(back, &second, &nothing, NULL))
			assert_true(al_polynomial_equal(back, operands[0]));
		al_polynomial_destroy(operands[0]);
		al_polynomial_destroy(operands[1]);
		al_polynomial_destroy(back);
		al_arena_finish(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bounds_the_factors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(prints_the_canonical_form, set_up, tear_down),
		cmocka_unit_test_setup_teardown(prints_latex, set_up, tear_down),
		cmocka_unit_test_setup_teardown(derives_the_theoretical_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(compares_printed_polynomials, set_up, tear_down),
		cmocka_unit_test_setup_teardown(substitutes_all_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sums_of_one_condition_keep_two_cases, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(decided_tensors_need_no_case, set_up, tear_down),
		cmocka_unit_test_setup_teardown(multiplies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(finds_degrees, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_before_it_expands, set_up, tear_down),
		cmocka_unit_test(agrees_with_evaluation),
		cmocka_unit_test(subtraction_undoes_addition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
