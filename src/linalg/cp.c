/* The collaborative decomposition: a start, sweeps, and what they reached by the residual. */
#include "linalg/cp.h"

#include "base/random.h"
#include "linalg/start.h"
#include "linalg/sweep.h"

size_t al_cp_bound(const struct al_heads *heads)
{
	return heads->n_heads * al_head_values(heads);
}

/* ---- sweeps from one start: alternating least squares with momentum, steered by the error ---- */

/* Exact but for rounding: sweeps have nothing to add. */
static const double EXACT = 1e-14;

struct run {
	const struct al_heads *heads;
	const struct al_cp_options *options; /* whose n_sweeps counts those of `n_sweeps` too */
	double norm; /* ||T||^2 */
	bool is_single; /* of the heads */
	struct al_cp_terms *terms; /* the start, then the best */

	/* ---- what came of it ---- */
	double start_error, error;
	bool is_estimate; /* of error */
	size_t n_sweeps;
	bool is_converged;
	bool is_stopped; /* by the watch */

	/* ---- while it runs ---- */
	struct al_sweep *sweep;
	struct al_cp_terms swept;
	double swept_error, size; /* of the last sweep that wasn't taken back */
	double momentum;
	bool has_momentum, has_direction; /* the sweep at hand began further on; the next may */
};

static bool measure(struct run *x, const struct al_cp_terms *t, double *error, struct al_error *err)
{
	return al_terms_residual(x->heads, x->norm, t, AL_RESIDUAL_FLOPS, error, &x->is_estimate,
		err);
}

/* Below this part of ||T||^2 the products don't show the residual any more. */
static const double SHOWS = 1e-11, SHOWS_SINGLE = 1e-4;

static bool steer(struct run *x, double explained, double *error, struct al_error *err)
{
	const double left = 1 - explained / x->norm;

	*error = NAN;
	if (!isfinite(left) && x->has_momentum)
		return true;
	if (!isfinite(left))
		return al_fail(err, AL_ESYSTEM, "sweep %zu: the error is not finite", x->n_sweeps);
	*error = sqrt(fmax(left, 0));
	if (left > (x->is_single ? SHOWS_SINGLE : SHOWS))
		return true;
	return al_sweep_store(x->sweep, &x->swept, err) && measure(x, &x->swept, error, err);
}

/* Momentum: each sweep begins further along the way that the last ones took, further each time that
 * it helps. Where it doesn't, the sweep is taken back and two plain ones follow (Mitchell, Ye & De
 * Sterck 2020, arXiv:1810.05846: restarts by the value of the objective). */
static const double MOMENTUM_FIRST = 0.5, MOMENTUM_MOST = 1.2;
static const double MOMENTUM_GROWS = 1.2, MOMENTUM_SHRINKS = 0.5;

/* A best approximation needn't exist (de Silva & Lim 2008, arXiv:math/0607647): on the way to its
 * limit terms grow without bounds and cancel each other. Momentum doesn't go there: the sum of all
 * squared norms is at most so much of ||T||^2. */
static const double MOST_SIZE = 30;

/* Over so many sweeps a change of the error is averaged. */
enum { WINDOW = 10 };

static bool is_worse(const struct run *x, const struct al_swept *swept, double error)
{
	return !(error <= x->swept_error)
		|| (swept->size > MOST_SIZE * x->norm && swept->size > x->size);
}

static bool take_back(struct run *x, struct al_error *err)
{
	x->momentum *= MOMENTUM_SHRINKS;
	x->has_momentum = x->has_direction = false;
	return al_sweep_go_back(x->sweep, err);
}

static bool go_on(struct run *x, const struct al_swept *swept, double error, struct al_error *err)
{
	const double momentum = x->has_direction ? x->momentum : 0;

	x->swept_error = error;
	x->size = swept->size;
	if (x->has_direction)
		x->momentum = fmin(x->momentum * MOMENTUM_GROWS, MOMENTUM_MOST);
	x->has_momentum = x->has_direction;
	x->has_direction = true;
	return al_sweep_extrapolate(x->sweep, momentum, err);
}

static bool sweep_once(struct run *x, struct al_error *err)
{
	struct al_swept swept;
	double error;

	if (!al_sweep_step(x->sweep, &swept, err))
		return al_in(err, "sweep %zu", x->n_sweeps + 1);
	x->n_sweeps++;
	if (!steer(x, swept.explained, &error, err))
		return false;
	return x->has_momentum && is_worse(x, &swept, error) ? take_back(x, err)
							     : go_on(x, &swept, error, err);
}

/* The answer is what the last sweep that wasn't taken back ended with, not what the next one would
 * begin with. */
