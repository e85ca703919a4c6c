/* evaluate --arrays: what heads do, number by number, as .npy files with an index. */
#pragma once

#include "answer/input.h"

struct al_arrays_options {
	const char *folder; /* NULL: none are asked for */
	const char *heads; /* "2:0,layers.4:*" */
	bool has_logits;
};

extern const struct al_option_row al_arrays_rows[];

/* Refuses options that don't go together. */
bool al_arrays_check(const struct al_arrays_options *options, struct al_error *err) AL_MUST_CHECK;

/* Runs the model once more and adds to the files, all padded with NaN (tokens with -1) to the
 * longest sequence:
 *
 *     tokens.npy                   i4 [sequences][tokens]
 *     losses.npy                   f8 [sequences][tokens], of `losses` [tokens]; NULL: none
 *     hidden.npy                   f4 [sequences][tokens][d_model], of an encoder
 *     logits.npy                   f4 [sequences][tokens][vocabulary]
 *     MODULE.HEAD.attention.npy    f4 [sequences][queries][keys]
 *     MODULE.HEAD.output.npy       f4 [sequences][tokens][d_value], before W_O
 *     index.json                   what each holds, and what made them */
bool al_arrays_add(struct al_session *session, const struct al_opened_model *model,
	const struct al_arrays_options *options, const double *losses,
	struct al_error *err) AL_MUST_CHECK;
