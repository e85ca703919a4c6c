/* What tables are too long for: a module's matrices and spectra as .npy files. */
#ifndef ATTNLEDGER_AUDIT_MATRICES_H
#define ATTNLEDGER_AUDIT_MATRICES_H

#include "audit/audit.h"

extern const struct al_needs al_matrices_needs;

/* Writes into the folder, of each form (qk, ov) that the module has,
 *     MODULE.FORM.gram.npy, MODULE.FORM.cosine.npy     [n_heads][n_heads]
 * and of each spectrum (q, k, qk, ...)
 *     MODULE.heads.KIND.npy    [heads][components], singular values, largest first
 *     MODULE.layer.KIND.npy    [1][components] */
bool al_matrices_write(const struct al_audit *audit, struct al_audit_module *module,
	const char *folder, struct al_error *err) AL_MUST_CHECK;

#endif
