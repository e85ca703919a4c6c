/* The values of a config.json, each checked against its key's type. A list has one value per layer:
 * in the file it may also be a pattern of letters, or the numbers of layers. */
#include "catalog/config.h"

#include <errno.h>

enum { MOST_LIST = 1 << 16 };

struct reading {
	const struct al_config *config;
	const struct al_json *doc;
	const struct al_config_key *key;
	const char *name; /* of the value, as the config has it */
	struct al_error *err;
};

/* ---- numbers ---- */

static bool read_flag(const struct reading *r, const struct al_item *node, int64_t *out)
{
	bool is_true;

	if (!al_json_boolean(r->doc, node, &is_true, r->err))
		return false;
	*out = is_true;
	return true;
}

static bool read_whole(const struct reading *r, const struct al_item *node, int64_t *out)
{
	double number;

	if (!al_json_real(r->doc, node, &number, r->err))
		return false;
	if (number < 0 || number >= 0x1p53 || number != floor(number))
		return al_json_fail(r->doc, node, r->err,
			"\"%s\" is %.17g, expected a whole number of at least 0 and below 2^53",
			r->name, number);
	*out = (int64_t)number;
	return true;
}

/* 0.25 -> 250000. A decimal of six places, as a double, is within half an ulp of itself. */
static bool read_millionths(const struct reading *r, const struct al_item *node, int64_t *out)
{
	double number;

	if (!al_json_real(r->doc, node, &number, r->err))
		return false;
	double rounded = round(number * 1e6);
	if (number < 0 || rounded >= 0x1p53 || rounded / 1e6 != number)
		return al_json_fail(r->doc, node, r->err,
			"\"%s\" is %.17g, expected a decimal of at least 0 and at most six places",
			r->name, number);
	*out = (int64_t)rounded;
	return true;
}

/* Three: 3, three members, or of layers "ME*". */
static bool read_size(const struct reading *r, const struct al_item *node, int64_t *out)
{
	const enum al_json_kind kind = al_json_kind(node);

	if (kind == AL_JSON_TEXT && r->key->type == AL_CONFIG_LAYERS)
		*out = (int64_t)strlen(node->text);
	else if (kind == AL_JSON_ARRAY || kind == AL_JSON_OBJECT)
		*out = (int64_t)al_json_size(node);
	else
		return read_whole(r, node, out);
	return true;
}

/* Multiplies in doubles, as the reference implementations do. */
static bool read_times(const struct reading *r, const struct al_item *node, int64_t *out)
{
	const struct al_setting *of;
	double number;

	if (!al_json_real(r->doc, node, &number, r->err)
		|| !al_settings_get(r->config->settings, r->key->of, &of, r->err))
		return false;
	double product = of ? floor(number * (double)of->value.integer) : -1;
	if (!(product >= 0 && product < 0x1p53))
		return al_json_fail(r->doc, node, r->err,
			"\"%s\" is %.17g, expected a decimal of at least 0", r->name, number);
	*out = (int64_t)product;
	return true;
}

/* -1 stands for a whole row. */
static bool read_group(const struct reading *r, const struct al_item *node, int64_t *out)
{
	if (!al_json_whole(r->doc, node, out, NULL) || *out != -1)
		return read_whole(r, node, out);
	*out = 0;
	return true;
}

/* The object by which the config extends its positions after YaRN; NULL: none. */
static const struct al_item *find_yarn(const struct al_config *config,
	const struct al_config_key *key)
{
	static const char *const rules[] = {"rope_scaling", "rope_parameters"};
	static const char *const kinds[] = {"rope_type", "type"};
	const struct al_item *rule = al_config_find_first(al_config_object(config, key->place),
		rules, 2);
	const struct al_item *kind = al_config_find_first(rule, kinds, 2);

	return kind && al_json_kind(kind) == AL_JSON_TEXT && strcmp(kind->text, "yarn") == 0 ? rule
											     : NULL;
}

/* Qwen's configs keep the positions of pre-training, DeepSeek's give those after YaRN. Linear and
 * dynamic rules don't give the positions before: there the number counts as it is. */
