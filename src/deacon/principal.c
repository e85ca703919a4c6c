/* Exact principal components of the heads' outputs. */
#include "deacon/principal.h"

#include <float.h>

#include "deacon/gram.h"
#include "deacon/within.h"

/* Sums in single precision, as models make their heads' outputs, are good to a few of its last
 * places. */
static const double ROUNDING = 4 * FLT_EPSILON;

/* ---- batch normalization ---- */

static void set_norm(struct al_principal *p, size_t feature, double shift, double mean,
	double variance, double epsilon)
{
	const double rounded = p->rounding * (shift + mean);
	const bool is_constant = !(variance > rounded * rounded);

	p->layer.mean[feature] = shift + mean;
	p->layer.scale[feature] = is_constant ? 0 : 1 / sqrt(variance + epsilon);
	p->n_constant += is_constant;
}

static bool check_tokens(const struct al_principal *p, struct al_error *err)
{
	return p->n_tokens > (int64_t)p->layer.n_features
		|| al_fail(err, AL_EINPUT,
			"found only %lld tokens with finite numbers; need more than the %zu "
			"features",
			(long long)p->n_tokens, p->layer.n_features);
}

static bool take_counts(struct al_principal *p, const struct al_sums *sums, struct al_error *err)
{
	p->n_tokens = sums->n_rows;
	p->n_left_out = sums->n_left_out;
	if (!check_tokens(p, err))
		return false;
	for (size_t i = 0; i < sums->statistic->n_sums; i++)
		if (!isfinite(sums->sums[i]))
			return al_fail(err, AL_EINPUT,
				"the numbers are too large: their squares overflow");
	return true;
}

static bool sum_up(struct al_principal *p, const struct al_statistic *statistic,
	const struct al_rows rows[2], struct al_sums *sums, struct al_error *err)
{
	return al_sums_find(sums, statistic, rows, err) && take_counts(p, sums, err);
}

/* ---- direct, and the statistics of average ---- */

static void normalize_heads(struct al_principal *p, const struct al_within *w, const double *sums,
	double epsilon)
{
	const double n = (double)p->n_tokens;

	for (size_t i = 0; i < w->n_heads; i++)
		for (size_t j = 0; j < w->d_head; j++) {
			const double mean = al_within_sum(w, sums, i, j) / n,
				     square = al_within_product(w, sums, i, i, j) / n;
			set_norm(p, i * w->d_head + j, w->shift[i * w->d_head + j], mean,
				square - mean * mean, epsilon);
		}
}

/* The rows of M_r are a head's numbers in one dimension: their covariance is the mean over
 * dimensions of the heads' correlation matrices. */
static double correlation(const struct al_principal *p, const struct al_within *w,
	const double *sums, size_t i, size_t k)
{
	const double n = (double)p->n_tokens, *scale = p->layer.scale;
	const size_t d = w->d_head;
	double sum = 0;

	for (size_t j = 0; j < d; j++)
		sum += (al_within_product(w, sums, i, k, j) / n
			       - al_within_sum(w, sums, i, j) / n * al_within_sum(w, sums, k, j)
				       / n)
			* scale[i * d + j] * scale[k * d + j];
	return sum / (double)d;
}

static bool find_within(struct al_principal *p, const struct al_rows rows[2], const double *shift,
	const struct al_pca_options *o, struct al_error *err)
{
	const struct al_within w = {o->n_heads, o->d_head, shift};
	const struct al_statistic statistic = al_within_statistic(&w);
	AL_ENDS(al_sums_finish) struct al_sums sums = {0};

	if (!sum_up(p, &statistic, rows, &sums, err))
		return false;
	normalize_heads(p, &w, sums.sums, o->epsilon);
	for (size_t k = 0; k < w.n_heads && o->architecture == AL_DIRECT; k++)
		for (size_t i = 0; i < w.n_heads; i++)
			p->covariance.data[i + k * p->covariance.ld] = correlation(p, &w, sums.sums,
				i, k);
	return true;
}

/* ---- average and non-linear: from rows that are made ---- */

struct expansion {
	const struct al_pca_layer *layer;
	const double *shift; /* [n_features] */
};

