/* What heads' outputs say of heads. */
#include "model/calibration/outputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define LEAST_EIGENVALUE 0x1p-22

/* ---- the pseudo-inverse ---- */

/* L with G^+ = L L^T: eigenvectors over the roots of their values. */
static bool inverse_root(struct al_view g, struct al_matrix *out, struct al_error *err)
{
	AL_FREED double *values = al_calloc(g.rows + 1, sizeof(*values));
	bool ok = al_matrix_init(out, g.rows, g.cols, err) && al_copy(g, *out, err)
		&& al_eigenvectors(*out, values, err);

	for (size_t j = 0; ok && j < out->cols; j++) {
		const bool is_there = values[j] > LEAST_EIGENVALUE * values[0];
		const double scale = is_there ? 1 / sqrt(values[j]) : 0;
		for (size_t i = 0; i < out->rows; i++)
			out->data[i + j * out->ld] *= scale;
	}
	return ok;
}

bool al_solve_moment(struct al_view g, struct al_matrix b, struct al_error *err)
{
	AL_OWNED struct al_matrix root = {0}, half = {0};

	return inverse_root(g, &root, err) && al_matrix_init(&half, g.rows, b.cols, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(root), al_view(b), 0, half, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(root), al_view(half), 0, b, err);
}

bool al_output_refit(struct al_view gram, struct al_view cross, struct al_view output,
	struct al_matrix out, struct al_error *err)
{
	AL_OWNED struct al_matrix map = {0};

	return al_matrix_init(&map, cross.rows, cross.cols, err) && al_copy(cross, map, err)
		&& al_solve_moment(gram, map, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, output, al_view(map), 0, out, err);
}

bool al_output_power(struct al_view moment, struct al_view output, double *out,
	struct al_error *err)
{
	AL_OWNED struct al_matrix weights = {0};

	if (!al_matrix_init(&weights, output.cols, output.cols, err)
		|| !al_gram(AL_TRANSPOSED, output, weights, err))
		return false;
	*out = al_inner(moment, al_view(weights));
	return true;
}

/* ---- heads ---- */

struct judging {
	struct al_matrix moment, weights; /* M, and W_O W_O^T */
	struct al_matrix *roots; /* [n_heads]: of the pseudo-inverses of M's blocks M_ii */
	size_t n_heads, width;
	double power;
	struct al_head_worth *worth;
};

static struct al_view block(struct al_matrix m, const struct judging *j, size_t row, size_t col)
{
	return al_view(al_part(m, row * j->width, col * j->width, j->width, j->width));
}

/* tr(W_O^(i)T (M_ii - X^T X) W_O^(i)), X = L^T M_Si: what of head i others don't tell. */
static bool left_without(const struct judging *j, size_t head, struct al_view root,
	struct al_view cross, double *out, struct al_error *err)
{
	AL_OWNED struct al_matrix told = {0}, gram = {0};
	const struct al_view weights = block(j->weights, j, head, head);

	if (!al_matrix_init(&told, root.cols, j->width, err)
		|| !al_matrix_init(&gram, j->width, j->width, err)
		|| !al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, root, cross, 0, told, err)
		|| !al_gram(AL_TRANSPOSED, al_view(told), gram, err))
		return false;
	*out = fmax(0,
		al_inner(block(j->moment, j, head, head), weights)
			- al_inner(al_view(gram), weights));
	return true;
}

/* What of head number `head` each other one, mapped, doesn't tell, [n_heads]. */
static bool find_replaced(const struct judging *j, size_t head, double *left, struct al_error *err)
{
	for (size_t other = 0; other < j->n_heads; other++) {
		left[other] = j->worth[head].dropped;
		if (other == head)
			continue;
		if (!left_without(j, head, al_view(j->roots[other]),
			    block(j->moment, j, other, head), &left[other], err))
			return false;
		left[other] /= j->power;
	}
	return true;
}

static bool find_twin(struct judging *j, size_t head, double *left, struct al_error *err)
{
	struct al_head_worth *worth = &j->worth[head];

	worth->twin = head;
	if (!find_replaced(j, head, left, err))
		return false;
	for (size_t other = 0; other < j->n_heads; other++)
		if (other != head && (worth->twin == head || left[other] < worth->by_twin)) {
			worth->twin = other;
			worth->by_twin = left[other];
		}
	return true;
}

/* Numbers of all heads but one, in rows or in both. */
static void leave_out(const struct judging *j, size_t head, struct al_view from,
	struct al_matrix to)
{
	const size_t first = head * j->width, end = first + j->width;

	for (size_t col = 0; col < to.cols; col++) {
		const size_t at = to.cols < from.cols && col >= first ? col + j->width : col;
		for (size_t row = 0; row < from.rows; row++)
			if (row < first || row >= end)
				to.data[(row < first ? row : row - j->width) + col * to.ld] =
					from.data[row + at * from.ld];
	}
}

static bool compensate(struct judging *j, size_t head, struct al_error *err)
{
	const size_t kept = (j->n_heads - 1) * j->width;
	AL_OWNED struct al_matrix gram = {0}, cross = {0}, root = {0};
	const struct al_view own = al_columns(al_view(j->moment), head * j->width, j->width);
	double left;

	if (!al_matrix_init(&gram, kept, kept, err) || !al_matrix_init(&cross, kept, j->width, err))
		return false;
	leave_out(j, head, al_view(j->moment), gram);
	leave_out(j, head, own, cross);
	if (!inverse_root(al_view(gram), &root, err)
		|| !left_without(j, head, al_view(root), al_view(cross), &left, err))
		return false;
	j->worth[head].compensated = left / j->power;
	return true;
}

