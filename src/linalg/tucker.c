/* HOSVD and HOOI of the head tensor (Kolda & Bader 2009, figures 4.3 and 4.4) from its factors. */
#include "linalg/tucker.h"

#include "linalg/tensor.h"

/* ---- what is asked: whether it can be, and how it is found ---- */

struct al_tucker_bounds al_tucker_bounds(const struct al_heads *heads)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	return (struct al_tucker_bounds){
		.head = s.n_heads,
		.query = al_least(s.d_query, s.n_heads * s.d_head),
		.key = al_least(s.d_key, s.n_kv_heads * s.d_head),
	};
}

static bool check_rank(const char *name, size_t rank, size_t bound, struct al_error *err)
{
	if (rank >= 1 && rank <= bound)
		return true;
	return al_fail(err, AL_EINPUT, "%s (%zu): expected 1 to %zu", name, rank, bound);
}

static bool check_sizes(const struct al_heads *heads, const struct al_tucker_options *o,
	struct al_error *err)
{
	const struct al_tucker_bounds bounds = al_tucker_bounds(heads);

	return check_rank("query rank", o->query_rank, bounds.query, err)
		&& check_rank("key rank", o->key_rank, bounds.key, err)
		&& (o->modes == AL_TUCKER_PARTIAL
			|| check_rank("head rank", o->head_rank, bounds.head, err));
}

static bool check_tolerance(const struct al_tucker_options *o, struct al_error *err)
{
	if (o->head_rank || o->query_rank || o->key_rank)
		return al_fail(err, AL_EINPUT, "pass either ranks or a tolerance");
	if (!(o->tolerance > 0 && o->tolerance < 1))
		return al_fail(err, AL_EINPUT, "tolerance (%g): expected between 0 and 1",
			o->tolerance);
	if (o->finder == AL_TUCKER_RANDOM)
		return al_fail(err, AL_EINPUT, "the random finder takes ranks, not a tolerance");
	return true;
}

static bool check(const struct al_heads *heads, const struct al_tucker_options *o,
	struct al_error *err)
{
	if (o->modes == AL_TUCKER_PARTIAL && o->head_rank)
		return al_fail(err, AL_EINPUT,
			"head rank (%zu) of a decomposition that keeps the heads", o->head_rank);
	if (o->finder == AL_TUCKER_RANDOM && o->modes == AL_TUCKER_FULL)
		return al_fail(err, AL_EINPUT, "the random finder is for query and key");
	return o->tolerance != 0 ? check_tolerance(o, err) : check_sizes(heads, o, err);
}

enum { LARGE_MODE = 2048, SMALL_PART = 4 };

static bool is_random(const struct al_heads_shape *s, const struct al_tucker_options *o)
{
	const size_t largest = al_most(s->d_query, s->d_key);

	if (o->finder != AL_TUCKER_AUTO)
		return o->finder == AL_TUCKER_RANDOM;
	return o->modes == AL_TUCKER_PARTIAL && o->n_sweeps == 0 && o->tolerance == 0
		&& largest > LARGE_MODE && o->query_rank * SMALL_PART < largest
		&& o->key_rank * SMALL_PART < largest;
}

enum { REFINING_SWEEPS = 100, WIDE_MODE = 1024 };

/* Where a sweep changes the error by less of it. */
static const double REFINED = 1e-4, REFINED_WIDE = 1e-3;

/* Eigenvectors of such a mode, anew in each sweep, would take minutes: steps of sweeps reach what
 * they would. */
static bool is_wide(const struct al_heads_shape *s)
{
	return s->d_query > WIDE_MODE || s->d_key > WIDE_MODE;
}

void al_tucker_refine(const struct al_heads *heads, struct al_tucker_options *o)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	o->n_sweeps = 0;
	if (is_random(&s, o) || is_wide(&s))
		o->finder = AL_TUCKER_RANDOM;
	if (o->query_rank > o->key_rank * s.n_heads || o->key_rank > o->query_rank * s.n_heads)
		return;
	o->n_sweeps = REFINING_SWEEPS;
	o->stop = is_wide(&s) ? REFINED_WIDE : REFINED;
}

/* ---- heads' mixing P = U U^T ---- */

static bool mix_heads(const struct al_tucker *t, struct al_matrix p, struct al_error *err)
{
	return al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(t->head), al_view(t->head), 0, p, err);
}

static struct al_heads core_heads(const struct al_tucker *t)
{
	return (struct al_heads){.query = al_view(t->core_query),
		.key = al_view(t->core_key),
		.n_heads = t->n_heads,
		.n_kv_heads = t->n_kv_heads,
		.d_head = t->core_query.cols / t->n_heads};
}