static void expand_shifted(const void *context, const double *row, double *out)
{
	const struct expansion *e = context;
	const size_t n = e->layer->n_features;

	al_pca_expand(e->layer, row, out);
	for (size_t j = 0; j < e->layer->d_head; j++)
		for (size_t k = 0; k < n; k++)
			out[j * n + k] -= e->shift[k];
}

/* Averages of normalized numbers have mean zero. */
static bool find_averages(struct al_principal *p, const struct al_rows rows[2],
	const struct al_pca_options *o, struct al_error *err)
{
	const struct al_gram_sums gram = {.n_columns = o->n_heads,
		.rows_each = 1,
		.make = al_pca_features,
		.context = &p->layer,
		.row_width = o->n_heads * o->d_head};
	const struct al_statistic statistic = al_gram_statistic(&gram);
	AL_ENDS(al_sums_finish) struct al_sums sums = {0};

	if (!sum_up(p, &statistic, rows, &sums, err))
		return false;
	for (size_t i = 0; i < o->n_heads * o->n_heads; i++)
		p->covariance.data[i] = al_gram_parts(&gram, sums.sums).products[i]
			/ (double)p->n_tokens;
	return true;
}

static void normalize_expansion(struct al_principal *p, const struct al_gram_sums *gram,
	double *sums, const double *shift, double epsilon)
{
	const size_t n = p->layer.n_features;
	const double n_rows = (double)p->n_tokens * (double)p->layer.d_head,
		     *products = al_gram_parts(gram, sums).products, *scale = p->layer.scale;

	for (size_t k = 0; k < n; k++) {
		const double mean = sums[k] / n_rows;
		set_norm(p, k, shift[k], mean, products[k + k * n] / n_rows - mean * mean, epsilon);
	}
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < n; i++)
			p->covariance.data[i + k * n] =
				(products[i + k * n] / n_rows - sums[i] / n_rows * sums[k] / n_rows)
				* scale[i] * scale[k];
}

static bool find_expanded(struct al_principal *p, const struct al_rows rows[2], const double *first,
	const struct al_pca_options *o, struct al_error *err)
{
	AL_FREED double *shift = al_alloc(o->d_head, p->layer.n_features * sizeof(*shift));
	const struct expansion expansion = {&p->layer, shift};
	const struct al_gram_sums gram = {.n_columns = p->layer.n_features,
		.rows_each = o->d_head,
		.make = expand_shifted,
		.context = &expansion,
		.row_width = o->n_heads * o->d_head};
	const struct al_statistic statistic = al_gram_statistic(&gram);
	AL_ENDS(al_sums_finish) struct al_sums sums = {0};

	al_pca_expand(&p->layer, first, shift);
	if (!sum_up(p, &statistic, rows, &sums, err))
		return false;
	normalize_expansion(p, &gram, sums.sums, shift, o->epsilon);
	return true;
}

/* ---- all ---- */

static bool find_covariance(struct al_principal *p, const struct al_rows rows[2],
	const double *first, const struct al_pca_options *o, struct al_error *err)
{
	switch (o->architecture) {
	case AL_NONLINEAR:
		return find_expanded(p, rows, first, o, err);
	case AL_AVERAGE:
		return find_within(p, rows, first, o, err) && find_averages(p, rows, o, err);
	default:
		return find_within(p, rows, first, o, err);
	}
}

static bool find_components(struct al_principal *p, struct al_error *err)
{
	if (!al_copy(al_view(p->covariance), p->vectors, err)
		|| !al_eigenvectors(p->vectors, p->values, err))
		return false;
	for (size_t i = 0; i < p->layer.n_features; i++) {
		p->values[i] = al_most(p->values[i], 0);
		p->sum += p->values[i];
	}
	return p->sum > 0
		|| al_fail(err, AL_EINPUT, "all %zu features are constant", p->layer.n_norm);
}

