/* The parser of strict JSON: it refuses what RFC 8259 refuses, and makes the tree. */
#include <locale.h>

#include "base/base.h"
#include "base/file.h"
#include "base/json.h"

struct parser {
	struct al_json *doc;
	const char *p, *end;
	const char *wrong; /* what is wrong at p */
	int depth;
	bool takes_python; /* NaN, Infinity and -Infinity are numbers */
	struct al_text string; /* the last one, without its escapes */
};

static bool refuse(struct parser *s, const char *wrong)
{
	s->wrong = wrong;
	return false;
}

static bool at(const struct parser *s, char c)
{
	return s->p < s->end && *s->p == c;
}

/* Moves after `c` where it is next. */
static bool take(struct parser *s, char c)
{
	if (!at(s, c))
		return false;
	s->p++;
	return true;
}

static void skip_space(struct parser *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

/* ---- numbers ---- */

static bool take_digits(struct parser *s)
{
	const char *before = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > before || refuse(s, "expected a digit");
}

static bool take_integer(struct parser *s)
{
	take(s, '-');
	if (!take(s, '0'))
		return take_digits(s);
	if (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		return refuse(s, "a number must not begin with a zero");
	return true;
}

static bool parse_number(struct parser *s, struct al_item *node)
{
	node->kind = AL_JSON_NUMBER;
	node->number = strtod(s->p, NULL);
	if (!take_integer(s))
		return false;
	if (take(s, '.') && !take_digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			take(s, '-');
		return take_digits(s);
	}
	return true;
}

/* ---- strings ---- */

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

/* Four hexadecimal digits after "\u". */
static bool take_unit(struct parser *s, unsigned *unit)
{
	*unit = 0;
	for (int i = 0; i < 4; i++, s->p++) {
		int value = s->p < s->end ? hex_value(*s->p) : -1;
		if (value < 0)
			return refuse(s, "expected four hexadecimal digits after \\u");
		*unit = *unit * 16 + (unsigned)value;
	}
	return true;
}

/* A code point beyond U+FFFF is two units; `*code` is the first. */
static bool take_second_unit(struct parser *s, unsigned *code)
{
	unsigned low;

	if (*code > 0xDBFF || !take(s, '\\') || !take(s, 'u'))
		return refuse(s, "lone surrogate in a string");
	if (!take_unit(s, &low))
		return false;
	if (low < 0xDC00 || low > 0xDFFF)
		return refuse(s, "lone surrogate in a string");
	*code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
	return true;
}

static void add_code_point(struct al_text *out, unsigned code)
{
	static const unsigned first_bits[] = {0, 0, 0xC0, 0xE0, 0xF0};
	const size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	char bytes[4];

	for (size_t i = n - 1; i > 0; i--, code >>= 6)
		bytes[i] = (char)(0x80 | (code & 0x3F));
	bytes[0] = (char)(first_bits[n] | code);
	al_text_add_bytes(out, bytes, n);
}

/* What follows a backslash. */
static bool take_escape(struct parser *s)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	unsigned code;

	if (s->p >= s->end)
		return refuse(s, "unterminated string");
	if (!take(s, 'u')) {
		const char *letter = *s->p ? strchr(letters, *s->p) : NULL;
		if (!letter)
			return refuse(s, "unknown escape in a string");
		al_text_add_bytes(&s->string, &meanings[letter - letters], 1);
		s->p++;
		return true;
	}
	if (!take_unit(s, &code))
		return false;
	if (code == 0)
		return refuse(s, "a string must not contain a NUL");
	if (code >= 0xD800 && code <= 0xDFFF && !take_second_unit(s, &code))
		return false;
	add_code_point(&s->string, code);
	return true;
}

static bool take_utf8(struct parser *s)
{
	const size_t n = al_utf8_length(s->p, (size_t)(s->end - s->p));

	al_text_add_bytes(&s->string, s->p, n);
	s->p += n;
	return n > 0 || refuse(s, "invalid UTF-8");
}

/* What most strings are made of. */
static void take_plain(struct parser *s)
{
	const char *begin = s->p;

	while (s->p < s->end && *s->p >= ' ' && *s->p <= '~' && *s->p != '"' && *s->p != '\\')
		s->p++;
	al_text_add_bytes(&s->string, begin, (size_t)(s->p - begin));
}

static bool parse_string(struct parser *s, const char **out)
{
	if (!take(s, '"'))
		return refuse(s, "expected a string in double quotes");
	s->string.length = 0;
	for (take_plain(s); s->p < s->end && *s->p != '"'; take_plain(s)) {
		if ((unsigned char)*s->p < 0x20)
			return refuse(s, "raw control character in a string");
		if (take(s, '\\') ? !take_escape(s) : !take_utf8(s))
			return false;
	}
	*out = al_strndup(&s->doc->arena, s->string.data, s->string.length);
	return take(s, '"') || refuse(s, "unterminated string");
}

/* ---- words ---- */

static bool take_word(struct parser *s, const char *word)
{
	const size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return refuse(s, "expected a value");
	s->p += n;
	return true;
}

static bool parse_word(struct parser *s, struct al_item *node)
{
	node->is_true = *s->p == 't';
	node->kind = *s->p == 'n' ? AL_JSON_NULL : AL_JSON_BOOLEAN;
	return take_word(s, node->is_true ? "true" : *s->p == 'n' ? "null" : "false");
}

/* NaN, Infinity or -Infinity. */
static bool parse_not_finite(struct parser *s, struct al_item *node)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
	const char *begin = s->p;

	for (int i = 0; s->takes_python && i < 3; i++)
		if (take_word(s, words[i])) {
			node->kind = AL_JSON_NUMBER;
			node->number = INFINITY;
			s->doc->not_finite = s->doc->not_finite ? s->doc->not_finite : begin;
			return true;
		}
	return false;
}

