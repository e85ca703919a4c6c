/* The values of a config.json: each against its key's type. */
#include "catalog/config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_KEY = 64 };

/* ---- keys ---- */

/* "a.b": the key b of the object a; what isn't an object has no keys. "a.=": a where it isn't an
 * object. "a.*.b": the array a, each of whose items has a key b. */
const struct al_item *al_config_find_nested(const struct al_item *object, const char *path)
{
	char key[MOST_KEY];

	while (object && al_json_kind(object) == AL_JSON_OBJECT) {
		size_t length = strcspn(path, ".");
		if (!path[length])
			return al_json_get(object, path);
		if (length >= sizeof(key))
			return NULL;
		memcpy(key, path, length);
		key[length] = '\0';
		object = al_json_get(object, key);
		path += length + 1;
	}
	const enum al_json_kind kind = object ? al_json_kind(object) : AL_JSON_NULL;
	const bool is_itself = strcmp(path, "=") == 0 && kind != AL_JSON_NULL,
		   is_array = strncmp(path, "*.", 2) == 0 && kind == AL_JSON_ARRAY;
	return is_itself || is_array ? object : NULL;
}

/* Of a text_config: whether its embeddings are tied stands in the config around it. */
static const struct al_item *find_around(const struct al_config *config,
	const struct al_config_key *key)
{
	static const char tied[] = "tie_word_embeddings";

	return config->object != config->doc->root && key->n_keys > 0
			&& strcmp(key->keys[0], tied) == 0
		? al_json_get(config->doc->root, tied)
		: NULL;
}

const struct al_item *al_config_object(const struct al_config *config,
	const struct al_config_place *place)
{
	if (!place)
		return config->object;
	for (size_t i = 0; i < place->n_objects; i++) {
		const struct al_item *object = *place->objects[i]
			? al_config_find_nested(config->object, place->objects[i])
			: config->object;
		if (object && al_json_kind(object) == AL_JSON_OBJECT)
			return object;
	}
	return NULL;
}

static const struct al_item *find_in(const struct al_item *object, const struct al_config_key *key)
{
	for (size_t i = 0; object && i < key->n_keys; i++) {
		const struct al_item *node = al_config_find_nested(object, key->keys[i]);
		if (node)
			return node;
	}
	return NULL;
}

const struct al_item *al_config_find(const struct al_config *config,
	const struct al_config_key *key)
{
	const struct al_config_place *place = key->place;
	const struct al_item *node = NULL;

	for (size_t i = 0; place && !node && i < place->n_around; i++)
		if (al_find_name(place->around[i], key->keys, key->n_keys) >= 0)
			node = find_in(config->object, key);
	if (!node)
		node = find_in(al_config_object(config, place), key);
	return node ? node : find_around(config, key);
}

/* ---- values ---- */

/* A whole number, or true and false as 1 and 0 where `takes_boolean`. */
bool al_config_read_number(const struct al_config *config, const struct al_item *node,
	const char *key, bool takes_boolean, int64_t *out, struct al_error *err)
{
	double number;
	bool is_true;

	if (takes_boolean && al_json_kind(node) == AL_JSON_BOOLEAN) {
		if (!al_json_boolean(config->doc, node, &is_true, err))
			return false;
		*out = is_true;
		return true;
	}
	if (!al_json_real(config->doc, node, &number, err))
		return false;
	if (number < 0 || number >= 0x1p53 || number != floor(number))
		return al_json_fail(config->doc, node, err,
			"\"%s\" is %.17g, expected a whole number of at least 0 and below 2^53",
			key, number);
	*out = (int64_t)number;
	return true;
}

/* 0.25 -> 250000. A decimal of six places, as a double, is within half an ulp of itself. */
bool al_config_read_millionths(const struct al_config *config, const struct al_item *node,
	const char *name, int64_t *out, struct al_error *err)
{
	double number;

	if (!al_json_real(config->doc, node, &number, err))
		return false;
	double rounded = round(number * 1e6);
	if (number < 0 || rounded >= 0x1p53 || rounded / 1e6 != number)
		return al_json_fail(config->doc, node, err,
			"\"%s\" is %.17g, expected a decimal of at least 0 and at most six places",
			name, number);
	*out = (int64_t)rounded;
	return true;
}

/* A text, or the first of a list of texts; where the default is "true" or "false", also true and
 * false. */
