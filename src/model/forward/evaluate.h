/* A model's loss on sequences of tokens, an encoder's embeddings of them, and what either is
 * without some of the heads. */
#pragma once

#include "base/estimate.h"
#include "model/forward/pass.h"

/* ---- loss, in nats: -log p of all tokens but the first of each sequence; of an encoder, of those
 * that are masked ---- */

struct al_loss {
	const struct al_batch *all; /* on which it is measured */
	const int32_t *targets; /* [tokens]: masked ones, else -1; NULL: a decoder's next tokens */
	struct al_unit *sequences; /* [n_sequences]: the sum over its predicted tokens */
	double *tokens; /* [tokens]: of each, NAN where none is predicted; NULL: not asked for */
};

/* All zero, in the arena. */
static inline struct al_loss al_loss_new(struct al_arena *arena, const struct al_batch *all)
{
	return (struct al_loss){.all = all,
		.sequences = al_new_array(arena, struct al_unit, all->n_sequences)};
}

static inline struct al_estimate al_loss_estimate(const struct al_loss *loss)
{
	return al_estimate_mean(loss->sequences, loss->all->n_sequences);
}

/* All of its sequences, in batches of whole ones; `sequences` begins at zero. */
bool al_evaluate_loss(struct al_network *network, const struct al_loss *out,
	const struct al_watch *watch, struct al_error *err) AL_MUST_CHECK;

/* Adds the loss of some of its sequences, whose last hidden states are there. `alike` as in
 * al_token_scores. */
bool al_loss_add(struct al_network *network, const struct al_batch *batch, struct al_view_f hidden,
	const struct al_alike *alike, const struct al_loss *out,
	struct al_error *err) AL_MUST_CHECK;

/* What an encoder predicts: of each sequence of n > 2 tokens number min(3, (n - 1)/2) and every
 * seventh after it but the last, replaced by `mask`. In the arena. */
struct al_masked {
	struct al_batch batch;
	int32_t *targets;
	size_t n;
};

enum { AL_MASK_FIRST = 3, AL_MASK_EVERY = 7 };
void al_mask_tokens(struct al_masked *out, struct al_arena *arena, const struct al_batch *all,
	int32_t mask);

/* ---- an encoder's embeddings ---- */

/* The mean of n tokens' last hidden states, of length 1: out [d_model]. */
void al_pool(struct al_view_f hidden, size_t first, size_t n, double *out);

/* Of each sequence: out is initialized, [d_model][sequences]. */
bool al_evaluate_embeddings(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* ---- without some heads ---- */

enum al_ablated {
	AL_ABLATE_HEADS,
	AL_ABLATE_GROUPS,
	AL_ABLATE_LAYERS,
	AL_ABLATE_PAIRS, /* the caller lists them */
	AL_N_ABLATED
};
extern const char *const al_ablated_names[AL_N_ABLATED];

/* Query heads [first, +n) of a module, and [other, +n) where there are others, left out. */
struct al_ablation {
	const struct al_attention *attention;
	int64_t first, other, n; /* other -1: none */
	struct al_unit *without; /* [n_sequences]: what is measured without them */
};

struct al_ablations {
	struct al_arena arena;
	struct al_ablation *items; /* layer by layer */
	size_t n;
	size_t n_sequences;
};

/* All that there are of a kind; or none yet, with room for n. The caller finishes them. */
void al_ablations_list(struct al_ablations *out, const struct al_network *network,
	const struct al_batch *all, enum al_ablated what);
void al_ablations_begin(struct al_ablations *out, const struct al_batch *all, size_t n);
void al_ablations_add(struct al_ablations *out, const struct al_attention *attention, int64_t first,
	int64_t other, int64_t n);
void al_ablations_finish(void *ablations);

/* How the outputs of ablated heads are replaced before W_O. */
enum al_replacement {
	AL_REPLACE_ZERO,
	AL_REPLACE_MEAN, /* over all tokens */
	AL_REPLACE_FITTED, /* by what the module's other heads predict of them */
	AL_N_REPLACEMENTS
};
extern const char *const al_replacement_names[AL_N_REPLACEMENTS];

/* AL_REPLACE_FITTED: maps[i] of ablation i is [n_heads*d_value][d_value of each head left out], and
 * these heads' outputs, those of `first` first, become maps[i]^T o. */
struct al_replacing {
	enum al_replacement by;
	const struct al_matrix_f *maps;
};

/* What is measured of the last hidden states: a loss, which is filled in with that of the whole
 * model; or 1 - cosine of the embeddings and the whole model's. */
struct al_ablation_measure {
	const struct al_loss *loss; /* NULL: */
	const struct al_matrix *embeddings;
};

bool al_evaluate_ablations(struct al_network *network, const struct al_batch *all,
	const struct al_ablation_measure *measured, const struct al_replacing *replacing,
	const struct al_watch *watch, struct al_ablations *ablations,
	struct al_error *err) AL_MUST_CHECK;
