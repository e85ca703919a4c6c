/* Errors of all conversions of a module, computed together: relative Frobenius errors over the
 * module's stacked query/key forms [AL_LOSS_QK] and output/value forms [AL_LOSS_OV]. */
#pragma once

#include "audit/audit.h"
#include "audit/convert.h"

enum { AL_LOSS_QK, AL_LOSS_OV, AL_N_LOSSES };
enum { AL_MOST_LATENT_RANKS = 3 };

/* The spectra of all heads together that conversions need. */
enum { AL_LOSS_SPECTRA = AL_SPECTRUM_BIT(AL_SPECTRUM_QK) };

/* Errors of one conversion; NAN if there is no such form or its error is unknown. */
struct al_conversion_loss {
	double of[AL_N_LOSSES];
	double qk_mean; /* under rotary positions over all offsets; of[] is at the queries' */
};

/* The sum of the squared errors of scores, over all offsets where there are some, and of values. */
double al_loss_squared(const struct al_conversion_loss *loss);

/* Key/value heads in groups of one size, each with one key and one value. */
struct al_grouping {
	size_t n_groups, size;
	struct al_conversion_loss mean; /* as stored */
	struct al_conversion_loss neighbors; /* the best within what positions allow */
	struct al_conversion_loss regrouped; /* the same for groups that were looked for */
	size_t *order; /* its heads, `size` neighbors per group; NULL: one group */
};

struct al_losses {
	const struct al_audit *audit;
	struct al_audit_module *module;
	struct al_stack keys, values;
	struct al_scratch scratch; /* of the rest */
	const size_t *in_order; /* the key/value heads */
	struct al_matrix pairs; /* what two heads cost that share, [heads][heads] */
	double keys_norm; /* of the scores' forms, over all offsets under rotary positions */
	bool has_values;
	bool is_rotary; /* keys can't be mixed freely */
	bool is_normed; /* nor even scaled: queries and keys pass a norm */
	bool is_latent; /* all keys and values come from one latent vector already (MLA) */
	bool is_zero; /* nothing to lose: all that follows is empty */

	struct al_grouping
		*groupings; /* 1, then every other number of groups that divides the heads */
	size_t n_groupings;
	struct al_conversion_loss shared_kv;
	size_t ranks[AL_MOST_LATENT_RANKS], n_ranks; /* of a latent vector, falling */
	struct al_conversion_loss latent[AL_MOST_LATENT_RANKS];
	struct al_conversion_loss embedding[AL_N_EMBEDDINGS]; /* as stored */
	struct al_conversion_loss embedding_best[AL_N_EMBEDDINGS]; /* in any basis */
};

/* Which conversions there are. */
bool al_losses_has_shared_kv(const struct al_losses *losses);
bool al_losses_has_embeddings(const struct al_losses *losses);
bool al_losses_has_own_keys(const struct al_losses *losses); /* every head */
bool al_losses_is_free(
	const struct al_losses *losses); /* any invertible change of keys is allowed */

/* On failure, too, they are to be finished. */
bool al_losses_find(struct al_losses *losses, const struct al_audit *audit,
	struct al_audit_module *module, struct al_error *err) AL_MUST_CHECK;
void al_losses_finish(struct al_losses *losses);

/* The groups of `size` key/value heads that lose least, as al_losses_find chooses them, of a module
 * without norms of queries and keys whose size is one of several: order[n_kv_heads], as
 * al_group_heads has it. */
bool al_losses_group(const struct al_attention *attention, const struct al_heads *heads,
	size_t size, size_t *order, struct al_error *err) AL_MUST_CHECK;
