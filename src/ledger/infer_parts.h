/* Inside inference: parts that are summed up. */
#pragma once

#include "ledger/infer.h"

#define AL_INFERENCE_ROW(name) \
	AL_ENDS(al_inference_row_finish) struct al_inference_row name; \
	al_inference_row_init(&(name))
void al_inference_row_init(struct al_inference_row *row);
void al_inference_row_finish(struct al_inference_row *row);

/* Adds a part to its state, and lets the watch hear it. */
void al_inference_tally(const struct al_inference *inference, const struct al_inference_part *part,
	struct al_inference_row rows[AL_N_STATES]);

/* Activations of a forward, and the engine's overhead. */
bool al_inference_add_held(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err) AL_MUST_CHECK;
