/* Inside the ledger: the symbols of one attention module, a configured variant under settings and a
 * basis. Errors do not name the variant yet (al_block_in does). */
#pragma once

#include "catalog/settings.h"
#include "ledger/basis.h"
#include "ledger/configured.h"

enum { AL_MOST_DIMS = AL_SHAPE_DIMS };

struct al_block {
	const struct al_configured_variant *configured;
	const struct al_basis *basis;
	struct al_settings settings; /* the request's with the variant's changes and options */
	int64_t covered[AL_PER_MODEL + 1]; /* what al_block_times found; 0: not asked yet */
	const struct al_formula *d_model; /* under the basis `full` */
	const struct al_formula
		*times[2][AL_PER_MODEL]; /* per=model: of one stack; with a decoder's */
};

/* Copies `settings` and applies the variant's options. An option is worth, from weak to strong: the
 * variant's default, the settings, the basis' `biases`, the variant's changes (a model's own:
 * before the basis). `configured` and `basis` must outlive the block. */
bool al_block_init(struct al_block *block, const struct al_configured_variant *configured,
	const struct al_settings *settings, const struct al_basis *basis,
	struct al_error *err) AL_MUST_CHECK;
void al_block_finish(struct al_block *block);

/* Changes one symbol of the request's settings, as if the block had been made with it: defaults
 * that depend on it follow; false: the configured variant or the basis fixes it, and it stays.
 * Costs no parsing and no memory. */
bool al_block_set(struct al_block *block, const char *symbol, int64_t value);

/* Refuses a number of query heads that the key/value heads asked for do not share out. */
bool al_block_check(struct al_block *block, struct al_error *err) AL_MUST_CHECK;

/* Puts "variant gqa-4 (gqa, built-in): " before an error; returns false. */
bool al_block_in(const struct al_block *block, struct al_error *err);

/* A scope over the block's settings. */
struct al_scope al_block_scope(struct al_block *block);

/* Is the symbol given, not only a default? */
bool al_block_gives(const struct al_block *block, const char *symbol);

/* The value of a symbol, at least `least`. */
bool al_block_read(struct al_block *block, const char *symbol, int64_t least, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* Refuses per=layer for an encoder-decoder. */
bool al_block_check_per(const struct al_block *block, struct al_error *err) AL_MUST_CHECK;

/* How many the basis covers, as a formula; NULL: one. */
const struct al_formula *al_block_times_formula(const struct al_block *block, enum al_per shared);

/* How many of what is shared over `shared` the basis covers. */
bool al_block_times(struct al_block *block, enum al_per shared, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* Does the basis cover the model of an encoder-decoder? */
bool al_block_is_two_sided(const struct al_block *block);

/* How many modules cache what a token adds: all, but in an encoder-decoder the decoder's
 * self-attentions, as many as its cross-attentions, which cache the source's tokens. */
bool al_block_cached_times(struct al_block *block, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;
