/* Patterns of module names: runs of words, globs, regular expressions. */
#include "unit.h"

#include "base/budget.h"
#include "catalog/scheme.h"

static struct al_arena arena;
static struct al_error err;

static bool matches_among(const char *pattern, int n_others, const char *name)
{
	struct al_budget budget = {0};
	struct al_patterns *patterns = al_patterns_create(&arena, &budget);

	for (int i = 0; i < n_others; i++)
		assert_true(al_patterns_add(patterns, al_format(&arena, "other.%d", i), &err));
	assert_true(al_patterns_add(patterns, pattern, &err));
	bool found = al_patterns_match(patterns, name);
	al_patterns_finish(patterns);
	return found;
}

/* Alone as in a long list, in which runs of words are looked up. */
static bool matches(const char *pattern, const char *name)
{
	const bool found = matches_among(pattern, 0, name);

	assert_int_equal(matches_among(pattern, 40, name), found);
	return found;
}

static void a_run_of_whole_words_matches(void **state)
{
	const char *name = "model.layers.3.mlp.gate_proj";

	(void)state;
	assert_true(matches("gate_proj", name));
	assert_true(matches("mlp.gate_proj", name));
	assert_true(matches("model.layers.3", name));
	assert_true(matches("layers.3.mlp.", name));
	assert_true(matches(name, name));
	assert_false(matches("gate", name));
	assert_false(matches("layers.3.gate_proj", name));
	assert_false(matches("layers.33", name));
	assert_false(matches("", name));
}

static void a_glob_covers_a_module(void **state)
{
	const char *name = "model.layers.3.self_attn.q_proj";

	(void)state;
	assert_true(matches("model.layers.3.self_attn*", name));
	assert_true(matches("*.self_attn.*", name));
	assert_true(matches("model.layers.*.self_attn", name));
	assert_true(matches("*", name));
	assert_false(matches("layers.3.*", name));
	assert_false(matches("*.mlp.*", name));
}

static void a_regular_expression_begins_the_name(void **state)
{
	const char *name = "model.layers.12.mlp.up_proj";

	(void)state;
	assert_true(matches("re:.*mlp\\.(gate|up|gate_up|down)_proj.*", name));
	assert_true(matches("re:model\\.layers\\.\\d+\\.mlp", name));
	assert_true(matches("re:(?:model|other)\\.", name));
	assert_true(matches("re:(?:model\\.|o*)?layers\\.(12|13)+", name));
	assert_true(matches("re:model(\\.\\*)?\\.layers\\.\\d+(\\.)+mlp", name));
	assert_false(matches("re:layers", name));
	assert_false(
		matches("re:.*mlp\\.(gate|up)_proj.*", "model.layers.1.mlp.experts.0.up_proj"));
}

static void what_is_not_known_is_refused(void **state)
{
	static const struct {
		const char *pattern, *message;
	} cases[] = {
		{"re:(?!x).*",
			"re:(?!x).*: column 4: \"(?\" isn't supported; use only groups, classes "
			"and repetitions"},
		{"re:a{1000}",
			"re:a{1000}: column 5: \"{1\" isn't supported; use only groups, classes "
			"and repetitions"},
		{"re:(a)\\1",
			"re:(a)\\1: column 7: \"\\1\" isn't supported; use only groups, classes "
			"and repetitions"},
		{"re:(", "re:( is not a valid regular expression"},
		{"re:[", "re:[ is not a valid regular expression"},
		{"re:(.*)*",
			"re:(.*)*: column 7: \")*\" isn't supported; use only groups, classes and "
			"repetitions, none within another"},
		{"re:((a|b+)c)+",
			"re:((a|b+)c)+: column 12: \")+\" isn't supported; use only groups, "
			"classes and repetitions, none within another"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_budget budget = {0};
		struct al_patterns *list = al_patterns_create(&arena, &budget);
		assert_false(al_patterns_add(list, cases[i].pattern, &err));
		assert_string_equal(err.message, cases[i].message);
		al_patterns_finish(list);
	}
}

/* Of as many characters as an expression may have, and one more. */
static void expressions_are_short(void **state)
{
	struct al_budget budget = {0};
	struct al_patterns *list = al_patterns_create(&arena, &budget);
	char longest[3 + 256 + 2] = "re:";

	(void)state;
	memset(longest + 3, 'a', 256);
	assert_true(al_patterns_add(list, longest, &err));
	longest[3 + 256] = 'a';
	assert_false(al_patterns_add(list, longest, &err));
	assert_string_equal(err.message,
		"the regular expression has 257 characters; the maximum is 256");
	al_patterns_finish(list);
}

static void what_costs_too_much_ends(void **state)
{
	struct al_budget budget = {0};
	struct al_patterns *list = al_patterns_create(&arena, &budget);

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_true(al_patterns_add(list, al_format(&arena, "*a*b%d", i), &err));
	for (int i = 0; i < 10000; i++)
		assert_false(al_patterns_match(list, "model.layers.3"));
	assert_false(al_budget_check(&budget, 0, &err));
	al_patterns_finish(list);
}

static int set_up(void **state)
{
	(void)state;
	al_arena_init(&arena);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	al_arena_finish(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_of_whole_words_matches),
		cmocka_unit_test(a_glob_covers_a_module),
		cmocka_unit_test(a_regular_expression_begins_the_name),
		cmocka_unit_test(what_is_not_known_is_refused),
		cmocka_unit_test(expressions_are_short),
		cmocka_unit_test(what_costs_too_much_ends),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
