/* The residual of an approximation of the head tensor, formed block by block and measured. */
#include <math.h>

#include "base/random.h"
#include "linalg/heads.h"
#include "linalg/internal.h"

/* Columns of T_i that are formed at a time. */
enum { BLOCK = 128 };

struct residual {
	const struct al_heads *heads;
	struct al_heads_shape shape;
	const struct al_approximation *approximation;
	struct al_view probes;      /* [d_key][AL_RESIDUAL_PROBES], or without data: all columns */
	struct al_view right;       /* right^T probes */
	size_t n_blocks;            /* of one head */
	double *parts;              /* [n_heads*n_blocks] */
};

/* What one block needs: T_i x and T'_i x, for x a block of the identity or the probes. */
struct room {
	struct al_matrix query, key;   /* one head, in double precision */
	struct al_matrix inner;        /* K_g^T x */
	struct al_matrix right;        /* right^T x */
	struct al_matrix middle;
	struct al_matrix residual;
};

static void room_finish(struct room *room)
{
	al_matrix_finish(&room->residual);
	al_matrix_finish(&room->middle);
	al_matrix_finish(&room->right);
	al_matrix_finish(&room->inner);
	al_matrix_finish(&room->key);
	al_matrix_finish(&room->query);
}

static bool room_init(struct room *room, const struct residual *x, size_t width,
	struct al_error *err)
{
	const struct al_heads_shape *s = &x->shape;
	const struct al_approximation *a = x->approximation;

	*room = (struct room){{0}, {0}, {0}, {0}, {0}, {0}};
	return al_matrix_init(&room->query, s->d_query, s->d_head, err)
		&& al_matrix_init(&room->key, s->d_key, s->d_head, err)
		&& al_matrix_init(&room->inner, s->d_head, width, err)
		&& al_matrix_init(&room->right, a->right.cols, width, err)
		&& al_matrix_init(&room->middle, a->left.cols, width, err)
		&& al_matrix_init(&room->residual, s->d_query, width, err);
}

static void transpose_rows(struct al_view from, size_t first, struct al_matrix to)
{
	for (size_t i = 0; i < from.cols; i++)
		for (size_t j = 0; j < to.cols; j++)
			to.data[i + j * to.ld] = from.data[first + j + i * from.ld];
}

static bool project(const struct residual *x, size_t block, struct room *room, struct al_error *err)
{
	if (x->probes.data)
		return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(room->key), x->probes, 0,
			       room->inner, err)
			&& al_copy(x->right, room->right, err);
	transpose_rows(al_view(room->key), block * BLOCK, room->inner);
	transpose_rows(x->approximation->right, block * BLOCK, room->right);
	return true;
}

static bool form_residual(const struct residual *x, size_t head, size_t block, struct room *room,
	struct al_error *err)
{
	const struct al_approximation *a = x->approximation;

	return al_heads_copy_query(x->heads, head, room->query, err)
		&& al_heads_copy_key(x->heads, al_kv_head_of(x->heads, head), room->key, err)
		&& project(x, block, room, err)
		&& a->middle(a->context, head, al_view(room->right), room->middle, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(room->query), al_view(room->inner), 0,
			room->residual, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, -1, a->left, al_view(room->middle), 1,
			room->residual, err);
}

static bool measure_block(void *context, size_t index, struct al_error *err)
{
	const struct residual *x = context;
	const size_t head = index / x->n_blocks, block = index % x->n_blocks;
	const size_t left_over = x->shape.d_key - block * BLOCK;
	const size_t columns = left_over < BLOCK ? left_over : BLOCK;
	const size_t width = x->probes.data ? x->probes.cols : columns;
	struct room room;

	bool done = room_init(&room, x, width, err) && form_residual(x, head, block, &room, err);
	if (done)
		x->parts[index] = al_inner(al_view(room.residual), al_view(room.residual));
	room_finish(&room);
	return done;
}

static bool measure(struct residual *x, double *sum, struct al_error *err)
{
	const size_t n = x->shape.n_heads * x->n_blocks;
	struct al_matrix parts;

	if (!al_matrix_init(&parts, n, 1, err))
		return false;
	x->parts = parts.data;
	bool done = al_parallel(n, measure_block, x, err);
	*sum = 0;
	for (size_t i = 0; i < n; i++)
		*sum += parts.data[i];
	al_matrix_finish(&parts);
	return done;
}

static bool measure_by_probes(struct residual *x, double *sum, struct al_error *err)
{
	struct al_random *random = al_random_create(AL_RESIDUAL_PROBES, x->shape.n_heads, 0, 0);
	struct al_matrix probes = {0}, right = {0};
	const struct al_view terms = x->approximation->right;

	bool done = al_matrix_init(&probes, x->shape.d_key, AL_RESIDUAL_PROBES, err)
		&& al_matrix_init(&right, terms.cols, AL_RESIDUAL_PROBES, err);
	if (done) {
		al_random_gaussian(random, probes.data, probes.rows * probes.cols);
		done = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, terms, al_view(probes), 0, right, err);
		x->probes = al_view(probes);
		x->right = al_view(right);
		x->n_blocks = 1;
	}
	done = done && measure(x, sum, err);
	*sum /= AL_RESIDUAL_PROBES;
	al_matrix_finish(&right);
	al_matrix_finish(&probes);
	al_random_destroy(random);
	return done;
}

static double count_flops(const struct al_heads_shape *s, const struct al_approximation *a)
{
	return 2.0 * (double)s->n_heads * (double)s->d_key * (double)s->d_query
		* (double)(s->d_head + a->left.cols);
}

bool al_residual(const struct al_heads *heads, const struct al_approximation *approximation,
	double most_flops, double *relative_error, bool *is_estimate, struct al_error *err)
{
	struct residual x = {.heads = heads, .shape = al_heads_shape(heads),
		.approximation = approximation};
	double norm, sum = 0;

	*is_estimate = count_flops(&x.shape, approximation) > most_flops;
	x.n_blocks = (x.shape.d_key + BLOCK - 1) / BLOCK;
	if (!al_heads_norm(heads, &norm, err)
		|| !(*is_estimate ? measure_by_probes(&x, &sum, err) : measure(&x, &sum, err)))
		return false;
	*relative_error = sqrt(sum / norm);
	return al_check_finite("residual", (struct al_view){relative_error, 1, 1, 1}, err);
}
