/* The words of a formula: numbers, names, quoted words, operators. */
#include "formula/tree.h"

#include <stdarg.h>

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

const struct al_operator_info al_operators[AL_N_OPERATORS] = {
	[AL_OP_NEGATE] = {.text = "~"},
	[AL_OP_NOT] = {.text = "not", .level = AL_BINDS_NOT},
	[AL_OP_ADD] = {.text = "+", .level = AL_BINDS_SUM},
	[AL_OP_SUBTRACT] = {.text = "-", .level = AL_BINDS_SUM},
	[AL_OP_MULTIPLY] = {.text = "*", .level = AL_BINDS_PRODUCT},
	[AL_OP_DIVIDE] = {.text = "/", .level = AL_BINDS_PRODUCT},
	[AL_OP_POWER] = {.text = "^", .level = AL_BINDS_POWER},
	[AL_OP_CEIL_DIV] = {"ceil_div", .least = 2, .most = 2},
	[AL_OP_MOD] = {"mod", .least = 2, .most = 2},
	[AL_OP_EQUAL] = {"==", "=", AL_BINDS_COMPARISON, 0, 0, AL_OP_NOT_EQUAL, AL_OP_EQUAL},
	[AL_OP_NOT_EQUAL] = {"!=", "\\ne", AL_BINDS_COMPARISON, 0, 0, AL_OP_EQUAL, AL_OP_NOT_EQUAL},
	[AL_OP_LESS] = {"<", NULL, AL_BINDS_COMPARISON, 0, 0, AL_OP_GREATER_EQUAL, AL_OP_GREATER},
	[AL_OP_LESS_EQUAL] = {"<=", "\\le", AL_BINDS_COMPARISON, 0, 0, AL_OP_GREATER,
		AL_OP_GREATER_EQUAL},
	[AL_OP_GREATER] = {">", NULL, AL_BINDS_COMPARISON, 0, 0, AL_OP_LESS_EQUAL, AL_OP_LESS},
	[AL_OP_GREATER_EQUAL] = {">=", "\\ge", AL_BINDS_COMPARISON, 0, 0, AL_OP_LESS,
		AL_OP_LESS_EQUAL},
	[AL_OP_AND] = {.text = "and", .level = AL_BINDS_AND},
	[AL_OP_OR] = {.text = "or", .level = AL_BINDS_OR},
	[AL_OP_IF] = {"if", .least = 3, .most = 3},
	[AL_OP_MIN] = {"min", .least = 1, .most = AL_FORMULA_ARGS},
	[AL_OP_MAX] = {"max", .least = 1, .most = AL_FORMULA_ARGS},
};

/* Other signs. Papers print U+2212 as minus, and the dots U+00B7 and U+22C5 or the cross U+00D7
 * where they print a product's sign. */
static const struct sign {
	const char *text;
	enum al_token kind;
	enum al_operator op;
	bool is_printed, is_typed;
} signs[] = {
	{"(", AL_TOKEN_OPEN, .is_printed = true, .is_typed = true},
	{")", AL_TOKEN_CLOSE, .is_printed = true, .is_typed = true},
	{",", AL_TOKEN_COMMA, .is_typed = true},
	{"[", AL_TOKEN_OPEN_INDEX, .is_typed = true},
	{"]", AL_TOKEN_CLOSE_INDEX, .is_typed = true},
	{"\xE2\x88\x92", AL_TOKEN_OPERATOR, AL_OP_SUBTRACT, .is_printed = true},
	{"\xC2\xB7", AL_TOKEN_OPERATOR, AL_OP_MULTIPLY, .is_printed = true},
	{"\xE2\x8B\x85", AL_TOKEN_OPERATOR, AL_OP_MULTIPLY, .is_printed = true},
	{"\xC3\x97", AL_TOKEN_OPERATOR, AL_OP_MULTIPLY, .is_printed = true},
};

static bool begins_name(const struct al_lexer *lexer, char c)
{
	return al_is_letter(c) || (c == '_' && lexer->dialect != AL_DIALECT_PRINTED);
}

static bool continues_name(const struct al_lexer *lexer, char c)
{
	if (lexer->dialect == AL_DIALECT_PRINTED)
		return false;
	return al_is_letter(c) || c == '_' || al_is_digit(c)
		|| (c == ':' && lexer->dialect == AL_DIALECT_CELLS);
}

static void lex_name(struct al_lexer *lexer)
{
	static const enum al_operator keywords[] = {AL_OP_AND, AL_OP_OR, AL_OP_NOT};
	const char *name = lexer->source + lexer->begin;

	lexer->kind = AL_TOKEN_NAME;
	do
		lexer->end++;
	while (continues_name(lexer, lexer->source[lexer->end]));
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		const char *text = al_operators[keywords[i]].text;
		if (lexer->end - lexer->begin != strlen(text)
			|| strncmp(name, text, strlen(text)) != 0)
			continue;
		lexer->kind = AL_TOKEN_OPERATOR;
		lexer->op = keywords[i];
	}
}

static bool lex_integer(struct al_lexer *lexer, struct al_error *err)
{
	lexer->kind = AL_TOKEN_INTEGER;
	while (al_is_digit(lexer->source[lexer->end]))
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

/* Takes the text where it is here and longer than what was taken before. */
static void take(struct al_lexer *lexer, const char *text, enum al_token kind, enum al_operator op)
{
	const size_t n = strlen(text);

	if (lexer->begin + n <= lexer->end || strncmp(lexer->source + lexer->begin, text, n) != 0)
		return;
	lexer->kind = kind;
	lexer->op = op;
	lexer->end = lexer->begin + n;
}

/* Papers print arithmetic alone. */
static bool lex_operator(struct al_lexer *lexer)
{
	const bool is_printed = lexer->dialect == AL_DIALECT_PRINTED;
	const enum al_precedence least = is_printed ? AL_BINDS_SUM : AL_BINDS_OR;

	for (enum al_operator op = 0; op < AL_N_OPERATORS; op++)
		if (al_operators[op].level >= least)
			take(lexer, al_operators[op].text, AL_TOKEN_OPERATOR, op);
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (is_printed ? signs[i].is_printed : signs[i].is_typed)
			take(lexer, signs[i].text, signs[i].kind, signs[i].op);
	return lexer->end > lexer->begin;
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
	if (al_is_digit(c))
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
