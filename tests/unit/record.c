/* Records: each type of row, what is absent, and where errors point. */
#include "unit.h"

#include <stddef.h>

#include "base/record.h"

struct point {
	int64_t x, y;
};

struct drawing {
	const char *name;
	bool is_closed;
	enum { COLOR_RED = 5, COLOR_GREEN, COLOR_BLUE } color;
	int64_t width;
	struct point *points;
	size_t n_points;
	const char **labels;
	size_t n_labels;
	int n_read; /* what `read_twice` was called with */
	int digits;
	const char *pen, *shade;
	struct point corner;
	bool has_corner;
	const char **tags;
	size_t n_tags;
	const struct al_item *as_it_is;
};

static bool read_twice(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct drawing *drawing = out;

	(void)err;
	++*(int *)context;
	drawing->n_read = node ? 1 : 2;
	return true;
}

static bool read_label(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	(void)context;
	(void)err;
	*(const char **)out = strcmp(al_json_key(node), "a") == 0 ? "A" : "?";
	return true;
}

static bool check_drawing(void *context, const struct al_item *object, void *record,
	struct al_error *err)
{
	const struct drawing *drawing = record;

	(void)context;
	(void)object;
	return drawing->n_points != 1 || al_fail(err, AL_EINPUT, "one point makes no drawing");
}

static const char *const colors[] = {"red", "green", "blue"};

static const struct al_field point_fields[] = {
	{AL_KEY("x", WHOLE, offsetof(struct point, x)), .is_required = true, .least = -10},
	{AL_KEY("y", WHOLE, offsetof(struct point, y)), .fallback = 7},
};
static const struct al_record point_record = {
	.fields = AL_FIELDS(point_fields),
	.size = sizeof(struct point),
};

#define AT(member) offsetof(struct drawing, member)
static const struct al_field drawing_fields[] = {
	{AL_KEY("name", TEXT, AT(name)), .is_required = true},
	{AL_KEY("closed", BOOLEAN, AT(is_closed)), .fallback = true},
	{AL_KEY("color", WORD, AT(color)), .words = colors, .n_words = 3, .least = COLOR_RED,
		.fallback = COLOR_BLUE},
	{AL_KEY("width", WHOLE, AT(width)), .least = 1, .fallback = 3},
	{AL_KEY("points", LIST, AT(points)), .n_offset = AT(n_points), .record = &point_record,
		.most = 2, .noun = "points"},
	{AL_KEY("labels", MEMBERS, AT(labels)), .n_offset = AT(n_labels), .read = read_label,
		.item_size = sizeof(char *), .most = 1},
	{AL_KEY("twice", BY, 0), .read = read_twice, .reads_absent = true},
	{AL_KEY("digits", INT, AT(digits)), .fallback = -1, .most = 6},
	{AL_KEY("pen", TEXT, AT(pen)), AL_WORDS(colors)},
	{AL_KEY("corner", RECORD, AT(corner)), .record = &point_record, .or_text = AT(shade),
		.has_offset = AT(has_corner)},
	{AL_KEY("tags", LIST, AT(tags)), .n_offset = AT(n_tags), .least = 1, .noun = "tags"},
	{AL_KEY("raw", NODE, AT(as_it_is)), .kind = AL_JSON_ARRAY},
};
static const struct al_record drawing_record = {
	.fields = AL_FIELDS(drawing_fields),
	.size = sizeof(struct drawing),
	.check = check_drawing,
};

static bool read_drawing(struct al_arena *arena, const char *text, struct drawing *out,
	struct al_error *err)
{
	struct al_json doc;
	int n_calls = 0;

	*out = (struct drawing){0};
	al_arena_init(arena);
	assert_true(al_json_parse(&doc, "d.json", text, strlen(text), err));
	const struct al_record_source source = {arena, &doc, &n_calls};
	bool ok = al_record_read(&source, &drawing_record, doc.root, out, err);
	al_json_finish(&doc);
	return ok;
}

