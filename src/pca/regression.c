/* Least squares of a target in the first principal components, for all their numbers at once: with
 * columns in the order of components, one triangular factor of their second moments serves every
 * prefix. */
#include "pca/regression.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "pca/gram.h"

/* A column of which less than this part of its variance is its own counts as dependent. */
static const double least_own = 1e-12;

/* ---- moments ---- */

static void take_moments(struct al_target_moments *out, const struct al_gram_sums *g,
	const double *sums)
{
	const size_t w = g->n_columns;
	const double n = (double)out->n_tokens, *products = al_gram_products(g, sums),
		     *target = al_gram_target_sums(g, sums),
		     *cross = al_gram_target_products(g, sums);

	for (size_t k = 0; k < w; k++)
		out->means.data[k] = sums[k] / n;
	for (size_t k = 0; k < w; k++)
		for (size_t i = 0; i < w; i++)
			out->features.data[i + k * w] = products[i + k * w] / n
				- sums[i] / n * sums[k] / n;
	out->squares = al_gram_target_squares(g, sums) / n;
	for (size_t k = 0; k < out->n_targets; k++) {
		out->squares -= target[k] / n * target[k] / n;
		out->target_mean[k] = g->target_shift[k] + target[k] / n;
		for (size_t i = 0; i < w; i++)
			out->cross.data[i + k * w] = cross[i + k * w] / n
				- sums[i] / n * target[k] / n;
	}
}

static bool find(struct al_target_moments *out, const struct al_head_outputs *outputs,
	const struct al_gram_sums *gram, struct al_error *err)
{
	const struct al_statistic statistic = al_gram_statistic(gram);
	struct al_sums sums = {0};
	bool ok = al_sums_init(&sums, &statistic, err)
		&& outputs->feed(outputs->context, &sums, err);

	if (ok) {
		out->n_tokens = sums.n_rows;
		out->n_left_out = sums.n_left_out;
		out->first_left_out = sums.first_left_out;
		take_moments(out, gram, sums.sums);
		ok = out->squares > 0 && isfinite(out->squares);
		if (!ok)
			al_fail(err, AL_EINPUT, "the target is %s",
				out->squares > 0 ? "so large that its squares overflow"
						 : "constant");
	}
	al_sums_finish(&sums);
	return ok;
}

bool al_target_moments_find(struct al_target_moments *out, const struct al_head_outputs *outputs,
	const struct al_principal *p, size_t n_targets, struct al_error *err)
{
	const size_t width = p->layer.n_heads * p->layer.d_head,
		     columns = p->layer.n_features * p->layer.width;
	double *first = al_alloc(width + n_targets, sizeof(*first));
	const struct al_gram_sums gram = {.n_columns = columns,
		.rows_each = 1,
		.make = al_pca_features,
		.context = &p->layer,
		.row_width = width,
		.n_targets = n_targets,
		.target_shift = first + width};

	*out = (struct al_target_moments){.n_targets = n_targets,
		.target_mean = al_alloc(n_targets, sizeof(*out->target_mean))};
	bool ok = al_matrix_init(&out->features, columns, columns, err)
		&& al_matrix_init(&out->cross, columns, n_targets, err)
		&& al_matrix_init(&out->means, columns, 1, err)
		&& outputs->first(outputs->context, first, err) && find(out, outputs, &gram, err);
	free(first);
	if (!ok)
		al_target_moments_finish(out);
	return ok;
}

void al_target_moments_finish(struct al_target_moments *moments)
{
	al_matrix_finish(&moments->features);
	al_matrix_finish(&moments->cross);
	al_matrix_finish(&moments->means);
	free(moments->target_mean);
	*moments = (struct al_target_moments){0};
}

/* ---- projected ---- */

bool al_pca_project(struct al_view a, size_t width, struct al_view weights, struct al_matrix out,
	struct al_error *err)
{
	bool ok = true;

	for (size_t c = 0; ok && c < a.cols; c++)
		ok = al_gemm(AL_PLAIN, AL_PLAIN, 1,
			(struct al_view){a.data + c * a.ld, width, weights.rows, width}, weights, 0,
			(struct al_matrix){out.data + c * out.ld, width, weights.cols, width}, err);
	return ok;
}