/* trace(U^T S U) = <P, S>, S the Gram matrix of the projected heads. */
static bool full_core_norm(const struct al_tucker *t, double *norm, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_heads core = core_heads(t);
	struct al_matrix s, p;

	bool done = al_take(&scratch, &s, t->n_heads, t->n_heads, err)
		&& al_take(&scratch, &p, t->n_heads, t->n_heads, err)
		&& al_heads_gram(&core, s, err) && mix_heads(t, p, err);
	*norm = done ? al_inner(al_view(s), al_view(p)) : 0;
	return done;
}

static bool measure_core(struct al_tucker *t, double norm, struct al_error *err)
{
	const struct al_heads core = core_heads(t);
	double kept;

	if (!(t->head.data ? full_core_norm(t, &kept, err) : al_heads_norm(&core, &kept, err)))
		return false;
	t->core_error = sqrt(fmax(0, 1 - kept / norm));
	return true;
}

/* ---- HOSVD ---- */

static bool project(const struct al_heads *heads, struct al_tucker *t, struct al_error *err)
{
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(t->query), heads->query, 0,
		       t->core_query, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(t->key), heads->key, 0, t->core_key,
			err);
}

static bool find_mode(const struct al_mode *mode, size_t rank, double allowance,
	struct al_matrix *basis, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix l;

	return al_mode_weigh(&scratch, mode, &l, err)
		&& al_leading(al_view(l), rank, allowance, basis, err);
}

static bool find_heads(const struct al_heads *heads, size_t rank, double allowance,
	struct al_matrix *basis, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const size_t n = heads->n_heads;
	struct al_matrix s, values;

	if (!al_take(&scratch, &s, n, n, err) || !al_take(&scratch, &values, n, 1, err)
		|| !al_heads_gram(heads, s, err) || !al_eigenvectors(s, values.data, err))
		return false;
	if (rank == 0)
		rank = al_smallest_rank(values.data, n, allowance);
	return al_matrix_init(basis, n, rank, err)
		&& al_copy(al_columns(al_view(s), 0, rank), *basis, err);
}

struct hosvd {
	const struct al_heads *heads;
	const struct al_tucker_options *options;
	double allowance; /* of one mode */
	struct al_tucker *tucker;
};

/* The modes don't know of each other: they are found side by side. */
static bool find_one(void *context, size_t index, struct al_error *err)
{
	const struct hosvd *x = context;
	const struct al_tucker_options *o = x->options;
	const struct al_mode query = al_query_mode(x->heads), key = al_key_mode(x->heads);

	if (index == 0)
		return find_mode(&query, o->query_rank, x->allowance, &x->tucker->query, err);
	if (index == 1)
		return find_mode(&key, o->key_rank, x->allowance, &x->tucker->key, err);
	return find_heads(x->heads, o->head_rank, x->allowance, &x->tucker->head, err);
}

static bool hosvd(const struct al_heads *heads, const struct al_tucker_options *o, double norm,
	struct al_tucker *t, struct al_error *err)
{
	const size_t n_modes = o->modes == AL_TUCKER_FULL ? 3 : 2;
	struct hosvd x = {heads, o, o->tolerance * o->tolerance * norm / (double)n_modes, t};

	return al_parallel(n_modes, find_one, &x, err)
		&& al_matrix_init(&t->core_query, t->query.cols, heads->query.cols, err)
		&& al_matrix_init(&t->core_key, t->key.cols, heads->key.cols, err)
		&& project(heads, t, err);
}

/* ---- HOOI ---- */

static bool check_product(const char *name, size_t rank, size_t others, struct al_error *err)
{
	if (rank <= others)
		return true;
	return al_fail(err, AL_EINPUT, "%s (%zu) exceeds the product of the other ranks (%zu)",
		name, rank, others);
}

static bool check_products(const struct al_tucker *t, struct al_error *err)
{
	const size_t heads = t->head.data ? t->head.cols : t->n_heads;

	return check_product("query rank", t->query.cols, t->key.cols * heads, err)
		&& check_product("key rank", t->key.cols, t->query.cols * heads, err)
		&& (!t->head.data
			|| check_product("head rank", heads, t->query.cols * t->key.cols, err));
}

/* W, [own.cols][own.cols]: for each pair of heads P_ij times the block of other^T other that they
 * meet. */
static bool weigh_pairs(const struct al_mode *mode, struct al_view p, struct al_matrix gram,
	struct al_matrix w, struct al_error *err)
{
	const size_t n = p.cols, d = mode->own.cols / mode->n_own;

