/* The words of a formula: private to this folder. */
#ifndef ATTNLEDGER_FORMULA_LEX_H
#define ATTNLEDGER_FORMULA_LEX_H

#include "formula/tree.h"

enum al_token {
	AL_TOKEN_END,
	AL_TOKEN_INTEGER,
	AL_TOKEN_NAME,
	AL_TOKEN_WORD,
	AL_TOKEN_OPEN,
	AL_TOKEN_CLOSE,
	AL_TOKEN_OPEN_INDEX,
	AL_TOKEN_CLOSE_INDEX,
	AL_TOKEN_COMMA,
	AL_TOKEN_PLUS,
	AL_TOKEN_MINUS,
	AL_TOKEN_TIMES,
	AL_TOKEN_OVER,
	AL_TOKEN_POWER,
	AL_TOKEN_EQUAL,
	AL_TOKEN_NOT_EQUAL,
	AL_TOKEN_LESS,
	AL_TOKEN_LESS_EQUAL,
	AL_TOKEN_GREATER,
	AL_TOKEN_GREATER_EQUAL,
	AL_TOKEN_AND,
	AL_TOKEN_OR,
	AL_TOKEN_NOT,
};

struct al_lexer {
	const char *source;
	enum al_dialect dialect;
	enum al_token kind; /* of the current token ... */
	size_t begin, end; /* ... and its bytes */
};

/* Moves on to the next token. */
bool al_lex_next(struct al_lexer *lexer, struct al_error *err) AL_MUST_CHECK;

/* After "[": moves on to "]" and gives the bytes between as they stand. */
bool al_lex_row(struct al_lexer *lexer, size_t *begin, size_t *end,
	struct al_error *err) AL_MUST_CHECK;

/* Fails with 'found "TOKEN", expected ...' at the current token. */
bool al_lex_expected(const struct al_lexer *lexer, const char *expected, struct al_error *err);

#endif
