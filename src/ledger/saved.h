/* What training saves for backward in a whole model, one line a tensor.
 *
 * Attention modules define it themselves (a variant's "activations"). For the other parts it
 * follows from their tensors, by the chain rule alone: a matrix saves its input, a norm its input,
 * a nonlinearity and a product of two branches theirs, which are what the matrices into the inner
 * width put out. Matrices that read the same input share it; each expert has a copy of the tokens
 * it works on.
 *
 *= Korthikanti et al. 2022, arXiv:2205.05198, section 4.1: 19*s*b*h for a feed-forward block with
 *= dropout, 4*s*b*h for two norms, and section 4.3 for what is outside of the layers
 */
#pragma once

#include "ledger/ledger.h"

struct al_saved_entry {
	enum al_part part;
	const char *name; /* "softmax", "input of h.{layer}.mlp.c_fc.weight" */
	int64_t layer; /* as in the tensor list; -1: of all layers, or of none */
	int64_t n_layers; /* how many the loop that it is in has; 0: it is in none */
	mpq_srcptr elements; /* numbers for one token, or a pair of tokens; of all copies */
	mpq_srcptr device; /* of these, on one tensor-parallel device */
	int64_t bytes; /* of a number; 0: as the recipe has it */
	int64_t block; /* lines of one attention module or feed-forward block: held at once; -1: of
	                              none */
	int64_t blocks; /* how many such blocks `elements` are of */
	enum al_per per; /* token, pair of tokens, or sequence */
	bool is_input; /* of a layer as a whole: all that full recomputation keeps */
	bool is_statistic; /* of a kernel's own, for its backward only: logsumexp */
	bool is_first, is_last; /* outside of the layers: before, after them */
	bool is_logits; /* a recipe may set the bytes of each of them */
	bool is_ruled; /* the recipe has a rule for it: `bytes` may be 0 */
	bool is_routed; /* copies of tokens, for experts */
};

struct al_saved_entries {
	struct al_saved_entry *lines;
	size_t n, room;
};

/* The bytes of a number of the line. */
int64_t al_saved_bytes(const struct al_saved_entry *line, const struct al_recipe *recipe);

/* Is it the matrix that makes the logits? */
bool al_entry_is_logit_head(const struct al_ledger_entry *entry);

enum al_loss_memory {
	AL_LOSS_UNFUSED,
	AL_LOSS_CHUNKED,
	AL_LOSS_FUSED,
	AL_LOSS_COMPILED,
	AL_N_LOSSES
};
extern const char *const al_loss_names[AL_N_LOSSES];

/* How a backward pass is prepared. */
struct al_saving {
	const struct al_recipe *recipe; /* whose rules hold; NULL: the chain rule */
	bool is_flash; /* the attention kernel */
	enum al_loss_memory loss;
	bool is_compiled;
	bool is_selective; /* recomputation */
	bool has_adapter_dropout;
	int64_t sp; /* devices that a sequence is cut over; 1: it isn't */
};

/* Lines are good until they are asked for again. */
bool al_ledger_saved(struct al_ledger *ledger, const struct al_saving *saving,
	struct al_saved_entries *out, struct al_error *err) AL_MUST_CHECK;