/* (M^-1)_ii^-1 is the Schur complement of M_ii: one inverse serves all heads. It has no data where
 * M is too ill-conditioned for one. */
static bool invert(const struct judging *j, struct al_matrix *inverse, struct al_error *err)
{
	const size_t n = j->moment.rows;
	AL_OWNED struct al_matrix r = {0}, half = {0};
	double condition = INFINITY;
	bool is_definite;
	bool ok = al_matrix_init(&r, n, n, err) && al_copy(al_view(j->moment), r, err)
		&& al_cholesky(r, &is_definite, &condition, err);

	if (ok && condition < 1 / LEAST_EIGENVALUE) {
		ok = al_matrix_init(&half, n, n, err) && al_matrix_init(inverse, n, n, err);
		for (size_t i = 0; ok && i < n; i++)
			half.data[i + i * half.ld] = 1;
		ok = ok && al_solve(AL_LEFT, AL_TRANSPOSED, al_view(r), half, err)
			&& al_gram(AL_TRANSPOSED, al_view(half), *inverse, err);
	}
	return ok;
}

static bool compensate_by_inverse(struct judging *j, size_t head, struct al_matrix inverse,
	struct al_error *err)
{
	AL_OWNED struct al_matrix schur = {0};

	if (!al_matrix_init(&schur, j->width, j->width, err))
		return false;
	for (size_t i = 0; i < j->width; i++)
		schur.data[i + i * schur.ld] = 1;
	if (!al_solve_moment(block(inverse, j, head, head), schur, err))
		return false;
	const double left = al_inner(al_view(schur), block(j->weights, j, head, head));
	j->worth[head].compensated = fmax(0, left) / j->power;
	return true;
}

static bool compensate_all(struct judging *j, struct al_error *err)
{
	AL_OWNED struct al_matrix inverse = {0};
	bool ok = invert(j, &inverse, err);

	for (size_t head = 0; ok && head < j->n_heads; head++)
		ok = inverse.data ? compensate_by_inverse(j, head, inverse, err)
				  : compensate(j, head, err);
	return ok;
}

static void take_alone(struct judging *j)
{
	double sum = 0;

	for (size_t i = 0; i < j->n_heads; i++) {
		const double own = al_inner(block(j->moment, j, i, i), block(j->weights, j, i, i));
		j->worth[i] = (struct al_head_worth){.share = own, .dropped = own / j->power};
		sum += own;
	}
	for (size_t i = 0; sum > 0 && i < j->n_heads; i++)
		j->worth[i].share /= sum;
}

/* ---- all heads ---- */

static bool judging_init(struct judging *j, struct al_view moment, struct al_view output,
	size_t n_heads, struct al_error *err)
{
	*j = (struct judging){.n_heads = n_heads, .width = moment.rows / n_heads};
	if (moment.rows != output.cols || moment.rows % n_heads != 0)
		return al_fail(err, AL_EINPUT,
			"%zu outputs of heads were recorded, the output projection reads %zu",
			moment.rows, output.cols);
	j->roots = al_calloc(n_heads, sizeof(*j->roots));
	j->worth = al_calloc(n_heads, sizeof(*j->worth));
	bool ok = al_matrix_init(&j->moment, moment.rows, moment.cols, err)
		&& al_copy(moment, j->moment, err)
		&& al_matrix_init(&j->weights, moment.rows, moment.cols, err)
		&& al_gram(AL_TRANSPOSED, output, j->weights, err);
	for (size_t i = 0; i < n_heads; i++)
		j->worth[i].twin = i;
	if (!ok)
		return false;
	j->power = al_inner(al_view(j->moment), al_view(j->weights));
	if (j->power > 0)
		take_alone(j);
	for (size_t i = 0; ok && j->power > 0 && i < n_heads; i++)
		ok = inverse_root(block(j->moment, j, i, i), &j->roots[i], err);
	return ok;
}

static void judging_finish(struct judging *j)
{
	for (size_t i = 0; j->roots && i < j->n_heads; i++)
		al_matrix_finish(&j->roots[i]);
	free(j->roots);
	free(j->worth);
	al_matrix_finish(&j->moment);
	al_matrix_finish(&j->weights);
}

bool al_heads_judge(struct al_view moment, struct al_view output, size_t n_heads,
	struct al_head_worth *worth, struct al_error *err)
{
	struct judging j;
	AL_FREED double *left = al_calloc(n_heads, sizeof(*left));
	bool ok = judging_init(&j, moment, output, n_heads, err);

	for (size_t i = 0; ok && j.power > 0 && i < n_heads; i++)
		ok = find_twin(&j, i, left, err);
	ok = ok && (j.power <= 0 || n_heads < 2 || compensate_all(&j, err));
	if (ok)
		memcpy(worth, j.worth, n_heads * sizeof(*worth));
	judging_finish(&j);
	return ok;
}

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
		worth[i] = (struct al_head_worth){.share = own,
			.dropped = power > 0 ? own / power : 0,
			.twin = i};
		sum += own;
	}
	for (size_t i = 0; sum > 0 && i < n_heads; i++)
		worth[i].share /= sum;
}

bool al_heads_replace(struct al_view moment, struct al_view output, size_t n_heads, double *left,
	struct al_error *err)
{
	struct judging j;
	bool ok = judging_init(&j, moment, output, n_heads, err);

	for (size_t i = 0; ok && i < n_heads; i++)
		if (j.power > 0)
			ok = find_replaced(&j, i, left + i * n_heads, err);
		else
			memset(left + i * n_heads, 0, n_heads * sizeof(*left));
	judging_finish(&j);
	return ok;
}
