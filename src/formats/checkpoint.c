/* Opens a checkpoint: finds its files and lists their tensors. */
#include "formats/checkpoint.h"

#include <errno.h>

#include "base/hash.h"
#include "base/file.h"
#include "formats/foreign.h"
#include "formats/format.h"
#include "formats/layout.h"

static const char *const index_endings[] = {".safetensors.index.json", ".bin.index.json"};
enum { N_INDEX_ENDINGS = sizeof(index_endings) / sizeof(*index_endings) };

/* ---- one file ---- */

static bool begins_with(const char *start, size_t length, const char *magic)
{
	return length >= strlen(magic) && memcmp(start, magic, strlen(magic)) == 0;
}

bool al_file_begins(const char *path, const char *magic)
{
	const size_t n = strlen(magic);
	struct al_source source;
	char start[16];

	if (!al_source_open(&source, path, NULL))
		return false;
	const bool begins = source.bytes >= n && al_source_read(&source, 0, start, n, NULL)
		&& begins_with(start, n, magic);
	al_source_close(&source);
	return begins;
}

static bool is_index(const char *path)
{
	for (size_t i = 0; i < N_INDEX_ENDINGS; i++)
		if (al_ends_with(path, index_endings[i]))
			return true;
	return false;
}

/* The format of files that are called so; NULL: none. */
static const struct al_format *format_of_name(const char *name, bool has_magic)
{
	for (const struct al_format *const *format = al_formats; *format; format++)
		if (al_ends_with(name, (*format)->ending) && (has_magic || !(*format)->magic))
			return *format;
	return NULL;
}

/* The format whose magic fits; else one that has none, by the ending or the first. NULL on
 * failure. */
static const struct al_format *recognize(const struct al_source *source, struct al_error *err)
{
	char start[32];
	size_t length = (size_t)al_least(source->bytes, sizeof(start));

	if (length == 0)
		al_fail(err, AL_EINPUT, "%s: is empty, expected a checkpoint", source->path);
	if (length == 0 || !al_source_read(source, 0, start, length, err))
		return NULL;
	for (const struct al_format *const *format = al_formats; *format; format++)
		if ((*format)->magic && begins_with(start, length, (*format)->magic))
			return *format;
	if (!al_foreign_refuse(source, start, length, err))
		return NULL;
	const struct al_format *format = format_of_name(source->path, false);
	return format ? format : al_formats[0];
}

static bool hash_header(const struct al_shard *shard, uint64_t *hash, struct al_error *err)
{
	const size_t length = (size_t)shard->header_text_bytes;
	AL_FREED char *text = al_alloc(length + 1, 1);

	if (!al_source_read(&shard->source, shard->header_text, text, length, err))
		return false;
	*hash = al_hash(AL_HASH_EMPTY, text, length);
	return true;
}

/* Its format; NULL on failure. */
static const struct al_format *open_shard(struct al_checkpoint *checkpoint, size_t shard_index,
	struct al_error *err)
{
	struct al_shard *shard = &checkpoint->shards[shard_index];
	struct al_listing listing = {.checkpoint = checkpoint,
		.shard = shard,
		.shard_index = shard_index,
		.first = checkpoint->n_tensors};

	if (!al_source_open(&shard->source, shard->source.path, err))
		return NULL;
	checkpoint->budget.n_input += shard->source.bytes;
	const struct al_format *format = recognize(&shard->source, err);
	if (!format)
		return NULL;
	shard->format = format->name;
	if (!format->list(&listing, err))
		return NULL;
	if (shard->header_text_bytes == 0)
		shard->header_text_bytes = shard->header_bytes - shard->header_text;
	return al_listing_check(&listing, format, err)
			&& hash_header(shard, &shard->header_hash, err)
		? format
		: NULL;
}

/* So many shards stay open: a process may have as few as 1024 files, and callers have some too. */
enum { OPEN_SHARDS = 256 };

const struct al_format *al_shards_open(struct al_checkpoint *checkpoint, const char *const *paths,
	size_t n, struct al_error *err)
{
	const struct al_format *format = NULL;

	checkpoint->shards = al_new_array(&checkpoint->arena, struct al_shard, n + 1);
	for (size_t i = 0; i < n; i++) {
		checkpoint->shards[i].source = (struct al_source){.path = paths[i], .fd = -1};
		checkpoint->n_shards++;
		format = open_shard(checkpoint, i, err);
		if (!format)
			return NULL;
		if (i >= OPEN_SHARDS)
			al_source_close(&checkpoint->shards[i].source);
	}
	return format;
}

