/* PyTorch's files of torch.save: a state dict, or a training checkpoint that holds one.
 *
 *     zip, since 1.6:  NAME/data.pkl, a pickle that names storages; NAME/data/KEY, their bytes;
 *                      NAME/byteorder, since 2.1, "little" or "big"
 *     legacy:          five pickles one after the other: a magic number, the protocol, facts of
 *                      the machine, the objects, the keys of the storages; then for each key its
 *                      number of elements (8 bytes) and the elements
 *
 * A tensor is a view of a storage: its first element, shape and strides. */
#include "checkpoint/pickle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "checkpoint/format.h"
#include "checkpoint/layout.h"

enum { MOST_PICKLE = 1 << 26, MOST_DEPTH = 16, MOST_TENSORS = 1 << 20 };

/* What all names may cost: their bytes, and some for each. */
enum { MOST_COST = 1 << 28, COST_OF_NAME = 32 };

/* Where the bytes of a storage lie. */
struct place {
	const char *key;
	uint64_t offset, bytes;
	size_t member; /* of a zip archive */
	struct al_archive *archive; /* where it is packed there; else NULL */
};

struct file {
	struct al_listing *listing;
	struct al_arena *arena;
	const char *path;
	struct place *places; /* [n_places], sorted by key */
	size_t n_places;
	bool is_swapped;
	size_t cost; /* of all visits so far */
	size_t cut; /* so many bytes before all names say nothing */
};

static int compare_places(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->key, ((const struct place *)b)->key);
}

static const struct place *find_place(const struct file *f, const char *key)
{
	const struct place wanted = {.key = key};

	return f->n_places
		? bsearch(&wanted, f->places, f->n_places, sizeof(wanted), compare_places)
		: NULL;
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
				"a dimension or stride is no whole number from 0 on");
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
	const struct place *place, struct al_error *err)
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
		|| al_fail(err, AL_EINPUT, "repeats the numbers of its storage: save a clone");
}

static bool is_in_order(const struct view *v)
{
	int64_t expected = 1;

	for (size_t i = v->n_dims; i-- > 0 && v->n_elements > 0;) {
		if (v->shape[i] > 1 && v->strides[i] != expected)
			return false;
		expected *= v->shape[i];
	}
	return true;
}

static const int64_t *copy_sizes(struct al_arena *arena, const int64_t *sizes, size_t n)
{
	int64_t *copy = al_new_array(arena, int64_t, n + 1);

	memcpy(copy, sizes, n * sizeof(*sizes));
	return copy;
}

static bool find_view(const struct file *f, const struct al_pickle_value *tensor,
	const struct place **place, struct view *v, struct al_error *err)
{
	*place = find_place(f, tensor->storage->text);
	if (!*place)
		return al_fail(err, AL_EINPUT, "its storage \"%.60s\" is not in the file",
			tensor->storage->text);
	return take_view(tensor, v, err) && check_view(tensor, v, *place, err);
}

static bool claim_view(struct file *f, const char *name, const struct al_pickle_value *tensor,
	const struct place *place, const struct view *v, struct al_error *err)
{
	const size_t size = tensor->dtype->block_bytes;
	const uint64_t begin = place->offset + (uint64_t)tensor->integer * size;
	const bool is_ordered = is_in_order(v), is_swapped = f->is_swapped && size > 1;
	const struct al_layout layout = {.archive = place->archive,
		.member = place->member,
		.offset = begin,
		.strides = is_ordered ? NULL : copy_sizes(f->arena, v->strides, v->n_dims),
		.is_swapped = is_swapped};

	return al_listing_add(f->listing,
		&(struct al_claim){.name = name,
			.dtype = tensor->dtype,
			.shape = v->shape,
			.n_dims = v->n_dims,
			.begin = begin,
			.end = begin + (uint64_t)v->n_elements * size,
			.layout = place->archive || !is_ordered || is_swapped ? &layout : NULL},
		err);
}

