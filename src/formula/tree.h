/* The tree of a formula: private to this folder. */
#ifndef ATTNLEDGER_FORMULA_TREE_H
#define ATTNLEDGER_FORMULA_TREE_H

#include "formula/formula.h"

enum { AL_FORMULA_EXPONENT = 64, AL_FORMULA_DIGITS = 40, AL_FORMULA_BITS = 4096 };

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
};

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

/* Fails with "column C: ...", the column of the byte at `offset`, one a code point. */
bool al_formula_fail_at(const char *source, size_t offset, struct al_error *err, const char *format,
	...) AL_PRINTF(4, 5);

/* ---- arithmetic on values ---- */

/* a op b for the arithmetic operators. Returns NULL, or what is wrong: "division by zero". `out`
 * may be `a`; neither operand is a word. */
const char *al_value_apply(enum al_operator op, const struct al_value *a, const struct al_value *b,
	struct al_value *out);

/* Less than, equal to or greater than zero, as a is to b. */
int al_value_compare(const struct al_value *a, const struct al_value *b);

/* Does a comparison operator hold for this order? */
bool al_op_accepts(enum al_operator comparison, int order);

void al_value_copy(struct al_value *to, const struct al_value *from);

#endif
