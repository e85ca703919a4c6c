/* The residual of an approximation of the head tensor, formed block by block or in the
 * approximation's spaces, and measured. */
#include <math.h>

#include "linalg/heads.h"
#include "linalg/internal.h"
#include "linalg/probes.h"

/* Columns of T_i that are formed at a time. */
enum { BLOCK = 128 };

struct residual {
	const struct al_heads *heads;
	struct al_heads_shape shape;
	const struct al_approximation *approximation;
	size_t n_blocks; /* of one head */
	double *parts; /* [n_heads*n_blocks] */
};

/* What one block needs: T_i x and T'_i x, for x a block of the identity. */
struct room {
	struct al_matrix query, key; /* one head, in double precision */
	struct al_matrix inner; /* K_g^T x */
	struct al_matrix right; /* right^T x */
	struct al_matrix middle;
	struct al_matrix residual;
};

static bool room_init(struct al_scratch *scratch, struct room *room, const struct residual *x,
	size_t width, struct al_error *err)
{
	const struct al_heads_shape *s = &x->shape;
	const struct al_approximation *a = x->approximation;

	return al_take(scratch, &room->query, s->d_query, s->d_head, err)
		&& al_take(scratch, &room->key, s->d_key, s->d_head, err)
		&& al_take(scratch, &room->inner, s->d_head, width, err)
		&& al_take(scratch, &room->right, a->right.cols, width, err)
		&& al_take(scratch, &room->middle, a->left.cols, width, err)
		&& al_take(scratch, &room->residual, s->d_query, width, err);
}

static void transpose_rows(struct al_view from, size_t first, struct al_matrix to)
{
	for (size_t i = 0; i < from.cols; i++)
		for (size_t j = 0; j < to.cols; j++)
			to.data[i + j * to.ld] = from.data[first + j + i * from.ld];
}

static bool form_residual(const struct residual *x, size_t head, size_t block, struct room *room,
	struct al_error *err)
{
	const struct al_approximation *a = x->approximation;

	if (!al_head_copy(x->heads, AL_QUERY, head, room->query, err)
		|| !al_head_copy(x->heads, AL_KEY, al_kv_head(x->heads, head), room->key, err))
		return false;
	transpose_rows(al_view(room->key), block * BLOCK, room->inner);
	transpose_rows(a->right, block * BLOCK, room->right);
	return a->middle(a->context, head, al_view(room->right), room->middle, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(room->query), al_view(room->inner), 0,
			room->residual, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, -1, a->left, al_view(room->middle), 1,
			room->residual, err);
}

static bool measure_block(void *context, size_t index, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct residual *x = context;
	const size_t head = index / x->n_blocks, block = index % x->n_blocks;
	const size_t left_over = x->shape.d_key - block * BLOCK;
	const size_t width = left_over < BLOCK ? left_over : BLOCK;
	struct room room;

	if (!room_init(&scratch, &room, x, width, err)
		|| !form_residual(x, head, block, &room, err))
		return false;
	x->parts[index] = al_inner(al_view(room.residual), al_view(room.residual));
	return true;
}

/* Sums what `work` finds of n parts. */
static bool add_parts(struct residual *x, size_t n,
	bool (*work)(void *context, size_t index, struct al_error *err), void *context, double *sum,
	struct al_error *err)
{
	AL_SCRATCH(scratch);

	x->parts = al_take_array(&scratch, n, sizeof(*x->parts), err);
	if (!x->parts || !al_parallel(n, work, context, err))
		return false;
	*sum = 0;
	for (size_t i = 0; i < n; i++)
		*sum += x->parts[i];
	return true;
}

static bool measure(struct residual *x, double *sum, struct al_error *err)
{
	return add_parts(x, x->shape.n_heads * x->n_blocks, measure_block, x, sum, err);
}

static double count_flops(const struct al_heads_shape *s, const struct al_approximation *a)
{
	return 2.0 * (double)s->n_heads * (double)s->d_key * (double)s->d_query
		* (double)(s->d_head + a->left.cols);
}

/* ---- in the spaces of the approximation ----
 *
 * With left = U S and right = V W, both by QR, Q_i = U C + Q' and K_g = V E + K' with Q' and K'
 * orthogonal to U and V, the residual falls into four parts that are orthogonal to each other:
 *
 *     T_i - T'_i = U (C E^T - S middle_i W^T) V^T + U C K'^T + Q' E^T V^T + Q' K'^T
 *
 * None of them is a difference of large numbers, and none is wider than the approximation. */

struct spaces {
	const struct residual *residual;
	struct al_matrix left, right; /* U [d_query][p], V [d_key][q] */
	struct al_matrix left_triangle; /* S [p][p] */
	struct al_matrix right_triangle; /* W [q][q], then W^T */
};

static void transpose(struct al_matrix square)
{
	for (size_t j = 0; j < square.cols; j++)
		for (size_t i = 0; i < j; i++) {
			double *a = &square.data[i + j * square.ld],
			       *b = &square.data[j + i * square.ld];
			const double other = *a;
			*a = *b;
			*b = other;
		}
}

static bool orthonormalise(struct al_scratch *scratch, struct al_view a, struct al_matrix *basis,
	struct al_matrix *triangle, struct al_error *err)
{
	return al_take(scratch, basis, a.rows, a.cols, err)
		&& al_take(scratch, triangle, a.cols, a.cols, err) && al_copy(a, *basis, err)
		&& al_qr(*basis, *triangle, err);
}