/* ---- values ---- */

static bool parse_value(struct parser *s, struct al_item *node);

static bool parse_member(struct parser *s, bool is_object, struct al_item *member)
{
	skip_space(s);
	if (is_object) {
		if (!parse_string(s, &member->key))
			return false;
		skip_space(s);
		if (!take(s, ':'))
			return refuse(s, "expected \":\" after a key");
		skip_space(s);
	}
	if (!parse_value(s, member))
		return false;
	skip_space(s);
	return true;
}

static bool parse_children(struct parser *s, struct al_item *node)
{
	const bool is_object = *s->p++ == '{';
	const char close = is_object ? '}' : ']';
	struct al_item **next = &node->first;

	node->kind = is_object ? AL_JSON_OBJECT : AL_JSON_ARRAY;
	if (++s->depth > AL_JSON_DEPTH)
		return refuse(s, "nested deeper than 64 levels");
	skip_space(s);
	if (!at(s, close)) {
		do {
			*next = al_new(&s->doc->arena, struct al_item);
			if (!parse_member(s, is_object, *next))
				return false;
			next = &(*next)->next;
		} while (take(s, ','));
	}
	s->depth--;
	return take(s, close)
		|| refuse(s, is_object ? "expected \",\" or \"}\"" : "expected \",\" or \"]\"");
}

static bool parse_by_first(struct parser *s, struct al_item *node)
{
	switch (*s->p) {
	case '{':
	case '[':
		return parse_children(s, node);
	case '"':
		node->kind = AL_JSON_TEXT;
		return parse_string(s, &node->text);
	case 't':
	case 'f':
	case 'n':
		return parse_word(s, node);
	default:
		if (parse_not_finite(s, node))
			return true;
		if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
			return parse_number(s, node);
		return refuse(s, "expected a value");
	}
}

static bool parse_value(struct parser *s, struct al_item *node)
{
	if (s->p >= s->end)
		return refuse(s, "the text ends where a value is expected");
	node->place = s->p;
	const bool ok = parse_by_first(s, node);
	node->end = s->p;
	return ok;
}

static bool parse_document(struct parser *s)
{
	if (s->end - s->p >= 3 && memcmp(s->p, "\xEF\xBB\xBF", 3) == 0)
		return refuse(s, "a byte-order mark is not allowed");
	skip_space(s);
	if (!parse_value(s, s->doc->root))
		return false;
	skip_space(s);
	return s->p == s->end || refuse(s, "unexpected text after the value");
}

/* ---- duplicate keys ---- */

/* Of members with the same key the one that comes first. */
static int compare_members(const void *left, const void *right)
{
	const struct al_item *a = *(const struct al_item *const *)left;
	const struct al_item *b = *(const struct al_item *const *)right;
	const int order = strcmp(a->key, b->key);

	return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/* The second of two members with the same key, or NULL. */
static const struct al_item *repeated_member(const struct al_item *object)
{
	const size_t n = al_json_size(object);
	AL_FREED const struct al_item **members = al_calloc(n, sizeof(*members));
	size_t n_members = 0;

	al_json_each (member, object)
		members[n_members++] = member;
	qsort(members, n, sizeof(*members), compare_members);
	for (size_t i = 1; i < n; i++)
		if (strcmp(members[i - 1]->key, members[i]->key) == 0)
			return members[i];
	return NULL;
}

static bool check_keys(const struct al_json *doc, const struct al_item *node, struct al_error *err)
{
	const struct al_item *repeated = node->kind == AL_JSON_OBJECT ? repeated_member(node)
								      : NULL;

	if (repeated)
		return al_json_fail(doc, repeated, err, "key \"%s\" appears twice", repeated->key);
	al_json_each (child, node)
		if (!check_keys(doc, child, err))
			return false;
	return true;
}

/* ---- documents ---- */

/* Numbers have a point, whatever the program that this is part of has set. */
static bool parse_in_c(struct parser *s)
{
	const locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), before = uselocale(c);
	const bool ok = parse_document(s);

	uselocale(before);
	freelocale(c);
	return ok;
}

static bool build(struct al_json *doc, bool takes_python, struct al_error *err)
{
	struct parser s = {.doc = doc,
		.p = doc->text,
		.end = doc->text + doc->length,
		.takes_python = takes_python};

	if (doc->length == 0)
		return al_fail(err, AL_EINPUT, "%s: the file is empty, expected JSON", doc->name);
	al_text_init(&s.string);
	const bool ok = parse_in_c(&s);
	al_text_finish(&s.string);
	return ok ? check_keys(doc, doc->root, err) : al_json_fail_at(doc, s.p, err, s.wrong);
}

static bool parse(struct al_json *doc, const char *name, const char *text, size_t length,
	bool takes_python, struct al_error *err)
{
	*doc = (struct al_json){.length = length};
	al_arena_init(&doc->arena);
	doc->name = al_strdup(&doc->arena, name);
	doc->text = al_strndup(&doc->arena, text, length);
	doc->root = al_new(&doc->arena, struct al_item);
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
	AL_TEXT(text);

	return al_file_read(&text, path, AL_JSON_FILE_LIMIT, err)
		&& parse(doc, path, text.data, text.length, takes_python, err);
}

bool al_json_read(struct al_json *doc, const char *path, struct al_error *err)
{
	return read_file(doc, path, false, err);
}

bool al_json_read_python(struct al_json *doc, const char *path, struct al_error *err)
{
	return read_file(doc, path, true, err);
}

void al_json_finish(struct al_json *doc)
{
	al_arena_finish(&doc->arena);
	*doc = (struct al_json){0};
}
