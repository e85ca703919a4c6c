/* PyTorch's files of torch.save since 1.6, zip archives: NAME/data.pkl, a pickle that names
 * storages; NAME/data/KEY, their bytes; NAME/byteorder, since 2.1, "little" or "big". */
#include "formats/torch.h"

#include "formats/archive.h"

static const char script_ending[] = "/constants.pkl";

static bool check_byteorder(struct al_torch_file *f, size_t member, struct al_error *err)
{
	struct al_archive *archive = f->listing->shard->archive;
	char word[8] = "";
	const uint64_t n = archive->members[member].bytes;

	if (n >= sizeof(word) || !archive->read(archive, member, word, (size_t)n, err))
		return al_fail(err, AL_EINPUT, "%s: \"%.120s\" can't be read", f->path,
			archive->members[member].name);
	f->is_swapped = strcmp(word, "big") == 0;
	return f->is_swapped || strcmp(word, "little") == 0
		|| al_fail(err, AL_EINPUT, "%s: its byteorder is neither \"little\" nor \"big\"",
			f->path);
}

static bool add_place(struct al_torch_file *f, size_t index, const char *key, struct al_error *err)
{
	struct al_archive *archive = f->listing->shard->archive;
	const struct al_member *member = &archive->members[index];

	if (!member->is_packed && !archive->place(archive, index, err))
		return false;
	f->places[f->n_places++] = (struct al_torch_place){.key = key,
		.offset = member->offset,
		.bytes = member->bytes,
		.member = index,
		.archive = member->is_packed ? archive : NULL};
	return true;
}

/* All members are NAME/...: NAME is `prefix`. */
static bool find_storages(struct al_torch_file *f, const char *prefix, struct al_error *err)
{
	struct al_archive *archive = f->listing->shard->archive;
	const size_t n = strlen(prefix);

	f->places = al_new_array(f->arena, struct al_torch_place, archive->n_members + 1);
	for (size_t i = 0; i < archive->n_members; i++) {
		const char *name = archive->members[i].name;
		if (strncmp(name, prefix, n) != 0)
			continue;
		if (strcmp(name + n, "/byteorder") == 0 && !check_byteorder(f, i, err))
			return false;
		if (strncmp(name + n, "/data/", 6) == 0 && !add_place(f, i, name + n + 6, err))
			return false;
	}
	al_torch_sort_places(f);
	return true;
}

static bool find_pickle(struct al_torch_file *f, size_t *pickle, struct al_error *err)
{
	const struct al_archive *archive = f->listing->shard->archive;
	size_t n_pickles = 0;

	for (size_t i = 0; i < archive->n_members; i++) {
		if (al_ends_with(archive->members[i].name, script_ending))
			return al_fail(err, AL_EINPUT,
				"%s: is a TorchScript program: save only its weights, "
				"torch.save(torch.jit.load(FILE).state_dict(), ...)",
				f->path);
		if (al_ends_with(archive->members[i].name, AL_TORCH_PICKLE)) {
			n_pickles++;
			*pickle = i;
		}
	}
	if (n_pickles != 1)
		return al_fail(err, AL_EINPUT, "%s: has %zu pickles, expected one data.pkl",
			f->path, n_pickles);
	return al_budget_check(f->arena->budget, archive->members[*pickle].bytes, err)
		|| al_in(err, "%s: its pickle", f->path);
}

static bool list_pickled(struct al_torch_file *f, size_t pickle, struct al_arena *scratch,
	struct al_error *err)
{
	struct al_archive *archive = f->listing->shard->archive;
	const struct al_member *member = &archive->members[pickle];
	const size_t n = (size_t)member->bytes;
	unsigned char *bytes = al_arena_alloc(scratch, n, 1);
	size_t used;

	if (!archive->read(archive, pickle, bytes, n, err))
		return false;
	const struct al_pickle_value *root = al_pickle_read(scratch, f->path, bytes, n, &used, err);
	const char *prefix = al_strndup(f->arena, member->name,
		strlen(member->name) - strlen(AL_TORCH_PICKLE));
	return root && find_storages(f, prefix, err) && al_torch_add_tensors(f, root, err);
}

/* The values of the pickle are of no use when the tensors are listed. */
bool al_torch_list_zip(struct al_listing *listing, struct al_error *err)
{
	struct al_torch_file f = {.listing = listing,
		.arena = &listing->checkpoint->arena,
		.path = listing->shard->source.path};
	AL_ARENA(scratch);
	size_t pickle = 0;

	scratch.budget = f.arena->budget;
	listing->shard->format = "PyTorch";
	return find_pickle(&f, &pickle, err) && list_pickled(&f, pickle, &scratch, err);
}
