/* A request: what is asked (a model, or one attention block alone), under which settings, basis
 * and recipe, and of which configured variants. Commands, scenarios and the public library ask
 * through it. A checkpoint as the subject of a request is its config.json. */
#pragma once

#include "catalog/engine.h"
#include "catalog/family.h"
#include "ledger/ledger.h"

/* A question in the user's words. */
struct al_asked {
	/* A preset, a config.json, a folder that holds one; or a variant. NULL: none, the variants
	 * alone. */
	const char *subject;
	bool takes_variant;
	enum al_basis_per per; /* what the basis covers by default if a model is named; a variant
				  alone is one module */
	const char *origin; /* of `sets`, in messages; NULL: "--set" */
	struct al_texts families; /* al_catalog_add_families */
	struct al_texts sets; /* "SYMBOL=NUMBER"; a key of the model's config is a symbol too */
	const char *batch, *seq, *recipe; /* NULL: not given */
	const char *kernel; /* of attention in training: "eager" or "flash"; NULL: the recipe's */
	const char *optimizer; /* one of the recipe's; NULL: its own */
	const char *adapters; /* "query,value"; NULL: all matrices in layers */
	/* "gqa:n_kv_heads=4", "all", or several with commas between; "KEY=VALUE" after a comma is
	 * of the variant before it. */
	struct al_texts variants;
	struct al_texts bases; /* "output_projection=full" */
	const char *draft; /* a preset, a config.json or a folder that holds one; NULL: none */
	const char *engine, *utilization; /* NULL: not given */
	const char *offload; /* memory of the host for the cache: "64GiB"; NULL: none */
	const char *state_dtype; /* of recurrent states; NULL: the model's or the engine's */
	const char *prefix_caching; /* "on" or "off"; NULL: the engine's */
	int64_t block, chunk, sequences; /* 0: the engine's; chunk: tokens of a step */
	int64_t speculated; /* tokens in each step */
	int64_t max_model_len; /* 0: the model's context */
	bool has_mtp;
	bool holds_windows_whole;
	bool keeps_all; /* of the variant "all", also those whose symbols aren't known */
	bool has_no_recipe, has_no_engine; /* training, or serving, isn't asked for: the request's
	                                      stays NULL */
	bool only_modules; /* a whole model's tensors are left to its ledger, which checks them */
};

struct al_cache_format {
	const struct al_dtype *dtype; /* NULL: not found out yet */
	const char *declared, *declared_in; /* from the model's files, and the file's name;
					       NULL: none does, or another was asked for */
	bool is_declared; /* the engine takes that, so that `dtype` is it; else it is bf16 */
};

struct al_request {
	struct al_arena *arena; /* the asker's: texts and variants live there */
	struct al_catalog *catalog;
	const char *name, *title; /* of the subject */
	const char *hub_name; /* "Qwen/Qwen3-8B", that a built-in model was asked for by; or NULL */
	const struct al_model *model; /* NULL: a variant was named, all symbols are asked */
	const struct al_family *family; /* NULL: only the model's attention is known */
	struct al_settings asked; /* what the asker sets */
	struct al_settings settings; /* with the model's: asked values go before its own, and what
				      its config derives follows them */
	struct al_basis basis;
	const struct al_recipe *recipe;
	struct al_engine_choice engine; /* whose `engine` is the ideal one where none was named */
	struct al_cache_format cache;
	const char *offload; /* memory of the host for the cache; NULL: none */
	struct al_request *draft; /* the model that speculates; NULL: none */
	struct al_configured_variants variants;
	struct al_texts varied; /* symbols that the command itself sets: swept, tied, solved for */
	bool assumes_batch, assumes_seq; /* they are not given: al_request_assume */
	bool lacks_seq; /* nor has the model a context: seq stays unknown */
	bool is_last; /* of those that a command answers in turn: a sentence can cover all */
	bool is_own; /* the variant is the model's own attention: no other was asked for */
	const char **left_out; /* of "all": why each is left out */
	size_t n_left_out;
	const char *uncut; /* a variant of which --tp cuts nothing, for want of its file's "tp" */
};