/* A file of tensors, or an index. */
static bool open_file(struct al_checkpoint *checkpoint, const char *path, struct al_error *err)
{
	if (is_index(path)) {
		checkpoint->index = path;
		return al_index_open(checkpoint, err);
	}
	const struct al_format *format = al_shards_open(checkpoint, &path, 1, err);

	if (!format || (format->open_others && !format->open_others(checkpoint, err))
		|| !al_checkpoint_sort_names(checkpoint, err))
		return false;
	if (format->describe)
		format->describe(checkpoint);
	return true;
}

/* ---- a folder ---- */

/* The path of what has that name, or NULL where nothing has it. A pipe, a folder or a link to
 * nothing isn't taken as absent: opening it reports what it is. */
static const char *existing(struct al_arena *arena, const char *folder, const char *name)
{
	const char *path = al_path_join(arena, folder, name);

	return al_path_kind(path) != AL_PATH_NONE ? path : NULL;
}

/* What a folder holds, where nothing in it has the usual name. */
struct candidates {
	const char *index, *file;
	const char *alone; /* one that wants to be named itself */
	const char *foreign; /* ... or that is read by other programs alone */
	size_t n_indexes, n_files;
};

static bool look_around(struct al_checkpoint *checkpoint, const char *folder,
	struct candidates *found, struct al_error *err)
{
	const char **names;
	size_t n;

	if (!al_folder_list(&checkpoint->arena, folder, &names, &n, err))
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *name = names[i];
		if (is_index(name) && found->n_indexes++ == 0)
			found->index = al_path_join(&checkpoint->arena, folder, name);
		const struct al_format *format = format_of_name(name, true);
		if (format && !format->is_alone && found->n_files++ == 0)
			found->file = al_path_join(&checkpoint->arena, folder, name);
		if (format && format->is_alone && (!found->alone || strcmp(name, found->alone) < 0))
			found->alone = al_strdup(&checkpoint->arena, name);
		if (al_foreign_name(name) && (!found->foreign || strcmp(name, found->foreign) < 0))
			found->foreign = al_strdup(&checkpoint->arena, name);
	}
	return true;
}

/* The order in which the reference implementation of these models looks. */
static const char *const usual_names[] = {"model.safetensors", "model.safetensors.index.json",
	"pytorch_model.bin", "pytorch_model.bin.index.json"};
enum { N_USUAL_NAMES = sizeof(usual_names) / sizeof(*usual_names) };

static bool open_folder(struct al_checkpoint *checkpoint, const char *folder, struct al_error *err)
{
	struct candidates found = {0};

	for (size_t i = 0; i < N_USUAL_NAMES; i++) {
		const char *file = existing(&checkpoint->arena, folder, usual_names[i]);
		if (file)
			return open_file(checkpoint, file, err);
	}
	if (!look_around(checkpoint, folder, &found, err))
		return false;
	if (found.n_indexes == 1 || (found.n_indexes == 0 && found.n_files == 1))
		return open_file(checkpoint, found.n_indexes ? found.index : found.file, err);
	if (found.n_files == 0 && found.n_indexes == 0 && !found.alone && found.foreign)
		return al_fail(err, AL_EINPUT, "%s: contains no .safetensors file; %s is %s",
			folder, found.foreign, al_foreign_name(found.foreign));
	if (found.n_files == 0 && found.n_indexes == 0)
		return al_fail(err, AL_EINPUT, "%s: contains no .safetensors file%s%s", folder,
			found.alone ? ": name the file itself, e.g. " : "",
			found.alone ? found.alone : "");
	return al_fail(err, AL_EINPUT,
		"%s: contains %zu .safetensors files and %zu indexes; expected model.safetensors, "
		"model.safetensors.index.json or a single file",
		folder, found.n_files, found.n_indexes);
}

/* ---- all ---- */

static const char *folder_of(struct al_arena *arena, const char *path, bool is_folder)
{
	const char *slash = strrchr(path, '/');

	if (is_folder)
		return path;
	if (!slash)
		return ".";
	return slash == path ? "/" : al_strndup(arena, path, (size_t)(slash - path));
}

