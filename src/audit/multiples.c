#include "audit/multiples.h"

#include "base/wide.h"

/* ---- themselves ---- */

bool al_multiples_of_means(struct al_scratch *scratch, struct al_view heads, struct al_view gram,
	size_t width, const size_t *order, size_t n, size_t size, struct al_multiples *out,
	struct al_error *err)
{
	double *weights = al_take_array(scratch, heads.cols, sizeof(*weights), err);
	double *multipliers = al_take_array(scratch, heads.cols, sizeof(*multipliers), err);

	*out = (struct al_multiples){heads, gram, n, width, weights, multipliers, order, size};
	for (size_t j = 0; weights && multipliers && j < heads.cols; j++) {
		weights[j] = 1;
		multipliers[j] = 1 / (double)size;
	}
	return weights && multipliers;
}

void al_multiples_add(const struct al_multiples *x, size_t first, struct al_matrix common)
{
	for (size_t k = first; k < first + x->size; k++)
		for (size_t l = 0; l < x->width; l++) {
			const size_t j = x->order[k] * x->width + l;
			for (size_t i = 0; i < common.rows; i++)
				common.data[i + l * common.ld] += x->weights[j]
					* x->heads.data[i + j * x->heads.ld];
		}
}

bool al_multiples_take(struct al_scratch *scratch, const struct al_multiples *x,
	struct al_matrix *out, struct al_error *err)
{
	const size_t rows = x->heads.rows, w = x->width;

	if (!al_take(scratch, out, rows, x->heads.cols, err))
		return false;
	for (size_t at = 0; at < x->n * w; at += x->size * w) {
		AL_SCRATCH(room);
		struct al_matrix common;
		if (!al_take(&room, &common, rows, w, err))
			return false;
		al_multiples_add(x, at / w, common);
		for (size_t l = 0; l < x->size * w; l++) {
			const size_t j = x->order[(at + l) / w] * w + l % w;
			for (size_t i = 0; i < rows; i++)
				out->data[i + j * rows] = x->multipliers[j]
					* common.data[i + l % w * rows];
		}
	}
	return true;
}

/* ---- errors from Gram matrices ---- */

/* Of all heads, side by side, [width][n*width]: A'_i^T A_i and A'_i^T A'_i. */
struct products {
	struct al_matrix cross, own;
};

/* M^T A_i, and its part of M^T M = sum of M^T A_i diag(e_i). */
AL_WIDE static void multiply_head(const struct al_multiples *x, const size_t *group, size_t head,
	struct al_matrix cross, struct al_matrix common)
{
	const size_t w = x->width;

	for (size_t l = 0; l < w; l++) {
		const size_t j = head * w + l;
		double *column = cross.data + j * w;
		for (size_t k = 0; k < x->size; k++) {
			const double *e = x->weights + group[k] * w;
			const double *gram = x->gram.data + group[k] * w + j * x->gram.ld;
			for (size_t i = 0; i < w; i++)
				column[i] += e[i] * gram[i];
		}
		for (size_t i = 0; i < w; i++)
			common.data[i + l * w] += column[i] * x->weights[j];
	}
}

static void scale_head(const struct al_multiples *x, size_t head, struct al_matrix common,
	struct products *out)
{
	const size_t w = x->width;
	const double *f = x->multipliers + head * w;

	for (size_t l = 0; l < w; l++)
		for (size_t i = 0; i < w; i++) {
			const size_t at = i + (head * w + l) * w;
			out->cross.data[at] *= f[i];
			out->own.data[at] = f[i] * common.data[i + l * w] * f[l];
		}
}

static bool take_products(struct al_scratch *scratch, const struct al_multiples *x,
	struct products *out, struct al_error *err)
{
	const size_t w = x->width;

	if (!al_take(scratch, &out->cross, w, x->n * w, err)
		|| !al_take(scratch, &out->own, w, x->n * w, err))
		return false;
	for (size_t first = 0; first < x->n; first += x->size) {
		AL_SCRATCH(room);
		const size_t *group = x->order + first;
		struct al_matrix common;
		if (!al_take(&room, &common, w, w, err))
			return false;
		for (size_t k = 0; k < x->size; k++)
			multiply_head(x, group, group[k], out->cross, common);
		for (size_t k = 0; k < x->size; k++)
			scale_head(x, group[k], common, out);
	}
	return true;
}

/* ||A_i||^2 */
static double square_of(const struct al_multiples *x, size_t i)
{
	const size_t w = x->width, ld = x->gram.ld;

	return al_trace((struct al_view){x->gram.data + i * w * (ld + 1), w, w, ld});
}

/* <A^T A, B^T B> - 2 <A'^T A, B'^T B> + <A'^T A', B'^T B'>; of partners that stay, all three of
 * their products are the stack's weights. */
bool al_multiples_error(const struct al_multiples *x, const struct al_multiples *partners,
	const struct al_stack *s, double *relative_error, bool *is_shown, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct products mine, theirs = {s->weight_grams, s->weight_grams};
	double subtracted = 0;

	if (!take_products(&scratch, x, &mine, err)
		|| (partners && !take_products(&scratch, partners, &theirs, err)))
		return false;
	const double squared = s->norm * s->norm
		- 2 * al_inner(al_view(mine.cross), al_view(theirs.cross))
		+ al_inner(al_view(mine.own), al_view(theirs.own));
	for (size_t i = 0; i < x->n; i++)
		subtracted += square_of(x, i)
			* (partners ? square_of(partners, i)
				    : al_trace(al_columns(al_view(s->weight_grams), i * x->width,
					    x->width)));
	*is_shown = squared > AL_GRAM_SHOWS * subtracted;
	*relative_error = sqrt(fmax(squared, 0)) / s->norm;
	return true;
}
