/* Measures of heads by their outputs. */
#include "model/calibration/outputs.h"

#define LEAST_EIGENVALUE 0x1p-22

/* ---- the pseudo-inverse ---- */

bool al_inverse_root(struct al_scratch *scratch, struct al_view g, struct al_matrix *out,
	struct al_error *err)
{
	AL_SCRATCH(room);
	double *values = al_take_array(&room, g.rows, sizeof(*values), err);

	if (!values || !al_take_copy(scratch, g, out, err) || !al_eigenvectors(*out, values, err))
		return false;
	for (size_t j = 0; j < out->cols; j++) {
		const bool is_there = values[j] > LEAST_EIGENVALUE * values[0];
		const double scale = is_there ? 1 / sqrt(values[j]) : 0;
		for (size_t i = 0; i < out->rows; i++)
			out->data[i + j * out->ld] *= scale;
	}
	return true;
}

bool al_solve_moment(struct al_view g, struct al_matrix b, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix root, half;

	return al_inverse_root(&scratch, g, &root, err)
		&& al_take_product(&scratch, AL_TRANSPOSED, al_view(root), AL_PLAIN, al_view(b),
			&half, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(root), al_view(half), 0, b, err);
}

bool al_output_refit(struct al_view gram, struct al_view cross, struct al_view output,
	struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix map;

	return al_take_copy(&scratch, cross, &map, err) && al_solve_moment(gram, map, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, output, al_view(map), 0, out, err);
}

bool al_output_power(struct al_view moment, struct al_view output, double *out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix weights;

	if (!al_take_gram(&scratch, AL_TRANSPOSED, output, &weights, err))
		return false;
	*out = al_inner(moment, al_view(weights));
	return true;
}

/* ---- heads by a diagonal ---- */

/* E|o W_O|^2 of coordinates [first, +n). */
static double power_of(const double *squares, const double *means, struct al_view output,
	size_t first, size_t n)
{
	double power = 0;

	for (size_t row = 0; row < output.rows; row++) {
		double mean = 0;
		for (size_t i = first; i < first + n; i++) {
			const double w = output.data[row + i * output.ld], m = means ? means[i] : 0;
			power += w * w * fmax(0, squares[i] - m * m);
			mean += w * m;
		}
		power += mean * mean;
	}
	return power;
}

void al_heads_judge_diagonal(const double *squares, const double *means, struct al_view output,
	size_t n_heads, struct al_head_worth *worth)
{
	const double power = power_of(squares, means, output, 0, output.cols);
	const size_t width = output.cols / n_heads;
	double sum = 0;

	for (size_t i = 0; i < n_heads; i++) {
		const double own = power_of(squares, means, output, i * width, width);
		const double error = power > 0 ? sqrt(own / power) : 0;
		worth[i] = (struct al_head_worth){.share = own,
			.dropped = error,
			.compensated = {NAN, NAN, 0},
			.turn = NAN,
			.cost = {error, NAN, 0},
			.twin = i};
		sum += own;
	}
	for (size_t i = 0; sum > 0 && i < n_heads; i++)
		worth[i].share /= sum;
}