static bool sweep(struct run *x, struct al_error *err)
{
	const struct al_cp_options *o = x->options;
	const size_t first = x->n_sweeps;
	double before = x->start_error;

	x->swept_error = x->start_error;
	x->momentum = MOMENTUM_FIRST;
	while (!x->is_stopped && !x->is_converged && x->n_sweeps < o->n_sweeps) {
		if (!sweep_once(x, err))
			return false;
		x->is_stopped = o->watch && !o->watch(o->context, x->n_sweeps, x->swept_error);
		if ((x->n_sweeps - first) % WINDOW > 0)
			continue;
		x->is_converged = o->stop > 0
			&& before - x->swept_error < WINDOW * o->stop * before;
		before = x->swept_error;
	}
	return x->n_sweeps == first || al_sweep_go_back(x->sweep, err);
}

static bool keep_start(struct run *x, struct al_error *err)
{
	if (!measure(x, x->terms, &x->start_error, err))
		return false;
	x->error = x->start_error;
	return true;
}

/* What the sweeps reached, if the residual agrees that it is better than the start. */
static bool accept(struct run *x, struct al_error *err)
{
	double error;

	if (!al_sweep_store(x->sweep, &x->swept, err) || !measure(x, &x->swept, &error, err))
		return false;
	if (error >= x->start_error)
		return keep_start(x, err);
	const struct al_cp_terms better = x->swept;
	x->swept = *x->terms;
	*x->terms = better;
	x->error = error;
	return true;
}

/* The products give a start's error where they have digits to spare. */
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
	x->sweep = NULL;
	return done;
}

static bool run(struct run *x, struct al_error *err)
{
	return x->options->n_sweeps > 0 ? sweep_from_start(x, err) : keep_start(x, err);
}

/* ---- starts ---- */

static void start_random(uint64_t seed, struct al_cp_terms *t)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);

	al_random_gaussian(random, t->query.data, t->query.rows * t->query.cols);
	al_random_gaussian(random, t->key.data, t->key.rows * t->key.cols);
	al_random_gaussian(random, t->mixing.data, t->mixing.rows * t->mixing.cols);
	al_random_destroy(random);
}

/* So likely each term of the best is drawn anew; the others stay. */
static const double RENEWED = 0.3;

static void renew(struct al_matrix from, struct al_matrix to, const bool *is_new,
	struct al_random *random)
{
	const size_t n = to.rows * to.cols;
	const double size = sqrt(al_inner(al_view(from), al_view(from)) / (double)n);

	al_random_gaussian(random, to.data, n);
	for (size_t i = 0; i < n; i++)
		to.data[i] = is_new[i / to.rows] ? size * to.data[i] : from.data[i];
}

static void start_renewed(const struct al_cp *best, uint64_t seed, struct al_cp_terms *t)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);
	AL_FREED bool *is_new = al_alloc(t->query.cols, sizeof(*is_new));

	for (size_t i = 0; i < t->query.cols; i++)
		is_new[i] = al_random_uniform(random) < RENEWED;
	renew(best->query, t->query, is_new, random);
	renew(best->key, t->key, is_new, random);
	renew(best->mixing, t->mixing, is_new, random);
	al_random_destroy(random);
}

/* AL_CP_AUTO: from the best so far. */
static bool start(const struct al_heads *heads, const struct al_cp_options *o,
	enum al_cp_start start, const struct al_cp *best, struct al_cp_terms *terms,
	struct al_error *err)
{
	if (start == AL_CP_AUTO) {
		start_renewed(best, o->seed, terms);
		return true;
	}
	if (start == AL_CP_GREEDY)
		return al_start_greedy(heads, terms, err);
	if (start == AL_CP_ALGEBRAIC)
		return al_start_algebraic(heads, o->seed, terms, err);
	start_random(o->seed, terms);
	return true;
}

/* Replaces what `out` holds where this start leads to less. */
static bool try_start(const struct al_heads *heads, const struct al_cp_options *o, double norm,
	enum al_cp_start which, struct al_cp *out, bool *is_stopped, struct al_error *err)
{
	struct al_cp_terms terms;
	struct run x = {.heads = heads,
		.options = o,
		.norm = norm,
		.is_single = al_heads_shape(heads).is_single,
		.terms = &terms};

	bool done = al_terms_init(&terms, heads, o->rank, err)
		&& start(heads, o, which, out, &terms, err) && run(&x, err);
	if (done && (!out->query.data || x.error < out->relative_error)) {
		const struct al_cp_terms worse = {out->query, out->key, out->mixing};
		*out = (struct al_cp){terms.query, terms.key, terms.mixing, x.error, x.is_estimate,
			x.start_error, which == AL_CP_AUTO ? out->start : which, x.n_sweeps,
			x.is_converged};
		terms = worse;
	}
	*is_stopped = x.is_stopped;
	al_terms_finish(&terms);
	return done;
}

/* A start that is best after so many sweeps stays so. */
enum { TRIAL_SWEEPS = 10 };

/* On from what `out` holds. */
static bool resume(const struct al_heads *heads, const struct al_cp_options *o, double norm,
	struct al_cp *out, struct al_error *err)
{
	struct al_cp_terms terms = {out->query, out->key, out->mixing};
	struct run x = {.heads = heads,
		.options = o,
		.norm = norm,
		.is_single = al_heads_shape(heads).is_single,
		.terms = &terms,
		.n_sweeps = out->n_sweeps};

