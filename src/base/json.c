/* Strict JSON over cJSON: the scan of json_scan.c, then the tree. */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json_scan.h"
#include "base/memory.h"
#include "base/text.h"

/* ---- places ---- */

static bool fail_at(const struct al_json *doc, const char *place, struct al_error *err,
	const char *message)
{
	return doc->is_made ? al_fail(err, AL_EINPUT, "%s: %s", doc->name, message)
			    : al_json_fail_at(doc->name, doc->text, place, err, message);
}

/* Walks the (valid) text beside the tree; `*found` is where `wanted` begins. */
static void walk(struct al_json_scan *s, const struct al_item *node, const struct al_item *wanted,
	const char **found)
{
	if (node == wanted)
		*found = s->p;
	if (!cJSON_IsArray(node) && !cJSON_IsObject(node)) {
		(void)al_json_scan_value(s);
		return;
	}
	s->p++;
	for (const struct al_item *child = node->child; child && !*found; child = child->next) {
		al_json_skip_space(s);
		if (cJSON_IsObject(node)) {
			(void)al_json_scan_string(s);
			al_json_skip_space(s);
			s->p++;
			al_json_skip_space(s);
		}
		walk(s, child, wanted, found);
		al_json_skip_space(s);
		al_json_take(s, ',');
	}
	al_json_skip_space(s);
	s->p++;
}

const char *al_json_place(const struct al_json *doc, const struct al_item *node)
{
	struct al_json_scan s = {.p = doc->text,
		.end = doc->text + doc->length,
		.takes_python = doc->not_finite != NULL};
	const char *found = NULL;

	al_json_skip_space(&s);
	walk(&s, doc->root, node, &found);
	return found ? found : doc->text;
}

bool al_json_fail(const struct al_json *doc, const struct al_item *node, struct al_error *err,
	const char *format, ...)
{
	char message[sizeof(err->message)];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return fail_at(doc, al_json_place(doc, node), err, message);
}

bool al_json_in(const struct al_json *doc, const struct al_item *node, struct al_error *err)
{
	char message[sizeof(err->message)];

	if (!err)
		return false;
	enum al_status status = err->status;
	snprintf(message, sizeof(message), "%s", err->message);
	fail_at(doc, al_json_place(doc, node), err, message);
	err->status = status;
	return false;
}

/* ---- duplicate keys ---- */

/* Up to so many members are compared each with each. */
enum { FEW_MEMBERS = 8 };

struct member {
	uint64_t hash;
	const struct al_item *node;
};

/* By hash first, which is cheap; names with the same hash need not be the same. */
static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return strcmp(a->node->string, b->node->string);
}

static bool is_few(const struct al_item *object)
{
	size_t n = 0;

	for (const struct al_item *child = object->child; child && n <= FEW_MEMBERS;
		child = child->next)
		n++;
	return n <= FEW_MEMBERS;
}

static const struct al_item *repeated_among_few(const struct al_item *object)
{
	for (const struct al_item *a = object->child; a; a = a->next)
		for (const struct al_item *b = a->next; b; b = b->next)
			if (strcmp(a->string, b->string) == 0)
				return b;
	return NULL;
}

static const struct al_item *repeated_among_many(const struct al_item *object)
{
	size_t n = al_json_size(object);
	struct member *members = al_calloc(n, sizeof(*members)), *out = members;
	const struct al_item *repeated = NULL;

	for (const struct al_item *child = object->child; child; child = child->next)
		*out++ = (struct member){al_hash(AL_HASH_EMPTY, child->string,
						 strlen(child->string)),
			child};
	qsort(members, n, sizeof(*members), compare_members);
	for (size_t i = 1; i < n && !repeated; i++)
		if (compare_members(&members[i - 1], &members[i]) == 0)
			repeated = members[i].node;
	free(members);
	return repeated;
}

/* The second of two members with the same key, or NULL. */
static const struct al_item *repeated_member(const struct al_item *object)
{
	return is_few(object) ? repeated_among_few(object) : repeated_among_many(object);
}

static bool check_keys(const struct al_json *doc, const struct al_item *node, struct al_error *err)
{
	if (cJSON_IsObject(node)) {
		const struct al_item *repeated = repeated_member(node);
		if (repeated)
			return al_json_fail(doc, repeated, err, "key \"%s\" appears twice",
				repeated->string);
	}
	al_json_each (child, node)
		if (child->child && !check_keys(doc, child, err))
			return false;
	return true;
}

/* ---- documents ---- */

/* Beyond a double's range, as al_json_real refuses it. */
static const char too_large[] = "1e999";

/* The text for cJSON, which knows no NaN and no Infinity. Outside of strings their letters begin
 * nothing else in a valid text. */
static void replace_not_finite(const struct al_json *doc, struct al_text *out)
{
	bool in_string = false;

	for (const char *p = doc->text; *p; p++) {
		in_string ^= *p == '"';
		if (!in_string && (*p == 'N' || *p == 'I')) {
			al_text_add(out, too_large);
			p += *p == 'N' ? 2 : 7;
			continue;
		}
		al_text_add_bytes(out, p, 1);
		if (in_string && *p == '\\')
			al_text_add_bytes(out, ++p, 1);
	}
}

static struct al_item *parse_tree(const struct al_json *doc)
{
	struct al_text text;