	if (!al_gram(AL_TRANSPOSED, mode->other, gram, err))
		return false;
	for (size_t j = 0; j < n * d; j++) {
		const size_t head_j = j / d, own_j = head_j * mode->n_own / n * d + j % d;
		const size_t other_j = head_j * mode->n_other / n * d + j % d;
		for (size_t i = 0; i < n * d; i++) {
			const size_t head_i = i / d, own_i = head_i * mode->n_own / n * d + i % d;
			const size_t other_i = head_i * mode->n_other / n * d + i % d;
			w.data[own_i + own_j * w.ld] += p.data[head_i + head_j * p.ld]
				* gram.data[other_i + other_j * gram.ld];
		}
	}
	return true;
}

struct pair_room {
	struct al_matrix p, gram, w, half, unfolding, values;
};

static bool pair_room_init(struct al_scratch *scratch, struct pair_room *room,
	const struct al_mode *mode, size_t n_heads, struct al_error *err)
{
	return al_take(scratch, &room->p, n_heads, n_heads, err)
		&& al_take(scratch, &room->gram, mode->other.cols, mode->other.cols, err)
		&& al_take(scratch, &room->w, mode->own.cols, mode->own.cols, err)
		&& al_take(scratch, &room->half, mode->own.rows, mode->own.cols, err)
		&& al_take(scratch, &room->unfolding, mode->own.rows, mode->own.rows, err)
		&& al_take(scratch, &room->values, mode->own.rows, 1, err);
}

/* With mixed heads the blocks of a mode's weight are no longer separate: Gram = own W own^T. */
static bool improve_mixed(const struct al_mode *mode, const struct al_tucker *t,
	struct al_matrix basis, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct pair_room room = {{0}, {0}, {0}, {0}, {0}, {0}};

	return pair_room_init(&scratch, &room, mode, t->n_heads, err) && mix_heads(t, room.p, err)
		&& weigh_pairs(mode, al_view(room.p), room.gram, room.w, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, mode->own, al_view(room.w), 0, room.half, err)
		&& al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(room.half), mode->own, 0,
			room.unfolding, err)
		&& al_eigenvectors_top(room.unfolding, room.values.data, basis, err);
}

/* A step of orthogonal iteration, where all eigenvectors of a large mode would cost too much: with
 * the other modes as they are it never loses anything. */
static bool improve_step(const struct al_mode *mode, struct al_matrix basis, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_matrix l, inner, r;

	return al_mode_weigh(&scratch, mode, &l, err)
		&& al_take(&scratch, &r, basis.cols, basis.cols, err)
		&& al_take_product(&scratch, AL_TRANSPOSED, al_view(l), AL_PLAIN, al_view(basis),
			&inner, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(l), al_view(inner), 0, basis, err)
		&& al_qr(basis, r, err);
}

/* The best basis of one mode with the other modes as they are, or a better one. */
static bool improve(const struct al_mode *mode, const struct al_tucker *t, bool is_stepwise,
	struct al_matrix *basis, struct al_error *err)
{
	const size_t rank = basis->cols;

	if (is_stepwise)
		return improve_step(mode, *basis, err);
	if (t->head.data)
		return improve_mixed(mode, t, *basis, err);
	al_matrix_finish(basis);
	return find_mode(mode, rank, 0, basis, err);
}

static bool sweep(const struct al_heads *heads, bool is_stepwise, struct al_tucker *t,
	struct al_error *err)
{
	const struct al_mode query = {heads->query, al_view(t->core_key), t->n_heads,
		t->n_kv_heads};
	const struct al_mode key = {heads->key, al_view(t->core_query), t->n_kv_heads, t->n_heads};

	if (!improve(&query, t, is_stepwise, &t->query, err) || !project(heads, t, err)
		|| !improve(&key, t, is_stepwise, &t->key, err) || !project(heads, t, err))
		return false;
	if (!t->head.data)
		return true;
	const struct al_heads core = core_heads(t);
	const size_t rank = t->head.cols;
	al_matrix_finish(&t->head);
	return find_heads(&core, rank, 0, &t->head, err);
}

static bool hooi(const struct al_heads *heads, const struct al_tucker_options *o, double norm,
	struct al_tucker *t, struct al_error *err)
{
	if (o->n_sweeps && !check_products(t, err))
		return false;
	while (t->n_sweeps < o->n_sweeps) {
		const double before = t->core_error;
		if (!sweep(heads, o->finder == AL_TUCKER_RANDOM, t, err)
			|| !measure_core(t, norm, err))
			return false;
		t->n_sweeps++;
		if (before - t->core_error <= o->stop * before)
			break;
	}
	return true;
}

/* ---- the residual ---- */

struct middle {
	const struct al_tucker *tucker;
	struct al_matrix p; /* where heads are mixed */
	size_t d_head;
};

/* core_i x = (U_Q^T Q_i)(U_K^T K_g)^T x */
static bool apply_own(const struct middle *m, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_tucker *t = m->tucker;
	const size_t d = m->d_head, kv_head = head * t->n_kv_heads / t->n_heads;
	struct al_matrix inner;

	if (!al_take(&scratch, &inner, d, x.cols, err))
		return false;
	return al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_columns(al_view(t->core_key), kv_head * d, d),
		       x, 0, inner, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_columns(al_view(t->core_query), head * d, d),
			al_view(inner), 0, out, err);
}