/* `arena` and `catalog` must outlive the request. On failure there is nothing to finish. */
bool al_request_init(struct al_request *request, struct al_arena *arena, struct al_catalog *catalog,
	const struct al_asked *asked, struct al_error *err) AL_MUST_CHECK;
void al_request_finish(void *request);

/* Is it the name of a built-in model, or is there such a file or folder? */
bool al_request_names_model(const char *word);

/* A request of which nothing is known yet, for who fills it with parts of its own, and a copy of
 * one: both are the caller's to finish. */
void al_request_begin(struct al_request *request, struct al_arena *arena,
	struct al_catalog *catalog);
void al_request_copy(struct al_request *request, const struct al_request *of);

/* Replaces the settings: one more asked value. `symbol` is a symbol or a key of the model's
 * config. */
bool al_request_set(struct al_request *request, const char *symbol, int64_t value,
	struct al_error *err) AL_MUST_CHECK;

/* Tokens of context that the model was made for, with YaRN's factor; 0: it has no limit, or none is
 * known. */
bool al_request_context(struct al_request *request, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* Where the asker gives none, batch is 1 and seq the model's own context; without a context seq
 * stays unknown. */
bool al_request_assume(struct al_request *request, struct al_error *err) AL_MUST_CHECK;

/* A key of the model's config as the symbol that it gives; any other name as it is. */
const char *al_request_symbol(const struct al_request *request, const char *name);

/* Fails where neither the standard symbols nor the request's variants know the symbol: setting it
 * would change nothing. */
bool al_request_check_symbol(const struct al_request *request, const char *symbol,
	struct al_error *err) AL_MUST_CHECK;

/* What is asked of the ledger about a configured variant: alone, or in place of all attention
 * of the whole model (the model's own stays). */
struct al_ledger_ask al_request_ask(const struct al_request *request,
	const struct al_configured_variant *configured, bool is_model);

/* Is the answer about a model with all its parts? Without variants MODEL is all of it, as far as it
 * is known; with variants, the attention of all its modules, unless `is_whole` (--whole) asks for
 * the model with them; the basis per=module asks for one attention block. */
bool al_request_is_about_model(const struct al_request *request, bool is_whole);

/* What the answer covers, for its title: "Llama 3 8B", "the attention in GPT-3 175B", "one
 * attention module of BERT base". */
const char *al_request_covered(const struct al_request *request, bool is_whole);

/* Fills `cache`; `asked` NULL: no format was asked for. */
bool al_request_cache_format(struct al_request *request, const char *asked,
	struct al_error *err) AL_MUST_CHECK;

/* ---- the parts of a request, for who asks without a subject ---- */

/* The variants of `asked`. */
bool al_configured_variants_parse(struct al_configured_variants *variants, struct al_arena *arena,
	struct al_catalog *catalog, const struct al_asked *asked,
	struct al_error *err) AL_MUST_CHECK;

/* The key of "KEY=VALUE", in the arena; NULL in *value where there is no '='. */
const char *al_setting_cut(struct al_arena *arena, const char *text, const char **value);

/* Each "KEY=VALUE" over `basis`. */
bool al_basis_parse(struct al_basis *basis, struct al_arena *arena, struct al_texts texts,
	struct al_error *err) AL_MUST_CHECK;

/* Each "SYMBOL=FORMULA". */
bool al_substitutions_parse(struct al_arena *arena, struct al_texts texts,
	struct al_substitution **out, size_t *n, struct al_error *err) AL_MUST_CHECK;

/* A symbol that neither the standard list nor one of the variants knows is a typing error. */
bool al_symbol_check(const struct al_settings *settings,
	const struct al_configured_variants *variants, const char *symbol,
	struct al_error *err) AL_MUST_CHECK;

/* The same of each symbol of a formula. */
bool al_symbols_check(const struct al_settings *settings,
	const struct al_configured_variants *variants, const struct al_formula *formula,
	struct al_error *err) AL_MUST_CHECK;
