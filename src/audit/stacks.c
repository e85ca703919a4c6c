/* The side of the forms that a conversion lets heads share. */
#include "audit/stacks.h"

#include "audit/spectra.h"

double al_squared_norm(struct al_view a)
{
	return al_inner(a, a);
}

double al_trace(struct al_view square)
{
	double sum = 0;

	for (size_t i = 0; i < square.cols; i++)
		sum += square.data[i + i * square.ld];
	return sum;
}

/* ---- weights ---- */

/* L_g = K_g R_g^T and R_g^T R_g of one head, R_g of the triangles of its partners. */
static bool weigh(const struct al_stack *s, const struct al_triangles *t,
	enum al_projection partner, size_t g, struct al_error *err)
{
	const size_t group = t->shape.n_heads / t->shape.n_kv_heads, w = s->width;
	const struct al_matrix r = al_part(s->weights, 0, g * w, w, w);

	return al_triangles_join(t, partner, g * group, group, r, err)
		&& al_gram(AL_TRANSPOSED, al_view(r), al_part(s->weight_grams, 0, g * w, w, w), err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_columns(s->own, g * w, w), al_view(r), 0,
			al_part(s->weighed, 0, g * w, s->weighed.rows, w), err);
}

bool al_stack_init(struct al_stack *s, const struct al_heads *heads, const struct al_triangles *t,
	enum al_form form, struct al_error *err)
{
	const struct al_run run = al_heads_run(heads, form == AL_FORM_QK ? AL_KEY : AL_VALUE);
	const size_t n = run.n_heads * run.width;

	*s = (struct al_stack){.own = run.weights, .n = run.n_heads, .width = run.width};
	if (!al_take(&s->scratch, &s->weights, s->width, n, err)
		|| !al_take(&s->scratch, &s->weight_grams, s->width, n, err)
		|| !al_take(&s->scratch, &s->weighed, s->own.rows, n, err))
		return false;
	for (size_t g = 0; g < s->n; g++)
		if (!weigh(s, t, form == AL_FORM_QK ? AL_QUERY : AL_OUTPUT, g, err))
			return false;
	s->norm = sqrt(al_squared_norm(al_view(s->weighed)));
	return true;
}

bool al_stack_form_gram(struct al_stack *s, struct al_error *err)
{
	const size_t n = s->weighed.cols;
	bool is_good = false;

	if (!al_take(&s->scratch, &s->gram, n, n, err)
		|| !al_take_f(&s->scratch, &s->part_gram, n, n, err)
		|| (s->own_gram.data
			&& !al_weigh_gram(s->own_gram, al_view(s->weights), s->width, s->gram,
				&is_good, err))
		|| (!is_good && !al_gram(AL_TRANSPOSED, al_view(s->weighed), s->gram, err)))
		return false;
	for (size_t i = 0; s->norm > 0 && i < n * n; i++)
		s->part_gram.data[i] = (float)(s->gram.data[i] / (s->norm * s->norm));
	return true;
}

/* ---- errors ---- */

bool al_stack_distance(const struct al_stack *s, struct al_view a, size_t first, size_t n,
	double *squared, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix difference, gram;

	if (!al_take(&scratch, &difference, s->own.rows, n, err))
		return false;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < s->own.rows; i++)
			difference.data[i + j * difference.ld] = (a.data ? a.data[i + j * a.ld] : 0)
				- s->own.data[i + (first + j) * s->own.ld];
	if (!al_take_gram(&scratch, AL_TRANSPOSED, al_view(difference), &gram, err))
		return false;
	*squared = fmax(al_inner(al_view(gram),
				al_view(al_part(s->weight_grams, first % s->width, first, n, n))),
		0);
	return true;
}

bool al_stack_error(const struct al_stack *s, struct al_view other, double *relative_error,
	struct al_error *err)
{
	double sum = 0;

	for (size_t g = 0; g < s->n; g++) {
		double squared;
		if (!al_stack_distance(s, al_columns(other, g * s->width, s->width), g * s->width,
			    s->width, &squared, err))
			return false;
		sum += squared;
	}
	*relative_error = sqrt(sum) / s->norm;
	return true;
}

bool al_outside(struct al_view basis, struct al_view heads, double *squared, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix inside, rest;

	if (!al_take_product(&scratch, AL_TRANSPOSED, basis, AL_PLAIN, heads, &inside, err)
		|| !al_take_copy(&scratch, heads, &rest, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, -1, basis, al_view(inside), 1, rest, err))
		return false;
	*squared = al_squared_norm(al_view(rest));
	return true;
}

/* ---- bases ---- */

static bool leading_of_wide(struct al_view a, struct al_matrix basis, double *values,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix gram;

	return al_take_gram(&scratch, AL_PLAIN, a, &gram, err)
		&& al_eigenvectors_top(gram, values, basis, err);
}

