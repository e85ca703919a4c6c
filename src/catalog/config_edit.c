/* A config.json with other numbers: its text, but for the values of some symbols. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "catalog/config.h"

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

/* What stands between a value's key and what comes before that: a line's indent. */
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
	struct al_json doc;

	for (size_t i = 0; i < n; i++) {
		if (!al_json_parse(&doc, "config.json", text->data, text->length, err))
			return false;
		edit(family, &doc, text, &values[i], values[0].symbol);
		al_json_finish(&doc);
	}
	return true;
}
