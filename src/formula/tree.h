/* The tree of a formula: private to this folder. */
#pragma once

#include "formula/formula.h"

enum {
	AL_FORMULA_EXPONENT = 64,
	AL_FORMULA_DIGITS = 40,
	AL_FORMULA_BITS = 4096,
	AL_FORMULA_ARGS = 32,
};

enum al_operator {
	AL_OP_INTEGER,
	AL_OP_WORD,
	AL_OP_SYMBOL,
	AL_OP_NEGATE,
	AL_OP_NOT,
	AL_OP_ADD,
	AL_OP_SUBTRACT,
	AL_OP_MULTIPLY,
	AL_OP_DIVIDE,
	AL_OP_POWER,
	AL_OP_CEIL_DIV,
	AL_OP_MOD,
	AL_OP_EQUAL,
	AL_OP_NOT_EQUAL,
	AL_OP_LESS,
	AL_OP_LESS_EQUAL,
	AL_OP_GREATER,
	AL_OP_GREATER_EQUAL,
	AL_OP_AND,
	AL_OP_OR,
	AL_OP_IF,
	AL_OP_MIN,
	AL_OP_MAX,
	AL_N_OPERATORS,
};

/* How tightly an operator binds that is between two operands, or `not` and the
 * sign before one. */
enum al_precedence {
	AL_BINDS_NONE,
	AL_BINDS_OR,
	AL_BINDS_AND,
	AL_BINDS_NOT,
	AL_BINDS_COMPARISON,
	AL_BINDS_SUM,
	AL_BINDS_PRODUCT,
	AL_BINDS_SIGN,
	AL_BINDS_POWER,
};

/* What is typed for each operator, for the lexer, the parser and all that print
 * formulas. */
extern const struct al_operator_info {
	const char *text, *latex; /* latex: NULL where it is the text */
	enum al_precedence level;
	size_t least, most; /* of a function: its arguments */
	/* Of a comparison: what holds where it doesn't, and what it is with its sides exchanged. */
	enum al_operator opposite, mirrored;
} al_operators[AL_N_OPERATORS];

struct al_node {
	enum al_operator op;
	size_t begin, end; /* its token's bytes (a symbol's with its index), for messages */
	int64_t integer; /* AL_OP_INTEGER, unless `exact` */
	mpq_srcptr exact; /* AL_OP_INTEGER beyond int64_t, otherwise NULL */
	const char *text; /* AL_OP_SYMBOL: its name; AL_OP_WORD: the word */
	const char *row; /* AL_OP_SYMBOL, cells dialect: the index text, or NULL */
	const struct al_node *
		*args; /* operands from left to right; AL_OP_SYMBOL: its index, if any */
	size_t n_args;
};

struct al_formula {
	const char *source;
	const struct al_node *root;
};

/* Fails with "column C: ...", the column of the byte at `offset`, one a code
 * point. */
bool al_formula_fail_at(const char *source, size_t offset, struct al_error *err, const char *format,
	...) AL_PRINTF(4, 5);

/* ---- arithmetic on values ---- */

/* a op b for the arithmetic operators. Returns NULL, or what is wrong:
 * "division by zero". `out` may be `a`; neither operand is a word. */
const char *al_value_apply(enum al_operator op, const struct al_value *a, const struct al_value *b,
	struct al_value *out);

/* The same of plain numbers. */
const char *al_exact_apply(enum al_operator op, mpq_srcptr a, mpq_srcptr b, mpq_t out);

/* Less than, equal to or greater than zero, as a is to b. */
int al_value_compare(const struct al_value *a, const struct al_value *b);

/* Does a comparison operator hold for this order? */
bool al_op_accepts(enum al_operator comparison, int order);

void al_value_copy(struct al_value *to, const struct al_value *from);

/* All its digits: "-1/3". */
void al_text_add_exact(struct al_text *out, mpq_srcptr number);

/* ---- lex.c: the words of a formula ---- */

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
	AL_TOKEN_OPERATOR,
};

struct al_lexer {
	const char *source;
	enum al_dialect dialect;
	enum al_token kind; /* of the current token ... */
	enum al_operator op; /* AL_TOKEN_OPERATOR; the minus sign is AL_OP_SUBTRACT */
	size_t begin, end; /* ... and its bytes */
};

/* Moves on to the next token. */
bool al_lex_next(struct al_lexer *lexer, struct al_error *err) AL_MUST_CHECK;

/* After "[": moves on to "]" and gives the bytes between unchanged. */
bool al_lex_row(struct al_lexer *lexer, size_t *begin, size_t *end,
	struct al_error *err) AL_MUST_CHECK;

/* Fails with 'found "TOKEN", expected ...' at the current token. */
bool al_lex_expected(const struct al_lexer *lexer, const char *expected, struct al_error *err);
