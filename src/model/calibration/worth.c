/* What heads are worth, cross-fitted.
 *
 * With P = M^-1 of the outputs' moment M of some folds, the other heads predict head i's output o_i
 * best but for o V, V = P_(:,i) S and S = P_ii^-1. Without head i, W_O of the others fitted anew,
 * the module's output changes by tr(W_O^(i)T V^T N V W_O^(i)) on tokens of moment N; on the folds
 * of M itself V^T M V is the Schur complement of M_ii, S.
 *
 * What is fitted on all folds but one is fitted on fewer tokens than on all. How much worse it is
 * for that shows on all tokens, on which both are measured (Burman 1989, Biometrika 76, 503-514):
 * the sum of the folds' squares L_k becomes sum L_k + S(all) - sum (L_k + S_k)/K, S_k on those that
 * were fitted. */
#include "model/calibration/outputs.h"

#define LEAST_EIGENVALUE 0x1p-22

/* A fold judges what is fitted on others. */
struct judging {
	struct al_scratch scratch; /* of all of this */
	struct al_matrix folds;
	struct al_matrix weights; /* W_O W_O^T */
	size_t n_heads, width;

	/* Of one fold. */
	struct al_matrix fit, judge; /* moments */
	struct al_matrix *roots; /* [n_heads]: of the pseudo-inverses of `fit`'s diagonal blocks */

	/* Of all folds together. */
	double power;
	struct al_unit *dropped; /* [n_heads][folds] */
	double *by_other; /* [n_heads][n_heads] */
	struct al_unit *refitted; /* [n_heads][folds] */
	double *more; /* [n_heads]: what is added to the sum of its squares */
};

static struct al_view block(struct al_matrix m, const struct judging *j, size_t row, size_t col)
{
	return al_view(al_part(m, row * j->width, col * j->width, j->width, j->width));
}

/* ---- by another head ---- */

/* tr(W_O^(i)T E|o_i - o_t T|^2 W_O^(i)), T = L L^T M_ti. */
static bool left_by(const struct judging *j, size_t head, size_t other, double *out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_view weights = block(j->weights, j, head, head),
			     root = al_view(j->roots[other]);
	struct al_matrix half, map, told, both;

	if (!al_take_product(&scratch, AL_TRANSPOSED, root, AL_PLAIN, block(j->fit, j, other, head),
		    &half, err)
		|| !al_take_product(&scratch, AL_PLAIN, root, AL_PLAIN, al_view(half), &map, err)
		|| !al_take_product(&scratch, AL_TRANSPOSED, al_view(map), AL_PLAIN,
			block(j->judge, j, other, head), &told, err)
		|| !al_take_product(&scratch, AL_PLAIN, block(j->judge, j, other, other), AL_PLAIN,
			al_view(map), &half, err)
		|| !al_take_product(&scratch, AL_TRANSPOSED, al_view(map), AL_PLAIN, al_view(half),
			&both, err))
		return false;
	*out = fmax(0,
		al_inner(block(j->judge, j, head, head), weights)
			- 2 * al_inner(al_view(told), weights) + al_inner(al_view(both), weights));
	return true;
}

/* In its own column what is lost without any. */
static bool add_others(struct judging *j, struct al_error *err)
{
	for (size_t head = 0; head < j->n_heads; head++)
		for (size_t other = 0; other < j->n_heads; other++) {
			double left = al_inner(block(j->judge, j, head, head),
				block(j->weights, j, head, head));
			if (other != head && !left_by(j, head, other, &left, err))
				return false;
			j->by_other[head * j->n_heads + other] += left;
		}
	return true;
}

/* ---- by all others ---- */

/* Eigenvalues below this share of the largest count as that: moments are sums of float32
 * products. */
static bool invert_clamped(struct al_scratch *scratch, struct al_view g, double least_share,
	struct al_matrix *inverse, struct al_error *err)
{
	AL_SCRATCH(room);
	double *values = al_take_array(&room, g.rows, sizeof(*values), err);
	struct al_matrix vectors;

	if (!values || !al_take_copy(&room, g, &vectors, err)
		|| !al_eigenvectors(vectors, values, err))
		return false;
	for (size_t j = 0; j < vectors.cols; j++) {
		const double value = fmax(values[j], least_share * values[0]);
		for (size_t i = 0; i < vectors.rows; i++)
			vectors.data[i + j * vectors.ld] /= value > 0 ? sqrt(value) : 1;
	}
	return al_take_gram(scratch, AL_PLAIN, al_view(vectors), inverse, err);
}

/* Well-conditioned moments in less time. */
static bool invert(struct al_scratch *scratch, struct al_view g, struct al_matrix *inverse,
	struct al_error *err)
{
	AL_SCRATCH(room);
	struct al_matrix r, half;
	double condition = INFINITY;
	bool is_definite;

