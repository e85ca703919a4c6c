/* The state dict in a file of torch.save, or in a training checkpoint that holds one. A tensor is a
 * view of a storage: its first element, shape and strides. */
#include "formats/torch.h"

#include "formats/layout.h"

enum { MOST_DEPTH = 16 };

static int compare_places(const void *a, const void *b)
{
	return strcmp(((const struct al_torch_place *)a)->key,
		((const struct al_torch_place *)b)->key);
}

struct al_torch_place *al_torch_find_place(const struct al_torch_file *f, const char *key)
{
	const struct al_torch_place wanted = {.key = key};

	return f->n_places
		? bsearch(&wanted, f->places, f->n_places, sizeof(wanted), compare_places)
		: NULL;
}

void al_torch_sort_places(struct al_torch_file *f)
{
	qsort(f->places, f->n_places, sizeof(*f->places), compare_places);
}

/* ---- one tensor ---- */

struct view {
	int64_t shape[AL_LAYOUT_MOST_DIMS], strides[AL_LAYOUT_MOST_DIMS];
	size_t n_dims;
	int64_t n_elements, span;
};

static bool take_sizes(const struct al_pickle_value *tuple, int64_t *out, struct al_error *err)
{
	for (size_t i = 0; i < tuple->n_items; i++) {
		const struct al_pickle_value *size = tuple->items[i];
		if (size->kind != AL_PICKLE_INTEGER || size->integer < 0)
			return al_fail(err, AL_EINPUT,
				"a dimension or stride isn't a whole number of at least 0");
		out[i] = size->integer;
	}
	return true;
}

static bool take_view(const struct al_pickle_value *tensor, struct view *v, struct al_error *err)
{
	v->n_dims = tensor->shape->n_items;
	if (v->n_dims > AL_LAYOUT_MOST_DIMS || tensor->strides->n_items != v->n_dims)
		return al_fail(err, AL_EINPUT, "%zu dimensions and %zu strides", v->n_dims,
			tensor->strides->n_items);
	if (!take_sizes(tensor->shape, v->shape, err)
		|| !take_sizes(tensor->strides, v->strides, err))
		return false;
	if (!al_multiply_dims(1, v->shape, v->n_dims, &v->n_elements)
		|| !al_layout_span(v->shape, v->strides, v->n_dims, &v->span))
		return al_fail(err, AL_EINPUT, "the product of its dimensions is 2^63 or more");
	return true;
}

/* One that repeats its numbers (torch.expand) would take more than there is. */
static bool check_view(const struct al_pickle_value *tensor, const struct view *v,
	const struct al_torch_place *place, struct al_error *err)
{
	const struct al_pickle_value *storage = tensor->storage;
	const int64_t size = (int64_t)tensor->dtype->block_bytes,
		      stored = storage->dtype ? (int64_t)storage->dtype->block_bytes : 1;
	int64_t bytes;

	if (__builtin_mul_overflow(storage->integer, stored, &bytes)
		|| (uint64_t)bytes > place->bytes)
		return al_fail(err, AL_EINPUT,
			"its storage has %" PRIu64 " bytes, expected %" PRId64
			" elements of %" PRId64,
			place->bytes, storage->integer, stored);
	const int64_t n = bytes / size;
	if (tensor->integer < 0 || tensor->integer > n || v->span > n - tensor->integer)
		return al_fail(err, AL_EINPUT,
			"reaches from element %" PRId64 " over %" PRId64
			", beyond its storage's %" PRId64,
			tensor->integer, v->span, n);
	return v->n_elements <= n
		|| al_fail(err, AL_EINPUT, "has overlapping strides: save a clone");
}

/* The storage that a tensor is in, and what of it it is. */
static bool find_view(const struct al_torch_file *f, const struct al_pickle_value *tensor,
	const struct al_torch_place **place, struct view *v, struct al_error *err)
{
	*place = al_torch_find_place(f, tensor->storage->text);
	if (!*place)
		return al_fail(err, AL_EINPUT, "its storage \"%.60s\" is not in the file",
			tensor->storage->text);
	return take_view(tensor, v, err) && check_view(tensor, v, *place, err);
}

static bool add_tensor(const struct al_torch_file *f, const char *name,
	const struct al_pickle_value *tensor, struct al_error *err)
{
	const struct al_torch_place *place;
	const size_t size = tensor->dtype->block_bytes;
	struct view v;

	if (!find_view(f, tensor, &place, &v, err))
		return al_in(err, "%s: tensor \"%.120s\"", f->path, name);
	const uint64_t begin = place->offset + (uint64_t)tensor->integer * size;
	return al_listing_add(f->listing,
		&(struct al_tensor){.name = name,
			.dtype = tensor->dtype,
			.shape = v.shape,
			.n_dims = v.n_dims,
			.offset = begin,
			.bytes = (uint64_t)v.n_elements * size,
			.layout = &(struct al_layout){.archive = place->archive,
				.member = place->member,
				.offset = begin,
				.strides = v.strides,
				.is_swapped = f->is_swapped}},
		err);
}