static bool spaces_init(struct al_scratch *scratch, struct spaces *s, const struct residual *x,
	struct al_error *err)
{
	const struct al_approximation *a = x->approximation;

	*s = (struct spaces){.residual = x};
	if (!orthonormalise(scratch, a->left, &s->left, &s->left_triangle, err)
		|| !orthonormalise(scratch, a->right, &s->right, &s->right_triangle, err))
		return false;
	transpose(s->right_triangle);
	return true;
}

/* One side of a head: its part inside the space, what is left of it, and the Gram matrices of
 * both. */
struct side {
	struct al_matrix rest, inside, rest_gram, inside_gram;
};

static bool side_init(struct al_scratch *scratch, struct side *side, size_t rows, size_t rank,
	size_t d_head, struct al_error *err)
{
	return al_take(scratch, &side->rest, rows, d_head, err)
		&& al_take(scratch, &side->inside, rank, d_head, err)
		&& al_take(scratch, &side->rest_gram, d_head, d_head, err)
		&& al_take(scratch, &side->inside_gram, d_head, d_head, err);
}

/* `rest` holds the head. */
static bool part_side(struct al_matrix basis, struct side *side, struct al_error *err)
{
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(basis), al_view(side->rest), 0,
		       side->inside, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, -1, al_view(basis), al_view(side->inside), 1,
			side->rest, err)
		&& al_gram(AL_TRANSPOSED, al_view(side->rest), side->rest_gram, err)
		&& al_gram(AL_TRANSPOSED, al_view(side->inside), side->inside_gram, err);
}

/* ||A B^T||^2 from the Gram matrices of A and B. */
static double product_norm(struct al_matrix a, struct al_matrix b)
{
	return fmax(al_inner(al_view(a), al_view(b)), 0);
}

/* ||C E^T - S middle W^T||^2 */
static bool measure_inside(const struct spaces *s, size_t head, const struct side *query,
	const struct side *key, double *sum, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_approximation *a = s->residual->approximation;
	struct al_matrix middle, difference;
	bool done = al_take(&scratch, &middle, s->left.cols, s->right.cols, err)
		&& al_take(&scratch, &difference, s->left.cols, s->right.cols, err)
		&& a->middle(a->context, head, al_view(s->right_triangle), middle, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(query->inside), al_view(key->inside),
			0, difference, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, -1, al_view(s->left_triangle), al_view(middle), 1,
			difference, err);

	*sum = done ? al_inner(al_view(difference), al_view(difference)) : 0;
	return done;
}

static bool measure_head(void *context, size_t head, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct spaces *s = context;
	const struct al_heads_shape *shape = &s->residual->shape;
	const struct al_heads *heads = s->residual->heads;
	double *part = &s->residual->parts[head];
	struct side query, key;

	bool done = side_init(&scratch, &query, shape->d_query, s->left.cols, shape->d_head, err)
		&& side_init(&scratch, &key, shape->d_key, s->right.cols, shape->d_head, err)
		&& al_head_copy(heads, AL_QUERY, head, query.rest, err)
		&& al_head_copy(heads, AL_KEY, al_kv_head(heads, head), key.rest, err)
		&& part_side(s->left, &query, err) && part_side(s->right, &key, err)
		&& measure_inside(s, head, &query, &key, part, err);
	if (done)
		*part += product_norm(query.inside_gram, key.rest_gram)
			+ product_norm(query.rest_gram, key.inside_gram)
			+ product_norm(query.rest_gram, key.rest_gram);
	return done;
}

static bool measure_in_spaces(struct residual *x, double *sum, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct spaces s;

	return spaces_init(&scratch, &s, x, err)
		&& add_parts(x, x->shape.n_heads, measure_head, &s, sum, err);
}

/* The two QRs, then head by head four products with the bases and two of the spaces' widths. */
static double count_flops_in_spaces(const struct al_heads_shape *s,
	const struct al_approximation *a)
{
	const double p = (double)a->left.cols, q = (double)a->right.cols, d = (double)s->d_head;
	const double query = (double)s->d_query, key = (double)s->d_key;

	return 4 * (query * p * p + key * q * q)
		+ 2 * (double)s->n_heads
		* (2 * d * (query * p + key * q) + d * d * (query + key) + p * q * (d + p));
}

static bool fits_spaces(const struct al_heads_shape *s, const struct al_approximation *a)
{
	return a->left.cols <= s->d_query && a->right.cols <= s->d_key
		&& count_flops_in_spaces(s, a) < count_flops(s, a);
}

bool al_residual(const struct al_heads *heads, double norm_squared,
	const struct al_approximation *approximation, double most_flops, double *relative_error,
	bool *is_estimate, struct al_error *err)
{
	struct residual x = {.heads = heads,
		.shape = al_heads_shape(heads),
		.approximation = approximation};
	const bool in_spaces = fits_spaces(&x.shape, approximation);
	double sum = 0;

	*is_estimate = (in_spaces ? count_flops_in_spaces : count_flops)(&x.shape, approximation)
		> most_flops;
	x.n_blocks = (x.shape.d_key + BLOCK - 1) / BLOCK;
	if (!(*is_estimate		? al_residual_estimate(heads, approximation, &sum, err)
			    : in_spaces ? measure_in_spaces(&x, &sum, err)
					: measure(&x, &sum, err)))
		return false;
	*relative_error = sqrt(sum / norm_squared);
	return al_check_finite("residual", (struct al_view){relative_error, 1, 1, 1}, err);
}
