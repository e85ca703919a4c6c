/* The index of a sharded folder: {"metadata": {...}, "weight_map": {"TENSOR": "SHARD FILE", ...}}.
 *
 * A shard is a file in the index's folder, never a path. Every tensor that the index names must be
 * in the shard that it names; what a shard holds besides is counted. */

#include "base/json.h"
#include "formats/format.h"

/* What is wrong with the name of a shard; NULL where nothing is. */
static const char *refuse_name(const char *name)
{
	if (!*name)
		return "is empty";
	if (strchr(name, '/') || strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
		return "is a path, expected a file next to the index";
	return strlen(name) > 255 ? "is longer than 255 bytes" : NULL;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the shards, sorted, each once. */
struct shard_names {
	const char **items;
	size_t n;
};

static bool read_names(const struct al_json *json, const struct al_item *map,
	struct al_arena *arena, struct shard_names *names, struct al_error *err)
{
	size_t n = 0;

	if (!al_json_first(map))
		return al_json_fail(json, map, err, "\"weight_map\" names no tensors");
	names->items = al_new_array(arena, const char *, al_json_size(map) + 1);
	al_json_each (member, map) {
		const char *name;
		if (!al_json_text(json, member, &name, err))
			return false;
		const char *wrong = refuse_name(name);
		if (wrong)
			return al_json_fail(json, member, err, "the shard's name \"%.120s\" %s",
				name, wrong);
		names->items[n++] = name;
	}
	qsort(names->items, n, sizeof(*names->items), compare_texts);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(names->items[i], names->items[names->n - 1]) != 0)
			names->items[names->n++] = names->items[i];
	return true;
}

static bool open_shards(struct al_checkpoint *checkpoint, const struct shard_names *names,
	struct al_error *err)
{
	const char *slash = strrchr(checkpoint->index, '/');
	int folder = slash ? (int)(slash + 1 - checkpoint->index) : 0;
	const char **paths = al_new_array(&checkpoint->arena, const char *, names->n + 1);

	for (size_t i = 0; i < names->n; i++)
		paths[i] = al_format(&checkpoint->arena, "%.*s%s", folder, checkpoint->index,
			names->items[i]);
	return al_shards_open(checkpoint, paths, names->n, err)
		|| al_in(err, "%s", checkpoint->index);
}

static bool check_map(struct al_checkpoint *checkpoint, const struct al_json *json,
	const struct al_item *map, const struct shard_names *names, struct al_error *err)
{
	checkpoint->n_unlisted = checkpoint->n_tensors - al_json_size(map);
	al_json_each (member, map) {
		const char *name = al_json_key(member), *shard;
		if (!al_json_text(json, member, &shard, err))
			return false;
		const struct al_tensor *tensor = al_checkpoint_find(checkpoint, name);
		if (!tensor)
			return al_json_fail(json, member, err, "tensor \"%.120s\" is not in %s",
				name, shard);
		if (strcmp(names->items[tensor->shard], shard) != 0)
			return al_json_fail(json, member, err,
				"tensor \"%.120s\" is in %s, not in %s", name,
				names->items[tensor->shard], shard);
	}
	return true;
}

static bool open_map(struct al_checkpoint *checkpoint, const struct al_json *json,
	struct al_error *err)
{
	const struct al_item *map;
	struct shard_names names = {0};

	return al_json_expect(json, json->root, AL_JSON_OBJECT, err)
		&& al_json_get_node(json, json->root, "weight_map", AL_JSON_OBJECT, true, &map, err)
		&& read_names(json, map, &checkpoint->arena, &names, err)
		&& open_shards(checkpoint, &names, err) && al_checkpoint_sort_names(checkpoint, err)
		&& check_map(checkpoint, json, map, &names, err);
}

bool al_index_open(struct al_checkpoint *checkpoint, struct al_error *err)
{
	AL_JSON(json);

	return al_json_read(&json, checkpoint->index, err) && open_map(checkpoint, &json, err);
}
