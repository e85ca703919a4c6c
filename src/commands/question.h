/* A question: a model (or bare symbols), bases, a recipe and the variants that are asked about. */
#ifndef ATTNLEDGER_COMMANDS_QUESTION_H
#define ATTNLEDGER_COMMANDS_QUESTION_H

#include "commands/command.h"
#include "catalog/family.h"
#include "ledger/ledger.h"

struct question {
	const char *name, *title; /* of the model */
	struct al_catalog *catalog;
	const struct al_model *model; /* NULL: a variant was named, symbols come from --set */
	const struct al_family *family; /* NULL: only the model's attention is known */
	struct al_settings asked; /* what the options say */
	struct al_settings
		settings; /* with the model's: asked values go before its own, and what its
	                                   config derives follows them */
	struct al_basis basis;
	const struct al_recipe *recipe;
	struct al_variant_use *uses;
	size_t n_uses, uses_room;
	bool is_own; /* the variant is the model's own block: none was asked for */
	const char **left_out; /* of "all": why each is left out */
	size_t n_left_out;
};

/* Reads the shared options. `word` names a preset, or a variant with `takes_variant`. `per` is what
 * the basis covers where nobody says it and a model is named; a variant alone is one module. */
bool question_init(struct question *question, struct session *session, const char *word,
	bool takes_variant, enum al_basis_per per, struct al_error *err) AL_MUST_CHECK;
void question_finish(struct question *question);

/* Replaces the settings: one more asked value, as if it had been an option. `symbol` is a symbol or
 * a key of the model's config. */
bool question_set(struct question *question, const char *symbol, int64_t value,
	struct al_error *err) AL_MUST_CHECK;

/* A key of the model's config as the symbol that it gives; any other name as it is. */
const char *question_symbol(const struct question *question, const char *name);

/* Fails where neither the standard symbols nor the question's variants know the symbol: setting it
 * would change nothing. */
bool question_check_symbol(const struct question *question, const char *symbol,
	struct al_error *err) AL_MUST_CHECK;

/* Adds the notes that every answer carries: basis, defaults that were used. */
void question_note(const struct question *question, struct al_table *table);

/* The standard column for a measure. */
struct al_column measure_column(enum al_measure measure);

/* SYMBOL=FORMULA options. */
bool parse_substitutions(struct session *session, enum option option, struct al_substitution **out,
	size_t *n, struct al_error *err) AL_MUST_CHECK;

/* The variants of --variant and --variants. */
bool parse_uses(struct session *session, struct al_variant_use **uses, size_t *n, size_t *room,
	struct al_error *err) AL_MUST_CHECK;

/* All built-in variants. */
bool add_all_uses(struct session *session, struct al_variant_use **uses, size_t *n, size_t *room,
	struct al_error *err) AL_MUST_CHECK;

/* A symbol that neither the standard list nor one of the variants knows is a typing error. */
bool check_symbol_among(const struct al_settings *settings, const struct al_variant_use *uses,
	size_t n_uses, const char *symbol, struct al_error *err) AL_MUST_CHECK;

/* The same of each symbol of a formula. */
bool check_formula_among(const struct al_settings *settings, const struct al_variant_use *uses,
	size_t n_uses, const struct al_formula *formula, struct al_error *err) AL_MUST_CHECK;

/* Bases of --basis over `basis`; several may stand in one option, "a=b" each. */
bool parse_basis(struct session *session, struct al_basis *basis,
	struct al_error *err) AL_MUST_CHECK;

#endif
