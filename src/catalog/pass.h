/* "pass": what a variant's tensors do in a forward pass, where they are more than a projection of
 * each head: for the forward pass (src/model/forward/), which knows no variant by name.
 *
 *     "pass": {
 *       "query": {"of": "W_Q", "bias": "b_Q", "scale": "e_Q"},
 *       "key": {...}, "value": {...}, "output": {"of": "W_O", "bias": "b_O"}
 *     }
 *
 * * query, key, value: x W + b. Its columns are n groups of a head's width, and head i reads group
 * i*n/n_heads. Without "of" the columns are those of x itself. Then what a head has of its own, a
 * row of [n_heads][width]: "scale" multiplies by 1 + it, "times" by it, "add" adds it. A head's
 * queries and keys are as wide as "times", else d_head.
 *
 * * content: a tensor [d_model][n_heads] of which x makes what is added to a key's scores.
 *
 * * across: what becomes of all heads' outputs before the output projection. "multiplies"
 * adds the products of each two heads, itself included, to them; "norm" are scale, bias, mean and
 * variance of a batch normalization, of all numbers or one for each head or product; "averages"
 * makes one number of each then; "weight" [features][kept] and "bias" mix them.
 *
 * Or, of a variant without attention weights:
 *
 *     "pass": {
 *       "delta": {
 *         "inputs": ["W_Q", "W_K", "W_V"], "taps": ["conv_Q", "conv_K", "conv_V"],
 *         "beta": "W_beta", "alpha": "W_alpha", "step": "dt_bias", "rate": "A_log",
 *         "norm": "g_heads", "gate": "W_G", "output": "W_O"
 *       }
 *     }
 *
 * * delta: the gated delta rule (src/model/forward/delta.c). Queries, keys and values are x times
 * "inputs", each number then a sum over the last tokens' with the weights "taps" [taps][width], and
 * activated as feed-forward blocks are. A head's state loses a part that "alpha", "step" and "rate"
 * set, and "beta" is the share of a value that is written. Outputs are normed, times silu(x
 * "gate"). As many heads as "beta" has columns; neighbors share the fewer heads of queries and
 * keys, of width d_head.
 *
 * * convolution: {"inputs": ["W_X", "W_B"], "taps": "conv", "gate": "W_C", "output": "W_O"}. What x
 * makes with both inputs is multiplied, summed over the last tokens with the weights "taps"
 * [taps][width], and multiplied by what x makes with "gate". */
#pragma once

#include "catalog/catalog.h"

struct al_reader;

/* Names of the variant's tensors; NULL: none. */
struct al_pass_projection {
	const char *of, *bias, *scale, *times, *add;
};

enum { AL_PASS_SCALE, AL_PASS_BIAS, AL_PASS_MEAN, AL_PASS_VARIANCE, AL_N_PASS_NORMS };

struct al_pass_across {
	const char **norm; /* [AL_N_PASS_NORMS] */
	size_t n_norm;
	const char *weight, *bias;
	bool averages, multiplies;
};

enum { AL_PASS_INPUTS = 3 }; /* queries, keys and values */

struct al_pass_delta {
	const char **inputs, **taps; /* [AL_PASS_INPUTS] */
	size_t n_inputs, n_taps;
	const char *beta, *alpha, *step, *rate, *norm, *gate, *output;
};

enum { AL_PASS_FACTORS = 2 };

struct al_pass_convolution {
	const char **inputs; /* [AL_PASS_FACTORS] */
	size_t n_inputs;
	const char *taps, *gate, *output;
};

struct al_pass {
	struct al_pass_projection query, key, value, output;
	const char *content;
	struct al_pass_across across; /* no weight: nothing is between heads and output */
	struct al_pass_delta delta; /* no inputs in either: the variant has attention weights */
	struct al_pass_convolution convolution;
};

/* Do tokens see each other by other means than attention weights? */
static inline bool al_pass_has_no_weights(const struct al_pass *pass)
{
	return pass && pass->delta.n_inputs + pass->convolution.n_inputs > 0;
}

/* As a record's row calls it, into a struct al_variant whose tensors are read. */
bool al_pass_read(void *reader, const struct al_item *node, void *variant,
	struct al_error *err) AL_MUST_CHECK;
