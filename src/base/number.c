/* Exact numbers: counts, rationals in place and in an arena, decimals in and out. */
#include "base/base.h"

enum { SIGNIFICANT_DIGITS = 15, MOST_EXACT_DECIMALS = 6 };

/* ---- counts ---- */

size_t al_read_digits(const char *text, int64_t *out)
{
	size_t n = 0;
	bool fits = true;

	for (*out = 0; al_is_digit(text[n]); n++)
		fits = fits && !__builtin_mul_overflow(*out, 10, out)
			&& !__builtin_add_overflow(*out, text[n] - '0', out);
	if (!fits)
		*out = -1;
	return n;
}

size_t al_read_tokens(const char *text, int64_t *out)
{
	const size_t n = al_read_digits(text, out);
	const char unit = n > 0 ? text[n] : '\0';
	const int bits = unit == 'k' || unit == 'K' ? 10 : unit == 'M' ? 20 : 0;

	if (__builtin_mul_overflow(*out, INT64_C(1) << bits, out) || *out < 0)
		*out = -1;
	return n + (bits > 0);
}

int64_t al_divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0);
}

bool al_multiply_dims(int64_t factor, const int64_t *dims, size_t n_dims, int64_t *out)
{
	bool is_empty = false;

	for (size_t i = 0; i < n_dims; i++) {
		is_empty |= dims[i] == 0;
		if (dims[i] < 0 || (dims[i] && __builtin_mul_overflow(factor, dims[i], &factor)))
			return false;
	}
	*out = is_empty ? 0 : factor;
	return true;
}

/* ---- whole numbers ---- */

void al_integer_set(mpz_t z, int64_t value)
{
	const long whole = (long)value;

	mpz_set_si(z, whole == value ? whole : (long)(value >> 32));
	if (whole != value) {
		mpz_mul_2exp(z, z, 32);
		mpz_add_ui(z, z, (unsigned long)(value & UINT32_MAX));
	}
}

void al_integer_multiply(mpz_t z, int64_t factor)
{
	if ((long)factor == factor) {
		mpz_mul_si(z, z, (long)factor);
		return;
	}
	AL_EXACT(by);
	al_exact_set(by, factor);
	mpz_mul(z, z, mpq_numref(by));
}

bool al_integer_get(mpz_srcptr z, int64_t *out)
{
	const size_t limb_bits = 8 * sizeof(mp_limb_t);
	const bool is_negative = mpz_sgn(z) < 0;
	const uint64_t most = (uint64_t)INT64_MAX + is_negative;
	uint64_t size = 0;
	bool fits = mpz_sizeinbase(z, 2) <= 64;

	for (size_t i = 0; fits && i < mpz_size(z); i++)
		size |= (uint64_t)mpz_getlimbn(z, (mp_size_t)i) << i * limb_bits;
	fits = fits && size <= most;
	if (!fits)
		size = most;
	*out = (int64_t)(is_negative ? 0 - size : size);
	return fits;
}

static int64_t divide(mpq_srcptr q, void (*quotient)(mpz_ptr, mpz_srcptr, mpz_srcptr))
{
	int64_t whole;

	AL_EXACT(out);
	quotient(mpq_numref(out), mpq_numref(q), mpq_denref(q));
	al_integer_get(mpq_numref(out), &whole);
	return whole;
}

int64_t al_exact_whole(mpq_srcptr q)
{
	return divide(q, mpz_tdiv_q);
}

int64_t al_exact_ceil(mpq_srcptr q)
{
	return divide(q, mpz_cdiv_q);
}

/* ---- in place ---- */

void al_exact_clear(mpq_t *number)
{
	mpq_clear(*number);
}

void al_exact_set(mpq_t q, int64_t value)
{
	al_integer_set(mpq_numref(q), value);
	mpz_set_ui(mpq_denref(q), 1);
}

/* A whole number, as most are here, has no divisor to share. */
static void reduce(mpq_t q)
{
	if (!al_exact_is_integer(q))
		mpq_canonicalize(q);
}

void al_exact_add(mpq_t sum, mpq_srcptr term)
{
	if (al_exact_is_integer(sum) && al_exact_is_integer(term))
		mpz_add(mpq_numref(sum), mpq_numref(sum), mpq_numref(term));
	else
		mpq_add(sum, sum, term);
}

void al_exact_multiply(mpq_t q, int64_t factor)
{
	al_integer_multiply(mpq_numref(q), factor);
	reduce(q);
}

void al_exact_divide(mpq_t q, int64_t divisor)
{
	al_integer_multiply(mpq_denref(q), divisor);
	reduce(q);
}

void al_exact_keep_least(mpq_t least, mpq_srcptr q)
{
	if (mpq_cmp(q, least) < 0)
		mpq_set(least, q);
}

void al_exact_keep_most(mpq_t most, mpq_srcptr q)
{
	if (mpq_cmp(q, most) > 0)
		mpq_set(most, q);
}

