/* Tensors in other number formats than their own. */
#include "shrink/recoding.h"

#include "formats/layout.h"
#include "linalg/linalg.h"

/* A tensor as it is in one format. */
struct copy {
	struct copy *next;
	const struct al_dtype *dtype;
	uint64_t bytes;
	struct al_layout *layout;
};

struct al_recoded_tensor {
	struct al_tensor own;
	struct copy *copies;
};

void al_recoding_init(struct al_recoding *r, struct al_checkpoint *checkpoint)
{
	*r = (struct al_recoding){checkpoint,
		al_new_array(&checkpoint->arena, struct al_recoded_tensor, checkpoint->n_tensors)};
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		r->tensors[i].own = checkpoint->tensors[i];
}

const struct al_tensor *al_recoding_own(const struct al_recoding *r, size_t tensor)
{
	return &r->tensors[tensor].own;
}

/* Numbers that are rounded at once: whole blocks of any format. */
enum { NUMBERS = 64 * AL_MOST_BLOCK_ELEMENTS };

struct rounding {
	const struct al_checkpoint *checkpoint;
	const struct al_tensor *own;
	const struct copy *copy;
};

static bool round_part(void *context, size_t part, struct al_error *err)
{
	const struct rounding *r = context;
	const struct al_dtype *dtype = r->copy->dtype;
	AL_FREED double *numbers = al_alloc(NUMBERS, sizeof(*numbers));
	AL_FREED unsigned char *bytes = al_alloc(NUMBERS, sizeof(double));
	const int64_t first = (int64_t)part * NUMBERS, left = r->own->n_elements - first;
	const size_t n = (size_t)al_least(left, NUMBERS);
	const struct al_selection some = {.first = first, .run = (int64_t)n, .n_runs = 1};

	if (!al_tensor_read_double(r->checkpoint, r->own, &some, numbers, n, err))
		return false;
	dtype->from_double(numbers, n, bytes);
	dtype->to_double(bytes, n, numbers);
	if (al_count_not_finite(numbers, n) > 0)
		return al_fail(err, AL_EINPUT, "%s can't represent the numbers of tensor %s",
			al_dtype_title(dtype), r->own->name);
	return al_layout_put_aside(r->checkpoint,
		r->copy->layout->aside_at
			+ (uint64_t)first / dtype->block_elements * dtype->block_bytes,
		bytes, n / dtype->block_elements * dtype->block_bytes, err);
}

static bool make_copy(struct al_checkpoint *checkpoint, struct al_recoded_tensor *tensor,
	const struct al_dtype *dtype, struct copy **out, struct al_error *err)
{
	struct copy *copy = al_new(&checkpoint->arena, struct copy);
	struct rounding r = {checkpoint, &tensor->own, copy};

	copy->dtype = dtype;
	copy->layout = al_layout_add(checkpoint, &(struct al_layout){.is_aside = true});
	if (!al_dtype_size(dtype, tensor->own.n_elements, &copy->bytes)
		|| !al_layout_make_room(checkpoint, copy->bytes, &copy->layout->aside_at, err)
		|| !al_parallel(((size_t)tensor->own.n_elements + NUMBERS - 1) / NUMBERS,
			round_part, &r, err))
		return false;
	copy->next = tensor->copies;
	*out = tensor->copies = copy;
	return true;
}

bool al_recoding_set(struct al_recoding *r, size_t i, const struct al_dtype *dtype,
	struct al_error *err)
{
	struct al_recoded_tensor *tensor = &r->tensors[i];
	struct al_tensor *now = &r->checkpoint->tensors[i];
	struct copy *copy = tensor->copies;

	if (!dtype || dtype == tensor->own.dtype) {
		*now = tensor->own;
		return true;
	}
	while (copy && copy->dtype != dtype)
		copy = copy->next;
	if (!copy && !make_copy(r->checkpoint, tensor, dtype, &copy, err))
		return false;
	now->dtype = dtype;
	now->bytes = copy->bytes;
	now->layout = copy->layout;
	return true;
}