	if (!al_take_copy(&room, g, &r, err) || !al_cholesky(r, &is_definite, &condition, err))
		return false;
	if (!(condition < 1 / LEAST_EIGENVALUE))
		return invert_clamped(scratch, g, LEAST_EIGENVALUE, inverse, err);
	if (!al_take(&room, &half, g.rows, g.rows, err))
		return false;
	for (size_t i = 0; i < g.rows; i++)
		half.data[i + i * half.ld] = 1;
	return al_solve(AL_LEFT, AL_TRANSPOSED, al_view(r), half, err)
		&& al_take_gram(scratch, AL_TRANSPOSED, al_view(half), inverse, err);
}

/* What is left of each head, V_i = P_(:,i) S in place i of [n][n], and in sample of its squares:
 * tr(W_O^(i)T S W_O^(i)), [n_heads]. */
static bool find_left(const struct judging *j, struct al_view moment, struct al_matrix left,
	double *in_sample, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix inverse;

	if (!invert(&scratch, moment, &inverse, err))
		return false;
	for (size_t i = 0; i < j->n_heads; i++) {
		AL_SCRATCH(room);
		struct al_matrix schur;
		if (!invert_clamped(&room, block(inverse, j, i, i), 0x1p-50, &schur, err)
			|| !al_gemm(AL_PLAIN, AL_PLAIN, 1,
				al_columns(al_view(inverse), i * j->width, j->width),
				al_view(schur), 0,
				al_part(left, 0, i * j->width, left.rows, j->width), err))
			return false;
		in_sample[i] = fmax(0, al_inner(al_view(schur), block(j->weights, j, i, i)));
	}
	return true;
}

/* tr(W_O^(i)T V_i^T N V_i W_O^(i)) */
static bool add_refitted(struct judging *j, size_t fold, double power, struct al_error *err)
{
	const size_t n = j->fit.rows;
	AL_SCRATCH(scratch);
	struct al_matrix left, judged;
	double *in_sample = al_take_array(&scratch, j->n_heads, sizeof(*in_sample), err);

	if (!in_sample || !al_take(&scratch, &left, n, n, err)
		|| !find_left(j, al_view(j->fit), left, in_sample, err)
		|| !al_take_product(&scratch, AL_PLAIN, al_view(j->judge), AL_PLAIN, al_view(left),
			&judged, err))
		return false;
	for (size_t i = 0; i < j->n_heads; i++) {
		AL_SCRATCH(room);
		struct al_unit *unit = &j->refitted[i * j->folds.cols + fold];
		struct al_matrix square;
		if (!al_take_product(&room, AL_TRANSPOSED,
			    al_columns(al_view(left), i * j->width, j->width), AL_PLAIN,
			    al_columns(al_view(judged), i * j->width, j->width), &square, err))
			return false;
		unit->sum = fmax(0, al_inner(al_view(square), block(j->weights, j, i, i)));
		unit->n = power;
		j->more[i] -= (unit->sum + in_sample[i]) / (double)j->folds.cols;
	}
	return true;
}

/* On all folds, after each one. */
static bool correct(struct judging *j, struct al_error *err)
{
	AL_OWNED struct al_matrix all = {0};
	AL_SCRATCH(scratch);
	struct al_matrix left;
	double *in_sample = al_take_array(&scratch, j->n_heads, sizeof(*in_sample), err);

	if (!in_sample || !al_packed_sum(j->folds, AL_ALL_FOLDS, &all, err)
		|| !al_take(&scratch, &left, all.rows, all.cols, err)
		|| !find_left(j, al_view(all), left, in_sample, err))
		return false;
	for (size_t i = 0; i < j->n_heads; i++)
		for (size_t fold = 0; fold < j->folds.cols; fold++) {
			struct al_unit *unit = &j->refitted[i * j->folds.cols + fold];
			unit->sum += (j->more[i] + in_sample[i]) * unit->n / j->power;
		}
	return true;
}

/* ---- all folds ---- */

static bool judging_init(struct judging *j, struct al_matrix folds, struct al_view output,
	size_t n_heads, struct al_error *err)
{
	const size_t n = al_packed_order(folds.rows);

	*j = (struct judging){.folds = folds, .n_heads = n_heads, .width = n / n_heads};
	if (n != output.cols || n % n_heads != 0)
		return al_fail(err, AL_EINPUT,
			"%zu head outputs were recorded, but the output projection has %zu inputs",
			n, output.cols);
	j->roots = al_take_array(&j->scratch, n_heads, sizeof(*j->roots), err);
	j->dropped = al_take_array(&j->scratch, n_heads * folds.cols, sizeof(*j->dropped), err);
	j->by_other = al_take_array(&j->scratch, n_heads * n_heads, sizeof(*j->by_other), err);
	j->refitted = al_take_array(&j->scratch, n_heads * folds.cols, sizeof(*j->refitted), err);
	j->more = al_take_array(&j->scratch, n_heads, sizeof(*j->more), err);
	return j->roots && j->dropped && j->by_other && j->refitted && j->more
		&& al_take_gram(&j->scratch, AL_TRANSPOSED, output, &j->weights, err);
}

