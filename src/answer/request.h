/* Requests as the options of the command line ask them. */
#pragma once

#include "answer/session.h"
#include "ledger/infer.h"
#include "ledger/request/request.h"

/* Options that fill a struct al_asked: --set, --batch and --seq; --variant and --basis;
 * --recipe. */
/* --engine and what changes it. */
extern const struct al_option_row al_engine_rows[];

extern const struct al_option_row al_setting_rows[], al_variant_rows[], al_recipe_rows[];

#define WHOLE_ROW(type, at) \
	OPTION_FLAG(type, at, "whole", "count the whole model even when --variant is given")

/* Is a variant named? Else the answer is about the model's own attention. */
bool al_names_variants(const struct al_asked *asked);

/* Asks about a subject what the options ask for. `word` names a preset, or a variant with
 * `takes_variant`. The request is finished with the session; NULL: it can't be answered. */
struct al_request *al_ask_request(struct al_session *session, const struct al_asked *options,
	const char *word, bool takes_variant, struct al_error *err) AL_MUST_CHECK;

/* Asks about each word of the command line; what an answer defers in the session's arena is
 * finished before the next one. */
bool al_each_request(struct al_session *session, const struct al_asked *options, bool takes_variant,
	bool (*answer)(void *context, struct al_request *request, struct al_error *err),
	void *context, struct al_error *err) AL_MUST_CHECK;

/* The value of a symbol, at least `least`; `fallback` if it isn't set. */
bool al_request_number(struct al_request *request, const char *symbol, int64_t least,
	int64_t fallback, int64_t *out, struct al_error *err) AL_MUST_CHECK;

/* How the model's numbers are stored: in the format `name`, NULL: that of its files. It is finished
 * with the session; NULL: that isn't known. */
struct al_quantization *al_request_quantization(struct al_request *request, const char *name,
	struct al_error *err) AL_MUST_CHECK;

/* Refuses --whole where there is no whole: only attention is known, or the basis is a module. */
bool al_check_whole(const struct al_request *request, bool is_whole,
	struct al_error *err) AL_MUST_CHECK;

/* Adds to the ledger's ask, with all else in it, the draft model's, if there is one. */
bool al_request_open_draft(const struct al_request *request, struct al_ledger_ask *ask,
	struct al_error *err) AL_MUST_CHECK;

/* Adds the notes that every answer carries: what is counted (`is_whole`: --whole), defaults that
 * were used. */
/* Which engine, and what of it was changed; nothing of the ideal one. */
void al_note_engine(const struct al_request *request, struct al_table *table);
/* Refuses what the request's engine has nothing to do with. */
bool al_check_engine(const struct al_request *request, bool has_memory,
	struct al_error *err) AL_MUST_CHECK;
/* The same, and what changes nothing of a cache as it holds it. */
bool al_refuse_unused_engine(const struct al_asked *asked, const struct al_request *request,
	struct al_error *err) AL_MUST_CHECK;
/* For each variant the sizes that neither asker nor model gives: the defaults of its file. */
void al_note_variant_defaults(const struct al_request *request, struct al_table *table);
/* That `seq` is more than the model was made for, and what the engine does then; else nothing. */
void al_note_context(struct al_request *request, int64_t seq, struct al_table *table);
/* A note if the model's files specify the format of its cache. */
void al_note_cache_format(const struct al_request *request, const char *option,
	struct al_table *table);
/* What one token of the model leaves, or of what replaces its attention, and of the draft model;
 * nothing where that isn't known. */
struct al_cache_entries al_request_cache(const struct al_request *request);
/* Is it a model that reads all tokens at once, and has no decoder? */
bool al_request_is_encoder(const struct al_request *request);

/* That `fit` leads on from an answer about a model: on an H100, and but for training on an engine,
 * where none is given, and with `more` options (up to a NULL); nothing where both are, only the
 * model's attention is known, or it generates nothing. */
void al_request_next_fit(const struct al_request *request, struct al_session *session,
	bool is_training, const char *const *more);
bool al_is_ideal(const struct al_request *request);

void al_note_request(const struct al_request *request, bool is_whole, struct al_table *table);

/* Adds the recipe, and the attention kernel on which activations hang. */
void al_note_recipe(const struct al_request *request, struct al_table *table);
