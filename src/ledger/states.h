/* The states of memory, and what a recipe makes of one tensor: bytes of its weights, gradients and
 * optimizer states. */
#pragma once

#include "ledger/ledger.h"

/* Kinds of memory: in training the first five, in inference weights and the last five. */
enum al_memory_state {
	AL_STATE_WEIGHTS,
	AL_STATE_GRADIENTS,
	AL_STATE_OPTIMIZER,
	AL_STATE_ACTIVATIONS,
	AL_STATE_WORKING, /* what else training holds when memory is fullest */
	AL_STATE_CACHE, /* grows with the tokens */
	AL_STATE_STATES, /* cached, the same however long the sequence is */
	AL_STATE_DRAFT_WEIGHTS, /* of the draft model */
	AL_STATE_DRAFT_CACHE,
	AL_STATE_OVERHEAD, /* of an engine: its runtime, graphs and buffers */
	AL_N_STATES,
	AL_N_TRAINING_STATES = AL_STATE_CACHE,
};
extern const char *const al_memory_state_names[AL_N_STATES];

/* A state's name and what people read; AL_N_STATES: of the total. */
struct al_titled al_state_titled(int state);

enum al_adapted al_entry_adapted(const struct al_ledger_entry *entry);

/* Bytes of all copies of an entry, on one tensor-parallel device, exactly (a block of a
 * quantization may end in the middle of a byte); `rank` 0: the recipe's;
 * AL_STATE_WORKING: what the optimizer allocates in its step. */
bool al_entry_state(const struct al_recipe *recipe, enum al_memory_state state,
	const struct al_ledger_entry *entry, int64_t rank, mpq_t out,
	struct al_error *err) AL_MUST_CHECK;
