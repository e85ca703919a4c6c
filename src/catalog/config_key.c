/* Config keys: how a family's file defines them, and where a config has them. */

#include "base/format.h"
#include "catalog/config.h"
#include "catalog/family_read.h"

enum { MOST_KEY = 64 };

static const char *const type_names[AL_N_CONFIG_TYPES] = {
	"whole",
	"boolean",
	"word",
	"list",
	"indices",
	"size",
	"layers",
	"millionths",
	"entries",
	"times",
	"group",
	"context",
};

bool al_read_dtype(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *reader = context;
	const char **name = out;
	const struct al_dtype *found;

	return al_read_text(reader, node, name, err)
		&& (al_dtype_find(*name, &found, err) || al_json_in(reader->doc, node, err));
}

bool al_read_formula_or_flag(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	int64_t value;

	if (al_json_kind(node) != AL_JSON_BOOLEAN)
		return al_read_formula(reader, node, out, err);
	return al_read_value(reader, node, &value, err)
		&& al_formula_parse(reader->arena, value ? "1" : "0", AL_DIALECT_CATALOG, out, err);
}

/* ---- config ---- */

/* The type of a default may set the key's type; the key's type decides how a default is read. */
static bool read_default(void *reader, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_config_key *key = out;

	if (al_json_kind(node) == AL_JSON_BOOLEAN && key->type == AL_CONFIG_WHOLE)
		key->type = AL_CONFIG_BOOLEAN;
	return key->type == AL_CONFIG_WORD
		? al_read_text(reader, node, &key->word, err)
		: al_read_formula_or_flag(reader, node, &key->fallback, err);
}

/* A member that only some types of key have. */
static bool check_only(const struct al_reader *reader, const struct al_item *member,
	bool is_fitting, const char *only, struct al_error *err)
{
	return !member || is_fitting || al_json_fail(reader->doc, member, err, "only %s", only);
}

/* "of": what a decimal is of, or of what a list's items are. */
static bool check_of(const struct al_reader *reader, const struct al_item *object,
	const struct al_config_key *key, struct al_error *err)
{
	const struct al_item *of = al_json_get(object, "of");

	if (key->type == AL_CONFIG_TIMES)
		return of || al_json_fail(reader->doc, object, err, "found no \"of\"");
	return !of || (key->type == AL_CONFIG_LIST && strcmp(key->of, "millionths") == 0)
		|| al_json_fail(reader->doc, of, err,
			"found \"of\": \"%s\", expected a list of millionths", key->of);
}

/* A value without a key is always its default. */
static bool finish_key(void *context, const struct al_item *object, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_config_key *key = record;

	if (key->n_keys == 0 && !al_json_get(object, "default"))
		return al_json_fail(reader->doc, object, err, "needs \"key\" or \"default\"");
	bool is_list = key->type == AL_CONFIG_LIST, is_indices = key->type == AL_CONFIG_INDICES;
	if (!check_only(reader, al_json_get(object, "length"), is_list || is_indices,
		    "a list has a \"length\"", err)
		|| !check_only(reader, al_json_get(object, "or_length"), is_list,
			"a list has an \"or_length\"", err)
		|| !check_only(reader, al_json_get(object, "first"), is_indices,
			"indices have a \"first\"", err)
		|| !check_only(reader, al_json_get(object, "others"), is_indices,
			"indices have \"others\"", err)
		|| !check_only(reader, al_json_get(object, "words"), is_list,
			"a list has \"words\"", err)
		|| !check_of(reader, object, key, err))
		return false;
	if (key->type == AL_CONFIG_CONTEXT)
		key->null = key->fallback;
	if (key->type == AL_CONFIG_TIMES)
		key->of = al_format(reader->arena, "%s%s", reader->prefix, key->of);
	return key->length || !(is_list || is_indices)
		|| al_formula_parse(reader->arena, "n_layers", AL_DIALECT_CATALOG, &key->length,
			err);
}

#define AT(member) offsetof(struct al_config_key, member)
static const struct al_field config_fields[] = {
	{AL_TEXTS_FIELD("key", AT(keys), AT(n_keys))},
	{AL_KEY("type", WORD, AT(type)), AL_WORDS(type_names), .fallback = AL_CONFIG_WHOLE},
	{AL_KEY("default", BY, 0), .read = read_default},
	{AL_KEY("null", BY, AT(null)), .read = al_read_formula},
	{AL_KEY("length", BY, AT(length)), .read = al_read_formula},
	{AL_KEY("or_length", BY, AT(or_length)), .read = al_read_formula},
	{AL_KEY("first", WHOLE, AT(first))},
	{AL_TEXTS_FIELD("words", AT(words), AT(n_words))},
	{AL_KEY("or_number", BOOLEAN, AT(or_number))},
	{AL_KEY("of", TEXT, AT(of))},
	{AL_KEY("others", TEXT, AT(others))},
};
#undef AT
static const struct al_record config_record = {
	.fields = AL_FIELDS(config_fields),
	.check = finish_key,
};

