/* Values and their arithmetic: int64_t while it fits, GMP rationals beyond. */

#include "formula/tree.h"

void al_value_init(struct al_value *value)
{
	value->kind = AL_VALUE_INTEGER;
	value->integer = 0;
}

void al_value_finish(struct al_value *value)
{
	if (value->kind == AL_VALUE_EXACT)
		mpq_clear(value->exact);
	al_value_init(value);
}

void al_value_set_int(struct al_value *value, int64_t integer)
{
	al_value_finish(value);
	value->integer = integer;
}

void al_value_set_exact(struct al_value *value, mpq_srcptr exact)
{
	int64_t whole;

	if (al_exact_is_integer(exact) && al_integer_get(mpq_numref(exact), &whole)) {
		al_value_set_int(value, whole);
		return;
	}
	if (value->kind != AL_VALUE_EXACT)
		mpq_init(value->exact);
	value->kind = AL_VALUE_EXACT;
	mpq_set(value->exact, exact);
}

void al_value_set_word(struct al_value *value, const char *word)
{
	al_value_finish(value);
	value->kind = AL_VALUE_WORD;
	value->word = word;
}

void al_value_get(const struct al_value *value, mpq_t out)
{
	if (value->kind == AL_VALUE_EXACT)
		mpq_set(out, value->exact);
	else
		al_exact_set(out, value->integer);
}

void al_value_copy(struct al_value *to, const struct al_value *from)
{
	if (from->kind == AL_VALUE_EXACT)
		al_value_set_exact(to, from->exact);
	else if (from->kind == AL_VALUE_WORD)
		al_value_set_word(to, from->word);
	else
		al_value_set_int(to, from->integer);
}

void al_text_add_exact(struct al_text *out, mpq_srcptr number)
{
	char *text = mpq_get_str(NULL, 10, number);
	void (*release)(void *, size_t);

	al_text_add(out, text);
	mp_get_memory_functions(NULL, NULL, &release);
	release(text, strlen(text) + 1);
}

/* ---- the fast path: false where the result does not fit or is not whole ---- */

static bool fast_divide(enum al_operator op, int64_t a, int64_t b, int64_t *out)
{
	if (b == 0 || b == -1)
		return false;

	int64_t quotient = a / b, rest = a % b;
	bool is_negative = (rest < 0) != (b < 0);
	if (op == AL_OP_DIVIDE) {
		*out = quotient;
		return rest == 0;
	}
	if (op == AL_OP_CEIL_DIV)
		*out = quotient + (rest != 0 && !is_negative);
	else
		*out = rest != 0 && is_negative ? rest + b : rest;
	return true;
}

/* The exponent is 0 to AL_FORMULA_EXPONENT. */
static bool fast_power(int64_t base, int64_t exponent, int64_t *out)
{
	for (*out = 1; exponent > 0; exponent--)
		if (__builtin_mul_overflow(*out, base, out))
			return false;
	return true;
}

/* The same of whole numbers; false where the result is none of 64 bits, or is not defined. */
static bool integer_apply(enum al_operator op, int64_t a, int64_t b, int64_t *out)
{
	switch (op) {
	case AL_OP_ADD:
		return !__builtin_add_overflow(a, b, out);
	case AL_OP_SUBTRACT:
		return !__builtin_sub_overflow(a, b, out);
	case AL_OP_MULTIPLY:
		return !__builtin_mul_overflow(a, b, out);
	case AL_OP_POWER:
		return fast_power(a, b, out);
	default:
		return fast_divide(op, a, b, out);
	}
}

/* ---- the exact path ---- */

static size_t bits_of(mpq_srcptr q)
{
	return al_most(mpz_sizeinbase(mpq_numref(q), 2), mpz_sizeinbase(mpq_denref(q), 2));
}

static const char too_long[] = "more than 4096 bits";
_Static_assert(AL_FORMULA_BITS == 4096, "the message above");

static void raise_to(mpq_t out, mpq_srcptr base, unsigned long exponent)
{
	mpz_pow_ui(mpq_numref(out), mpq_numref(base), exponent);
	mpz_pow_ui(mpq_denref(out), mpq_denref(base), exponent);
}

