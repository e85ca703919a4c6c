/* The words of a formula: numbers, names, quoted words, operators. */
#include "formula/lex.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool al_formula_fail_at(const char *source, size_t offset, struct al_error *err, const char *format,
	...)
{
	char message[sizeof(err->message)];
	int column = 1;
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	for (size_t i = 0; i < offset; i++)
		column += (source[i] & 0xC0) != 0x80;
	return al_fail(err, AL_EINPUT, "column %d: %s", column, message);
}

/* Longer spellings before their beginnings. */
static const struct spelling {
	const char *text;
	enum al_token kind;
	bool is_printed; /* what papers print: arithmetic only, some of it outside ASCII */
	bool is_typed;
} spellings[] = {
	{"==", AL_TOKEN_EQUAL, false, true}, {"!=", AL_TOKEN_NOT_EQUAL, false, true},
	{"<=", AL_TOKEN_LESS_EQUAL, false, true}, {">=", AL_TOKEN_GREATER_EQUAL, false, true},
	{"<", AL_TOKEN_LESS, false, true}, {">", AL_TOKEN_GREATER, false, true},
	{",", AL_TOKEN_COMMA, false, true}, {"[", AL_TOKEN_OPEN_INDEX, false, true},
	{"]", AL_TOKEN_CLOSE_INDEX, false, true}, {"(", AL_TOKEN_OPEN, true, true},
	{")", AL_TOKEN_CLOSE, true, true}, {"+", AL_TOKEN_PLUS, true, true},
	{"-", AL_TOKEN_MINUS, true, true}, {"*", AL_TOKEN_TIMES, true, true},
	{"/", AL_TOKEN_OVER, true, true}, {"^", AL_TOKEN_POWER, true, true},
	{"\xE2\x88\x92", AL_TOKEN_MINUS, true, false}, /* U+2212, the minus sign */
	{"\xC2\xB7", AL_TOKEN_TIMES, true, false}, /* U+00B7, the middle dot */
	{"\xE2\x8B\x85", AL_TOKEN_TIMES, true, false}, /* U+22C5, the dot operator */
	{"\xC3\x97", AL_TOKEN_TIMES, true, false}, /* U+00D7, the cross */
};

static const struct {
	const char *text;
	enum al_token kind;
} keywords[] = {
	{"and", AL_TOKEN_AND},
	{"or", AL_TOKEN_OR},
	{"not", AL_TOKEN_NOT},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool begins_name(const struct al_lexer *lexer, char c)
{
	return is_letter(c) || (c == '_' && lexer->dialect != AL_DIALECT_PRINTED);
}

static bool continues_name(const struct al_lexer *lexer, char c)
{
	if (lexer->dialect == AL_DIALECT_PRINTED)
		return false;
	return is_letter(c) || c == '_' || is_digit(c)
		|| (c == ':' && lexer->dialect == AL_DIALECT_CELLS);
}

static void lex_name(struct al_lexer *lexer)
{
	const char *name = lexer->source + lexer->begin;

	lexer->kind = AL_TOKEN_NAME;
	do
		lexer->end++;
	while (continues_name(lexer, lexer->source[lexer->end]));
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (lexer->end - lexer->begin == strlen(keywords[i].text)
			&& strncmp(name, keywords[i].text, lexer->end - lexer->begin) == 0)
			lexer->kind = keywords[i].kind;
}

static bool lex_integer(struct al_lexer *lexer, struct al_error *err)
{
	lexer->kind = AL_TOKEN_INTEGER;
	while (is_digit(lexer->source[lexer->end]))
		lexer->end++;

	size_t n_digits = lexer->end - lexer->begin;
	if (n_digits > AL_FORMULA_DIGITS)
		return al_formula_fail_at(lexer->source, lexer->begin, err,
			"a number of %zu digits, expected at most %d", n_digits, AL_FORMULA_DIGITS);
	if (lexer->source[lexer->end] == '.')
		return al_formula_fail_at(lexer->source, lexer->end, err,
			"found a decimal point, expected a whole number (write 1/2 for 0.5)");
	return true;
}

static bool lex_word(struct al_lexer *lexer, struct al_error *err)
{
	size_t length = strcspn(lexer->source + lexer->begin + 1, "'");

	lexer->kind = AL_TOKEN_WORD;
	lexer->end = lexer->begin + length + 2;
	if (!lexer->source[lexer->end - 1])
		return al_formula_fail_at(lexer->source, lexer->begin, err,
			"the formula ends within a quoted word");
	return true;
}

static bool lex_operator(struct al_lexer *lexer)
{
	bool is_printed = lexer->dialect == AL_DIALECT_PRINTED;

	for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
		const struct spelling *s = &spellings[i];
		size_t n = strlen(s->text);
		if ((is_printed ? s->is_printed : s->is_typed)
			&& strncmp(lexer->source + lexer->begin, s->text, n) == 0) {
			lexer->kind = s->kind;
			lexer->end = lexer->begin + n;
			return true;
		}
	}
	return false;
}

/* A character that no formula has: one whole code point. */
static bool refuse_character(struct al_lexer *lexer, struct al_error *err)
{
	do
		lexer->end++;
	while ((lexer->source[lexer->end] & 0xC0) == 0x80);
	return al_formula_fail_at(lexer->source, lexer->begin, err, "unexpected character \"%.*s\"",
		(int)(lexer->end - lexer->begin), lexer->source + lexer->begin);
}

bool al_lex_next(struct al_lexer *lexer, struct al_error *err)
{
	while (lexer->source[lexer->end] && strchr(" \t\r\n", lexer->source[lexer->end]))
		lexer->end++;
	lexer->begin = lexer->end;

	char c = lexer->source[lexer->begin];
	if (!c) {
		lexer->kind = AL_TOKEN_END;
		return true;
	}
	if (begins_name(lexer, c)) {
		lex_name(lexer);
		return true;
	}
	if (is_digit(c))
		return lex_integer(lexer, err);
	if (c == '\'' && lexer->dialect != AL_DIALECT_PRINTED)
		return lex_word(lexer, err);
	return lex_operator(lexer) || refuse_character(lexer, err);
}

bool al_lex_row(struct al_lexer *lexer, size_t *begin, size_t *end, struct al_error *err)
{
	*begin = lexer->end;
	*end = *begin + strcspn(lexer->source + *begin, "]");
	if (*end == *begin || !lexer->source[*end])
		return al_formula_fail_at(lexer->source, *begin, err,
			"expected a row's name and \"]\"");
	lexer->end = *end;
	return al_lex_next(lexer, err);
}

bool al_lex_expected(const struct al_lexer *lexer, const char *expected, struct al_error *err)
{
	if (lexer->kind == AL_TOKEN_END)
		return al_formula_fail_at(lexer->source, lexer->begin, err,
			"the formula ends, expected %s", expected);
	return al_formula_fail_at(lexer->source, lexer->begin, err, "found \"%.*s\", expected %s",
		(int)(lexer->end - lexer->begin), lexer->source + lexer->begin, expected);
}
