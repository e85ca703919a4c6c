/* The collaborative decomposition: a start, sweeps, and what the residual says they reached. */
#include "linalg/cp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "linalg/internal.h"
#include "linalg/start.h"

size_t al_cp_bound(const struct al_heads *heads)
{
	return heads->n_heads * al_head_values(heads);
}

void al_start_random(uint64_t seed, struct al_terms *t)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);

	al_random_gaussian(random, t->query.data, t->query.rows * t->query.cols);
	al_random_gaussian(random, t->key.data, t->key.rows * t->key.cols);
	al_random_gaussian(random, t->mixing.data, t->mixing.rows * t->mixing.cols);
	al_random_destroy(random);
}

/* ---- the residual ---- */

static bool apply_mixing(const void *context, size_t head, struct al_view x, struct al_matrix out,
	struct al_error *err)
{
	const struct al_matrix *mixing = context;

	(void)err;
	for (size_t j = 0; j < x.cols; j++)
		for (size_t r = 0; r < x.rows; r++)
			out.data[r + j * out.ld] = mixing->data[head + r * mixing->ld]
				* x.data[r + j * x.ld];
	return true;
}

static bool measure(const struct al_heads *heads, const struct al_terms *t, double *error,
	bool *is_estimate, struct al_error *err)
{
	const struct al_approximation a = {al_view(t->query), al_view(t->key), apply_mixing,
		&t->mixing};

	return al_residual(heads, &a, AL_RESIDUAL_FLOPS, error, is_estimate, err);
}

/* ---- sweeps from one start ---- */

/* Below this part of ||T||^2 the products don't show the residual any more. */
static const double SHOWS = 1e-11, SHOWS_SINGLE = 1e-4;

struct run {
	const struct al_heads *heads;
	const struct al_cp_options *options;
	double norm; /* ||T||^2 */
	bool is_single, is_estimate;
	bool is_stopped; /* by the watch */
	struct al_sweep *sweep;
	struct al_terms *terms; /* the best so far */
	struct al_terms swept;
	double start_error, error;
	size_t n_sweeps;
};

static bool steer(struct run *x, double explained, double *error, struct al_error *err)
{
	const double left = 1 - explained / x->norm;

	if (!isfinite(left))
		return al_fail(err, AL_ESYSTEM, "sweep %zu: the error is not finite", x->n_sweeps);
	*error = sqrt(fmax(left, 0));
	if (left > (x->is_single ? SHOWS_SINGLE : SHOWS))
		return true;
	al_sweep_store(x->sweep, &x->swept);
	return measure(x->heads, &x->swept, error, &x->is_estimate, err);
}

static bool sweep(struct run *x, struct al_error *err)
{
	const struct al_cp_options *o = x->options;
	double before, error = x->start_error, explained;
	bool is_going = true;

	while (is_going && x->n_sweeps < o->n_sweeps) {
		before = error;
		if (!al_sweep_step(x->sweep, &explained, err))
			return al_in(err, "sweep %zu", x->n_sweeps + 1);
		x->n_sweeps++;
		if (!steer(x, explained, &error, err))
			return false;
		x->is_stopped = o->watch && !o->watch(o->context, x->n_sweeps, error);
		is_going = !x->is_stopped && !(fabs(before - error) < o->stop * before);
	}
	return true;
}

static bool keep_start(struct run *x, struct al_error *err)
{
	if (!measure(x->heads, x->terms, &x->start_error, &x->is_estimate, err))
		return false;
	x->error = x->start_error;
	return true;
}

/* What the sweeps reached, if the residual agrees that it is better than the start. */
static bool accept(struct run *x, struct al_error *err)
{
	double error;

	al_sweep_store(x->sweep, &x->swept);
	if (!measure(x->heads, &x->swept, &error, &x->is_estimate, err))
		return false;
	if (error >= x->start_error)
		return keep_start(x, err);
	const struct al_terms better = x->swept;
	x->swept = *x->terms;
	*x->terms = better;
	x->error = error;
	return true;
}

/* Exact but for rounding: sweeps have nothing to add. */
static const double EXACT = 1e-14;

/* The products tell a start's error where they have digits to spare. */
static const double SHOWS_WELL = 1e-4;

static bool measure_start(struct run *x, struct al_error *err)
{
	double explained;

	if (!al_sweep_explain(x->sweep, &explained, err))
		return false;
	const double left = 1 - explained / x->norm;
	x->start_error = x->error = sqrt(fmax(left, 0));
	return left > SHOWS_WELL || keep_start(x, err);
}