bool al_exact_saving(mpq_t percent, mpq_srcptr value, mpq_srcptr base)
{
	if (mpq_sgn(base) == 0)
		return false;
	mpq_sub(percent, base, value);
	mpq_div(percent, percent, base);
	al_exact_multiply(percent, 100);
	return true;
}

/* ---- in an arena ---- */

void al_integer_copy(struct al_arena *arena, mpz_ptr out, mpz_srcptr z)
{
	size_t n = mpz_size(z);
	mp_limb_t *limbs = al_new_array(arena, mp_limb_t, n ? n : 1);

	if (n)
		memcpy(limbs, mpz_limbs_read(z), n * sizeof(*limbs));
	mpz_roinit_n(out, limbs, mpz_sgn(z) < 0 ? -(mp_size_t)n : (mp_size_t)n);
}

static void clear(void *number)
{
	mpq_clear(number);
}

mpq_ptr al_exact_new(struct al_arena *arena)
{
	mpq_ptr number = al_new(arena, __mpq_struct);

	mpq_init(number);
	al_arena_defer(arena, clear, number);
	return number;
}

mpq_srcptr al_exact_copy(struct al_arena *arena, mpq_srcptr q)
{
	mpq_ptr copy = al_new(arena, __mpq_struct);

	al_integer_copy(arena, mpq_numref(copy), mpq_numref(q));
	al_integer_copy(arena, mpq_denref(copy), mpq_denref(q));
	return copy;
}

mpq_srcptr al_exact_from_int(struct al_arena *arena, int64_t value)
{
	AL_EXACT(q);
	al_exact_set(q, value);
	return al_exact_copy(arena, q);
}

mpq_srcptr al_exact_scaled(struct al_arena *arena, mpq_srcptr q, int64_t numerator,
	int64_t denominator)
{
	if (numerator == denominator)
		return al_exact_copy(arena, q);
	AL_EXACT(scaled);
	mpq_set(scaled, q);
	al_exact_multiply(scaled, numerator);
	al_exact_divide(scaled, denominator);
	return al_exact_copy(arena, scaled);
}

/* ---- decimals in ---- */

/* Skips a sign; true where it is a minus. */
static bool skip_sign(const char **p)
{
	if (**p == '+')
		++*p;
	else if (**p == '-')
		return ++*p, true;
	else if (strncmp(*p, "\u2212", strlen("\u2212")) == 0)
		return *p += strlen("\u2212"), true;
	return false;
}

static bool is_thousands_comma(const char *p)
{
	return p[0] == ',' && al_is_digit(p[1]) && al_is_digit(p[2]) && al_is_digit(p[3])
		&& !al_is_digit(p[4]);
}

bool al_exact_parse(const char *text, mpq_t out, int *digits)
{
	enum { MOST_DIGITS = 60 };
	char plain[MOST_DIGITS + 1];
	size_t n = 0;
	int decimals = -1;
	const char *p = text;
	bool negative = skip_sign(&p);

	for (; *p; p++) {
		if (*p == '.' && decimals < 0 && n > 0)
			decimals = 0;
		else if (al_is_digit(*p) && n < MOST_DIGITS) {
			plain[n++] = *p;
			decimals += decimals >= 0;
		} else if (!(decimals < 0 && n > 0 && is_thousands_comma(p)))
			return false;
	}
	if (n == 0 || decimals == 0)
		return false;
	plain[n] = '\0';
	*digits = al_most(0, decimals);

	mpz_set_str(mpq_numref(out), plain, 10);
	mpz_ui_pow_ui(mpq_denref(out), 10, (unsigned long)*digits);
	mpq_canonicalize(out);
	if (negative)
		mpq_neg(out, out);
	return true;
}

/* ---- rounding ---- */

/* |q| * 10^digits to the nearest integer, halves up, with the sign of q. */
static void scaled_integer(mpz_t out, mpq_srcptr q, int digits)
{
	mpz_t numerator, denominator;

	mpz_inits(numerator, denominator, NULL);
	mpz_ui_pow_ui(numerator, 10, (unsigned long)digits);
	mpz_mul(numerator, numerator, mpq_numref(q));
	mpz_abs(numerator, numerator);
	mpz_mul_2exp(numerator, numerator, 1);
	mpz_add(numerator, numerator, mpq_denref(q));
	mpz_mul_2exp(denominator, mpq_denref(q), 1);
	mpz_fdiv_q(out, numerator, denominator);
	if (mpq_sgn(q) < 0)
		mpz_neg(out, out);
	mpz_clears(numerator, denominator, NULL);
}

void al_exact_round(mpq_t out, mpq_srcptr q, int digits)
{
	mpz_t scaled;

	mpz_init(scaled);
	scaled_integer(scaled, q, digits);
	mpz_set(mpq_numref(out), scaled);
	mpz_ui_pow_ui(mpq_denref(out), 10, (unsigned long)digits);
	mpq_canonicalize(out);
	mpz_clear(scaled);
}