/* ---- the state dict ---- */

static const char *key_text(struct file *f, const struct al_pickle_value *key)
{
	if (key->kind == AL_PICKLE_INTEGER)
		return al_format(f->arena, "%" PRId64, key->integer);
	return key->kind == AL_PICKLE_TEXT ? key->text : NULL;
}

/* What is done with each tensor. */
typedef bool visit(struct file *f, const char *name, const struct al_pickle_value *tensor,
	void *context, struct al_error *err);

/* All tensors of a dict, also of dicts in it, whose names are joined by points. Dicts may be in
 * each other many times, behind names of any length: what that costs is counted. */
static bool walk(struct file *f, const struct al_pickle_value *dict, const char *prefix,
	size_t depth, visit *do_visit, void *context, struct al_error *err)
{
	for (size_t i = 0; i + 1 < dict->n_items; i += 2) {
		const struct al_pickle_value *value = dict->items[i + 1];
		if (++f->cost > MOST_COST || depth > MOST_DEPTH)
			return al_fail(err, AL_EINPUT, "%s: its dicts are too many or too deep",
				f->path);
		if (value->kind != AL_PICKLE_TENSOR && value->kind != AL_PICKLE_DICT)
			continue;
		const char *key = key_text(f, dict->items[i]);
		if (!key)
			continue;
		f->cost += COST_OF_NAME + strlen(prefix) + strlen(key);
		const char *name = *prefix ? al_format(f->arena, "%s.%s", prefix, key) : key;
		if (value->kind == AL_PICKLE_TENSOR
				? !do_visit(f, name, value, context, err)
				: !walk(f, value, name, depth + 1, do_visit, context, err))
			return false;
	}
	return true;
}

/* Where training programs keep the state dict: in one itself no dict stands under such a name. */
static const struct al_pickle_value *find_nested(struct file *f, const struct al_pickle_value *root)
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

/* Wrappers of a module put their names before those of its tensors. */
static const char *const wrappers[] = {"module.", "_orig_mod."};

static bool look_for_wrapper(struct file *f, const char *name, const struct al_pickle_value *tensor,
	void *context, struct al_error *err)
{
	const char **wrapper = context;
	bool is_first = !**wrapper;

	(void)tensor;
	(void)err;
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(*wrappers) && is_first; i++)
		if (strncmp(name + f->cut, wrappers[i], strlen(wrappers[i])) == 0)
			*wrapper = wrappers[i];
	/* NULL would be none at all: a text that no name begins with */
	if (!**wrapper || strncmp(name + f->cut, *wrapper, strlen(*wrapper)) != 0)
		*wrapper = "\n";
	return true;
}

static bool cut_wrappers(struct file *f, const struct al_pickle_value *dict, struct al_error *err)
{
	for (size_t depth = 0; depth < MOST_DEPTH; depth++) {
		const char *wrapper = "";
		if (!walk(f, dict, "", 0, look_for_wrapper, &wrapper, err))
			return false;
		if (!*wrapper || *wrapper == '\n')
			return true;
		f->cut += strlen(wrapper);
	}
	return true;
}

static bool add_tensor(struct file *f, const char *name, const struct al_pickle_value *tensor,
	void *context, struct al_error *err)
{
	const struct place *place;
	struct view v;

	(void)context;
	name += f->cut;
	if (f->listing->checkpoint->n_tensors - f->listing->first >= MOST_TENSORS)
		return al_fail(err, AL_EINPUT, "%s: more than %d tensors", f->path, MOST_TENSORS);
	return find_view(f, tensor, &place, &v, err)
		? claim_view(f, name, tensor, place, &v, err)
		: al_in(err, "%s: tensor \"%.120s\"", f->path, name);
}

