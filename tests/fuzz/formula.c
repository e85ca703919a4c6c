/* Formulas: parsed in every dialect, evaluated, expanded, printed. */
#include "formula/polynomial.h"
#include "fuzz.h"

enum { MOST_BYTES = AL_FORMULA_LENGTH + 8 };

static const char *const names[] = {"a", "b", "n_heads"};

/* Numbers by the name's length, one word, and names without a value. */
static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	(void)context;
	if (reference->symbol[0] == 'x')
		return al_fail(err, AL_EINPUT, "x has no value");
	*found = reference->symbol[0] != 'u';
	if (reference->symbol[0] == 'w')
		al_value_set_word(out, "full");
	else
		al_value_set_int(out,
			(int64_t)strlen(reference->symbol) * (reference->has_index ? -1 : 1));
	return true;
}

static size_t known(void *context, const char *const **out)
{
	(void)context;
	*out = names;
	return sizeof(names) / sizeof(*names);
}

static void evaluate(struct al_arena *arena, const struct al_formula *formula)
{
	const struct al_scope scope = {.lookup = look_up, .known = known};
	struct al_value value;
	struct al_error err;
	const char *text;
	int64_t whole;
	bool holds;

	al_value_init(&value);
	if (al_formula_eval(formula, &scope, &value, &err) && value.kind != AL_VALUE_WORD)
		FUZZ_CHECK(al_formula_holds(formula, &scope, &holds, &err));
	if (al_formula_whole(formula, &scope, 1, &whole, &err))
		FUZZ_CHECK(value.kind == AL_VALUE_INTEGER && value.integer == whole && whole >= 1);
	if (al_formula_substituted(formula, &scope, arena, &text, &err))
		FUZZ_CHECK(strlen(text) > 0);
	al_value_finish(&value);
}

static void print(const struct al_polynomial *polynomial)
{
	struct al_text text, latex;
	struct al_error err;
	int degree;

	al_text_init(&text);
	al_text_init(&latex);
	al_polynomial_text(polynomial, &text);
	al_polynomial_latex(polynomial, NULL, NULL, &latex);
	FUZZ_CHECK(text.length > 0 && latex.length > 0);
	if (al_polynomial_degree(polynomial, "a", &degree, &err))
		FUZZ_CHECK(degree >= 0 && degree <= AL_POLYNOMIAL_DEGREE);
	al_text_finish(&text);
	al_text_finish(&latex);
}

static void expand(const struct al_formula *formula, const struct al_substitution *substitution,
	size_t n)
{
	struct al_substitution copy[] = {*substitution};
	const struct al_substitutions substitutions = {.items = copy, .n = n};
	const struct al_product square = {.factors = {formula, formula}, .n = 2};
	struct al_polynomial *polynomial, *zero, *difference;
	struct al_error err;

	if (!al_polynomial_of(formula, substitution, n, &polynomial, &err))
		return;
	print(polynomial);
	zero = al_polynomial_from_int(0);
	FUZZ_CHECK(al_polynomial_difference(polynomial, polynomial, &difference, &err));
	FUZZ_CHECK(al_polynomial_equal(difference, zero));
	if (al_polynomial_add(zero, &square, &substitutions, &err))
		print(zero);
	al_polynomial_destroy(polynomial);
	al_polynomial_destroy(zero);
	al_polynomial_destroy(difference);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	char text[MOST_BYTES + 1] = "";
	struct al_arena arena;
	struct al_error err;

	if (size > MOST_BYTES)
		return 0;
	if (size)
		memcpy(text, data, size);
	al_arena_init(&arena);
	for (int dialect = AL_DIALECT_CATALOG; dialect <= AL_DIALECT_PRINTED; dialect++) {
		const struct al_formula *formula, *replacement;
		if (!al_formula_parse(&arena, text, (enum al_dialect)dialect, &formula, &err))
			continue;
		evaluate(&arena, formula);
		FUZZ_CHECK(al_formula_parse(&arena, "b*c - 1", AL_DIALECT_CATALOG, &replacement,
			&err));
		expand(formula, &(struct al_substitution){"a", replacement, NULL}, 0);
		expand(formula, &(struct al_substitution){"a", replacement, NULL}, 1);
	}
	al_arena_finish(&arena);
	return 0;
}
