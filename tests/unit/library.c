/* The installed library, linked as others link it: published sizes, and what it refuses. */
#include "unit.h"

#include "attnledger.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

struct asked {
	const char *model, *variant;
	const char *settings[4];
	const char *expected; /* the count, or a part of the message */
};

static size_t n_settings(const struct asked *asked)
{
	size_t n = 0;

	while (n < COUNT(asked->settings) && asked->settings[n])
		n++;
	return n;
}

static bool ask(const struct asked *asked, char *out, size_t size, struct al_error *err)
{
	return al_count_parameters(asked->model, asked->variant, asked->settings, n_settings(asked),
		out, size, err);
}

static void counts(void **state)
{
	static const struct asked cases[] = {
		/* Radford et al. 2019: 124,439,808 as released */
		{"gpt2", NULL, {NULL}, "124439808"},
		/* Grattafiori et al. 2024: 8,030,261,248 as released */
		{"llama-3-8b", NULL, {NULL}, "8030261248"},
		/* (11 + 5)*6 + 2*(4*(6*6 + 6) + 2*6*24 + 24 + 6 + 4*6) + 2*6 */
		{"tests/data/tiny-gpt2", NULL, {NULL}, "1128"},
		/* Xue & Aletras 2023, Table 3, rounded there to 18.87M and 6.52M; a preset that
		 * gives no vocabulary is its attention */
		{"transformer-base", NULL, {NULL}, "18874368"},
		{"transformer-base", "mhe-mul", {NULL}, "6515712"},
		/* 4 * 768^2 */
		{NULL, "mha", {"d_model=768", "n_heads=12"}, "2359296"},
		/* Llama-3-8B: (2*32 + 2*8) * 128 * 4096 */
		{NULL, "gqa:n_kv_heads=8", {"d_model=4096", "n_heads=32"}, "41943040"},
		/* 4 * (2^52)^2 */
		{NULL, "mha", {"d_model=4503599627370496", "n_heads=1"},
			"81129638414606681695789005144064"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[64];
		struct al_error err = {0};
		if (!ask(&cases[i], text, sizeof(text), &err))
			fail_msg("case %zu: %s", i, err.message);
		assert_string_equal(text, cases[i].expected);
	}
}

static void refuses(void **state)
{
	static const struct asked cases[] = {
		{NULL, NULL, {NULL}, "neither a model nor a variant is named"},
		{"gpt3", NULL, {NULL}, "gpt3-175b"},
		{NULL, "mah", {NULL}, "\"mha\""},
		{NULL, "mha", {NULL}, "d_model"},
		{NULL, "mha", {"d_model=769", "n_heads=12"}, "769/12"},
		{"bert-base", NULL, {"n_head=16"}, "n_heads"},
		{"bert-base", NULL, {"n_heads"}, "expected SYMBOL=NUMBER"},
		{"bert-base", NULL, {"n_heads=-1"}, "expected a whole number"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[64] = "kept";
		struct al_error err = {0};
		assert_false(ask(&cases[i], text, sizeof(text), &err));
		assert_int_equal(err.status, AL_EINPUT);
		if (!strstr(err.message, cases[i].expected))
			fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.message,
				cases[i].expected);
		assert_string_equal(text, "kept");
		assert_false(ask(&cases[i], text, sizeof(text), NULL));
	}
}

static void writes_within_its_room(void **state)
{
	static const struct asked gpt2 = {.model = "gpt2"};
	char text[10] = "kept";
	struct al_error err = {0};

	(void)state;
	assert_false(ask(&gpt2, text, 9, &err));
	assert_string_equal(err.message, "the count takes 10 bytes, found room for 9");
	assert_string_equal(text, "kept");
	assert_false(ask(&gpt2, NULL, 0, &err));
	assert_true(ask(&gpt2, text, 10, &err));
	assert_string_equal(text, "124439808");
}

static void says_its_version(void **state)
{
	(void)state;
	assert_string_equal(al_version(), AL_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(refuses),
		cmocka_unit_test(writes_within_its_room),
		cmocka_unit_test(says_its_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
