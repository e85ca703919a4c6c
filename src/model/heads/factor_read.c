/* Reading the heads of a factor: runs of stored columns, scales, and MLA's composed matrices. */

#include "model/heads/views.h"

/* Each number times its block's scale: [rows][n] from column `first` of the head axis on. */
static bool scale_columns(const struct al_checkpoint *checkpoint, const struct al_factor_run *run,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	AL_SCRATCH(scratch);
	const struct al_tensor *scale = run->scale;
	double *scales;

	if (!scale)
		return true;
	scales = al_take_array(&scratch, (size_t)scale->n_elements, sizeof(*scales), err);
	if (!scales)
		return al_in(err, "tensor %s", scale->name);
	if (!al_tensor_read_finite(checkpoint, scale, scales, err))
		return false;
	for (int64_t j = 0; j < n; j++)
		for (int64_t i = 0; i < rows; i++) {
			int64_t row = run->is_slow ? first + j : i,
				column = run->is_slow ? i : first + j;
			out.data[(size_t)i + (size_t)j * out.ld] *=
				scales[row / run->block[0] * scale->shape[1]
					+ column / run->block[1]];
		}
	return true;
}

/* Columns [first_column, +n_columns) of rows [first_row, +n_rows) of the matrix that a run's tensor
 * is. */
static struct al_selection select_block(const struct al_factor_run *run, int64_t first_row,
	int64_t n_rows, int64_t first_column, int64_t n_columns)
{
	if (run->columns == 0)
		return al_select_block(run->tensor, first_row, n_rows, first_column, n_columns);
	return (struct al_selection){.first = (run->first_row + first_row) * run->columns
			+ first_column,
		.run = n_columns,
		.n_runs = n_rows,
		.stride = run->columns};
}

/* So many rows are transposed at once: their part of each column is written in one go. */
enum { ROWS_AT_ONCE = 64 };

/* out[n_columns][n_rows], column by column, of rows that lie one after the other. */
static void transpose(const double *rows, size_t n_rows, size_t n_columns, struct al_matrix out)
{
	for (size_t j = 0; j < n_columns; j++)
		for (size_t i = 0; i < n_rows; i++)
			out.data[i + j * out.ld] = rows[i * n_columns + j];
}

/* The head axis runs fastest in the file. */
static bool read_transposed(const struct al_checkpoint *checkpoint, const struct al_factor_run *run,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	const int64_t most = al_least(rows, ROWS_AT_ONCE);
	AL_SCRATCH(scratch);
	double *some = al_take_array(&scratch, (size_t)most * (size_t)n, sizeof(*some), err);

	if (!some)
		return al_in(err, "%lld x %lld numbers", (long long)most, (long long)n);
	for (int64_t row = 0; row < rows; row += most) {
		const int64_t n_rows = al_least(rows - row, most);
		const struct al_selection selection = select_block(run, row, n_rows, first, n);
		if (!al_tensor_read_double(checkpoint, run->tensor, &selection, some, (size_t)n,
			    err))
			return false;
		transpose(some, (size_t)n_rows, (size_t)n,
			al_part(out, (size_t)row, 0, (size_t)n_rows, (size_t)n));
	}
	return true;
}

/* Columns [first, +n) of one run's tensor, [rows][n]. */
static bool read_columns(const struct al_checkpoint *checkpoint, const struct al_factor_run *run,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	if (run->tensor->n_dims < 2 || !run->is_slow)
		return read_transposed(checkpoint, run, rows, first, n, out, err);
	const struct al_selection selection = select_block(run, first, n, 0, rows);
	return al_tensor_read_double(checkpoint, run->tensor, &selection, out.data, out.ld, err);
}

/* Columns [first, +n) of the runs laid side by side. */
static bool read_runs(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	int64_t at = 0, end = first + n;

	for (size_t i = 0; i < factor->n_runs; at += factor->runs[i++].width) {
		const struct al_factor_run *run = &factor->runs[i];
		int64_t from = al_most(at, first);
		int64_t to = al_least(at + run->width, end);
		if (from >= to)
			continue;
		struct al_matrix part = al_part(out, 0, (size_t)(from - first), out.rows,
			(size_t)(to - from));
		int64_t start = run->first + from - at;
		if (!read_columns(checkpoint, run, rows, start, to - from, part, err)
			|| !scale_columns(checkpoint, run, rows, start, to - from, part, err))
			return false;
	}
	return true;
}

static bool read_heads(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t rows, int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	if (factor->stride == factor->width)
		return read_runs(checkpoint, factor, rows, first * factor->width, n * factor->width,
			out, err);
	for (int64_t i = 0; i < n; i++) {
		struct al_matrix head = al_part(out, 0, (size_t)(i * factor->width), out.rows,
			(size_t)factor->width);
		if (!read_runs(checkpoint, factor, rows, (first + i) * factor->stride,
			    factor->width, head, err))
			return false;
	}
	return true;
}

static bool fold_gain(const struct al_checkpoint *checkpoint, const struct al_tensor *gain,
	struct al_matrix up, struct al_error *err)
{
	AL_SCRATCH(scratch);
	double *values = al_take_array(&scratch, up.rows, sizeof(*values), err);