static void judging_finish(struct judging *j)
{
	al_scratch_finish(&j->scratch);
}

static bool find_roots(struct judging *j, struct al_scratch *scratch, struct al_error *err)
{
	for (size_t i = 0; i < j->n_heads; i++)
		if (!al_inverse_root(scratch, block(j->fit, j, i, i), &j->roots[i], err))
			return false;
	return true;
}

/* What the fold's tokens tell of heads, fitted on the others'. */
static bool add_fold(struct judging *j, size_t fold, bool refits, struct al_error *err)
{
	AL_SCRATCH(scratch);
	AL_OWNED struct al_matrix fit = {0}, judge = {0};

	if (!al_packed_sum(j->folds, j->folds.cols > 1 ? ~al_fold(fold) : AL_ALL_FOLDS, &fit, err)
		|| !al_packed_sum(j->folds, al_fold(fold), &judge, err))
		return false;
	j->fit = fit;
	j->judge = judge;
	const double power = al_inner(al_view(judge), al_view(j->weights));
	j->power += power;
	for (size_t i = 0; i < j->n_heads; i++)
		j->dropped[i * j->folds.cols + fold] =
			(struct al_unit){al_inner(block(judge, j, i, i),
						 block(j->weights, j, i, i)),
				fmax(0, power)};
	return power <= 0
		|| (find_roots(j, &scratch, err) && add_others(j, err)
			&& (!refits || add_refitted(j, fold, power, err)));
}

static bool judge_folds(struct judging *j, bool refits, struct al_error *err)
{
	for (size_t fold = 0; fold < j->folds.cols; fold++)
		if (!add_fold(j, fold, refits, err))
			return false;
	return !refits || j->power <= 0 || j->folds.cols < 2 || correct(j, err);
}

/* ---- the answer ---- */

static double root_of(double square, const struct judging *j)
{
	return j->power > 0 ? sqrt(square / j->power) : 0;
}

/* Of a square's root: d sqrt(x) = dx / (2 sqrt(x)). */
static struct al_estimate estimate_root(const struct al_unit *units, size_t n)
{
	struct al_estimate e = al_estimate_mean(units, n);

	if (e.n == 0)
		return (struct al_estimate){0};
	e.mean = sqrt(e.mean);
	e.error = e.mean > 0 ? e.error / (2 * e.mean) : e.error;
	return e;
}

static void take_twin(const struct judging *j, size_t head, struct al_head_worth *worth)
{
	const double *left = j->by_other + head * j->n_heads;

	worth->twin = head;
	for (size_t other = 0; other < j->n_heads; other++)
		if (j->power > 0 && other != head
			&& (worth->twin == head || left[other] < left[worth->twin]))
			worth->twin = other;
	worth->by_twin = worth->twin == head ? 0 : root_of(left[worth->twin], j);
}

static double total(const struct judging *j, size_t head)
{
	double sum = 0;

	for (size_t fold = 0; fold < j->folds.cols; fold++)
		sum += j->dropped[head * j->folds.cols + fold].sum;
	return sum;
}

bool al_heads_judge(struct al_matrix moments, struct al_view output, struct al_turns turns,
	size_t n_heads, struct al_head_worth *worth, struct al_error *err)
{
	AL_ENDS(judging_finish) struct judging j = {0};
	double sum = 0;

	if (!judging_init(&j, moments, output, n_heads, err) || !judge_folds(&j, true, err))
		return false;
	for (size_t i = 0; i < n_heads; i++)
		sum += total(&j, i);
	for (size_t i = 0; i < n_heads; i++) {
		worth[i] = (struct al_head_worth){.share = sum > 0 ? total(&j, i) / sum : 0,
			.dropped = root_of(total(&j, i), &j),
			.compensated = estimate_root(j.refitted + i * moments.cols, moments.cols)};
		take_twin(&j, i, &worth[i]);
	}
	return al_heads_order(&(struct al_head_squares){n_heads, moments.cols, j.dropped,
				      j.refitted, turns},
		worth, err);
}

bool al_heads_replace(struct al_matrix moments, struct al_view output, size_t n_heads, double *left,
	struct al_error *err)
{
	AL_ENDS(judging_finish) struct judging j = {0};

	if (!judging_init(&j, moments, output, n_heads, err) || !judge_folds(&j, false, err))
		return false;
	for (size_t i = 0; i < n_heads * n_heads; i++)
		left[i] = j.power > 0 ? j.by_other[i] / j.power : 0;
	return true;
}