/* A V, made orthonormal: also where A has fewer dimensions than columns. */
static bool leading_of_tall(struct al_view a, struct al_matrix basis, double *values,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix gram, vectors, r;

	return al_take(&scratch, &vectors, a.cols, basis.cols, err)
		&& al_take(&scratch, &r, basis.cols, basis.cols, err)
		&& al_take_gram(&scratch, AL_TRANSPOSED, a, &gram, err)
		&& al_eigenvectors_top(gram, values, vectors, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, a, al_view(vectors), 0, basis, err)
		&& al_qr(basis, r, err);
}

bool al_leading_basis(struct al_scratch *scratch, struct al_view a, size_t n,
	struct al_matrix *basis, double *squares, struct al_error *err)
{
	AL_SCRATCH(room);
	struct al_matrix own;

	n = al_least(n, al_least(a.rows, a.cols));
	return al_take(scratch, basis, a.rows, n, err) && al_take(&room, &own, n, 1, err)
		&& (a.cols < a.rows ? leading_of_tall : leading_of_wide)(a, *basis,
			squares ? squares : own.data, err);
}

/* ---- sharing ---- */

static void gather(const struct al_stack *s, const size_t *heads, size_t n, struct al_matrix out)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < s->width; j++)
			memcpy(out.data + (i * s->width + j) * out.ld,
				s->weighed.data + (heads[i] * s->width + j) * s->weighed.ld,
				out.rows * sizeof(*out.data));
}

static void gather_gram(const struct al_stack *s, const size_t *heads, size_t n,
	struct al_matrix out)
{
	const size_t w = s->width;

	for (size_t j = 0; j < n * w; j++)
		for (size_t i = 0; i < n; i++)
			memcpy(out.data + i * w + j * out.ld,
				s->gram.data + heads[i] * w
					+ (heads[j / w] * w + j % w) * s->gram.ld,
				w * sizeof(*out.data));
}

/* The remainder after the leading eigenvalues, if the Gram matrix is accurate enough. */
static bool share_by_values(const struct al_stack *s, const size_t *heads, size_t n,
	double *squared, bool *is_shown, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix gram;

	if (!al_take(&scratch, &gram, n * s->width, n * s->width, err))
		return false;
	gather_gram(s, heads, n, gram);
	const double total = al_trace(al_view(gram));
	if (!al_sum_beyond(gram, s->width, squared, err))
		return false;
	*is_shown = *squared > AL_GRAM_SHOWS * total;
	return true;
}

static bool share_by_basis(const struct al_stack *s, const size_t *heads, size_t n, double *squared,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix all, basis;

	if (!al_take(&scratch, &all, s->own.rows, n * s->width, err))
		return false;
	gather(s, heads, n, all);
	return al_leading_basis(&scratch, al_view(all), s->width, &basis, NULL, err)
		&& al_outside(al_view(basis), al_view(all), squared, err);
}

bool al_stack_estimate(const struct al_stack *s, const size_t *heads, size_t n, double *cost,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t w = s->width;
	struct al_matrix_f gram;

	if (!al_take_f(&scratch, &gram, n * w, n * w, err))
		return false;
	for (size_t j = 0; j < n * w; j++) {
		const float *column = s->part_gram.data
			+ (heads[j / w] * w + j % w) * s->part_gram.ld;
		for (size_t k = 0; k < n; k++)
			memcpy(gram.data + k * w + j * gram.ld, column + heads[k] * w,
				w * sizeof(*column));
	}
	return al_sum_beyond_f(gram, w, cost, err);
}

struct sharing {
	const struct al_stack *stack;
	const size_t *order;
	size_t size;
	double *squared;
};

static bool share_group(void *context, size_t index, struct al_error *err)
{
	const struct sharing *x = context;
	const size_t *heads = x->order + index * x->size;
	bool is_shown;

	return share_by_values(x->stack, heads, x->size, &x->squared[index], &is_shown, err)
		&& (is_shown || share_by_basis(x->stack, heads, x->size, &x->squared[index], err));
}

bool al_stack_share(const struct al_stack *stack, const size_t *order, size_t size,
	double *relative_error, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = stack->n / size;
	struct sharing x = {stack, order, size,
		al_take_array(&scratch, n, sizeof(*x.squared), err)};
	double sum = 0;

	if (!x.squared || !al_parallel(n, share_group, &x, err))
		return false;
	for (size_t i = 0; i < n; i++)
		sum += x.squared[i];
	*relative_error = sqrt(sum) / stack->norm;
	return true;
}

void al_stack_finish(struct al_stack *stack)
{
	al_scratch_finish(&stack->scratch);
}
