/* Gram matrices of weighed heads: a head's block is as small as a head is wide, so that this takes
 * less than a sixth of the products that the weighed heads themselves would ask for. */
#include "audit/weighed_gram.h"

#include <math.h>

struct weighing {
	struct al_view gram, weights;
	size_t width;
	struct al_matrix out;
};

static struct al_view weights_of(const struct weighing *x, size_t head)
{
	return al_columns(x->weights, head * x->width, x->width);
}

/* Block (g, h) of the upper triangle, and what mirrors it; `left` is R_g K_g^T K_h. */
static bool put_block(const struct weighing *x, size_t g, size_t h, struct al_view left,
	struct al_error *err)
{
	const size_t n = x->weights.rows;
	const struct al_matrix above = al_part(x->out, g * n, h * n, n, n);
	const struct al_matrix below = al_part(x->out, h * n, g * n, n, n);

	if (!al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, left, weights_of(x, h), 0, above, err))
		return false;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < (g == h ? j : n); i++)
			below.data[j + i * below.ld] = above.data[i + j * above.ld];
	return true;
}

/* The blocks of one head's rows from the diagonal on. */
static bool weigh_rows(void *context, size_t g, struct al_error *err)
{
	const struct weighing *x = context;
	const size_t w = x->width, first = g * w, rest = x->gram.cols - first;
	const struct al_view own = {x->gram.data + first + first * x->gram.ld, w, rest, x->gram.ld};
	AL_OWNED struct al_matrix half = {0};
	bool ok = al_matrix_init_unset(&half, x->weights.rows, rest, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, weights_of(x, g), own, 0, half, err);

	for (size_t at = 0; ok && at < rest; at += w)
		ok = put_block(x, g, g + at / w, al_columns(al_view(half), at, w), err);
	return ok;
}

bool al_weigh_gram(struct al_view gram, struct al_view weights, size_t width, struct al_matrix out,
	struct al_error *err)
{
	struct weighing x = {gram, weights, width, out};

	return al_parallel(weights.cols / width, weigh_rows, &x, err);
}

static double sum_column(struct al_view a, size_t j)
{
	double sum = 0;

	for (size_t i = 0; i < a.rows; i++)
		sum += fabs(a.data[i + j * a.ld]);
	return sum;
}

static double sum_row(struct al_view a, size_t i)
{
	double sum = 0;

	for (size_t j = 0; j < a.cols; j++)
		sum += fabs(a.data[i + j * a.ld]);
	return sum;
}

/* ||A||_1, which no eigenvalue of a symmetric A exceeds. */
static double norm_1(struct al_view a)
{
	double most = 0;

	for (size_t j = 0; j < a.cols; j++)
		most = fmax(most, sum_column(a, j));
	return most;
}

/* ||A||_1 ||A||_inf, which the square of no singular value exceeds. */
static double squared_bound(struct al_view a)
{
	double most = 0;

	for (size_t i = 0; i < a.rows; i++)
		most = fmax(most, sum_row(a, i));
	return most * norm_1(a);
}

double al_weighed_size(struct al_view gram, struct al_view weights, size_t width)
{
	double most = 0;

	for (size_t first = 0; first < weights.cols; first += width)
		most = fmax(most, squared_bound(al_columns(weights, first, width)));
	return most * norm_1(gram);
}
