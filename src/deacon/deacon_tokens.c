/* The derivative of DEACON's loss by W from the tokens themselves, in one pass and in memory that
 * doesn't go with the square of the features: E sum_j u_j (W_O r)_j^T, r being what the prediction
 * of a token's target is off, u_j its features in dimension j. */
#include "deacon/deacon.h"

enum { BLOCK_ROWS = 64 };

/* What one block is made into, a token a column. */
struct block {
	struct al_matrix features; /* [n_features*width] */
	struct al_matrix components; /* [m*width]; then W_O r */
	struct al_matrix residual; /* [n_targets] */
};

static bool block_init(struct block *b, const struct al_deacon *d, size_t n, struct al_error *err)
{
	const struct al_pca_layer *layer = &d->principal->layer;

	*b = (struct block){0};
	return al_matrix_init(&b->features, layer->n_features * layer->width, n, err)
		&& al_matrix_init(&b->components, d->output.rows, n, err)
		&& al_matrix_init(&b->residual, d->output.cols, n, err);
}

static void block_finish(struct block *b)
{
	al_matrix_finish(&b->features);
	al_matrix_finish(&b->components);
	al_matrix_finish(&b->residual);
}

/* A token's column as [width][columns of W, or features]. */
static struct al_matrix token_of(struct al_matrix m, size_t token, size_t width)
{
	return (struct al_matrix){m.data + token * m.ld, width, m.rows / width, width};
}

static void subtract(double *from, const double *what, size_t n)
{
	for (size_t i = 0; i < n; i++)
		from[i] -= what[i];
}

/* Features, components about their means, and the means of the target less the target. */
static bool make(const struct al_deacon *d, const double *row, size_t t, const struct block *b,
	struct al_error *err)
{
	const struct al_pca_layer *layer = &d->principal->layer;
	const struct al_matrix u = token_of(b->features, t, layer->width),
			       y = token_of(b->components, t, layer->width);
	double *r = b->residual.data + t * b->residual.ld;

	al_pca_features(layer, row, u.data);
	if (!al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(u), al_view(d->weights), 0, y, err))
		return false;
	subtract(y.data, d->own.means.data, b->components.rows);
	for (size_t z = 0; z < b->residual.rows; z++)
		r[z] = d->own.target_mean[z];
	subtract(r, row + layer->n_heads * layer->d_head, b->residual.rows);
	return true;
}

static bool add_block(const struct al_deacon *d, const double *rows, size_t n,
	const struct block *b, double *sums, struct al_error *err)
{
	const struct al_pca_layer *layer = &d->principal->layer;
	const struct al_matrix gradient = {sums, d->weights.rows, d->weights.cols, d->weights.rows};
	bool ok = true;

	for (size_t t = 0; ok && t < n; t++)
		ok = make(d, rows + t * (layer->n_heads * layer->d_head + d->output.cols), t, b,
			err);
	ok = ok
		&& al_gemm(AL_TRANSPOSED, AL_PLAIN, 1, al_view(d->output), al_view(b->components),
			1, b->residual, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(d->output), al_view(b->residual), 0,
			b->components, err);
	for (size_t t = 0; ok && t < n; t++)
		ok = al_gemm(AL_TRANSPOSED, AL_PLAIN, 1,
			al_view(token_of(b->features, t, layer->width)),
			al_view(token_of(b->components, t, layer->width)), 1, gradient, err);
	return ok;
}

static bool add(const void *context, const double *rows, size_t n, double *sums,
	struct al_error *err)
{
	struct block block;
	bool ok = block_init(&block, context, n, err)
		&& add_block(context, rows, n, &block, sums, err);

	block_finish(&block);
	return ok;
}

bool al_deacon_gradient(const struct al_deacon *d, struct al_matrix gradient, struct al_error *err)
{
	const struct al_pca_layer *layer = &d->principal->layer;
	const struct al_statistic statistic = {.width = layer->n_heads * layer->d_head
			+ d->output.cols,
		.n_sums = d->weights.rows * d->weights.cols,
		.block_rows = BLOCK_ROWS,
		.add = add,
		.context = d};
	struct al_sums sums = {0};
	bool ok = al_sums_init(&sums, &statistic, err)
		&& d->source.outputs->feed(d->source.outputs->context, &sums, err);

	for (size_t i = 0; ok && i < statistic.n_sums; i++)
		gradient.data[i] = sums.sums[i] / (double)sums.n_rows;
	al_sums_finish(&sums);
	return ok;
}
