/* Settings: given values, the defaults that follow from them, lists, and what is refused. */
#include "with_catalog.h"

#include "catalog/settings.h"

static const struct al_setting *get(struct al_settings *settings, const char *symbol)
{
	const struct al_setting *setting = NULL;
	struct al_error err = {0};

	if (!al_settings_get(settings, symbol, &setting, &err))
		fail_msg("%s", err.message);
	return setting;
}

static int64_t value(struct al_settings *settings, const char *symbol)
{
	const struct al_setting *setting = get(settings, symbol);

	assert_non_null(setting);
	return setting->value.integer;
}

static void defaults_follow_from_what_is_given(void **state)
{
	struct al_settings settings;

	(void)state;
	al_settings_init(&settings, catalog);
	al_settings_set(&settings, "d_model", 768, "bert-base");
	al_settings_set(&settings, "n_heads", 12, "bert-base");
	assert_int_equal(value(&settings, "d_value"), 64);
	assert_int_equal(value(&settings, "n_kv_heads"), 12);
	assert_string_equal(get(&settings, "d_head")->origin, "default d_model/n_heads");
	assert_string_equal(get(&settings, "d_value")->origin, "default d_head");
	assert_string_equal(get(&settings, "n_heads")->origin, "bert-base");
	assert_null(get(&settings, "d_ff"));
	assert_null(get(&settings, "no_such_symbol"));
	al_settings_finish(&settings);
}

static void defaults_change_with_what_they_follow_from(void **state)
{
	struct al_settings settings;

	(void)state;
	al_settings_init(&settings, catalog);
	al_settings_set(&settings, "d_model", 768, "a");
	al_settings_set(&settings, "n_heads", 12, "a");
	assert_int_equal(value(&settings, "d_value"), 64);
	al_settings_set(&settings, "n_heads", 6, "--set");
	assert_int_equal(value(&settings, "d_value"), 128);
	al_settings_set(&settings, "d_head", 32, "--set");
	assert_int_equal(value(&settings, "d_value"), 32);
	assert_string_equal(get(&settings, "d_head")->origin, "--set");
	al_settings_finish(&settings);
}

static void a_default_must_be_exact(void **state)
{
	const struct al_setting *setting;
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	al_settings_init(&settings, catalog);
	al_settings_set(&settings, "d_model", 768, "a");
	assert_false(al_settings_get(&settings, "d_value", &setting, &err));
	assert_string_equal(err.message,
		"default of d_value: default of d_head: n_heads is not set");
	al_settings_set(&settings, "n_heads", 7, "a");
	assert_false(al_settings_get(&settings, "d_head", &setting, &err));
	assert_string_equal(err.message,
		"default of d_head: d_model/n_heads = 768/7 is not a whole number");
	al_settings_set(&settings, "n_heads", 0, "a");
	assert_false(al_settings_get(&settings, "d_head", &setting, &err));
	assert_string_equal(err.message,
		"default of d_head: column 8: division by zero in \"d_model/n_heads\"");
	al_settings_finish(&settings);
}

static void merging_replaces_and_leaves_defaults_behind(void **state)
{
	struct al_settings from, to;

	(void)state;
	al_settings_init(&from, catalog);
	al_settings_init(&to, catalog);
	al_settings_set(&from, "d_model", 64, "a");
	al_settings_set(&from, "n_heads", 4, "a");
	al_settings_set_word(&from, "act", "gelu", "a");
	assert_int_equal(value(&from, "d_head"), 16);
	al_settings_set(&to, "n_heads", 2, "b");
	al_settings_set(&to, "vocab", 9, "b");
	al_settings_merge(&to, &from);
	al_settings_finish(&from);
	assert_int_equal(value(&to, "n_heads"), 4);
	assert_string_equal(get(&to, "n_heads")->origin, "a");
	assert_int_equal(value(&to, "vocab"), 9);
	assert_string_equal(get(&to, "act")->value.word, "gelu");
	al_settings_set(&to, "n_heads", 8, "c");
	assert_int_equal(value(&to, "d_head"), 8);
	al_settings_finish(&to);
}

/* ---- KEY=VALUE ---- */

