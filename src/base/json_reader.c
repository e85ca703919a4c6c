/* Strict JSON read in order, without a tree. */
#include "base/json_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_scan.h"
#include "base/number.h"

bool al_json_reader_init(struct al_json_reader *reader, const char *name, const char *text,
	size_t length, struct al_error *err)
{
	struct al_json_scan s = {.p = text, .end = text + length};

	if (length == 0)
		return al_fail(err, AL_EINPUT, "%s: the text is empty, expected JSON", name);
	if (!al_json_scan_document(&s))
		return al_json_fail_at(name, text, s.p, err, s.wrong);
	*reader = (struct al_json_reader){.name = name,
		.text = text,
		.p = text,
		.end = text + length};
	al_text_init(&reader->key);
	al_text_init(&reader->value);
	s.p = text;
	al_json_skip_space(&s);
	reader->p = s.p;
	return true;
}

void al_json_reader_finish(struct al_json_reader *reader)
{
	al_text_finish(&reader->key);
	al_text_finish(&reader->value);
}

/* ---- moving ---- */

static struct al_json_scan scan_from(const struct al_json_reader *reader)
{
	return (struct al_json_scan){.p = reader->p, .end = reader->end};
}

static void move_to(struct al_json_reader *reader, struct al_json_scan *s)
{
	al_json_skip_space(s);
	reader->p = s->p;
}

enum al_json_kind al_json_reader_kind(const struct al_json_reader *reader)
{
	switch (*reader->p) {
	case '{':
		return AL_JSON_OBJECT;
	case '[':
		return AL_JSON_ARRAY;
	case '"':
		return AL_JSON_TEXT;
	case 't':
	case 'f':
		return AL_JSON_BOOLEAN;
	case 'n':
		return AL_JSON_NULL;
	default:
		return AL_JSON_NUMBER;
	}
}

void al_json_reader_enter(struct al_json_reader *reader)
{
	struct al_json_scan s = scan_from(reader);

	s.p++;
	move_to(reader, &s);
}

void al_json_reader_skip(struct al_json_reader *reader)
{
	struct al_json_scan s = scan_from(reader);

	(void)al_json_scan_value(&s);
	move_to(reader, &s);
}

bool al_json_reader_item(struct al_json_reader *reader)
{
	struct al_json_scan s = scan_from(reader);
	bool is_end = al_json_take(&s, ']') || al_json_take(&s, '}');

	if (!is_end)
		al_json_take(&s, ',');
	move_to(reader, &s);
	return !is_end;
}

/* ---- texts ---- */

static unsigned hex_unit(const char *digits)
{
	unsigned unit = 0;

	for (int i = 0; i < 4; i++) {
		char c = digits[i];
		unit = unit * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return unit;
}

static void add_code_point(struct al_text *out, unsigned code)
{
	if (code < 0x80) {
		al_text_add_bytes(out, (char[]){(char)code}, 1);
	} else if (code < 0x800) {
		al_text_add_bytes(out,
			(char[]){(char)(0xC0 | code >> 6), (char)(0x80 | (code & 0x3F))}, 2);
	} else if (code < 0x10000) {
		al_text_add_bytes(out,
			(char[]){(char)(0xE0 | code >> 12), (char)(0x80 | (code >> 6 & 0x3F)),
				(char)(0x80 | (code & 0x3F))},
			3);
	} else {
		al_text_add_bytes(out,
			(char[]){(char)(0xF0 | code >> 18), (char)(0x80 | (code >> 12 & 0x3F)),
				(char)(0x80 | (code >> 6 & 0x3F)), (char)(0x80 | (code & 0x3F))},
			4);
	}
}

/* Adds what the escape at `p` means; returns what is after it. */
static const char *add_escape(struct al_text *out, const char *p)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";

	if (p[1] != 'u') {
		al_text_add_bytes(out, &meanings[strchr(letters, p[1]) - letters], 1);
		return p + 2;
	}
	unsigned code = hex_unit(p + 2);
	if (code < 0xD800 || code > 0xDFFF) {
		add_code_point(out, code);
		return p + 6;
	}
	add_code_point(out, 0x10000 + ((code - 0xD800) << 10) + (hex_unit(p + 8) - 0xDC00));
	return p + 12;
}

/* Takes the string that comes next into `out`. */
static void take_string(struct al_json_reader *reader, struct al_text *out)
{
	struct al_json_scan s = scan_from(reader);

	(void)al_json_scan_string(&s);
	const char *p = reader->p + 1, *end = s.p - 1;
	out->length = 0;
	out->data[0] = '\0';
	while (p < end) {
		const char *escape = memchr(p, '\\', (size_t)(end - p));
		const char *plain_end = escape ? escape : end;
		al_text_add_bytes(out, p, (size_t)(plain_end - p));
		p = escape ? add_escape(out, escape) : end;
	}
	move_to(reader, &s);
}

bool al_json_reader_member(struct al_json_reader *reader, const char **key)
{
	if (!al_json_reader_item(reader))
		return false;
	take_string(reader, &reader->key);
	struct al_json_scan s = scan_from(reader);
	al_json_take(&s, ':');
	move_to(reader, &s);
	*key = reader->key.data;
	return true;
}

/* ---- values ---- */

bool al_json_reader_fail(const struct al_json_reader *reader, const char *place,
	struct al_error *err, const char *format, ...)
{
	char message[sizeof(err->message)];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return al_json_fail_at(reader->name, reader->text, place ? place : reader->p, err, message);
}

bool al_json_reader_expect(const struct al_json_reader *reader, enum al_json_kind kind,
	const char *what, struct al_error *err)
{
	const char *found = al_json_kind_name(al_json_reader_kind(reader));

	if (al_json_reader_kind(reader) == kind)
		return true;
	if (what)
		return al_json_reader_fail(reader, NULL, err, "\"%.120s\" is %s, expected %s", what,
			found, al_json_kind_name(kind));
	return al_json_reader_fail(reader, NULL, err, "found %s, expected %s", found,
		al_json_kind_name(kind));
}

bool al_json_reader_text(struct al_json_reader *reader, const char *what, const char **out,
	struct al_error *err)
{
	if (!al_json_reader_expect(reader, AL_JSON_TEXT, what, err))
		return false;
	take_string(reader, &reader->value);
	*out = reader->value.data;
	return true;
}

bool al_json_reader_size(struct al_json_reader *reader, const char *what, int64_t *out,
	struct al_error *err)
{
	struct al_json_scan s = scan_from(reader);

	if (!al_json_reader_expect(reader, AL_JSON_NUMBER, what, err))
		return false;
	(void)al_json_scan_value(&s);
	int length = s.p - reader->p < 40 ? (int)(s.p - reader->p) : 40;
	if (al_read_digits(reader->p, out) != (size_t)(s.p - reader->p))
		return al_json_reader_fail(reader, NULL, err,
			"found %.*s, expected a whole number of at least 0 in plain digits", length,
			reader->p);
	if (*out < 0)
		return al_json_reader_fail(reader, NULL, err, "found %.*s, expected less than 2^63",
			length, reader->p);
	move_to(reader, &s);
	return true;
}

bool al_json_reader_number(struct al_json_reader *reader, const char *what, const char **out,
	struct al_error *err)
{
	const char *begin = reader->p;
	struct al_json_scan s = scan_from(reader);

	if (!al_json_reader_expect(reader, AL_JSON_NUMBER, what, err))
		return false;
	(void)al_json_scan_value(&s);
	reader->value.length = 0;
	al_text_add_bytes(&reader->value, begin, (size_t)(s.p - begin));
	*out = reader->value.data;
	move_to(reader, &s);
	return true;
}
