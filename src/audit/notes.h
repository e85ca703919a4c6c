/* Notes on what an audit's tables measure: draws, positions, norms, inputs. */
#pragma once

#include "audit/audit.h"

/* An offset means something where some module has rotary positions: AL_EINPUT otherwise. Modules
 * learn how fast their pairs turn, as the config's rule for long sequences has it; refused where
 * that hangs on the length of the sequence. */
bool al_audit_set_offset(struct al_model_view *view, int64_t offset,
	struct al_error *err) AL_MUST_CHECK;

/* Notes what was done to the weights of the modules that were measured, [n], and by which kernel of
 * BLAS. */
void al_audit_note(const struct al_audit *audit, const struct al_attention *const *measured,
	size_t n, const char *kernel, struct al_table *table);