static bool read_context(const struct reading *r, const struct al_item *node, int64_t *out)
{
	const struct al_item *yarn = find_yarn(r->config, r->key);
	const struct al_item *before = yarn ? al_json_get(yarn, "original_max_position_embeddings")
					    : NULL;
	const struct al_item *factor = yarn ? al_json_get(yarn, "factor") : NULL;
	double times, positions;

	if (!read_whole(r, node, out))
		return false;
	if (before && factor && al_json_real(r->doc, before, &positions, NULL)
		&& al_json_real(r->doc, factor, &times, NULL) && times * positions < 0x1p53
		&& times * positions > (double)*out)
		*out = (int64_t)(times * positions);
	return true;
}

static bool read_entries(const struct reading *r, const struct al_item *node, int64_t *out)
{
	(void)r;
	*out = al_json_kind(node) == AL_JSON_ARRAY ? (int64_t)al_json_size(node) : 1;
	return true;
}

/* The expected form of each type, for messages, and its reader of numbers; NULL: it reads none. */
static const struct {
	const char *expected;
	bool (*read)(const struct reading *r, const struct al_item *node, int64_t *out);
} types[AL_N_CONFIG_TYPES] = {
	[AL_CONFIG_WHOLE] = {"a whole number", read_whole},
	[AL_CONFIG_BOOLEAN] = {"true or false", read_flag},
	[AL_CONFIG_WORD] = {"a string", NULL},
	[AL_CONFIG_LIST] = {"a list", NULL},
	[AL_CONFIG_INDICES] = {"a list of layers", NULL},
	[AL_CONFIG_SIZE] = {"a whole number or an object", read_size},
	[AL_CONFIG_LAYERS] = {"a whole number or a pattern", read_size},
	[AL_CONFIG_MILLIONTHS] = {"a decimal", read_millionths},
	[AL_CONFIG_ENTRIES] = {"a list", read_entries},
	[AL_CONFIG_TIMES] = {"a decimal", read_times},
	[AL_CONFIG_GROUP] = {"a whole number or -1", read_group},
	[AL_CONFIG_CONTEXT] = {"a whole number", read_context},
};

const char *al_config_expectation(const struct al_config_key *key)
{
	return types[key->type].expected;
}

/* ---- words ---- */

/* A text, or the first of a list of texts; where the default is "true" or "false", also true and
 * false. */
static bool read_word(const struct reading *r, const struct al_item *node, const char **out)
{
	const char *word = r->key->word;
	const bool takes_boolean = word
		&& (strcmp(word, "true") == 0 || strcmp(word, "false") == 0);

	if (takes_boolean && al_json_kind(node) == AL_JSON_BOOLEAN) {
		*out = node->is_true ? "true" : "false";
		return true;
	}
	if (al_json_kind(node) != AL_JSON_ARRAY)
		return al_json_text(r->doc, node, out, r->err);
	if (al_json_size(node) == 0)
		return al_json_fail(r->doc, node, r->err, "\"%s\" is empty, expected a string",
			r->name);
	return al_json_text(r->doc, al_json_first(node), out, r->err);
}

/* Numbers and letters aren't like each other: all are named, words of at most that length. */
static bool fail_listed(const struct reading *r, const struct al_item *node, const char *found,
	size_t most)
{
	const char *expected = "";

	for (size_t i = 0; i < r->key->n_words; i++)
		if (strlen(r->key->words[i]) <= most)
			expected = al_format(&r->config->settings->arena, "%s%s%s", expected,
				*expected ? ", " : "", r->key->words[i]);
	return al_json_fail(r->doc, node, r->err, "\"%s\" has %s, expected one of %s", r->name,
		found, expected);
}

/* A word's place among those that the key takes; a whole number is the word of its digits. */
static bool read_listed_word(const struct reading *r, const struct al_item *node, int64_t *out)
{
	const bool is_number = al_json_kind(node) == AL_JSON_NUMBER;
	const char *word;
	int64_t number = 0;

	if (is_number ? !read_whole(r, node, &number) : !al_json_text(r->doc, node, &word, r->err))
		return false;
	if (is_number)
		word = al_format(&r->config->settings->arena, "%lld", (long long)number);
	*out = al_find_name(word, r->key->words, r->key->n_words);
	if (*out >= 0)
		return true;
	if (is_number)
		return fail_listed(r, node, word, SIZE_MAX);
	al_fail_unknown(r->err, r->name, word, r->key->words, r->key->n_words);
	return al_json_in(r->doc, node, r->err);
}

/* ---- lists ---- */

