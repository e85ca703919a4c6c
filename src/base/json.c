/* Strict JSON over cJSON: a scan that refuses what RFC 8259 refuses, then the tree. */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

/* ---- the scan ---- */

struct scan {
	const char *start, *p, *end;
	const char *wrong;    /* what is wrong at p */
	const char *real;     /* the first number that is not written as an integer, or NULL */
	int depth;
};

static bool refuse(struct scan *s, const char *wrong)
{
	s->wrong = wrong;
	return false;
}

static bool at(const struct scan *s, char c)
{
	return s->p < s->end && *s->p == c;
}

static bool take(struct scan *s, char c)
{
	if (!at(s, c))
		return false;
	s->p++;
	return true;
}

static void skip_space(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

static bool scan_digits(struct scan *s)
{
	const char *before = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > before || refuse(s, "expected a digit");
}

static bool scan_integer(struct scan *s)
{
	bool is_negative = take(s, '-');

	if (!take(s, '0'))
		return scan_digits(s);
	if (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		return refuse(s, "a number must not begin with a zero");
	if (is_negative && !s->real)
		s->real = s->p - 2;
	return true;
}

static bool scan_number(struct scan *s)
{
	const char *start = s->p;

	if (!scan_integer(s))
		return false;
	if (!s->real && (at(s, '.') || at(s, 'e') || at(s, 'E')))
		s->real = start;
	if (take(s, '.') && !scan_digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			take(s, '-');
		return scan_digits(s);
	}
	return true;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Four hexadecimal digits behind "\u". */
static bool scan_unit(struct scan *s, unsigned *unit)
{
	*unit = 0;
	for (int i = 0; i < 4; i++, s->p++) {
		int value = s->p < s->end ? hex_value(*s->p) : -1;
		if (value < 0)
			return refuse(s, "expected four hexadecimal digits behind \\u");
		*unit = *unit * 16 + (unsigned)value;
	}
	return true;
}

static bool scan_escape(struct scan *s)
{
	unsigned unit, low;

	if (s->p >= s->end)
		return refuse(s, "the text ends within a string");
	if (*s->p != 'u') {
		if (!strchr("\"\\/bfnrt", *s->p) || !*s->p)
			return refuse(s, "unknown escape in a string");
		s->p++;
		return true;
	}
	s->p++;
	if (!scan_unit(s, &unit))
		return false;
	if (unit == 0)
		return refuse(s, "a string must not hold a NUL");
	if (unit >= 0xDC00 && unit <= 0xDFFF)
		return refuse(s, "lone surrogate in a string");
	if (unit < 0xD800 || unit > 0xDBFF)
		return true;
	if (!take(s, '\\') || !take(s, 'u'))
		return refuse(s, "lone surrogate in a string");
	return scan_unit(s, &low)
		&& ((low >= 0xDC00 && low <= 0xDFFF) || refuse(s, "lone surrogate in a string"));
}

static bool scan_utf8(struct scan *s)
{
	size_t n = al_utf8_length(s->p, (size_t)(s->end - s->p));

	s->p += n;
	return n > 0 || refuse(s, "invalid UTF-8");
}

/* What most strings are made of. */
static void skip_plain(struct scan *s)
{
	while (s->p < s->end && *s->p >= ' ' && *s->p <= '~' && *s->p != '"' && *s->p != '\\')
		s->p++;
}

static bool scan_string(struct scan *s)
{
	if (!take(s, '"'))
		return refuse(s, "expected a string in double quotes");
	for (skip_plain(s); s->p < s->end && *s->p != '"'; skip_plain(s)) {
		if ((unsigned char)*s->p < 0x20)
			return refuse(s, "raw control character in a string");
		if (take(s, '\\') ? !scan_escape(s) : !scan_utf8(s))
			return false;
	}
	return take(s, '"') || refuse(s, "the text ends within a string");
}

static bool scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return refuse(s, "expected a value");
	s->p += n;
	return true;
}

static bool scan_value(struct scan *s);

static bool scan_member(struct scan *s, bool is_object)
{
	skip_space(s);
	if (is_object) {
		if (!scan_string(s))
			return false;
		skip_space(s);
		if (!take(s, ':'))
			return refuse(s, "expected \":\" behind a key");
		skip_space(s);
	}
	if (!scan_value(s))
		return false;
	skip_space(s);
	return true;
}

static bool scan_children(struct scan *s, bool is_object)
{
	char close = is_object ? '}' : ']';

	s->p++;
	if (++s->depth > AL_JSON_DEPTH)
		return refuse(s, "nested deeper than 64 levels");
	skip_space(s);
	if (!at(s, close)) {
		do {
			if (!scan_member(s, is_object))
				return false;
		} while (take(s, ','));
	}
	s->depth--;
	return take(s, close) || refuse(s, is_object ? "expected \",\" or \"}\"" : "expected \",\" or \"]\"");
}

static bool scan_value(struct scan *s)
{
	if (s->p >= s->end)
		return refuse(s, "the text ends where a value is expected");
	switch (*s->p) {
	case '{':
		return scan_children(s, true);
	case '[':
		return scan_children(s, false);
	case '"':
		return scan_string(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
			return scan_number(s);
		return refuse(s, "expected a value");
	}
}

static bool scan_document(struct scan *s)
{
	if (s->end - s->p >= 3 && memcmp(s->p, "\xEF\xBB\xBF", 3) == 0)
		return refuse(s, "a byte-order mark is not allowed");
	skip_space(s);
	if (!scan_value(s))
		return false;
	skip_space(s);
	return s->p == s->end || refuse(s, "unexpected text behind the value");
}

/* ---- places ---- */

static bool fail_at(const struct al_json *doc, const char *place, struct al_error *err,
	const char *message)
{
	int line = 1, column = 1;

	for (const char *p = doc->text; p < place; p++) {
		bool is_new_line = *p == '\n';
		line += is_new_line;
		column = is_new_line ? 1 : column + ((*p & 0xC0) != 0x80);
	}
	return al_fail(err, AL_EINPUT, "%s:%d:%d: %s", doc->name, line, column, message);
}

/* Walks the (valid) text beside the tree; `*found` is where `wanted` begins. */
static void walk(struct scan *s, const struct cJSON *node, const struct cJSON *wanted,
	const char **found)
{
	if (node == wanted)
		*found = s->p;
	if (!cJSON_IsArray(node) && !cJSON_IsObject(node)) {
		(void)scan_value(s);
		return;
	}
	s->p++;
	for (const struct cJSON *child = node->child; child && !*found; child = child->next) {
		skip_space(s);
		if (cJSON_IsObject(node)) {
			(void)scan_string(s);
			skip_space(s);
			s->p++;
			skip_space(s);
		}
		walk(s, child, wanted, found);
		skip_space(s);
		take(s, ',');
	}
	skip_space(s);
	s->p++;
}

static const char *place_of(const struct al_json *doc, const struct cJSON *node)
{
	struct scan s = {.start = doc->text, .p = doc->text, .end = doc->text + doc->length};
	const char *found = NULL;

	skip_space(&s);
	walk(&s, doc->root, node, &found);
	return found ? found : doc->text;
}

bool al_json_fail(const struct al_json *doc, const struct cJSON *node, struct al_error *err,
	const char *format, ...)
{
	char message[sizeof(err->message)];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return fail_at(doc, place_of(doc, node), err, message);
}

bool al_json_in(const struct al_json *doc, const struct cJSON *node, struct al_error *err)
{
	char message[sizeof(err->message)];
	enum al_status status = err->status;

	snprintf(message, sizeof(message), "%s", err->message);
	fail_at(doc, place_of(doc, node), err, message);
	err->status = status;
	return false;
}

/* ---- duplicate keys ---- */

/* Up to so many members are compared each with each. */
enum { FEW_MEMBERS = 8 };

struct member {
	uint64_t hash;
	const struct cJSON *node;
};

/* By hash first, which is cheap; names with the same hash need not be the same. */
static int compare_members(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return strcmp(a->node->string, b->node->string);
}

static bool is_few(const struct cJSON *object)
{
	size_t n = 0;

	for (const struct cJSON *child = object->child; child && n <= FEW_MEMBERS; child = child->next)
		n++;
	return n <= FEW_MEMBERS;
}

static const struct cJSON *repeated_among_few(const struct cJSON *object)
{
	for (const struct cJSON *a = object->child; a; a = a->next)
		for (const struct cJSON *b = a->next; b; b = b->next)
			if (strcmp(a->string, b->string) == 0)
				return b;
	return NULL;
}

static const struct cJSON *repeated_among_many(const struct cJSON *object)
{
	size_t n = al_json_size(object);
	struct member *members = calloc(n, sizeof(*members)), *out = members;
	const struct cJSON *repeated = NULL;

	if (!members)
		abort();
	for (const struct cJSON *child = object->child; child; child = child->next)
		*out++ = (struct member){al_hash(AL_HASH_EMPTY, child->string, strlen(child->string)), child};
	qsort(members, n, sizeof(*members), compare_members);
	for (size_t i = 1; i < n && !repeated; i++)
		if (compare_members(&members[i - 1], &members[i]) == 0)
			repeated = members[i].node;
	free(members);
	return repeated;
}

/* The second of two members with the same key, or NULL. */
static const struct cJSON *repeated_member(const struct cJSON *object)
{
	return is_few(object) ? repeated_among_few(object) : repeated_among_many(object);
}

static bool check_keys(const struct al_json *doc, const struct cJSON *node, struct al_error *err)
{
	if (cJSON_IsObject(node)) {
		const struct cJSON *repeated = repeated_member(node);
		if (repeated)
			return al_json_fail(doc, repeated, err, "key \"%s\" appears twice", repeated->string);
	}
	al_json_each(child, node)
		if (child->child && !check_keys(doc, child, err))
			return false;
	return true;
}

/* ---- documents ---- */

/* cJSON keeps its recursion limit; ours is lower. */
static bool build(struct al_json *doc, struct al_error *err)
{
	struct scan s = {.start = doc->text, .p = doc->text, .end = doc->text + doc->length};

	if (doc->length == 0)
		return al_fail(err, AL_EINPUT, "%s: the file is empty, expected JSON", doc->name);
	if (!scan_document(&s))
		return fail_at(doc, s.p, err, s.wrong);
	doc->first_real = s.real;
	doc->root = cJSON_ParseWithLength(doc->text, doc->length + 1);
	if (!doc->root)
		return al_fail(err, AL_ESYSTEM, "%s: the JSON library refused a valid text", doc->name);
	return check_keys(doc, doc->root, err);
}

bool al_json_parse(struct al_json *doc, const char *name, const char *text, size_t length,
	struct al_error *err)
{
	*doc = (struct al_json){.name = strdup(name), .text = malloc(length + 1), .length = length};
	if (!doc->name || !doc->text)
		abort();
	memcpy(doc->text, text, length);
	doc->text[length] = '\0';
	if (build(doc, err))
		return true;
	al_json_finish(doc);
	return false;
}

bool al_json_read(struct al_json *doc, const char *path, struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, path, AL_JSON_FILE_LIMIT, err))
		return false;
	bool ok = al_json_parse(doc, path, text.data, text.length, err);
	al_text_finish(&text);
	return ok;
}

bool al_json_only_integers(const struct al_json *doc, struct al_error *err)
{
	return !doc->first_real
		|| fail_at(doc, doc->first_real, err,
			"found a fraction, an exponent or -0, expected integers only");
}

void al_json_finish(struct al_json *doc)
{
	cJSON_Delete(doc->root);
	free(doc->text);
	free(doc->name);
	*doc = (struct al_json){0};
}

/* ---- nodes ---- */

enum al_json_kind al_json_kind(const struct cJSON *node)
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

const char *al_json_key(const struct cJSON *node)
{
	return node->string;
}

size_t al_json_size(const struct cJSON *node)
{
	size_t n = 0;

	for (const struct cJSON *child = al_json_first(node); child; child = child->next)
		n++;
	return n;
}

const struct cJSON *al_json_first(const struct cJSON *node)
{
	return node ? node->child : NULL;
}

const struct cJSON *al_json_next(const struct cJSON *node)
{
	return node->next;
}

const struct cJSON *al_json_at(const struct cJSON *array, size_t index)
{
	const struct cJSON *child = al_json_first(array);

	while (child && index--)
		child = child->next;
	return child;
}

const struct cJSON *al_json_get(const struct cJSON *object, const char *key)
{
	if (!object || !cJSON_IsObject(object))
		return NULL;
	al_json_each(child, object)
		if (strcmp(child->string, key) == 0)
			return child;
	return NULL;
}

static const char *kind_name(enum al_json_kind kind)
{
	static const char *const names[] = {"null", "true or false", "a number", "a string", "an array",
		"an object"};

	return names[kind];
}

bool al_json_expect(const struct al_json *doc, const struct cJSON *node, enum al_json_kind kind,
	struct al_error *err)
{
	enum al_json_kind found = al_json_kind(node);

	if (found == kind)
		return true;
	if (al_json_key(node))
		return al_json_fail(doc, node, err, "\"%s\" is %s, expected %s", al_json_key(node),
			kind_name(found), kind_name(kind));
	return al_json_fail(doc, node, err, "found %s, expected %s", kind_name(found), kind_name(kind));
}

bool al_json_text(const struct al_json *doc, const struct cJSON *node, const char **out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_TEXT, err))
		return false;
	*out = node->valuestring;
	return true;
}