void al_exact_truncate(mpq_t out, mpq_srcptr q, int digits)
{
	mpz_t scale, scaled;

	mpz_inits(scale, scaled, NULL);
	mpz_ui_pow_ui(scale, 10, (unsigned long)digits);
	mpz_mul(scaled, mpq_numref(q), scale);
	mpz_tdiv_q(mpq_numref(out), scaled, mpq_denref(q));
	mpz_set(mpq_denref(out), scale);
	mpq_canonicalize(out);
	mpz_clears(scale, scaled, NULL);
}

void al_exact_unit(mpq_t out, int digits, unsigned long parts)
{
	mpz_set_ui(mpq_numref(out), 1);
	mpz_ui_pow_ui(mpq_denref(out), 10, (unsigned long)digits);
	mpz_mul_ui(mpq_denref(out), mpq_denref(out), parts);
}

/* ---- decimals out ---- */

bool al_exact_is_integer(mpq_srcptr q)
{
	return mpz_cmp_ui(mpq_denref(q), 1) == 0;
}

/* "-1234" with 2 digits -> "-12.34", "5" with 2 digits -> "0.05". */
static char *place_point(struct al_arena *arena, mpz_srcptr scaled, int digits)
{
	const size_t n_decimals = (size_t)digits;
	char *text = al_arena_alloc(arena, mpz_sizeinbase(scaled, 10) + n_decimals + 4, 1);
	char *figures = mpz_get_str(text, 10, scaled) + (mpz_sgn(scaled) < 0);
	size_t n = strlen(figures);

	if (n <= n_decimals) {
		const size_t zeros = n_decimals + 1 - n;
		memmove(figures + zeros, figures, n + 1);
		memset(figures, '0', zeros);
		n += zeros;
	}
	if (digits > 0) {
		char *point = figures + n - n_decimals;
		memmove(point + 1, point, n_decimals + 1);
		*point = '.';
	}
	return text;
}

char *al_exact_decimal(struct al_arena *arena, mpq_srcptr q, int digits)
{
	mpz_t scaled;

	if (digits == 0 && al_exact_is_integer(q))
		return place_point(arena, mpq_numref(q), 0);
	mpz_init(scaled);
	scaled_integer(scaled, q, digits);
	char *text = place_point(arena, scaled, digits);
	mpz_clear(scaled);
	return text;
}

static void drop_trailing_zeros(char *decimal)
{
	size_t n = strlen(decimal);

	if (!strchr(decimal, '.'))
		return;
	while (decimal[n - 1] == '0')
		n--;
	if (decimal[n - 1] == '.')
		n--;
	decimal[n] = '\0';
}

/* Decimals that show SIGNIFICANT_DIGITS digits of q, or one or two more. */
static int decimals_for(mpq_srcptr q)
{
	long exponent = (long)mpz_sizeinbase(mpq_numref(q), 10)
		- (long)mpz_sizeinbase(mpq_denref(q), 10);
	long decimals = SIGNIFICANT_DIGITS - exponent;

	return (int)al_most(0, al_least(300, decimals));
}

static int count_significant(const char *decimal)
{
	int n = 0;

	for (const char *p = decimal + strspn(decimal, "-0."); *p; p++)
		n += *p != '.';
	return n;
}

/* The fewest decimals that show q exactly; -1: more than MOST_EXACT_DECIMALS, or no end of them. */
static int exact_decimals(mpq_srcptr q)
{
	unsigned long power = 1;

	for (int decimals = 0; decimals <= MOST_EXACT_DECIMALS; decimals++, power *= 10)
		if (mpz_cmp_ui(mpq_denref(q), power) <= 0 && power % mpz_get_ui(mpq_denref(q)) == 0)
			return decimals;
	return -1;
}

char *al_exact_text(struct al_arena *arena, mpq_srcptr q)
{
	int decimals = exact_decimals(q);

	if (decimals >= 0)
		return al_exact_decimal(arena, q, decimals);
	decimals = decimals_for(q);
	char *text = al_exact_decimal(arena, q, decimals);
	int beyond = count_significant(text) - SIGNIFICANT_DIGITS;
	if (beyond > 0)
		text = al_exact_decimal(arena, q, beyond < decimals ? decimals - beyond : 0);
	drop_trailing_zeros(text);
	return text;
}

char *al_exact_grouped(struct al_arena *arena, const char *decimal)
{
	const char *figures = decimal + (decimal[0] == '-');
	size_t whole = strspn(figures, "0123456789");
	char *grouped = al_arena_alloc(arena, strlen(decimal) + whole / 3 + 1, 1);
	char *out = grouped;

	if (figures != decimal)
		*out++ = '-';
	for (size_t i = 0; i < whole; i++) {
		if (i > 0 && (whole - i) % 3 == 0)
			*out++ = ',';
		*out++ = figures[i];
	}
	strcpy(out, figures + whole);
	return grouped;
}
