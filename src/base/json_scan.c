/* The scan that refuses what RFC 8259 refuses, and the places that messages name. */
#include "base/json_scan.h"

#include <string.h>

#include "base/text.h"

static bool refuse(struct al_json_scan *s, const char *wrong)
{
	s->wrong = wrong;
	return false;
}

static bool at(const struct al_json_scan *s, char c)
{
	return s->p < s->end && *s->p == c;
}

bool al_json_take(struct al_json_scan *s, char c)
{
	if (!at(s, c))
		return false;
	s->p++;
	return true;
}

void al_json_skip_space(struct al_json_scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
		s->p++;
}

static bool scan_digits(struct al_json_scan *s)
{
	const char *before = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > before || refuse(s, "expected a digit");
}

static bool scan_integer(struct al_json_scan *s)
{
	al_json_take(s, '-');
	if (!al_json_take(s, '0'))
		return scan_digits(s);
	if (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		return refuse(s, "a number must not begin with a zero");
	return true;
}

static bool scan_number(struct al_json_scan *s)
{
	if (!scan_integer(s))
		return false;
	if (al_json_take(s, '.') && !scan_digits(s))
		return false;
	if (al_json_take(s, 'e') || al_json_take(s, 'E')) {
		if (!al_json_take(s, '+'))
			al_json_take(s, '-');
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

/* Four hexadecimal digits after "\u". */
static bool scan_unit(struct al_json_scan *s, unsigned *unit)
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

static bool scan_escape(struct al_json_scan *s)
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
	if (!al_json_take(s, '\\') || !al_json_take(s, 'u'))
		return refuse(s, "lone surrogate in a string");
	return scan_unit(s, &low)
		&& ((low >= 0xDC00 && low <= 0xDFFF) || refuse(s, "lone surrogate in a string"));
}

static bool scan_utf8(struct al_json_scan *s)
{
	size_t n = al_utf8_length(s->p, (size_t)(s->end - s->p));

	s->p += n;
	return n > 0 || refuse(s, "invalid UTF-8");
}

/* What most strings are made of. */
static void skip_plain(struct al_json_scan *s)
{
	while (s->p < s->end && *s->p >= ' ' && *s->p <= '~' && *s->p != '"' && *s->p != '\\')
		s->p++;
}

bool al_json_scan_string(struct al_json_scan *s)
{
	if (!al_json_take(s, '"'))
		return refuse(s, "expected a string in double quotes");
	for (skip_plain(s); s->p < s->end && *s->p != '"'; skip_plain(s)) {
		if ((unsigned char)*s->p < 0x20)
			return refuse(s, "raw control character in a string");
		if (al_json_take(s, '\\') ? !scan_escape(s) : !scan_utf8(s))
			return false;
	}
	return al_json_take(s, '"') || refuse(s, "the text ends within a string");
}

static bool scan_word(struct al_json_scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
		return refuse(s, "expected a value");
	s->p += n;
	return true;
}

/* NaN, Infinity or -Infinity. */
static bool scan_not_finite(struct al_json_scan *s)
{
	static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
	const char *begin = s->p;

	for (int i = 0; s->takes_python && i < 3; i++)
		if (scan_word(s, words[i])) {
			s->not_finite = s->not_finite ? s->not_finite : begin;
			return true;
		}
	return false;
}

static bool scan_member(struct al_json_scan *s, bool is_object)
{
	al_json_skip_space(s);
	if (is_object) {
		if (!al_json_scan_string(s))
			return false;
		al_json_skip_space(s);
		if (!al_json_take(s, ':'))
			return refuse(s, "expected \":\" after a key");
		al_json_skip_space(s);
	}
	if (!al_json_scan_value(s))
		return false;
	al_json_skip_space(s);
	return true;
}

static bool scan_children(struct al_json_scan *s, bool is_object)
{
	char close = is_object ? '}' : ']';

	s->p++;
	if (++s->depth > AL_JSON_DEPTH)
		return refuse(s, "nested deeper than 64 levels");
	al_json_skip_space(s);
	if (!at(s, close)) {
		do {
			if (!scan_member(s, is_object))
				return false;
		} while (al_json_take(s, ','));
	}
	s->depth--;
	return al_json_take(s, close)
		|| refuse(s, is_object ? "expected \",\" or \"}\"" : "expected \",\" or \"]\"");
}

bool al_json_scan_value(struct al_json_scan *s)
{
	if (s->p >= s->end)
		return refuse(s, "the text ends where a value is expected");
	switch (*s->p) {
	case '{':
		return scan_children(s, true);
	case '[':
		return scan_children(s, false);
	case '"':
		return al_json_scan_string(s);
	case 't':
		return scan_word(s, "true");
	case 'f':
		return scan_word(s, "false");
	case 'n':
		return scan_word(s, "null");
	default:
		if (scan_not_finite(s))
			return true;
		if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
			return scan_number(s);
		return refuse(s, "expected a value");
	}
}

bool al_json_scan_document(struct al_json_scan *s)
{
	if (s->end - s->p >= 3 && memcmp(s->p, "\xEF\xBB\xBF", 3) == 0)
		return refuse(s, "a byte-order mark is not allowed");
	al_json_skip_space(s);
	if (!al_json_scan_value(s))
		return false;
	al_json_skip_space(s);
	return s->p == s->end || refuse(s, "unexpected text after the value");
}

bool al_json_fail_at(const char *name, const char *text, const char *place, struct al_error *err,
	const char *message)
{
	int line = 1, column = 1;

	for (const char *p = text; p < place; p++) {
		bool is_new_line = *p == '\n';
		line += is_new_line;
		column = is_new_line ? 1 : column + ((*p & 0xC0) != 0x80);
	}
	return al_fail(err, AL_EINPUT, "%s:%d:%d: %s", name, line, column, message);
}

const char *al_json_kind_name(enum al_json_kind kind)
{
	static const char *const names[] = {"null", "true or false", "a number", "a string",
		"an array", "an object"};

	return names[kind];
}
