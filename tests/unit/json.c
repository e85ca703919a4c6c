/* Strict JSON: what is accepted, what is refused, and where the message points. */
#include "unit.h"

#include <locale.h>

#include "base/json.h"
#include "base/text.h"
#include "support/folder.h"

static const struct refusal {
	const char *text, *message;
} refusals[] = {
	{"", "t.json: the file is empty, expected JSON"},
	{"{\"a\": 01}", "t.json:1:8: a number must not begin with a zero"},
	{"[1.]", "t.json:1:4: expected a digit"},
	{"[1,]", "t.json:1:4: expected a value"},
	{"[1] x", "t.json:1:5: unexpected text after the value"},
	{"\xEF\xBB\xBF", "t.json:1:1: a byte-order mark is not allowed"},
	{"{\n  \"a\": 1,\n  \"a\": 2\n}", "t.json:3:8: key \"a\" appears twice"},
	{"{\"a\": 1, \"\\u0061\": 2}", "t.json:1:20: key \"a\" appears twice"},
	{"\"\t\"", "t.json:1:2: raw control character in a string"},
	{"\"\\u0000\"", "t.json:1:8: a string must not contain a NUL"},
	{"\"\\ud800\"", "t.json:1:8: lone surrogate in a string"},
	{"\"\\ud800\\u0041\"", "t.json:1:14: lone surrogate in a string"},
	{"\"\\udc00\\udc00\"", "t.json:1:8: lone surrogate in a string"},
	{"\"\\a\"", "t.json:1:3: unknown escape in a string"},
	{"\"\\u00g0\"", "t.json:1:6: expected four hexadecimal digits after \\u"},
	{"\"\xC0\x80\"", "t.json:1:2: invalid UTF-8"},
	{"\"\xED\xA0\x80\"", "t.json:1:2: invalid UTF-8"},
	{"\"abc", "t.json:1:5: unterminated string"},
	{"{\"a\"", "t.json:1:5: expected \":\" after a key"},
	{"nul", "t.json:1:1: expected a value"},
	{"'a'", "t.json:1:1: expected a value"},
	{"NaN", "t.json:1:1: expected a value"},
};

static void refuses_what_the_rfc_refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		struct al_json doc;
		struct al_error err = {0};
		assert_false(al_json_parse(&doc, "t.json", refusals[i].text,
			strlen(refusals[i].text), &err));
		assert_string_equal(err.message, refusals[i].message);
		assert_int_equal(err.status, AL_EINPUT);
	}
}

/* Python's NaN and Infinity: read where they are asked for, never as numbers, and the places after
 * them stay true. */
static void reads_what_python_writes(void **state)
{
	static const char text[] = "{\"a\": NaN, \"N\\\"I\": [-Infinity, Infinity], \"b\":\n 7.5}";
	struct test_folder folder;
	char path[256];
	struct al_json doc;
	struct al_error err = {0};
	double number;
	int64_t whole;

	(void)state;
	test_folder_make(&folder);
	test_write(test_path(path, &folder, "t.json"), text, strlen(text));
	assert_false(al_json_read(&doc, path, &err));
	assert_true(al_json_read_python(&doc, path, &err));
	assert_false(al_json_real(&doc, al_json_get(doc.root, "a"), &number, &err));
	assert_non_null(strstr(err.message, ":1:7: \"a\": found NaN, expected a finite number"));
	const struct al_item *list = al_json_get(doc.root, "N\"I");
	assert_false(al_json_real(&doc, al_json_at(list, 0), &number, &err));
	assert_non_null(strstr(err.message, ": found -Infinity, expected a finite number"));
	assert_false(al_json_whole(&doc, al_json_get(doc.root, "b"), &whole, &err));
	assert_non_null(strstr(err.message, ":2:2: found 7.5, expected a whole number"));
	assert_false(al_json_check_strict(&doc, &err));
	assert_non_null(strstr(err.message, ":1:7: expected a value"));
	al_json_finish(&doc);
	for (const char *bad = "{\"a\": NaNs}\0[Infinit]\0[-NaN]\0[+Infinity]\0[nan]\0"; *bad;
		bad += strlen(bad) + 1) {
		test_write(path, bad, strlen(bad));
		assert_false(al_json_read_python(&doc, path, &err));
	}
	test_folder_remove(&folder);
}