	if (!doc->not_finite)
		return cJSON_ParseWithLength(doc->text, doc->length + 1);
	al_text_init(&text);
	replace_not_finite(doc, &text);
	struct al_item *root = cJSON_ParseWithLength(text.data, text.length + 1);
	al_text_finish(&text);
	return root;
}

/* cJSON keeps its recursion limit; ours is lower. */
static bool build(struct al_json *doc, bool takes_python, struct al_error *err)
{
	struct al_json_scan s = {.p = doc->text,
		.end = doc->text + doc->length,
		.takes_python = takes_python};

	if (doc->length == 0)
		return al_fail(err, AL_EINPUT, "%s: the file is empty, expected JSON", doc->name);
	if (!al_json_scan_document(&s))
		return fail_at(doc, s.p, err, s.wrong);
	doc->not_finite = s.not_finite;
	doc->root = parse_tree(doc);
	if (!doc->root)
		return al_fail(err, AL_ESYSTEM, "%s: the JSON library refused a valid text",
			doc->name);
	return check_keys(doc, doc->root, err);
}

static bool parse(struct al_json *doc, const char *name, const char *text, size_t length,
	bool takes_python, struct al_error *err)
{
	*doc = (struct al_json){.name = al_text_copy(name),
		.text = al_alloc(length + 1, 1),
		.length = length};
	memcpy(doc->text, text, length);
	doc->text[length] = '\0';
	if (build(doc, takes_python, err))
		return true;
	al_json_finish(doc);
	return false;
}

bool al_json_parse(struct al_json *doc, const char *name, const char *text, size_t length,
	struct al_error *err)
{
	return parse(doc, name, text, length, false, err);
}

static bool read_file(struct al_json *doc, const char *path, bool takes_python,
	struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, path, AL_JSON_FILE_LIMIT, err))
		return false;
	bool ok = parse(doc, path, text.data, text.length, takes_python, err);
	al_text_finish(&text);
	return ok;
}

bool al_json_is_path(const char *name)
{
	return strchr(name, '/') || (strlen(name) > 5 && al_ends_with(name, ".json"));
}

bool al_json_read(struct al_json *doc, const char *path, struct al_error *err)
{
	return read_file(doc, path, false, err);
}

bool al_json_read_python(struct al_json *doc, const char *path, struct al_error *err)
{
	return read_file(doc, path, true, err);
}

bool al_json_check_strict(const struct al_json *doc, struct al_error *err)
{
	return !doc->not_finite || fail_at(doc, doc->not_finite, err, "expected a value");
}

void al_json_finish(struct al_json *doc)
{
	cJSON_Delete(doc->root);
	free(doc->text);
	free(doc->name);
	*doc = (struct al_json){0};
}

/* ---- nodes ---- */

enum al_json_kind al_json_kind(const struct al_item *node)
{
	if (cJSON_IsBool(node))
		return AL_JSON_BOOLEAN;
	if (cJSON_IsNumber(node))
		return AL_JSON_NUMBER;
	if (cJSON_IsString(node))
		return AL_JSON_TEXT;
	if (cJSON_IsArray(node))
		return AL_JSON_ARRAY;
	return cJSON_IsObject(node) ? AL_JSON_OBJECT : AL_JSON_NULL;
}

const char *al_json_key(const struct al_item *node)
{
	return node->string;
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
	return node ? node->child : NULL;
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
	if (!object || !cJSON_IsObject(object))
		return NULL;
	al_json_each (child, object)
		if (strcmp(child->string, key) == 0)
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
			al_json_kind_name(found), al_json_kind_name(kind));
	return al_json_fail(doc, node, err, "found %s, expected %s", al_json_kind_name(found),
		al_json_kind_name(kind));
}

bool al_json_text(const struct al_json *doc, const struct al_item *node, const char **out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_TEXT, err))
		return false;
	*out = node->valuestring;
	return true;
}

bool al_json_boolean(const struct al_json *doc, const struct al_item *node, bool *out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_BOOLEAN, err))
		return false;
	*out = cJSON_IsTrue(node);
	return true;
}

bool al_json_real(const struct al_json *doc, const struct al_item *node, double *out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_NUMBER, err))
		return false;
	if (!isfinite(node->valuedouble)) {
		const char *place = al_json_place(doc, node);
		return al_json_fail(doc, node, err, "%s%s%sfound %.*s, expected a finite number",
			node->string ? "\"" : "", node->string ? node->string : "",
			node->string ? "\": " : "", (int)strcspn(place, " \t\r\n,]}"), place);
	}
	*out = node->valuedouble;
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
			"the number is 2^53 or beyond, where it is not exact");
	if (value != floor(value))
		return al_json_fail(doc, node, err, "found %g, expected a whole number", value);
	*out = (int64_t)value;
	return true;
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

bool al_json_get_whole(const struct al_json *doc, const struct al_item *object, const char *key,
	bool required, int64_t *out, struct al_error *err)
{
	const struct al_item *node;

	return find_member(doc, object, key, required, &node, err)
		&& (!node || al_json_whole(doc, node, out, err));
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
		const char *key = member->string;
		if (al_find_name(key, known, n_known) >= 0 || strcmp(key, "$schema") == 0
			|| strcmp(key, "note") == 0)
			continue;
		al_fail_unknown(err, "key", key, known, n_known);
		return al_json_in(doc, member, err);
	}
	return true;
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
