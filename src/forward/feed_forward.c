/* Feed-forward blocks: down(activation(gate x) * up x), or down(activation(up x)). */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "forward/exponent.h"
#include "forward/internal.h"

/* ---- activations: the names are those of configs ---- */

struct al_activation {
	const char *name;
	void (*of)(float *x, size_t n); /* in place */
};

/* Both signs are computed in one way: without branches compilers make vectors of the loops. */
static inline float sigmoid(float x)
{
	const float below = al_exp_below_zero(-fabsf(x));

	return 0.5f + copysignf(0.5f * (1 - below) / (1 + below), x);
}

static void silu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= sigmoid(x[i]);
}

static void relu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = x[i] > 0 ? x[i] : 0;
}

/* The normal distribution's tail below -|z| sqrt(2): exp(-z^2)/2 times t times a polynomial in t =
 * 1/(1 + z/2), the form of Abramowitz and Stegun 1964, 7.1.26; fitted to erfc(z) exp(z^2)/t so that
 * the tail's largest error is least, 1.3e-10 before it is rounded. */
static inline float tail(float z)
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
static void gelu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float inside = 0.5f - tail(fabsf(x[i]) * 0.70710678118654752f);
		x[i] *= 0.5f + copysignf(inside, x[i]);
	}
}

static void gelu_tanh(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= sigmoid(1.59576912160573072f * (x[i] + 0.044715f * x[i] * x[i] * x[i]));
}

static void quick_gelu(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= sigmoid(1.702f * x[i]);
}

static const struct al_activation activations[] = {
	{"silu", silu},
	{"swish", silu},
	{"relu", relu},
	{"gelu", gelu},
	{"gelu_python", gelu},
	{"gelu_new", gelu_tanh},
	{"gelu_fast", gelu_tanh},
	{"gelu_pytorch_tanh", gelu_tanh},
	{"quick_gelu", quick_gelu},
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

void al_activate(const struct al_activation *activation, float *x, size_t n)
{
	activation->of(x, n);
}

/* ---- the block ---- */

/* Tokens that pass together: what is wide is d_ff x this many. */
enum { TOKENS_AT_ONCE = 1024 };

/* gate or gate_up: activation(gate) times up; else activation(up), which is `up` itself. */
struct inner {
	const struct al_layer *layer;
	struct al_matrix_f up, gate; /* gate: without data where there is none */
};

static void activate(void *context, size_t first, size_t n)
{
	const struct inner *inner = context;
	const struct al_activation *activation = inner->layer->network->activation;

	for (size_t j = first; j < first + n; j++) {
		float *up = inner->up.data + j * inner->up.ld;
		float *gate = inner->gate.data ? inner->gate.data + j * inner->gate.ld : up;
		al_activate(activation, gate, inner->up.rows);
		for (size_t i = 0; gate != up && i < inner->up.rows; i++)
			up[i] *= gate[i];
	}
}

/* Room for the block's inner state, [rows of both][tokens]. */
static bool init_inner(const struct al_layer *layer, size_t tokens, struct al_matrix_f *both,
	struct inner *inner, struct al_error *err)
{
	const bool is_fused = al_linear_is_there(&layer->gate_up);
	const bool is_gated = is_fused || al_linear_is_there(&layer->gate);
	const size_t d_ff = layer->down.op == AL_PLAIN ? layer->down.weight.cols
						       : layer->down.weight.rows;

	if (!al_matrix_init_f(both, is_gated ? 2 * d_ff : d_ff, tokens, err))
		return false;
	*inner = (struct inner){.layer = layer,
		.up = al_part_f(*both, is_gated ? d_ff : 0, 0, d_ff, tokens)};
	if (is_gated)
		inner->gate = al_part_f(*both, 0, 0, d_ff, tokens);
	return true;
}

static bool run_block(const struct al_layer *layer, struct al_place place, struct al_view_f x,
	struct al_matrix_f out, struct al_error *err)
{
	struct al_matrix_f both;
	struct inner inner;

	if (!init_inner(layer, x.cols, &both, &inner, err))
		return false;
	bool ok = al_linear_is_there(&layer->gate_up)
		? al_linear_apply(&layer->gate_up, place, x, both, err)
		: al_linear_apply(&layer->up, place, x, inner.up, err)
			&& (!inner.gate.data
				|| al_linear_apply(&layer->gate, place, x, inner.gate, err));
	if (ok) {
		al_each_columns(x.cols, activate, &inner);
		ok = al_linear_apply(&layer->down, place, al_view_f(inner.up), out, err);
	}
	al_matrix_finish_f(&both);
	return ok;
}

bool al_feed_forward_apply(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_matrix_f out, struct al_error *err)
{
	bool ok = true;

	for (size_t first = 0; ok && first < x.cols; first += TOKENS_AT_ONCE) {
		const size_t left = x.cols - first;
		const size_t n = left < TOKENS_AT_ONCE ? left : TOKENS_AT_ONCE;
		ok = run_block(layer, (struct al_place){layer->number, batch, first},
			al_columns_f(x, first, n), al_part_f(out, 0, first, out.rows, n), err);
	}
	return ok;
}

bool al_feed_forward_load(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err)
{
	const int64_t d_model = layer->network->d_model;
	const struct al_setting *d_ff;

	if (!al_settings_get(&layer->network->view->settings, "d_ff", &d_ff, err))
		return false;
	if (!d_ff)
		return al_fail(err, AL_EINPUT, "family %s doesn't say d_ff",
			layer->network->view->family->name);
	const int64_t width = d_ff->value.integer;
	return al_linear_read(reading, AL_FORWARD_GATE, width, d_model, &layer->gate, err)
		&& al_linear_read(reading, AL_FORWARD_UP, width, d_model, &layer->up, err)
		&& al_linear_read(reading, AL_FORWARD_GATE_UP, 2 * width, d_model, &layer->gate_up,
			err)
		&& al_linear_read(reading, AL_FORWARD_DOWN, d_model, width, &layer->down, err)
		&& (al_linear_is_there(&layer->down)
			|| al_fail(err, AL_EINPUT, "no feed-forward weights"));
}
