/* Families: reading which config keys give which symbols. */
#include <string.h>

#include "base/format.h"
#include "base/text.h"
#include "catalog/family_read.h"

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

/* A default's type may say of which type the key is; the key's type says what a default is. */
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

/* What has no key is always worth its default. */
static bool finish_key(void *context, const struct al_item *object, void *record,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_config_key *key = record;

	if (key->n_keys == 0 && !al_json_get(object, "default"))
		return al_json_fail(reader->doc, object, err,
			"found neither \"key\" nor \"default\"");
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
	{AL_KEY("of", TEXT, AT(of))},
	{AL_KEY("others", TEXT, AT(others))},
};
#undef AT
static const struct al_record config_record = {
	.fields = AL_FIELDS(config_fields),
	.check = finish_key,
};

bool al_read_config_key(void *context, const struct al_item *member, void *out,
	struct al_error *err)
{
	struct al_reader *reader = context;
	struct al_config_key *key = out;

	if (!al_read_own_symbol(reader, member, &key->symbol, err)
		|| !al_read_record(reader, &config_record, member, key, err))
		return false;
	al_component_take_key(reader->as, al_json_key(member), key);
	al_reader_know(reader, key->symbol);
	return true;
}
