/* The side of the forms that a conversion lets heads share. */
#include "audit/stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

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

/* L_g = K_g R_g^T, head by head. */
static bool weigh(const struct al_stack *s, struct al_error *err)
{
	const struct al_matrix out = s->weighed;
	bool ok = true;

	for (size_t g = 0; ok && g < s->n; g++)
		ok = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_columns(s->own, g * s->width, s->width),
			al_columns(al_view(s->weights), g * s->width, s->width), 0,
			al_part(out, 0, g * s->width, out.rows, s->width), err);
	return ok;
}

static bool weigh_weights(const struct al_stack *s, struct al_error *err)
{
	bool ok = true;

	for (size_t g = 0; ok && g < s->n; g++)
		ok = al_gram(AL_TRANSPOSED, al_columns(al_view(s->weights), g * s->width, s->width),
			al_part(s->weight_grams, 0, g * s->width, s->width, s->width), err);
	return ok;
}

static bool fill(struct al_stack *s, const struct al_heads *heads, const struct al_triangles *t,
	enum al_projection partner, struct al_error *err)
{
	size_t group = heads->n_heads / heads->n_kv_heads;

	if (!al_matrix_init(&s->weights, s->width, s->n * s->width, err)
		|| !al_matrix_init(&s->weight_grams, s->width, s->n * s->width, err)
		|| !al_matrix_init(&s->weight_squares, s->n * s->width, 1, err)
		|| !al_matrix_init_unset(&s->weighed, s->own.rows, s->n * s->width, err))
		return false;
	for (size_t g = 0; g < s->n; g++)
		if (!al_triangles_join(t, partner, g * group, group,
			    al_part(s->weights, 0, g * s->width, s->width, s->width), err))
			return false;
	if (!weigh_weights(s, err) || !weigh(s, err))
		return false;
	for (size_t j = 0; j < s->weights.cols; j++)
		s->weight_squares.data[j] = al_squared_norm(al_columns(al_view(s->weights), j, 1));
	s->norm = sqrt(al_squared_norm(al_view(s->weighed)));
	return true;
}

bool al_stack_init(struct al_stack *stack, const struct al_heads *heads,
	const struct al_triangles *triangles, enum al_form form, struct al_error *err)
{
	struct al_run run = al_heads_run(heads, form == AL_FORM_QK ? AL_KEY : AL_VALUE);

	*stack = (struct al_stack){.own = run.weights, .n = run.n_heads, .width = run.width};
	if (fill(stack, heads, triangles, form == AL_FORM_QK ? AL_QUERY : AL_OUTPUT, err))
		return true;
	al_stack_finish(stack);
	return false;
}

/* ---- Gram matrices of weighed heads ----
 *
 * Of own_gram: a head's block is as small as a head is wide, so that this takes less than a sixth
 * of the products that the weighed heads themselves would ask for. */

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

static bool weigh_gram(struct al_view gram, struct al_view weights, size_t width,
	struct al_matrix out, struct al_error *err)
{
	struct weighing x = {gram, weights, width, out};

	return al_parallel(weights.cols / width, weigh_rows, &x, err);
}

/* Scaled to the norm, so that no square leaves single precision's range. */
static void narrow_gram(struct al_stack *s)
{
	const double scale = 1 / (s->norm * s->norm);

	for (size_t i = 0; i < s->gram.rows * s->gram.cols; i++)
		s->gram_f.data[i] = (float)(s->gram.data[i] * scale);
}

bool al_stack_form_gram(struct al_stack *s, struct al_error *err)
{
	const size_t n = s->n * s->width;

	if (!al_matrix_init_unset(&s->gram, n, n, err) || !al_matrix_init_f(&s->gram_f, n, n, err)
		|| !(s->own_gram.data ? weigh_gram(s->own_gram, al_view(s->weights), s->width,
			     s->gram, err)
				      : al_gram(AL_TRANSPOSED, al_view(s->weighed), s->gram, err)))
		return false;
	if (s->norm > 0)
		narrow_gram(s);
	return true;
}

void al_stack_finish(struct al_stack *stack)
{
	al_matrix_finish(&stack->weights);
	al_matrix_finish(&stack->weight_grams);
	al_matrix_finish(&stack->weight_squares);
	al_matrix_finish(&stack->weighed);
	al_matrix_finish_f(&stack->gram_f);
	al_matrix_finish(&stack->gram);
}

/* ---- errors ---- */

/* Adds ||(A - K_g) R_g^T||^2; the matrices are room. */
static bool add_difference(const struct al_stack *s, struct al_view other, size_t g,
	struct al_matrix difference, struct al_matrix weighed, double *sum, struct al_error *err)
{
	size_t at = g * s->width;

	for (size_t j = 0; j < s->width; j++)
		for (size_t i = 0; i < other.rows; i++)
			difference.data[i + j * difference.ld] = other.data[i + (at + j) * other.ld]
				- s->own.data[i + (at + j) * s->own.ld];
	if (!al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(difference),
		    al_columns(al_view(s->weights), at, s->width), 0, weighed, err))
		return false;
	*sum += al_squared_norm(al_view(weighed));
	return true;
}

