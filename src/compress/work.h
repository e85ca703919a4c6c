/* A module on its way through a method in the measure of data: weights, what is weighed by, and the
 * steps that methods share. */
#ifndef ATTNLEDGER_COMPRESS_WORK_H
#define ATTNLEDGER_COMPRESS_WORK_H

#include "compress/by_data.h"

struct al_work {
	const struct al_model_view *view;
	const struct al_module_layout *layout;
	const struct al_attention *a;
	enum al_weighting measure;
	const struct al_module_statistics *statistics; /* NULL: none */
	struct al_matrix weights[AL_N_PROJECTIONS], value_bias;
	struct al_matrix gram; /* of the values (keys): W^T C W, or the outputs' moment */
	size_t width, n_kv, group; /* of a value; key/value heads; query heads to each */
	double lost, whole;
};

/* ---- measure.c ---- */

/* The measure that is wanted, or the best that is known. */
bool al_measure_choose(struct al_work *w, enum al_weighting wanted,
	struct al_error *err) AL_MUST_CHECK;

/* E[x^T x] of inputs x of n numbers, as the measure has it. */
bool al_work_moment(const struct al_work *w, size_t n, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

/* w->gram of this projection. */
bool al_work_gram(struct al_work *w, enum al_projection p, struct al_error *err) AL_MUST_CHECK;

/* ---- directions.c ---- */

/* The leading eigenvectors of a symmetric matrix, [rows][rank]; what the others hold is lost. */
bool al_work_lead(struct al_work *w, struct al_matrix g, size_t rank, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

/* The root of a symmetric matrix, which is destroyed, and its pseudo-inverse; both initialised.
 * Eigenvalues below this share of the largest count as that, so that the inverse is one; 0: as
 * nothing. */
bool al_symmetric_roots(struct al_matrix gram, double least_share, struct al_matrix root,
	struct al_matrix inverse, struct al_error *err) AL_MUST_CHECK;

/* K of several key/value heads from `first` on: blockdiag of (sum W_O W_O^T)^1/2 over each one's
 * query heads, and its pseudo-inverse. */
struct al_output_roots {
	struct al_matrix *root, *inverse; /* [n] */
	size_t n;
};

bool al_output_roots_take(struct al_scratch *scratch, struct al_output_roots *r,
	const struct al_work *w, size_t first, size_t n, struct al_error *err) AL_MUST_CHECK;

/* Room for roots of so many matrices. */
bool al_roots_take(struct al_scratch *scratch, struct al_output_roots *r, size_t n, size_t width,
	struct al_error *err) AL_MUST_CHECK;

/* out = blockdiag(blocks) x */
bool al_multiply_blocks(const struct al_matrix *blocks, size_t n, size_t width, struct al_view x,
	struct al_matrix out, struct al_error *err) AL_MUST_CHECK;

/* K G K of the part of the Gram matrix from head `first` on, and its leading eigenvectors. */
bool al_work_lead_weighed(struct al_work *w, const struct al_output_roots *r, size_t first,
	size_t rank, struct al_matrix *vectors, struct al_error *err) AL_MUST_CHECK;

/* ---- the methods ---- */

bool al_work_ov(struct al_work *w, struct al_pieces *out, bool refits,
	struct al_error *err) AL_MUST_CHECK;
bool al_work_gqa(struct al_work *w, struct al_pieces *out, bool is_aligned,
	struct al_error *err) AL_MUST_CHECK;
/* Of gqa too: common keys of each group, and queries for them. */
bool al_work_group_keys(const struct al_work *w, struct al_pieces *out, bool is_aligned,
	double *relative_error, struct al_error *err) AL_MUST_CHECK;
bool al_work_latent(struct al_work *w, struct al_pieces *out, struct al_error *err) AL_MUST_CHECK;
bool al_work_drop(struct al_work *w, struct al_pieces *out, struct al_error *err) AL_MUST_CHECK;
bool al_work_merge(struct al_work *w, struct al_pieces *out, struct al_error *err) AL_MUST_CHECK;

/* Marks n heads of the module, [n_heads], which are false at first. */
bool al_work_choose_dropped(struct al_work *w, size_t n, bool *is_dropped,
	struct al_error *err) AL_MUST_CHECK;
bool al_work_choose_merged(struct al_work *w, size_t n, bool *is_dropped,
	struct al_error *err) AL_MUST_CHECK;

/* Of gqa: `left` values, each the mean of `size` that are turned onto the first of them. */
bool al_work_align(struct al_work *w, struct al_pieces *out, size_t left, size_t size,
	struct al_error *err) AL_MUST_CHECK;

#endif
