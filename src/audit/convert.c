/* Conversions that share keys and values between heads, or with each other. */
#include "audit/convert.h"

#include "audit/multiples.h"

/* ---- the mean ---- */

static bool mean_by_difference(const struct al_stack *s, const struct al_attention *rotary,
	const struct al_multiples *means, double *error, double *mean_error, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix all;

	return al_multiples_take(&scratch, means, &all, err)
		&& al_stack_error(s, al_view(all), error, err)
		&& (!rotary || al_rotary_error(s, rotary, al_view(all), mean_error, err));
}

bool al_convert_mean(const struct al_stack *s, const struct al_attention *rotary,
	const size_t *order, size_t size, double *error, double *mean_error, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_multiples means;
	bool is_shown = false;

	*mean_error = NAN;
	if (!al_multiples_of_means(&scratch, s->own, s->own_gram, s->width, order, s->n, size,
		    &means, err)
		|| (!rotary && s->own_gram.data
			&& !al_multiples_error(&means, NULL, s, error, &is_shown, err)))
		return false;
	return is_shown || mean_by_difference(s, rotary, &means, error, mean_error, err);
}

/* ||(K_u - mean) R_u^T||^2 over the heads of one group. */
bool al_convert_mean_group(const struct al_stack *s, const size_t *heads, size_t size,
	double *squared, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_multiples means;
	struct al_matrix mean;

	*squared = 0;
	if (!al_multiples_of_means(&scratch, s->own, s->own_gram, s->width, heads, size, size,
		    &means, err)
		|| !al_multiples_take(&scratch, &means, &mean, err))
		return false;
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

/* The weighted columns of `n` heads' keys next to those of their values, each side of norm 1 over
 * all heads. */
static bool put_together(struct al_scratch *scratch, const struct al_stack *keys,
	const struct al_stack *values, size_t head, size_t n, struct al_matrix *out,
	struct al_error *err)
{
	const size_t rows = keys->weighed.rows, n_keys = n * keys->width,
		     n_values = n * values->width;

	if (!al_take(scratch, out, rows, n_keys + n_values, err))
		return false;
	put_scaled(al_columns(al_view(keys->weighed), head * keys->width, n_keys), keys->norm,
		al_part(*out, 0, 0, rows, n_keys));
	put_scaled(al_columns(al_view(values->weighed), head * values->width, n_values),
		values->norm, al_part(*out, 0, n_keys, rows, n_values));
	return true;
}

struct pairing {
	const struct al_stack *keys, *values;
	double (*squared)[2];
};

/* From the leading eigenvectors of both sides' Gram matrix, a side's rows `first` on: what they
 * leave of its squares, where that shows. */
static bool leaves(struct al_matrix vectors, const double *values, size_t first, double squares,
	double *left)
{
	*left = squares;
	for (size_t r = 0; r < vectors.cols; r++)
		*left -= values[r]
			* al_squared_norm(al_view(al_part(vectors, first, r, vectors.cols, 1)));
	return *left > AL_GRAM_SHOWS * squares;
}

static bool share_by_gram(struct al_view both, size_t width, double squared[2], bool *is_shown,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const double squares[] = {al_squared_norm(al_columns(both, 0, width)),
		al_squared_norm(al_columns(both, width, width))};
	struct al_matrix gram, vectors, values;

	if (!al_take_gram(&scratch, AL_TRANSPOSED, both, &gram, err)
		|| !al_take(&scratch, &vectors, both.cols, width, err)
		|| !al_take(&scratch, &values, width, 1, err)
		|| !al_eigenvectors_top(gram, values.data, vectors, err))
		return false;
	*is_shown = leaves(vectors, values.data, 0, squares[0], &squared[0])
		&& leaves(vectors, values.data, width, squares[1], &squared[1]);
	return true;
}

static bool share_by_basis(struct al_view both, size_t width, double squared[2],
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix basis;

	return al_leading_basis(&scratch, both, width, &basis, NULL, err)
		&& al_outside(al_view(basis), al_columns(both, 0, width), &squared[0], err)
		&& al_outside(al_view(basis), al_columns(both, width, width), &squared[1], err);
}

static bool share_head(void *context, size_t g, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct pairing *x = context;
	const size_t width = x->keys->width;
	struct al_matrix both;
	bool is_shown;

	return put_together(&scratch, x->keys, x->values, g, 1, &both, err)
		&& share_by_gram(al_view(both), width, x->squared[g], &is_shown, err)
		&& (is_shown || share_by_basis(al_view(both), width, x->squared[g], err));
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

/* What a basis leaves of a side, relative to it: `outside` is that of its squares, found as a
 * difference, which counts where it shows them. */
static bool leave_behind(const struct al_stack *side, struct al_view basis, double outside,
	double *error, struct al_error *err)
{
	double rest = outside * side->norm * side->norm;

	if (outside < AL_GRAM_SHOWS && !al_outside(basis, al_view(side->weighed), &rest, err))
		return false;
	*error = sqrt(rest) / side->norm;
	return true;
}

/* What of both sides lies along the basis are the eigenvalues; what is not the keys' is the
 * values'. */
bool al_convert_latent(const struct al_stack *keys, const struct al_stack *values,
	const size_t *ranks, size_t n_ranks, double (*errors)[2], struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix both, basis, squares, inside;

	if (!put_together(&scratch, keys, values, 0, keys->n, &both, err)
		|| !al_take(&scratch, &squares, ranks[0], 1, err)
		|| !al_leading_basis(&scratch, al_view(both), ranks[0], &basis, squares.data, err)
		|| !al_take_product(&scratch, AL_TRANSPOSED, al_view(basis), AL_PLAIN,
			al_columns(al_view(both), 0, keys->weighed.cols), &inside, err))
		return false;
	for (size_t i = 0; i < n_ranks; i++) {
		const size_t rank = al_least(ranks[i], basis.cols);
		const struct al_view first = al_columns(al_view(basis), 0, rank);
		double of_both = 0,
		       of_keys = al_squared_norm(al_view(al_part(inside, 0, 0, rank, inside.cols)));
		for (size_t j = 0; j < rank; j++)
			of_both += squares.data[j];
		if (!leave_behind(keys, first, 1 - of_keys, &errors[i][0], err)
			|| !leave_behind(values, first, 1 - (of_both - of_keys), &errors[i][1],
				err))
			return false;
	}
	return true;
}
