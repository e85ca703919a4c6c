/* Numbers as papers print them. */
#include "scenario/printed.h"

static const struct unit {
	const char *name;
	int64_t factor;
} units[] = {{"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776},
	{"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000}, {"k", 1000},
	{"M", 1000000}, {"B", 1000000000}};
enum { N_UNITS = sizeof(units) / sizeof(*units) };

int64_t al_unit_factor(const char *unit)
{
	for (size_t i = 0; unit && i < N_UNITS; i++)
		if (strcmp(units[i].name, unit) == 0)
			return units[i].factor;
	return 1;
}

/* ---- spreads ---- */

static char *without_end_spaces(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == ' ')
		text[--n] = '\0';
	return text + strspn(text, " ");
}

/* The spread in brackets comes last. */
static char *cut_bracket(char *spread)
{
	size_t n = strlen(spread);

	if (n == 0 || spread[n - 1] != ')')
		return NULL;
	spread[n - 1] = '\0';
	return without_end_spaces(spread);
}

char *al_spread_cut(char *printed)
{
	static const char *const signs[] = {"\u00b1", "+-", "+/-", "("};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		char *sign = strstr(printed, signs[i]);
		if (!sign || sign == printed)
			continue;
		char *spread = sign + strlen(signs[i]);
		spread = *signs[i] == '(' ? cut_bracket(spread) : without_end_spaces(spread);
		if (!spread)
			return NULL;
		*sign = '\0';
		without_end_spaces(printed);
		return spread;
	}
	return NULL;
}

/* The ends have `digits` decimals; a half may need one more. */
static void halve(struct al_arena *arena, mpq_t q, int *digits)
{
	mpq_ptr rounded = al_exact_new(arena);

	al_exact_divide(q, 2);
	al_exact_round(rounded, q, *digits);
	*digits += !mpq_equal(rounded, q);
}

bool al_spread_of_range(struct al_arena *arena, char *printed, mpq_t middle, int *digits,
	mpq_t spread)
{
	size_t n = strlen(printed);
	char *comma = strstr(printed, ", ");
	int more;
	mpq_ptr low = al_exact_new(arena), high = al_exact_new(arena);

	if (printed[0] != '[' || printed[n - 1] != ']' || !comma)
		return false;
	*comma = printed[n - 1] = '\0';
	if (!al_exact_parse(without_end_spaces(printed + 1), low, digits)
		|| !al_exact_parse(without_end_spaces(comma + 1), high, &more))
		return false;
	*digits = al_most(more, *digits);
	mpq_sub(spread, high, low);
	al_exact_divide(spread, 2);
	mpq_add(middle, low, high);
	halve(arena, middle, digits);
	return true;
}

/* ---- the text around the number ---- */

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

/* "80.0 ± 0.3": the spread doesn't affect the last digit. */
static bool cut_spread(struct al_arena *arena, char *text)
{
	const char *spread = al_spread_cut(text);
	int digits;

	return !spread || al_exact_parse(spread, al_exact_new(arena), &digits);
}

static bool cut_end(char *text, const char *end)
{
	size_t length = strlen(text), n = strlen(end);

	if (length <= n || strcmp(text + length - n, end) != 0)
		return false;
	text[length - n] = '\0';
	without_end_spaces(text);
	return true;
}

/* A percent sign, "times", or a unit that scales. */
static void cut_unit(char *text, struct al_printed *printed)
{
	if (cut_end(text, "%") || cut_end(text, "x") || cut_end(text, "\u00d7"))
		return;
	for (size_t i = 0; i < N_UNITS && !printed->unit; i++)
		if (cut_end(text, units[i].name))
			printed->unit = units[i].name;
}

/* ---- the number ---- */

/* "2/3" */
static bool parse_fraction(char *text, char *slash, mpq_t out, struct al_printed *printed)
{
	int digits, more;
	mpq_ptr below = al_exact_new(printed->arena);

	*slash = '\0';
	if (!al_exact_parse(text, out, &digits) || !al_exact_parse(slash + 1, below, &more)
		|| digits != 0 || more != 0 || mpq_sgn(below) <= 0)
		return false;
	mpq_div(out, out, below);
	printed->is_fraction = true;
	return true;
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
	printed->digits = al_least(digits, printed->digits);
	return true;
}

static bool parse(struct al_printed *printed, char *text)
{
	static const char *const about[] = {"~", "\u223c", "\u2248", "about "};

	for (size_t i = 0; i < sizeof(about) / sizeof(*about); i++)
		printed->is_about = cut_front(&text, about[i]) || printed->is_about;
	if (!cut_spread(printed->arena, text))
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

void al_printed_shift(struct al_printed *printed)
{
	mpq_ptr unit = al_exact_new(printed->arena);

	al_exact_unit(unit, printed->digits, 1);
	if (printed->is_fraction) {
		mpz_set_ui(mpq_numref(unit), 1);
		mpz_set(mpq_denref(unit), mpq_denref(printed->first));
	}
	mpq_add(printed->first, printed->first, unit);
	mpq_add(printed->last, printed->last, unit);
	mpq_add(printed->low, printed->low, unit);
	mpq_add(printed->high, printed->high, unit);
}

bool al_printed_parse(struct al_printed *printed, struct al_arena *arena, const char *text)
{
	*printed = (struct al_printed){.arena = arena,
		.first = al_exact_new(arena),
		.last = al_exact_new(arena),
		.low = al_exact_new(arena),
		.high = al_exact_new(arena),
		.scale = 1};
	return parse(printed, al_strdup(arena, text));
}
