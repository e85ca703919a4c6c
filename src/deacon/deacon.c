/* Training a PCA layer across heads as DEACON does. */
#include "deacon/deacon.h"

#include "base/random.h"
#include "linalg/hebbian.h"

double al_deacon_unit(const struct al_deacon *d)
{
	return d->moments->squares / 2;
}

/* ---- V = (W (x) I) W_O, and back ---- */

static struct al_matrix column_of(struct al_matrix m, size_t column, size_t width)
{
	return (struct al_matrix){m.data + column * m.ld, width, m.rows / width, width};
}

/* The map [n_features*width][n_targets] from features to the prediction. */
static bool expand(const struct al_deacon *d, struct al_matrix output, struct al_matrix out,
	struct al_error *err)
{
	const size_t width = d->principal->layer.width;
	bool ok = true;

	for (size_t c = 0; ok && c < out.cols; c++)
		ok = al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(column_of(output, c, width)),
			al_view(d->weights), 0, column_of(out, c, width), err);
	return ok;
}

/* Half of E|z - V^T u|^2 = E|z|^2 - 2 V.B + V.AV, and the residual A V - B, its derivative by V. */
static bool measure(struct al_deacon *d, double *loss, struct al_error *err)
{
	const struct al_target_moments *moments = d->moments;
	const struct al_view v = al_view(d->prediction), a = al_view(moments->features),
			     b = al_view(moments->cross);
	const struct al_matrix residual = d->residual;

	if (!expand(d, d->output, d->prediction, err) || !al_copy(b, residual, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, a, v, -1, residual, err))
		return false;
	*loss = (moments->squares - al_inner(v, b) + al_inner(v, al_view(residual))) / 2;
	return isfinite(*loss) || al_fail(err, AL_EINPUT, "the loss isn't finite");
}

/* sum over dimensions and targets of the residual times W_O. */
static bool differentiate(const struct al_deacon *d, struct al_matrix gradient,
	struct al_error *err)
{
	const size_t width = d->principal->layer.width;
	bool ok = true;

	for (size_t c = 0; ok && c < d->output.cols; c++)
		ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(column_of(d->residual, c, width)),
			al_view(column_of(d->output, c, width)), c > 0, gradient, err);
	return ok;
}

bool al_deacon_loss(struct al_deacon *d, struct al_matrix gradient, struct al_error *err)
{
	return measure(d, &d->loss, err) && differentiate(d, gradient, err);
}

/* ---- beginning ---- */

void al_hebbian_start(struct al_matrix weights, uint64_t seed)
{
	struct al_random *random = al_random_create(seed, 0, 0, 0);

	al_random_gaussian(random, weights.data, weights.rows * weights.cols);
	al_random_destroy(random);
	for (size_t c = 0; c < weights.cols; c++) {
		const struct al_view column = al_columns(al_view(weights), c, 1);
		const double length = sqrt(al_inner(column, column));
		for (size_t i = 0; i < weights.rows; i++)
			weights.data[i + c * weights.ld] /= length;
	}
}

double al_hebbian_default_rate(const struct al_principal *principal)
{
	return 0.5 / principal->values[0];
}

/* Random weights whose predictions vary as much as the target. */
static bool fill(struct al_deacon *d, uint64_t seed, struct al_error *err)
{
	struct al_random *random = al_random_create(seed, 0, 0, 1);

	al_random_gaussian(random, d->output.data, d->output.rows * d->output.cols);
	al_random_destroy(random);
	al_hebbian_start(d->weights, seed);
	if (!expand(d, d->output, d->prediction, err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(d->moments->features),
			al_view(d->prediction), 0, d->change, err))
		return false;
	const double squares = al_inner(al_view(d->prediction), al_view(d->change));
	for (size_t i = 0; squares > 0 && i < d->output.rows * d->output.cols; i++)
		d->output.data[i] *= sqrt(d->moments->squares / squares);
	return true;
}

static bool make_room(struct al_deacon *d, size_t m, struct al_error *err)
{
	const size_t n = d->principal->layer.n_features, width = d->principal->layer.width,
		     targets = d->moments->n_targets;
	struct al_scratch *s = &d->scratch;

	return al_take(s, &d->prediction, n * width, targets, err)
		&& al_take(s, &d->residual, n * width, targets, err)
		&& al_take(s, &d->change, n * width, targets, err)
		&& al_take(s, &d->output_gradient, m * width, targets, err)
		&& al_take(s, &d->gradient, n, m, err) && al_take(s, &d->weights, n, m, err)
		&& al_take(s, &d->output, m * width, targets, err);
}

