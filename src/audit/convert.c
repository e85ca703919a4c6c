/* Conversions that share keys and values between heads, or with each other. */
#include "audit/convert.h"

#include <math.h>
#include <string.h>

/* ---- the mean ---- */

void al_mean_heads(struct al_view heads, size_t width, const size_t *order, size_t size,
	struct al_matrix out)
{
	for (size_t j = 0; j < width; j++) {
		double *mean = out.data + (order[0] * width + j) * out.ld;
		for (size_t k = 0; k < size; k++) {
			const double *own = heads.data + (order[k] * width + j) * heads.ld;
			for (size_t i = 0; i < out.rows; i++)
				mean[i] += own[i] / (double)size;
		}
		for (size_t k = 1; k < size; k++)
			memcpy(out.data + (order[k] * width + j) * out.ld, mean,
				out.rows * sizeof(*mean));
	}
}

/* Block (a, b) of heads' Gram matrix. */
static struct al_view block(const struct al_stack *s, size_t a, size_t b)
{
	const struct al_view column = al_columns(s->own_gram, b * s->width, s->width);

	return (struct al_view){column.data + a * s->width, s->width, s->width, column.ld};
}

static void add_scaled(double scale, struct al_view from, struct al_matrix to)
{
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			to.data[i + j * to.ld] += scale * from.data[i + j * from.ld];
}

/* Of one group, with M its mean and W_k = R_k^T R_k: adds <(M - K_k)^T (M - K_k), W_k>, and the
 * size of what is taken from each other for it. As W_k is symmetric, M^T K_k stands for K_k^T M. */
static bool add_group_by_gram(const struct al_stack *s, const size_t *heads, size_t size,
	double *squared, double *taken, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const double part = 1 / (double)size;
	struct al_matrix mean, difference;

	if (!al_take(&scratch, &mean, s->width, s->width, err)
		|| !al_take(&scratch, &difference, s->width, s->width, err))
		return false;
	for (size_t a = 0; a < size; a++)
		for (size_t b = 0; b < size; b++)
			add_scaled(part * part, block(s, heads[a], heads[b]), mean);
	for (size_t k = 0; k < size; k++) {
		const struct al_view own = block(s, heads[k], heads[k]);
		const struct al_view weight = al_columns(al_view(s->weight_grams),
			heads[k] * s->width, s->width);
		if (!al_copy(al_view(mean), difference, err))
			return false;
		add_scaled(1, own, difference);
		for (size_t a = 0; a < size; a++)
			add_scaled(-2 * part, block(s, heads[a], heads[k]), difference);
		*squared += al_inner(al_view(difference), weight);
		*taken += (al_trace(al_view(mean)) + al_trace(own)) * al_trace(weight);
	}
	return true;
}

/* The error of the groups' means, where the Gram matrix tells. */
static bool mean_by_gram(const struct al_stack *s, const size_t *order, size_t size, double *error,
	bool *is_shown, struct al_error *err)
{
	double squared = 0, taken = 0;

	for (size_t first = 0; first < s->n; first += size)
		if (!add_group_by_gram(s, order + first, size, &squared, &taken, err))
			return false;
	*is_shown = squared > AL_GRAM_SHOWS * taken;
	*error = sqrt(fmax(squared, 0)) / s->norm;
	return true;
}

static bool mean_by_itself(const struct al_stack *s, const struct al_attention *rotary,
	const size_t *order, size_t size, double *error, double *mean_error, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix mean;

	if (!al_take(&scratch, &mean, s->own.rows, s->own.cols, err))
		return false;
	for (size_t first = 0; first < s->n; first += size)
		al_mean_heads(s->own, s->width, order + first, size, mean);
	return al_stack_error(s, al_view(mean), error, err)
		&& (!rotary || al_rotary_error(s, rotary, al_view(mean), mean_error, err));
}

bool al_convert_mean(const struct al_stack *s, const struct al_attention *rotary,
	const size_t *order, size_t size, double *error, double *mean_error, struct al_error *err)
{
	bool is_shown = false;

	*mean_error = NAN;
	if (!rotary && s->own_gram.data && !mean_by_gram(s, order, size, error, &is_shown, err))
		return false;
	return is_shown || mean_by_itself(s, rotary, order, size, error, mean_error, err);
}

