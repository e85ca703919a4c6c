/* DEACON's weight update. */
#include "linalg/constrained.h"

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static bool check(double g, double f, double delta_p, double xi, struct al_error *err)
{
	if (!isfinite(g) || !isfinite(f))
		return al_fail(err, AL_EINPUT, "the gradient or the direction isn't finite");
	if (!(delta_p > 0) || !isfinite(delta_p))
		return al_fail(err, AL_EINPUT, "delta_p is %g, expected a positive length",
			delta_p);
	if (!(xi > 0 && xi < 1))
		return al_fail(err, AL_EINPUT,
			"xi is %g, expected 0 to 1: no step of length delta_p lowers the loss by "
			"more than delta_p times the gradient's norm",
			xi);
	if (g == 0)
		return al_fail(err, AL_EINPUT,
			"the gradient is 0: no step lowers the loss to first order");
	return true;
}

/* F less its part along G; |F_perp|^2 = (|F|^2 |G|^2 - (G.F)^2) / |G|^2, without the cancellation
 * of that difference. The step goes delta_q/|G| along G and what is left of delta_p along
 * F_perp. */
bool al_constrained_step(const double *gradient, const double *direction, size_t n, double delta_p,
	double xi, double *step, struct al_constrained *out, struct al_error *err)
{
	const double gg = dot(gradient, gradient, n), ff = dot(direction, direction, n),
		     gf = dot(gradient, direction, n), g = sqrt(gg);

	*out = (struct al_constrained){.delta_q = -xi * delta_p * g};
	if (!check(gg, ff, delta_p, xi, err))
		return false;
	for (size_t i = 0; i < n; i++)
		step[i] = direction[i] - gf / gg * gradient[i];
	const double across = sqrt(dot(step, step, n));
	if (!(across > 1e-12 * sqrt(ff)))
		return al_fail(err, AL_EINPUT, "the direction is %s, so it doesn't select a step",
			ff > 0 ? "parallel to the gradient" : "0");
	const double left = delta_p * sqrt((1 - xi) * (1 + xi));
	out->lambda_2 = across / left / 2;
	out->lambda_1 = (gf - 2 * out->lambda_2 * out->delta_q) / gg;
	for (size_t i = 0; i < n; i++)
		step[i] = left / across * step[i] + out->delta_q / gg * gradient[i];
	out->length = sqrt(dot(step, step, n));
	out->decrease = dot(gradient, step, n);
	return true;
}
