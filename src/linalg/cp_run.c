/* Sweeps from one start: alternating least squares with momentum, steered by the error. */
#include "linalg/cp_run.h"

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

static bool measure(struct al_cp_run *x, const struct al_cp_terms *t, double *error,
	struct al_error *err)
{
	const struct al_approximation a = {al_view(t->query), al_view(t->key), apply_mixing,
		&t->mixing};

	return al_residual(x->heads, x->norm, &a, AL_RESIDUAL_FLOPS, error, &x->is_estimate, err);
}

/* ---- sweeps from one start ---- */

/* Below this part of ||T||^2 the products don't show the residual any more. */
static const double SHOWS = 1e-11, SHOWS_SINGLE = 1e-4;

static bool steer(struct al_cp_run *x, double explained, double *error, struct al_error *err)
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

static bool is_worse(const struct al_cp_run *x, const struct al_swept *swept, double error)
{
	return !(error <= x->swept_error)
		|| (swept->size > MOST_SIZE * x->norm && swept->size > x->size);
}

static bool take_back(struct al_cp_run *x, struct al_error *err)
{
	x->momentum *= MOMENTUM_SHRINKS;
	x->has_momentum = x->has_direction = false;
	return al_sweep_go_back(x->sweep, err);
}

static bool go_on(struct al_cp_run *x, const struct al_swept *swept, double error,
	struct al_error *err)
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

static bool sweep_once(struct al_cp_run *x, struct al_error *err)
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
static bool sweep(struct al_cp_run *x, struct al_error *err)
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

static bool keep_start(struct al_cp_run *x, struct al_error *err)
{
	if (!measure(x, x->terms, &x->start_error, err))
		return false;
	x->error = x->start_error;
	return true;
}

/* What the sweeps reached, if the residual agrees that it is better than the start. */
static bool accept(struct al_cp_run *x, struct al_error *err)
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

/* The products tell a start's error where they have digits to spare. */
static const double SHOWS_WELL = 1e-4;

static bool measure_start(struct al_cp_run *x, struct al_error *err)
{
	double explained;

	if (!al_sweep_explain(x->sweep, &explained, err))
		return false;
	const double left = 1 - explained / x->norm;
	x->start_error = x->error = sqrt(fmax(left, 0));
	return left > SHOWS_WELL || keep_start(x, err);
}

static bool sweep_from_start(struct al_cp_run *x, struct al_error *err)
{
	x->sweep = al_sweep_create(x->heads, x->options->rank, err);
	bool done = x->sweep && al_sweep_load(x->sweep, x->terms, err) && measure_start(x, err)
		&& (x->start_error < AL_CP_EXACT
			|| (al_terms_init(&x->swept, x->heads, x->options->rank, err)
				&& sweep(x, err) && accept(x, err)));
	al_terms_finish(&x->swept);
	al_sweep_destroy(x->sweep);
	x->sweep = NULL;
	return done;
}

bool al_cp_run(struct al_cp_run *x, struct al_error *err)
{
	return x->options->n_sweeps > 0 ? sweep_from_start(x, err) : keep_start(x, err);
}
