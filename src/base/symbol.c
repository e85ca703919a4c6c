#include "base/symbol.h"

#include "base/base.h"

static bool is_alphanumeric(char c)
{
	return al_is_letter(c) || al_is_digit(c);
}

static bool is_part(char c)
{
	return is_alphanumeric(c) || c == '_';
}

static bool is_symbol_at(const char *p)
{
	return al_is_letter(p[0]) && p[1] == '_' && is_alphanumeric(p[2]);
}

/* "d_model/n_heads" is a quotient, "layers/a_b" the name of a tensor or a file. */
static bool divides(const char *text, const char *slash)
{
	const char *p = slash;

	while (p > text && is_part(p[-1]))
		p--;
	return is_symbol_at(p) && (is_symbol_at(slash + 1) || !al_is_letter(slash[1]));
}

/* Names of files and of tensors (a_b.json, x-a_b, x/a_b) are no symbols. */
static bool begins_word(const char *text, const char *p)
{
	if (p == text || (p[-1] == '/' && divides(text, p - 1)))
		return true;
	return !is_part(p[-1]) && !strchr(".-/\\$", p[-1]) && (unsigned char)p[-1] < 128;
}

static bool ends_word(const char *text, const char *p)
{
	if (*p == '.' || *p == '-' || *p == ':')
		return !is_alphanumeric(p[1]);
	if (*p == '/')
		return divides(text, p);
	return *p != '_' && *p != '$' && (unsigned char)*p < 128;
}

size_t al_symbol_length(const char *text, const char *p)
{
	size_t n = 1;

	if (!al_is_letter(*p) || !begins_word(text, p))
		return 0;
	while (p[n] == '_' && is_alphanumeric(p[n + 1]))
		for (n++; is_alphanumeric(p[n]); n++)
			continue;
	return n > 1 && ends_word(text, p + n) ? n : 0;
}