	if (!gain)
		return true;
	if (!values || !al_tensor_read_finite(checkpoint, gain, values, err))
		return false;
	for (size_t j = 0; j < up.cols; j++)
		for (size_t i = 0; i < up.rows; i++)
			up.data[i + j * up.ld] *= values[i];
	return true;
}

/* ---- numbers that are not finite ---- */

int64_t al_matrix_count_not_finite(struct al_view a)
{
	int64_t n = 0;

	if (al_is_finite(a))
		return 0;
	for (size_t j = 0; j < a.cols; j++)
		n += al_count_not_finite(a.data + j * a.ld, a.rows);
	return n;
}

bool al_factor_check_finite(const struct al_factor *factor, int64_t n_not_finite,
	struct al_error *err)
{
	return al_check_not_finite(n_not_finite, factor->rows * factor->heads * factor->width,
		factor->runs[0].tensor->name, err);
}

/* ---- composed matrices ---- */

static bool check_up(const struct al_factor *factor, struct al_matrix up, struct al_error *err)
{
	return al_check_not_finite(al_matrix_count_not_finite(al_view(up)),
		(int64_t)(up.rows * up.cols), factor->runs[0].tensor->name, err);
}

/* down * diag(gain) * up */
static bool read_composed(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	AL_OWNED struct al_matrix up = {0}, down = {0};
	int64_t rank = factor->down->width;

	return al_matrix_init(&up, (size_t)rank, out.cols, err)
		&& read_heads(checkpoint, factor, rank, first, n, up, err)
		&& check_up(factor, up, err) && fold_gain(checkpoint, factor->gain, up, err)
		&& al_factor_load(checkpoint, factor->down, &down, err)
		&& al_gemm(AL_PLAIN, AL_PLAIN, 1, al_view(down), al_view(up), 0, out, err);
}

/* ---- shared columns ---- */

/* Each head's columns times its row of the mixing matrix. */
static bool mix(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t first, struct al_matrix out, struct al_error *err)
{
	const size_t width = (size_t)factor->width;
	AL_OWNED struct al_matrix mixing = {0};

	if (!al_factor_load(checkpoint, factor->mixing, &mixing, err))
		return false;
	for (size_t j = 0; j < out.cols; j++)
		for (size_t i = 0; i < out.rows; i++)
			out.data[i + j * out.ld] *=
				mixing.data[(size_t)first + j / width + j % width * mixing.ld];
	return true;
}

bool al_factor_read(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t first, int64_t n, struct al_matrix out, struct al_error *err)
{
	if (first < 0 || n < 0 || first + n > factor->heads || out.rows != (size_t)factor->rows
		|| out.cols != (size_t)(n * factor->width))
		return al_fail(err, AL_EINPUT, "heads %lld to %lld of %lld into a %zu x %zu matrix",
			(long long)first, (long long)(first + n), (long long)factor->heads,
			out.rows, out.cols);
	if (factor->down)
		return read_composed(checkpoint, factor, first, n, out, err);
	return read_heads(checkpoint, factor, factor->rows, first, n, out, err)
		&& (!factor->mixing || mix(checkpoint, factor, first, out, err));
}

bool al_factor_load(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	struct al_matrix *out, struct al_error *err)
{
	*out = (struct al_matrix){0};
	if (factor->n_runs == 0)
		return true;
	if (!al_matrix_init(out, (size_t)factor->rows, (size_t)(factor->heads * factor->width),
		    err))
		return false;
	if (al_factor_read(checkpoint, factor, 0, factor->heads, *out, err)
		&& al_factor_check_finite(factor, al_matrix_count_not_finite(al_view(*out)), err))
		return true;
	al_matrix_finish(out);
	return false;
}

/* ---- which tensors a module is stored in ---- */

static void mark_factor(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	bool mark, bool *is_marked)
{
	for (size_t i = 0; i < factor->n_runs; i++) {
		is_marked[factor->runs[i].tensor - checkpoint->tensors] = mark;
		if (factor->runs[i].scale)
			is_marked[factor->runs[i].scale - checkpoint->tensors] = mark;
	}
	if (factor->gain)
		is_marked[factor->gain - checkpoint->tensors] = mark;
	if (factor->down)
		mark_factor(checkpoint, factor->down, mark, is_marked);
	if (factor->mixing)
		mark_factor(checkpoint, factor->mixing, mark, is_marked);
}

void al_attention_mark_weights(const struct al_checkpoint *checkpoint,
	const struct al_attention *attention, bool mark, bool *is_marked)
{
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		mark_factor(checkpoint, &attention->factors[p], mark, is_marked);
}

void al_attention_mark_tensors(const struct al_checkpoint *checkpoint,
	const struct al_attention *attention, bool mark, bool *is_marked)
{
	al_attention_mark_weights(checkpoint, attention, mark, is_marked);
	for (int p = 0; p < AL_N_PROJECTIONS; p++)
		mark_factor(checkpoint, &attention->biases[p], mark, is_marked);
	if (attention->norm)
		is_marked[attention->norm - checkpoint->tensors] = mark;
	if (attention->norm_bias)
		is_marked[attention->norm_bias - checkpoint->tensors] = mark;
}
