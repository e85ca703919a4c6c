/* Training a PCA layer across heads as DEACON does. */
#include "deacon/deacon.h"

#include <math.h>

#include "base/random.h"
#include "linalg/hebbian.h"

enum room { PREDICTION, RESIDUAL, CHANGE, OUTPUT_GRADIENT, GRADIENT, N_ROOM };

/* ---- moments ---- */

static const struct al_target_moments *moments_of(const struct al_deacon *d)
{
	return d->source.moments ? d->source.moments : &d->own;
}

/* What makes components of the moments' columns. */
static struct al_view map_of(const struct al_deacon *d)
{
	return al_view(d->source.moments ? d->weights : d->identity);
}

/* After W has changed. */
static bool renew_moments(struct al_deacon *d, struct al_error *err)
{
	const struct al_view weights = al_view(d->weights);

	if (d->source.moments)
		return true;
	al_target_moments_finish(&d->own);
	return al_target_moments_find(&d->own, d->source.outputs, d->principal, &weights,
		d->source.n_targets, err);
}

double al_deacon_unit(const struct al_deacon *d)
{
	return moments_of(d)->squares / 2;
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
			map_of(d), 0, column_of(out, c, width), err);
	return ok;
}

/* Half of E|z - V^T u|^2 = E|z|^2 - 2 V.B + V.AV, and the residual A V - B, its derivative by V. */
static bool measure(struct al_deacon *d, double *loss, struct al_error *err)
{
	const struct al_target_moments *moments = moments_of(d);
	const struct al_view v = al_view(d->room[PREDICTION]), a = al_view(moments->features),
			     b = al_view(moments->cross);
	const struct al_matrix residual = d->room[RESIDUAL];

	if (!expand(d, d->output, d->room[PREDICTION], err) || !al_copy(b, residual, err)
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

	if (!d->source.moments)
		return al_deacon_gradient(d, gradient, err);
	for (size_t c = 0; ok && c < d->output.cols; c++)
		ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1,
			al_view(column_of(d->room[RESIDUAL], c, width)),
			al_view(column_of(d->output, c, width)), c > 0, gradient, err);
	return ok;
}

bool al_deacon_loss(struct al_deacon *d, struct al_matrix gradient, struct al_error *err)
{
	return renew_moments(d, err) && measure(d, &d->loss, err)
		&& differentiate(d, gradient, err);
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
	if (!renew_moments(d, err) || !expand(d, d->output, d->room[PREDICTION], err)
		|| !al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(moments_of(d)->features),
			al_view(d->room[PREDICTION]), 0, d->room[CHANGE], err))
		return false;
	const double squares = al_inner(al_view(d->room[PREDICTION]), al_view(d->room[CHANGE]));
	for (size_t i = 0; squares > 0 && i < d->output.rows * d->output.cols; i++)
		d->output.data[i] *= sqrt(moments_of(d)->squares / squares);
	return true;
}

static bool make_room(struct al_deacon *d, size_t m, struct al_error *err)
{
	const size_t n = d->principal->layer.n_features, width = d->principal->layer.width,
		     columns = d->source.moments ? n : m, targets = d->source.n_targets;
	bool ok = true;

	for (int i = PREDICTION; ok && i <= CHANGE; i++)
		ok = al_matrix_init(&d->room[i], columns * width, targets, err);
	ok = ok && al_matrix_init(&d->room[OUTPUT_GRADIENT], m * width, targets, err)
		&& al_matrix_init(&d->room[GRADIENT], n, m, err)
		&& al_matrix_init(&d->weights, n, m, err)
		&& al_matrix_init(&d->output, m * width, targets, err)
		&& al_matrix_init(&d->identity, m, m, err);
	for (size_t i = 0; ok && i < m; i++)
		d->identity.data[i + i * m] = 1;
	return ok;
}

bool al_deacon_init(struct al_deacon *d, const struct al_deacon_source *source,
	const struct al_principal *principal, size_t m, uint64_t seed, struct al_error *err)
{
	*d = (struct al_deacon){.source = *source, .principal = principal};
	bool ok = make_room(d, m, err) && fill(d, seed, err) && measure(d, &d->loss, err);
	if (!ok)
		al_deacon_finish(d);
	return ok;
}

void al_deacon_finish(struct al_deacon *d)
{
	for (int i = 0; i < N_ROOM; i++)
		al_matrix_finish(&d->room[i]);
	al_matrix_finish(&d->weights);
	al_matrix_finish(&d->output);
	al_matrix_finish(&d->identity);
	al_target_moments_finish(&d->own);
	*d = (struct al_deacon){0};
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
	struct al_matrix direction = {0}, step = {0};
	bool ok = al_matrix_init(&direction, d->weights.rows, d->weights.cols, err)
		&& al_matrix_init(&step, d->weights.rows, d->weights.cols, err)
		&& find_direction(d, o, direction, err)
		&& al_constrained_step(d->room[GRADIENT].data, direction.data, n, o->delta_p, o->xi,
			step.data, constraint, err);

	for (size_t i = 0; ok && i < n; i++)
		d->weights.data[i] += step.data[i];
	al_matrix_finish(&direction);
	al_matrix_finish(&step);
	return ok;
}

/* Down W_O's gradient g, by |g|^2 / (g.Hg): there the loss, a parabola along g, is least. Residual
 * and loss follow without another product of the moments. */
static bool move_output(struct al_deacon *d, struct al_error *err)
{
	const size_t width = d->principal->layer.width, n = d->output.rows * d->output.cols;
	const struct al_matrix g = d->room[OUTPUT_GRADIENT];
	bool ok = true;

	for (size_t c = 0; ok && c < g.cols; c++)
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(column_of(d->room[RESIDUAL], c, width)),
			map_of(d), 0, column_of(g, c, width), err);
	ok = ok && expand(d, g, d->room[PREDICTION], err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(moments_of(d)->features),
			al_view(d->room[PREDICTION]), 0, d->room[CHANGE], err);
	if (!ok)
		return false;
	const double bend = al_inner(al_view(d->room[PREDICTION]), al_view(d->room[CHANGE])),
		     slope = al_inner(al_view(g), al_view(g)), rate = bend > 0 ? slope / bend : 0;
	for (size_t i = 0; i < n; i++)
		d->output.data[i] -= rate * g.data[i];
	for (size_t i = 0; i < d->room[RESIDUAL].rows * d->room[RESIDUAL].cols; i++)
		d->room[RESIDUAL].data[i] -= rate * d->room[CHANGE].data[i];
	d->loss -= rate * slope / 2;
	return true;
}

static void see_parabola(struct al_deacon_step *step, double delta_p)
{
	step->curvature = step->loss_between - step->loss_before - step->constraint.decrease;
	step->falls_below = step->curvature > 0
		? delta_p * -step->constraint.decrease / step->curvature
		: INFINITY;
}

bool al_deacon_step(struct al_deacon *d, const struct al_deacon_options *o,
	struct al_deacon_step *step, struct al_error *err)
{
	step->loss_before = d->loss;
	if (!differentiate(d, d->room[GRADIENT], err) || !move_weights(d, o, &step->constraint, err)
		|| !renew_moments(d, err) || !measure(d, &d->loss, err))
		return false;
	step->loss_between = d->loss;
	see_parabola(step, o->delta_p);
	if (!move_output(d, err))
		return false;
	step->loss_after = d->loss;
	return true;
}
