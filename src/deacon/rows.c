/* Head outputs in a file, a row for each token. */
#include "deacon/rows.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

bool al_rows_file_open(struct al_rows_file *file, const char *path, struct al_error *err)
{
	*file = (struct al_rows_file){0};
	return al_checkpoint_open(&file->checkpoint, path, err);
}

void al_rows_file_close(struct al_rows_file *file)
{
	al_checkpoint_close(&file->checkpoint);
}

bool al_rows_of(struct al_rows *rows, const struct al_rows_file *file,
	const struct al_tensor *tensor, struct al_error *err)
{
	if (tensor->n_dims < 2)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": found %zu dimension%s, expected a matrix", tensor->name,
			tensor->n_dims, tensor->n_dims == 1 ? "" : "s");
	if (!tensor->dtype->to_double || tensor->dtype->epsilon <= 0)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": found numbers of type %s, expected floating point",
			tensor->name, al_dtype_title(tensor->dtype));
	const size_t width = (size_t)tensor->shape[tensor->n_dims - 1];
	*rows = (struct al_rows){.name = tensor->name,
		.file = file,
		.tensor = tensor,
		.n_rows = width ? (size_t)tensor->n_elements / width : 0,
		.width = width};
	return true;
}

static bool read_all(int file, char *bytes, size_t left, off_t at, struct al_error *err)
{
	while (left > 0) {
		const ssize_t n = pread(file, bytes, left, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return al_fail(err, AL_ESYSTEM,
				"can't read the heads' outputs from a temporary file: %s",
				n < 0 ? strerror(errno) : "it is too short");
		bytes += n;
		left -= (size_t)n;
		at += n;
	}
	return true;
}

static bool read_recorded(const struct al_rows *rows, size_t first, size_t n, float *out,
	struct al_error *err)
{
	const size_t row_bytes = rows->width * sizeof(*out);

	return read_all(*rows->recorded, (char *)out, n * row_bytes,
		rows->recorded_at + (off_t)(first * row_bytes), err);
}

static bool widen_recorded(const struct al_rows *rows, size_t first, size_t n, double *out,
	size_t leading, struct al_error *err)
{
	float *numbers = al_alloc(n * rows->width, sizeof(*numbers));
	bool ok = read_recorded(rows, first, n, numbers, err);

	for (size_t t = 0; ok && t < n; t++)
		for (size_t j = 0; j < rows->width; j++)
			out[t * leading + j] = (double)numbers[t * rows->width + j];
	free(numbers);
	return ok;
}

static struct al_selection select_rows(const struct al_rows *rows, size_t first, size_t n)
{
	return (struct al_selection){.first = (int64_t)(first * rows->width),
		.run = (int64_t)rows->width,
		.n_runs = (int64_t)n,
		.stride = (int64_t)rows->width};
}

bool al_rows_are_single(const struct al_rows *rows)
{
	return rows->recorded
		|| (rows->tensor->dtype->to_float
			&& rows->tensor->dtype->epsilon >= (double)FLT_EPSILON);
}

bool al_rows_read_single(const struct al_rows *rows, size_t first, size_t n, float *out,
	struct al_error *err)
{
	const struct al_selection selection = select_rows(rows, first, n);

	if (rows->recorded)
		return read_recorded(rows, first, n, out, err);
	return al_tensor_read_float(&rows->file->checkpoint, rows->tensor, &selection, out,
		rows->width, err);
}

bool al_rows_read(const struct al_rows *rows, size_t first, size_t n, double *out, size_t leading,
	struct al_error *err)
{
	const struct al_selection selection = select_rows(rows, first, n);

	if (rows->recorded)
		return widen_recorded(rows, first, n, out, leading, err);
	return al_tensor_read_double(&rows->file->checkpoint, rows->tensor, &selection, out,
		leading, err);
}