/* Turns a family's key into one of a component. */
static void become_component(const struct al_family_component *as, const char *symbol,
	struct al_config_key *key)
{
	key->place = &as->place;
	const struct al_module_set *set = AL_FIND(as->defaults, as->n_defaults, symbol);
	if (set) {
		key->fallback = set->value;
		key->word = NULL;
	}
}

bool al_read_config_key(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_config_key *key = out;

	if (!al_read_own_symbol(reader, member, &key->symbol, err)
		|| !al_read_record(reader, &config_record, member, key, err))
		return false;
	if (reader->as)
		become_component(reader->as, al_json_key(member), key);
	al_reader_know(reader, key->symbol);
	return true;
}

#define AT(member) offsetof(struct al_config_number, member)
static const struct al_field number_fields[] = {
	{AL_TEXTS_FIELD("key", AT(keys), AT(n_keys)), .is_required = true},
	{AL_KEY("default", REAL, AT(fallback)), .has_offset = AT(has_fallback)},
	{AL_KEY("plus", REAL, AT(plus))},
};
#undef AT
static const struct al_record number_record = {.fields = AL_FIELDS(number_fields)};

bool al_read_config_number(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_config_number *number = out;

	if (al_json_kind(node) == AL_JSON_OBJECT)
		return al_read_record(reader, &number_record, node, number, err);
	number->has_fallback = true;
	return al_json_real(reader->doc, node, &number->fallback, err);
}

/* ---- architectures ---- */

static bool read_setting(void *reader, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_module_set *set = out;

	if (!al_read_own_symbol(reader, member, &set->symbol, err)
		|| !al_read_formula_or_flag(reader, member, &set->value, err))
		return false;
	al_reader_know(reader, set->symbol);
	return true;
}

static const struct al_field settings_field = {
	AL_KEY("architectures", MEMBERS, offsetof(struct al_architecture, set)),
	.n_offset = offsetof(struct al_architecture, n_set),
	.read = read_setting,
	.item_size = sizeof(struct al_module_set),
	.most = AL_FAMILY_ITEMS,
	.noun = "symbols",
};

/* "*ForCausalLM" -> "LlamaForCausalLM", by the family's "class" */
static bool name_architecture(struct al_reader *reader, const struct al_item *member,
	const char **out, struct al_error *err)
{
	const char *key = al_json_key(member), *before = "";

	if (*key == '*'
		&& !al_json_get_text(reader->doc, reader->doc->root, "class", true, &before, err))
		return false;
	*out = al_format(reader->arena, "%s%s", before, *key == '*' ? key + 1 : key);
	return true;
}

bool al_read_architecture(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	const struct al_record_source source = al_reader_source(reader);
	struct al_architecture *architecture = out;

	return name_architecture(reader, member, &architecture->name, err)
		&& al_record_read_items(&source, &settings_field, member, architecture, err);
}

/* ---- in a config ---- */

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

/* Of a text_config: whether its embeddings are tied is in the config around it. */
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

const struct al_item *al_config_of_text(const struct al_family *family,
	const struct al_item *config)
{
	const struct al_config whole = {.object = config};
	const struct al_item *object = NULL;

	for (size_t i = 0; family && i < family->n_components; i++)
		if (family->components[i].component == AL_COMPONENT_TEXT)
			object = al_config_object(&whole, &family->components[i].place);
	return object ? object : config;
}

const struct al_item *al_config_find_first(const struct al_item *object, const char *const *keys,
	size_t n)
{
	const struct al_item *node = NULL;

	for (size_t i = 0; !node && i < n; i++)
		node = al_config_find_nested(object, keys[i]);
	return node;
}

const struct al_item *al_config_find(const struct al_config *config,
	const struct al_config_key *key)
{
	const struct al_config_place *place = key->place;
	const struct al_item *node = NULL;

	for (size_t i = 0; place && !node && i < place->n_around; i++)
		if (al_find_name(place->around[i], key->keys, key->n_keys) >= 0)
			node = al_config_find_first(config->object, key->keys, key->n_keys);
	if (!node)
		node = al_config_find_first(al_config_object(config, place), key->keys,
			key->n_keys);
	return node ? node : find_around(config, key);
}

bool al_config_number(const struct al_json *doc, const struct al_item *object,
	const struct al_config_number *number, double absent, double *out, struct al_error *err)
{
	const struct al_item *node = al_config_find_first(object, number->keys, number->n_keys);

	*out = number->has_fallback && !node ? number->fallback + number->plus : absent;
	if (!node || al_json_kind(node) == AL_JSON_NULL)
		return true;
	if (!al_json_real(doc, node, out, err))
		return false;
	*out += number->plus;
	return *out >= 0 || al_json_fail(doc, node, err, "found %g, expected at least 0", *out);
}
