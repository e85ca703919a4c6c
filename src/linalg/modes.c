/* The unfoldings of the head tensor: where their Gram matrices come from; their leading spaces. */

#include "linalg/tensor.h"

/* ---- the weight of one mode ---- */

struct weigh {
	struct al_mode mode;
	size_t d_head, n_sharing;
	struct al_matrix l;
};

/* The triangle of one factor, the rows that it lacks left as they are. */
static bool triangle(struct al_view factor, struct al_matrix r, struct al_error *err)
{
	enum al_route route;

	r.rows = al_least(factor.rows, factor.cols);
	return al_triangle(factor, r, &route, err);
}

/* R with R^T R the sum of the Gram matrices of the others that block b meets. */
static bool triangle_of_others(const struct weigh *x, size_t b, struct al_matrix stack,
	struct al_matrix r, struct al_error *err)
{
	const size_t d = x->d_head, first = b * x->mode.n_other / x->mode.n_own;

	if (x->n_sharing == 1)
		return triangle(al_columns(x->mode.other, first * d, d), r, err);
	for (size_t i = 0; i < x->n_sharing; i++)
		if (!triangle(al_columns(x->mode.other, (first + i) * d, d),
			    al_part(stack, i * d, 0, d, d), err))
			return false;
	return triangle(al_view(stack), r, err);
}

static bool weigh_block(void *context, size_t b, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct weigh *x = context;
	const size_t d = x->d_head;
	struct al_matrix stack, r;

	return al_take(&scratch, &stack, x->n_sharing * d, d, err)
		&& al_take(&scratch, &r, d, d, err) && triangle_of_others(x, b, stack, r, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_columns(x->mode.own, b * d, d),
			al_view(r), 0, al_part(x->l, 0, b * d, x->l.rows, d), err);
}

bool al_mode_weigh(struct al_scratch *scratch, const struct al_mode *mode, struct al_matrix *l,
	struct al_error *err)
{
	struct weigh x = {.mode = *mode, .d_head = mode->own.cols / mode->n_own};

	x.n_sharing = mode->n_other > mode->n_own ? mode->n_other / mode->n_own : 1;
	if (!al_take(scratch, l, mode->own.rows, mode->own.cols, err))
		return false;
	x.l = *l;
	return al_parallel(mode->n_own, weigh_block, &x, err);
}

/* ---- its leading space ---- */

/* Below this part of the trace a Gram matrix doesn't show what is left behind: then the SVD
 * decides. */
static const double GRAM_SHOWS = 1e-10;

static double sum(const double *values, size_t n)
{
	double s = 0;

	for (size_t i = n; i-- > 0;)
		s += values[i];
	return s;
}

size_t al_smallest_rank(const double *values, size_t n, double allowance)
{
	size_t rank = n;
	double left = 0;

	while (rank > 1 && left + fmax(values[rank - 1], 0) <= allowance)
		left += fmax(values[--rank], 0);
	return rank;
}

struct spectrum {
	struct al_matrix vectors; /* all of them, [n][n] */
	struct al_matrix values; /* squared singular values, [n] */
};

static bool by_svd(struct al_view l, struct spectrum *s, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix copy, right;

	bool done = al_take(&scratch, &right, l.cols, l.rows, err)
		&& al_take_copy(&scratch, l, &copy, err)
		&& al_svd(copy, s->vectors, s->values.data, right, err);
	for (size_t i = 0; i < l.rows; i++)
		s->values.data[i] *= s->values.data[i];
	return done;
}

static bool is_shown(const struct spectrum *s, size_t rank, double allowance)
{
	const size_t n = s->values.rows;
	const double total = sum(s->values.data, n);

	if (rank)
		return rank == n || sum(s->values.data + rank, n - rank) > GRAM_SHOWS * total;
	return allowance > GRAM_SHOWS * total;
}

/* L is not taller than wide. */
static bool find_spectrum(struct al_view l, size_t rank, double allowance, struct spectrum *s,
	struct al_error *err)
{
	if (!al_gram(AL_PLAIN, l, s->vectors, err)
		|| !al_eigenvectors(s->vectors, s->values.data, err))
		return false;
	return is_shown(s, rank, allowance) || by_svd(l, s, err);
}

static bool leading_of_wide(struct al_view l, size_t rank, double allowance,
	struct al_matrix *basis, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct spectrum s = {{0}, {0}};

	if (!al_take(&scratch, &s.vectors, l.rows, l.rows, err)
		|| !al_take(&scratch, &s.values, l.rows, 1, err)
		|| !find_spectrum(l, rank, allowance, &s, err))
		return false;
	if (rank == 0)
		rank = al_smallest_rank(s.values.data, l.rows, allowance);
	return al_matrix_init(basis, l.rows, rank, err)
		&& al_copy(al_columns(al_view(s.vectors), 0, rank), *basis, err);
}

/* L = O R, and R is small: its leading space turned by O. */
static bool leading_of_tall(struct al_view l, size_t rank, double allowance,
	struct al_matrix *basis, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix o, r;
	AL_OWNED struct al_matrix small = {0};

	return al_take(&scratch, &r, l.cols, l.cols, err) && al_take_copy(&scratch, l, &o, err)
		&& al_qr(o, r, err) && leading_of_wide(al_view(r), rank, allowance, &small, err)
		&& al_matrix_init(basis, l.rows, small.cols, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(o), al_view(small), 0, *basis, err);
}

bool al_leading(struct al_view l, size_t rank, double allowance, struct al_matrix *basis,
	struct al_error *err)
{
	return (l.rows > l.cols ? leading_of_tall : leading_of_wide)(l, rank, allowance, basis,
		err);
}

/* ---- the heads' mode ---- */

struct heads_gram {
	const struct al_heads *heads;
	size_t d_head;
	struct al_matrix s;
};

/* Row i of S: the blocks of Q_i^T Q against those of K_g^T K. */
static bool fill_row(const struct heads_gram *x, size_t i, struct al_matrix query,
	struct al_matrix key, struct al_error *err)
{
	const struct al_heads *h = x->heads;
	const size_t d = x->d_head, kv_head = al_kv_head(h, i);

	if (!al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_columns(h->query, i * d, d), h->query, 0, query,
		    err)
		|| !al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_columns(h->key, kv_head * d, d), h->key,
			0, key, err))
		return false;
	for (size_t j = 0; j < h->n_heads; j++)
		x->s.data[i + j * x->s.ld] = al_inner(al_columns(al_view(query), j * d, d),
			al_columns(al_view(key), al_kv_head(h, j) * d, d));
	return true;
}

static bool gram_row(void *context, size_t i, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct heads_gram *x = context;
	struct al_matrix query, key;

	return al_take(&scratch, &query, x->d_head, x->heads->query.cols, err)
		&& al_take(&scratch, &key, x->d_head, x->heads->key.cols, err)
		&& fill_row(x, i, query, key, err);
}

bool al_heads_gram(const struct al_heads *heads, struct al_matrix s, struct al_error *err)
{
	struct heads_gram x = {heads, heads->query.cols / heads->n_heads, s};

	return al_check_shape("S", s.rows, s.cols, heads->n_heads, heads->n_heads, err)
		&& al_parallel(heads->n_heads, gram_row, &x, err)
		&& al_check_finite("heads' Gram matrix", al_view(s), err);
}
