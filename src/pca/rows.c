/* Head outputs in a file, a row for each token. */
#include "pca/rows.h"

#include <stdlib.h>

#include "base/memory.h"
#include "checkpoint/npy.h"

bool al_rows_file_open(struct al_rows_file *file, const char *path, struct al_error *err)
{
	*file = (struct al_rows_file){0};
	if (al_npy_is(path))
		return al_npy_open(&file->checkpoint, path, &file->is_fortran, err);
	return al_checkpoint_open(&file->checkpoint, path, err);
}

void al_rows_file_close(struct al_rows_file *file)
{
	al_checkpoint_close(&file->checkpoint);
}

bool al_rows_of(struct al_rows *rows, const struct al_rows_file *file,
	const struct al_tensor *tensor, struct al_error *err)
{
	const size_t last = file->is_fortran ? 0 : tensor->n_dims - 1;

	if (tensor->n_dims < 2)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": found %zu dimensions, expected tokens x numbers",
			tensor->name, tensor->n_dims);
	if (!tensor->dtype->to_double || tensor->dtype->epsilon <= 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": found numbers of type %s, expected floating point",
			tensor->name, tensor->dtype->stored);
	const size_t width = (size_t)tensor->shape[last];
	*rows = (struct al_rows){.file = file,
		.tensor = tensor,
		.n_rows = width ? (size_t)tensor->n_elements / width : 0,
		.width = width};
	return true;
}

/* Columns of the file are rows that we want: they are read side by side and turned round. */
static bool read_columns(const struct al_rows *rows, size_t first, size_t n, double *out,
	size_t leading, struct al_error *err)
{
	const struct al_selection selection = {.first = (int64_t)first,
		.run = (int64_t)n,
		.n_runs = (int64_t)rows->width,
		.stride = (int64_t)rows->n_rows};
	double *columns = al_alloc(n * rows->width, sizeof(*columns));
	bool ok = al_tensor_read_double(&rows->file->checkpoint, rows->tensor, &selection, columns,
		n, err);

	for (size_t t = 0; ok && t < n; t++)
		for (size_t j = 0; j < rows->width; j++)
			out[t * leading + j] = columns[j * n + t];
	free(columns);
	return ok;
}

bool al_rows_read(const struct al_rows *rows, size_t first, size_t n, double *out, size_t leading,
	struct al_error *err)
{
	const struct al_selection selection = {.first = (int64_t)(first * rows->width),
		.run = (int64_t)rows->width,
		.n_runs = (int64_t)n,
		.stride = (int64_t)rows->width};

	if (rows->file->is_fortran)
		return read_columns(rows, first, n, out, leading, err);
	return al_tensor_read_double(&rows->file->checkpoint, rows->tensor, &selection, out,
		leading, err);
}
