/* Tensors in memory. */
#include "formats/arrays.h"

#include "base/file.h"
#include "formats/layout.h"
#include "formats/safetensors.h"

/* ---- given ---- */

static bool check_dims(const struct al_array *array, struct al_error *err)
{
	if (array->n_dims > AL_LAYOUT_MOST_DIMS)
		return al_fail(err, AL_EINPUT, "has %zu dimensions, expected at most %d",
			array->n_dims, AL_LAYOUT_MOST_DIMS);
	if (array->n_dims > 0 && !array->shape)
		return al_fail(err, AL_EINPUT, "has no shape");
	for (size_t i = 0; i < array->n_dims; i++)
		if (array->shape[i] < 0 || (array->strides && array->strides[i] < 0))
			return al_fail(err, AL_EINPUT,
				"its dimension %zu has %" PRId64 " elements, %" PRId64
				" apart, expected no negative number",
				i, array->shape[i], array->strides ? array->strides[i] : 1);
	return true;
}

/* Are all of its numbers, by the strides, within reach? */
static bool check_reach(const struct al_array *array, const struct al_tensor *tensor,
	struct al_error *err)
{
	const size_t bytes = tensor->dtype->block_bytes;
	int64_t span;
	uint64_t reach;

	if (!array->data && tensor->n_elements > 0)
		return al_fail(err, AL_EINPUT, "its data are NULL");
	if (!array->strides)
		return true;
	if (tensor->dtype->block_elements > 1)
		return al_fail(err, AL_EINPUT, "%s is stored in blocks: it takes no strides",
			array->dtype);
	return (al_layout_span(array->shape, array->strides, array->n_dims, &span)
		       && !__builtin_mul_overflow((uint64_t)span, bytes, &reach)
		       && reach <= PTRDIFF_MAX)
		|| al_fail(err, AL_EINPUT, "its strides reach beyond what memory can hold");
}

static bool claim(const struct al_array *array, struct al_tensor *tensor, struct al_error *err)
{
	const char *name = array->name;

	if (!name || !*name || strcmp(name, "__metadata__") == 0
		|| al_utf8_valid(name, strlen(name)) < strlen(name))
		return al_fail(err, AL_EINPUT, "expected a name in UTF-8");
	*tensor = (struct al_tensor){.name = name,
		.shape = array->shape,
		.n_dims = array->n_dims,
		.dtype = array->dtype ? al_dtype_stored(array->dtype) : NULL};
	if (!tensor->dtype)
		return al_fail(err, AL_EINPUT,
			"unknown dtype \"%.40s\", expected a name of safetensors, as F32 or BF16",
			array->dtype ? array->dtype : "NULL");
	if (!check_dims(array, err))
		return false;
	if (!al_multiply_dims(1, array->shape, array->n_dims, &tensor->n_elements)
		|| !al_dtype_size(tensor->dtype, tensor->n_elements, &tensor->bytes)
		|| tensor->bytes > PTRDIFF_MAX)
		return al_fail(err, AL_EINPUT, "memory can't hold so many elements");
	return check_reach(array, tensor, err);
}

static void free_packed(void *bytes)
{
	free(bytes);
}

static bool add_data(struct al_mounted *file, const struct al_array *array,
	const struct al_tensor *tensor, struct al_error *err)
{
	struct al_mount *mount = al_mount_now();
	const void *data = array->data;
	struct al_layout layout = {.strides = array->strides};
	struct al_tensor strided = *tensor;

	strided.layout = &layout;
	if (array->strides && !al_layout_is_in_order(&strided)) {
		void *packed = al_try_calloc(tensor->bytes, 1, err);
		if (!packed)
			return false;
		al_arena_defer(&mount->arena, free_packed, packed);
		al_layout_gather(&strided, data, packed);
		data = packed;
	}
	al_mounted_add(mount, file, data, (size_t)tensor->bytes);
	return true;
}

static bool add_header(struct al_mounted *file, const struct al_tensor *tensors, size_t n,
	struct al_error *err)
{
	struct al_mount *mount = al_mount_now();
	AL_TEXT(header);
	uint64_t bytes, *length = al_new(&mount->arena, uint64_t);

	if (!al_safetensors_add_header(&header, tensors, n, NULL, 0, &bytes, err))
		return false;
	*length = header.length;
	al_mounted_add(mount, file, length, sizeof(*length));
	al_mounted_add(mount, file, al_strndup(&mount->arena, header.data, header.length),
		header.length);
	return true;
}

static bool add_arrays(struct al_mounted *file, const struct al_arrays *arrays,
	struct al_error *err)
{
	struct al_tensor *tensors = al_new_array(&al_mount_now()->arena, struct al_tensor,
		arrays->n + 1);

	for (size_t i = 0; i < arrays->n; i++)
		if (!claim(&arrays->items[i], &tensors[i], err))
			return al_in(err, "tensor %zu (\"%.120s\")", i,
				arrays->items[i].name ? arrays->items[i].name : "NULL");
	if (!add_header(file, tensors, arrays->n, err))
		return false;
	for (size_t i = 0; i < arrays->n; i++)
		if (!add_data(file, &arrays->items[i], &tensors[i], err))
			return false;
	return true;
}

bool al_arrays_mount(const struct al_arrays *arrays, struct al_error *err)
{
	struct al_mount *mount = al_mount_now();

	if (!arrays->items || arrays->n == 0)
		return al_fail(err, AL_EINPUT, "%s: expected tensors", arrays->name);
	const char *folder = al_mount_add(mount, arrays->name)->path;
	mount->items[mount->n - 1]->hides_folder = true;
	const char *path = al_path_join(&mount->arena, folder, "model.safetensors");
	if (!add_arrays(al_mount_add(mount, path), arrays, err))
		return al_in(err, "%s", folder);
	if (arrays->config)
		al_mounted_add(mount,
			al_mount_add(mount, al_path_join(&mount->arena, folder, "config.json")),
			arrays->config, strlen(arrays->config));
	return true;
}

/* ---- written ---- */

static struct al_array *copy_tensors(const struct al_checkpoint *checkpoint, const char *bytes,
	struct al_arena *arena)
{
	struct al_array *arrays = al_new_array(arena, struct al_array, checkpoint->n_tensors + 1);

	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		int64_t *shape = al_new_array(arena, int64_t, tensor->n_dims + 1);
		for (size_t j = 0; j < tensor->n_dims; j++)
			shape[j] = tensor->shape[j];
		arrays[i] = (struct al_array){.name = al_strdup(arena, tensor->name),
			.dtype = tensor->dtype->stored,
			.n_dims = tensor->n_dims,
			.shape = shape,
			.data = bytes + tensor->offset};
	}
	return arrays;
}

bool al_arrays_read(const char *path, struct al_arena *arena, const struct al_array **out,
	size_t *n, struct al_error *err)
{
	struct al_checkpoint checkpoint;

	if (!al_checkpoint_open(&checkpoint, path, err))
		return false;
	const bool ok = strcmp(checkpoint.shards[0].format, "safetensors") == 0
		|| al_fail(err, AL_EINPUT, "%s: is not a safetensors file", path);
	if (ok) {
		*out = copy_tensors(&checkpoint, al_mount_find(path)->content.data, arena);
		*n = checkpoint.n_tensors;
	}
	al_checkpoint_close(&checkpoint);
	return ok;
}
