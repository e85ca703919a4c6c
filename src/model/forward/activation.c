/* Activations: the names are those of configs. */

#include "model/forward/exponent.h"
#include "model/forward/internal.h"

struct al_activation {
	const char *name;
	void (*of)(float *x, size_t n); /* in place */
	/* up becomes what the gate makes of it; NULL: of(gate) * up */
	void (*gated)(float *gate, float *up, size_t n);
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
		gate[i] = gate[i] < 7 ? gate[i] : 7;
	quick_gelu(gate, n);
	for (size_t i = 0; i < n; i++)
		up[i] = (fminf(fmaxf(up[i], -7), 7) + 1) * gate[i];
}

/* T5 says "gated-" where there is a gate; its gated GELU is the approximation. */
static const struct al_activation activations[] = {
	{"silu", silu, NULL},
	{"swish", silu, NULL},
	{"relu", relu, NULL},
	{"gelu", gelu, NULL},
	{"gelu_python", gelu, NULL},
	{"gelu_new", gelu_tanh, NULL},
	{"gelu_fast", gelu_tanh, NULL},
	{"gelu_pytorch_tanh", gelu_tanh, NULL},
	{"quick_gelu", quick_gelu, NULL},
	{"gated-gelu", gelu_tanh, NULL},
	{"gated-silu", silu, NULL},
	{"gated-relu", relu, NULL},
	{"clamped_swiglu", NULL, clamped_swiglu},
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

void al_activate(const struct al_activation *activation, float *gate, float *up, size_t n)
{
	if (gate && activation->gated) {
		activation->gated(gate, up, n);
		return;
	}
	activation->of(gate ? gate : up, n);
	for (size_t i = 0; gate && i < n; i++)
		up[i] *= gate[i];
}
