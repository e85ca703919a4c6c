/* Head outputs in a file, a row for each token. */
#include "deacon/rows.h"

#include <float.h>

bool al_rows_of(struct al_rows *rows, const struct al_checkpoint *file,
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

static bool read_recorded(const struct al_rows *rows, size_t first, size_t n, double *out,
	size_t leading, struct al_error *err)
{
	const size_t row_bytes = rows->width * sizeof(float);
	AL_FREED float *numbers = al_alloc(n, row_bytes);
	bool ok = al_spill_get(rows->recorded, rows->recorded_at + first * row_bytes, numbers,
		n * row_bytes, err);

	for (size_t t = 0; ok && t < n; t++)
		for (size_t j = 0; j < rows->width; j++)
			out[t * leading + j] = (double)numbers[t * rows->width + j];
	return ok;
}

bool al_rows_are_single(const struct al_rows *rows)
{
	return rows->recorded
		|| (rows->tensor->dtype->to_float
			&& rows->tensor->dtype->epsilon >= (double)FLT_EPSILON);
}

bool al_rows_read(const struct al_rows *rows, size_t first, size_t n, double *out, size_t leading,
	struct al_error *err)
{
	const struct al_selection selection = {.first = (int64_t)(first * rows->width),
		.run = (int64_t)rows->width,
		.n_runs = (int64_t)n,
		.stride = (int64_t)rows->width};

	if (rows->recorded)
		return read_recorded(rows, first, n, out, leading, err);
	return al_tensor_read_double(rows->file, rows->tensor, &selection, out, leading, err);
}
