/* What a header claims, held against itself and against the file. */

#include "formats/format.h"
#include "formats/gguf.h"
#include "formats/layout.h"

/* Names may be long: the place in the message must not push out what is wrong. */
static bool fail_tensor(const struct al_listing *listing, const char *name, struct al_error *err)
{
	return al_in(err, "%s: tensor \"%.120s\"", listing->shard->source.path, name);
}

/* ---- one tensor ---- */

static bool check_claim(const struct al_listing *listing, const struct al_tensor *claim,
	bool is_laid_out, int64_t *n_elements, struct al_error *err)
{
	const uint64_t data_bytes = listing->shard->source.bytes - listing->data_offset;
	const struct al_dtype *dtype = claim->dtype;
	uint64_t bytes;

	if (!al_multiply_dims(1, claim->shape, claim->n_dims, n_elements))
		return al_fail(err, AL_EINPUT, "the product of its dimensions is 2^63 or more");
	if (!is_laid_out
		&& (claim->bytes > data_bytes || claim->offset > data_bytes - claim->bytes))
		return al_fail(err, AL_EINPUT,
			"ends at byte %" PRIu64 " of the data, which has %" PRIu64,
			claim->offset + claim->bytes, data_bytes);
	if (!al_dtype_size(dtype, *n_elements, &bytes))
		return al_fail(err, AL_EINPUT,
			"%" PRId64 " elements of %s don't make a whole number of bytes below 2^64",
			*n_elements, al_dtype_title(dtype));
	return bytes == claim->bytes
		|| al_fail(err, AL_EINPUT,
			"takes %" PRIu64 " bytes, expected %" PRIu64 " for %" PRId64
			" elements of %s",
			claim->bytes, bytes, *n_elements, al_dtype_title(dtype));
}

static const int64_t *copy_dims(struct al_arena *arena, const int64_t *dims, size_t n_dims)
{
	int64_t *copy = al_new_array(arena, int64_t, n_dims + 1);

	if (n_dims)
		memcpy(copy, dims, n_dims * sizeof(*dims));
	return copy;
}

/* What of a claim's layout isn't as tensors lie in a file; NULL: nothing. */
static struct al_layout *add_layout(struct al_checkpoint *checkpoint, const struct al_tensor *claim)
{
	struct al_layout own = claim->layout ? *claim->layout : (struct al_layout){0};

	own.is_swapped = own.is_swapped && claim->dtype->block_bytes > 1;
	own.strides = own.strides && !al_layout_is_in_order(claim)
		? copy_dims(&checkpoint->arena, own.strides, claim->n_dims)
		: NULL;
	return own.archive || own.strides || own.is_swapped ? al_layout_add(checkpoint, &own)
							    : NULL;
}

bool al_listing_add(struct al_listing *listing, const struct al_tensor *claim, struct al_error *err)
{
	struct al_checkpoint *checkpoint = listing->checkpoint;
	struct al_layout *layout = add_layout(checkpoint, claim);
	int64_t n_elements = 0;

	if (!check_claim(listing, claim, layout != NULL, &n_elements, err)
		|| !al_budget_take(&checkpoint->budget, 1 + claim->n_dims, err))
		return fail_tensor(listing, claim->name, err);
	checkpoint->tensors = al_grow(&checkpoint->arena, checkpoint->tensors,
		checkpoint->n_tensors, &checkpoint->tensors_room, sizeof(*checkpoint->tensors));
	struct al_tensor *tensor = &checkpoint->tensors[checkpoint->n_tensors++];
	*tensor = *claim;
	tensor->name = al_strdup(&checkpoint->arena, claim->name);
	tensor->shape = copy_dims(&checkpoint->arena, claim->shape, claim->n_dims);
	tensor->n_elements = n_elements;
	tensor->shard = listing->shard_index;
	tensor->offset += listing->data_offset;
	tensor->layout = layout;
	return true;
}

void al_listing_add_metadata(struct al_listing *listing, const char *key, const char *value)
{
	struct al_checkpoint *checkpoint = listing->checkpoint;

	checkpoint->metadata = al_grow(&checkpoint->arena, checkpoint->metadata,
		checkpoint->n_metadata, &checkpoint->metadata_room, sizeof(*checkpoint->metadata));
	checkpoint->metadata[checkpoint->n_metadata++] = (struct al_metadata){
		.key = al_strdup(&checkpoint->arena, key),
		.value = al_strdup(&checkpoint->arena, value),
		.shard = listing->shard_index,
	};
}

