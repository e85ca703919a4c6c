/* Least squares of a target in the first principal components, for all their numbers at once: with
 * columns in the order of components, one triangular factor of their second moments serves every
 * prefix. */
#include "deacon/regression.h"

#include "deacon/gram.h"

/* A column of which less than this part of its variance is its own counts as dependent. */
static const double least_own = 1e-12;

/* ---- moments ---- */

static void take_moments(struct al_target_moments *out, const struct al_gram_sums *g,
	double *of_tokens)
{
	const struct al_gram_parts of = al_gram_parts(g, of_tokens);
	const size_t w = g->n_columns;
	const double n = (double)out->n_tokens, *sums = of.columns, *target = of.targets;

	for (size_t k = 0; k < w; k++)
		out->means.data[k] = sums[k] / n;
	for (size_t k = 0; k < w; k++)
		for (size_t i = 0; i < w; i++)
			out->features.data[i + k * w] = of.products[i + k * w] / n
				- sums[i] / n * sums[k] / n;
	out->squares = *of.squares / n;
	for (size_t k = 0; k < out->n_targets; k++) {
		out->squares -= target[k] / n * target[k] / n;
		out->target_mean[k] = g->target_shift[k] + target[k] / n;
		for (size_t i = 0; i < w; i++)
			out->cross.data[i + k * w] = of.cross[i + k * w] / n
				- sums[i] / n * target[k] / n;
	}
}

static bool find(struct al_target_moments *out, const struct al_rows rows[2],
	const struct al_gram_sums *gram, struct al_error *err)
{
	const struct al_statistic statistic = al_gram_statistic(gram);
	struct al_sums sums;

	if (!al_sums_find(&sums, &statistic, rows, err))
		return false;
	out->n_tokens = sums.n_rows;
	out->n_left_out = sums.n_left_out;
	take_moments(out, gram, sums.sums);
	al_sums_finish(&sums);
	if (!isfinite(out->squares))
		return al_fail(err, AL_EINPUT, "the target is too large: its squares overflow");
	return out->squares > 0 || al_fail(err, AL_EINPUT, "the target is constant");
}

struct projection {
	const struct al_pca_layer *layer;
	const struct al_view *weights; /* NULL: features as they are */
};

/* out[m][width] of a token: W^T u in each dimension. */
static void make_columns(const void *context, const double *row, double *out)
{
	const struct projection *p = context;
	const size_t width = p->layer->width;

	if (!p->weights) {
		al_pca_features(p->layer, row, out);
		return;
	}
	AL_FREED double *features = al_alloc(p->weights->rows * width, sizeof(*features));
	al_pca_features(p->layer, row, features);
	memset(out, 0, p->weights->cols * width * sizeof(*out));
	for (size_t c = 0; c < p->weights->cols; c++)
		for (size_t k = 0; k < p->weights->rows; k++) {
			const double weight = p->weights->data[k + c * p->weights->ld];
			for (size_t j = 0; j < width; j++)
				out[c * width + j] += weight * features[k * width + j];
		}
}

static bool make_room(struct al_target_moments *m, size_t columns, struct al_error *err)
{
	m->target_mean = al_take_array(&m->scratch, m->n_targets, sizeof(*m->target_mean), err);
	return m->target_mean && al_take(&m->scratch, &m->features, columns, columns, err)
		&& al_take(&m->scratch, &m->cross, columns, m->n_targets, err)
		&& al_take(&m->scratch, &m->means, columns, 1, err);
}

bool al_target_moments_find(struct al_target_moments *out, const struct al_rows rows[2],
	const struct al_principal *p, const struct al_view *weights, struct al_error *err)
{
	const size_t width = rows[0].width, n_targets = rows[1].width,
		     columns = (weights ? weights->cols : p->layer.n_features) * p->layer.width;
	const struct projection projection = {&p->layer, weights};
	AL_FREED double *first = al_alloc(width + n_targets, sizeof(*first));
	const struct al_gram_sums gram = {.n_columns = columns,
		.rows_each = 1,
		.make = make_columns,
		.context = &projection,
		.row_width = width,
		.n_targets = n_targets,
		.target_shift = first + width};

	*out = (struct al_target_moments){.n_targets = n_targets};
	bool ok = make_room(out, columns, err) && al_rows_first(rows, first, err)
		&& find(out, rows, &gram, err);
	if (!ok)
		al_target_moments_finish(out);
	return ok;
}

void al_target_moments_finish(struct al_target_moments *moments)
{
	al_scratch_finish(&moments->scratch);
}

/* ---- the factor ---- */

static double dot(const double *x, const double *y, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

/* G = R^T R in place, R upper triangular. A column that those before it span gets a row of zeros
 * and 1 on the diagonal, and is marked. */
static void factor(struct al_matrix g, bool *is_dependent)
{
	for (size_t k = 0; k < g.cols; k++) {
		double *column = g.data + k * g.ld;
		const double whole = column[k];
		for (size_t i = 0; i < k; i++)
			column[i] = is_dependent[i]
				? 0
				: (column[i] - dot(g.data + i * g.ld, column, i))
					/ g.data[i + i * g.ld];
		const double own = whole - dot(column, column, k);
		is_dependent[k] = !(own > least_own * whole);
		column[k] = is_dependent[k] ? 1 : sqrt(own);
		for (size_t i = k + 1; i < g.rows; i++)
			column[i] = 0;
	}
}

/* The part of the target that each column explains beyond those before it: rows of R^-T cross. */
static bool explain(struct al_target_moments *m, struct al_error *err)
{
	AL_SCRATCH(scratch);
	bool *is_dependent = al_take_array(&scratch, m->features.rows, sizeof(*is_dependent), err);

	if (!is_dependent)
		return false;
	factor(m->features, is_dependent);
	if (!al_solve(AL_LEFT, AL_TRANSPOSED, al_view(m->features), m->cross, err))
		return false;
	for (size_t c = 0; c < m->cross.cols; c++)
		for (size_t i = 0; i < m->cross.rows; i++)
			if (is_dependent[i])
				m->cross.data[i + c * m->cross.ld] = 0;
	return true;
}

static void take_errors(const struct al_target_moments *moments, size_t width, double *errors)
{
	const struct al_matrix cross = moments->cross;
	double left = moments->squares;

	errors[0] = 1;
	for (size_t m = 0; m < cross.rows / width; m++) {
		for (size_t i = m * width; i < (m + 1) * width; i++)
			for (size_t c = 0; c < cross.cols; c++)
				left -= cross.data[i + c * cross.ld] * cross.data[i + c * cross.ld];
		errors[m + 1] = left > 0 ? sqrt(left / moments->squares) : 0;
	}
}

bool al_regression_errors(struct al_target_moments *moments, size_t width, double *errors,
	struct al_error *err)
{
	if (!explain(moments, err))
		return false;
	take_errors(moments, width, errors);
	return true;
}

bool al_regression_fit(struct al_target_moments *moments, struct al_matrix out,
	struct al_error *err)
{
	return explain(moments, err)
		&& al_solve(AL_LEFT, AL_PLAIN, al_view(moments->features), moments->cross, err)
		&& al_copy(al_view(moments->cross), out, err);
}
