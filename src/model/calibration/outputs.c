/* Measures of heads by their outputs. */
#include "model/calibration/outputs.h"

#define LEAST_EIGENVALUE 0x1p-22

/* ---- the pseudo-inverse ---- */

/* L with G^+ = L L^T: eigenvectors over the roots of their values. */
static bool inverse_root(struct al_scratch *scratch, struct al_view g, struct al_matrix *out,
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

	return inverse_root(&scratch, g, &root, err)
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

/* ---- heads ---- */

struct judging {
	struct al_scratch scratch; /* of all of this */
	struct al_view moment;
	struct al_matrix weights; /* W_O W_O^T; `moment` is M */
	struct al_matrix *roots; /* [n_heads]: of the pseudo-inverses of M's blocks M_ii */
	size_t n_heads, width;
	double power;
	struct al_head_worth *worth;
};

static struct al_view block(struct al_view m, const struct judging *j, size_t row, size_t col)
{
	return (struct al_view){m.data + row * j->width + col * j->width * m.ld, j->width, j->width,
		m.ld};
}

/* tr(W_O^(i)T (M_ii - X^T X) W_O^(i)), X = L^T M_Si: the part of head i that others don't
 * predict. */
static bool left_without(const struct judging *j, size_t head, struct al_view root,
	struct al_view cross, double *out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_view weights = block(al_view(j->weights), j, head, head);
	struct al_matrix told, gram;

	if (!al_take_product(&scratch, AL_TRANSPOSED, root, AL_PLAIN, cross, &told, err)
		|| !al_take_gram(&scratch, AL_TRANSPOSED, al_view(told), &gram, err))
		return false;
	*out = fmax(0,
		al_inner(block(j->moment, j, head, head), weights)
			- al_inner(al_view(gram), weights));
	return true;
}

/* The part of head number `head` that each other one, mapped, doesn't predict, [n_heads]: squared
 * errors. */
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
	AL_SCRATCH(scratch);
	struct al_matrix gram, cross, root;
	double left;

	if (!al_take(&scratch, &gram, kept, kept, err)
		|| !al_take(&scratch, &cross, kept, j->width, err))
		return false;
	leave_out(j, head, j->moment, gram);
	leave_out(j, head, al_columns(j->moment, head * j->width, j->width), cross);
	if (!inverse_root(&scratch, al_view(gram), &root, err)
		|| !left_without(j, head, al_view(root), al_view(cross), &left, err))
		return false;
	j->worth[head].compensated = left / j->power;
	return true;
}

/* (M^-1)_ii^-1 is the Schur complement of M_ii: one inverse serves all heads. It has no data where
 * M is too ill-conditioned for one. */
static bool invert(struct al_scratch *scratch, const struct judging *j, struct al_matrix *inverse,
	struct al_error *err)
{
	AL_SCRATCH(room);
	const size_t n = j->moment.rows;
	struct al_matrix r, half;
	double condition = INFINITY;
	bool is_definite;

	*inverse = (struct al_matrix){0};
	if (!al_take_copy(&room, j->moment, &r, err)
		|| !al_cholesky(r, &is_definite, &condition, err))
		return false;
	if (!(condition < 1 / LEAST_EIGENVALUE))
		return true;
	if (!al_take(&room, &half, n, n, err))
		return false;
	for (size_t i = 0; i < n; i++)
		half.data[i + i * half.ld] = 1;
	return al_solve(AL_LEFT, AL_TRANSPOSED, al_view(r), half, err)
		&& al_take_gram(scratch, AL_TRANSPOSED, al_view(half), inverse, err);
}
static bool compensate_by_inverse(struct judging *j, size_t head, struct al_view inverse,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix schur;

	if (!al_take(&scratch, &schur, j->width, j->width, err))
		return false;
	for (size_t i = 0; i < j->width; i++)
		schur.data[i + i * schur.ld] = 1;
	if (!al_solve_moment(block(inverse, j, head, head), schur, err))
		return false;
	const double left = al_inner(al_view(schur), block(al_view(j->weights), j, head, head));
	j->worth[head].compensated = fmax(0, left) / j->power;
	return true;
}

