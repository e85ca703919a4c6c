/* Activations, by the names that configs have for them; and what a softmax is made of. */
#include "model/forward/activation.h"

struct al_activation {
	const char *name;
	void (*of)(float *x, size_t n); /* in place */
	/* up becomes what the gate makes of it; NULL: of(gate) * up */
	void (*gated)(float *gate, float *up, size_t n);
	void (*learned)(const double *numbers, float *x, size_t n); /* in place of `of`, or NULL */
};

/* Both signs are computed in one way: without branches compilers make vectors of the loops. */
AL_LOOP float sigmoid(float x)
{
	const float below = al_exp_below_zero(-fabsf(x));

	return 0.5f + copysignf(0.5f * (1 - below) / (1 + below), x);
}

AL_WIDEST static void silu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= sigmoid(x[i]);
}

AL_WIDEST static void relu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] > 0 ? x[i] : 0;
}

AL_WIDEST static void relu_squared(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= x[i] > 0 ? x[i] : 0;
}

/* The normal distribution's tail below -|z| sqrt(2): exp(-z^2)/2 times t times a polynomial in t =
 * 1/(1 + z/2), the form of Abramowitz and Stegun 1964, 7.1.26; fitted to erfc(z) exp(z^2)/t so that
 * the tail's largest error is least, 1.3e-10 before it is rounded. */
AL_LOOP float tail(float z)
{
	static const float series[] = {0.285173108f, 0.245831024f, 0.431346032f, -0.348067936f,
		0.973878339f, -0.876854056f, 0.339658397f, -0.0509649082f};
	const float t = 1 / (1 + 0.5f * z);
	float sum = 0;

	for (int i = 7; i >= 0; i--)
		sum = sum * t + series[i];
	return 0.5f * t * sum * al_exp_below_zero(-z * z);
}

/* Hendrycks and Gimpel 2016, arXiv:1606.08415: x Phi(x), and two approximations of it; (1 + tanh
 * u)/2 is the sigmoid of 2u. */
AL_WIDEST static void gelu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float inside = 0.5f - tail(fabsf(x[i]) * 0.70710678118654752f);
		x[i] *= 0.5f + copysignf(inside, x[i]);
	}
}

AL_WIDEST static void gelu_tanh(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= sigmoid(1.59576912160573072f * (x[i] + 0.044715f * x[i] * x[i] * x[i]));
}

AL_WIDEST static void quick_gelu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= sigmoid(1.702f * x[i]);
}

/* gpt-oss: both within 7 (the gate's is no lower bound), (up + 1) gate sigmoid(1.702 gate). */
static void clamped_swiglu(float *gate, float *up, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gate[i] = fminf(gate[i], 7);
	quick_gelu(gate, n);
	for (size_t i = 0; i < n; i++)
		up[i] = (fminf(fmaxf(up[i], -7), 7) + 1) * gate[i];
}

double al_softplus(double x)
{
	return x > 20 ? x : log1p(exp(x));
}

/* Huang 2024, arXiv:2411.13010; transformers, activations.py, XIELUActivation: a parabola above 0,
 * an exponential below, both with the slope 1/2 at 0. */
static void xielu(const double *numbers, float *x, size_t n)
{
	const double above = al_softplus(numbers[0]), below = 0.5 + al_softplus(numbers[1]);

	for (size_t i = 0; i < n; i++) {
		const double y = (double)x[i];
		x[i] = (float)(0.5 * y + (y > 0 ? above * y * y : below * (expm1(y) - y)));
	}
}

