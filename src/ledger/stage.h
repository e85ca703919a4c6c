/* Pipeline stages: which layers and tensors one holds, and of how many micro-batches it keeps what
 * is saved for backward. */
#pragma once

#include "ledger/train.h"

struct al_stage {
	const struct al_training *training;
	int64_t index;
};

bool al_stage_is_first(const struct al_stage *stage);
bool al_stage_is_last(const struct al_stage *stage);

/* A layer below 0 is on every stage. */
bool al_stage_has_layer(const struct al_stage *stage, int64_t layer, int64_t n_layers);
bool al_stage_has_tensor(const struct al_stage *stage, const struct al_ledger_entry *tensor);

/* Refuses more stages, or blocks of layers on one, than there are layers of text, and experts that
 * are shared out though there are none, or not evenly. */
bool al_stages_check(struct al_ledger *ledger, const struct al_training *training,
	struct al_error *err) AL_MUST_CHECK;

/* How many layers of a stack of `n_layers` it has, at least 1. */
int64_t al_stage_layers(const struct al_stage *stage, int64_t n_layers);

/* Of how many micro-batches a stage keeps what a layer saves (-1: what is before the layers). */
int64_t al_stage_batches(const struct al_stage *stage, int64_t layer, int64_t n_layers);
