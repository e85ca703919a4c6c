/* A number and what it varies by, as papers print them. */
#include "scenario/spread.h"

#include <string.h>

#include "base/number.h"

static char *without_end_spaces(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == ' ')
		text[--n] = '\0';
	return text + strspn(text, " ");
}

/* The spread in brackets is the last that stands there. */
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
static void halve(mpq_t q, int *digits)
{
	mpq_t rounded;

	mpq_init(rounded);
	al_exact_divide(q, 2);
	al_exact_round(rounded, q, *digits);
	*digits += !mpq_equal(rounded, q);
	mpq_clear(rounded);
}

bool al_spread_of_range(char *printed, mpq_t middle, int *digits, mpq_t spread)
{
	size_t n = strlen(printed);
	char *comma = strstr(printed, ", ");
	int more;
	mpq_t low, high;

	if (n < 2 || printed[0] != '[' || printed[n - 1] != ']' || !comma)
		return false;
	*comma = printed[n - 1] = '\0';
	mpq_inits(low, high, NULL);
	bool ok = al_exact_parse(without_end_spaces(printed + 1), low, digits)
		&& al_exact_parse(without_end_spaces(comma + 1), high, &more);
	if (ok) {
		*digits = more > *digits ? more : *digits;
		mpq_sub(spread, high, low);
		al_exact_divide(spread, 2);
		mpq_add(middle, low, high);
		halve(middle, digits);
	}
	mpq_clears(low, high, NULL);
	return ok;
}