const char *al_checkpoint_metadata(const struct al_checkpoint *checkpoint, const char *key)
{
	const struct al_gguf_pair *pair = NULL;

	for (size_t i = 0; i < checkpoint->n_shards && !pair; i++)
		pair = checkpoint->shards[i].pairs ? al_gguf_find_pair(&checkpoint->shards[i], key)
						   : NULL;
	if (pair && pair->text)
		return pair->text;
	for (size_t i = 0; i < checkpoint->n_metadata; i++)
		if (strcmp(checkpoint->metadata[i].key, key) == 0)
			return checkpoint->metadata[i].value;
	return NULL;
}

/* ---- adjacent tensors ---- */

/* An empty tensor lies before the one that begins where it does. */
static int compare_places(const void *left, const void *right)
{
	const struct al_tensor *a = left, *b = right;
	int order = al_compare(a->offset, b->offset);

	order = order ? order : al_compare(a->bytes, b->bytes);
	return order ? order : strcmp(a->name, b->name);
}

static bool check_neighbor(const struct al_listing *listing, const struct al_tensor *tensor,
	uint64_t expected, bool is_packed, struct al_error *err)
{
	if (tensor->offset >= expected && (tensor->offset == expected || !is_packed))
		return true;
	al_fail(err, AL_EINPUT,
		"begins at byte %" PRIu64 " of the data, expected %" PRIu64
		", the end of the previous tensor",
		tensor->offset - listing->data_offset, expected - listing->data_offset);
	return fail_tensor(listing, tensor->name, err);
}

/* What a packed file can hold of bytes, and more than names share storage in any model. */
enum { MOST_RATIO = 1032 };

/* A small file must not make much work. */
static bool check_work(const struct al_listing *listing, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = listing->checkpoint;
	const uint64_t bytes = listing->shard->source.bytes;
	uint64_t left = bytes > UINT64_MAX / MOST_RATIO ? UINT64_MAX : bytes * MOST_RATIO;

	for (size_t i = listing->first; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		const uint64_t work = tensor->layout ? al_layout_work(tensor) : tensor->bytes;
		if (work > left)
			return al_fail(err, AL_EINPUT,
				"%s: its tensors would be more than %d times larger than the file",
				listing->shard->source.path, MOST_RATIO);
		left -= work;
	}
	return true;
}

bool al_listing_check(struct al_listing *listing, const struct al_format *format,
	struct al_error *err)
{
	struct al_checkpoint *checkpoint = listing->checkpoint;
	size_t n = checkpoint->n_tensors - listing->first;
	struct al_tensor *tensors = n ? checkpoint->tensors + listing->first : NULL;
	uint64_t expected = listing->data_offset;

	if (format->may_share)
		return check_work(listing, err);
	if (n)
		qsort(tensors, n, sizeof(*tensors), compare_places);
	for (size_t i = 0; i < n; i++) {
		if (!check_neighbor(listing, &tensors[i], expected, format->is_packed, err))
			return false;
		expected = tensors[i].offset + tensors[i].bytes;
	}
	if (format->is_packed && expected != listing->shard->source.bytes)
		return al_fail(err, AL_EINPUT,
			"%s: has %" PRIu64 " bytes, expected %" PRIu64
			", the end of its last tensor",
			listing->shard->source.path, listing->shard->source.bytes, expected);
	return true;
}

/* ---- names ---- */

static int compare_names(const void *left, const void *right)
{
	const struct al_tensor *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

static bool fail_twice(const struct al_checkpoint *checkpoint, const struct al_tensor *a,
	const struct al_tensor *b, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: tensor \"%.120s\" is in %s too",
		checkpoint->shards[a->shard].source.path, a->name,
		a->shard == b->shard ? "this file" : checkpoint->shards[b->shard].source.path);
}

bool al_checkpoint_sort_names(struct al_checkpoint *checkpoint, struct al_error *err)
{
	const size_t n = checkpoint->n_tensors;
	const struct al_tensor **names = al_new_array(&checkpoint->arena, const struct al_tensor *,
		n + 1);

	for (size_t i = 0; i < n; i++)
		names[i] = &checkpoint->tensors[i];
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 1; i < n; i++)
		if (compare_names(&names[i - 1], &names[i]) == 0)
			return fail_twice(checkpoint, names[i - 1], names[i], err);
	checkpoint->names = names;
	return true;
}

const struct al_tensor *al_checkpoint_find(const struct al_checkpoint *checkpoint, const char *name)
{
	const struct al_tensor *key = &(struct al_tensor){.name = name};
	const struct al_tensor **found = bsearch(&key, checkpoint->names, checkpoint->n_tensors,
		sizeof(key), compare_names);

	return found ? *found : NULL;
}
