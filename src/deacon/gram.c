/* The Gram matrix of features, and their products with a target. */
#include "deacon/gram.h"

enum { MADE_ROWS = 4096, MOST_ROWS = 512 };

struct al_gram_parts al_gram_parts(const struct al_gram_sums *g, double *sums)
{
	double *products = sums + g->n_columns, *targets = products + g->n_columns * g->n_columns,
	       *cross = targets + g->n_targets;

	return (struct al_gram_parts){sums, products, targets, cross,
		cross + g->n_columns * g->n_targets};
}

/* The output of one block. */
struct made {
	struct al_matrix rows; /* [n_columns][made rows] */
	struct al_matrix targets; /* [n_targets][rows] */
	struct al_matrix products; /* [n_columns][n_columns] */
};

static void make_rows(const struct al_gram_sums *g, const double *rows, size_t n, struct made *made,
	double *squares)
{
	const size_t width = g->row_width + g->n_targets, each = g->rows_each * g->n_columns;

	for (size_t t = 0; t < n; t++) {
		const double *row = rows + t * width;
		double *target = made->targets.data + t * g->n_targets;
		g->make(g->context, row, made->rows.data + t * each);
		for (size_t k = 0; k < g->n_targets; k++) {
			target[k] = row[g->row_width + k] - g->target_shift[k];
			*squares += target[k] * target[k];
		}
	}
}

static void add_rows(double *sums, const struct al_matrix *rows)
{
	for (size_t r = 0; r < rows->cols; r++)
		for (size_t i = 0; i < rows->rows; i++)
			sums[i] += rows->data[r * rows->rows + i];
}

static bool add_products(const struct al_gram_sums *g, const struct made *made,
	const struct al_gram_parts *to, struct al_error *err)
{
	const size_t n = g->n_columns;
	const struct al_matrix cross = {to->cross, n, g->n_targets, n};

	if (!al_gram(AL_PLAIN, al_view(made->rows), made->products, err))
		return false;
	for (size_t i = 0; i < n * n; i++)
		to->products[i] += made->products.data[i];
	return g->n_targets == 0
		|| al_gemm(AL_PLAIN, AL_TRANSPOSED, 1, al_view(made->rows), al_view(made->targets),
			1, cross, err);
}

static bool add(const void *context, const double *rows, size_t n, double *sums,
	struct al_error *err)
{
	const struct al_gram_sums *g = context;
	const struct al_gram_parts to = al_gram_parts(g, sums);
	struct made made;
	AL_SCRATCH(scratch);

	if (!al_take(&scratch, &made.rows, g->n_columns, n * g->rows_each, err)
		|| !al_take(&scratch, &made.targets, g->n_targets, n, err)
		|| !al_take(&scratch, &made.products, g->n_columns, g->n_columns, err))
		return false;
	make_rows(g, rows, n, &made, to.squares);
	add_rows(to.columns, &made.rows);
	add_rows(to.targets, &made.targets);
	return add_products(g, &made, &to, err);
}

struct al_statistic al_gram_statistic(const struct al_gram_sums *g)
{
	const size_t block = MADE_ROWS / g->rows_each;

	return (struct al_statistic){.width = g->row_width + g->n_targets,
		.n_sums = g->n_columns * (g->n_columns + 1)
			+ (g->n_targets ? g->n_targets + g->n_columns * g->n_targets + 1 : 0),
		.block_rows = al_most(1, al_least(block, MOST_ROWS)),
		.add = add,
		.context = g};
}
