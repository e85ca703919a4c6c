/* Tensors laid out as they are read. */
#include "formats/layout.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* What a checkpoint put aside. */
struct al_laid {
	pthread_mutex_t mutex;
	struct al_spill aside;
};

/* ---- strides ---- */

bool al_layout_span(const int64_t *shape, const int64_t *strides, size_t n_dims, int64_t *span)
{
	*span = 1;
	for (size_t i = 0; i < n_dims; i++) {
		int64_t reach;
		if (shape[i] == 0) {
			*span = 0;
			return true;
		}
		if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach)
			|| __builtin_add_overflow(*span, reach, span))
			return false;
	}
	return true;
}

const int64_t *al_layout_fortran(struct al_arena *arena, const int64_t *shape, size_t n_dims)
{
	int64_t *strides = al_new_array(arena, int64_t, n_dims + 1);

	strides[0] = 1;
	for (size_t i = 1; i < n_dims; i++)
		/* a product that wraps is refused where the tensor is added */
		strides[i] = (int64_t)((uint64_t)strides[i - 1] * (uint64_t)shape[i - 1]);
	return strides;
}

/* ---- the other order ---- */

/* A tensor whose numbers are brought in order, some of its outermost rows at a time. `fast` is the
 * dimension whose numbers lie closest: they are read side by side. */
struct sorting {
	const struct al_tensor *tensor;
	const int64_t *strides;
	struct al_place from;
	size_t size, fast; /* size: bytes of a number */
	int64_t row; /* numbers in one step of the first dimension */
	int64_t steps[AL_LAYOUT_MOST_DIMS]; /* of each dimension, in the order wanted */
	int64_t first, n; /* of the first dimension, now */
	unsigned char *run, *out;
};

enum { PANEL = 1 << 25 };

/* The numbers along the fast dimension, from these places on. */
static bool sort_run(const struct sorting *s, int64_t from, int64_t to, struct al_error *err)
{
	const int64_t n = s->fast == 0 ? s->n : s->tensor->shape[s->fast];
	const int64_t stride = s->strides[s->fast], step = s->steps[s->fast];
	const size_t size = s->size;

	if (!al_source_read(s->from.source, s->from.offset + (uint64_t)from * size, s->run,
		    (size_t)((n - 1) * stride + 1) * size, err))
		return false;
	for (int64_t i = 0; i < n; i++)
		memcpy(s->out + (size_t)(to + i * step) * size,
			s->run + (size_t)(i * stride) * size, size);
	return true;
}

/* All runs of the rows at hand, dimension by dimension. */
static bool sort_dims(const struct sorting *s, size_t dim, int64_t from, int64_t to,
	struct al_error *err)
{
	if (dim == s->tensor->n_dims)
		return sort_run(s, from, to, err);
	if (dim == s->fast)
		return sort_dims(s, dim + 1, from, to, err);
	const int64_t n = dim == 0 ? s->n : s->tensor->shape[dim];
	for (int64_t i = 0; i < n; i++)
		if (!sort_dims(s, dim + 1, from + i * s->strides[dim], to + i * s->steps[dim], err))
			return false;
	return true;
}

static bool sort_rows(struct sorting *s, struct al_spill *out, struct al_error *err)
{
	const int64_t n_rows = s->tensor->shape[0];
	uint64_t at;

	for (s->first = 0; s->first < n_rows; s->first += s->n) {
		const int64_t left = n_rows - s->first,
			      most = PANEL / (s->row * (int64_t)s->size) + 1;
		s->n = left < most ? left : most;
		if (!sort_dims(s, 0, s->first * s->strides[0], 0, err)
			|| !al_spill_put(out, s->out, (size_t)(s->n * s->row) * s->size, &at, err))
			return false;
	}
	return true;
}

static void prepare(struct sorting *s)
{
	const struct al_tensor *tensor = s->tensor;

	s->row = 1;
	s->fast = 0;
	for (size_t i = tensor->n_dims; i-- > 0;) {
		s->steps[i] = s->row;
		s->row *= i > 0 ? tensor->shape[i] : 1;
		if (tensor->shape[s->fast] == 1
			|| (tensor->shape[i] > 1 && s->strides[i] < s->strides[s->fast]))
			s->fast = i;
	}
}

uint64_t al_layout_work(const struct al_tensor *tensor)
{
	struct sorting s = {.tensor = tensor, .strides = tensor->layout->strides};
	uint64_t work;

	if (!s.strides || tensor->n_elements == 0)
		return tensor->bytes;
	prepare(&s);
	const int64_t length = tensor->shape[s.fast], run = (length - 1) * s.strides[s.fast] + 1;
	if (__builtin_mul_overflow((uint64_t)(tensor->n_elements / length), (uint64_t)run, &work)
		|| __builtin_mul_overflow(work, tensor->dtype->block_bytes, &work))
		return UINT64_MAX;
	return work;
}

static bool sort_numbers(const struct al_tensor *tensor, struct al_place from, struct al_spill *out,
	struct al_error *err)
{
	struct sorting s = {.tensor = tensor,
		.strides = tensor->layout->strides,
		.from = from,
		.size = tensor->dtype->block_bytes};

	prepare(&s);
	const int64_t rows = PANEL / (s.row * (int64_t)s.size) + 1,
		      most = rows < tensor->shape[0] ? rows : tensor->shape[0],
		      longest = s.fast == 0 ? most : tensor->shape[s.fast];
	s.out = al_try_calloc((size_t)(most * s.row), s.size, err);
	s.run = s.out ? al_try_calloc((size_t)((longest - 1) * s.strides[s.fast] + 1), s.size, err)
		      : NULL;
	const bool ok = s.run && sort_rows(&s, out, err);
	free(s.run);
	free(s.out);
	return ok;
}

