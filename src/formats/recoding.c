/* Tensors in other number formats than their own. */
#include "formats/recoding.h"

#include "formats/layout.h"

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

static bool round_numbers(const struct al_tensor *own, const struct al_dtype *dtype,
	double *numbers, size_t n, unsigned char *bytes, struct al_error *err)
{
	dtype->from_double(numbers, n, bytes);
	dtype->to_double(bytes, n, numbers);
	return al_count_not_finite(numbers, n) == 0
		|| al_fail(err, AL_EINPUT, "%s can't represent the numbers of tensor %s",
			al_dtype_title(dtype), own->name);
}

static bool put_aside(struct al_checkpoint *checkpoint, const struct al_tensor *own,
	struct copy *copy, struct al_error *err)
{
	AL_FREED double *numbers = al_alloc(NUMBERS, sizeof(*numbers));
	AL_FREED unsigned char *bytes = al_alloc(NUMBERS, sizeof(double));
	const struct al_dtype *dtype = copy->dtype;
	uint64_t at;

	for (int64_t first = 0; first < own->n_elements; first += NUMBERS) {
		const int64_t left = own->n_elements - first, n = left < NUMBERS ? left : NUMBERS;
		const struct al_selection some = {.first = first, .run = n, .n_runs = 1};
		const size_t length = (size_t)n / dtype->block_elements * dtype->block_bytes;
		if (!al_tensor_read_double(checkpoint, own, &some, numbers, (size_t)n, err)
			|| !round_numbers(own, dtype, numbers, (size_t)n, bytes, err)
			|| !al_layout_put_aside(checkpoint, bytes, length, &at, err))
			return false;
		if (first == 0)
			copy->layout->aside_at = at;
		copy->bytes += length;
	}
	return true;
}

static bool make_copy(struct al_checkpoint *checkpoint, struct al_recoded_tensor *tensor,
	const struct al_dtype *dtype, struct copy **out, struct al_error *err)
{
	struct copy *copy = al_new(&checkpoint->arena, struct copy);

	copy->dtype = dtype;
	copy->layout = al_layout_add(checkpoint, &(struct al_layout){.is_aside = true});
	if (!put_aside(checkpoint, &tensor->own, copy, err))
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