	bool done = run(&x, err);
	*out = (struct al_cp){terms.query, terms.key, terms.mixing, x.error, x.is_estimate,
		out->start_error, out->start, x.n_sweeps, x.is_converged};
	return done;
}

/* The algebraic start is exact where heads share their dimensions exactly, else mostly worse: after
 * a few sweeps it has to be better than the greedy one after all of them. */
static bool try_algebraic(const struct al_heads *heads, const struct al_cp_options *o, double norm,
	struct al_cp *out, struct al_error *err)
{
	struct al_cp_options trial = *o;
	bool is_stopped;

	trial.n_sweeps = al_least(trial.n_sweeps, TRIAL_SWEEPS);
	return try_start(heads, &trial, norm, AL_CP_ALGEBRAIC, out, &is_stopped, err)
		&& (is_stopped || out->start != AL_CP_ALGEBRAIC || out->is_converged
			|| resume(heads, o, norm, out, err));
}

/* A layer without an algebraic start has the greedy one. */
static bool try_both(const struct al_heads *heads, const struct al_cp_options *o, double norm,
	struct al_cp *out, struct al_error *err)
{
	struct al_error why = {.status = AL_OK};
	bool is_stopped;

	if (!try_start(heads, o, norm, AL_CP_GREEDY, out, &is_stopped, err))
		return false;
	if (is_stopped || out->start_error < EXACT || try_algebraic(heads, o, norm, out, &why)
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

static void permute(struct al_matrix from, struct al_matrix to, const size_t *order)
{
	for (size_t r = 0; r < to.cols; r++)
		memcpy(to.data + r * to.ld, from.data + order[r] * from.ld,
			to.rows * sizeof(double));
}

static bool finish_terms(const struct al_heads *heads, struct al_cp *cp, struct al_error *err)
{
	const size_t n = cp->query.cols;
	struct al_cp_terms sorted = {{0}, {0}, {0}}, old = {cp->query, cp->key, cp->mixing};

	if (!al_terms_init(&sorted, heads, n, err)) {
		al_terms_finish(&sorted);
		return false;
	}
	AL_FREED double *norms = al_alloc(n, sizeof(*norms));
	AL_FREED size_t *order = al_alloc(n, sizeof(*order));
	for (size_t r = 0; r < n; r++)
		norms[r] = balance(cp, r);
	al_sort_order(norms, n, order);
	permute(cp->query, sorted.query, order);
	permute(cp->key, sorted.key, order);
	permute(cp->mixing, sorted.mixing, order);
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

/* Sweeps end in one of many local minima; another, near the best, may be better. */
static bool try_again(const struct al_heads *heads, const struct al_cp_options *o, double norm,
	struct al_cp *out, struct al_error *err)
{
	struct al_cp_options next = *o;
	bool is_stopped = false;

	for (size_t i = 0; i < o->n_restarts && !is_stopped && out->relative_error > AL_CP_SETTLED;
		i++) {
		next.seed++;
		if (!try_start(heads, &next, norm, AL_CP_AUTO, out, &is_stopped, err))
			return false;
	}
	return true;
}

static bool decompose(const struct al_heads *heads, const struct al_cp_options *o, double norm,
	struct al_cp *out, struct al_error *err)
{
	bool is_stopped;

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
	double norm;

	*out = (struct al_cp){.n_sweeps = 0};
	if (al_heads_check(heads, &norm, err) && check_options(heads, options, err)
		&& decompose(heads, options, norm, out, err)
		&& try_again(heads, options, norm, out, err) && finish_terms(heads, out, err))
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

bool al_cp_greedy_errors(const struct al_heads *heads, double *errors, struct al_error *err)
{
	const size_t n = al_cp_bound(heads);
	double norm, left = 0;

	if (!al_heads_check(heads, &norm, err) || !al_heads_values(heads, errors + 1, err))
		return false;
	al_sort_falling(errors + 1, n);
	for (size_t i = n; i > 0; i--) {
		const double value = errors[i];
		errors[i] = left;
		left += value * value;
	}
	errors[0] = left;
	for (size_t i = n + 1; i-- > 0;)
		errors[i] = sqrt(errors[i] / left);
	return true;
}

double al_cp_sweep_flops(const struct al_heads *heads, size_t rank)
{
	const struct al_heads_shape s = al_heads_shape(heads);
	const double r = (double)rank;
	const double query = (double)(s.n_heads * s.d_head);
	const double key = (double)(s.n_kv_heads * s.d_head);
	const double rows = query + key + (double)s.n_heads;

	/* One product with the heads' Gram matrix a factor; weighting and M's right-hand
	 * side; the factors' Gram matrices; two triangular solves a row; three Cholesky factors. */
	return 2 * r * (query * query + key * key) + 4 * r * query + 2 * rows * r * r
		+ 2 * rows * r * r + r * r * r;
}