/* a/b rounded up, or what rounding a/b down leaves. */
static void divide_whole(enum al_operator op, mpq_t out, mpq_srcptr a, mpq_srcptr b)
{
	mpz_t whole;

	mpz_init(whole);
	mpq_div(out, a, b);
	if (op == AL_OP_CEIL_DIV) {
		mpz_cdiv_q(whole, mpq_numref(out), mpq_denref(out));
		mpq_set_z(out, whole);
	} else {
		mpz_fdiv_q(whole, mpq_numref(out), mpq_denref(out));
		mpq_set_z(out, whole);
		mpq_mul(out, out, b);
		mpq_sub(out, a, out);
	}
	mpz_clear(whole);
}

static const char *exact(enum al_operator op, mpq_t out, mpq_srcptr a, mpq_srcptr b)
{
	switch (op) {
	case AL_OP_ADD:
		mpq_add(out, a, b);
		break;
	case AL_OP_SUBTRACT:
		mpq_sub(out, a, b);
		break;
	case AL_OP_MULTIPLY:
		mpq_mul(out, a, b);
		break;
	case AL_OP_POWER:
		raise_to(out, a, mpz_get_ui(mpq_numref(b)));
		break;
	case AL_OP_DIVIDE:
		mpq_div(out, a, b);
		break;
	default:
		divide_whole(op, out, a, b);
	}
	return bits_of(out) > AL_FORMULA_BITS ? too_long : NULL;
}

static bool is_zero(const struct al_value *value)
{
	return value->kind == AL_VALUE_INTEGER && value->integer == 0;
}

static bool is_exponent(const struct al_value *value)
{
	return value->kind == AL_VALUE_INTEGER && value->integer >= 0
		&& value->integer <= AL_FORMULA_EXPONENT;
}

const char *al_value_apply(enum al_operator op, const struct al_value *a, const struct al_value *b,
	struct al_value *out)
{
	if (op == AL_OP_POWER && !is_exponent(b))
		return "an exponent that is not a whole number from 0 to 64";
	if ((op == AL_OP_DIVIDE || op == AL_OP_CEIL_DIV || op == AL_OP_MOD) && is_zero(b))
		return "division by zero";

	int64_t result;
	if (a->kind == AL_VALUE_INTEGER && b->kind == AL_VALUE_INTEGER
		&& integer_apply(op, a->integer, b->integer, &result)) {
		al_value_set_int(out, result);
		return NULL;
	}

	AL_EXACT(left);
	AL_EXACT(right);
	AL_EXACT(value);
	al_value_get(a, left);
	al_value_get(b, right);
	const char *wrong = exact(op, value, left, right);
	if (!wrong)
		al_value_set_exact(out, value);
	return wrong;
}

const char *al_exact_apply(enum al_operator op, mpq_srcptr a, mpq_srcptr b, mpq_t out)
{
	AL_VALUE(left);
	AL_VALUE(right);
	al_value_set_exact(&left, a);
	al_value_set_exact(&right, b);
	const char *wrong = al_value_apply(op, &left, &right, &left);
	if (!wrong)
		al_value_get(&left, out);
	return wrong;
}

int al_value_compare(const struct al_value *a, const struct al_value *b)
{
	if (a->kind == AL_VALUE_INTEGER && b->kind == AL_VALUE_INTEGER)
		return al_compare(a->integer, b->integer);

	AL_EXACT(left);
	AL_EXACT(right);
	al_value_get(a, left);
	al_value_get(b, right);
	return mpq_cmp(left, right);
}

bool al_op_accepts(enum al_operator comparison, int order)
{
	switch (comparison) {
	case AL_OP_EQUAL:
		return order == 0;
	case AL_OP_NOT_EQUAL:
		return order != 0;
	case AL_OP_LESS:
		return order < 0;
	case AL_OP_LESS_EQUAL:
		return order <= 0;
	case AL_OP_GREATER:
		return order > 0;
	default:
		return order >= 0;
	}
}
