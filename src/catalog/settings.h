/* Settings: the values of a request's symbols, and their origins. */
#pragma once

#include "catalog/catalog.h"

struct al_setting {
	const char *symbol;
	uint64_t hash; /* of the symbol */
	struct al_value value; /* a whole number >= 0 or a word; never needs finishing */
	struct al_value *list; /* a list symbol (layer_types), or NULL */
	size_t n_list;
	const char *origin; /* "bert-base", "--set", "default d_model/n_heads" */
	const struct al_formula *formula; /* what a config derives it from; of a list: one value a
					     `layer`; NULL: it is given */
	bool is_default; /* derived from the others: forgotten when one of them changes */
	bool is_asked; /* the asker's own: a model's value doesn't replace it */
};

struct al_pending_default {
	const struct al_symbol *symbol;
	const struct al_pending_default *outer;
};

struct al_settings {
	struct al_arena arena;
	const struct al_symbol *symbols; /* the standard symbols, for defaults and nearest names */
	size_t n_symbols;
	const struct al_variant *variant; /* whose defaults come before theirs, or NULL */
	struct al_setting *items;
	size_t n, room;
	const struct al_pending_default
		*pending; /* defaults being evaluated, the innermost first */
	bool may_lack; /* sizes that aren't given stay unknown, and so does what follows from them:
			  part of a model specifies only attention */
};

#define AL_SETTINGS(name, catalog) \
	AL_ENDS(al_settings_finish) struct al_settings name; \
	al_settings_init(&(name), (catalog))
void al_settings_init(struct al_settings *settings, struct al_catalog *catalog);
void al_settings_finish(void *settings);

/* `to` must be initialized; its items are replaced or added to. Defaults stay behind: `to`
 * derives its own. */
void al_settings_merge(struct al_settings *to, const struct al_settings *from);

/* The same of what was asked. */
void al_settings_merge_asked(struct al_settings *to, const struct al_settings *from);

/* Replaces or adds. */
void al_settings_set(struct al_settings *settings, const char *symbol, int64_t value,
	const char *origin);
void al_settings_set_word(struct al_settings *settings, const char *symbol, const char *word,
	const char *origin);
/* One value per layer: numbers or words, copied. */
void al_settings_set_list(struct al_settings *settings, const char *symbol,
	const struct al_value *values, size_t n, const char *origin);

/* Records what a config derives the symbol from, which was set just now. */
void al_settings_derived(struct al_settings *settings, const char *symbol,
	const struct al_formula *formula);

/* "d_model=768": a whole number of at least 0 and below 2^53 ("12k" and "1_000" are refused). */
bool al_settings_parse(struct al_settings *settings, const char *assignment, const char *origin,
	struct al_error *err) AL_MUST_CHECK;

/* The asker's value: what a model's config gives or derives gives way to it. */
void al_settings_ask(struct al_settings *settings, const char *symbol, int64_t value,
	const char *origin);
bool al_settings_is_asked(const struct al_settings *settings, const char *symbol);

/* The setting, or the standard default evaluated (and kept, with its origin); NULL in *out where
 * the symbol is not given and has no default. An error where the default is not exact
 * ("d_model/n_heads = 768/7 is not a whole number") or needs a symbol that is not given. Valid
 * until the next set. */
bool al_settings_get(struct al_settings *settings, const char *symbol,
	const struct al_setting **out, struct al_error *err) AL_MUST_CHECK;

/* Is the symbol given, not only a default? */
bool al_settings_gives(const struct al_settings *settings, const char *symbol);

/* A scope over the settings: what al_settings_get finds, and NAME[index] of a list. */
struct al_scope al_settings_scope(struct al_settings *settings);

/* ---- one iteration of a family's loops: their variables shadow settings of the same name ---- */

enum { AL_FAMILY_LOOPS = 4 };
struct al_loops;

struct al_iteration {
	struct al_settings *settings;
	struct al_scope outer; /* the settings', once there is a scope of the iteration */
	const char *variables[AL_FAMILY_LOOPS];
	int64_t values[AL_FAMILY_LOOPS];
	size_t n;
};

/* What the loops count in one of their iterations; `settings` may be NULL for names alone. */
struct al_iteration al_iteration_of(const struct al_loops *loops,
	const int64_t values[AL_FAMILY_LOOPS], struct al_settings *settings);

/* The iteration and its settings must outlive the scope. */
struct al_scope al_iteration_scope(struct al_iteration *iteration);

/* "h.{layer}.attn" -> "h.3.attn" */
const char *al_iteration_name(const struct al_iteration *iteration, struct al_arena *arena,
	const char *name);