/* ---- the state dict ---- */

static const char *key_text(struct al_torch_file *f, const struct al_pickle_value *key)
{
	if (key->kind == AL_PICKLE_INTEGER)
		return al_format(f->arena, "%" PRId64, key->integer);
	return key->kind == AL_PICKLE_TEXT ? key->text : NULL;
}

/* Dicts may be in each other many times, behind names of any length: that costs steps. */
static bool walk(struct al_torch_file *f, const struct al_pickle_value *dict, const char *prefix,
	size_t depth, struct al_error *err)
{
	for (size_t i = 0; i + 1 < dict->n_items; i += 2) {
		const struct al_pickle_value *value = dict->items[i + 1];
		if (depth > MOST_DEPTH)
			return al_fail(err, AL_EINPUT, "%s: dicts nested more than %d deep",
				f->path, MOST_DEPTH);
		if (!al_budget_take(f->arena->budget, 1 + strlen(prefix), err))
			return al_in(err, "%s: names of dicts in dicts", f->path);
		if (value->kind != AL_PICKLE_TENSOR && value->kind != AL_PICKLE_DICT)
			continue;
		const char *key = key_text(f, dict->items[i]);
		if (!key)
			continue;
		const char *name = *prefix ? al_format(f->arena, "%s.%s", prefix, key) : key;
		if (value->kind == AL_PICKLE_DICT) {
			if (!walk(f, value, name, depth + 1, err))
				return false;
			continue;
		}
		f->tensors = al_grow(f->arena, f->tensors, f->n_tensors, &f->room,
			sizeof(*f->tensors));
		f->tensors[f->n_tensors++] = (struct al_torch_tensor){name, value};
	}
	return true;
}

bool al_torch_find_tensors(struct al_torch_file *f, const struct al_pickle_value *dict,
	struct al_error *err)
{
	f->n_tensors = 0;
	return dict->kind != AL_PICKLE_DICT || walk(f, dict, "", 0, err);
}

/* Where training programs keep the state dict: a state dict itself has no dict under such a
 * name. */
static const struct al_pickle_value *find_nested(struct al_torch_file *f,
	const struct al_pickle_value *root)
{
	static const char *const keys[] = {"state_dict", "model_state_dict", "model", "module"};

	for (size_t depth = 0; depth < MOST_DEPTH; depth++) {
		const struct al_pickle_value *found = NULL;
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys) && !found; i++) {
			found = al_pickle_get(root, keys[i]);
			found = found && found->kind == AL_PICKLE_DICT ? found : NULL;
			if (found)
				al_listing_add_metadata(f->listing, "found under", keys[i]);
		}
		if (!found)
			return root;
		root = found;
	}
	return root;
}

/* Wrappers of a module put their names before those of its tensors: the length of the one behind
 * the first `n` bytes of all names. */
static size_t wrapper_behind(const struct al_torch_file *f, size_t n)
{
	static const char *const wrappers[] = {"module.", "_orig_mod."};

	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers); i++) {
		const size_t length = strlen(wrappers[i]);
		size_t j = 0;
		while (j < f->n_tensors
			&& strncmp(f->tensors[j].name + n, wrappers[i], length) == 0)
			j++;
		if (j > 0 && j == f->n_tensors)
			return length;
	}
	return 0;
}

bool al_torch_add_tensors(struct al_torch_file *f, const struct al_pickle_value *root,
	struct al_error *err)
{
	size_t n = 0;

	if (root->kind != AL_PICKLE_DICT)
		return al_fail(err, AL_EINPUT,
			"%s: its pickle is not a dict of tensors: save one, "
			"torch.save(model.state_dict(), FILE)",
			f->path);
	const struct al_pickle_value *dict = find_nested(f, root);
	if (!al_torch_find_tensors(f, dict, err))
		return false;
	for (size_t depth = 0; depth < MOST_DEPTH; depth++)
		n += wrapper_behind(f, n);
	for (size_t i = 0; i < f->n_tensors; i++)
		if (!add_tensor(f, f->tensors[i].name + n, f->tensors[i].value, err))
			return false;
	return f->n_tensors > 0
		|| al_fail(err, AL_EINPUT, "%s: its pickle contains no tensors", f->path);
}