bool al_deacon_init(struct al_deacon *d, const struct al_target_moments *moments,
	const struct al_principal *principal, size_t m, uint64_t seed, struct al_error *err)
{
	*d = (struct al_deacon){.moments = moments, .principal = principal};
	bool ok = make_room(d, m, err) && fill(d, seed, err) && measure(d, &d->loss, err);
	if (!ok)
		al_deacon_finish(d);
	return ok;
}

void al_deacon_finish(struct al_deacon *d)
{
	al_scratch_finish(&d->scratch);
}

/* ---- a step ---- */

/* The sum of so many steps of Sanger's rule. */
static bool find_direction(struct al_deacon *d, const struct al_deacon_options *o,
	struct al_matrix out, struct al_error *err)
{
	const struct al_view covariance = al_view(d->principal->covariance);

	if (o->n_inner <= 1)
		return al_hebbian_direction(covariance, al_view(d->weights), out, err);
	if (!al_copy(al_view(d->weights), out, err))
		return false;
	if (!al_hebbian_batch(covariance, o->rate, 0, o->n_inner, out, err))
		return al_in(err, "the inner loop, from weights of norm %.3g",
			sqrt(al_inner(al_view(d->weights), al_view(d->weights))));
	for (size_t i = 0; i < out.rows * out.cols; i++)
		out.data[i] -= d->weights.data[i];
	return true;
}

static bool move_weights(struct al_deacon *d, const struct al_deacon_options *o,
	struct al_constrained *constraint, struct al_error *err)
{
	const size_t n = d->weights.rows * d->weights.cols;
	struct al_matrix direction, step;
	AL_SCRATCH(scratch);

	if (!al_take(&scratch, &direction, d->weights.rows, d->weights.cols, err)
		|| !al_take(&scratch, &step, d->weights.rows, d->weights.cols, err)
		|| !find_direction(d, o, direction, err)
		|| !al_constrained_step(d->gradient.data, direction.data, n, o->delta_p, o->xi,
			step.data, constraint, err))
		return false;
	for (size_t i = 0; i < n; i++)
		d->weights.data[i] += step.data[i];
	return true;
}

/* Down W_O's gradient g, by |g|^2 / (g.Hg): there the loss, a parabola along g, is least. Residual
 * and loss follow without another product of the moments. */
static bool move_output(struct al_deacon *d, struct al_error *err)
{
	const size_t width = d->principal->layer.width, n = d->output.rows * d->output.cols;
	const struct al_matrix g = d->output_gradient;
	bool ok = true;

	for (size_t c = 0; ok && c < g.cols; c++)
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(column_of(d->residual, c, width)),
			al_view(d->weights), 0, column_of(g, c, width), err);
	ok = ok && expand(d, g, d->prediction, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(d->moments->features),
			al_view(d->prediction), 0, d->change, err);
	if (!ok)
		return false;
	const double bend = al_inner(al_view(d->prediction), al_view(d->change)),
		     slope = al_inner(al_view(g), al_view(g)), rate = bend > 0 ? slope / bend : 0;
	for (size_t i = 0; i < n; i++)
		d->output.data[i] -= rate * g.data[i];
	for (size_t i = 0; i < d->residual.rows * d->residual.cols; i++)
		d->residual.data[i] -= rate * d->change.data[i];
	d->loss -= rate * slope / 2;
	return true;
}

bool al_deacon_step(struct al_deacon *d, const struct al_deacon_options *o,
	struct al_deacon_step *step, struct al_error *err)
{
	step->loss_before = d->loss;
	if (!differentiate(d, d->gradient, err) || !move_weights(d, o, &step->constraint, err)
		|| !measure(d, &d->loss, err))
		return false;
	step->loss_between = d->loss;
	step->curvature = step->loss_between - step->loss_before - step->constraint.decrease;
	step->falls_below = step->curvature > 0
		? o->delta_p * -step->constraint.decrease / step->curvature
		: INFINITY;
	if (!move_output(d, err))
		return false;
	step->loss_after = d->loss;
	return true;
}