static bool add_tensors(struct file *f, const struct al_pickle_value *root, struct al_error *err)
{
	const size_t before = f->listing->checkpoint->n_tensors;

	if (root->kind != AL_PICKLE_DICT)
		return al_fail(err, AL_EINPUT,
			"%s: its pickle is no dict of tensors: save one, "
			"torch.save(model.state_dict(), FILE)",
			f->path);
	const struct al_pickle_value *dict = find_nested(f, root);
	if (!cut_wrappers(f, dict, err) || !walk(f, dict, "", 0, add_tensor, NULL, err))
		return false;
	return f->listing->checkpoint->n_tensors > before || dict->n_items == 0
		|| al_fail(err, AL_EINPUT, "%s: its pickle holds no tensors", f->path);
}

/* ---- in a zip archive ---- */

static const char data_ending[] = "/data.pkl", script_ending[] = "/constants.pkl";

static bool ends_with(const char *text, const char *ending)
{
	const size_t n = strlen(text), m = strlen(ending);

	return n >= m && strcmp(text + n - m, ending) == 0;
}

static bool check_byteorder(struct file *f, size_t member, struct al_error *err)
{
	struct al_archive *archive = f->listing->shard->archive;
	char word[8] = "";
	const uint64_t n = archive->members[member].bytes;

	if (n >= sizeof(word) || !al_archive_read(archive, member, word, (size_t)n, err))
		return al_fail(err, AL_EINPUT, "%s: \"%.120s\" can't be read", f->path,
			archive->members[member].name);
	f->is_swapped = strcmp(word, "big") == 0;
	return f->is_swapped || strcmp(word, "little") == 0
		|| al_fail(err, AL_EINPUT, "%s: its byteorder is neither little nor big", f->path);
}

static bool add_place(struct file *f, size_t index, const char *key, struct al_error *err)
{
	struct al_archive *archive = f->listing->shard->archive;
	const struct al_member *member = &archive->members[index];

	if (!member->is_packed && !al_archive_place(archive, index, err))
		return false;
	f->places[f->n_places++] = (struct place){.key = key,
		.offset = member->offset,
		.bytes = member->bytes,
		.member = index,
		.archive = member->is_packed ? archive : NULL};
	return true;
}

/* All members are NAME/...: NAME is `prefix`. */
static bool find_storages(struct file *f, const char *prefix, struct al_error *err)
{
	struct al_archive *archive = f->listing->shard->archive;
	const size_t n = strlen(prefix);

	f->places = al_new_array(f->arena, struct place, archive->n_members + 1);
	for (size_t i = 0; i < archive->n_members; i++) {
		const char *name = archive->members[i].name;
		if (strncmp(name, prefix, n) != 0)
			continue;
		if (strcmp(name + n, "/byteorder") == 0 && !check_byteorder(f, i, err))
			return false;
		if (strncmp(name + n, "/data/", 6) == 0 && !add_place(f, i, name + n + 6, err))
			return false;
	}
	qsort(f->places, f->n_places, sizeof(*f->places), compare_places);
	return true;
}

static bool find_pickle(struct file *f, size_t *pickle, struct al_error *err)
{
	const struct al_archive *archive = f->listing->shard->archive;
	size_t n_pickles = 0;

	for (size_t i = 0; i < archive->n_members; i++) {
		if (ends_with(archive->members[i].name, script_ending))
			return al_fail(err, AL_EINPUT,
				"%s: is a TorchScript program: load it and save its weights alone, "
				"torch.save(torch.jit.load(FILE).state_dict(), ...)",
				f->path);
		if (ends_with(archive->members[i].name, data_ending)) {
			n_pickles++;
			*pickle = i;
		}
	}
	if (n_pickles != 1)
		return al_fail(err, AL_EINPUT, "%s: has %zu pickles, expected one data.pkl",
			f->path, n_pickles);
	return archive->members[*pickle].bytes <= MOST_PICKLE
		|| al_fail(err, AL_EINPUT, "%s: a pickle of %" PRIu64 " bytes, expected at most %d",
			f->path, archive->members[*pickle].bytes, MOST_PICKLE);
}