bool al_config_is_list(const struct al_config_key *key)
{
	return key->type == AL_CONFIG_LIST || key->type == AL_CONFIG_INDICES;
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
static bool has_other_length(const struct reading *r, size_t n)
{
	struct al_scope scope = al_settings_scope(r->config->settings);
	int64_t length;

	return r->key->or_length && al_formula_whole(r->key->or_length, &scope, 0, &length, NULL)
		&& (uint64_t)length == n;
}

/* `n` items, which must be as many as the key's list has. */
static bool check_length(const struct reading *r, const struct al_item *node, size_t n)
{
	const struct al_formula *formula = r->key->length;
	int64_t length;

	if (has_other_length(r, n))
		return true;
	if (!al_config_length(r->config, r->key, &length, r->err))
		return al_json_in(r->doc, node, r->err);
	bool is_number = al_formula_is_integer(formula, &length);
	return (uint64_t)length == n
		|| al_json_fail(r->doc, node, r->err, "\"%s\" has %zu items, expected %s%s%lld",
			r->name, n, is_number ? "" : al_formula_source(formula),
			is_number ? "" : " = ", (long long)length);
}

/* The replacement of null in an item. */
static bool read_null(const struct reading *r, const struct al_item *item, int64_t *out)
{
	struct al_scope scope = al_settings_scope(r->config->settings);

	return r->key->null ? al_formula_whole(r->key->null, &scope, 0, out, r->err)
			    : al_json_fail(r->doc, item, r->err, "found no %s",
				    strstr(r->key->keys[0], ".*.") + 3);
}

/* Of "a.*.b" the b of an item of a, where it has one. */
static bool read_item(const struct reading *r, const struct al_item *item, struct al_value *out)
{
	const char *star = strstr(r->key->keys[0], ".*.");
	const struct al_item *node = star ? al_config_find_nested(item, star + 3) : item;
	const enum al_json_kind kind = al_json_kind(node);
	int64_t number = 0;
	bool ok;

	if (star && kind == AL_JSON_NULL)
		ok = read_null(r, item, &number);
	else if (r->key->words)
		ok = read_listed_word(r, node, &number);
	else if (r->key->of)
		ok = read_millionths(r, node, &number);
	else if (kind == AL_JSON_BOOLEAN)
		ok = read_flag(r, node, &number);
	else if (kind == AL_JSON_TEXT)
		return al_value_set_word(out, node->text), true;
	else
		ok = read_whole(r, node, &number);
	al_value_set_int(out, number);
	return ok;
}

/* "MEM*": a letter a layer, which stands for its place among those that the key takes. */
static bool read_letters(const struct reading *r, const struct al_item *node,
	struct al_value *values)
{
	for (size_t i = 0; node->text[i]; i++) {
		const char letter[] = {node->text[i], '\0'};
		int index = al_find_name(letter, r->key->words, r->key->n_words);
		if (index < 0)
			return fail_listed(r, node,
				al_format(&r->config->settings->arena, "\"%s\" for layer %zu",
					letter, i),
				1);
		al_value_set_int(&values[i], index);
	}
	return true;
}

static bool read_items(const struct reading *r, const struct al_item *node, struct al_value *values)
{
	al_json_each (item, node)
		if (!read_item(r, item, values++))
			return false;
	return true;
}

static struct al_value *new_values(const struct reading *r, size_t n)
{
	struct al_value *values = al_new_array(&r->config->settings->arena, struct al_value, n);

	for (size_t i = 0; i < n; i++)
		al_value_init(&values[i]);
	return values;
}

/* One number, which every layer has. */
static bool read_same(const struct reading *r, const struct al_item *node, const char *origin)
{
	struct al_value *values;
	int64_t n;

	if (!al_config_length(r->config, r->key, &n, r->err))
		return al_json_in(r->doc, node, r->err);
	values = new_values(r, (size_t)n);
	for (int64_t i = 0; i < n; i++)
		if (!read_item(r, node, &values[i]))
			return false;
	al_settings_set_list(r->config->settings, r->key->symbol, values, (size_t)n, origin);
	return true;
}

static bool read_list(const struct reading *r, const struct al_item *node, const char *origin)
{
	const bool is_pattern = r->key->words && al_json_kind(node) == AL_JSON_TEXT;

	if (r->key->or_number && al_json_kind(node) == AL_JSON_NUMBER)
		return read_same(r, node, origin);
	if (!is_pattern && !al_json_expect(r->doc, node, AL_JSON_ARRAY, r->err))
		return false;
	const size_t n = is_pattern ? strlen(node->text) : al_json_size(node);
	if (!check_length(r, node, n))
		return false;
	struct al_value *values = new_values(r, n);
	if (is_pattern ? !read_letters(r, node, values) : !read_items(r, node, values))
		return false;
	al_settings_set_list(r->config->settings, r->key->symbol, values, n, origin);
	return true;
}

/* ---- numbers of layers ---- */

/* A value for each layer, 1 of those that are named. */
struct flags {
	struct al_value *items;
	int64_t n;
};

static bool mark(const struct reading *r, const struct al_item *node, int64_t index,
	const struct flags *flags)
{
	const int64_t first = r->key->first;

	if (index < first || index - first >= flags->n)
		return al_json_fail(r->doc, node, r->err,
			"\"%s\" names layer %lld, expected %lld to %lld", r->name, (long long)index,
			(long long)first, (long long)(first + flags->n - 1));
	al_value_set_int(&flags->items[index - first], 1);
	return true;
}

/* "3,5" as [3, 5] */
static bool mark_text(const struct reading *r, const struct al_item *node,
	const struct flags *flags)
{
	for (const char *p = node->text; *p; p += strspn(p, ", ")) {
		char *end;
		errno = 0;
		long long index = strtoll(p, &end, 10);
		if (end == p || errno || (*end && !strchr(", ", *end)))
			return al_json_fail(r->doc, node, r->err,
				"\"%s\" is \"%s\", expected numbers of layers between commas",
				r->name, node->text);
		if (!mark(r, node, index, flags))
			return false;
		p = end;
	}
	return true;
}

static bool mark_items(const struct reading *r, const struct al_item *node,
	const struct flags *flags)
{
	int64_t index = 0;

	if (al_json_kind(node) == AL_JSON_TEXT)
		return mark_text(r, node, flags);
	al_json_each (item, node)
		if (!read_whole(r, item, &index) || !mark(r, item, index, flags))
			return false;
	return true;
}

/* Where the layers that a key names are those that another doesn't. */
static bool check_others(const struct reading *r, const struct al_item *node,
	const struct flags *flags)
{
	const struct al_setting *others;

	if (!r->key->others)
		return true;
	if (!al_settings_get(r->config->settings, r->key->others, &others, r->err))
		return false;
	for (int64_t i = 0; others && i < flags->n && (uint64_t)i < others->n_list; i++)
		if (flags->items[i].integer == others->list[i].integer)
			return al_json_fail(r->doc, node, r->err,
				flags->items[i].integer ? "\"%s\" names layer %lld, and so does %s"
							: "neither \"%s\" names layer %lld nor %s",
				r->name, (long long)(i + r->key->first), others->origin);
	return true;
}

/* [3, 5] of 6 layers -> 0, 0, 0, 1, 0, 1 */
static bool read_indices(const struct reading *r, const struct al_item *node, const char *origin)
{
	struct flags flags;

	if (al_json_kind(node) != AL_JSON_TEXT
		&& !al_json_expect(r->doc, node, AL_JSON_ARRAY, r->err))
		return false;
	if (!al_config_length(r->config, r->key, &flags.n, r->err))
		return al_json_in(r->doc, node, r->err);
	flags.items = new_values(r, (size_t)flags.n);
	if (!mark_items(r, node, &flags) || !check_others(r, node, &flags))
		return false;
	al_settings_set_list(r->config->settings, r->key->symbol, flags.items, (size_t)flags.n,
		origin);
	return true;
}

/* ---- all of them ---- */

bool al_config_read(const struct al_config *config, const struct al_item *node,
	const struct al_config_key *key, struct al_error *err)
{
	const struct reading r = {config, config->doc, key, al_json_key(node), err};
	struct al_settings *settings = config->settings;
	const char *origin = al_format(&settings->arena, "%s: %s", config->origin, r.name), *word;
	int64_t number;

	switch (key->type) {
	case AL_CONFIG_LIST:
		return read_list(&r, node, origin);
	case AL_CONFIG_INDICES:
		return read_indices(&r, node, origin);
	case AL_CONFIG_WORD:
		if (!read_word(&r, node, &word))
			return false;
		al_settings_set_word(settings, key->symbol, word, origin);
		return true;
	default:
		if (!types[key->type].read(&r, node, &number))
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
