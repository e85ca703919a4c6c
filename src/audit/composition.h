/* Composition scores (Elhage et al. 2021): how much of what an earlier head writes a later head's
 * queries, keys or values read. */
#pragma once

#include "audit/audit.h"

/* Does `later` read with this projection (query, key or value) what `earlier` adds to its stream? A
 * cross attention's keys and values read the other stack. */
bool al_can_compose(const struct al_audit_module *earlier, const struct al_audit_module *later,
	enum al_projection projection);

/* Does `a` come before `b` in its stack? `a` is first in the view. */
bool al_is_earlier(const struct al_attention *a, const struct al_attention *b);

/* ||W_OV^(i) W_QK^(j)||_F / (||W_OV^(i)|| ||W_QK^(j)||), for keys with W_QK^T and for values with
 * W_OV^(j): scores[i][j], [heads of earlier][heads of later]. 0 where a form is zero. Through
 * d_head x d_head matrices only. */
bool al_composition_scores(struct al_scratch *scratch, const struct al_audit_module *earlier,
	const struct al_audit_module *later, enum al_projection projection,
	struct al_matrix *scores, struct al_error *err) AL_MUST_CHECK;

/* The norms of the query heads' forms that contain a projection, [n_heads]: of W_Q W_K^T for a
 * query or a key, of W_V W_O for the others. From the triangular factors. */
bool al_form_norms(const struct al_audit_module *module, enum al_projection projection,
	double *norms, struct al_error *err) AL_MUST_CHECK;