bool al_json_boolean(const struct al_json *doc, const struct cJSON *node, bool *out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_BOOLEAN, err))
		return false;
	*out = cJSON_IsTrue(node);
	return true;
}

bool al_json_real(const struct al_json *doc, const struct cJSON *node, double *out,
	struct al_error *err)
{
	if (!al_json_expect(doc, node, AL_JSON_NUMBER, err))
		return false;
	if (!isfinite(node->valuedouble))
		return al_json_fail(doc, node, err, "the number is too large");
	*out = node->valuedouble;
	return true;
}

bool al_json_whole(const struct al_json *doc, const struct cJSON *node, int64_t *out,
	struct al_error *err)
{
	double value;

	if (!al_json_real(doc, node, &value, err))
		return false;
	if (fabs(value) >= 0x1p53)
		return al_json_fail(doc, node, err, "the number is 2^53 or beyond, where it is not exact");
	if (value != floor(value))
		return al_json_fail(doc, node, err, "found %g, expected a whole number", value);
	*out = (int64_t)value;
	return true;
}

bool al_json_whole_from(const struct al_json *doc, const struct cJSON *node, int64_t least,
	int64_t *out, struct al_error *err)
{
	int64_t value;

	if (!al_json_whole(doc, node, &value, err))
		return false;
	if (value < least)
		return al_json_fail(doc, node, err, "found %lld, expected %lld or more", (long long)value,
			(long long)least);
	*out = value;
	return true;
}

