/* What errors are weighed by: nothing, the norm before, or what a calibration recorded. */
#include "compress/work.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "formats/finite.h"

const char *const al_measure_names[AL_N_MEASURES] = {"auto", "weights", "gain", "diagonal",
	"inputs", "centred", "weighed", "outputs"};

static enum al_weighting best(const struct al_work *w)
{
	if (!w->statistics)
		return AL_MEASURE_WEIGHTS;
	if (!al_method_touches_all(w->layout->method))
		return AL_MEASURE_CENTRED;
	if (al_method_drops(w->layout->method))
		return AL_MEASURE_OUTPUTS;
	if (w->layout->method == AL_METHOD_OV)
		return w->n_kv == (size_t)w->a->n_heads ? AL_MEASURE_OUTPUTS : AL_MEASURE_INPUTS;
	if (w->layout->of_keys && w->layout->method == AL_METHOD_LATENT)
		return w->a->is_rotary ? AL_MEASURE_INPUTS : AL_MEASURE_CENTRED;
	return AL_MEASURE_WEIGHED;
}

bool al_measure_choose(struct al_work *w, enum al_weighting wanted, struct al_error *err)
{
	w->measure = wanted == AL_MEASURE_AUTO ? best(w) : wanted;
	return w->measure < AL_MEASURE_DIAGONAL || w->statistics
		|| al_fail(err, AL_EINPUT, "--measure %s needs --calibration DIR",
			al_measure_names[w->measure]);
}

/* Rows times numbers, in place. */
static void scale_rows(struct al_matrix m, const double *by)
{
	for (size_t j = 0; j < m.cols; j++)
		for (size_t i = 0; i < m.rows; i++)
			m.data[i + j * m.ld] *= by[i];
}

static bool read_gain(const struct al_work *w, double *out, size_t n, struct al_error *err)
{
	const struct al_tensor *norm = w->a->norm;

	if (!norm || norm->n_elements != (int64_t)n)
		return al_fail(err, AL_EINPUT, "no norm stands before it whose gain is known");
	if (!al_tensor_read_finite(w->view->checkpoint, norm, out, err))
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] += w->a->has_unit_offset;
	return true;
}

static bool check_width(struct al_matrix sums, size_t n, struct al_error *err)
{
	return sums.rows == n + 1
		|| al_fail(err, AL_EINPUT, "the calibration's inputs are %zu wide, expected %zu",
			sums.rows - 1, n);
}

static bool take_roots(const struct al_work *w, double *out, size_t n, struct al_error *err)
{
	const struct al_matrix sums = w->statistics->of[AL_STATISTIC_INPUTS];

	if (!check_width(sums, n, err))
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = sqrt(sums.data[i + i * sums.ld] / al_statistics_tokens(w->statistics));
	return true;
}

/* The roots of a measure that weighs each number of an input by itself. */
static bool find_roots(const struct al_work *w, double *out, size_t n, struct al_error *err)
{
	if (w->measure == AL_MEASURE_GAIN)
		return read_gain(w, out, n, err);
	if (w->measure == AL_MEASURE_DIAGONAL)
		return take_roots(w, out, n, err);
	for (size_t i = 0; i < n; i++)
		out[i] = 1;
	return true;
}

/* G = W^T W of rows scaled by the measure's diagonal root. */
static bool gram_by_rows(const struct al_work *w, struct al_view weights, struct al_matrix out,
	struct al_error *err)
{
	AL_OWNED struct al_matrix scaled = {0};
	double *roots = al_calloc(weights.rows, sizeof(*roots));
	bool ok = al_matrix_init(&scaled, weights.rows, weights.cols, err)
		&& al_copy(weights, scaled, err) && find_roots(w, roots, weights.rows, err);

	if (ok && w->measure != AL_MEASURE_WEIGHTS)
		scale_rows(scaled, roots);
	ok = ok && al_gram(AL_TRANSPOSED, al_view(scaled), out, err);
	free(roots);
	return ok;
}

/* C, or C less m^T m, of the means m. */
static bool take_moment(const struct al_work *w, size_t n, struct al_matrix *out,
	struct al_error *err)
{
	const struct al_matrix sums = w->statistics->of[AL_STATISTIC_INPUTS];
	const double tokens = al_statistics_tokens(w->statistics);
	const double *means = sums.data + n * sums.ld;

	if (!check_width(sums, n, err) || !al_matrix_init(out, n, n, err))
		return false;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < n; i++)
			out->data[i + j * out->ld] = sums.data[i + j * sums.ld] / tokens
				- (w->measure == AL_MEASURE_CENTRED
						? means[i] / tokens * means[j] / tokens
						: 0);
	return true;
}

bool al_work_moment(const struct al_work *w, size_t n, struct al_matrix *out, struct al_error *err)
{
	if (w->measure >= AL_MEASURE_INPUTS)
		return take_moment(w, n, out, err);
	double *roots = al_calloc(n, sizeof(*roots));
	bool ok = find_roots(w, roots, n, err) && al_matrix_init(out, n, n, err);
	for (size_t i = 0; ok && i < n; i++)
		out->data[i + i * out->ld] = roots[i] * roots[i];
	free(roots);
	return ok;
}

static bool gram_by_moment(const struct al_work *w, struct al_view weights, struct al_matrix out,
	struct al_error *err)
{
	AL_OWNED struct al_matrix moment = {0}, product = {0};

	return take_moment(w, weights.rows, &moment, err)
		&& al_matrix_init(&product, weights.rows, weights.cols, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(moment), weights, 0, product, err)
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, weights, al_view(product), 0, out, err);
}

bool al_work_gram(struct al_work *w, enum al_projection p, struct al_error *err)
{
	const struct al_view weights = al_view(w->weights[p]);

	if (!al_matrix_init(&w->gram, weights.cols, weights.cols, err))
		return false;
	if (w->measure == AL_MEASURE_OUTPUTS) {
		const struct al_matrix moment = w->statistics->of[AL_STATISTIC_HEADS];
		return moment.rows == weights.cols
			? al_copy(al_view(moment), w->gram, err)
			: al_fail(err, AL_EINPUT,
				"%zu outputs of heads were recorded for %zu values: take --measure "
				"inputs",
				moment.rows, weights.cols);
	}
	return w->measure >= AL_MEASURE_INPUTS ? gram_by_moment(w, weights, w->gram, err)
					       : gram_by_rows(w, weights, w->gram, err);
}
