/* Split GGUF files, NAME-00001-of-00003.gguf: each contains split.no, counted from 0, split.count
 * and split.tensors.count, of all parts; the metadata of the model are in the first. */

#include "formats/gguf.h"

/* The number of that key; -1 where there is none. */
static int64_t find_number(const struct al_shard *shard, const char *key)
{
	const struct al_gguf_pair *pair = al_gguf_find_pair(shard, key);

	return pair && !pair->text ? strtoll(pair->value, NULL, 10) : -1;
}

static const char *part_ending(struct al_arena *arena, int64_t number, int64_t n)
{
	return al_format(arena, "-%05" PRId64 "-of-%05" PRId64 ".gguf", number, n);
}

/* The names of all parts from that of one. */
static bool name_parts(struct al_checkpoint *checkpoint, int64_t n, const char **paths,
	struct al_error *err)
{
	const char *path = checkpoint->shards[0].source.path;
	const int64_t number = find_number(&checkpoint->shards[0], "split.no") + 1;
	const char *ending = part_ending(&checkpoint->arena, number, n);

	if (!al_ends_with(path, ending))
		return al_fail(err, AL_EINPUT,
			"%s: is part %" PRId64 " of %" PRId64
			", but its name doesn't end in %s, by which the other parts are found",
			path, number, n, ending);
	for (int64_t i = 0; i < n; i++)
		paths[i] = al_format(&checkpoint->arena, "%.*s%s",
			(int)(strlen(path) - strlen(ending)), path,
			part_ending(&checkpoint->arena, i + 1, n));
	return true;
}

static bool check_key(const struct al_shard *shard, const char *key, size_t expected,
	struct al_error *err)
{
	const int64_t found = find_number(shard, key);

	if (found < 0)
		return al_fail(err, AL_EINPUT, "%s: has no %s, expected %zu", shard->source.path,
			key, expected);
	return found == (int64_t)expected
		|| al_fail(err, AL_EINPUT,
			"%s: %s is %" PRId64 ", expected %zu: the parts belong to different models",
			shard->source.path, key, found, expected);
}

static bool check_parts(const struct al_checkpoint *checkpoint, struct al_error *err)
{
	const struct al_shard *shards = checkpoint->shards;

	for (size_t i = 0; i < checkpoint->n_shards; i++)
		if (!check_key(&shards[i], "split.no", i, err)
			|| !check_key(&shards[i], "split.count", checkpoint->n_shards, err))
			return false;
	for (size_t i = 0; i < checkpoint->n_shards; i++)
		if (!check_key(&shards[i], "split.tensors.count", checkpoint->n_tensors, err))
			return false;
	return true;
}

/* Resets it, as if nothing had been read. */
static void close_only(struct al_checkpoint *checkpoint)
{
	al_source_close(&checkpoint->shards[0].source);
	checkpoint->n_shards = 0;
	checkpoint->n_tensors = checkpoint->n_metadata = 0;
}

bool al_gguf_open_parts(struct al_checkpoint *checkpoint, struct al_error *err)
{
	enum { MOST_PARTS = 65535 };
	const int64_t n = find_number(&checkpoint->shards[0], "split.count");

	if (n <= 1)
		return true;
	if (n > MOST_PARTS)
		return al_fail(err, AL_EINPUT,
			"%s: split.count is %" PRId64 ", expected at most %d", checkpoint->path, n,
			MOST_PARTS);
	const char **paths = al_new_array(&checkpoint->arena, const char *, (size_t)n);
	if (!name_parts(checkpoint, n, paths, err))
		return false;
	close_only(checkpoint);
	return (al_shards_open(checkpoint, paths, (size_t)n, err) && check_parts(checkpoint, err))
		|| al_in(err, "%s: is one of %" PRId64 " parts", checkpoint->path, n);
}
