/* Sums by fold. */
#include "model/calibration/folds.h"

size_t al_packed_order(size_t length)
{
	const size_t n = (size_t)(sqrt(2 * (double)length + .25));

	return n * (n + 1) / 2 == length ? n : 0;
}

bool al_columns_sum(struct al_matrix columns, al_folds folds, struct al_matrix *out,
	struct al_error *err)
{
	if (!al_matrix_init(out, columns.rows, 1, err))
		return false;
	for (size_t fold = 0; fold < columns.cols; fold++)
		for (size_t i = 0; (folds & al_fold(fold)) && i < columns.rows; i++)
			out->data[i] += columns.data[i + fold * columns.ld];
	return true;
}

bool al_packed_sum(struct al_matrix packed, al_folds folds, struct al_matrix *out,
	struct al_error *err)
{
	const size_t n = al_packed_order(packed.rows);
	AL_OWNED struct al_matrix sum = {0};

	if (!al_columns_sum(packed, folds, &sum, err) || !al_matrix_init(out, n, n, err))
		return false;
	const double *from = sum.data;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i <= j; i++)
			out->data[i + j * out->ld] = out->data[j + i * out->ld] = *from++;
	return true;
}

void al_folds_add(struct al_matrix to, struct al_matrix from, size_t first, size_t n_folds)
{
	for (size_t j = 0; j < from.cols; j++)
		for (size_t i = 0; i < from.rows; i++)
			to.data[i + (first + j) % n_folds * to.ld] += from.data[i + j * from.ld];
}

bool al_packed_of(struct al_view symmetric, struct al_matrix *out, struct al_error *err)
{
	const size_t n = symmetric.rows;

	if (!al_matrix_init(out, n * (n + 1) / 2, 1, err))
		return false;
	double *to = out->data;
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i <= j; i++)
			*to++ = symmetric.data[i + j * symmetric.ld];
	return true;
}