static bool sweep_from_start(struct run *x, struct al_error *err)
{
	x->sweep = al_sweep_create(x->heads, x->options->rank, err);
	bool done = x->sweep && al_sweep_load(x->sweep, x->terms, err) && measure_start(x, err)
		&& (x->start_error < EXACT
			|| (al_terms_init(&x->swept, x->heads, x->options->rank, err)
				&& sweep(x, err) && accept(x, err)));
	al_terms_finish(&x->swept);
	al_sweep_destroy(x->sweep);
	return done;
}

static bool improve(struct run *x, struct al_error *err)
{
	return x->options->n_sweeps > 0 ? sweep_from_start(x, err) : keep_start(x, err);
}

static bool start(const struct al_heads *heads, const struct al_cp_options *o,
	enum al_cp_start start, struct al_terms *terms, struct al_error *err)
{
	if (start == AL_CP_GREEDY)
		return al_start_greedy(heads, terms, err);
	if (start == AL_CP_ALGEBRAIC)
		return al_start_algebraic(heads, o->seed, terms, err);
	al_start_random(o->seed, terms);
	return true;
}

/* Replaces what `out` holds where this start leads to less. */
static bool try_start(const struct al_heads *heads, const struct al_cp_options *o, double norm,
	enum al_cp_start which, struct al_cp *out, bool *is_stopped, struct al_error *err)
{
	struct al_terms terms;
	struct run x = {.heads = heads,
		.options = o,
		.norm = norm,
		.is_single = al_heads_shape(heads).is_single,
		.terms = &terms};

	bool done = al_terms_init(&terms, heads, o->rank, err)
		&& start(heads, o, which, &terms, err) && improve(&x, err);
	if (done && (!out->query.data || x.error < out->relative_error)) {
		const struct al_terms worse = {out->query, out->key, out->mixing};
		*out = (struct al_cp){terms.query, terms.key, terms.mixing, x.error, x.is_estimate,
			x.start_error, which, x.n_sweeps};
		terms = worse;
	}
	*is_stopped = x.is_stopped;
	al_terms_finish(&terms);
	return done;
}

/* A layer without an algebraic start has the greedy one. */
static bool try_both(const struct al_heads *heads, const struct al_cp_options *o, double norm,
	struct al_cp *out, struct al_error *err)
{
	struct al_error why = {.status = AL_OK};
	bool is_stopped;

	if (!try_start(heads, o, norm, AL_CP_GREEDY, out, &is_stopped, err))
		return false;
	if (is_stopped || out->start_error < EXACT
		|| try_start(heads, o, norm, AL_CP_ALGEBRAIC, out, &is_stopped, &why)
		|| why.status == AL_ENO)
		return true;
	if (err)
		*err = why;
	return false;
}

/* ---- one form for the answer ---- */

static double column_norm(struct al_matrix m, size_t r)
{
	const struct al_view column = al_columns(al_view(m), r, 1);

	return sqrt(al_inner(column, column));
}

static void scale(struct al_matrix m, size_t r, double by)
{
	for (size_t i = 0; i < m.rows; i++)
		m.data[i + r * m.ld] *= by;
}

/* The sign of the component that is largest in magnitude, the first of those that are equal. */
static double sign(struct al_matrix m, size_t r)
{
	const double *x = m.data + r * m.ld;
	size_t largest = 0;

	for (size_t i = 1; i < m.rows; i++)
		if (fabs(x[i]) > fabs(x[largest]))
			largest = i;
	return x[largest] < 0 ? -1 : 1;
}

/* Returns the norm of the term. */
static double balance(struct al_cp *cp, size_t r)
{
	const double query = column_norm(cp->query, r), key = column_norm(cp->key, r);
	const double mixing = column_norm(cp->mixing, r), term = query * key * mixing;
	const double of_mixing = sign(cp->mixing, r), of_query = sign(cp->query, r);

	if (!(term > 0))
		return 0;
	scale(cp->mixing, r, of_mixing / mixing);
	scale(cp->query, r, of_query * sqrt(term) / query);
	scale(cp->key, r, of_mixing * of_query * sqrt(term) / key);
	return term;
}

struct order {
	double norm;
	size_t r;
};

static int compare(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->norm != y->norm)
		return x->norm < y->norm ? 1 : -1;
	return (x->r > y->r) - (x->r < y->r);
}

static void permute(struct al_matrix from, struct al_matrix to, const struct order *order)
{
	for (size_t r = 0; r < to.cols; r++)
		memcpy(to.data + r * to.ld, from.data + order[r].r * from.ld,
			to.rows * sizeof(double));
}

