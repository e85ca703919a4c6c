/* The values of a config.json: each against its key's type. */
#include "catalog/config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_LIST = 1 << 16, MOST_KEY = 64 };

bool al_config_is_list(const struct al_config_key *key)
{
	return key->type == AL_CONFIG_LIST || key->type == AL_CONFIG_INDICES;
}

/* ---- keys ---- */

/* "a.b": the key b of the object a; what isn't an object has no keys. "a.*.b": the array a, each of
 * whose items has a key b. */
static const struct cJSON *find_nested(const struct cJSON *object, const char *path)
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
	return object && strncmp(path, "*.", 2) == 0 && al_json_kind(object) == AL_JSON_ARRAY
		? object
		: NULL;
}

/* Of a text_config: whether its embeddings are tied stands in the config around it. */
static const struct cJSON *find_around(const struct al_config *config,
	const struct al_config_key *key)
{
	static const char tied[] = "tie_word_embeddings";

	return config->object != config->doc->root && key->n_keys > 0
			&& strcmp(key->keys[0], tied) == 0
		? al_json_get(config->doc->root, tied)
		: NULL;
}

const struct cJSON *al_config_object(const struct al_config *config,
	const struct al_config_place *place)
{
	if (!place)
		return config->object;
	for (size_t i = 0; i < place->n_objects; i++) {
		const struct cJSON *object = *place->objects[i]
			? find_nested(config->object, place->objects[i])
			: config->object;
		if (object && al_json_kind(object) == AL_JSON_OBJECT)
			return object;
	}
	return NULL;
}

static const struct cJSON *find_in(const struct cJSON *object, const struct al_config_key *key)
{
	for (size_t i = 0; object && i < key->n_keys; i++) {
		const struct cJSON *node = find_nested(object, key->keys[i]);
		if (node)
			return node;
	}
	return NULL;
}

const struct cJSON *al_config_find(const struct al_config *config, const struct al_config_key *key)
{
	const struct al_config_place *place = key->place;
	const struct cJSON *node = NULL;

	for (size_t i = 0; place && !node && i < place->n_around; i++)
		if (al_find_name(place->around[i], key->keys, key->n_keys) >= 0)
			node = find_in(config->object, key);
	if (!node)
		node = find_in(al_config_object(config, place), key);
	return node ? node : find_around(config, key);
}

/* ---- values ---- */

/* A whole number, or true and false as 1 and 0 where `takes_boolean`. */
static bool read_number(const struct al_config *config, const struct cJSON *node, const char *key,
	bool takes_boolean, int64_t *out, struct al_error *err)
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

/* A word's place among those that the key takes; a whole number is the word of its digits. */
static bool read_listed_word(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, const char *name, struct al_value *out,
	struct al_error *err)
{
	const char *word;
	int64_t number;

	if (al_json_kind(node) != AL_JSON_NUMBER) {
		if (!al_json_text(config->doc, node, &word, err))
			return false;
	} else {
		if (!read_number(config, node, name, false, &number, err))
			return false;
		word = al_format(&config->settings->arena, "%lld", (long long)number);
	}
	int index = al_find_name(word, key->words, key->n_words);
	if (index < 0) {
		al_fail_unknown(err, name, word, key->words, key->n_words);
		return al_json_in(config->doc, node, err);
	}
	al_value_set_int(out, index);
	return true;
}

