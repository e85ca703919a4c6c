/* The weight update of DEACON (Ampazis & Sakketou 2024, doi:10.3390/make6040126, equations 13 to
 * 19, after Karras & Perantonis 1995): of all steps dW of one length that lower the loss by a given
 * amount to first order, the one that goes furthest along a wanted direction F:
 *
 *     largest F.dW  where  |dW| = delta_p  and  G.dW = delta_q = -xi delta_p |G|.
 *
 * With multipliers, the stationary point of F.dW + l1 (delta_q - G.dW) + l2 (delta_p^2 - |dW|^2) is
 *
 *     dW = (F - l1 G) / (2 l2),   l1 = (G.F - 2 l2 delta_q) / |G|^2,
 *     l2 = 1/2 sqrt((|F|^2 |G|^2 - (G.F)^2) / (|G|^2 delta_p^2 - delta_q^2)).
 *
 * Such steps are there for 0 < xi < 1 alone, the paper's condition |G|^2 delta_p^2 > delta_q^2
 * under which its square root is real: no step of length delta_p lowers the loss by more than
 * delta_p |G| to first order. The step depends on the directions of G and F alone, not on their
 * lengths: on no scale of the loss. */
#pragma once

#include "base/base.h"

struct al_constrained {
	double delta_q; /* what the loss changes by, to first order; negative */
	double lambda_1, lambda_2;
	double length, decrease; /* |dW| and G.dW of the step as it was rounded */
};

/* `gradient`, `direction` and `step` are [n]. AL_EINPUT where no such step exists or it isn't one
 * step alone: xi isn't between 0 and 1 (G.dW is never below -|G||dW|), the gradient is 0, or the
 * direction is parallel to it; numbers that aren't finite. */
bool al_constrained_step(const double *gradient, const double *direction, size_t n, double delta_p,
	double xi, double *step, struct al_constrained *out, struct al_error *err) AL_MUST_CHECK;
