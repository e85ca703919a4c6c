/* A model's loss on sequences of tokens, and what it is without each of its heads. */
#pragma once

#include "model/forward/pass.h"

/* The sum of -log p over all tokens but the first of each sequence, in nats. */
struct al_loss {
	double nats;
	size_t n_predicted;
};

/* All sequences of `all`, in batches of whole ones. */
bool al_evaluate_loss(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, struct al_loss *out, struct al_error *err) AL_MUST_CHECK;

/* Adds the loss of a batch whose last hidden states are there; of a batch that is n times the same
 * tokens one after the other, the loss of each time to losses[n]. `alike` as in al_token_scores. */
bool al_losses_add(struct al_network *network, const struct al_batch *batch,
	struct al_view_f hidden, const struct al_alike *alike, struct al_loss *losses, size_t n,
	struct al_error *err) AL_MUST_CHECK;

/* ---- without each head ---- */

enum al_ablated { AL_ABLATE_HEADS, AL_ABLATE_GROUPS, AL_ABLATE_LAYERS, AL_N_ABLATED };
extern const char *const al_ablated_names[AL_N_ABLATED];

/* How the outputs of ablated heads are replaced before W_O. */
enum al_replacement { AL_REPLACE_ZERO, AL_REPLACE_MEAN, AL_N_REPLACEMENTS };
extern const char *const al_replacement_names[AL_N_REPLACEMENTS];

/* Query heads [first, +n) of a module, and by how much the loss grows without them. */
struct al_ablation {
	const struct al_attention *attention;
	int64_t layer, first, n;
	double nats; /* the sum of losses without them */
};

struct al_ablations {
	struct al_ablation *items; /* the caller frees it */
	size_t n;
	struct al_loss whole;
};

bool al_evaluate_ablations(struct al_network *network, const struct al_batch *all,
	enum al_ablated what, enum al_replacement by, const struct al_watch *watch,
	struct al_ablations *out, struct al_error *err) AL_MUST_CHECK;

/* ---- an encoder's embeddings ---- */

/* The mean of each sequence's last hidden states, of length 1: out is initialized,
 * [d_model][sequences]. */
bool al_evaluate_embeddings(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;
