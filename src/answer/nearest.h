/* Each head's nearest one of its module, for pairs of heads. */
#pragma once

#include "model/calibration/calibration.h"
#include "model/heads/views.h"

/* nearest [n_heads]: by logits and outputs, as the calibration recorded them (al_heads_alike);
 * without one (NULL) by the cosines of their weights' forms, QK and OV added. The only head's is
 * itself. */
bool al_nearest_heads(const struct al_model_view *view, const struct al_attention *attention,
	const struct al_calibration *calibration, size_t *nearest,
	struct al_error *err) AL_MUST_CHECK;