static const struct refusal {
	const char *text, *message;
} assignments[] = {
	{"d_model", "--set: found \"d_model\", expected SYMBOL=NUMBER"},
	{"", "--set: found \"\", expected SYMBOL=NUMBER"},
	{"=3", "--set: found \"\" before \"=\", expected a symbol's name"},
	{"2x=3", "--set: found \"2x\" before \"=\", expected a symbol's name"},
	{"d-model=3", "--set: found \"d-model\" before \"=\", expected a symbol's name"},
	{"d_model=",
		"--set: d_model is \"\", expected a whole number of at least 0 and below 2^53"},
	{"d_model=-3",
		"--set: d_model is \"-3\", expected a whole number of at least 0 and below 2^53"},
	{"d_model=+3",
		"--set: d_model is \"+3\", expected a whole number of at least 0 and below 2^53"},
	{"d_model= 3",
		"--set: d_model is \" 3\", expected a whole number of at least 0 and below 2^53"},
	{"d_model=1.5",
		"--set: d_model is \"1.5\", expected a whole number of at least 0 and below 2^53"},
	{"d_model=12k",
		"--set: d_model is \"12k\", expected a whole number of at least 0 and below 2^53"},
	{"d_model=1_000",
		"--set: d_model is \"1_000\", expected a whole number of at least 0 and below "
		"2^53"},
	{"d_model=1e3",
		"--set: d_model is \"1e3\", expected a whole number of at least 0 and below 2^53"},
	{"d_model=0x10",
		"--set: d_model is \"0x10\", expected a whole number of at least 0 and below 2^53"},
	{"d_model=9007199254740992",
		"--set: d_model is \"9007199254740992\", expected a whole number of at least 0 and "
		"below 2^53"},
	{"d_model=99999999999999999999999999999999",
		"--set: d_model is \"99999999999999999999999999999999\", "
		"expected a whole number of at least 0 and below 2^53"},
	{"d_model=3=4",
		"--set: d_model is \"3=4\", expected a whole number of at least 0 and below 2^53"},
};

static void refuses_assignments(void **state)
{
	struct al_settings settings;

	(void)state;
	al_settings_init(&settings, catalog);
	for (size_t i = 0; i < sizeof(assignments) / sizeof(*assignments); i++) {
		struct al_error err = {0};
		assert_false(al_settings_parse(&settings, assignments[i].text, "--set", &err));
		assert_string_equal(err.message, assignments[i].message);
		assert_int_equal(err.status, AL_EINPUT);
	}
	assert_int_equal(settings.n, 0);
	al_settings_finish(&settings);
}

static void reads_assignments(void **state)
{
	struct al_settings settings;
	struct al_error err = {0};

	(void)state;
	al_settings_init(&settings, catalog);
	assert_true(al_settings_parse(&settings, "d_model=9007199254740991", "--set", &err));
	assert_true(al_settings_parse(&settings, "q_rank=0", "--set", &err));
	assert_int_equal(value(&settings, "d_model"), 9007199254740991);
	assert_int_equal(value(&settings, "q_rank"), 0);
	assert_string_equal(get(&settings, "q_rank")->origin, "--set");
	al_settings_finish(&settings);
}

/* ---- scope ---- */

static void set_layer_types(struct al_settings *settings)
{
	struct al_value types[3];

	for (size_t i = 0; i < 3; i++) {
		al_value_init(&types[i]);
		al_value_set_word(&types[i], i == 2 ? "full" : "sliding");
	}
	al_settings_set_list(settings, "layer_types", types, 3, "a");
}

static const struct evaluation {
	const char *formula, *message; /* NULL: `value` */
	int64_t value;
} evaluations[] = {
	{"if(layer_types[layer] == 'sliding', min(seq, window), seq)", NULL, 4096},
	{"if(layer_types[2 + layer] == 'sliding', 1, 2)", NULL, 2},
	{"n_heads*d_value", NULL, 768},
	{"layer_types[3] == 'full'", "found layer_types[3], but the list has 3 items", 0},
	{"layer_types[layer - 1] == 'full'", "found layer_types[-1], but the list has 3 items", 0},
	{"layer_types == 'full'", "layer_types is a list, expected layer_types[...]", 0},
	{"d_model[0]", "d_model is not a list, found d_model[0]", 0},
	{"d_ff", "d_ff is not set", 0},
	{"windw", "column 1: unknown symbol \"windw\" (did you mean \"window\"?)", 0},
};

static void formulas_see_settings_lists_and_defaults(void **state)
{
	struct al_settings settings;
	struct al_scope scope = al_settings_scope(&settings);

	(void)state;
	al_settings_init(&settings, catalog);
	al_settings_set(&settings, "d_model", 768, "a");
	al_settings_set(&settings, "n_heads", 12, "a");
	al_settings_set(&settings, "window", 4096, "a");
	al_settings_set(&settings, "seq", 8192, "a");
	al_settings_set(&settings, "layer", 0, "a");
	set_layer_types(&settings);
	for (size_t i = 0; i < sizeof(evaluations) / sizeof(*evaluations); i++) {
		const struct evaluation *e = &evaluations[i];
		const struct al_formula *formula;
		struct al_error err = {0};
		int64_t result = -1;
		assert_true(al_formula_parse(&settings.arena, e->formula, AL_DIALECT_CATALOG,
			&formula, &err));
		assert_int_equal(al_formula_whole(formula, &scope, 0, &result, &err), !e->message);
		if (e->message)
			assert_string_equal(err.message, e->message);
		else
			assert_int_equal(result, e->value);
	}
	al_settings_finish(&settings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_assignments),
		cmocka_unit_test(formulas_see_settings_lists_and_defaults),
		cmocka_unit_test(a_default_must_be_exact),
		cmocka_unit_test(defaults_follow_from_what_is_given),
		cmocka_unit_test(defaults_change_with_what_they_follow_from),
		cmocka_unit_test(merging_replaces_and_leaves_defaults_behind),
		cmocka_unit_test(reads_assignments),
	};

	return cmocka_run_group_tests(tests, create_catalog, destroy_catalog);
}
