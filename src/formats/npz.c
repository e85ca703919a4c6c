/* Zip archives: numpy's .npz files, of .npy files, each a tensor named like its file; else those of
 * PyTorch (torch.c). */

#include "formats/format.h"
#include "formats/layout.h"
#include "formats/npy_header.h"
#include "formats/torch.h"

static const char ending[] = ".npy";

static bool read_header(struct al_archive *archive, size_t member, const char *path,
	struct al_budget *budget, struct al_npy_header *header, struct al_error *err)
{
	const uint64_t bytes = archive->members[member].bytes;
	const size_t n = (size_t)al_least(bytes, AL_NPY_MOST_HEADER);
	AL_FREED char *start = al_alloc(n + 1, 1);

	if (!al_budget_take(budget, n, err))
		return al_in(err, "%s: its header", path);
	return archive->read(archive, member, start, n, err)
		&& al_npy_header_parse(header, path, start, n, err);
}

static bool add_array(struct al_listing *listing, size_t index, const char *path,
	struct al_error *err)
{
	struct al_archive *archive = listing->shard->archive;
	const struct al_member *member = &archive->members[index];
	struct al_npy_header header;

	if (!read_header(archive, index, path, &listing->checkpoint->budget, &header, err)
		|| (!member->is_packed && !archive->place(archive, index, err)))
		return false;
	return al_npy_list(listing, &header, member->name,
		(struct al_layout){.archive = member->is_packed ? archive : NULL,
			.member = index,
			.offset = member->offset + header.data},
		member->bytes - header.data, err);
}

static bool list_arrays(struct al_listing *listing, struct al_error *err)
{
	struct al_shard *shard = listing->shard;

	for (size_t i = 0; i < shard->archive->n_members; i++) {
		const char *name = shard->archive->members[i].name;
		if (*name && al_ends_with(name + 1, ending)
			&& !add_array(listing, i,
				al_format(&listing->checkpoint->arena, "%s: %s", shard->source.path,
					name),
				err))
			return false;
	}
	return true;
}

/* Has a member a name that ends so, and isn't just that? */
static bool has(const struct al_archive *archive, const char *end)
{
	for (size_t i = 0; i < archive->n_members; i++) {
		const char *name = archive->members[i].name;
		if (*name && al_ends_with(name + 1, end))
			return true;
	}
	return false;
}

static bool list(struct al_listing *listing, struct al_error *err)
{
	struct al_shard *shard = listing->shard;

	if (!al_archive_open_shard(listing, err))
		return false;
	if (has(shard->archive, ending))
		return list_arrays(listing, err);
	return has(shard->archive, AL_TORCH_PICKLE)
		? al_torch_list_zip(listing, err)
		: al_fail(err, AL_EINPUT, "%s: is a zip archive, but not from NumPy or PyTorch",
			shard->source.path);
}

const struct al_format al_format_npz = {
	.name = "npz",
	.ending = ".npz",
	.magic = "PK\003\004",
	.is_alone = true,
	.may_share = true,
	.list = list,
};
