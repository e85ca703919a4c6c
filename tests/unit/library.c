/* The installed library, linked as others link it: what it answers, and what it refuses. */
#include "unit.h"

#include <pthread.h>

#include "attnledger.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

enum { MOST_WORDS = 8 };

struct question {
	const char *words[MOST_WORDS];
	const char *expected; /* the number that answers, or a part of the message */
};

static size_t n_words(const struct question *q)
{
	size_t n = 0;

	while (n < MOST_WORDS && q->words[n])
		n++;
	return n;
}

static struct al_answer *ask(const struct question *q)
{
	struct al_answer *answer;
	struct al_error err = {0};

	if (!al_ask(n_words(q), q->words, &answer, &err))
		fail_msg("%s: %s", q->words[0], err.message);
	return answer;
}

static const struct question numbers[] = {
	/* Radford et al. 2019: 124,439,808 as released */
	{{"count", "gpt2"}, "124439808"},
	/* Grattafiori et al. 2024: 8,030,261,248 as released */
	{{"count", "llama-3-8b"}, "8030261248"},
	/* (11 + 5)*6 + 2*(4*(6*6 + 6) + 2*6*24 + 24 + 6 + 4*6) + 2*6 */
	{{"count", "tests/data/tiny-gpt2"}, "1128"},
	/* Xue & Aletras 2023, Table 3, rounded there to 6.52M */
	{{"count", "transformer-base", "--variant", "mhe-mul"}, "6515712"},
	/* 4 * (2^52)^2 */
	{{"count", "mha", "--set", "d_model=4503599627370496", "--set", "n_heads=1"},
		"81129638414606681695789005144064"},
	/* 2 * 8 * 128 * 2 bytes in each of 32 layers, 8,192 tokens */
	{{"cache", "llama-3-8b", "--seq", "8192"}, "1073741824"},
};

static void answers_with_a_number(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct al_answer *answer = ask(&numbers[i]);
		const struct al_answer_value *lead = al_answer_lead(answer);
		assert_non_null(lead);
		assert_true(lead->is_number);
		assert_string_equal(lead->value, numbers[i].expected);
		assert_non_null(strstr(al_answer_text(answer), lead->text));
		assert_false(al_answer_is_no(answer));
		al_answer_free(answer);
	}
}

static size_t find_column(const struct al_answer *answer, size_t table, const char *key)
{
	size_t column = 0;

	while (column < al_answer_n_columns(answer, table)
		&& strcmp(al_answer_column(answer, table, column).key, key) != 0)
		column++;
	assert_true(column < al_answer_n_columns(answer, table));
	return column;
}

/* A value's cell, in any of the tables, is the value. */
static void check_value(struct al_answer *answer, const struct al_answer_value *value)
{
	size_t table = 0;

	while (strcmp(al_answer_table_id(answer, table), value->table) != 0)
		table++;
	assert_string_equal(al_answer_cell(answer, table, value->row,
				    find_column(answer, table, value->key)),
		value->value);
}

static void its_values_are_cells(void **state)
{
	static const struct question cache = {
		.words = {"cache", "gpt-oss-120b", "--seq", "131072"}};
	struct al_answer *answer = ask(&cache);
	size_t n, n_cells = 0, n_notes;
	double number;

	(void)state;
	const struct al_answer_value *values = al_answer_values(answer, &n);
	for (size_t i = 0; i < n; i++)
		if (values[i].table) {
			check_value(answer, &values[i]);
			n_cells++;
		}
	assert_true(n_cells >= 2);
	assert_int_equal(al_answer_n_tables(answer), 1);
	assert_string_equal(al_answer_table_title(answer, 0), "KV cache of gpt-oss 120B");
	const size_t last = al_answer_n_rows(answer, 0) - 1;
	const size_t bytes = find_column(answer, 0, "bytes_per_token");
	assert_true(al_answer_row_is_total(answer, 0, last));
	assert_false(al_answer_row_is_total(answer, 0, 0));
	assert_string_equal(al_answer_column(answer, 0, bytes).unit, "B");
	assert_true(al_answer_column(answer, 0, bytes).is_number);
	assert_true(al_answer_number(answer, 0, last, bytes, &number));
	assert_float_equal(number, 73728, 0);
	assert_null(al_answer_cell(answer, 0, 0, find_column(answer, 0, "ends_at")));
	al_answer_table_notes(answer, 0, &n_notes);
	assert_true(n_notes > 0);
	al_answer_free(answer);
}

static void a_model_alone_is_a_question(void **state)
{
	static const struct question model = {.words = {"llama-3-8b"}};
	struct al_answer *answer = ask(&model);
	size_t n;
	const struct al_answer_value *values = al_answer_values(answer, &n);

	(void)state;
	assert_non_null(strstr(al_answer_text(answer), "8,030,261,248 parameters"));
	assert_int_equal(al_answer_n_rows(answer, 0), n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(values[i].table, "overview");
		assert_string_equal(al_answer_cell(answer, 0, values[i].row, 2), values[i].value);
	}
	assert_null(al_answer_lead(answer));
	al_answer_free(answer);
}

static void files_are_bytes(void **state)
{
	static const char page[] = "/nowhere/page.html";
	static const struct question count = {.words = {"count", "gpt2", "--report", page}};
	struct al_answer *answer = ask(&count);
	const char *name;
	const void *bytes;
	size_t length;

	(void)state;
	assert_int_equal(al_answer_n_files(answer), 1);
	assert_true(al_answer_file(answer, 0, &name, &bytes, &length));
	assert_string_equal(name, page);
	assert_memory_equal(bytes, "<!doctype html>", 15);
	assert_true(length > 1000);
	assert_false(al_answer_file(answer, 1, &name, &bytes, &length));
	al_answer_free(answer);
}

