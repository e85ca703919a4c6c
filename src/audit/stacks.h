/* What a conversion works on: the side of the forms that heads are to share.
 *
 * A form is Q_i K_g^T (or O_i V_g^T, transposed). Whatever replaces K_g while Q_i may be chosen
 * again, the error in the form is that in K_g R_g^T, where R_g^T R_g is the sum of Q_i^T Q_i over
 * the query heads of key/value head g: D x d_head a head, never D x D. */
#pragma once

#include "audit/triangles.h"
#include "audit/forms.h"

struct al_stack {
	struct al_view own; /* K or V: [rows][n*width] */
	struct al_matrix weights; /* R_g: [width][n*width] */
	struct al_matrix weighed; /* L_g = K_g R_g^T: [rows][n*width] */
	/* Once al_stack_form_gram was called: L^T L, and the same / ||L||^2; [n*width][n*width] */
	struct al_matrix gram;
	struct al_matrix_f part_gram;
	struct al_view own_gram; /* K^T K, where the caller has set it */
	struct al_matrix weight_grams; /* R_g^T R_g: [width][n*width] */
	size_t n, width; /* key/value heads and their width */
	double norm; /* of all forms together; relative errors need one above 0 */
	struct al_scratch scratch; /* of its matrices */
};

/* On failure, too, it is to be finished. */
bool al_stack_init(struct al_stack *stack, const struct al_heads *heads,
	const struct al_triangles *triangles, enum al_form form,
	struct al_error *err) AL_MUST_CHECK;

void al_stack_finish(struct al_stack *stack);

/* What al_stack_share and al_stack_estimate start from. */
bool al_stack_form_gram(struct al_stack *stack, struct al_error *err) AL_MUST_CHECK;

/* ||the forms with `other`'s heads in place of own's - the forms|| / ||the forms||: the other
 * projections as they are. */
bool al_stack_error(const struct al_stack *stack, struct al_view other, double *relative_error,
	struct al_error *err) AL_MUST_CHECK;

/* Above this part of ||L||^2 what is left behind can be had as a sum of eigenvalues or a difference
 * of squares, good to 1e-11; below it only the residual itself is accurate. */
#define AL_GRAM_SHOWS 1e-4

/* The best single projection of `width` columns for the heads of each group, the other projections
 * chosen again: its columns are the first eigenvectors of sum K_g R_g^T R_g K_g^T.
 * order[0..n-1] lists heads; `size` neighbors make a group; size divides n. */
bool al_stack_share(const struct al_stack *stack, const size_t *order, size_t size,
	double *relative_error, struct al_error *err) AL_MUST_CHECK;

/* The same of one group, squared, good to 1e-6 of ||the forms||: to choose groups by. */
bool al_stack_estimate(const struct al_stack *stack, const size_t *heads, size_t n, double *cost,
	struct al_error *err) AL_MUST_CHECK;

/* ||A - B B^T A||^2 for heads side by side and an orthonormal basis. */
bool al_outside(struct al_view basis, struct al_view heads, double *squared,
	struct al_error *err) AL_MUST_CHECK;

/* ||(A - own's columns from `first` on) R^T||^2, R those of the weights; A without data is 0. */
bool al_stack_distance(const struct al_stack *stack, struct al_view a, size_t first, size_t n,
	double *squared, struct al_error *err) AL_MUST_CHECK;

/* An orthonormal basis of the `n` leading left singular vectors of A, [rows][n]; n is cut to
 * min(rows, cols). squares[n], unless NULL: those of the singular values. */
bool al_leading_basis(struct al_scratch *scratch, struct al_view a, size_t n,
	struct al_matrix *basis, double *squares, struct al_error *err) AL_MUST_CHECK;

double al_trace(struct al_view square);

/* ||A||_F^2 */
double al_squared_norm(struct al_view a);
