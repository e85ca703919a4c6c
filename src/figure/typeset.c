/* Math in a label. */
#include "figure/typeset.h"

#include "base/symbol.h"

static void put(struct al_text *plain, struct al_text *levels, const char *from, size_t length,
	char level)
{
	al_text_add_bytes(plain, from, length);
	for (size_t i = 0; i < length; i++)
		al_text_add_bytes(levels, &level, 1);
}

/* UTF-8 text. */
static size_t character_length(const char *p)
{
	size_t n = 1;

	while (((unsigned char)p[n] & 0xC0) == 0x80)
		n++;
	return n;
}

/* Behind "_" or "^": what is moved, and where it ends. */
static const char *put_moved(struct al_text *plain, struct al_text *levels, const char *p,
	char level)
{
	const char *close = *p == '{' ? strchr(p, '}') : NULL;

	if (close) {
		put(plain, levels, p + 1, (size_t)(close - p - 1), level);
		return close + 1;
	}
	const size_t n = character_length(p);
	put(plain, levels, p, n, level);
	return p + n;
}

static const char *put_math(struct al_text *plain, struct al_text *levels, const char *p,
	const char *end)
{
	while (p < end) {
		const bool is_moved = (*p == AL_LEVEL_LOWER || *p == AL_LEVEL_UPPER) && p + 1 < end;
		if (is_moved) {
			p = put_moved(plain, levels, p + 1, *p);
			continue;
		}
		if (*p != ' ')
			put(plain, levels, p, 1, AL_LEVEL_LINE);
		p++;
	}
	return end + 1;
}

/* "d_model": the letter, and the rest lower, each further "_" as a space. */
static void put_symbol(struct al_text *plain, struct al_text *levels, const char *p, size_t n)
{
	put(plain, levels, p, 1, AL_LEVEL_LINE);
	for (size_t i = 2; i < n; i++)
		put(plain, levels, p[i] == '_' ? " " : p + i, 1, AL_LEVEL_LOWER);
}

static void put_words(struct al_text *plain, struct al_text *levels, const char *text, size_t n)
{
	for (const char *p = text; p < text + n;) {
		const size_t symbol = al_symbol_length(text, p);
		if (symbol > 0)
			put_symbol(plain, levels, p, symbol);
		else
			put(plain, levels, p, 1, AL_LEVEL_LINE);
		p += al_most(symbol, 1);
	}
}

void al_typeset(const char *text, struct al_text *plain, struct al_text *levels)
{
	while (*text) {
		const char *open = strchr(text, '$'), *close = open ? strchr(open + 1, '$') : NULL;
		const size_t before = close ? (size_t)(open - text) : strlen(text);
		put_words(plain, levels, text, before);
		if (!close)
			return;
		text = put_math(plain, levels, open + 1, close);
	}
}