/* ---- the other end first ---- */

static void swap(unsigned char *bytes, size_t n, size_t size)
{
	for (; n > 0; n--, bytes += size)
		for (size_t i = 0; i < size / 2; i++) {
			const unsigned char byte = bytes[i];
			bytes[i] = bytes[size - 1 - i];
			bytes[size - 1 - i] = byte;
		}
}

void al_swap_numbers(void *bytes, size_t n, const struct al_dtype *dtype)
{
	/* a complex number is two */
	const size_t parts = strcmp(al_dtype_title(dtype), "C64") == 0 ? 2 : 1;

	swap(bytes, n * parts, dtype->block_bytes / parts);
}

static bool swap_all(const struct al_tensor *tensor, struct al_place from, struct al_spill *out,
	struct al_error *err)
{
	unsigned char *block = al_alloc(AL_BLOCK_BYTES, 1);
	const size_t size = tensor->dtype->block_bytes;
	bool ok = true;
	uint64_t at;

	for (uint64_t done = 0; ok && done < tensor->bytes; done += AL_BLOCK_BYTES) {
		const uint64_t left = tensor->bytes - done;
		const size_t now = left < AL_BLOCK_BYTES ? (size_t)left : AL_BLOCK_BYTES;
		ok = al_source_read(from.source, from.offset + done, block, now, err);
		if (ok)
			al_swap_numbers(block, now / size, tensor->dtype);
		ok = ok && al_spill_put(out, block, now, &at, err);
	}
	free(block);
	return ok;
}

/* ---- aside ---- */

static const char *temporary_path(struct al_arena *arena)
{
	const char *folder = getenv("TMPDIR");

	return al_format(arena, "%s/attnledger", folder && *folder ? folder : "/tmp");
}

static bool open_aside(const struct al_checkpoint *checkpoint, struct al_laid *laid,
	struct al_error *err)
{
	struct al_arena scratch;

	if (laid->aside.is_open)
		return true;
	al_arena_init(&scratch);
	const bool ok = al_spill_open(&laid->aside, temporary_path(&scratch), err);
	al_arena_finish(&scratch);
	return ok || al_in(err, "%s: its tensors are unpacked there", checkpoint->path);
}

static bool unpack(struct al_laid *laid, struct al_layout *layout, struct al_place *place,
	struct al_error *err)
{
	struct al_member *member = &layout->archive->members[layout->member];

	if (!member->is_aside)
		member->is_aside = layout->archive->unpack(layout->archive, layout->member,
			&laid->aside, &member->aside_at, err);
	*place = (struct al_place){&laid->aside.source, member->aside_at + layout->offset};
	return member->is_aside;
}

/* A step of bringing a tensor in order: from there to the end of what is aside. */
typedef bool step(const struct al_tensor *tensor, struct al_place from, struct al_spill *out,
	struct al_error *err);

static bool take_step(struct al_laid *laid, const struct al_tensor *tensor, step *to_do,
	struct al_place *place, struct al_error *err)
{
	const struct al_place from = *place;

	*place = (struct al_place){&laid->aside.source, laid->aside.source.bytes};
	return to_do(tensor, from, &laid->aside, err);
}

static bool lay_out(const struct al_checkpoint *checkpoint, struct al_laid *laid,
	const struct al_tensor *tensor, struct al_place *place, struct al_error *err)
{
	struct al_layout *layout = tensor->layout;

	if (!open_aside(checkpoint, laid, err)
		|| (layout->archive && !unpack(laid, layout, place, err))
		|| (layout->strides && !take_step(laid, tensor, sort_numbers, place, err))
		|| (layout->is_swapped && !take_step(laid, tensor, swap_all, place, err)))
		return false;
	layout->is_aside = true;
	layout->aside_at = place->offset;
	return true;
}

bool al_tensor_place(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct al_place *place, struct al_error *err)
{
	struct al_layout *layout = tensor->layout;
	struct al_laid *laid = checkpoint->laid;
	bool ok = true;

	*place = (struct al_place){&checkpoint->shards[tensor->shard].source,
		layout ? layout->offset : tensor->offset};
	if (!layout || tensor->n_elements == 0)
		return true;
	pthread_mutex_lock(&laid->mutex);
	if (layout->is_aside)
		*place = (struct al_place){&laid->aside.source, layout->aside_at};
	else
		ok = lay_out(checkpoint, laid, tensor, place, err);
	pthread_mutex_unlock(&laid->mutex);
	return ok;
}

/* ---- of a checkpoint ---- */

struct al_layout *al_layout_add(struct al_checkpoint *checkpoint, const struct al_layout *layout)
{
	struct al_layout *copy = al_new(&checkpoint->arena, struct al_layout);

	if (!checkpoint->laid) {
		checkpoint->laid = al_new(&checkpoint->arena, struct al_laid);
		pthread_mutex_init(&checkpoint->laid->mutex, NULL);
	}
	*copy = *layout;
	return copy;
}

void al_layouts_close(struct al_checkpoint *checkpoint)
{
	for (size_t i = 0; i < checkpoint->n_shards; i++)
		if (checkpoint->shards[i].archive)
			checkpoint->shards[i].archive->close(checkpoint->shards[i].archive);
	if (!checkpoint->laid)
		return;
	al_spill_close(&checkpoint->laid->aside);
	pthread_mutex_destroy(&checkpoint->laid->mutex);
}