/* ||(K_u - mean) R_u^T||^2 over the heads of one group. */
bool al_convert_mean_group(const struct al_stack *s, const size_t *heads, size_t size,
	double *squared, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix mean;

	*squared = 0;
	if (!al_take(&scratch, &mean, s->own.rows, s->own.cols, err))
		return false;
	al_mean_heads(s->own, s->width, heads, size, mean);
	for (size_t k = 0; k < size; k++) {
		const size_t at = heads[k] * s->width;
		double one;
		if (!al_stack_distance(s, al_columns(al_view(mean), at, s->width), at, s->width,
			    &one, err))
			return false;
		*squared += one;
	}
	return true;
}

/* ---- keys and values together ---- */

/* out = from / norm, column by column. */
static void put_scaled(struct al_view from, double norm, struct al_matrix out)
{
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			out.data[i + j * out.ld] = from.data[i + j * from.ld] / norm;
}

/* The keys' weighed columns beside the values', each of norm 1 over all heads. */
static bool put_together(struct al_scratch *scratch, struct al_view keys, double key_norm,
	struct al_view values, double value_norm, struct al_matrix *out, struct al_error *err)
{
	if (!al_take(scratch, out, keys.rows, keys.cols + values.cols, err))
		return false;
	put_scaled(keys, key_norm, al_part(*out, 0, 0, keys.rows, keys.cols));
	put_scaled(values, value_norm, al_part(*out, 0, keys.cols, values.rows, values.cols));
	return true;
}

struct pairing {
	const struct al_stack *keys, *values;
	double (*squared)[2];
};

/* The Gram matrix of a head's two sides, its lower triangle. */
static bool pair_gram(const struct pairing *x, size_t g, struct al_matrix out, struct al_error *err)
{
	const struct al_stack *k = x->keys, *v = x->values;
	size_t w = k->width;

	put_scaled(al_view(al_part(k->gram, g * w, g * w, w, w)), k->norm * k->norm,
		al_part(out, 0, 0, w, w));
	put_scaled(al_view(al_part(v->gram, g * w, g * w, w, w)), v->norm * v->norm,
		al_part(out, w, w, w, w));
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1 / k->norm / v->norm,
		al_columns(al_view(v->weighed), g * w, w),
		al_columns(al_view(k->weighed), g * w, w), 0, al_part(out, w, 0, w, w), err);
}

/* A side is rows [first, first + w) of the leading w eigenvectors: what they leave of `total`. */
static bool is_side_shown(struct al_matrix vectors, const double *values, size_t first,
	double total, double *left)
{
	const size_t w = vectors.cols;

	*left = total;
	for (size_t r = 0; r < w; r++)
		*left -= values[r] * al_squared_norm(al_view(al_part(vectors, first, r, w, 1)));
	return *left > AL_GRAM_SHOWS * total;
}

static bool share_head_by_values(const struct pairing *x, size_t g, bool *is_shown,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t w = x->keys->width;
	struct al_matrix gram, vectors, values;

	if (!al_take(&scratch, &gram, 2 * w, 2 * w, err)
		|| !al_take(&scratch, &vectors, 2 * w, w, err)
		|| !al_take(&scratch, &values, w, 1, err) || !pair_gram(x, g, gram, err))
		return false;
	const double keys = al_trace(al_view(al_part(gram, 0, 0, w, w)));
	const double others = al_trace(al_view(al_part(gram, w, w, w, w)));
	if (!al_eigenvectors_top(gram, values.data, vectors, err))
		return false;
	*is_shown = is_side_shown(vectors, values.data, 0, keys, &x->squared[g][0])
		&& is_side_shown(vectors, values.data, w, others, &x->squared[g][1]);
	return true;
}

static bool share_head_by_basis(const struct pairing *x, size_t g, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_stack *k = x->keys, *v = x->values;
	struct al_matrix both, basis;

	return put_together(&scratch, al_columns(al_view(k->weighed), g * k->width, k->width),
		       k->norm, al_columns(al_view(v->weighed), g * v->width, v->width), v->norm,
		       &both, err)
		&& al_leading_basis(&scratch, al_view(both), k->width, &basis, err)
		&& al_outside(al_view(basis), al_columns(al_view(both), 0, k->width),
			&x->squared[g][0], err)
		&& al_outside(al_view(basis), al_columns(al_view(both), k->width, v->width),
			&x->squared[g][1], err);
}