/* ---- members ---- */

static bool find_member(const struct al_json *doc, const struct cJSON *object, const char *key,
	bool required, const struct cJSON **out, struct al_error *err)
{
	*out = al_json_get(object, key);
	if (!*out && required)
		return al_json_fail(doc, object, err, "key \"%s\" is missing", key);
	return true;
}

bool al_json_get_text(const struct al_json *doc, const struct cJSON *object, const char *key,
	bool required, const char **out, struct al_error *err)
{
	const struct cJSON *node;

	return find_member(doc, object, key, required, &node, err)
		&& (!node || al_json_text(doc, node, out, err));
}

bool al_json_get_boolean(const struct al_json *doc, const struct cJSON *object, const char *key,
	bool required, bool *out, struct al_error *err)
{
	const struct cJSON *node;

	return find_member(doc, object, key, required, &node, err)
		&& (!node || al_json_boolean(doc, node, out, err));
}

bool al_json_get_whole(const struct al_json *doc, const struct cJSON *object, const char *key,
	bool required, int64_t *out, struct al_error *err)
{
	const struct cJSON *node;

	return find_member(doc, object, key, required, &node, err)
		&& (!node || al_json_whole(doc, node, out, err));
}

bool al_json_get_node(const struct al_json *doc, const struct cJSON *object, const char *key,
	enum al_json_kind kind, bool required, const struct cJSON **out, struct al_error *err)
{
	return find_member(doc, object, key, required, out, err)
		&& (!*out || al_json_expect(doc, *out, kind, err));
}

bool al_json_only(const struct al_json *doc, const struct cJSON *object, const char *const *known,
	size_t n_known, struct al_error *err)
{
	if (!al_json_expect(doc, object, AL_JSON_OBJECT, err))
		return false;
	al_json_each(member, object) {
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
	for (const char *p = text; *p; p++) {
		if (*p == '"' || *p == '\\')
			al_text_addf(out, "\\%c", *p);
		else if ((unsigned char)*p < 0x20 || *p == 0x7F)
			al_text_addf(out, "\\u%04x", (unsigned char)*p);
		else if (al_is_wide_control(p))
			al_text_addf(out, "\\u%04x", (unsigned char)*++p);
		else
			al_text_add_bytes(out, p, 1);
	}
	al_text_add(out, "\"");
}