static void add_up(struct al_checkpoint *checkpoint)
{
	checkpoint->header_hash = checkpoint->n_shards == 1 ? checkpoint->shards[0].header_hash
							    : AL_HASH_EMPTY;
	for (size_t i = 0; i < checkpoint->n_shards; i++) {
		const struct al_shard *shard = &checkpoint->shards[i];
		checkpoint->bytes += shard->source.bytes;
		if (checkpoint->n_shards > 1)
			checkpoint->header_hash = al_hash(checkpoint->header_hash,
				&shard->header_hash, sizeof(shard->header_hash));
	}
}

static bool open_path(struct al_checkpoint *checkpoint, struct al_error *err)
{
	const char *path = checkpoint->path;
	const enum al_path_kind kind = al_path_kind(path);

	if (kind == AL_PATH_NONE)
		return al_fail(err, AL_EINPUT, "%s: can't open: %s", path, strerror(errno));
	bool is_folder = kind == AL_PATH_FOLDER;
	checkpoint->config = existing(&checkpoint->arena,
		folder_of(&checkpoint->arena, path, is_folder), "config.json");
	return (is_folder ? open_folder : open_file)(checkpoint, path, err);
}

bool al_checkpoint_open(struct al_checkpoint *checkpoint, const char *path, struct al_error *err)
{
	*checkpoint = (struct al_checkpoint){0};
	al_arena_init(&checkpoint->arena);
	checkpoint->arena.budget = &checkpoint->budget;
	checkpoint->path = al_strdup(&checkpoint->arena, path);
	if (open_path(checkpoint, err)) {
		add_up(checkpoint);
		return true;
	}
	al_checkpoint_close(checkpoint);
	return false;
}

void al_checkpoint_close(void *object)
{
	struct al_checkpoint *checkpoint = object;

	al_layouts_close(checkpoint);
	for (size_t i = 0; i < checkpoint->n_shards; i++)
		al_source_close(&checkpoint->shards[i].source);
	al_arena_finish(&checkpoint->arena);
	*checkpoint = (struct al_checkpoint){0};
}

/* ---- its hash ---- */

static bool add_tensor(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	unsigned char *block, size_t room, uint64_t *hash, struct al_error *err)
{
	const char *dtype = al_dtype_title(tensor->dtype);

	*hash = al_hash(*hash, tensor->name, strlen(tensor->name) + 1);
	*hash = al_hash(*hash, dtype, strlen(dtype) + 1);
	*hash = al_hash(*hash, tensor->shape, tensor->n_dims * sizeof(*tensor->shape));
	for (uint64_t first = 0; first < tensor->bytes; first += room) {
		const size_t now = (size_t)al_least(tensor->bytes - first, room);
		if (!al_tensor_read_bytes(checkpoint, tensor, first, block, now, err))
			return false;
		*hash = al_hash_block(*hash, block, now);
	}
	return true;
}

bool al_checkpoint_hash(const struct al_checkpoint *checkpoint, const bool *which, uint64_t *hash,
	struct al_error *err)
{
	enum { ROOM = 1 << 20 };
	AL_FREED unsigned char *block = al_alloc(ROOM, 1);

	*hash = AL_HASH_EMPTY;
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = checkpoint->names[i];
		if ((!which || which[tensor - checkpoint->tensors])
			&& !add_tensor(checkpoint, tensor, block, ROOM, hash, err))
			return false;
	}
	return true;
}

/* ---- has it been overwritten? ---- */

static bool check_header(const struct al_shard *shard, struct al_error *err)
{
	uint64_t hash;

	return hash_header(shard, &hash, err)
		&& (hash == shard->header_hash
			|| al_fail(err, AL_ESYSTEM, "%s: its header changed while being read",
				shard->source.path));
}

bool al_checkpoint_check_unchanged(const struct al_checkpoint *checkpoint, struct al_error *err)
{
	if (checkpoint->of)
		return al_checkpoint_check_unchanged(checkpoint->of, err);
	for (size_t i = 0; i < checkpoint->n_shards; i++)
		if (!al_source_check_unchanged(&checkpoint->shards[i].source, err)
			|| !check_header(&checkpoint->shards[i], err))
			return false;
	return true;
}
