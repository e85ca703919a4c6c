/* evaluate --ablate: what a model is without some of its heads. */
#pragma once

#include "answer/input.h"

struct al_ablation_options {
	int what, replacement; /* what -1: nothing; replacement -1: not given, by zero */
	bool refits;
	const char *calibration;
};

extern const struct al_option_row al_ablation_rows[];

/* Refuses options that don't go together. */
bool al_ablation_check(const struct al_ablation_options *options,
	struct al_error *err) AL_MUST_CHECK;

/* Adds the table and the claim; `whole` becomes the loss of the model as it is. */
bool al_ablate(struct al_session *session, const struct al_opened_model *model,
	const struct al_ablation_options *options, const struct al_loss *whole,
	struct al_error *err) AL_MUST_CHECK;