static void every_type_is_read(void **state)
{
	struct al_arena arena;
	struct drawing d;
	struct al_error err;

	(void)state;
	assert_true(read_drawing(&arena,
		"{\"note\": 1, \"twice\": null, \"name\": \"n\", \"closed\": false, "
		"\"color\": \"green\", \"width\": 9, "
		"\"points\": [{\"x\": -10}, {\"y\": 1, \"x\": 2}], \"labels\": {\"a\": 0}, "
		"\"digits\": 2, \"pen\": \"blue\", \"corner\": {\"x\": 4}, \"tags\": [\"s\"], "
		"\"raw\": []}",
		&d, &err));
	assert_string_equal(d.name, "n"); /* outlives the document */
	assert_false(d.is_closed);
	assert_int_equal(d.color, COLOR_GREEN);
	assert_int_equal(d.width, 9);
	assert_int_equal(d.n_points, 2);
	assert_int_equal(d.points[0].x, -10);
	assert_int_equal(d.points[0].y, 7);
	assert_int_equal(d.points[1].y, 1);
	assert_int_equal(d.n_labels, 1);
	assert_string_equal(d.labels[0], "A");
	assert_int_equal(d.n_read, 1);
	assert_int_equal(d.digits, 2);
	assert_string_equal(d.pen, "blue");
	assert_true(d.has_corner);
	assert_int_equal(d.corner.x, 4);
	assert_null(d.shade);
	assert_int_equal(d.n_tags, 1);
	assert_string_equal(d.tags[0], "s");
	assert_non_null(d.as_it_is);
	al_arena_finish(&arena);
}

static void what_is_absent_has_its_fallback(void **state)
{
	struct al_arena arena;
	struct drawing d;
	struct al_error err;

	(void)state;
	assert_true(read_drawing(&arena, "{\"name\": \"n\"}", &d, &err));
	assert_true(d.is_closed);
	assert_int_equal(d.color, COLOR_BLUE);
	assert_int_equal(d.width, 3);
	assert_int_equal(d.n_points, 0);
	assert_int_equal(d.n_labels, 0);
	assert_int_equal(d.n_read, 2);
	assert_int_equal(d.digits, -1);
	assert_null(d.pen);
	assert_false(d.has_corner);
	assert_null(d.as_it_is);
	al_arena_finish(&arena);
	assert_true(read_drawing(&arena, "{\"name\": \"n\", \"corner\": \"round\"}", &d, &err));
	assert_true(d.has_corner);
	assert_string_equal(d.shade, "round");
	al_arena_finish(&arena);
}

static const struct {
	const char *text, *message;
} refusals[] = {
	{"[]", "d.json:1:1: found an array, expected an object"},
	{"{}", "d.json:1:1: key \"name\" is missing"},
	{"{\"name\": 1}", "d.json:1:10: \"name\" is a number, expected a string"},
	{"{\"name\": \"n\", \"colors\": 1}",
		"d.json:1:25: unknown key \"colors\" (did you mean \"color\"?)"},
	{"{\"name\": \"n\", \"zzzzzz\": 1}",
		"d.json:1:25: unknown key \"zzzzzz\" (known: name, closed, color, width, points, "
		"labels, twice, digits, pen, corner, tags, raw)"},
	{"{\"name\": \"n\", \"color\": \"gren\"}",
		"d.json:1:24: unknown color \"gren\" (did you mean \"green\"?)"},
	{"{\"name\": \"n\", \"width\": 0}", "d.json:1:24: found 0, expected 1 or more"},
	{"{\"name\": \"n\", \"closed\": 1}",
		"d.json:1:25: \"closed\" is a number, expected true or false"},
	{"{\"name\": \"n\", \"points\": {}}",
		"d.json:1:25: \"points\" is an object, expected an array"},
	{"{\"name\": \"n\", \"points\": [{\"x\": 1}, {\"y\": 1}]}",
		"d.json:1:36: key \"x\" is missing"},
	{"{\"name\": \"n\", \"points\": [{\"x\": 1}, {\"x\": 1}, {\"x\": 1}]}",
		"d.json:1:25: \"points\" has 3 points, expected at most 2"},
	{"{\"name\": \"n\", \"labels\": {\"a\": 1, \"b\": 1}}",
		"d.json:1:25: \"labels\" has 2 items, expected at most 1"},
	{"{\"name\": \"n\", \"labels\": []}",
		"d.json:1:25: \"labels\" is an array, expected an object"},
	{"{\"name\": \"n\", \"digits\": 7}", "d.json:1:25: found 7 digits, expected at most 6"},
	{"{\"name\": \"n\", \"pen\": \"ink\"}",
		"d.json:1:22: unknown pen \"ink\" (known: red, green, blue)"},
	{"{\"name\": \"n\", \"tags\": []}", "d.json:1:23: the list of tags is empty"},
	{"{\"name\": \"n\", \"raw\": 1}", "d.json:1:22: \"raw\" is a number, expected an array"},
	{"{\"name\": \"n\", \"points\": [{\"x\": 1}]}", "one point makes no drawing"},
};

static void errors_say_where(void **state)
{
	struct al_arena arena;
	struct drawing d;
	struct al_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		assert_false(read_drawing(&arena, refusals[i].text, &d, &err));
		assert_string_equal(err.message, refusals[i].message);
		al_arena_finish(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_read),
		cmocka_unit_test(what_is_absent_has_its_fallback),
		cmocka_unit_test(errors_say_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