static bool finish_terms(const struct al_heads *heads, struct al_cp *cp, struct al_error *err)
{
	const size_t n = cp->query.cols;
	struct al_terms sorted = {{0}, {0}, {0}}, old = {cp->query, cp->key, cp->mixing};

	if (!al_terms_init(&sorted, heads, n, err)) {
		al_terms_finish(&sorted);
		return false;
	}
	struct order *order = al_alloc(n, sizeof(*order));
	for (size_t r = 0; r < n; r++)
		order[r] = (struct order){balance(cp, r), r};
	qsort(order, n, sizeof(*order), compare);
	permute(cp->query, sorted.query, order);
	permute(cp->key, sorted.key, order);
	permute(cp->mixing, sorted.mixing, order);
	free(order);
	al_terms_finish(&old);
	cp->query = sorted.query;
	cp->key = sorted.key;
	cp->mixing = sorted.mixing;
	return true;
}

/* ---- all of it ---- */

static bool check_options(const struct al_heads *heads, const struct al_cp_options *o,
	struct al_error *err)
{
	const size_t bound = al_cp_bound(heads);

	if (o->rank < 1 || o->rank > bound)
		return al_fail(err, AL_EINPUT, "rank (%zu): expected 1 to %zu", o->rank, bound);
	if (!(o->stop >= 0))
		return al_fail(err, AL_EINPUT, "stop (%g): expected 0 or more", o->stop);
	return true;
}

static bool decompose(const struct al_heads *heads, const struct al_cp_options *o,
	struct al_cp *out, struct al_error *err)
{
	double norm;
	bool is_stopped;

	if (!al_heads_norm(heads, &norm, err))
		return false;
	if (o->start == AL_CP_AUTO)
		return try_both(heads, o, norm, out, err);
	if (try_start(heads, o, norm, o->start, out, &is_stopped, err))
		return true;
	if (err && err->status == AL_ENO)
		err->status = AL_EINPUT;
	return false;
}

bool al_cp(const struct al_heads *heads, const struct al_cp_options *options, struct al_cp *out,
	struct al_error *err)
{
	*out = (struct al_cp){.n_sweeps = 0};
	if (al_heads_check(heads, err) && check_options(heads, options, err)
		&& decompose(heads, options, out, err) && finish_terms(heads, out, err))
		return true;
	al_cp_finish(out);
	return false;
}

void al_cp_finish(struct al_cp *cp)
{
	al_matrix_finish(&cp->mixing);
	al_matrix_finish(&cp->key);
	al_matrix_finish(&cp->query);
	*cp = (struct al_cp){.n_sweeps = 0};
}

static int compare_numbers(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

bool al_cp_greedy_errors(const struct al_heads *heads, double *errors, struct al_error *err)
{
	const size_t n = al_cp_bound(heads);
	double left = 0;

	if (!al_heads_check(heads, err) || !al_heads_values(heads, errors + 1, err))
		return false;
	/* Smallest first, so that errors[n - i] is what i values leave. */
	qsort(errors + 1, n, sizeof(*errors), compare_numbers);
	for (size_t i = 1; i <= n; i++)
		errors[i] = left += errors[i] * errors[i];
	errors[0] = 0;
	for (size_t i = 0; i < (n + 1) / 2; i++) {
		const double other = errors[i];
		errors[i] = errors[n - i];
		errors[n - i] = other;
	}
	for (size_t i = n + 1; i-- > 0;)
		errors[i] = sqrt(errors[i] / left);
	return true;
}

size_t al_cp_parameters(const struct al_cp *cp)
{
	return cp->query.cols * (cp->query.rows + cp->key.rows + cp->mixing.rows);
}

double al_cp_sweep_flops(const struct al_heads *heads, size_t rank)
{
	const struct al_heads_shape s = al_heads_shape(heads);
	const double r = (double)rank, query = (double)s.d_query, key = (double)s.d_key;
	const double query_width = (double)(s.n_heads * s.d_head);
	const double key_width = (double)(s.n_kv_heads * s.d_head);
	const double rows = query + key + (double)s.n_heads;

	/* Two products a factor; elementwise weighting and M's right-hand side; Gram matrices,
	 * whose halves are equal; two triangular solves a row; three Cholesky factors. */
	return 4 * r * (query * query_width + key * key_width) + 4 * r * query_width + rows * r * r
		+ 2 * rows * r * r + r * r * r;
}
