/* The residual of an approximation of the head tensor, measured in the approximation's spaces, or
 * estimated by Gaussian vectors (Hutchinson 1990). */

#include "base/random.h"
#include "linalg/heads.h"
#include "linalg/internal.h"

struct residual {
	const struct al_heads *heads;
	struct al_heads_shape shape;
	const struct al_approximation *approximation;
	double *parts; /* of the heads, squared */
	/* measured */
	struct al_matrix left, right; /* U [d_query][p], V [d_key][q] */
	struct al_matrix left_triangle; /* S [p][p] */
	struct al_matrix right_triangle; /* W^T [q][q] */
	/* estimated */
	struct al_matrix probes, inside; /* [d_key][AL_RESIDUAL_PROBES]; right^T probes */
};

/* ---- in the spaces of the approximation ----
 *
 * With left = U S and right = V W, both by QR, Q_i = U C + Q' and K_g = V E + K' with Q' and K'
 * orthogonal to U and V, the residual falls into four parts that are orthogonal to each other:
 *
 *     T_i - T'_i = U (C E^T - S middle_i W^T) V^T + U C K'^T + Q' E^T V^T + Q' K'^T
 *
 * None of them is a difference of large numbers, and none is wider than the approximation. Of more
 * columns than rows U or V is square. */

static bool orthonormalize(struct al_scratch *scratch, struct al_view a, struct al_matrix *basis,
	struct al_matrix *triangle, struct al_error *err)
{
	const size_t rank = al_least(a.rows, a.cols);

	if (!al_take(scratch, basis, a.rows, a.cols, err)
		|| !al_take(scratch, triangle, rank, a.cols, err) || !al_copy(a, *basis, err)
		|| !al_qr(*basis, *triangle, err))
		return false;
	basis->cols = rank;
	return true;
}

static bool find_spaces(struct al_scratch *scratch, struct residual *x, struct al_error *err)
{
	const struct al_approximation *a = x->approximation;
	struct al_matrix w, *t = &x->right_triangle;

	if (!orthonormalize(scratch, a->left, &x->left, &x->left_triangle, err)
		|| !orthonormalize(scratch, a->right, &x->right, &w, err)
		|| !al_take(scratch, t, w.cols, w.rows, err))
		return false;
	for (size_t j = 0; j < w.cols; j++)
		for (size_t i = 0; i < w.rows; i++)
			t->data[j + i * t->ld] = w.data[i + j * w.ld];
	return true;
}

/* One side of a head: its part inside the space, what is left of it, and the Gram matrices of
 * both. */
struct side {
	struct al_matrix rest, inside, rest_gram, inside_gram;
};

static bool part_side(struct al_scratch *scratch, const struct residual *x,
	enum al_projection projection, size_t head, struct al_matrix basis, struct side *side,
	struct al_error *err)
{
	const size_t d = x->shape.d_head;

	return al_take(scratch, &side->rest, basis.rows, d, err)
		&& al_head_copy(x->heads, projection, head, side->rest, err)
		&& al_take_product(scratch, AL_TRANSPOSED, al_view(basis), AL_PLAIN,
			al_view(side->rest), &side->inside, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, -1, al_view(basis), al_view(side->inside), 1,
			side->rest, err)
		&& al_take_gram(scratch, AL_TRANSPOSED, al_view(side->rest), &side->rest_gram, err)
		&& al_take_gram(scratch, AL_TRANSPOSED, al_view(side->inside), &side->inside_gram,
			err);
}

/* ||A B^T||^2 from the Gram matrices of A and B. */
static double product_norm(struct al_matrix a, struct al_matrix b)
{
	return fmax(al_inner(al_view(a), al_view(b)), 0);
}