static void bounds_the_depth(void **state)
{
	char deep[300];
	struct al_json doc;
	struct al_error err;

	(void)state;
	memset(deep, '[', 65);
	assert_false(al_json_parse(&doc, "t", deep, 65, &err));
	assert_string_equal(err.message, "t:1:66: nested deeper than 64 levels");
	memset(deep, '[', 64);
	memset(deep + 64, ']', 64);
	assert_true(al_json_parse(&doc, "t", deep, 128, &err));
	al_json_finish(&doc);
}

static void reads_whole_numbers_below_2_53(void **state)
{
	static const char text[] = "[9007199254740991, 9007199254740992, 1.5, -3, 1e3]";
	struct al_json doc;
	struct al_error err;
	int64_t value;

	(void)state;
	assert_true(al_json_parse(&doc, "t", text, strlen(text), &err));
	assert_true(al_json_whole(&doc, al_json_at(doc.root, 0), &value, &err));
	assert_int_equal(value, 9007199254740991);
	assert_false(al_json_whole(&doc, al_json_at(doc.root, 1), &value, &err));
	assert_string_equal(err.message,
		"t:1:20: the number is too large to be exact (2^53 or more)");
	assert_false(al_json_whole(&doc, al_json_at(doc.root, 2), &value, &err));
	assert_string_equal(err.message, "t:1:38: found 1.5, expected a whole number");
	assert_false(al_json_whole_from(&doc, al_json_at(doc.root, 3), 0, &value, &err));
	assert_string_equal(err.message, "t:1:43: found -3, expected 0 or more");
	assert_true(al_json_whole(&doc, al_json_at(doc.root, 4), &value, &err));
	assert_int_equal(value, 1000);
	al_json_finish(&doc);
}

static void names_the_nearest_key(void **state)
{
	static const char text[] = "{\n \"titel\": 1\n}";
	static const char *const known[] = {"title", "name"};
	struct al_json doc;
	struct al_error err;

	(void)state;
	assert_true(al_json_parse(&doc, "t", text, strlen(text), &err));
	assert_false(al_json_only(&doc, doc.root, known, 2, &err));
	assert_string_equal(err.message, "t:2:11: unknown key \"titel\" (did you mean \"title\"?)");
	al_json_finish(&doc);
}

static void suggests_known_names(void **state)
{
	static const char *const alike[] = {"abc1", "abc2", "abc3", "abc4", "abc5", "abc6", "abc7",
		"abc8", "abc9"};
	char name[65] = "a", known[65] = "b", first[150] = "", second[150] = "";
	const char *const one = known, *const long_ones[] = {first, second, "third"};
	struct al_error err;

	(void)state;
	/* eight that begin alike, of nine the nearest */
	assert_false(al_fail_unknown(&err, "name", "abc", alike, 8));
	assert_non_null(strstr(err.message, "or \"abc7\" or \"abc8\"?)"));
	assert_false(al_fail_unknown(&err, "name", "abc", alike, 9));
	assert_string_equal(err.message, "unknown name \"abc\" (did you mean \"abc1\"?)");
	/* names are compared that have at most 63 bytes */
	memset(name + 1, 'x', 62);
	memset(known + 1, 'x', 62);
	assert_ptr_equal(al_nearest(name, &one, 1), known);
	known[63] = 'x';
	assert_null(al_nearest(name, &one, 1));
	name[63] = 'x';
	known[63] = '\0';
	assert_null(al_nearest(name, &one, 1));
	/* a list ends where it has 300 bytes */
	memset(first, 'x', 149);
	memset(second, 'y', 149);
	assert_false(al_fail_unknown(&err, "name", "other", long_ones, 2));
	assert_non_null(strstr(err.message, "yy)"));
	assert_false(al_fail_unknown(&err, "name", "other", long_ones, 3));
	assert_non_null(strstr(err.message, "yy, ...)"));
}

static void escapes_control_characters_in_messages(void **state)
{
	static const char text[] = "{\"\\u001b[31m\": 1}";
	static const char *const known[] = {"title"};
	struct al_json doc;
	struct al_error err;

	(void)state;
	assert_true(al_json_parse(&doc, "t", text, strlen(text), &err));
	assert_false(al_json_only(&doc, doc.root, known, 1, &err));
	assert_null(strchr(err.message, '\x1b'));
	assert_non_null(strstr(err.message, "\\x1b[31m"));
	al_json_finish(&doc);
}

