/* The words of a formula: private to this folder. */
#ifndef ATTNLEDGER_FORMULA_LEX_H
#define ATTNLEDGER_FORMULA_LEX_H

#include "formula/tree.h"

enum token_kind {
	TOKEN_END,
	TOKEN_INTEGER,
	TOKEN_NAME,
	TOKEN_WORD,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_OPEN_INDEX,
	TOKEN_CLOSE_INDEX,
	TOKEN_COMMA,
	TOKEN_PLUS,
	TOKEN_MINUS,
	TOKEN_TIMES,
	TOKEN_OVER,
	TOKEN_POWER,
	TOKEN_EQUAL,
	TOKEN_NOT_EQUAL,
	TOKEN_LESS,
	TOKEN_LESS_EQUAL,
	TOKEN_GREATER,
	TOKEN_GREATER_EQUAL,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_NOT,
};

struct lexer {
	const char *source;
	enum al_dialect dialect;
	enum token_kind kind; /* of the current token ... */
	size_t begin, end; /* ... and its bytes */
};

/* Moves on to the next token. */
bool al_lex_next(struct lexer *lexer, struct al_error *err) AL_MUST_CHECK;

/* Behind "[": moves on to "]" and gives the bytes between as they stand. */
bool al_lex_row(struct lexer *lexer, size_t *begin, size_t *end,
	struct al_error *err) AL_MUST_CHECK;

/* Fails with 'found "TOKEN", expected ...' at the current token. */
bool al_lex_expected(const struct lexer *lexer, const char *expected, struct al_error *err);

#endif