static bool list_pickled(struct file *f, size_t pickle, struct al_arena *scratch,
	struct al_error *err)
{
	struct al_archive *archive = f->listing->shard->archive;
	const struct al_member *member = &archive->members[pickle];
	const size_t n = (size_t)member->bytes;
	unsigned char *bytes = al_try_calloc(n, 1, err);
	const struct al_pickle_value *root = NULL;
	size_t used;

	if (bytes && al_archive_read(archive, pickle, bytes, n, err))
		root = al_pickle_read(scratch, f->path, bytes, n, &used, err);
	free(bytes);
	const char *prefix = al_strndup(f->arena, member->name,
		strlen(member->name) - strlen(data_ending));
	return root && find_storages(f, prefix, err) && add_tensors(f, root, err);
}

/* The values of the pickle are of no use when the tensors are listed. */
static bool list_zip(struct al_listing *listing, struct al_error *err)
{
	struct file f = {.listing = listing,
		.arena = &listing->checkpoint->arena,
		.path = listing->shard->source.path};
	struct al_arena scratch;
	size_t pickle = 0;

	if (!al_archive_open_shard(listing, err) || !find_pickle(&f, &pickle, err))
		return false;
	al_arena_init(&scratch);
	const bool ok = list_pickled(&f, pickle, &scratch, err);
	al_arena_finish(&scratch);
	return ok;
}

static bool fits(const struct al_source *source, bool *does, struct al_error *err)
{
	return al_archive_has(source, data_ending, does, err);
}

const struct al_format al_format_torch = {
	.name = "PyTorch",
	.ending = ".pt",
	.magic = "PK\003\004",
	.fits = fits,
	.is_alone = true,
	.may_share = true,
	.list = list_zip,
};

/* ---- the legacy container ---- */

enum { MAGIC, PROTOCOL, MACHINE, OBJECTS, KEYS, N_PICKLES };

static bool check_machine(struct file *f, const struct al_pickle_value *machine,
	struct al_error *err)
{
	const struct al_pickle_value *order = al_pickle_get(machine, "little_endian");

	f->is_swapped = order && order->kind == AL_PICKLE_BOOL && !order->integer;
	return order || al_fail(err, AL_EINPUT, "%s: doesn't say its order of bytes", f->path);
}

/* The bytes of an element of the storages, which only the tensors tell: the keys are sorted, with 0
 * where no tensor asks for them. */
static bool note_size(struct file *f, const char *name, const struct al_pickle_value *tensor,
	void *context, struct al_error *err)
{
	const struct place *found = find_place(f, tensor->storage->text);

	(void)name;
	(void)context;
	(void)err;
	if (found)
		f->places[found - f->places].member = tensor->storage->dtype
			? tensor->storage->dtype->block_bytes
			: 1;
	return true;
}

static bool take_storage(struct file *f, struct place *place, uint64_t *at, struct al_error *err)
{
	const struct al_source *source = &f->listing->shard->source;
	uint64_t n_elements;

	if (source->bytes < 8 || *at > source->bytes - 8)
		return al_fail(err, AL_EINPUT, "%s: ends before storage \"%.60s\"", f->path,
			place->key);
	if (!al_source_read(source, *at, &n_elements, 8, err))
		return false;
	*at += 8;
	if (place->member == 0)
		return al_fail(err, AL_EINPUT,
			"%s: storage \"%.60s\" is of no tensor: how large it is isn't known",
			f->path, place->key);
	if (n_elements > (source->bytes - *at) / place->member)
		return al_fail(err, AL_EINPUT,
			"%s: storage \"%.60s\" has %" PRIu64 " elements, more than the file",
			f->path, place->key, n_elements);
	place->offset = *at;
	place->bytes = n_elements * place->member;
	*at += place->bytes;
	return true;
}