static bool measure_head(void *context, size_t head, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct residual *x = context;
	const struct al_approximation *a = x->approximation;
	const size_t kv_head = al_kv_head(x->heads, head);
	struct al_matrix middle, difference; /* C E^T - S middle W^T */
	struct side query, key;

	if (!part_side(&scratch, x, AL_QUERY, head, x->left, &query, err)
		|| !part_side(&scratch, x, AL_KEY, kv_head, x->right, &key, err)
		|| !al_take(&scratch, &middle, a->left.cols, x->right.cols, err)
		|| !a->middle(a->context, head, al_view(x->right_triangle), middle, err)
		|| !al_take_product(&scratch, AL_PLAIN, al_view(query.inside), AL_TRANSPOSED,
			al_view(key.inside), &difference, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, -1, al_view(x->left_triangle), al_view(middle), 1,
			difference, err))
		return false;
	x->parts[head] = al_inner(al_view(difference), al_view(difference))
		+ (product_norm(query.inside_gram, key.rest_gram)
			+ product_norm(query.rest_gram, key.inside_gram)
			+ product_norm(query.rest_gram, key.rest_gram));
	return true;
}

/* The two QRs, then head by head four products with the bases and two of the spaces' widths. */
static double count_flops(const struct al_heads_shape *s, const struct al_approximation *a)
{
	const double p = (double)a->left.cols, q = (double)a->right.cols, d = (double)s->d_head;
	const double query = (double)s->d_query, key = (double)s->d_key;

	return 4 * (query * p * p + key * q * q)
		+ 2 * (double)s->n_heads
		* (2 * d * (query * p + key * q) + d * d * (query + key) + p * q * (d + p));
}

/* ---- an estimate ---- */

static bool draw_probes(struct al_scratch *scratch, struct residual *x, struct al_error *err)
{
	const struct al_view right = x->approximation->right;

	if (!al_take(scratch, &x->probes, x->shape.d_key, AL_RESIDUAL_PROBES, err)
		|| !al_take(scratch, &x->inside, right.cols, AL_RESIDUAL_PROBES, err))
		return false;
	struct al_random *random = al_random_create(AL_RESIDUAL_PROBES, x->shape.n_heads, 0, 0);
	al_random_gaussian(random, x->probes.data, x->probes.rows * x->probes.cols);
	al_random_destroy(random);
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, right, al_view(x->probes), 0, x->inside, err);
}

/* The mean of ||(T_i - T'_i) x||^2 over the probes x. */
static bool estimate_head(void *context, size_t head, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct residual *x = context;
	const struct al_approximation *a = x->approximation;
	const struct al_heads_shape *s = &x->shape;
	const size_t n = AL_RESIDUAL_PROBES;
	struct al_matrix query, key, inner, middle, residual;

	if (!al_take(&scratch, &query, s->d_query, s->d_head, err)
		|| !al_take(&scratch, &key, s->d_key, s->d_head, err)
		|| !al_take(&scratch, &middle, a->left.cols, n, err)
		|| !al_head_copy(x->heads, AL_QUERY, head, query, err)
		|| !al_head_copy(x->heads, AL_KEY, al_kv_head(x->heads, head), key, err)
		|| !al_take_product(&scratch, AL_TRANSPOSED, al_view(key), AL_PLAIN,
			al_view(x->probes), &inner, err)
		|| !al_take_product(&scratch, AL_PLAIN, al_view(query), AL_PLAIN, al_view(inner),
			&residual, err)
		|| !a->middle(a->context, head, al_view(x->inside), middle, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, -1, a->left, al_view(middle), 1, residual, err))
		return false;
	x->parts[head] = al_inner(al_view(residual), al_view(residual)) / AL_RESIDUAL_PROBES;
	return true;
}

bool al_residual(const struct al_heads *heads, double norm_squared,
	const struct al_approximation *approximation, double most_flops, double *relative_error,
	bool *is_estimate, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct residual x = {.heads = heads,
		.shape = al_heads_shape(heads),
		.approximation = approximation,
		.parts = al_take_array(&scratch, heads->n_heads, sizeof(*x.parts), err)};
	double sum = 0;

	*is_estimate = count_flops(&x.shape, approximation) > most_flops;
	if (!x.parts || !(*is_estimate ? draw_probes : find_spaces)(&scratch, &x, err)
		|| !al_parallel(x.shape.n_heads, *is_estimate ? estimate_head : measure_head, &x,
			err))
		return false;
	for (size_t i = 0; i < x.shape.n_heads; i++)
		sum += x.parts[i];
	*relative_error = sqrt(sum / norm_squared);
	return al_check_finite("residual", (struct al_view){relative_error, 1, 1, 1}, err);
}
