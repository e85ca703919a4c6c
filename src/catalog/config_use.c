/* What of a config its family uses, what is left to the family's defaults, what changes nothing;
 * and its text with other numbers. */
#include "catalog/config.h"

/* ---- keys that aren't used ---- */

/* Is it the key of a path "key" or "key.b"? */
static bool begins_path(const char *key, const char *path)
{
	size_t length = strlen(key);

	return strncmp(key, path, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

static bool is_around(const struct al_config_key *key)
{
	for (size_t i = 0; key->place && i < key->place->n_around; i++)
		if (al_find_name(key->place->around[i], key->keys, key->n_keys) >= 0)
			return true;
	return false;
}

/* Does the family use the key where it is, in the object of `place` or, NULL, in the config? */
static bool uses_key(const struct al_family *family, const struct al_config_place *place,
	const char *key)
{
	for (size_t i = 0; i < family->n_config; i++) {
		const struct al_config_key *used = &family->config[i];
		if (used->place != place && (place || !is_around(used)))
			continue;
		for (size_t j = 0; j < used->n_keys; j++)
			if (begins_path(key, used->keys[j]))
				return true;
	}
	return strcmp(key, "model_type") == 0 || strcmp(key, "_class_name") == 0
		|| (family->n_architectures > 0 && strcmp(key, "architectures") == 0);
}

/* The place whose object this is; NULL: none's. */
static const struct al_config_place *find_place(const struct al_config *config,
	const struct al_item *object)
{
	for (size_t i = 0; i < config->family->n_components; i++) {
		const struct al_config_place *place = &config->family->components[i].place;
		if (al_config_object(config, place) == object)
			return place;
	}
	return NULL;
}

struct ignored {
	const struct al_config *config;
	struct al_arena *arena;
	const char **keys;
	size_t n, room;
};

static void add_ignored(struct ignored *ignored, const struct al_item *object,
	const struct al_config_place *place, const char *path)
{
	const struct al_config *config = ignored->config;

	al_json_each (member, object) {
		const char *key = al_format(ignored->arena, "%s%s", path, al_json_key(member));
		const struct al_config_place *inner = find_place(config, member);
		if (inner) {
			add_ignored(ignored, member, inner, al_format(ignored->arena, "%s.", key));
			continue;
		}
		if (uses_key(config->family, place, al_json_key(member)))
			continue;
		*AL_APPEND(ignored->arena, ignored->keys, ignored->n, ignored->room) = key;
	}
}

size_t al_family_ignored(const struct al_family *family, const struct al_item *object,
	struct al_arena *arena, const char *const **keys)
{
	const struct al_config config = {.family = family, .object = object};
	struct ignored ignored = {.config = &config, .arena = arena};

	add_ignored(&ignored, object, find_place(&config, object), "");
	*keys = ignored.keys;
	return ignored.n;
}

/* ---- what is left out ---- */

/* "hidden_size = 768", "layer_types by mod(layer, 3) > 0"; NULL: the symbol has no value, or is a
 * context that isn't known. */
static const char *describe_default(const struct al_config_key *key,
	const struct al_settings *settings, struct al_arena *arena)
{
	const struct al_setting *setting = AL_FIND(settings->items, settings->n, key->symbol);

	if (setting && setting->list)
		return al_format(arena, "%s by %s", key->keys[0],
			setting->formula ? al_formula_source(setting->formula) : "null");
	if (!setting || (key->type == AL_CONFIG_CONTEXT && setting->value.integer == 0))
		return NULL;
	return al_format(arena, "%s = %s", key->keys[0],
		al_config_value_text(key, &setting->value, arena));
}

size_t al_family_defaults(const struct al_family *family, const struct al_json *doc,
	const struct al_item *object, const struct al_settings *settings, struct al_arena *arena,
	const char *const **defaults)
{
	const struct al_config config = {family, doc, object, family->name, NULL};
	const char **found = al_new_array(arena, const char *, family->n_config);
	size_t n = 0;

	for (size_t i = 0; i < family->n_config; i++) {
		const struct al_config_key *key = &family->config[i];
		const struct al_item *node = al_config_find(&config, key);
		const char *described = key->n_keys > 0
				&& (!node || al_json_kind(node) == AL_JSON_NULL)
				&& al_config_object(&config, key->place)
				&& !al_settings_is_asked(settings, key->symbol)
			? describe_default(key, settings, arena)
			: NULL;
		if (described)
			found[n++] = described;
	}
	*defaults = found;
	return n;
}

/* ---- other numbers ---- */

static const struct al_config_key *find_key(const struct al_family *family, const char *symbol)
{
	const struct al_config_key *key = AL_FIND(family->config, family->n_config, symbol);

	return key && key->n_keys > 0 ? key : NULL;
}

static const struct al_item *find_value(const struct al_family *family, const struct al_json *doc,
	const char *symbol)
{
	const struct al_config config = {.family = family, .doc = doc, .object = doc->root};
	const struct al_config_key *key = find_key(family, symbol);

	return key ? al_config_find(&config, key) : NULL;
}

/* The text between a value's key and what comes before that: a line's indent. */
static size_t indent_before(const struct al_json *doc, const char *value, const char **out)
{
	const char *p = value;
	size_t n = 0;

	while (*p != ':')
		p--;
	for (int quotes = 0; quotes < 2; quotes += *p == '"')
		p--;
	for (; p > doc->text && strchr(" \t\r\n", p[-1]); p--)
		n++;
	*out = p;
	return n;
}

/* "num_attention_heads" of "text_config.num_attention_heads". */
static const char *own_name(const char *key)
{
	const char *dot = strrchr(key, '.');

	return dot ? dot + 1 : key;
}

static void replace(struct al_text *text, const struct al_json *doc, const struct al_item *node,
	int64_t value)
{
	text->length = (size_t)(node->place - doc->text);
	al_text_addf(text, "%" PRId64, value);
	al_text_add(text, node->end);
}

static void insert(struct al_text *text, const struct al_json *doc, const struct al_item *behind,
	const char *key, int64_t value)
{
	const char *indent;
	const size_t n = indent_before(doc, behind->place, &indent);

	text->length = (size_t)(behind->end - doc->text);
	al_text_add(text, ",");
	al_text_add_bytes(text, indent, n);
	al_text_addf(text, "\"%s\": %" PRId64, own_name(key), value);
	al_text_add(text, behind->end);
}

static void edit(const struct al_family *family, const struct al_json *doc, struct al_text *text,
	const struct al_binding *value, const char *first)
{
	const struct al_config_key *key = find_key(family, value->symbol);
	const struct al_item *node = find_value(family, doc, value->symbol);
	const struct al_item *behind = find_value(family, doc, first);

	if (node)
		replace(text, doc, node, value->value);
	else if (key && behind)
		insert(text, doc, behind, key->keys[0], value->value);
}

bool al_config_edit(const struct al_family *family, struct al_text *text,
	const struct al_binding *values, size_t n, struct al_error *err)
{
	for (size_t i = 0; i < n; i++) {
		AL_JSON(doc);
		if (!al_json_parse(&doc, "config.json", text->data, text->length, err))
			return false;
		edit(family, &doc, text, &values[i], values[0].symbol);
	}
	return true;
}
