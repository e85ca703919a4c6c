/* Numbers as papers print them. */
#include "scenario/printed.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "base/text.h"
#include "scenario/spread.h"
#include "scenario/units.h"

void al_printed_init(struct al_printed *printed)
{
	*printed = (struct al_printed){.scale = 1};
	mpq_inits(printed->first, printed->last, printed->low, printed->high, NULL);
}

void al_printed_finish(struct al_printed *printed)
{
	mpq_clears(printed->first, printed->last, printed->low, printed->high, NULL);
}

/* ---- what stands around the number ---- */

static bool cut_front(char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n) != 0)
		return false;
	*text += n;
	while (**text == ' ')
		++*text;
	return true;
}

static void cut_at(char *text, char *end)
{
	while (end > text && end[-1] == ' ')
		end--;
	*end = '\0';
}

/* "80.0 ± 0.3": the spread says nothing about the last digit. */
static bool cut_spread(char *text)
{
	const char *spread = al_spread_cut(text);
	int digits;
	mpq_t number;

	mpq_init(number);
	bool ok = !spread || al_exact_parse(spread, number, &digits);
	mpq_clear(number);
	return ok;
}

/* A percent sign, "times", or a unit that scales. */
static void cut_unit(char *text, struct al_printed *printed)
{
	static const char *const signs[] = {"%", "x", "\u00d7"};
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "TB", "k",
		"M", "B"};
	size_t length = strlen(text);

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i]);
		if (length > n && strcmp(text + length - n, signs[i]) == 0) {
			cut_at(text, text + length - n);
			return;
		}
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t n = strlen(units[i]);
		if (length > n && strcmp(text + length - n, units[i]) == 0) {
			cut_at(text, text + length - n);
			printed->unit = units[i];
			return;
		}
	}
}

/* ---- the number ---- */

/* "2/3" */
static bool parse_fraction(char *text, char *slash, mpq_t out, struct al_printed *printed)
{
	int digits, more;
	mpq_t below;

	*slash = '\0';
	mpq_init(below);
	bool ok = al_exact_parse(text, out, &digits) && al_exact_parse(slash + 1, below, &more)
		&& digits == 0 && more == 0 && mpq_sgn(below) > 0;
	if (ok)
		mpq_div(out, out, below);
	mpq_clear(below);
	printed->is_fraction = true;
	return ok;
}

/* "1e6", "1.5e-3": a power of ten that the last digit counts in. */
static bool cut_exponent(char *text, int *exponent)
{
	char *e = strpbrk(text, "eE"), *end;

	*exponent = 0;
	if (!e)
		return true;
	long value = strtol(e + 1, &end, 10);
	bool ok = end != e + 1 && !*end && e[1] != ' ' && value >= -18 && value <= 18;
	*exponent = (int)value;
	*e = '\0';
	return ok;
}

static int64_t power_of_ten(int exponent)
{
	int64_t power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

static bool parse_number(char *text, mpq_t out, int *digits, struct al_printed *printed)
{
	char *slash = strchr(text, '/');
	int exponent;

	*digits = 0;
	if (slash)
		return parse_fraction(text, slash, out, printed);
	if (!cut_exponent(text, &exponent) || !al_exact_parse(text, out, digits))
		return false;
	if (exponent < 0) {
		al_exact_divide(out, power_of_ten(-exponent));
		*digits -= exponent;
	}
	printed->scale = power_of_ten(exponent);
	return true;
}

/* "0.6..17.4": both ends in one scale, rounded as the coarser one is. */
static bool parse_range(char *text, char *dots, struct al_printed *printed)
{
	int digits;

	*dots = '\0';
	if (!parse_number(text, printed->first, &printed->digits, printed))
		return false;
	int64_t scale = printed->scale;
	if (!parse_number(dots + 2, printed->last, &digits, printed) || printed->scale != scale)
		return false;
	if (digits < printed->digits)
		printed->digits = digits;
	return true;
}

static bool parse(struct al_printed *printed, char *text)
{
	static const char *const about[] = {"~", "\u223c", "\u2248", "about "};

	for (size_t i = 0; i < sizeof(about) / sizeof(*about); i++)
		printed->is_about = cut_front(&text, about[i]) || printed->is_about;
	if (!cut_spread(text))
		return false;
	cut_unit(text, printed);
	char *dots = strstr(text, "..");
	if (dots)
		return parse_range(text, dots, printed);
	if (!parse_number(text, printed->first, &printed->digits, printed))
		return false;
	mpq_set(printed->last, printed->first);
	return true;
}

void al_printed_shift(struct al_printed *to, const struct al_printed *from, int steps)
{
	mpq_t unit;

	to->digits = from->digits;
	to->scale = from->scale;
	to->unit = from->unit;
	to->is_fraction = from->is_fraction;
	to->is_about = from->is_about;
	mpq_init(unit);
	al_exact_unit(unit, from->digits, 1);
	if (from->is_fraction) {
		mpz_set_ui(mpq_numref(unit), 1);
		mpz_set(mpq_denref(unit), mpq_denref(from->first));
	}
	al_exact_multiply(unit, steps);
	mpq_add(to->first, from->first, unit);
	mpq_add(to->last, from->last, unit);
	mpq_add(to->low, from->low, unit);
	mpq_add(to->high, from->high, unit);
	mpq_clear(unit);
}

bool al_printed_parse(struct al_printed *printed, const char *text)
{
	struct al_arena arena;

	al_arena_init(&arena);
	bool ok = parse(printed, al_strdup(&arena, text));
	al_arena_finish(&arena);
	return ok;
}
