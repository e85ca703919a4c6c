/* What errors are weighted by: nothing, the norm before, or what a calibration recorded. */
#include "compress/work.h"

const char *const al_measure_names[AL_N_WEIGHTINGS] = {"auto", "weights", "gain", "diagonal",
	"inputs", "centered", "weighed", "outputs"};

static enum al_weighting best(const struct al_work *w, enum al_method method)
{
	if (!w->statistics)
		return AL_MEASURE_WEIGHTS;
	if (!al_method_touches_all(method))
		return AL_MEASURE_CENTERED;
	if (al_method_drops(method))
		return AL_MEASURE_OUTPUTS;
	if (method == AL_METHOD_OV)
		return w->n_kv == (size_t)w->a->n_heads ? AL_MEASURE_OUTPUTS : AL_MEASURE_INPUTS;
	if (method == AL_METHOD_LATENT && w->options->of_keys)
		return w->a->is_rotary ? AL_MEASURE_INPUTS : AL_MEASURE_CENTERED;
	return AL_MEASURE_WEIGHED;
}

bool al_measure_choose(struct al_work *w, enum al_method method, struct al_error *err)
{
	const enum al_weighting wanted = w->options->data.measure;

	w->measure = wanted == AL_MEASURE_AUTO ? best(w, method) : wanted;
	return w->measure < AL_MEASURE_DIAGONAL || w->statistics
		|| al_fail(err, AL_EINPUT, "--measure %s needs --calibration DIR",
			al_measure_names[w->measure]);
}

static bool fill_gain(const struct al_work *w, struct al_matrix out, size_t n, struct al_error *err)
{
	const struct al_tensor *norm = w->a->norm;

	if (!norm || norm->n_elements != (int64_t)n)
		return al_fail(err, AL_EINPUT, "no preceding norm with a known gain");
	AL_FREED double *gain = al_calloc(n, sizeof(*gain));
	const bool ok = al_tensor_read_finite(w->view->checkpoint, norm, gain, err);
	for (size_t i = 0; ok && i < n; i++) {
		const double root = gain[i] + w->a->has_unit_offset;
		out.data[i + i * out.ld] = root * root;
	}
	return ok;
}

/* C, its diagonal, or C less m^T m, of the means m; the last of the sums is that of tokens. */
static bool fill_moment(const struct al_work *w, struct al_matrix out, size_t n,
	struct al_error *err)
{
	AL_OWNED struct al_matrix sums = {0};
	if (!al_statistics_sum(w->statistics, AL_STATISTIC_INPUTS, w->folds, &sums, err))
		return false;
	if (sums.rows != n + 1)
		return al_fail(err, AL_EINPUT,
			"the calibration's inputs are %zu wide, expected %zu", sums.rows - 1, n);
	const double *means = sums.data + n * sums.ld, tokens = means[n];
	for (size_t j = 0; j < out.cols; j++)
		for (size_t i = 0; i < out.rows; i++)
			if (w->measure != AL_MEASURE_DIAGONAL || i == j)
				out.data[i + j * out.ld] = sums.data[i + j * sums.ld] / tokens
					- (w->measure == AL_MEASURE_CENTERED
							? means[i] / tokens * (means[j] / tokens)
							: 0);
	return true;
}

bool al_work_moment(const struct al_work *w, size_t n, bool has_bias, struct al_matrix *out,
	struct al_error *err)
{
	if (!al_matrix_init(out, n + has_bias, n + has_bias, err))
		return false;
	if (w->measure >= AL_MEASURE_DIAGONAL)
		return fill_moment(w, *out, n, err);
	for (size_t i = 0; i < out->rows; i++)
		out->data[i + i * out->ld] = 1;
	return w->measure != AL_MEASURE_GAIN || fill_gain(w, *out, n, err);
}

bool al_work_gram(const struct al_work *w, struct al_view weights, struct al_matrix *out,
	struct al_error *err)
{
	AL_OWNED struct al_matrix moment = {0}, product = {0};

	if (w->measure == AL_MEASURE_OUTPUTS) {
		const size_t recorded = al_statistics_outputs(w->statistics);
		if (recorded != weights.cols)
			return al_fail(err, AL_EINPUT,
				"the calibration has %zu head outputs for %zu values: use "
				"--measure inputs",
				recorded, weights.cols);
		return al_statistics_sum(w->statistics, AL_STATISTIC_HEADS, w->folds, out, err);
	}
	if (w->measure == AL_MEASURE_WEIGHTS)
		return al_matrix_init(out, weights.cols, weights.cols, err)
			&& al_gram(AL_TRANSPOSED, weights, *out, err);
	return al_work_moment(w, weights.rows, false, &moment, err)
		&& al_product(AL_PLAIN, al_view(moment), AL_PLAIN, weights, &product, err)
		&& al_product(AL_TRANSPOSED, weights, AL_PLAIN, al_view(product), out, err);
}

/* ---- queries and keys as data see them ---- */

/* Directions of the inputs with less than this share of the largest one's variance are rounding of
 * float32 sums: they count as having so much, so that every root has an inverse. */
static const double LEAST_SHARE = 0x1p-22;

static bool whiten(struct al_work *w, enum al_projection p, struct al_error *err)
{
	const struct al_view weights = al_view(w->weights[p]);
	const size_t n = weights.rows;
	AL_OWNED struct al_matrix moment = {0}, root = {0};

	return al_work_moment(w, n, false, &moment, err) && al_matrix_init(&root, n, n, err)
		&& al_matrix_init(&w->inverse[p], n, n, err)
		&& al_symmetric_roots(moment, LEAST_SHARE, root, w->inverse[p], err)
		&& al_product(AL_PLAIN, al_view(root), AL_PLAIN, weights, &w->seen[p], err);
}

/* A number that all keys of a query have in common is nothing to the softmax: their inputs' mean
 * takes no part. Queries' does. Heads that go are judged by their weights. */
bool al_work_whiten(struct al_work *w, struct al_error *err)
{
	if (w->options->method == AL_METHOD_DROP)
		return true;
	if (!al_measure_choose(w, AL_METHOD_QK, err))
		return false;
	if (w->measure == AL_MEASURE_WEIGHTS)
		return true;
	const enum al_weighting of_keys = w->measure;
	if (w->measure == AL_MEASURE_CENTERED)
		w->measure = AL_MEASURE_INPUTS;
	if (!whiten(w, AL_QUERY, err))
		return false;
	w->measure = of_keys;
	return whiten(w, AL_KEY, err);
}

struct al_view al_work_seen(const struct al_work *w, enum al_projection p)
{
	return al_view(w->seen[p].data ? w->seen[p] : w->weights[p]);
}

bool al_work_bring_back(const struct al_work *w, enum al_projection p, struct al_matrix *piece,
	struct al_error *err)
{
	if (!w->seen[p].data)
		return true;
	AL_OWNED struct al_matrix seen = *piece;
	*piece = (struct al_matrix){0};
	return al_product(AL_PLAIN, al_view(w->inverse[p]), AL_PLAIN, al_view(seen), piece, err);
}