static bool share_head(void *context, size_t g, struct al_error *err)
{
	bool is_shown;

	return share_head_by_values(context, g, &is_shown, err)
		&& (is_shown || share_head_by_basis(context, g, err));
}

bool al_convert_shared_kv(const struct al_stack *keys, const struct al_stack *values,
	double errors[2], struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct pairing x = {keys, values,
		al_take_array(&scratch, keys->n, sizeof(*x.squared), err)};

	if (!x.squared || !al_parallel(keys->n, share_head, &x, err))
		return false;
	for (int i = 0; i < 2; i++) {
		errors[i] = 0;
		for (size_t g = 0; g < keys->n; g++)
			errors[i] += x.squared[g][i];
		errors[i] = sqrt(errors[i]);
	}
	return true;
}

/* The Gram matrix of both sides' rows, each side of norm 1. */
static bool sum_row_grams(const struct al_stack *keys, const struct al_stack *values,
	struct al_matrix sum, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const double of_keys = 1 / (keys->norm * keys->norm);
	const double of_values = 1 / (values->norm * values->norm);
	struct al_matrix other;

	if (!al_gram(AL_PLAIN, al_view(keys->weighed), sum, err)
		|| !al_take_gram(&scratch, AL_PLAIN, al_view(values->weighed), &other, err))
		return false;
	for (size_t i = 0; i < sum.rows * sum.cols; i++)
		sum.data[i] = of_keys * sum.data[i] + of_values * other.data[i];
	return true;
}

/* The leading left singular vectors of both sides together, and the squares of the values. */
static bool leading_of_both(const struct al_stack *keys, const struct al_stack *values,
	struct al_matrix basis, double *squares, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t rows = keys->weighed.rows;
	struct al_matrix both, gram;

	if (keys->weighed.cols + values->weighed.cols < rows)
		return put_together(&scratch, al_view(keys->weighed), keys->norm,
			       al_view(values->weighed), values->norm, &both, err)
			&& al_leading_vectors(al_view(both), basis, squares, err);
	return al_take(&scratch, &gram, rows, rows, err) && sum_row_grams(keys, values, gram, err)
		&& al_eigenvectors_top(gram, squares, basis, err);
}

/* parts[i]: what basis vector i holds of a side, squared. */
static bool hold_parts(const struct al_stack *side, struct al_matrix basis, double *parts,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix inside;

	if (!al_take_product(&scratch, AL_TRANSPOSED, al_view(side->weighed), AL_PLAIN,
		    al_view(basis), &inside, err))
		return false;
	for (size_t i = 0; i < basis.cols; i++)
		parts[i] = al_squared_norm(al_columns(al_view(inside), i, 1))
			/ (side->norm * side->norm);
	return true;
}

/* What the first `rank` basis vectors leave of a side of norm 1, which the residual itself tells
 * where their parts don't. */
static bool leave_behind(const struct al_stack *side, struct al_matrix basis, const double *parts,
	size_t rank, double *error, struct al_error *err)
{
	double squared = 1;

	for (size_t i = 0; i < rank; i++)
		squared -= parts[i];
	if (!(squared > AL_GRAM_SHOWS)) {
		if (!al_outside(al_columns(al_view(basis), 0, rank), al_view(side->weighed),
			    &squared, err))
			return false;
		squared /= side->norm * side->norm;
	}
	*error = sqrt(squared);
	return true;
}

bool al_convert_latent(const struct al_stack *keys, const struct al_stack *values,
	const size_t *ranks, size_t n_ranks, double (*errors)[2], struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_stack *sides[] = {keys, values};
	const size_t rows = keys->weighed.rows;
	const size_t most = al_least(ranks[0],
		al_least(rows, keys->weighed.cols + values->weighed.cols));
	struct al_matrix basis, parts;

	/* The squares become the values' parts. */
	if (!al_take(&scratch, &basis, rows, most, err) || !al_take(&scratch, &parts, most, 2, err)
		|| !leading_of_both(keys, values, basis, parts.data + parts.ld, err)
		|| !hold_parts(keys, basis, parts.data, err))
		return false;
	for (size_t i = 0; i < most; i++)
		parts.data[i + parts.ld] -= parts.data[i];
	for (size_t i = 0; i < n_ranks; i++)
		for (size_t side = 0; side < 2; side++)
			if (!leave_behind(sides[side], basis, parts.data + side * parts.ld,
				    al_least(ranks[i], most), &errors[i][side], err))
				return false;
	return true;
}
