/* What answers on losses share: --per-token, and what their standard errors are. */
#pragma once

#include "answer/calibration.h"
#include "answer/input.h"

/* The option, a text in the command's struct. */
#define AL_PER_TOKEN_ROW(type, at) \
	OPTION_TEXT(type, at, "per-token", "FILE.npy", \
		"also write each token's loss, NaN where none is predicted")

/* The table of a model's loss, with one row. */
struct al_table *al_losses_add_table(struct al_session *session, const struct al_loss *loss);

/* The tokens of the longest sequence. */
size_t al_losses_longest(const struct al_batch *all);

/* Adds the file: losses [n_models][tokens] become [sequences][longest], of several models with a
 * first dimension of models; NaN behind a sequence's end. */
void al_losses_add_file(struct al_session *session, const char *path, const struct al_batch *all,
	const double *losses, size_t n_models);

/* Which of m ablations adds least: "least" where al_estimate_extreme tells all others from it,
 * "tied" where it doesn't, else NULL. Of one sequence, by which nothing is told, "least". */
void al_losses_find_places(const struct al_ablation *items, size_t m, size_t n_sequences,
	const char **places);

/* How the errors of a table of losses were found, or that there are none. */
void al_losses_note_errors(struct al_table *table, struct al_estimate one);

/* On which tokens losses were measured, and whether those were used for calibration. */
void al_losses_warn_seen(struct al_table *table, const struct al_calibration *calibration,
	const struct al_batch *all);