/* 0.25 -> 250000. A decimal of six places, as a double, is within half an ulp of itself. */
static bool read_millionths(const struct al_config *config, const struct cJSON *node,
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

/* Of "a.*.b" the b of an item of a, where it has one. */
static const struct cJSON *find_in_item(const struct cJSON *item, const struct al_config_key *key)
{
	const char *star = strstr(key->keys[0], ".*.");

	return star ? find_nested(item, star + 3) : item;
}

/* What stands for null in an item. */
static bool read_null(const struct al_config *config, const struct cJSON *item,
	const struct al_config_key *key, struct al_value *out, struct al_error *err)
{
	struct al_scope scope = al_settings_scope(config->settings);
	int64_t number;

	if (!key->null)
		return al_json_fail(config->doc, item, err, "found no %s",
			strstr(key->keys[0], ".*.") + 3);
	if (!al_formula_whole(key->null, &scope, 0, &number, err))
		return false;
	al_value_set_int(out, number);
	return true;
}

static bool read_item(const struct al_config *config, const struct cJSON *item,
	const struct al_config_key *key, const char *name, struct al_value *out,
	struct al_error *err)
{
	const struct cJSON *node = find_in_item(item, key);
	const char *word;
	int64_t number = 0;

	al_value_init(out);
	if (node != item && (!node || al_json_kind(node) == AL_JSON_NULL))
		return read_null(config, item, key, out, err);
	if (key->words)
		return read_listed_word(config, node, key, name, out, err);
	if (key->of) {
		if (!read_millionths(config, node, name, &number, err))
			return false;
		al_value_set_int(out, number);
		return true;
	}
	if (al_json_kind(node) == AL_JSON_TEXT) {
		if (!al_json_text(config->doc, node, &word, err))
			return false;
		al_value_set_word(out, word);
	} else {
		if (!read_number(config, node, name, true, &number, err))
			return false;
		al_value_set_int(out, number);
	}
	return true;
}

bool al_config_length(const struct al_config *config, const struct al_config_key *key, int64_t *out,
	struct al_error *err)
{
	struct al_scope scope = al_settings_scope(config->settings);

	if (!al_formula_whole(key->length, &scope, 0, out, err))
		return false;
	return *out <= MOST_LIST
		|| al_fail(err, AL_EINPUT, "%s is %lld, expected at most %d",
			al_formula_source(key->length), (long long)*out, MOST_LIST);
}

/* A list may have entries for the layers behind the model's too. */
static const struct al_formula *find_length(const struct al_config *config,
	const struct al_config_key *key, size_t n)
{
	struct al_scope scope = al_settings_scope(config->settings);
	int64_t length;

	return key->or_length && al_formula_whole(key->or_length, &scope, 0, &length, NULL)
			&& (uint64_t)length == n
		? key->or_length
		: key->length;
}

/* `n` items, which must be as many as the key's list has. */
static bool check_length(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, size_t n, struct al_error *err)
{
	int64_t length;

	if (find_length(config, key, n) == key->or_length)
		return true;
	if (!al_config_length(config, key, &length, err))
		return al_json_in(config->doc, node, err);
	bool is_number = al_formula_is_integer(key->length, &length);
	return (uint64_t)length == n
		|| al_json_fail(config->doc, node, err, "\"%s\" has %zu items, expected %s%s%lld",
			al_json_key(node), n, is_number ? "" : al_formula_source(key->length),
			is_number ? "" : " = ", (long long)length);
}

static bool fail_letter(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, size_t layer, const char *letter, struct al_error *err)
{
	const char *expected = "";

	for (size_t i = 0; i < key->n_words; i++)
		if (strlen(key->words[i]) == 1)
			expected = al_format(&config->settings->arena, "%s%s", expected,
				key->words[i]);
	return al_json_fail(config->doc, node, err,
		"\"%s\" has \"%s\" for layer %zu, expected one of \"%s\"", al_json_key(node),
		letter, layer, expected);
}

/* "MEM*": a letter a layer, which stands for its place among those that the key takes. */
static bool read_pattern(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, const char *origin, struct al_error *err)
{
	struct al_settings *settings = config->settings;
	const char *text;

	if (!al_json_text(config->doc, node, &text, err)
		|| !check_length(config, node, key, strlen(text), err))
		return false;
	struct al_value *values = al_new_array(&settings->arena, struct al_value, strlen(text));
	for (size_t i = 0; text[i]; i++) {
		const char letter[] = {text[i], '\0'};
		int index = al_find_name(letter, key->words, key->n_words);
		if (index < 0)
			return fail_letter(config, node, key, i, letter, err);
		al_value_init(&values[i]);
		al_value_set_int(&values[i], index);
	}
	al_settings_set_list(settings, key->symbol, values, strlen(text), origin);
	al_settings_derived(settings, key->symbol, NULL, find_length(config, key, strlen(text)));
	return true;
}

static bool read_list(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, const char *origin, struct al_error *err)
{
	struct al_settings *settings = config->settings;
	size_t n = 0;

	if (key->words && al_json_kind(node) == AL_JSON_TEXT)
		return read_pattern(config, node, key, origin, err);
	if (!al_json_expect(config->doc, node, AL_JSON_ARRAY, err)
		|| !check_length(config, node, key, al_json_size(node), err))
		return false;
	struct al_value *values = al_new_array(&settings->arena, struct al_value,
		al_json_size(node));
	al_json_each (item, node)
		if (!read_item(config, item, key, al_json_key(node), &values[n++], err))
			return false;
	al_settings_set_list(settings, key->symbol, values, n, origin);
	al_settings_derived(settings, key->symbol, NULL, find_length(config, key, n));
	return true;
}

/* Marks layer `index` of those that a key of indices has. */
static bool mark_layer(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, const char *name, int64_t index, struct al_value *flags,
	int64_t length, struct al_error *err)
{
	if (index < key->first || index - key->first >= length)
		return al_json_fail(config->doc, node, err,
			"\"%s\" names layer %lld, expected %lld to %lld", name, (long long)index,
			(long long)key->first, (long long)(key->first + length - 1));
	al_value_set_int(&flags[index - key->first], 1);
	return true;
}

/* "3,5" as [3, 5] */
static bool mark_layers_of_text(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, struct al_value *flags, int64_t length,
	struct al_error *err)
{
	const char *text;

	if (!al_json_text(config->doc, node, &text, err))
		return false;
	for (const char *p = text; *p; p += strspn(p, ", ")) {
		char *end;
		errno = 0;
		long long index = strtoll(p, &end, 10);
		if (end == p || errno || (*end && !strchr(", ", *end)))
			return al_json_fail(config->doc, node, err,
				"\"%s\" is \"%s\", expected numbers of layers between commas",
				al_json_key(node), text);
		if (!mark_layer(config, node, key, al_json_key(node), index, flags, length, err))
			return false;
		p = end;
	}
	return true;
}

/* [3, 5] of 6 layers -> 0, 0, 0, 1, 0, 1 */
static bool read_indices(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, const char *origin, struct al_error *err)
{
	struct al_settings *settings = config->settings;
	const bool is_text = al_json_kind(node) == AL_JSON_TEXT;
	const char *name = al_json_key(node);
	int64_t length, index = 0;

	if (!is_text && !al_json_expect(config->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (!al_config_length(config, key, &length, err))
		return al_json_in(config->doc, node, err);
	struct al_value *flags = al_new_array(&settings->arena, struct al_value, (size_t)length);
	for (int64_t i = 0; i < length; i++)
		al_value_init(&flags[i]);
	if (is_text && !mark_layers_of_text(config, node, key, flags, length, err))
		return false;
	if (!is_text)
		al_json_each (item, node)
			if (!read_number(config, item, name, false, &index, err)
				|| !mark_layer(config, item, key, name, index, flags, length, err))
				return false;
	al_settings_set_list(settings, key->symbol, flags, (size_t)length, origin);
	al_settings_derived(settings, key->symbol, NULL, key->length);
	return true;
}

/* A text, or the first of a list of texts. */
static bool read_word(const struct al_config *config, const struct cJSON *node, const char **out,
	struct al_error *err)
{
	if (al_json_kind(node) != AL_JSON_ARRAY)
		return al_json_text(config->doc, node, out, err);
	if (al_json_size(node) == 0)
		return al_json_fail(config->doc, node, err, "\"%s\" is empty, expected a string",
			al_json_key(node));
	return al_json_text(config->doc, al_json_first(node), out, err);
}

static bool read_size(const struct al_config *config, const struct cJSON *node, const char *name,
	int64_t *out, struct al_error *err)
{
	enum al_json_kind kind = al_json_kind(node);

	if (kind != AL_JSON_ARRAY && kind != AL_JSON_OBJECT)
		return read_number(config, node, name, false, out, err);
	*out = (int64_t)al_json_size(node);
	return true;
}

/* 3 layers: 3, "ME*", or a list of three. */
static bool read_layers(const struct al_config *config, const struct cJSON *node, const char *name,
	int64_t *out, struct al_error *err)
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
static bool read_times(const struct al_config *config, const struct cJSON *node,
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
static bool read_group(const struct al_config *config, const struct cJSON *node, const char *name,
	int64_t *out, struct al_error *err)
{
	int64_t number;

	if (!al_json_whole(config->doc, node, &number, NULL) || number != -1)
		return read_number(config, node, name, false, out, err);
	*out = 0;
	return true;
}

static bool read_count(const struct al_config *config, const struct cJSON *node,
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
		return read_millionths(config, node, name, out, err);
	return read_number(config, node, name, false, out, err);
}

bool al_config_read(const struct al_config *config, const struct cJSON *node,
	const struct al_config_key *key, struct al_error *err)
{
	struct al_settings *settings = config->settings;
	const char *name = al_json_key(node), *word;
	const char *origin = al_format(&settings->arena, "%s: %s", config->origin, name);
	int64_t number = 0;
	bool is_true;

	switch (key->type) {
	case AL_CONFIG_LIST:
		return read_list(config, node, key, origin, err);
	case AL_CONFIG_INDICES:
		return read_indices(config, node, key, origin, err);
	case AL_CONFIG_WORD:
		if (!read_word(config, node, &word, err))
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
