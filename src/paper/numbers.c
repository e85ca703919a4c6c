/* Numbers of cells: 8K, 2^20, 2.5 x 10^9, 128K (max) as what scenarios read of a printed number. */

#include <ctype.h>

#include "paper/paper.h"
#include "paper/words.h"
#include "scenario/printed.h"

/* What may come after a number without changing what it is. */
static const char *const endings[] = {"/token", "/tok", " per token", " tokens", " token",
	" (tokens)", " (max)", " (max.)", " max", " context", " heads", " layers", " params",
	" parameters", " (ours)", ":1", "*", "^*", "^", "\u2020", "\u2021"};

static void cut_ends(char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (al_ends_with(text, endings[i])) {
			n -= strlen(endings[i]);
			text[n] = '\0';
			i = SIZE_MAX; /* from the first on again */
		}
}

static const char *power_of(struct al_arena *arena, int64_t base, int64_t exponent)
{
	int64_t power = 1;

	while (exponent-- > 0)
		if (__builtin_mul_overflow(power, base, &power))
			return NULL;
	return al_format(arena, "%lld", (long long)power);
}

/* "2^20", and "2.5 x 10^9", whose last digit counts in 10^8; NULL: it is neither. */
static const char *read_power(struct al_arena *arena, const char *text)
{
	const char *sign = strchr(text, '^'), *times = strstr(text, "x10^");
	int64_t base, exponent;

	if (!sign || al_read_digits(sign + 1, &exponent) != strlen(sign + 1) || exponent > 63)
		return NULL;
	if (times)
		return al_format(arena, "%.*se%lld", (int)(times - text), text,
			(long long)exponent);
	return al_read_digits(text, &base) == (size_t)(sign - text)
		? power_of(arena, base, exponent)
		: NULL;
}

char *al_paper_without(struct al_arena *arena, const char *text, char c)
{
	char *out = al_strdup(arena, text), *to = out;

	for (const char *p = text; *p; p++)
		if (*p != c)
			*to++ = *p;
	*to = '\0';
	return out;
}

const char *al_paper_number(struct al_arena *arena, const char *cell)
{
	const char *digits = cell + strspn(cell, "~ ");
	const size_t n = al_number_length(digits);
	struct al_printed printed;

	if (n == 0 || digits[n] == '\0')
		return cell;
	char *text = al_strdup(arena, cell);

	cut_ends(text);
	const char *power = read_power(arena, al_paper_without(arena, text, ' '));
	const size_t length = strlen(text), last = length - (length > 1 && text[length - 1] == 'B');

	if (last > 1 && text[last - 1] == 'K') /* "8K", "512 KB" */
		text[last - 1] = 'k';
	text = al_strdup(arena, power ? power : text);
	return al_printed_parse(&printed, arena, text) ? text : cell;
}

const char *al_paper_cell_text(struct al_arena *arena, const char *text, size_t length)
{
	const char *plain = al_paper_plain(arena, text, length);
	const size_t sign = strspn(plain, "+-~");

	return plain[sign] == '.' && isdigit((unsigned char)plain[sign + 1])
		? al_format(arena, "%.*s0%s", (int)sign, plain, plain + sign)
		: plain;
}

size_t al_paper_cell_lines(struct al_arena *arena, const char *text,
	const char *out[AL_PAPER_MOST_LINES])
{
	size_t n = 0;

	if (!strstr(text, "\\makecell") && !strstr(text, "\\shortstack"))
		return 0;
	for (const char *p = text; p; n++) {
		const char *end = strstr(p, "\\\\");
		if (n == AL_PAPER_MOST_LINES)
			return 0;
		out[n] = al_paper_cell_text(arena, p, end ? (size_t)(end - p) : strlen(p));
		if (al_number_length(out[n] + strspn(out[n], "+-~(")) == 0)
			return 0;
		p = end ? end + 2 : NULL;
	}
	return n;
}