bool al_stack_error(const struct al_stack *s, struct al_view other, double *relative_error,
	struct al_error *err)
{
	AL_OWNED struct al_matrix difference = {0}, weighed = {0};
	double sum = 0;
	bool ok = al_matrix_init(&difference, other.rows, s->width, err)
		&& al_matrix_init(&weighed, other.rows, s->width, err);

	for (size_t g = 0; ok && g < s->n; g++)
		ok = add_difference(s, other, g, difference, weighed, &sum, err);
	*relative_error = sqrt(sum) / s->norm;
	return ok;
}

bool al_outside(struct al_view basis, struct al_view heads, double *squared, struct al_error *err)
{
	AL_OWNED struct al_matrix inside = {0}, rest = {0};
	bool ok = al_matrix_init_unset(&inside, basis.cols, heads.cols, err)
		&& al_matrix_init_unset(&rest, heads.rows, heads.cols, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, basis, heads, 0, inside, err)
		&& al_copy(heads, rest, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, -1, basis, al_view(inside), 1, rest, err);

	if (ok)
		*squared = al_squared_norm(al_view(rest));
	return ok;
}

/* ---- bases ---- */

static bool leading_of_wide(struct al_view a, struct al_matrix basis, double *values,
	struct al_error *err)
{
	AL_OWNED struct al_matrix gram = {0};

	return al_matrix_init_unset(&gram, a.rows, a.rows, err) && al_gram(AL_PLAIN, a, gram, err)
		&& al_eigenvectors_top(gram, values, basis, err);
}

/* A V, made orthonormal: also where A has fewer dimensions than columns. */
static bool leading_of_tall(struct al_view a, struct al_matrix basis, double *values,
	struct al_error *err)
{
	AL_OWNED struct al_matrix gram = {0}, vectors = {0}, r = {0};

	return al_matrix_init_unset(&gram, a.cols, a.cols, err)
		&& al_matrix_init(&vectors, a.cols, basis.cols, err)
		&& al_matrix_init(&r, basis.cols, basis.cols, err)
		&& al_gram(AL_TRANSPOSED, a, gram, err)
		&& al_eigenvectors_top(gram, values, vectors, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, a, al_view(vectors), 0, basis, err)
		&& al_qr(basis, r, err);
}

bool al_leading_vectors(struct al_view a, struct al_matrix basis, double *squares,
	struct al_error *err)
{
	return (a.cols < a.rows ? leading_of_tall : leading_of_wide)(a, basis, squares, err);
}

bool al_leading_basis(struct al_view a, size_t n, struct al_matrix *basis, struct al_error *err)
{
	size_t most = a.rows < a.cols ? a.rows : a.cols;

	n = n < most ? n : most;
	if (!al_matrix_init(basis, a.rows, n, err))
		return false;
	double *values = al_calloc(n, sizeof(*values));
	bool ok = al_leading_vectors(a, *basis, values, err);
	free(values);
	if (!ok)
		al_matrix_finish(basis);
	return ok;
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

/* What the leading eigenvalues leave, where the Gram matrix tells. */
static bool share_by_values(const struct al_stack *s, const size_t *heads, size_t n,
	double *squared, bool *is_shown, struct al_error *err)
{
	AL_OWNED struct al_matrix gram = {0};
	double total = 0;
	bool ok = al_matrix_init_unset(&gram, n * s->width, n * s->width, err);

	if (ok)
		gather_gram(s, heads, n, gram);
	if (ok)
		total = al_trace(al_view(gram));
	ok = ok && al_sum_beyond(gram, s->width, squared, err);
	*is_shown = ok && *squared > AL_GRAM_SHOWS * total;
	return ok;
}

static bool share_by_basis(const struct al_stack *s, const size_t *heads, size_t n, double *squared,
	struct al_error *err)
{
	AL_OWNED struct al_matrix all = {0}, basis = {0};
	bool ok = al_matrix_init_unset(&all, s->own.rows, n * s->width, err);

	if (ok)
		gather(s, heads, n, all);
	return ok && al_leading_basis(al_view(all), s->width, &basis, err)
		&& al_outside(al_view(basis), al_view(all), squared, err);
}

static void gather_gram_f(const struct al_stack *s, const size_t *heads, size_t n,
	struct al_matrix_f out)
{
	const size_t w = s->width;

	for (size_t j = 0; j < n * w; j++)
		for (size_t i = 0; i < n; i++)
			memcpy(out.data + i * w + j * out.ld,
				s->gram_f.data + heads[i] * w
					+ (heads[j / w] * w + j % w) * s->gram_f.ld,
				w * sizeof(*out.data));
}

bool al_stack_estimate(const struct al_stack *stack, const size_t *heads, size_t n, double *cost,
	struct al_error *err)
{
	AL_OWNED_F struct al_matrix_f gram = {0};
	bool ok = al_matrix_init_unset_f(&gram, n * stack->width, n * stack->width, err);

	if (ok)
		gather_gram_f(stack, heads, n, gram);
	return ok && al_sum_beyond_f(gram, stack->width, cost, err);
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
	size_t n = stack->n / size;
	struct sharing x = {stack, order, size, al_calloc(n, sizeof(*x.squared))};
	bool ok = al_parallel(n, share_group, &x, err);
	double sum = 0;

	for (size_t i = 0; ok && i < n; i++)
		sum += x.squared[i];
	free(x.squared);
	*relative_error = sqrt(sum) / stack->norm;
	return ok;
}
