/* Values by version. */
#include "unit.h"

#include "catalog/history.h"
#include "catalog/read.h"

static struct al_arena arena;
static struct al_error err;

static void versions_compare_by_their_numbers(void **state)
{
	(void)state;
	assert_int_equal(al_version_compare("0.9.2", "0.10"), -1);
	assert_int_equal(al_version_compare("b8000", "b7217"), 1);
	assert_int_equal(al_version_compare("v0.21", "0.21.0"), 0);
	assert_int_equal(al_version_compare("0.21.3", "0.21"), 0);
	assert_int_equal(al_version_compare("0.23.1rc1", "0.23.2"), -1);
	assert_true(al_version_is_valid("b8000"));
	assert_true(al_version_is_valid("1.3.0rc7"));
	assert_false(al_version_is_valid(""));
	assert_false(al_version_is_valid("main"));
	assert_false(al_version_is_valid(".5"));
}

/* The value of key "k" in the version; "" where it is absent; NULL: the text is refused. */
static const char *value_in(const char *version, const char *text)
{
	const struct al_item *settled;

	AL_JSON(doc);
	assert_true(al_json_parse(&doc, "e.json", text, strlen(text), &err));
	if (!al_history_at(&arena, &doc, doc.root, version, &settled, &err))
		return NULL;
	const struct al_item *found = al_json_get(settled, "k");
	return found ? al_strndup(&arena, found->place, (size_t)(found->end - found->place)) : "";
}

static void the_last_rule_that_is_not_newer_holds(void **state)
{
	const char *rules =
		"{\"a\": 0, \"k\": ["
		"{\"since\": \"0.10\", \"value\": 1, \"source\": \"s\"},"
		"{\"since\": \"0.20\", \"value\": null, \"source\": \"s\"},"
		"{\"since\": \"0.21\", \"value\": [\"x\"], \"source\": \"s\"}], \"z\": 0}";

	(void)state;
	assert_string_equal(value_in("0.9", rules), "");
	assert_string_equal(value_in("0.10.2", rules), "1");
	assert_string_equal(value_in("0.20", rules), "");
	assert_string_equal(value_in("0.33", rules), "[\"x\"]");
	assert_string_equal(value_in("0.33", "{\"k\": [\"x\"]}"), "[\"x\"]");
	assert_string_equal(value_in("0.33", "{\"k\": {\"value\": 3, \"source\": \"s\"}}"), "3");
}

static void refuses(const char *text, const char *message)
{
	assert_null(value_in("0.33", text));
	assert_string_equal(err.message, message);
}

static void rules_are_ordered_and_have_sources(void **state)
{
	(void)state;
	refuses("{\"k\": {\"value\": 3}}", "e.json:1:7: key \"source\" is missing");
	refuses("{\"k\": {\"value\": 3, \"source\": \"s\", \"sinc\": \"1\"}}",
		"e.json:1:43: unknown key \"sinc\" (did you mean \"since\"?)");
	refuses("{\"k\": {\"value\": 3, \"source\": \"s\", \"since\": \"new\"}}",
		"e.json:1:7: since is \"new\", expected a version, such as 0.21");
	refuses("{\"k\": [{\"value\": 3, \"source\": \"s\", \"since\": \"2\"}, "
		"{\"value\": 3, \"source\": \"s\", \"since\": \"2\"}]}",
		"e.json:1:51: expected \"since\", a version after 2");
	refuses("{\"k\": [{\"value\": 3, \"source\": \"s\"}, 4]}",
		"e.json:1:37: found a number, expected an object");
}

static int finish(void **state)
{
	(void)state;
	al_arena_finish(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_compare_by_their_numbers),
		cmocka_unit_test(the_last_rule_that_is_not_newer_holds),
		cmocka_unit_test(rules_are_ordered_and_have_sources),
	};

	al_arena_init(&arena);
	return cmocka_run_group_tests_name("history", tests, NULL, finish);
}
