/* Training a PCA layer across heads as DEACON does, on the regression that the paper's equation 8
 * names: Z = sum_i Z_i W_i^O, here Z from y = W^T u with an output projection W_O behind it.
 *
 * The loss is half the mean squared error of a token. It and its gradients follow from second
 * moments of all features, of n_features*width numbers, so that every step is of all tokens and
 * reads none of them again. W_O is "the rest of the network", which any optimizer may train: after
 * each step of W it goes down its own gradient to where the loss is least on that line. */
#pragma once

#include "linalg/constrained.h"
#include "deacon/regression.h"

/* Where Sanger's rule (linalg/hebbian.h) begins: random directions of length 1. */
void al_hebbian_start(struct al_matrix weights, uint64_t seed);

/* Half of what keeps its steps from growing: 1/2 over the largest eigenvalue. */
double al_hebbian_default_rate(const struct al_principal *principal);

struct al_deacon_options {
	double delta_p, xi;
	/* Steps of Sanger's rule whose sum is the direction F; 1: F of the paper's equation 14. The
	 * paper iterates "F(t) alone" 500 times until "F(i) will converge to the principal
	 * components": F itself tends to zero there, it is the weights that F moves which converge.
	 * So the direction is from the weights to where these steps lead. */
	size_t n_inner;
	double rate; /* of them */
};

/* A PCA layer with its output projection, in training. */
struct al_deacon {
	const struct al_target_moments *moments; /* of all features */
	const struct al_principal *principal;
	struct al_scratch scratch; /* of what follows */
	struct al_matrix weights; /* W [n_features][m] */
	struct al_matrix output; /* W_O [m*width][n_targets] */
	double loss; /* of these weights */
	/* Of the shape of V = (W (x) I) W_O; of W_O; of W. */
	struct al_matrix prediction, residual, change, output_gradient, gradient;
};

/* Weights are random: columns of W of length 1, W_O such that its predictions are as large as the
 * target. */
bool al_deacon_init(struct al_deacon *deacon, const struct al_target_moments *moments,
	const struct al_principal *principal, size_t m, uint64_t seed,
	struct al_error *err) AL_MUST_CHECK;
void al_deacon_finish(struct al_deacon *deacon);

/* Half the target's variance: the loss of predicting its mean. */
double al_deacon_unit(const struct al_deacon *deacon);

/* Takes the loss of weights that somebody else has changed, and its derivative by W,
 * [n_features][m]. */
bool al_deacon_loss(struct al_deacon *deacon, struct al_matrix gradient,
	struct al_error *err) AL_MUST_CHECK;

/* What a step did. As W moves by t dW the loss, a parabola in W, is
 *
 *     loss_before + t G.dW + t^2 curvature,
 *
 * so that what is promised to first order comes true for short steps, and of a step of constant
 * length ever less as the gradient falls: by W alone the loss falls for t < -G.dW/curvature. */
struct al_deacon_step {
	struct al_constrained constraint;
	double curvature; /* 1/2 dW.H dW */
	double falls_below; /* so long a step in its direction leaves the loss as it is */
	double loss_before, loss_between, loss_after; /* between: W has moved, W_O not yet */
};

bool al_deacon_step(struct al_deacon *deacon, const struct al_deacon_options *options,
	struct al_deacon_step *step, struct al_error *err) AL_MUST_CHECK;
