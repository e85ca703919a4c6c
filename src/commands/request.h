/* Requests as the options of the command line ask them. */
#ifndef ATTNLEDGER_COMMANDS_REQUEST_H
#define ATTNLEDGER_COMMANDS_REQUEST_H

#include "commands/command.h"
#include "ledger/request/request.h"

/* Options that fill a struct al_asked: --set, --batch and --seq; --variant, --variants and --basis;
 * --recipe. */
/* --engine and what changes it. */
extern const struct al_option_row al_engine_rows[];

extern const struct al_option_row al_setting_rows[], al_variant_rows[], al_recipe_rows[];

#define WHOLE_ROW(type, at) \
	OPTION_FLAG(type, at, "whole", "the whole model, also where variants are named")

/* Is a variant named? Else the answer is about the model's own attention. */
bool al_names_variants(const struct al_asked *asked);

/* Asks about a subject what the options say. `word` names a preset, or a variant with
 * `takes_variant`. `per` is what the basis covers where nobody says it and a model is named; a
 * variant alone is one module. */
bool al_ask_request(struct al_request *request, struct al_session *session,
	const struct al_asked *options, const char *word, bool takes_variant, enum al_basis_per per,
	struct al_error *err) AL_MUST_CHECK;

/* Refuses --whole where there is no whole: only attention is known, or the basis is a module. */
bool al_check_whole(const struct al_request *request, bool is_whole,
	struct al_error *err) AL_MUST_CHECK;

/* Adds the notes that every answer carries: what is counted (`is_whole`: --whole), defaults that
 * were used. */
/* Which engine, and what of it was changed; nothing of the ideal one. */
void al_note_engine(const struct al_request *request, struct al_table *table);
/* Refuses what changes nothing of a cache as the request's engine holds it. */
bool al_refuse_unused_engine(const struct al_asked *asked, const struct al_request *request,
	struct al_error *err) AL_MUST_CHECK;
/* That the model's files say what format its cache is in; else nothing. */
void al_note_cache_format(const struct al_request *request, const char *option,
	struct al_table *table);
bool al_is_ideal(const struct al_request *request);

void al_note_request(const struct al_request *request, bool is_whole, struct al_table *table);

/* Adds the recipe, and the attention kernel on which activations hang. */
void al_note_recipe(const struct al_request *request, struct al_table *table);

/* The standard column for a measure. */
struct al_column al_measure_column(enum al_measure measure);

#endif