static bool read_word(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, const char **out, struct al_error *err)
{
	const bool takes_boolean = key->word
		&& (strcmp(key->word, "true") == 0 || strcmp(key->word, "false") == 0);
	bool is_true;

	if (takes_boolean && al_json_kind(node) == AL_JSON_BOOLEAN) {
		if (!al_json_boolean(config->doc, node, &is_true, err))
			return false;
		*out = is_true ? "true" : "false";
		return true;
	}
	if (al_json_kind(node) != AL_JSON_ARRAY)
		return al_json_text(config->doc, node, out, err);
	if (al_json_size(node) == 0)
		return al_json_fail(config->doc, node, err, "\"%s\" is empty, expected a string",
			al_json_key(node));
	return al_json_text(config->doc, al_json_first(node), out, err);
}

static bool read_size(const struct al_config *config, const struct al_item *node, const char *name,
	int64_t *out, struct al_error *err)
{
	enum al_json_kind kind = al_json_kind(node);

	if (kind != AL_JSON_ARRAY && kind != AL_JSON_OBJECT)
		return al_config_read_number(config, node, name, false, out, err);
	*out = (int64_t)al_json_size(node);
	return true;
}

/* 3 layers: 3, "ME*", or a list of three. */
static bool read_layers(const struct al_config *config, const struct al_item *node,
	const char *name, int64_t *out, struct al_error *err)
{
	const char *text;

	if (al_json_kind(node) != AL_JSON_TEXT)
		return read_size(config, node, name, out, err);
	if (!al_json_text(config->doc, node, &text, err))
		return false;
	*out = (int64_t)strlen(text);
	return true;
}

/* As the reference implementations multiply, in doubles. */
static bool read_times(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, const char *name, int64_t *out, struct al_error *err)
{
	const struct al_setting *of;
	double number;

	if (!al_json_real(config->doc, node, &number, err)
		|| !al_settings_get(config->settings, key->of, &of, err))
		return false;
	double product = of ? floor(number * (double)of->value.integer) : -1;
	if (!(product >= 0 && product < 0x1p53))
		return al_json_fail(config->doc, node, err,
			"\"%s\" is %.17g, expected a decimal of at least 0", name, number);
	*out = (int64_t)product;
	return true;
}

/* -1 stands for a whole row. */
static bool read_group(const struct al_config *config, const struct al_item *node, const char *name,
	int64_t *out, struct al_error *err)
{
	int64_t number;

	if (!al_json_whole(config->doc, node, &number, NULL) || number != -1)
		return al_config_read_number(config, node, name, false, out, err);
	*out = 0;
	return true;
}

static bool read_count(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, int64_t *out, struct al_error *err)
{
	const char *name = al_json_key(node);

	if (key->type == AL_CONFIG_SIZE)
		return read_size(config, node, name, out, err);
	if (key->type == AL_CONFIG_LAYERS)
		return read_layers(config, node, name, out, err);
	if (key->type == AL_CONFIG_ENTRIES) {
		*out = al_json_kind(node) == AL_JSON_ARRAY ? (int64_t)al_json_size(node) : 1;
		return true;
	}
	if (key->type == AL_CONFIG_TIMES)
		return read_times(config, node, key, name, out, err);
	if (key->type == AL_CONFIG_GROUP)
		return read_group(config, node, name, out, err);
	if (key->type == AL_CONFIG_MILLIONTHS)
		return al_config_read_millionths(config, node, name, out, err);
	return al_config_read_number(config, node, name, false, out, err);
}

bool al_config_read(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, struct al_error *err)
{
	struct al_settings *settings = config->settings;
	const char *name = al_json_key(node), *word;
	const char *origin = al_format(&settings->arena, "%s: %s", config->origin, name);
	int64_t number = 0;
	bool is_true;

	switch (key->type) {
	case AL_CONFIG_LIST:
		return al_config_read_list(config, node, key, origin, err);
	case AL_CONFIG_INDICES:
		return al_config_read_indices(config, node, key, origin, err);
	case AL_CONFIG_WORD:
		if (!read_word(config, node, key, &word, err))
			return false;
		al_settings_set_word(settings, key->symbol, word, origin);
		return true;
	case AL_CONFIG_BOOLEAN:
		if (!al_json_boolean(config->doc, node, &is_true, err))
			return false;
		al_settings_set(settings, key->symbol, is_true, origin);
		return true;
	default:
		if (!read_count(config, node, key, &number, err))
			return false;
		al_settings_set(settings, key->symbol, number, origin);
		return true;
	}
}

/* ---- as text ---- */

const char *al_config_value_text(const struct al_config_key *key, const struct al_value *value,
	struct al_arena *arena)
{
	if (value->kind == AL_VALUE_WORD)
		return value->word;
	if (key->type == AL_CONFIG_BOOLEAN)
		return value->integer ? "true" : "false";
	if (key->type == AL_CONFIG_MILLIONTHS)
		return al_format(arena, "%g", (double)value->integer / 1e6);
	return al_format(arena, "%lld", (long long)value->integer);
}