static bool add_keys(struct file *f, const struct al_pickle_value *keys, struct al_error *err)
{
	if (keys->kind != AL_PICKLE_LIST)
		return al_fail(err, AL_EINPUT, "%s: doesn't list its storages", f->path);
	f->places = al_new_array(f->arena, struct place, keys->n_items + 1);
	for (size_t i = 0; i < keys->n_items; i++) {
		if (keys->items[i]->kind != AL_PICKLE_TEXT)
			return al_fail(err, AL_EINPUT, "%s: a storage's key is no text", f->path);
		f->places[f->n_places++].key = al_strdup(f->arena, keys->items[i]->text);
	}
	qsort(f->places, f->n_places, sizeof(*f->places), compare_places);
	return true;
}

/* The storages lie in the order of the list of keys. */
static bool take_storages(struct file *f, const struct al_pickle_value *const *pickles, size_t used,
	struct al_error *err)
{
	const struct al_pickle_value *keys = pickles[KEYS];
	uint64_t at = used;

	if (!check_machine(f, pickles[MACHINE], err) || !add_keys(f, keys, err)
		|| (pickles[OBJECTS]->kind == AL_PICKLE_DICT
			&& !walk(f, pickles[OBJECTS], "", 0, note_size, NULL, err)))
		return false;
	for (size_t i = 0; i < keys->n_items; i++) {
		const struct place *found = find_place(f, keys->items[i]->text);
		if (!take_storage(f, &f->places[found - f->places], &at, err))
			return false;
	}
	for (size_t i = 0; i < f->n_places; i++)
		f->places[i].member = 0;
	return add_tensors(f, pickles[OBJECTS], err);
}

static bool read_pickles(struct file *f, struct al_arena *scratch, const unsigned char *bytes,
	size_t n, const struct al_pickle_value **pickles, size_t *used, struct al_error *err)
{
	size_t now;

	*used = 0;
	for (size_t i = 0; i < N_PICKLES; i++, *used += now) {
		pickles[i] = al_pickle_read(scratch, f->path, bytes + *used, n - *used, &now, err);
		if (!pickles[i])
			return false;
	}
	return true;
}

/* The file's first `n` bytes hold the pickles, or fewer than that do. */
static bool list_within(struct file *f, size_t n, bool *is_long_enough, struct al_error *err)
{
	struct al_shard *shard = f->listing->shard;
	const struct al_pickle_value *pickles[N_PICKLES];
	unsigned char *bytes = al_alloc(n, 1);
	struct al_arena scratch;
	size_t used = 0;

	al_arena_init(&scratch);
	bool ok = al_source_read(&shard->source, 0, bytes, n, err)
		&& read_pickles(f, &scratch, bytes, n, pickles, &used, err);
	*is_long_enough = ok;
	if (ok) {
		shard->header_bytes = used;
		shard->header_hash = al_hash(AL_HASH_EMPTY, bytes, used);
		ok = take_storages(f, pickles, used, err);
	}
	al_arena_finish(&scratch);
	free(bytes);
	return ok;
}

static bool list_legacy(struct al_listing *listing, struct al_error *err)
{
	const uint64_t bytes = listing->shard->source.bytes,
		       most = bytes < MOST_PICKLE ? bytes : MOST_PICKLE;
	struct file f = {.listing = listing,
		.arena = &listing->checkpoint->arena,
		.path = listing->shard->source.path};
	bool is_long_enough = false, ok = false;

	for (uint64_t n = 1 << 18; !ok && !is_long_enough; n *= 16) {
		ok = list_within(&f, (size_t)(n < most ? n : most), &is_long_enough, err);
		if (n >= most)
			break;
	}
	return ok;
}

/* The magic number as a pickle, and the beginning of the protocol's. */
const struct al_format al_format_torch_legacy = {
	.name = "PyTorch, legacy",
	.ending = ".pt",
	.magic = "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\x02M",
	.is_alone = true,
	.may_share = true,
	.list = list_legacy,
};
