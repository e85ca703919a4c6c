/* Tensors laid out as they are read. */
#include "formats/layout.h"

#include <pthread.h>

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

void al_layout_fortran(const int64_t *shape, size_t n_dims, int64_t *strides)
{
	strides[0] = 1;
	for (size_t i = 1; i < n_dims; i++)
		/* a product that wraps is refused where the tensor is added */
		strides[i] = (int64_t)((uint64_t)strides[i - 1] * (uint64_t)shape[i - 1]);
}

uint64_t al_layout_work(const struct al_tensor *tensor)
{
	int64_t span;
	uint64_t work;

	if (!tensor->layout->strides)
		return tensor->bytes;
	return al_layout_span(tensor->shape, tensor->layout->strides, tensor->n_dims, &span)
			&& !__builtin_mul_overflow((uint64_t)span, tensor->dtype->block_bytes,
				&work)
		? work
		: UINT64_MAX;
}

/* ---- in order ---- */

bool al_layout_is_in_order(const struct al_tensor *tensor)
{
	const int64_t *strides = tensor->layout->strides;
	uint64_t expected = 1; /* a product that wraps is refused with the tensor */

	for (size_t i = tensor->n_dims; i-- > 0 && tensor->bytes > 0;) {
		if (tensor->shape[i] > 1 && (uint64_t)strides[i] != expected)
			return false;
		expected *= (uint64_t)tensor->shape[i];
	}
	return true;
}

static void gather(const struct al_tensor *tensor, size_t dim, const unsigned char *from,
	unsigned char **out)
{
	const size_t size = tensor->dtype->block_bytes;

	if (dim == tensor->n_dims) {
		memcpy(*out, from, size);
		*out += size;
		return;
	}
	for (int64_t i = 0; i < tensor->shape[dim]; i++)
		gather(tensor, dim + 1, from + (size_t)(i * tensor->layout->strides[dim]) * size,
			out);
}

void al_layout_gather(const struct al_tensor *tensor, const void *from, void *out)
{
	unsigned char *end = out;

	gather(tensor, 0, from, &end);
}

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

/* Reads the tensor at its place, and puts its numbers aside in order. */
static bool put_in_order(const struct al_tensor *tensor, struct al_spill *aside,
	struct al_place *place, struct al_error *err)
{
	const uint64_t work = al_layout_work(tensor);
	AL_FREED unsigned char *from = al_try_calloc(work, 1, err);
	AL_FREED unsigned char *numbers = from ? al_try_calloc(tensor->bytes, 1, err) : NULL;

	if (!numbers || !al_source_read(place->source, place->offset, from, (size_t)work, err))
		return false;
	if (tensor->layout->strides)
		al_layout_gather(tensor, from, numbers);
	else
		memcpy(numbers, from, (size_t)work);
	if (tensor->layout->is_swapped)
		al_swap_numbers(numbers, (size_t)tensor->n_elements, tensor->dtype);
	place->source = &aside->source;
	return al_spill_put(aside, numbers, (size_t)tensor->bytes, &place->offset, err);
}

/* ---- aside ---- */

static bool open_aside(const struct al_checkpoint *checkpoint, struct al_laid *laid,
	struct al_error *err)
{
	return laid->aside.is_open || al_spill_open(&laid->aside, NULL, err)
		|| al_in(err, "can't unpack the tensors of %s there", checkpoint->path);
}

bool al_layout_make_room(const struct al_checkpoint *checkpoint, uint64_t length, uint64_t *at,
	struct al_error *err)
{
	struct al_laid *laid = checkpoint->laid;

	if (!open_aside(checkpoint, laid, err))
		return false;
	*at = laid->aside.source.bytes;
	laid->aside.source.bytes += length;
	return true;
}

bool al_layout_put_aside(const struct al_checkpoint *checkpoint, uint64_t at, const void *bytes,
	size_t length, struct al_error *err)
{
	return al_spill_put_at(&checkpoint->laid->aside, at, bytes, length, err);
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

/* ---- made of another tensor ---- */

static void gather_made(const struct al_made *made, const double *from, double *out)
{
	struct al_layout layout = {.strides = made->strides};

	al_layout_gather(&(struct al_tensor){.dtype = al_dtype_named("f64"),
				 .shape = made->shape,
				 .n_dims = made->n_dims,
				 .layout = &layout},
		from, out);
}

static bool make(const struct al_tensor *tensor, struct al_spill *aside, struct al_place *place,
	struct al_error *err)
{
	const struct al_made *made = tensor->layout->made;
	const size_t n = (size_t)tensor->n_elements;
	AL_FREED double *from = al_try_calloc(n, sizeof(*from), err);
	AL_FREED double *out = from ? al_try_calloc(n, sizeof(*out), err) : NULL;
	const struct al_selection all = {.run = tensor->n_elements, .n_runs = 1};

	if (!out
		|| (!made->numbers
			&& !al_tensor_read_double(made->checkpoint, made->tensor, &all, from, n,
				err)))
		return false;
	if (made->numbers)
		memcpy(out, made->numbers, n * sizeof(*out));
	else if (made->n_dims > 0)
		gather_made(made, from, out);
	else
		memcpy(out, from, n * sizeof(*out));
	for (size_t i = 0; i < n; i++)
		out[i] += made->plus;
	tensor->dtype->from_double(out, n, (unsigned char *)from);
	place->source = &aside->source;
	return al_spill_put(aside, from, (size_t)tensor->bytes, &place->offset, err);
}

/* Its bytes are the other tensor's. */
static bool is_renamed(const struct al_tensor *tensor)
{
	const struct al_made *made = tensor->layout ? tensor->layout->made : NULL;

	return made && !made->numbers && made->n_dims == 0 && made->plus == 0
		&& made->tensor->dtype == tensor->dtype;
}

static bool lay_out(const struct al_checkpoint *checkpoint, struct al_laid *laid,
	const struct al_tensor *tensor, struct al_place *place, struct al_error *err)
{
	struct al_layout *layout = tensor->layout;

	if (!open_aside(checkpoint, laid, err)
		|| (layout->archive && !unpack(laid, layout, place, err))
		|| (layout->made && !make(tensor, &laid->aside, place, err))
		|| ((layout->strides || layout->is_swapped)
			&& !put_in_order(tensor, &laid->aside, place, err)))
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

	if (is_renamed(tensor))
		return al_tensor_place(layout->made->checkpoint, layout->made->tensor, place, err);
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
