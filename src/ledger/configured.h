/* Configured variants: "gqa:n_kv_heads=4,biases=true". */
#pragma once

#include "catalog/settings.h"
#include "formula/polynomial.h"

/* A variant with what was changed in it: {"use": "gqa", "as": "gqa-4", "n_kv_heads": 4}. */
struct al_configured_variant {
	const struct al_variant *variant;
	const char *name; /* as: "gqa-4" */
	const char *title; /* what people read; NULL: the name */
	struct al_binding *with; /* symbols, and options as 0 or 1 */
	size_t n_with;
	const char *alternating; /* one of these options, which only the first n_on of every n_of
				    attention layers have; NULL: none */
	int64_t n_on, n_of;
	const struct al_substitution
		*tied; /* of a scenario: what gives some of them in each case, see below */
	size_t n_tied;
	bool is_all_own; /* "own": all attention of a model; `variant` matches any */
	bool is_of_all; /* asked for by "all", not by its name */
	bool is_models_own; /* not asked for: the basis' `biases` take precedence */
};

/* Configured variants, in the order in which they were asked for. */
struct al_configured_variants {
	struct al_configured_variant *items;
	size_t n, room;
};

#define AL_OWN_ATTENTION "own"

/* Adds one change: a standard symbol, one of the variant's own, or an option (0 or 1). An unknown
 * key names the nearest; a key that comes twice is refused. */
bool al_configured_variant_set(struct al_arena *arena, struct al_configured_variant *configured,
	const char *key, int64_t value, const struct al_symbol *symbols, size_t n_symbols,
	struct al_error *err) AL_MUST_CHECK;

/* Adds a symbol whose value a formula gives: al_configured_variant_tie's variant has it. */
bool al_configured_variant_add_tied(struct al_arena *arena,
	struct al_configured_variant *configured, const struct al_substitution *tied,
	const struct al_symbol *symbols, size_t n_symbols, struct al_error *err) AL_MUST_CHECK;

/* The variant under these settings, by which its formulas have values; itself where it has none. In
 * the arena. */
bool al_configured_variant_tie(struct al_arena *arena,
	const struct al_configured_variant **configured, struct al_settings *settings,
	struct al_error *err) AL_MUST_CHECK;

/* Refuses a change that changes nothing: a window where the option sliding is off, n_kv_heads of a
 * variant whose formulas don't hold it. */
bool al_configured_variant_check(const struct al_configured_variant *configured,
	const struct al_symbol *symbols, size_t n_symbols, struct al_error *err) AL_MUST_CHECK;

/* Parses "gqa", "gqa:n_kv_heads=4,biases=true", "gqa:sliding=4/5,window=1024" or "FILE.json:...",
 * or "own": a model's own attention, under the basis per=whole. Its name is the variant's with the
 * changes: "gqa:n_kv_heads=4,biases=true". */
bool al_configured_variant_parse(struct al_arena *arena, struct al_catalog *catalog,
	const char *text, struct al_configured_variant *out, struct al_error *err) AL_MUST_CHECK;

/* One more: "gqa:n_kv_heads=4". */
bool al_configured_variants_add(struct al_configured_variants *variants, struct al_arena *arena,
	struct al_catalog *catalog, const char *text, struct al_error *err) AL_MUST_CHECK;