/* T5 writes "gated-" where there is a gate; its gated GELU is the approximation. */
static const struct al_activation activations[] = {
	{"silu", silu, NULL, NULL},
	{"swish", silu, NULL, NULL},
	{"relu", relu, NULL, NULL},
	{"relu2", relu_squared, NULL, NULL},
	{"gelu", gelu, NULL, NULL},
	{"gelu_python", gelu, NULL, NULL},
	{"gelu_new", gelu_tanh, NULL, NULL},
	{"gelu_fast", gelu_tanh, NULL, NULL},
	{"gelu_pytorch_tanh", gelu_tanh, NULL, NULL},
	{"quick_gelu", quick_gelu, NULL, NULL},
	{"gated-gelu", gelu_tanh, NULL, NULL},
	{"gated-silu", silu, NULL, NULL},
	{"gated-relu", relu, NULL, NULL},
	{"clamped_swiglu", NULL, clamped_swiglu, NULL},
	{"xielu", NULL, NULL, xielu},
};
enum { N_ACTIVATIONS = sizeof(activations) / sizeof(*activations) };

bool al_activation_find(const char *name, const struct al_activation **out, struct al_error *err)
{
	const char *names[N_ACTIVATIONS];

	for (size_t i = 0; i < N_ACTIVATIONS; i++) {
		names[i] = activations[i].name;
		*out = &activations[i];
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return al_fail_unknown(err, "activation", name, names, N_ACTIVATIONS);
}

bool al_activation_learns(const struct al_activation *activation)
{
	return activation->learned != NULL;
}

void al_activate(const struct al_activation *activation, const double *learned, float *gate,
	float *up, size_t n)
{
	if (gate && activation->gated) {
		activation->gated(gate, up, n);
		return;
	}
	if (activation->learned)
		activation->learned(learned, gate ? gate : up, n);
	else
		activation->of(gate ? gate : up, n);
	for (size_t i = 0; gate && i < n; i++)
		up[i] *= gate[i];
}

/* ---- exponentials of a whole column, its largest number, and entropies ---- */

enum { LANES = 16, LARGEST_LANES = 32, BLOCK = 64 };

/* ---- sums in lanes: one would wait for each addition to end ---- */

AL_LOOP double add_lanes(const double *lanes)
{
	double sum = 0;

	for (size_t i = 0; i < LANES; i++)
		sum += lanes[i];
	return sum;
}

/* ---- exponentials ---- */

/* Scores and their exponentials are at hand; weights may be NULL. */
AL_LOOP void add_block(const float *scores, const float *x, size_t n, double *sums, double *weights)
{
	float products[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			sums[lane] += (double)x[i + lane];
	for (; i < n; i++)
		sums[i % LANES] += (double)x[i];
	if (!weights)
		return;
	for (i = 0; i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			products[lane] += scores[i + lane] * x[i + lane];
	for (; i < n; i++)
		products[i % LANES] += scores[i] * x[i];
	for (size_t lane = 0; lane < LANES; lane++)
		weights[lane] += (double)products[lane];
}

AL_LOOP double exp_all(float *x, size_t n, float most, double *weighed)
{
	double sums[LANES] = {0}, weights[LANES] = {0};
	float scores[BLOCK];

	for (size_t first = 0; first < n; first += BLOCK) {
		const size_t m = n - first < BLOCK ? n - first : BLOCK;
		for (size_t i = 0; i < m; i++)
			scores[i] = x[first + i] - most;
		for (size_t i = 0; i < m; i++)
			x[first + i] = al_exp_below_zero(scores[i]);
		add_block(scores, x + first, m, sums, weighed ? weights : NULL);
	}
	if (weighed)
		*weighed = add_lanes(weights);
	return add_lanes(sums);
}

AL_WIDEST static double exp_plain(float *x, size_t n, float most)
{
	return exp_all(x, n, most, NULL);
}

AL_WIDEST static double exp_weighed(float *x, size_t n, float most, double *weighed)
{
	return exp_all(x, n, most, weighed);
}

double al_exp_all(float *x, size_t n, float most, double *weighed)
{
	return weighed ? exp_weighed(x, n, most, weighed) : exp_plain(x, n, most);
}

/* ---- distances ---- */

/* Blocks are short enough for sums in float. */
AL_LOOP void add_distances(const float *weights, size_t n, float at, double *sums)
{
	float products[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= n; i += LANES, at -= LANES)
		for (int lane = 0; lane < LANES; lane++)
			products[lane] += weights[i + (size_t)lane] * fabsf((float)lane - at);
	for (int lane = 0; i < n; i++, lane++)
		products[lane] += weights[i] * fabsf((float)lane - at);
	for (size_t lane = 0; lane < LANES; lane++)
		sums[lane] += (double)products[lane];
}

AL_WIDEST static double mean_distance(const float *weights, size_t n, double at)
{
	double sums[LANES] = {0};

	for (size_t first = 0; first < n; first += BLOCK)
		add_distances(weights + first, n - first < BLOCK ? n - first : BLOCK,
			(float)(at - (double)first), sums);
	return add_lanes(sums);
}

double al_mean_distance(const float *weights, size_t n, double at)
{
	return mean_distance(weights, n, at);
}

/* ---- the largest number ---- */

AL_WIDEST static float largest(const float *x, size_t n)
{
	float most[LARGEST_LANES], all = x[0];
	size_t i = 0;

	for (size_t k = 0; k < LARGEST_LANES; k++)
		most[k] = x[0];
	for (; i + LARGEST_LANES <= n; i += LARGEST_LANES)
		for (size_t k = 0; k < LARGEST_LANES; k++)
			most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
	for (; i < n; i++)
		all = x[i] > all ? x[i] : all;
	for (size_t k = 0; k < LARGEST_LANES; k++)
		all = most[k] > all ? most[k] : all;
	return all;
}

float al_largest(const float *x, size_t n)
{
	return largest(x, n);
}

AL_WIDEST static void scale(float *x, size_t n, float factor)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= factor;
}

void al_scale(float *x, size_t n, float factor)
{
	scale(x, n, factor);
}

/* ---- inner products ---- */

AL_WIDEST static double inner(const float *x, const float *y, size_t n)
{
	double sums[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++)
			sums[lane] += (double)x[i + lane] * (double)y[i + lane];
	for (; i < n; i++)
		sums[i % LANES] += (double)x[i] * (double)y[i];
	return add_lanes(sums);
}

double al_inner_f(const float *x, const float *y, size_t n)
{
	return inner(x, y, n);
}

/* ---- entropies ---- */

/* log of a number that isn't negative, in a form that compilers make vectors of: x = 2^k m, m from
 * sqrt(1/2) to sqrt(2), and log m = 2 artanh(s), s = (m - 1)/(m + 1), by its series to s^19 (the
 * next term is below 1e-17). Within two units of the last place of double; of 0 it is finite. */
AL_LOOP double log_of(double x)
{
	const uint64_t one = 0x3ff0000000000000, root = 0x3fe6a09e667f3bcd; /* 1 and sqrt(1/2) */
	const uint64_t exponent = 0xfff0000000000000, shift = 0x4330000000000000; /* 2^52 */
	uint64_t bits, power;
	double k, m, sum = 0;

	memcpy(&bits, &x, sizeof(bits));
	power = bits - root + one;
	bits -= (power & exponent) - one;
	power = power >> 52 | shift;
	memcpy(&m, &bits, sizeof(m));
	memcpy(&k, &power, sizeof(k));
	const double s = (m - 1) / (m + 1), squared = s * s;
	for (int i = 19; i > 0; i -= 2)
		sum = sum * squared + 1.0 / i;
	return (k - (0x1p52 + 1023)) * 0.69314718055994531 + 2 * s * sum;
}

AL_WIDEST static double mixed_entropy(const float *p, const float *q, size_t n)
{
	double sums[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (size_t lane = 0; lane < LANES; lane++) {
			const double x = ((double)p[i + lane] + (double)q[i + lane]) / 2;
			sums[lane] -= x * log_of(x);
		}
	for (; i < n; i++) {
		const double x = ((double)p[i] + (double)q[i]) / 2;
		sums[i % LANES] -= x * log_of(x);
	}
	return add_lanes(sums);
}

double al_mixed_entropy(const float *p, const float *q, size_t n)
{
	return mixed_entropy(p, q, n);
}
