/* Hebbian learning of principal components. */
#include "linalg/hebbian.h"

#include <math.h>
#include <string.h>

#include "linalg/internal.h"

/* ---- many patterns at once ---- */

/* The terms that a rule takes off C W: all of W^T C W at and above the diagonal, the diagonal
 * alone, or none. */
static void keep_terms(enum al_hebbian rule, struct al_matrix s)
{
	for (size_t c = 0; c < s.cols; c++)
		for (size_t b = 0; b < s.rows; b++)
			if (rule == AL_HEBB || b > c || (rule == AL_OJA && b != c))
				s.data[b + c * s.ld] = 0;
}

/* F, with room for W^T C W. */
static bool direction(enum al_hebbian rule, struct al_view covariance, struct al_view weights,
	struct al_matrix out, struct al_matrix s, struct al_error *err)
{
	if (!al_gemm(AL_PLAIN, AL_PLAIN, 1, covariance, weights, 0, out, err)
		|| !al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, weights, al_view(out), 0, s, err))
		return false;
	keep_terms(rule, s);
	return al_gemm(AL_PLAIN, AL_PLAIN, -1, weights, al_view(s), 1, out, err);
}

bool al_hebbian_direction(enum al_hebbian rule, struct al_view covariance, struct al_view weights,
	struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix s;

	if (!al_take(&scratch, &s, weights.cols, weights.cols, err))
		return false;
	return direction(rule, covariance, weights, out, s, err);
}

/* Hebb's rule may grow for as long as products of weights are finite. */
static const double hebb_bound = 1e100;

double al_hebbian_bound(size_t m)
{
	return 1e3 * sqrt((double)m);
}

static double norm(struct al_view weights)
{
	return sqrt(al_inner(weights, weights));
}

bool al_hebbian_is_bounded(struct al_view weights)
{
	return norm(weights) < al_hebbian_bound(weights.cols);
}

bool al_hebbian_check(enum al_hebbian rule, struct al_view weights, double rate, size_t step,
	struct al_error *err)
{
	if (rule == AL_HEBB ? norm(weights) < hebb_bound : al_hebbian_is_bounded(weights))
		return true;
	return al_fail(err, AL_EINPUT,
		"a learning rate of %g diverges: at step %zu the norm of the weights is %.3g, "
		"expected about %.3g",
		rate, step, norm(weights), sqrt((double)weights.cols));
}

bool al_hebbian_batch(enum al_hebbian rule, struct al_view covariance, double rate,
	size_t first_step, size_t n_steps, struct al_matrix weights, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix f, s;

	if (!al_take(&scratch, &f, weights.rows, weights.cols, err)
		|| !al_take(&scratch, &s, weights.cols, weights.cols, err))
		return false;
	for (size_t step = 0; step < n_steps; step++) {
		if (!al_hebbian_check(rule, al_view(weights), rate, first_step + step, err)
			|| !direction(rule, covariance, al_view(weights), f, s, err))
			return false;
		for (size_t c = 0; c < weights.cols; c++)
			for (size_t i = 0; i < weights.rows; i++)
				weights.data[i + c * weights.ld] += rate * f.data[i + c * f.ld];
	}
	return al_hebbian_check(rule, al_view(weights), rate, first_step + n_steps, err);
}

/* ---- one pattern ---- */

void al_hebbian_pattern(enum al_hebbian rule, const double *x, double rate,
	struct al_matrix weights, double *left)
{
	const size_t n = weights.rows;

	memcpy(left, x, n * sizeof(*left));
	for (size_t c = 0; c < weights.cols; c++) {
		double *w = weights.data + c * weights.ld, y = 0;
		for (size_t i = 0; i < n; i++)
			y += w[i] * x[i];
		for (size_t i = 0; i < n; i++) {
			/* Sanger: less all columns up to this one, as they were before */
			left[i] = rule == AL_SANGER ? left[i] - y * w[i]
				: rule == AL_OJA    ? x[i] - y * w[i]
						    : x[i];
			w[i] += rate * y * left[i];
		}
	}
}

/* ---- how far it has come ---- */

static void take_cosines(struct al_view weights, struct al_view vectors, double *cosines)
{
	for (size_t c = 0; c < weights.cols; c++) {
		const struct al_view w = al_columns(weights, c, 1), v = al_columns(vectors, c, 1);
		const double length = norm(w);
		cosines[c] = length > 0 ? fabs(al_inner(w, v)) / length : 0;
	}
}

/* Q's columns less their parts along the vectors: its largest singular value is the sine of the
 * largest principal angle, exact where that is small. */
static bool find_angle(struct al_matrix q, struct al_view vectors, struct al_matrix along,
	double *values, double *angle, struct al_error *err)
{
	if (!al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, vectors, al_view(q), 0, along, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, -1, vectors, al_view(along), 1, q, err)
		|| !al_singular_values(al_view(q), values, err))
		return false;
	*angle = asin(values[0] < 1 ? values[0] : 1);
	return true;
}

bool al_hebbian_alignment(struct al_view weights, struct al_view vectors, double *cosines,
	double *largest_angle, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t m = weights.cols;
	struct al_matrix q, r, values;

	take_cosines(weights, vectors, cosines);
	if (!al_take(&scratch, &q, weights.rows, m, err) || !al_take(&scratch, &r, m, m, err)
		|| !al_take(&scratch, &values, m, 1, err) || !al_copy(weights, q, err)
		|| !al_qr(q, r, err))
		return false;
	*largest_angle = acos(-1) / 2;
	for (size_t c = 0; c < m; c++)
		if (!(r.data[c + c * r.ld] > 1e-14 * norm(al_columns(weights, c, 1))))
			return true;
	return find_angle(q, vectors, r, values.data, largest_angle, err);
}
