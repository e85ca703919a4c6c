/* Numbers from a checkpoint, in blocks; and how many of them are NaN or infinite. */
#include <assert.h>

#include "formats/layout.h"

/* A gap between runs that is cheaper to read than to skip. */
enum { GAP_BYTES = 4096 };

struct al_selection al_select_all(const struct al_tensor *tensor)
{
	return (struct al_selection){.run = tensor->n_elements, .n_runs = 1};
}

struct al_selection al_select_block(const struct al_tensor *tensor, int64_t first_row,
	int64_t n_rows, int64_t first_column, int64_t n_columns)
{
	int64_t width = tensor->n_dims ? tensor->shape[tensor->n_dims - 1] : 1;

	assert(first_column >= 0 && n_columns >= 0 && n_columns <= width - first_column);
	assert(first_row >= 0 && n_rows >= 0
		&& (!width || first_row <= tensor->n_elements / width));
	return (struct al_selection){.first = first_row * width + first_column,
		.run = n_columns,
		.n_runs = n_rows,
		.stride = width};
}

/* The part of a tensor that is in memory: elements [first, first + n). */
struct window {
	struct al_place place;
	const struct al_tensor *tensor;
	unsigned char *bytes;
	int64_t room, first, n;
};

/* Makes the block of element `at` the first of the window where it isn't in it; up to `limit` is of
 * use. */
static bool show(struct window *window, int64_t at, int64_t limit, struct al_error *err)
{
	const struct al_dtype *dtype = window->tensor->dtype;
	const int64_t block = (int64_t)dtype->block_elements;

	if (at >= window->first && at < window->first + window->n)
		return true;
	window->first = at - at % block;
	const int64_t n = (limit + block - 1) / block * block - window->first;
	window->n = al_least(n, window->room);
	return al_source_read(window->place.source,
		window->place.offset + (uint64_t)(window->first / block) * dtype->block_bytes,
		window->bytes, (size_t)(window->n / block) * dtype->block_bytes, err);
}

/* Destination of the numbers: one of the two is set. */
struct target {
	double *doubles;
	float *floats;
};

static void convert(const struct al_dtype *dtype, const unsigned char *bytes, size_t n,
	const struct target *target, size_t at)
{
	if (target->doubles)
		dtype->to_double(bytes, n, target->doubles + at);
	else
		dtype->to_float(bytes, n, target->floats + at);
}

/* Elements [first, first + n) of neighboring blocks; where they begin or end within one, whole
 * ones are converted elsewhere. */
static void convert_blocks(const struct al_dtype *dtype, const unsigned char *bytes, size_t first,
	size_t n, const struct target *target, size_t at)
{
	const size_t block = dtype->block_elements, within = first % block;
	const size_t all = (within + n + block - 1) / block * block;

	bytes += first / block * dtype->block_bytes;
	if (all == n) {
		convert(dtype, bytes, n, target, at);
		return;
	}
	const size_t size = target->doubles ? sizeof(double) : sizeof(float);
	AL_FREED char *memory = al_alloc(all, size);
	const struct target elsewhere = {.doubles = target->doubles ? (void *)memory : NULL,
		.floats = (void *)memory};
	convert(dtype, bytes, all, &elsewhere, 0);
	memcpy(target->doubles ? (void *)(target->doubles + at) : target->floats + at,
		memory + within * size, n * size);
}

static bool read_run(struct window *window, int64_t first, int64_t n, int64_t limit,
	const struct target *target, size_t at, struct al_error *err)
{
	const struct al_dtype *dtype = window->tensor->dtype;

	while (n > 0) {
		if (!show(window, first, limit, err))
			return false;
		int64_t here = window->first + window->n - first;
		here = al_least(here, n);
		convert_blocks(dtype, window->bytes, (size_t)(first - window->first), (size_t)here,
			target, at);
		first += here;
		n -= here;
		at += (size_t)here;
	}
	return true;
}

