/* Formulas: the exact language of the catalog and of scenario columns.
 *
 *   + - * / ^ ( )   integers   symbols   NAME[index]   'word'
 *   == != < <= > >= and or not
 *   if(c, a, b)   min(a, ...)   max(a, ...)   ceil_div(a, b)   mod(a, b)
 *
 * From loose to tight: or, and, not, comparisons, + -, * /, the sign, ^. `^` takes a whole exponent
 * of at most 64 and binds to the right; a comparison is worth 1 or 0. A formula is parsed once to
 * an immutable tree with bounds of its own, so that no input can exhaust what comes after it.
 * Evaluation is exact over the rationals. */
#pragma once

#include "base/base.h"

#include <gmp.h>

/* Bytes, and brackets, functions, indices, signs and powers within each other. */
enum { AL_FORMULA_LENGTH = 512, AL_FORMULA_DEPTH = 32 };

struct al_formula;

enum al_dialect {
	AL_DIALECT_CATALOG, /* symbols [A-Za-z_][A-Za-z0-9_]*; an index is a formula:
	                        layer_types[layer] */
	AL_DIALECT_CELLS, /* symbols may hold ':' (prr:glue); an index is a row's name, unchanged
	                        up to ']': glue[mhe-mul], bleu[base,mha] */
	AL_DIALECT_PRINTED, /* as papers print: arithmetic in one-letter symbols, a product needs no
	                        sign: (3n^2-3n)d^2; a factor after a quotient needs brackets */
};

/* An error has the form "column C: what was found, what was expected". */
bool al_formula_parse(struct al_arena *arena, const char *text, enum al_dialect dialect,
	const struct al_formula **out, struct al_error *err) AL_MUST_CHECK;

/* The text that was parsed. */
const char *al_formula_source(const struct al_formula *formula);

/* Is it one plain integer, perhaps negative? Then its value. */
bool al_formula_is_integer(const struct al_formula *formula, int64_t *value);

/* Calls `visit` once for each symbol reference (a symbol may come again). */
void al_formula_each_symbol(const struct al_formula *formula,
	void (*visit)(void *context, const char *symbol), void *context);

/* Is the symbol anywhere in the formula? NULL, a formula that was left out, names none. */
bool al_formula_mentions(const struct al_formula *formula, const char *symbol);

/* ---- values ---- */

enum al_value_kind {
	AL_VALUE_INTEGER, /* fits an int64_t: the fast path */
	AL_VALUE_EXACT, /* any rational: `exact` is initialized */
	AL_VALUE_WORD, /* a word, for == and != only; `word` must outlive the value */
};

struct al_value {
	enum al_value_kind kind;
	int64_t integer;
	mpq_t exact;
	const char *word;
};

/* Starts as the integer 0 and needs al_value_finish only after it became AL_VALUE_EXACT (finishing
 * twice or another kind is harmless): one that AL_VALUE declares is finished where its block ends.
 * Setters may be used on any value that was initialized. */
#define AL_VALUE(name) AL_ENDS(al_value_finish) struct al_value name = {.kind = AL_VALUE_INTEGER}
void al_value_init(struct al_value *value);
void al_value_finish(struct al_value *value);
void al_value_set_int(struct al_value *value, int64_t integer);
void al_value_set_exact(struct al_value *value, mpq_srcptr exact); /* int64_t where it fits */
void al_value_set_word(struct al_value *value, const char *word);
void al_value_get(const struct al_value *value, mpq_t out); /* a number's value */

/* ---- evaluation ---- */

struct al_reference {
	const char *symbol;
	const char *row; /* cells dialect: the index text, or NULL */
	bool has_index; /* catalog dialect: NAME[index] */
	int64_t index;
};

/* Where symbols get their values. */
struct al_scope {
	/* Sets *found and, where found, the value. Returns false only on an error. */
	bool (*lookup)(void *context, const struct al_reference *reference, bool *found,
		struct al_value *out, struct al_error *err);
	/* The known symbols, for the message that names the nearest; NULL: those of `outer`. */
	size_t (*known)(void *context, const char *const **names);
	void *context;
	const struct al_scope *outer; /* asked for what is not found here; may be NULL */
};

/* `out` is initialized by the caller. Division by zero, a result beyond 4096 bits: errors that
 * quote the formula and its column. A wrong symbol names itself, its column and the nearest known
 * symbol; an error of the scope passes as it is. `if`, `and` and `or` evaluate only what they
 * need. */
bool al_formula_eval(const struct al_formula *formula, const struct al_scope *scope,
	struct al_value *out, struct al_error *err) AL_MUST_CHECK;

/* Evaluates to true (non-zero) or false. */
bool al_formula_holds(const struct al_formula *formula, const struct al_scope *scope, bool *out,
	struct al_error *err) AL_MUST_CHECK;

/* Evaluates to a whole number of at least `least` and below 2^53, or an error such as
 * "d_model/n_heads = 768/7 is not a whole number". */
bool al_formula_whole(const struct al_formula *formula, const struct al_scope *scope, int64_t least,
	int64_t *out, struct al_error *err) AL_MUST_CHECK;

/* Does the value depend on the symbol, where `known` decides some of the conditions? It must not
 * know the symbol. */
bool al_formula_depends(const struct al_formula *formula, const char *symbol,
	const struct al_scope *known);

/* The formula with each symbol replaced by its value: "768 * 12*64" for "d_model * n_heads*d_head".
 * A symbol that the scope does not know (in a branch that was not taken) keeps its name. */
bool al_formula_substituted(const struct al_formula *formula, const struct al_scope *scope,
	struct al_arena *arena, const char **out, struct al_error *err) AL_MUST_CHECK;
