/* The PCA layer across heads of DEACON (Ampazis & Sakketou 2024, doi:10.3390/make6040126), in three
 * architectures: what its inputs are and how they are normalized.
 *
 * The paper's text normalizes the columns of the reshaped matrix M_r, one a head (section 3.1). Its
 * own Table 3 counts 2*n_heads*d_head parameters of the batch normalization for the direct and the
 * average architecture, so each dimension of each head is normalized alone; of the non-linear one
 * it counts 2 per feature. The counts decide here. Likewise row l of M_r, which equation 21 writes
 * as i*j, is (i - 1)*d_head + j: a product would give several rows one number. */
#pragma once

#include "base/base.h"
#include "linalg/linalg.h"

enum al_pca_architecture { AL_DIRECT, AL_AVERAGE, AL_NONLINEAR, AL_N_ARCHITECTURES };

extern const char *const al_architecture_names[AL_N_ARCHITECTURES];

/* A token's row of head outputs [n_heads][d_head] becomes features [n_features][width]: each column
 * of these is one input of the PCA layer. */
struct al_pca_layer {
	enum al_pca_architecture architecture;
	size_t n_heads, d_head;
	size_t n_features; /* n_heads, or n_heads + n_heads(n_heads + 1)/2: squares and products */
	size_t width; /* d_head; 1 where heads are averaged */
	size_t n_norm; /* features of the batch normalization */
	double *mean, *scale; /* [n_norm]; scale 0: a constant feature, which becomes 0 */
};

/* Its mean and scale lie in the scratch. */
bool al_pca_layer_init(struct al_pca_layer *layer, enum al_pca_architecture architecture,
	size_t n_heads, size_t d_head, struct al_scratch *scratch,
	struct al_error *err) AL_MUST_CHECK;

/* The normalized features of one token's row; `layer` is a struct al_pca_layer. */
void al_pca_features(const void *layer, const double *row, double *out);

/* The non-linear architecture's features before they are normalized, dimension by dimension:
 * out[d_head][n_features]. Heads, their squares, the products of two (equation 31). */
void al_pca_expand(const void *layer, const double *row, double *out);

/* "head 3", "head 3 squared", "head 1 * head 4"; of the batch normalization "head 3, dimension
 * 7". */
const char *al_pca_feature_name(const struct al_pca_layer *layer, size_t feature,
	struct al_arena *arena);
const char *al_pca_norm_name(const struct al_pca_layer *layer, size_t feature,
	struct al_arena *arena);