static bool read_runs(struct window *window, const struct al_selection *s,
	const struct target *target, size_t leading, struct al_error *err)
{
	const struct al_dtype *dtype = window->tensor->dtype;
	const int64_t gap = GAP_BYTES * (int64_t)dtype->block_elements
		/ (int64_t)dtype->block_bytes;
	bool skips = s->stride < s->run || s->stride - s->run > gap;
	int64_t last = s->first + (s->n_runs - 1) * s->stride + s->run;

	for (int64_t i = 0; i < s->n_runs; i++) {
		int64_t first = s->first + i * s->stride;
		int64_t limit = skips ? first + s->run : last;
		if (!read_run(window, first, s->run, limit, target, (size_t)i * leading, err))
			return false;
	}
	return true;
}

static bool is_within(const struct al_tensor *tensor, const struct al_selection *s)
{
	int64_t last;

	return s->first >= 0 && s->run >= 0 && s->n_runs >= 0 && s->stride >= 0
		&& (s->n_runs == 0
			|| (!__builtin_mul_overflow(s->n_runs - 1, s->stride, &last)
				&& !__builtin_add_overflow(last, s->first, &last)
				&& !__builtin_add_overflow(last, s->run, &last)
				&& last <= tensor->n_elements));
}

static bool check_read(const struct al_tensor *tensor, const struct al_selection *selection,
	struct al_error *err)
{
	if (!tensor->dtype->to_double)
		return al_fail(err, AL_EINPUT, "numbers of type %s can't be read",
			al_dtype_title(tensor->dtype));
	if (!is_within(tensor, selection))
		return al_fail(err, AL_EINPUT,
			"%lld runs of %lld elements from element %lld exceed its %lld",
			(long long)selection->n_runs, (long long)selection->run,
			(long long)selection->first, (long long)tensor->n_elements);
	return true;
}

static bool read_by_window(const struct al_place *place, const struct al_tensor *tensor,
	const struct al_selection *selection, const struct target *target, size_t leading,
	struct al_error *err)
{
	const size_t room = (size_t)al_least(tensor->bytes, AL_BLOCK_BYTES);
	AL_FREED unsigned char *bytes = al_alloc(room, 1);
	struct window window = {.place = *place,
		.tensor = tensor,
		.room = AL_BLOCK_BYTES / (int64_t)tensor->dtype->block_bytes
			* (int64_t)tensor->dtype->block_elements,
		.bytes = bytes};

	return read_runs(&window, selection, target, leading, err);
}

static bool read_numbers(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	const struct al_selection *selection, const struct target *target, size_t leading,
	struct al_error *err)
{
	struct al_place place;

	if (!check_read(tensor, selection, err)
		|| !al_tensor_place(checkpoint, tensor, &place, err))
		return al_in(err, "tensor \"%.120s\"", tensor->name);
	assert(selection->n_runs < 2 || leading >= (size_t)selection->run);
	return read_by_window(&place, tensor, selection, target, leading, err)
		|| al_in(err, "tensor \"%.120s\"", tensor->name);
}

bool al_tensor_read_double(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	const struct al_selection *selection, double *out, size_t leading, struct al_error *err)
{
	return read_numbers(checkpoint, tensor, selection, &(struct target){.doubles = out},
		leading, err);
}

bool al_tensor_read_float(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	const struct al_selection *selection, float *out, size_t leading, struct al_error *err)
{
	return read_numbers(checkpoint, tensor, selection, &(struct target){.floats = out}, leading,
		err);
}

bool al_tensor_read_bytes(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	uint64_t first, void *out, size_t length, struct al_error *err)
{
	struct al_place place;

	if (first > tensor->bytes || length > tensor->bytes - first)
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": %zu bytes from byte %llu exceed its %llu", tensor->name,
			length, (unsigned long long)first, (unsigned long long)tensor->bytes);
	return (al_tensor_place(checkpoint, tensor, &place, err)
		       && al_source_read(place.source, place.offset + first, out, length, err))
		|| al_in(err, "tensor \"%.120s\"", tensor->name);
}

