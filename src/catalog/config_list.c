/* Lists of a config.json: a value a layer, a pattern of letters, numbers of layers. */
#include "catalog/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { MOST_LIST = 1 << 16 };

bool al_config_is_list(const struct al_config_key *key)
{
	return key->type == AL_CONFIG_LIST || key->type == AL_CONFIG_INDICES;
}

/* No number is like another: all are named. */
static bool fail_number(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, const char *name, const char *number, struct al_error *err)
{
	const char *expected = "";

	for (size_t i = 0; i < key->n_words; i++)
		expected = al_format(&config->settings->arena, "%s%s%s", expected, i ? ", " : "",
			key->words[i]);
	return al_json_fail(config->doc, node, err, "\"%s\" is %s, expected one of %s", name,
		number, expected);
}

/* A word's place among those that the key takes; a whole number is the word of its digits. */
static bool read_listed_word(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, const char *name, struct al_value *out,
	struct al_error *err)
{
	const bool is_number = al_json_kind(node) == AL_JSON_NUMBER;
	const char *word;
	int64_t number;

	if (!is_number && !al_json_text(config->doc, node, &word, err))
		return false;
	if (is_number) {
		if (!al_config_read_number(config, node, name, false, &number, err))
			return false;
		word = al_format(&config->settings->arena, "%lld", (long long)number);
	}
	int index = al_find_name(word, key->words, key->n_words);
	if (index < 0 && is_number)
		return fail_number(config, node, key, name, word, err);
	if (index < 0) {
		al_fail_unknown(err, name, word, key->words, key->n_words);
		return al_json_in(config->doc, node, err);
	}
	al_value_set_int(out, index);
	return true;
}

/* Of "a.*.b" the b of an item of a, where it has one. */
static const struct al_item *find_in_item(const struct al_item *item,
	const struct al_config_key *key)
{
	const char *star = strstr(key->keys[0], ".*.");

	return star ? al_config_find_nested(item, star + 3) : item;
}

/* What stands for null in an item. */
static bool read_null(const struct al_config *config, const struct al_item *item,
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

static bool read_item(const struct al_config *config, const struct al_item *item,
	const struct al_config_key *key, const char *name, struct al_value *out,
	struct al_error *err)
{
	const struct al_item *node = find_in_item(item, key);
	const char *word;
	int64_t number = 0;

	al_value_init(out);
	if (node != item && (!node || al_json_kind(node) == AL_JSON_NULL))
		return read_null(config, item, key, out, err);
	if (key->words)
		return read_listed_word(config, node, key, name, out, err);
	if (key->of) {
		if (!al_config_read_millionths(config, node, name, &number, err))
			return false;
		al_value_set_int(out, number);
		return true;
	}
	if (al_json_kind(node) == AL_JSON_TEXT) {
		if (!al_json_text(config->doc, node, &word, err))
			return false;
		al_value_set_word(out, word);
	} else {
		if (!al_config_read_number(config, node, name, true, &number, err))
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
static bool has_other_length(const struct al_config *config, const struct al_config_key *key,
	size_t n)
{
	struct al_scope scope = al_settings_scope(config->settings);
	int64_t length;

	return key->or_length && al_formula_whole(key->or_length, &scope, 0, &length, NULL)
		&& (uint64_t)length == n;
}

/* `n` items, which must be as many as the key's list has. */
static bool check_length(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, size_t n, struct al_error *err)
{
	int64_t length;

	if (has_other_length(config, key, n))
		return true;
	if (!al_config_length(config, key, &length, err))
		return al_json_in(config->doc, node, err);
	bool is_number = al_formula_is_integer(key->length, &length);
	return (uint64_t)length == n
		|| al_json_fail(config->doc, node, err, "\"%s\" has %zu items, expected %s%s%lld",
			al_json_key(node), n, is_number ? "" : al_formula_source(key->length),
			is_number ? "" : " = ", (long long)length);
}

static bool fail_letter(const struct al_config *config, const struct al_item *node,
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
static bool read_pattern(const struct al_config *config, const struct al_item *node,
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
	return true;
}

bool al_config_read_list(const struct al_config *config, const struct al_item *node,
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
	return true;
}

/* Marks layer `index` of those that a key of indices has. */
static bool mark_layer(const struct al_config *config, const struct al_item *node,
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
static bool mark_layers_of_text(const struct al_config *config, const struct al_item *node,
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

/* Where the layers that a key names are those that another doesn't. */
static bool check_others(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, const struct al_value *flags, int64_t length,
	struct al_error *err)
{
	const struct al_setting *others;

	if (!key->others)
		return true;
	if (!al_settings_get(config->settings, key->others, &others, err))
		return false;
	for (int64_t i = 0; others && i < length && (uint64_t)i < others->n_list; i++)
		if (flags[i].integer == others->list[i].integer)
			return al_json_fail(config->doc, node, err,
				flags[i].integer ? "\"%s\" names layer %lld, and so does %s"
						 : "neither \"%s\" names layer %lld nor %s",
				al_json_key(node), (long long)(i + key->first), others->origin);
	return true;
}

/* [3, 5] of 6 layers -> 0, 0, 0, 1, 0, 1 */
bool al_config_read_indices(const struct al_config *config, const struct al_item *node,
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
			if (!al_config_read_number(config, item, name, false, &index, err)
				|| !mark_layer(config, item, key, name, index, flags, length, err))
				return false;
	if (!check_others(config, node, key, flags, length, err))
		return false;
	al_settings_set_list(settings, key->symbol, flags, (size_t)length, origin);
	return true;
}
