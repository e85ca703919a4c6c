/* Hebbian learning of principal components. */
#include "linalg/hebbian.h"

/* The upper triangle of W^T C W, with the diagonal. */
static void keep_upper(struct al_matrix s)
{
	for (size_t c = 0; c < s.cols; c++)
		for (size_t b = c + 1; b < s.rows; b++)
			s.data[b + c * s.ld] = 0;
}

/* F, with room for W^T C W. */
static bool direction(struct al_view covariance, struct al_view weights, struct al_matrix out,
	struct al_matrix s, struct al_error *err)
{
	if (!al_gemm(AL_PLAIN, AL_PLAIN, 1, covariance, weights, 0, out, err)
		|| !al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, weights, al_view(out), 0, s, err))
		return false;
	keep_upper(s);
	return al_gemm(AL_PLAIN, AL_PLAIN, -1, weights, al_view(s), 1, out, err);
}

bool al_hebbian_direction(struct al_view covariance, struct al_view weights, struct al_matrix out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix s;

	if (!al_take(&scratch, &s, weights.cols, weights.cols, err))
		return false;
	return direction(covariance, weights, out, s, err);
}

/* Frobenius norm above which weights of m components count as diverged: they go to sqrt(m). */
static double bound(size_t m)
{
	return 1e3 * sqrt((double)m);
}

static double norm(struct al_view weights)
{
	return sqrt(al_inner(weights, weights));
}

static bool is_sound(struct al_view weights, double rate, size_t step, struct al_error *err)
{
	if (norm(weights) < bound(weights.cols))
		return true;
	return al_fail(err, AL_EINPUT,
		"a learning rate of %g diverges: at step %zu the norm of the weights is %.3g, "
		"expected about %.3g",
		rate, step, norm(weights), sqrt((double)weights.cols));
}

bool al_hebbian_batch(struct al_view covariance, double rate, size_t first_step, size_t n_steps,
	struct al_matrix weights, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix f, s;

	if (!al_take(&scratch, &f, weights.rows, weights.cols, err)
		|| !al_take(&scratch, &s, weights.cols, weights.cols, err))
		return false;
	for (size_t step = 0; step < n_steps; step++) {
		if (!is_sound(al_view(weights), rate, first_step + step, err)
			|| !direction(covariance, al_view(weights), f, s, err))
			return false;
		for (size_t c = 0; c < weights.cols; c++)
			for (size_t i = 0; i < weights.rows; i++)
				weights.data[i + c * weights.ld] += rate * f.data[i + c * f.ld];
	}
	return is_sound(al_view(weights), rate, first_step + n_steps, err);
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
	*angle = asin(al_least(values[0], 1));
	return true;
}

bool al_hebbian_alignment(struct al_view weights, struct al_view vectors, double *cosines,
	double *largest_angle, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t m = weights.cols;
	struct al_matrix q, r, values;

	take_cosines(weights, vectors, cosines);
	if (!al_take(&scratch, &r, m, m, err) || !al_take(&scratch, &values, m, 1, err)
		|| !al_take_copy(&scratch, weights, &q, err) || !al_qr(q, r, err))
		return false;
	*largest_angle = acos(-1) / 2;
	for (size_t c = 0; c < m; c++)
		if (!(r.data[c + c * r.ld] > 1e-14 * norm(al_columns(weights, c, 1))))
			return true;
	return find_angle(q, vectors, r, values.data, largest_angle, err);
}
