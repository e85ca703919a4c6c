/* Learning the principal components of heads' outputs by a Hebbian rule. */
#include "pca/hebbian_training.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"

enum { ONLINE_BLOCK = 64 };

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

/* ---- the schedule ---- */

/* Learning under way. */
struct learner {
	const struct al_principal *principal;
	const struct al_hebbian_options *options;
	struct al_matrix weights;
	size_t step, next_watched;
	double *features, *room, *pattern; /* of one token; [n_features] twice */
};

static double rate_at(const struct al_hebbian_options *o, size_t step)
{
	return o->halve_after > 0 ? o->rate / (1 + (double)step / o->halve_after) : o->rate;
}

/* 1, 2, 5, 10, 20, 50 ... */
static size_t after(size_t step)
{
	size_t ten = 1;

	while (ten * 10 <= step)
		ten *= 10;
	return step < 2 * ten ? 2 * ten : step < 5 * ten ? 5 * ten : 10 * ten;
}

static bool watch(struct learner *l, struct al_error *err)
{
	const struct al_hebbian_options *o = l->options;

	if (o->show)
		o->show(o->context, l->step);
	if (l->step < l->next_watched && l->step != o->n_steps)
		return true;
	while (l->next_watched <= l->step)
		l->next_watched = l->next_watched ? after(l->next_watched) : 1;
	return o->watch(o->context, l->step, rate_at(o, l->step), al_view(l->weights), err);
}

/* ---- all tokens at once ---- */

static bool learn_whole(struct learner *l, struct al_error *err)
{
	const struct al_hebbian_options *o = l->options;

	for (; l->step < o->n_steps; l->step++)
		if (!watch(l, err)
			|| !al_hebbian_batch(o->rule, al_view(l->principal->covariance),
				rate_at(o, l->step), l->step, 1, l->weights, err))
			return false;
	return watch(l, err);
}

/* ---- token by token, batch by batch ---- */

static bool learn_patterns(struct learner *l, const double *row, struct al_error *err)
{
	const struct al_pca_layer *layer = &l->principal->layer;
	const double rate = rate_at(l->options, l->step);

	if (!watch(l, err))
		return false;
	al_pca_features(layer, row, l->features);
	for (size_t j = 0; j < layer->width; j++) {
		for (size_t k = 0; k < layer->n_features; k++)
			l->pattern[k] = l->features[k * layer->width + j];
		al_hebbian_pattern(l->options->rule, l->pattern, rate, l->weights, l->room);
	}
	l->step++;
	return al_hebbian_check(l->options->rule, al_view(l->weights), rate, l->step, err);
}

/* E x x^T over the patterns of a batch. */
static bool find_covariance(const struct learner *l, const double *rows, size_t n,
	struct al_matrix out, struct al_error *err)
{
	const struct al_pca_layer *layer = &l->principal->layer;
	const size_t each = layer->n_features * layer->width, patterns = n * layer->width;
	struct al_matrix u;

	if (!al_matrix_init(&u, patterns, layer->n_features, err))
		return false;
	for (size_t t = 0; t < n; t++) {
		al_pca_features(layer, rows + t * layer->n_heads * layer->d_head, l->features);
		for (size_t k = 0; k < each; k++)
			u.data[t * layer->width + k % layer->width + k / layer->width * u.ld] =
				l->features[k];
	}
	bool ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1 / (double)patterns, al_view(u), al_view(u), 0,
		out, err);
	al_matrix_finish(&u);
	return ok;
}

static bool learn_batch(struct learner *l, const double *rows, size_t n, struct al_error *err)
{
	const struct al_hebbian_options *o = l->options;
	const size_t features = l->principal->layer.n_features;
	struct al_matrix covariance;

	if (!watch(l, err) || !al_matrix_init(&covariance, features, features, err))
		return false;
	bool ok = find_covariance(l, rows, n, covariance, err)
		&& al_hebbian_batch(o->rule, al_view(covariance), rate_at(o, l->step), l->step,
			o->n_inner, l->weights, err);
	l->step += n;
	al_matrix_finish(&covariance);
	return ok;
}

static bool learn(const void *context, const double *rows, size_t n, double *sums,
	struct al_error *err)
{
	struct learner *l = *(struct learner *const *)context;
	const size_t left = l->options->n_steps - l->step,
		     width = l->principal->layer.n_heads * l->principal->layer.d_head;
	bool ok = true;

	(void)sums;
	n = n < left ? n : left;
	if (n && !l->options->is_online)
		return learn_batch(l, rows, n, err);
	for (size_t t = 0; ok && t < n; t++)
		ok = learn_patterns(l, rows + t * width, err);
	return ok;
}

static bool learn_in_order(struct learner *l, const struct al_head_outputs *outputs,
	struct al_error *err)
{
	const struct al_pca_layer *layer = &l->principal->layer;
	const struct al_statistic statistic = {.width = layer->n_heads * layer->d_head,
		.n_sums = 1,
		.block_rows = l->options->is_online ? ONLINE_BLOCK : l->options->batch_tokens,
		.add = learn,
		.context = &l,
		.is_in_order = true};
	bool ok = true;

	while (ok && l->step < l->options->n_steps) {
		struct al_sums sums;
		ok = al_sums_init(&sums, &statistic, err)
			&& outputs->feed(outputs->context, &sums, err);
		al_sums_finish(&sums);
	}
	return ok && watch(l, err);
}

bool al_hebbian_train(const struct al_principal *p, const struct al_head_outputs *outputs,
	const struct al_hebbian_options *options, struct al_matrix weights, struct al_error *err)
{
	const size_t n = p->layer.n_features;
	struct learner learner = {.principal = p,
		.options = options,
		.weights = weights,
		.features = al_alloc(n * p->layer.width, sizeof(double)),
		.room = al_alloc(n, sizeof(double)),
		.pattern = al_alloc(n, sizeof(double))};
	bool ok = options->is_online || options->batch_tokens
		? learn_in_order(&learner, outputs, err)
		: learn_whole(&learner, err);

	free(learner.features);
	free(learner.room);
	free(learner.pattern);
	return ok;
}
