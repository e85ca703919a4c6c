/* Recording: sums over the tokens of a pass. Products are float32, over so few tokens at a time
 * that their rounding stays below 1e-6 of the root of the two diagonal elements' product (6e-7 at
 * most, 1.3e-7 on average, of numbers whose mean is four deviations, with any kernel); these are
 * added up in double. */

#include "model/calibration/calibration.h"

enum { TOKENS_AT_ONCE = 1024, COLUMNS_AT_ONCE = 32 };

struct recording {
	struct al_calibration *calibration;
	const struct al_attention *first; /* of the view's modules */
};

/* ---- second moments ---- */

struct adding {
	struct al_matrix_f from;
	struct al_matrix to;
};

static bool add_columns(void *context, size_t index, struct al_error *err)
{
	const struct adding *a = context;
	const size_t first = index * COLUMNS_AT_ONCE;

	(void)err;
	for (size_t j = first; j < a->from.cols && j < first + COLUMNS_AT_ONCE; j++)
		for (size_t i = 0; i < a->from.rows; i++)
			a->to.data[i + j * a->to.ld] += (double)a->from.data[i + j * a->from.ld];
	return true;
}

/* to += x x^T; `to` may be larger. Finite numbers may overflow as they are squared: the token is
 * named then. */
static bool add_moment(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_matrix to, struct al_error *err)
{
	AL_SCRATCH(scratch);
	struct adding a = {.to = to};
	bool ok = al_take_f(&scratch, &a.from, x.rows, x.rows, err);

	for (size_t first = 0; ok && first < x.cols; first += TOKENS_AT_ONCE) {
		const size_t n = x.cols - first < TOKENS_AT_ONCE ? x.cols - first : TOKENS_AT_ONCE;
		ok = al_gram_f(AL_PLAIN, al_columns_f(x, first, n), a.from, err)
			&& al_parallel((x.rows + COLUMNS_AT_ONCE - 1) / COLUMNS_AT_ONCE,
				add_columns, &a, err);
	}
	if (!ok && a.from.data && !al_is_finite_f(al_view_f(a.from)))
		ok = al_fail_largest(layer, batch, x, err);
	return ok;
}

static void add_sums(struct al_view_f x, double *to)
{
	for (size_t j = 0; j < x.cols; j++)
		for (size_t i = 0; i < x.rows; i++)
			to[i] += (double)x.data[i + j * x.ld];
}

/* The last row and column, those of the 1 in [x, 1]. */
static void add_means(struct al_view_f x, struct al_matrix to)
{
	double *last = to.data + x.rows * to.ld;

	add_sums(x, last);
	last[x.rows] += (double)x.cols;
	for (size_t i = 0; i < x.rows; i++)
		to.data[x.rows + i * to.ld] = last[i];
}

/* ---- of each head ---- */

static double norm(const float *x, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i] * (double)x[i];
	return sqrt(sum);
}

static void add_norms(struct al_view_f o, struct al_matrix to)
{
	const size_t width = o.rows / to.rows;

	for (size_t j = 0; j < o.cols; j++)
		for (size_t head = 0; head < to.rows; head++)
			to.data[head] += norm(o.data + head * width + j * o.ld, width);
}

static void add_numbers(const double *from, struct al_matrix to)
{
	for (size_t j = 0; j < to.cols; j++)
		for (size_t i = 0; i < to.rows; i++)
			to.data[i + j * to.ld] += from[i + j * to.rows];
}

static bool add_layer(void *context, const struct al_layer *layer, const struct al_trace *trace,
	struct al_view_f o, struct al_error *err)
{
	const struct recording *r = context;
	const struct al_attention *attention = al_layer_attention(layer);
	struct al_matrix *of = r->calibration->modules[attention - r->first].of;

	add_sums(o, of[AL_STATISTIC_SUMS].data);
	add_norms(o, of[AL_STATISTIC_NORMS]);
	add_numbers(trace->entropy, of[AL_STATISTIC_ENTROPIES]);
	add_numbers(trace->distance, of[AL_STATISTIC_DISTANCES]);
	add_means(al_view_f(trace->input), of[AL_STATISTIC_INPUTS]);
	if (attention == r->first)
		r->calibration->n_queries += (int64_t)trace->n_sampled;
	return add_moment(layer, trace->batch, al_view_f(trace->input), of[AL_STATISTIC_INPUTS],
		       err)
		&& add_moment(layer, trace->batch, o, of[AL_STATISTIC_HEADS], err);
}

/* ---- all ---- */

static bool init_module(struct al_calibration *calibration, const struct al_attention *a,
	struct al_error *err)
{
	struct al_module_statistics *module = &calibration->modules[calibration->n_modules++];
	const size_t n_heads = (size_t)a->n_heads, width = n_heads * (size_t)a->d_value;
	const size_t d_model = (size_t)a->factors[AL_QUERY].rows;

	module->name = al_strdup(&calibration->arena, a->name);
	return al_matrix_init(&module->of[AL_STATISTIC_INPUTS], d_model + 1, d_model + 1, err)
		&& al_matrix_init(&module->of[AL_STATISTIC_HEADS], width, width, err)
		&& al_matrix_init(&module->of[AL_STATISTIC_SUMS], width, 1, err)
		&& al_matrix_init(&module->of[AL_STATISTIC_NORMS], n_heads, 1, err)
		&& al_matrix_init(&module->of[AL_STATISTIC_ENTROPIES], n_heads, 1, err)
		&& al_matrix_init(&module->of[AL_STATISTIC_DISTANCES], n_heads, n_heads, err);
}

static bool init_modules(struct al_calibration *calibration, const struct al_model_view *view,
	struct al_error *err)
{
	calibration->modules = al_new_array(&calibration->arena, struct al_module_statistics,
		view->n_modules);
	for (size_t i = 0; i < view->n_modules; i++)
		if (!init_module(calibration, &view->modules[i], err))
			return false;
	return true;
}

static void take_sequences(struct al_calibration *calibration, const struct al_batch *all)
{
	calibration->n_sequences = all->n_sequences;
	calibration->sequences = al_alloc(all->n_sequences, sizeof(*calibration->sequences));
	for (size_t i = 0; i < all->n_sequences; i++)
		calibration->sequences[i] = al_sequence_fingerprint(all, i);
	al_calibration_sort(calibration);
}

bool al_calibration_record(struct al_calibration *calibration, struct al_network *network,
	const struct al_batch *all, const struct al_watch *watch, struct al_error *err)
{
	const struct al_model_view *view = network->view;
	struct recording r = {calibration, view->modules};

	*calibration = (struct al_calibration){.path = view->checkpoint->path};
	al_arena_init(&calibration->arena);
	take_sequences(calibration, all);
	if (al_checkpoint_hash(view->checkpoint, NULL, &calibration->source, err)
		&& init_modules(calibration, view, err)
		&& al_network_pass(network, all, watch,
			&(struct al_visitor){.trace = add_layer, .context = &r}, err))
		return true;
	al_calibration_finish(calibration);
	return false;
}
