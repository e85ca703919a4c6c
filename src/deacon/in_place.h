/* A PCA layer across heads in a model, in place of its output projection: with the projection
 * and the intercept that fit best what W_O makes of the heads, in least squares over the tokens
 * that the moments are of. Where the kept components are all of the heads nothing changes. */
#pragma once

#include "model/forward/evaluate.h"
#include "deacon/regression.h"

struct al_in_place {
	struct al_scratch scratch; /* of the matrices */
	struct al_pca_layer layer;
	struct al_matrix weights; /* W [n_features][m] */
	struct al_matrix output; /* [m*width][d_model] */
	struct al_matrix intercept; /* [d_model][1] */
};

/* Takes `weights` [n_features][m] over the features of `principal`, and heads and targets. To be
 * finished also on failure. */
bool al_in_place_init(struct al_in_place *out, const struct al_rows rows[2],
	const struct al_principal *principal, struct al_view weights,
	struct al_error *err) AL_MUST_CHECK;
void al_in_place_finish(void *in_place);

/* The model's loss with layers[i] in module i of its view; where it is NULL the
 * module keeps its own W_O. */
bool al_in_place_loss(struct al_network *network, const struct al_in_place *const *layers,
	const struct al_watch *watch, const struct al_loss *out,
	struct al_error *err) AL_MUST_CHECK;