static bool compensate_all(struct judging *j, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix inverse;

	if (!invert(&scratch, j, &inverse, err))
		return false;
	for (size_t head = 0; head < j->n_heads; head++)
		if (!(inverse.data ? compensate_by_inverse(j, head, al_view(inverse), err)
				   : compensate(j, head, err)))
			return false;
	return true;
}

static void take_alone(struct judging *j)
{
	double sum = 0;

	for (size_t i = 0; i < j->n_heads; i++) {
		const double own = al_inner(block(j->moment, j, i, i),
			block(al_view(j->weights), j, i, i));
		j->worth[i] = (struct al_head_worth){.share = own, .dropped = own / j->power};
		sum += own;
	}
	for (size_t i = 0; sum > 0 && i < j->n_heads; i++)
		j->worth[i].share /= sum;
}

/* ---- all heads ---- */

/* `worth` [n_heads] is filled in. On failure, too, its scratch is to be finished. */
static bool judging_init(struct judging *j, struct al_view moment, struct al_view output,
	size_t n_heads, struct al_head_worth *worth, struct al_error *err)
{
	*j = (struct judging){.moment = moment,
		.n_heads = n_heads,
		.width = moment.rows / n_heads,
		.worth = worth};
	if (moment.rows != output.cols || moment.rows % n_heads != 0)
		return al_fail(err, AL_EINPUT,
			"%zu head outputs were recorded, but the output projection has %zu inputs",
			moment.rows, output.cols);
	for (size_t i = 0; i < n_heads; i++)
		worth[i] = (struct al_head_worth){.twin = i};
	j->roots = al_take_array(&j->scratch, n_heads, sizeof(*j->roots), err);
	if (!j->roots || !al_take_gram(&j->scratch, AL_TRANSPOSED, output, &j->weights, err))
		return false;
	j->power = al_inner(moment, al_view(j->weights));
	if (j->power > 0)
		take_alone(j);
	for (size_t i = 0; j->power > 0 && i < n_heads; i++)
		if (!inverse_root(&j->scratch, block(moment, j, i, i), &j->roots[i], err))
			return false;
	return true;
}

/* Up to here errors were squares, of which sums are had. */
static void take_roots(struct al_head_worth *worth, size_t n_heads)
{
	for (size_t i = 0; i < n_heads; i++) {
		worth[i].dropped = sqrt(worth[i].dropped);
		worth[i].compensated = sqrt(worth[i].compensated);
		worth[i].by_twin = sqrt(worth[i].by_twin);
	}
}

bool al_heads_judge(struct al_view moment, struct al_view output, size_t n_heads,
	struct al_head_worth *worth, struct al_error *err)
{
	AL_FREED double *left = al_calloc(n_heads, sizeof(*left));
	struct judging j;
	bool ok = judging_init(&j, moment, output, n_heads, worth, err);

	for (size_t i = 0; ok && j.power > 0 && i < n_heads; i++)
		ok = find_twin(&j, i, left, err);
	ok = ok && (j.power <= 0 || n_heads < 2 || compensate_all(&j, err));
	al_scratch_finish(&j.scratch);
	if (ok)
		take_roots(worth, n_heads);
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
	take_roots(worth, n_heads);
}

bool al_heads_replace(struct al_view moment, struct al_view output, size_t n_heads, double *left,
	struct al_error *err)
{
	AL_FREED struct al_head_worth *worth = al_calloc(n_heads, sizeof(*worth));
	struct judging j;
	bool ok = judging_init(&j, moment, output, n_heads, worth, err);

	memset(left, 0, n_heads * n_heads * sizeof(*left));
	for (size_t i = 0; ok && j.power > 0 && i < n_heads; i++)
		ok = find_replaced(&j, i, left + i * n_heads, err);
	al_scratch_finish(&j.scratch);
	return ok;
}