char *al_shape_text(struct al_arena *arena, const int64_t *shape, size_t n_dims)
{
	AL_TEXT(text);

	if (n_dims == 0)
		return al_strdup(arena, "scalar");
	for (size_t i = 0; i < n_dims; i++)
		al_text_addf(&text, "%s%lld", i ? " x " : "", (long long)shape[i]);
	return al_strdup(arena, text.data);
}

/* ---- NaN and infinite numbers ---- */

enum { NUMBERS_AT_ONCE = 32 * 1024, MOST_NAMES = 3 };

bool al_check_not_finite(int64_t n_not_finite, int64_t n, const char *tensor, struct al_error *err)
{
	return n_not_finite == 0
		|| al_fail(err, AL_ENOTFINITE,
			"%" PRId64 " of %" PRId64 " numbers of %s are NaN or infinite",
			n_not_finite, n, tensor);
}

int64_t al_count_not_finite(const double *numbers, size_t n)
{
	int64_t n_not_finite = 0;

	for (size_t i = 0; i < n; i++)
		n_not_finite += isfinite(numbers[i]) ? 0 : 1;
	return n_not_finite;
}

/* How many of a tensor's numbers are NaN or infinite, read in blocks; 0 where its number format has
 * no conversion. */
static bool tensor_count_not_finite(const struct al_checkpoint *checkpoint,
	const struct al_tensor *tensor, int64_t *n, struct al_error *err)
{
	AL_FREED double *numbers = al_alloc(NUMBERS_AT_ONCE, sizeof(*numbers));

	*n = 0;
	for (int64_t first = 0; tensor->dtype->to_double && first < tensor->n_elements;
		first += NUMBERS_AT_ONCE) {
		const int64_t left = tensor->n_elements - first;
		const struct al_selection block = {.first = first,
			.n_runs = 1,
			.run = al_least(left, NUMBERS_AT_ONCE)};
		if (!al_tensor_read_double(checkpoint, tensor, &block, numbers, NUMBERS_AT_ONCE,
			    err))
			return false;
		*n += al_count_not_finite(numbers, (size_t)block.run);
	}
	return true;
}

bool al_tensor_check_finite(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct al_error *err)
{
	int64_t n;

	return tensor_count_not_finite(checkpoint, tensor, &n, err)
		&& al_check_not_finite(n, tensor->n_elements, tensor->name, err);
}

bool al_tensor_read_finite(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	double *out, struct al_error *err)
{
	const struct al_selection all = al_select_all(tensor);
	const size_t n = (size_t)tensor->n_elements;

	return al_tensor_read_double(checkpoint, tensor, &all, out, n, err)
		&& al_check_not_finite(al_count_not_finite(out, n), tensor->n_elements,
			tensor->name, err);
}

bool al_checkpoint_count_not_finite(const struct al_checkpoint *checkpoint, const bool *is_counted,
	int64_t *counts, struct al_error *err)
{
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if ((!is_counted || is_counted[i])
			&& !tensor_count_not_finite(checkpoint, &checkpoint->tensors[i], &counts[i],
				err))
			return false;
	return true;
}

void al_checkpoint_note_counts(const struct al_checkpoint *checkpoint, const int64_t *counts,
	struct al_table *table)
{
	size_t n_tensors = 0;

	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if (counts[i] > 0 && n_tensors++ < MOST_NAMES)
			al_table_warn(table,
				"%s: %" PRId64 " of %" PRId64 " numbers of %s are NaN or infinite",
				checkpoint->path, counts[i], checkpoint->tensors[i].n_elements,
				checkpoint->tensors[i].name);
	if (n_tensors > MOST_NAMES)
		al_table_warn(table, "%s: NaN or infinite numbers in %zu tensors more",
			checkpoint->path, n_tensors - MOST_NAMES);
}

bool al_checkpoint_note_not_finite(const struct al_checkpoint *checkpoint, struct al_table *table,
	struct al_error *err)
{
	AL_FREED int64_t *counts = al_calloc(checkpoint->n_tensors + 1, sizeof(*counts));

	if (!al_checkpoint_count_not_finite(checkpoint, NULL, counts, err))
		return false;
	al_checkpoint_note_counts(checkpoint, counts, table);
	return true;
}