static bool begin(struct al_principal *p, const struct al_pca_options *o, double rounding,
	struct al_error *err)
{
	*p = (struct al_principal){.rounding = rounding};
	if (!al_pca_layer_init(&p->layer, o->architecture, o->n_heads, o->d_head, &p->scratch, err))
		return false;
	const size_t n = p->layer.n_features;
	p->values = al_take_array(&p->scratch, n, sizeof(*p->values), err);
	return p->values && al_take(&p->scratch, &p->covariance, n, n, err)
		&& al_take(&p->scratch, &p->vectors, n, n, err);
}

bool al_principal_find(struct al_principal *out, const struct al_rows rows[2],
	const struct al_pca_options *o, struct al_error *err)
{
	AL_FREED double *first = al_alloc(rows[0].width + rows[1].width, sizeof(*first));
	bool ok = begin(out, o, al_rows_are_single(&rows[0]) ? ROUNDING : 0, err)
		&& al_rows_first(rows, first, err) && find_covariance(out, rows, first, o, err)
		&& find_components(out, err);

	if (!ok)
		al_principal_finish(out);
	return ok;
}

/* ---- of moments ---- */

/* The covariance of number a with number b, both normalized. */
static double normalized(const struct al_principal *p, const struct al_head_moments *m, size_t a,
	size_t b)
{
	return (m->products.data[a + b * m->products.ld] / (double)m->n_tokens
		       - p->layer.mean[a] * p->layer.mean[b])
		* p->layer.scale[a] * p->layer.scale[b];
}

/* For heads i and k: the mean over dimensions, and for averages over all pairs of dimensions. */
static double covariance_of(const struct al_principal *p, const struct al_head_moments *m, size_t i,
	size_t k)
{
	const size_t d = p->layer.d_head;
	double sum = 0;

	if (p->layer.architecture == AL_DIRECT) {
		for (size_t j = 0; j < d; j++)
			sum += normalized(p, m, i * d + j, k * d + j);
		return sum / (double)d;
	}
	for (size_t j = 0; j < d; j++)
		for (size_t l = 0; l < d; l++)
			sum += normalized(p, m, i * d + j, k * d + l);
	return sum / (double)(d * d);
}

/* Below 1e-9 of the square a variance is rounding: what is left of a constant. */
static void take_moments(struct al_principal *p, const struct al_head_moments *m, double epsilon)
{
	const double n = (double)m->n_tokens;

	p->n_tokens = m->n_tokens;
	for (size_t a = 0; a < p->layer.n_norm; a++) {
		const double mean = m->sums[a] / n,
			     square = m->products.data[a + a * m->products.ld] / n,
			     variance = square - mean * mean;
		set_norm(p, a, 0, mean, variance > 1e-9 * square ? variance : 0, epsilon);
	}
	for (size_t k = 0; k < p->layer.n_heads; k++)
		for (size_t i = 0; i < p->layer.n_heads; i++)
			p->covariance.data[i + k * p->covariance.ld] = covariance_of(p, m, i, k);
}

bool al_principal_of_moments(struct al_principal *out, const struct al_head_moments *moments,
	const struct al_pca_options *o, struct al_error *err)
{
	if (o->architecture == AL_NONLINEAR)
		return al_fail(err, AL_EINPUT,
			"second moments don't contain the squares and products that the nonlinear "
			"architecture needs");
	bool ok = begin(out, o, 0, err);
	if (ok) {
		take_moments(out, moments, o->epsilon);
		ok = check_tokens(out, err) && find_components(out, err);
	}
	if (!ok)
		al_principal_finish(out);
	return ok;
}

void al_principal_finish(struct al_principal *p)
{
	al_scratch_finish(&p->scratch);
}

size_t al_principal_count(const struct al_principal *p, double share)
{
	double running = 0;
	size_t count = 0;

	/* A share that is met but for rounding is met. */
	while (count < p->layer.n_features && running < share * p->sum * (1 - 1e-12))
		running += p->values[count++];
	return count;
}

/* Summed from the smallest, so that a tail of 1e-17 isn't lost. */
double al_principal_error(const struct al_principal *p, size_t m)
{
	double dropped = 0;

	for (size_t i = p->layer.n_features; i > m; i--)
		dropped += p->values[i - 1];
	return sqrt(dropped / p->sum);
}
