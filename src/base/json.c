/* Strict JSON: where a node is, what it is, and what it was expected to be. */
#include "base/json.h"

#include "base/base.h"

#include <stdarg.h>

/* ---- places ---- */

/* The document whose text the place is in. */
static const struct al_json *home_of(const struct al_json *doc, const char *place)
{
	while (doc->base && (uintptr_t)place - (uintptr_t)doc->text > doc->length)
		doc = doc->base;
	return doc;
}

bool al_json_fail_at(const struct al_json *doc, const char *place, struct al_error *err,
	const char *message)
{
	int line = 1, column = 1;

	doc = home_of(doc, place);
	if (doc->is_made)
		return al_fail(err, AL_EINPUT, "%s: %s", doc->name, message);
	for (const char *p = doc->text; p < place && *p; p++) {
		bool is_new_line = *p == '\n';
		line += is_new_line;
		column = is_new_line ? 1 : column + ((*p & 0xC0) != 0x80);
	}
	return al_fail(err, AL_EINPUT, "%s:%d:%d: %s", doc->name, line, column, message);
}

bool al_json_fail(const struct al_json *doc, const struct al_item *node, struct al_error *err,
	const char *format, ...)
{
	char message[sizeof(err->message)];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return al_json_fail_at(doc, node->place, err, message);
}

bool al_json_in(const struct al_json *doc, const struct al_item *node, struct al_error *err)
{
	char message[sizeof(err->message)];

	if (!err)
		return false;
	enum al_status status = err->status;
	snprintf(message, sizeof(message), "%s", err->message);
	al_json_fail_at(doc, node->place, err, message);
	err->status = status;
	return false;
}

bool al_json_check_strict(const struct al_json *doc, struct al_error *err)
{
	return !doc->not_finite || al_json_fail_at(doc, doc->not_finite, err, "expected a value");
}

bool al_json_is_path(const char *name)
{
	return strchr(name, '/') || (strlen(name) > 5 && al_ends_with(name, ".json"));
}

const char *al_json_beside(const struct al_json *doc, const struct al_item *node,
	struct al_arena *arena)
{
	const char *file = home_of(doc, node->place)->name, *slash = strrchr(file, '/');

	if (!al_json_is_path(node->text) || *node->text == '/' || !slash)
		return al_strdup(arena, node->text);
	return al_format(arena, "%.*s/%s", (int)(slash - file), file, node->text);
}

/* ---- nodes ---- */

enum al_json_kind al_json_kind(const struct al_item *node)
{
	return node ? node->kind : AL_JSON_NULL;
}

/* "a number" */
static const char *kind_name(enum al_json_kind kind)
{
	static const char *const names[] = {"null", "true or false", "a number", "a string",
		"an array", "an object"};

	return names[kind];
}

const char *al_json_key(const struct al_item *node)
{
	return node->key;
}

size_t al_json_size(const struct al_item *node)
{
	size_t n = 0;

	for (const struct al_item *child = al_json_first(node); child; child = child->next)
		n++;
	return n;
}

const struct al_item *al_json_first(const struct al_item *node)
{
	return node && node->kind >= AL_JSON_ARRAY ? node->first : NULL;
}

const struct al_item *al_json_next(const struct al_item *node)
{
	return node->next;
}

const struct al_item *al_json_at(const struct al_item *array, size_t index)
{
	const struct al_item *child = al_json_first(array);

	while (child && index--)
		child = child->next;
	return child;
}

const struct al_item *al_json_get(const struct al_item *object, const char *key)
{
	if (!object || object->kind != AL_JSON_OBJECT)
		return NULL;
	al_json_each (child, object)
		if (al_is_same(child->key, key))
			return child;
	return NULL;
}

bool al_json_expect(const struct al_json *doc, const struct al_item *node, enum al_json_kind kind,
	struct al_error *err)
{
	enum al_json_kind found = al_json_kind(node);

	if (found == kind)
		return true;
	if (al_json_key(node))
		return al_json_fail(doc, node, err, "\"%s\" is %s, expected %s", al_json_key(node),
			kind_name(found), kind_name(kind));
	return al_json_fail(doc, node, err, "found %s, expected %s", kind_name(found),
		kind_name(kind));
}

bool al_json_text(const struct al_json *doc, const struct al_item *node, const char **out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_TEXT, err))
		return false;
	*out = node->text;
	return true;
}

int al_json_find_word(const struct al_json *doc, const struct al_item *node, const char *what,
	const char *const *words, size_t n, struct al_error *err)
{
	const char *word;

	if (!al_json_text(doc, node, &word, err))
		return -1;
	const int found = al_find_name(word, words, n);
	if (found < 0) {
		al_fail_unknown(err, what, word, words, n);
		al_json_in(doc, node, err);
	}
	return found;
}