static void transpose(struct al_matrix a, struct al_matrix out)
{
	for (size_t j = 0; j < a.cols; j++)
		for (size_t i = 0; i < a.rows; i++)
			out.data[j + i * out.ld] = a.data[i + j * a.ld];
}

/* Second moments of y = W^T u: among themselves and with the target. */
struct projected {
	struct al_matrix moments; /* [m*width][m*width] */
	struct al_matrix cross; /* [m*width][n_targets] */
};

static void projected_finish(struct projected *p)
{
	al_matrix_finish(&p->moments);
	al_matrix_finish(&p->cross);
}

static bool projected_init(struct projected *out, const struct al_target_moments *moments,
	size_t width, struct al_view weights, struct al_error *err)
{
	const size_t columns = moments->features.rows, kept = weights.cols * width;
	struct al_matrix half = {0}, turned = {0};

	*out = (struct projected){0};
	bool ok = al_matrix_init(&half, kept, columns, err)
		&& al_matrix_init(&turned, columns, kept, err)
		&& al_matrix_init(&out->moments, kept, kept, err)
		&& al_matrix_init(&out->cross, kept, moments->n_targets, err)
		&& al_pca_project(al_view(moments->features), width, weights, half, err);
	if (ok)
		transpose(half, turned);
	ok = ok && al_pca_project(al_view(turned), width, weights, out->moments, err)
		&& al_pca_project(al_view(moments->cross), width, weights, out->cross, err);
	al_matrix_finish(&half);
	al_matrix_finish(&turned);
	if (!ok)
		projected_finish(out);
	return ok;
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

/* What each column explains of the target beyond those before it: rows of R^-T cross. */
static bool explain(struct projected *p, bool *is_dependent, struct al_error *err)
{
	factor(p->moments, is_dependent);
	if (!al_solve(AL_LEFT, AL_TRANSPOSED, al_view(p->moments), p->cross, err))
		return false;
	for (size_t c = 0; c < p->cross.cols; c++)
		for (size_t i = 0; i < p->cross.rows; i++)
			if (is_dependent[i])
				p->cross.data[i + c * p->cross.ld] = 0;
	return true;
}

static void take_errors(const struct projected *p, size_t width, double squares, double *errors)
{
	const size_t n = p->cross.rows / width;
	double left = squares;

	errors[0] = 1;
	for (size_t m = 0; m < n; m++) {
		for (size_t i = m * width; i < (m + 1) * width; i++)
			for (size_t c = 0; c < p->cross.cols; c++)
				left -= p->cross.data[i + c * p->cross.ld]
					* p->cross.data[i + c * p->cross.ld];
		errors[m + 1] = left > 0 ? sqrt(left / squares) : 0;
	}
}

bool al_regression_errors(const struct al_target_moments *moments, const struct al_principal *p,
	double *errors, struct al_error *err)
{
	struct projected projected;
	bool *is_dependent = al_calloc(moments->features.rows, sizeof(*is_dependent));
	bool ok = projected_init(&projected, moments, p->layer.width, al_view(p->vectors), err);

	if (ok) {
		ok = explain(&projected, is_dependent, err);
		if (ok)
			take_errors(&projected, p->layer.width, moments->squares, errors);
		projected_finish(&projected);
	}
	free(is_dependent);
	return ok;
}

bool al_regression_fit(const struct al_target_moments *moments, const struct al_pca_layer *layer,
	struct al_view weights, struct al_matrix out, struct al_error *err)
{
	struct projected projected;
	bool *is_dependent = al_calloc(weights.cols * layer->width + 1, sizeof(*is_dependent));
	bool ok = projected_init(&projected, moments, layer->width, weights, err);

	if (ok) {
		ok = explain(&projected, is_dependent, err)
			&& al_solve(AL_LEFT, AL_PLAIN, al_view(projected.moments), projected.cross,
				err)
			&& al_copy(al_view(projected.cross), out, err);
		projected_finish(&projected);
	}
	free(is_dependent);
	return ok;
}
