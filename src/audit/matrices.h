/* A module's matrices and spectra as .npy files, since tables would be too long. */
#pragma once

#include "audit/audit.h"

extern const struct al_needs al_matrices_needs;

/* Takes a file's name and content; which is gone afterwards. */
typedef bool al_matrices_taker(void *context, const char *name, const struct al_text *content,
	struct al_error *err);

/* Hands over, of each form (qk, ov) that the module has,
 *     MODULE.FORM.gram.npy, MODULE.FORM.cosine.npy     [n_heads][n_heads]
 * and of each spectrum (q, k, qk, ...)
 *     MODULE.heads.KIND.npy    [heads][components], singular values, largest first
 *     MODULE.layer.KIND.npy    [1][components] */
bool al_matrices_hand_over(const struct al_audit *audit, struct al_audit_module *module,
	al_matrices_taker *take, void *context, struct al_error *err) AL_MUST_CHECK;
