/* The tree of a formula: private to this folder. */
#ifndef ATTNLEDGER_FORMULA_TREE_H
#define ATTNLEDGER_FORMULA_TREE_H

#include "formula/formula.h"

enum { AL_FORMULA_EXPONENT = 64, AL_FORMULA_DIGITS = 40, AL_FORMULA_BITS = 4096 };

enum op {
	OP_INTEGER,
	OP_WORD,
	OP_SYMBOL,
	OP_NEGATE,
	OP_NOT,
	OP_ADD,
	OP_SUBTRACT,
	OP_MULTIPLY,
	OP_DIVIDE,
	OP_POWER,
	OP_CEIL_DIV,
	OP_MOD,
	OP_EQUAL,
	OP_NOT_EQUAL,
	OP_LESS,
	OP_LESS_EQUAL,
	OP_GREATER,
	OP_GREATER_EQUAL,
	OP_AND,
	OP_OR,
	OP_IF,
	OP_MIN,
	OP_MAX,
};

struct node {
	enum op op;
	size_t begin, end; /* its token's bytes (a symbol's with its index), for messages */
	int64_t integer; /* OP_INTEGER, unless `exact` */
	mpq_srcptr exact; /* OP_INTEGER beyond int64_t, otherwise NULL */
	const char *text; /* OP_SYMBOL: its name; OP_WORD: the word */
	const char *row; /* OP_SYMBOL, cells dialect: the index text, or NULL */
	const struct node **args; /* operands from left to right; OP_SYMBOL: its index, if any */
	size_t n_args;
};

struct al_formula {
	const char *source;
	const struct node *root;
};

/* Fails with "column C: ...", the column of the byte at `offset`, one a code point. */
bool al_formula_fail_at(const char *source, size_t offset, struct al_error *err, const char *format,
	...) AL_PRINTF(4, 5);

/* ---- arithmetic on values ---- */

/* a op b for the arithmetic operators. Returns NULL, or what is wrong: "division by zero". `out`
 * may be `a`; neither operand is a word. */
const char *al_value_apply(enum op op, const struct al_value *a, const struct al_value *b,
	struct al_value *out);

/* The same of whole numbers; false where the result is none of 64 bits, or is not defined. */
bool al_integer_apply(enum op op, int64_t a, int64_t b, int64_t *out);

/* Less than, equal to or greater than zero, as a is to b. */
int al_value_compare(const struct al_value *a, const struct al_value *b);

/* Does a comparison operator hold for this order? */
bool al_op_accepts(enum op comparison, int order);

void al_value_copy(struct al_value *to, const struct al_value *from);

#endif