/* What is longer ends in "..."; the place that a caller adds is kept. */
static void messages_end_where_there_is_no_room(void **state)
{
	struct al_error err;
	char text[2 * sizeof(err.message)];
	const size_t most = sizeof(err.message) - 4;

	(void)state;
	for (size_t n = most - 1; n <= sizeof(text) - 1; n++) {
		memset(text, 'x', n);
		text[n] = '\0';
		assert_false(al_fail(&err, AL_EINPUT, "%s", text));
		assert_int_equal(strlen(err.message), n > most ? most + 3 : n);
		assert_string_equal(err.message + strlen(err.message) - 3,
			n > most ? "..." : "xxx");
		assert_false(al_in(&err, "place %zu", n));
		assert_memory_equal(err.message, "place ", 6);
		assert_int_equal(strlen(err.message), most + 3);
	}
}

static void reads_escapes_and_exact_sizes(void **state)
{
	static const char text[] =
		" {\"a\\u00e9\\ud83d\\ude00\": [], \"skipped\": {\"x\": [1, {}]},"
		"\"t\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\", \"n\": [0, 9223372036854775807, "
		"9223372036854775808, -1.50e+03]}";
	struct al_json doc;
	struct al_error err;
	struct al_text compact;
	int64_t number = 0;

	(void)state;
	assert_true(al_json_parse(&doc, "t", text, strlen(text), &err));
	assert_false(al_json_expect(&doc, doc.root, AL_JSON_ARRAY, &err));
	assert_string_equal(err.message, "t:1:2: found an object, expected an array");
	const struct al_item *list = al_json_get(doc.root, "a\xC3\xA9\xF0\x9F\x98\x80");
	assert_true(list && !al_json_first(list));
	assert_string_equal(al_json_get(doc.root, "t")->text, "\"\\/\b\f\n\r\t");
	list = al_json_get(doc.root, "n");
	assert_true(al_json_digits(&doc, al_json_at(list, 0), &number, &err));
	assert_int_equal(number, 0);
	assert_true(al_json_digits(&doc, al_json_at(list, 1), &number, &err));
	assert_true(number == INT64_MAX);
	assert_false(al_json_digits(&doc, al_json_at(list, 2), &number, &err));
	assert_string_equal(err.message,
		"t:1:111: found 9223372036854775808, expected less than 2^63");
	assert_false(al_json_digits(&doc, al_json_at(list, 3), &number, &err));
	assert_non_null(strstr(err.message, ": found -1.50e+03, expected a whole number of at "));
	al_text_init(&compact);
	al_json_add_compact(&compact, al_json_get(doc.root, "t"));
	al_json_add_compact(&compact, list);
	assert_string_equal(compact.data,
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""
		"[0,9223372036854775807,9223372036854775808,-1.50e+03]");
	al_text_finish(&compact);
	al_json_finish(&doc);
}

/* The first and the last code point of each length in UTF-8. */
static void reads_code_points_of_each_length(void **state)
{
	static const char text[] = "\"\\u0001\\u007F\\u0080\\u07fF\\u0800\\uFFFF"
				   "\\uD800\\uDC00\\uDBFF\\uDFFF\"";
	struct al_json doc;
	struct al_error err;

	(void)state;
	assert_true(al_json_parse(&doc, "t", text, strlen(text), &err));
	assert_string_equal(doc.root->text,
		"\x01\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"
		"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
	al_json_finish(&doc);
}

/* Whoever uses the library may have chosen a decimal comma. */
static void reads_numbers_in_any_locale(void **state)
{
	static const char text[] = "[1.5]";
	struct al_json doc;
	struct al_error err;

	(void)state;
	if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "de_DE"))
		return; /* the system has none */
	assert_true(al_json_parse(&doc, "t", text, strlen(text), &err));
	assert_true(doc.root->first->number == 1.5);
	assert_int_equal(localeconv()->decimal_point[0], ',');
	setlocale(LC_NUMERIC, "C");
	al_json_finish(&doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_the_rfc_refuses),
		cmocka_unit_test(reads_what_python_writes),
		cmocka_unit_test(bounds_the_depth),
		cmocka_unit_test(reads_whole_numbers_below_2_53),
		cmocka_unit_test(names_the_nearest_key),
		cmocka_unit_test(suggests_known_names),
		cmocka_unit_test(escapes_control_characters_in_messages),
		cmocka_unit_test(messages_end_where_there_is_no_room),
		cmocka_unit_test(reads_escapes_and_exact_sizes),
		cmocka_unit_test(reads_code_points_of_each_length),
		cmocka_unit_test(reads_numbers_in_any_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
