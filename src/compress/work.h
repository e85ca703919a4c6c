/* A module on its way through a method: weights, what is weighted by, and the steps that methods
 * share. */
#pragma once

#include "audit/control.h"
#include "compress/job.h"

struct al_work {
	const struct al_model_view *view;
	const struct al_compress_options *options;
	const struct al_attention *a;
	const struct al_module_statistics *statistics; /* NULL: none */
	al_folds folds; /* of which it is fitted on */
	struct al_matrix weights[AL_N_PROJECTIONS], biases[AL_N_PROJECTIONS]; /* those it needs */
	size_t width, n_kv, group; /* of a value; key/value heads; query heads to each */
	enum al_weighting measure;
	bool *is_dropped; /* [n_heads], the job's arena's; NULL: no heads go */
	struct al_arena *arena; /* the job's */
	bool regroups; /* gqa: may groups be of other heads than neighbors? */
	const size_t *places; /* of the layout that was made last */
	size_t index; /* of the modules that are asked for */

	/* Of methods on scores. In the measure of data: E|x W|^2 of inputs x is |C^1/2 W|^2, so
	 * that what is best for C^1/2 W by weights alone, brought back by C^-1/2, is best for W. */
	bool has_scores;
	struct al_matrix seen[2], inverse[2]; /* C^1/2 W of queries and keys, C^-1/2; no data where
						 weights alone count */
	struct al_heads heads; /* a view of queries and keys, or as data see them, in double */
	struct al_heads narrow; /* the same, where the stored numbers are no finer in single */
	struct al_scratch scratch; /* its */
	struct al_control control;

	/* At a rank. */
	const struct al_module_layout *layout;
	struct al_matrix gram; /* of the values (keys): W^T C W, or the outputs' moment */
	struct al_matrix directions; /* all eigenvectors, of which `al_work_lead` last took some */
	double *energies; /* their eigenvalues */
	double *crossed; /* of kv-latent by data: what is added to them, cross-fitted; else NULL */
	double lost, whole; /* squares of the error in the measure */
};

/* ---- work.c ---- */

/* Loads what the method needs. Numbers that are not finite are refused. It is to be finished on
 * failure too. */
bool al_work_load(struct al_work *w, struct al_job *job, const struct al_attention *attention,
	struct al_error *err) AL_MUST_CHECK;
void al_work_finish(struct al_work *w);

/* The layout that is asked for, without its slices. */
struct al_module_layout al_work_layout(const struct al_work *w, int64_t rank);

/* Marks n heads in w->is_dropped, which are false at first: of drop, which needs a calibration,
 * those of least cost, each on its own; of merge one after the
 * other those that twins put out best. */
bool al_work_choose(struct al_work *w, size_t n, struct al_error *err) AL_MUST_CHECK;

/* Does the method; `out` is to be finished on failure too. The layout needs slices where heads
 * go. */
bool al_work_make(struct al_work *w, const struct al_module_layout *layout, struct al_pieces *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- rank.c ---- */

/* The relative error at a rank. */
bool al_error_at(struct al_work *w, int64_t rank, double *error,
	struct al_error *err) AL_MUST_CHECK;

/* 0 for methods without a rank. */
bool al_choose_rank(struct al_job *job, struct al_work *w, int64_t *rank,
	struct al_error *err) AL_MUST_CHECK;

/* ---- measure.c ---- */

/* The measure that is asked for, or the best that is known for a method. */
bool al_measure_choose(struct al_work *w, enum al_method method,
	struct al_error *err) AL_MUST_CHECK;

/* E[x^T x] of inputs x of n numbers, perhaps with a 1 for a bias behind them, as the measure has
 * it: what is centered doesn't see the 1. */
bool al_work_moment(const struct al_work *w, size_t n, bool has_bias, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

/* W^T C W of weights that take inputs. */
bool al_work_gram(const struct al_work *w, struct al_view weights, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

/* C^1/2 W and C^-1/2 of a method on scores, where there are data. */
bool al_work_whiten(struct al_work *w, struct al_error *err) AL_MUST_CHECK;

/* Queries or keys as the method is to see them: in the measure of data, where there are data. */
struct al_view al_work_seen(const struct al_work *w, enum al_projection p);

/* C^-1/2 times a piece of queries or keys with a row for each number of an input. */
bool al_work_bring_back(const struct al_work *w, enum al_projection p, struct al_matrix *piece,
	struct al_error *err) AL_MUST_CHECK;

/* ---- crossed.c ---- */

/* The W_O that a method's fit on w->folds, of whose outputs this is the moment, puts in place of
 * the module's, [d_model][n_heads*d_value]: `out` is zeroed. */
typedef bool al_work_fit(struct al_work *w, const void *context, struct al_view moment,
	struct al_matrix out, struct al_error *err);

/* w->lost and w->whole of the module's output, cross-fitted: on each fold of what is fitted on the
 * others, corrected for the fold that they lack; of one fold in sample. */
bool al_work_judge_outputs(struct al_work *w, al_work_fit *fit, const void *context,
	struct al_error *err) AL_MUST_CHECK;

/* w->crossed of the directions that `al_work_lead` takes of the weights' Gram matrix, or weighed:
 * directions of all folds but one, by the energy that the fold has in them. `r` may be empty. */
struct al_output_roots;
bool al_work_judge_directions(struct al_work *w, struct al_view weights,
	const struct al_output_roots *r, struct al_error *err) AL_MUST_CHECK;

/* ---- directions.c ---- */

/* The leading eigenvectors of a symmetric matrix, which is destroyed, [rows][rank]; what the others
 * hold is lost. */
bool al_work_lead(struct al_work *w, struct al_matrix g, size_t rank, struct al_matrix *out,
	struct al_error *err) AL_MUST_CHECK;

/* The root of a symmetric matrix, which is destroyed, and its pseudo-inverse; both initialized.
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
bool al_work_weigh(const struct al_work *w, const struct al_output_roots *r, size_t first,
	struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;
bool al_work_lead_weighed(struct al_work *w, const struct al_output_roots *r, size_t first,
	size_t rank, struct al_matrix *vectors, struct al_error *err) AL_MUST_CHECK;

/* ---- the methods, each from a loaded module at w->layout ---- */

typedef bool al_work_method(struct al_work *w, struct al_pieces *out, struct al_error *err);

al_work_method al_work_collab, al_work_tucker, al_work_qk, al_work_ov, al_work_gqa, al_work_latent,
	al_work_drop, al_work_merge;

/* Of gqa too: common keys of each group, and queries for them. */
al_work_method al_work_group_keys;

/* Puts the key/value heads, and query heads and outputs with them, in another order: head order[i]
 * becomes number i. */
bool al_work_reorder(struct al_work *w, const size_t *order, struct al_error *err) AL_MUST_CHECK;

bool al_work_choose_dropped(struct al_work *w, size_t n, struct al_error *err) AL_MUST_CHECK;
bool al_work_choose_merged(struct al_work *w, size_t n, struct al_error *err) AL_MUST_CHECK;

/* Marks the head that costs least of those that are left. */
void al_mark_least(struct al_work *w, const double *costs);