/* As --report makes it, though the question has no such word; a file that isn't a page is none. */
static void has_a_page_on_request(void **state)
{
	static const struct question cases[] = {
		{{"cache", "gpt2"}, "KV cache of GPT-2 small"},
		{{"audit", "tests/data/tiny-llama"}, "Which heads are alike"},
		{{"audit", "tests/data/tiny-llama", "--against", "tests/data/tiny-llama"},
			"heads are the same in both checkpoints"},
	};
	const struct al_ask_options options = {.page = "page.html"};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct al_answer *answer;
		struct al_error err = {0};
		const char *name;
		const void *page;
		size_t length;
		if (!al_ask_with(n_words(&cases[i]), cases[i].words, &options, &answer, &err))
			fail_msg("case %zu: %s", i, err.message);
		assert_int_equal(al_answer_n_files(answer), 1);
		assert_true(al_answer_file(answer, 0, &name, &page, &length));
		assert_string_equal(name, "page.html");
		assert_non_null(strstr(page, cases[i].expected));
		assert_null(strstr(al_answer_json(answer), "--report"));
		al_answer_free(answer);
	}
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void fits_on_a_screen(void **state)
{
	static const struct question cases[] = {
		{{"list", "models", "-f", "json"}, "More: --details"},
		{{"audit", "tests/data/tiny-llama", "-f", "json"}, "No head looks removable."},
		{{"list", "variants", "--source", "mqa"}, "{"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct al_answer *answer = ask(&cases[i]);
		if (al_answer_n_tables(answer) > 0)
			assert_true(count_lines(al_answer_screen(answer)) <= 23);
		assert_non_null(strstr(al_answer_screen(answer), cases[i].expected));
		al_answer_free(answer);
	}
}

static void refuses(void **state)
{
	static const struct question cases[] = {
		{{"cuont", "gpt2"}, "did you mean \"count\""},
		{{"count", "gpt3"}, "gpt3"},
		{{"count", "mah"}, "list variants"},
		{{"count", "mha", "--set", "d_model=769", "--set", "n_heads=12"}, "769/12"},
		{{"count", "bert-base", "--set", "n_head=16"}, "n_heads"},
		{{"count", "bert-base", "--set", "n_heads"}, "expected SYMBOL=NUMBER"},
		{{"count"}, "expected MODEL"},
		{{"count", "gpt2", "--no-such"}, "option"},
		{{"count", "--help"}, "--help: use the program for help"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct al_answer *answer;
		struct al_error err = {0};
		assert_false(al_ask(n_words(&cases[i]), cases[i].words, &answer, &err));
		assert_null(answer);
		assert_int_equal(err.status, AL_EINPUT);
		if (!strstr(err.message, cases[i].expected))
			fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.message,
				cases[i].expected);
		assert_false(al_ask(n_words(&cases[i]), cases[i].words, &answer, NULL));
	}
	struct al_answer *answer;
	assert_false(al_ask(0, NULL, &answer, NULL));
	al_answer_free(NULL);
}

/* Tensors that stay as they are go into the same kind of file. */
static void quantized_tensors_are_refused(void **state)
{
	char path[4096];
	const struct question q = {{"compress", path, "--method", "identity", "-o",
					   "never.safetensors"},
		"tensor blk.0.attn_k.weight has dtype q4_0, which a safetensors file can't hold; "
		"use -o FILE.gguf"};
	struct al_answer *answer;
	struct al_error err = {0};
	(void)state;

	snprintf(path, sizeof(path), "%s/gguf/stories15M.q4_0.gguf", fixtures());
	assert_false(al_ask(n_words(&q), q.words, &answer, &err));
	assert_string_equal(err.message, q.expected);
}

/* For each library below: files, GMP, polynomials, linear algebra, drawing. */
static const struct question at_a_time[] = {
	{{"cache", "llama-3-8b", "--seq", "8192"}, "1073741824"},
	{{"count", "tests/data/tiny-gpt2"}, "1128"},
	{{"variants", "gqa"}, "2*d_head*n_kv_heads"},
	{{"audit", "tests/data/tiny-llama"}, "No head looks removable."},
	{{"sweep", "gpt2", "--over", "n_layers=1:4", "--figure", "layers.svg"}, "n_layers"},
};

/* Every question twice over, and how often an answer wasn't the expected one. */
static void *ask_all(void *n_wrong)
{
	for (size_t i = 0; i < 2 * COUNT(at_a_time); i++) {
		const struct question *q = &at_a_time[i % COUNT(at_a_time)];
		struct al_answer *answer;
		if (!al_ask(n_words(q), q->words, &answer, NULL)
			|| !strstr(al_answer_json(answer), q->expected))
			++*(int *)n_wrong;
		al_answer_free(answer);
	}
	return NULL;
}

static void threads_ask_at_a_time(void **state)
{
	pthread_t threads[2];
	int n_wrong[2] = {0};

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_all, &n_wrong[i]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(n_wrong[0] + n_wrong[1], 0);
}

static void says_its_version(void **state)
{
	(void)state;
	assert_string_equal(al_version(), AL_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_with_a_number),
		cmocka_unit_test(its_values_are_cells),
		cmocka_unit_test(a_model_alone_is_a_question),
		cmocka_unit_test(files_are_bytes),
		cmocka_unit_test(has_a_page_on_request),
		cmocka_unit_test(fits_on_a_screen),
		cmocka_unit_test(refuses),
		UNIT_TEST_OF_FIXTURES(quantized_tensors_are_refused),
		cmocka_unit_test(threads_ask_at_a_time),
		cmocka_unit_test(says_its_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
