/* Cosines of a module's heads. */
#ifndef ATTNLEDGER_AUDIT_COSINES_H
#define ATTNLEDGER_AUDIT_COSINES_H

#include "audit/audit.h"

/* Cosines of the heads' forms, [n_heads][n_heads], which the caller finishes; without data where
 * the module has no such form. */
bool al_module_cosines(struct al_audit_module *module, enum al_form form, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

#endif