static void spread(const struct middle *m, size_t head, struct al_matrix inner,
	struct al_matrix all)
{
	const struct al_tucker *t = m->tucker;
	const size_t d = m->d_head;

	for (size_t c = 0; c < all.cols; c++)
		for (size_t i = 0; i < all.rows; i++)
			all.data[i + c * all.ld] = m->p.data[head + i / d * m->p.ld]
				* inner.data[i / d * t->n_kv_heads / t->n_heads * d + i % d
					+ c * inner.ld];
}

/* sum_j P_ij core_j x */
static bool apply_mixed(const struct middle *m, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_tucker *t = m->tucker;
	struct al_matrix inner, all;

	if (!al_take(&scratch, &all, t->core_query.cols, x.cols, err)
		|| !al_take_product(&scratch, AL_TRANSPOSED, al_view(t->core_key), AL_PLAIN, x,
			&inner, err))
		return false;
	spread(m, head, inner, all);
	return al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(t->core_query), al_view(all), 0, out, err);
}

static bool apply_core(const void *context, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	const struct middle *m = context;

	return (m->p.data ? apply_mixed : apply_own)(m, head, x, out, err);
}

static bool measure(const struct al_heads *heads, double norm, struct al_tucker *t,
	struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct middle middle = {.tucker = t, .d_head = t->core_query.cols / t->n_heads};
	const struct al_approximation a = {al_view(t->query), al_view(t->key), apply_core, &middle};

	return (!t->head.data
		       || (al_take(&scratch, &middle.p, t->n_heads, t->n_heads, err)
			       && mix_heads(t, middle.p, err)))
		&& al_residual(heads, norm, &a, AL_RESIDUAL_FLOPS, &t->relative_error,
			&t->is_estimate, err);
}

/* ---- parameters ---- */

static size_t count_bases(const struct al_tucker *t)
{
	return t->query.rows * t->query.cols + t->key.rows * t->key.cols
		+ t->head.rows * t->head.cols;
}

size_t al_tucker_parameters_factored(const struct al_tucker *t)
{
	return count_bases(t) + t->core_query.rows * t->core_query.cols
		+ t->core_key.rows * t->core_key.cols;
}

size_t al_tucker_parameters_dense(const struct al_tucker *t)
{
	const size_t n_cores = t->head.data ? t->head.cols : t->n_heads;

	return count_bases(t) + n_cores * t->query.cols * t->key.cols;
}

/* ---- all of it ---- */

static bool decompose_exactly(const struct al_heads *heads, const struct al_tucker_options *o,
	double norm, struct al_tucker *t, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_heads wide;

	return al_heads_widen(&scratch, heads, &wide, err) && hosvd(&wide, o, norm, t, err)
		&& measure_core(t, norm, err) && hooi(&wide, o, norm, t, err);
}

/* A large tensor's modes are found at random, and swept in steps. */
static bool decompose_large(const struct al_heads *heads, const struct al_tucker_options *o,
	double norm, struct al_tucker *t, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct al_heads wide;

	if (!al_tucker_find_ranges(heads, norm, o, t, err) || !measure_core(t, norm, err))
		return false;
	if (o->n_sweeps == 0)
		return true;
	return al_heads_widen(&scratch, heads, &wide, err) && hooi(&wide, o, norm, t, err);
}

static bool decompose(const struct al_heads *heads, const struct al_tucker_options *o, double norm,
	struct al_tucker *t, struct al_error *err)
{
	const struct al_heads_shape s = al_heads_shape(heads);

	if (is_random(&s, o))
		return decompose_large(heads, o, norm, t, err);
	return decompose_exactly(heads, o, norm, t, err);
}

bool al_tucker(const struct al_heads *heads, const struct al_tucker_options *options,
	struct al_tucker *out, struct al_error *err)
{
	double norm;

	*out = (struct al_tucker){.n_heads = heads->n_heads, .n_kv_heads = heads->n_kv_heads};
	if (al_heads_check(heads, &norm, err) && check(heads, options, err)
		&& decompose(heads, options, norm, out, err) && measure(heads, norm, out, err))
		return true;
	al_tucker_finish(out);
	return false;
}

void al_tucker_finish(struct al_tucker *t)
{
	al_matrix_finish(&t->core_key);
	al_matrix_finish(&t->core_query);
	al_matrix_finish(&t->head);
	al_matrix_finish(&t->key);
	al_matrix_finish(&t->query);
	*t = (struct al_tucker){.n_sweeps = 0};
}