bool al_json_boolean(const struct al_json *doc, const struct al_item *node, bool *out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_BOOLEAN, err))
		return false;
	*out = node->is_true;
	return true;
}

bool al_json_real(const struct al_json *doc, const struct al_item *node, double *out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_NUMBER, err))
		return false;
	if (!isfinite(node->number))
		return al_json_fail(doc, node, err, "%s%s%sfound %.*s, expected a finite number",
			node->key ? "\"" : "", node->key ? node->key : "", node->key ? "\": " : "",
			(int)(node->end - node->place), node->place);
	*out = node->number;
	return true;
}

bool al_json_whole(const struct al_json *doc, const struct al_item *node, int64_t *out,
	struct al_error *err)
{
	double value;

	if (!al_json_real(doc, node, &value, err))
		return false;
	if (fabs(value) >= 0x1p53)
		return al_json_fail(doc, node, err,
			"the number is too large to be exact (2^53 or more)");
	if (value != floor(value))
		return al_json_fail(doc, node, err, "found %g, expected a whole number", value);
	*out = (int64_t)value;
	return true;
}

bool al_json_digits(const struct al_json *doc, const struct al_item *node, int64_t *out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_NUMBER, err))
		return false;
	const int length = (int)al_least(node->end - node->place, 40);
	if (al_read_digits(node->place, out) != (size_t)(node->end - node->place))
		return al_json_fail(doc, node, err,
			"found %.*s, expected a whole number of at least 0, digits only", length,
			node->place);
	return *out >= 0
		|| al_json_fail(doc, node, err, "found %.*s, expected less than 2^63", length,
			node->place);
}

bool al_json_whole_from(const struct al_json *doc, const struct al_item *node, int64_t least,
	int64_t *out, struct al_error *err)
{
	int64_t value;

	if (!al_json_whole(doc, node, &value, err))
		return false;
	if (value < least)
		return al_json_fail(doc, node, err, "found %lld, expected %lld or more",
			(long long)value, (long long)least);
	*out = value;
	return true;
}

/* ---- members ---- */

static bool find_member(const struct al_json *doc, const struct al_item *object, const char *key,
	bool required, const struct al_item **out, struct al_error *err)
{
	*out = al_json_get(object, key);
	if (!*out && required)
		return al_json_fail(doc, object, err, "key \"%s\" is missing", key);
	return true;
}

bool al_json_get_text(const struct al_json *doc, const struct al_item *object, const char *key,
	bool required, const char **out, struct al_error *err)
{
	const struct al_item *node;

	return find_member(doc, object, key, required, &node, err)
		&& (!node || al_json_text(doc, node, out, err));
}

bool al_json_get_node(const struct al_json *doc, const struct al_item *object, const char *key,
	enum al_json_kind kind, bool required, const struct al_item **out, struct al_error *err)
{
	return find_member(doc, object, key, required, out, err)
		&& (!*out || al_json_expect(doc, *out, kind, err));
}

bool al_json_only(const struct al_json *doc, const struct al_item *object, const char *const *known,
	size_t n_known, struct al_error *err)
{
	if (!al_json_expect(doc, object, AL_JSON_OBJECT, err))
		return false;
	al_json_each (member, object) {
		const char *key = member->key;
		if (al_find_name(key, known, n_known) >= 0 || strcmp(key, "$schema") == 0
			|| strcmp(key, "note") == 0)
			continue;
		al_fail_unknown(err, "key", key, known, n_known);
		return al_json_in(doc, member, err);
	}
	return true;
}

void al_json_add_compact(struct al_text *out, const struct al_item *node)
{
	bool is_in_string = false;

	for (const char *p = node->place; p < node->end; p++) {
		const size_t n = is_in_string && *p == '\\' ? 2 : 1;
		is_in_string ^= *p == '"';
		if (is_in_string || !strchr(" \t\r\n", *p))
			al_text_add_bytes(out, p, n);
		p += n - 1;
	}
}

void al_json_quote(struct al_text *out, const char *text)
{
	al_text_add(out, "\"");
	while (*text) {
		struct al_character c = al_character_at(text);
		if (!c.is_printable)
			al_text_addf(out, c.is_utf8 ? "\\u%04x" : "\\\\x%02x", c.code);
		else
			al_text_add(out, *text == '"' || *text == '\\' ? "\\" : "");
		al_text_add_bytes(out, text, c.is_printable ? c.bytes : 0);
		text += c.bytes;
	}
	al_text_add(out, "\"");
}
