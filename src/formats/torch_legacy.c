/* PyTorch's files of torch.save before 1.6: five pickles one after the other, a magic number, the
 * protocol, facts of the machine, the objects, the keys of the storages; then for each key its
 * number of elements (8 bytes) and the elements. */
#include "formats/torch.h"

enum { MAGIC, PROTOCOL, MACHINE, OBJECTS, KEYS, N_PICKLES };

enum { FRONT_BYTES = 1 << 26 }; /* of the file, that all pickles lie in */

static bool check_machine(struct al_torch_file *f, const struct al_pickle_value *machine,
	struct al_error *err)
{
	const struct al_pickle_value *order = al_pickle_get(machine, "little_endian");

	f->is_swapped = order && order->kind == AL_PICKLE_BOOL && !order->integer;
	return order || al_fail(err, AL_EINPUT, "%s: doesn't specify its byte order", f->path);
}

/* The size of the storages' elements, known only from the tensors; 0 if no tensor uses them. */
static void note_sizes(struct al_torch_file *f)
{
	for (size_t i = 0; i < f->n_tensors; i++) {
		const struct al_pickle_value *storage = f->tensors[i].value->storage;
		struct al_torch_place *found = al_torch_find_place(f, storage->text);
		if (found)
			found->member = storage->dtype ? storage->dtype->block_bytes : 1;
	}
}

static bool take_storage(struct al_torch_file *f, struct al_torch_place *place, uint64_t *at,
	struct al_error *err)
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
			"%s: no tensor uses storage \"%.60s\", so its size is unknown", f->path,
			place->key);
	if (n_elements > (source->bytes - *at) / place->member)
		return al_fail(err, AL_EINPUT,
			"%s: storage \"%.60s\" has %" PRIu64 " elements, more than the file",
			f->path, place->key, n_elements);
	place->offset = *at;
	place->bytes = n_elements * place->member;
	*at += place->bytes;
	return true;
}

static bool add_keys(struct al_torch_file *f, const struct al_pickle_value *keys,
	struct al_error *err)
{
	if (keys->kind != AL_PICKLE_LIST)
		return al_fail(err, AL_EINPUT, "%s: doesn't list its storages", f->path);
	f->places = al_new_array(f->arena, struct al_torch_place, keys->n_items + 1);
	for (size_t i = 0; i < keys->n_items; i++) {
		if (keys->items[i]->kind != AL_PICKLE_TEXT)
			return al_fail(err, AL_EINPUT, "%s: a storage's key isn't a string",
				f->path);
		f->places[f->n_places++].key = al_strdup(f->arena, keys->items[i]->text);
	}
	al_torch_sort_places(f);
	return true;
}

/* The storages lie in the order of the list of keys. */
static bool take_storages(struct al_torch_file *f, const struct al_pickle_value *const *pickles,
	struct al_error *err)
{
	const struct al_pickle_value *keys = pickles[KEYS];
	uint64_t at = f->listing->shard->header_bytes;

	if (!check_machine(f, pickles[MACHINE], err) || !add_keys(f, keys, err)
		|| !al_torch_find_tensors(f, pickles[OBJECTS], err))
		return false;
	note_sizes(f);
	for (size_t i = 0; i < keys->n_items; i++)
		if (!take_storage(f, al_torch_find_place(f, keys->items[i]->text), &at, err))
			return false;
	for (size_t i = 0; i < f->n_places; i++)
		f->places[i].member = 0;
	return al_torch_add_tensors(f, pickles[OBJECTS], err);
}

static bool read_pickles(struct al_torch_file *f, struct al_arena *scratch,
	const unsigned char *bytes, size_t n, const struct al_pickle_value **pickles,
	uint64_t *used, struct al_error *err)
{
	size_t now = 0;

	*used = 0;
	for (size_t i = 0; i < N_PICKLES; i++, *used += now) {
		pickles[i] = al_pickle_read(scratch, f->path, bytes + *used, n - (size_t)*used,
			&now, err);
		if (!pickles[i])
			return false;
	}
	return true;
}

static bool list_legacy(struct al_listing *listing, struct al_error *err)
{
	struct al_shard *shard = listing->shard;
	const uint64_t bytes = shard->source.bytes;
	const size_t n = (size_t)al_least(bytes, FRONT_BYTES);
	struct al_torch_file f = {.listing = listing,
		.arena = &listing->checkpoint->arena,
		.path = shard->source.path};
	const struct al_pickle_value *pickles[N_PICKLES];
	AL_FREED unsigned char *start = al_alloc(n, 1);
	AL_ARENA(scratch);

	scratch.budget = f.arena->budget;
	return al_source_read(&shard->source, 0, start, n, err)
		&& read_pickles(&f, &scratch, start, n, pickles, &shard->header_bytes, err)
		&& take_storages(&f, pickles, err);
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
