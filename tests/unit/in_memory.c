/* Questions to the library about tensors in memory: the answers of the same checkpoint on disk. */
#include "unit.h"

#include "attnledger.h"
#include "base/file.h"
#include "formats/safetensors.h"
#include "support/one_folder.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))
#define MODEL "tests/data/tiny-llama"

enum { MOST_WORDS = 12, MOST_TENSORS = 64, MOST_BYTES = 1 << 16 };

/* A checkpoint of tests/data as a caller has it. */
struct model {
	struct al_checkpoint checkpoint;
	struct al_text config;
	struct al_array items[MOST_TENSORS];
	int64_t strides[MOST_TENSORS][2];
	void *bytes[MOST_TENSORS];
};

static void read_model(struct model *m)
{
	*m = (struct model){0};
	assert_true(al_checkpoint_open(&m->checkpoint, MODEL, NULL));
	assert_true(m->checkpoint.n_tensors <= MOST_TENSORS);
	al_text_init(&m->config);
	assert_true(al_file_read(&m->config, MODEL "/config.json", MOST_BYTES, NULL));
	for (size_t i = 0; i < m->checkpoint.n_tensors; i++) {
		const struct al_tensor *t = &m->checkpoint.tensors[i];
		m->bytes[i] = al_alloc(t->bytes, 1);
		assert_true(
			al_tensor_read_bytes(&m->checkpoint, t, 0, m->bytes[i], t->bytes, NULL));
		m->items[i] = (struct al_array){.name = t->name,
			.dtype = t->dtype->stored,
			.n_dims = t->n_dims,
			.shape = t->shape,
			.data = m->bytes[i]};
	}
}

/* Lays matrices out column by column, every other number a gap: no answer changes. */
static void scatter(struct model *m)
{
	for (size_t i = 0; i < m->checkpoint.n_tensors; i++) {
		const struct al_tensor *t = &m->checkpoint.tensors[i];
		if (t->n_dims != 2)
			continue;
		const int64_t rows = t->shape[0], cols = t->shape[1];
		const size_t size = t->dtype->block_bytes;
		char *to = al_alloc(2 * t->bytes, 1);
		for (int64_t r = 0; r < rows; r++)
			for (int64_t c = 0; c < cols; c++)
				memcpy(to + (size_t)(2 * (r + c * rows)) * size,
					(char *)m->bytes[i] + (size_t)(r * cols + c) * size, size);
		free(m->bytes[i]);
		m->items[i].data = m->bytes[i] = to;
		m->strides[i][0] = 2;
		m->strides[i][1] = 2 * rows;
		m->items[i].strides = m->strides[i];
	}
}

static void free_model(struct model *m)
{
	for (size_t i = 0; i < m->checkpoint.n_tensors; i++)
		free(m->bytes[i]);
	al_text_finish(&m->config);
	al_checkpoint_close(&m->checkpoint);
}

static const char tokens[] = "1 2 3 4 5 6 7 8\n9 8 7 6 5 4 3 2 1\n";

/* The question's words, MODEL among them replaced by `name`. */
static struct al_answer *ask(const char *const *words, const struct model *m, const char *name)
{
	const struct al_arrays arrays = {name, m ? m->items : NULL, m ? m->checkpoint.n_tensors : 0,
		m ? m->config.data : NULL};
	const struct al_bytes file = {"ids.txt", tokens, strlen(tokens)};
	const struct al_ask_options options = {.checkpoints = &arrays,
		.n_checkpoints = m ? 1 : 0,
		.files = &file,
		.n_files = 1};
	const char *asked[MOST_WORDS];
	struct al_answer *answer;
	struct al_error err;
	size_t n = 0;

	for (; words[n]; n++)
		asked[n] = strcmp(words[n], "MODEL") == 0 ? name : words[n];
	if (!al_ask_with(n, asked, &options, &answer, &err))
		fail_msg("%s: %s", words[0], err.message);
	return answer;
}

/* The folder on disk of a model in memory, and its name. */
static void write_model(const struct model *m)
{
	struct al_tensor_writer *writer;
	char path[256];

	assert_true(al_safetensors_create(&writer, test_path(path, &folder, "model.safetensors"),
		m->checkpoint.tensors, m->checkpoint.n_tensors, NULL, 0, NULL));
	for (size_t i = 0; i < m->checkpoint.n_tensors; i++)
		assert_true(al_tensor_writer_append(writer, m->bytes[i],
			m->checkpoint.tensors[i].bytes, NULL));
	assert_true(al_tensor_writer_commit(writer, NULL));
	test_write(test_path(path, &folder, "config.json"), m->config.data, m->config.length);
}

static void compare(struct al_answer *a, struct al_answer *b)
{
	const char *names[2];
	const void *bytes[2];
	size_t lengths[2];

	assert_string_equal(al_answer_json(a), al_answer_json(b));
	assert_int_equal(al_answer_n_files(a), al_answer_n_files(b));
	for (size_t i = 0; i < al_answer_n_files(a); i++) {
		assert_true(al_answer_file(a, i, &names[0], &bytes[0], &lengths[0]));
		assert_true(al_answer_file(b, i, &names[1], &bytes[1], &lengths[1]));
		assert_string_equal(names[0], names[1]);
		assert_int_equal(lengths[0], lengths[1]);
		assert_memory_equal(bytes[0], bytes[1], lengths[0]);
	}
}

static const char *const questions[][MOST_WORDS] = {
	{"MODEL"},
	{"count", "MODEL"},
	{"inspect", "MODEL", "--values"},
	{"reconcile", "MODEL"},
	{"audit", "MODEL", "--report", "audit.html"},
	{"audit", "MODEL", "--shard", "1/1", "--fragment", "parts"},
	{"pca", "MODEL", "--tokens", "ids.txt"},
	{"evaluate", "MODEL", "--tokens", "ids.txt", "--ablate", "heads"},
	{"calibrate", "MODEL", "--tokens", "ids.txt", "-o", "measured"},
	{"compress", "MODEL", "--method", "ov", "--rank", "2", "-o", "smaller/"},
	{"compress", "MODEL", "--method", "ov", "--rank", "2", "-o", "smaller.safetensors"},
};

static void as_on_disk(void **state)
{
	struct model m;

	(void)state;
	read_model(&m);
	write_model(&m);
	for (int scattered = 0; scattered < 2; scattered++) {
		for (size_t i = 0; i < COUNT(questions); i++) {
			struct al_answer *on_disk = ask(questions[i], NULL, folder.path);
			struct al_answer *in_memory = ask(questions[i], &m, folder.path);
			compare(on_disk, in_memory);
			al_answer_free(on_disk);
			al_answer_free(in_memory);
		}
		scatter(&m);
	}
	free_model(&m);
}

/* What nothing on disk has the name of; other numbers have another answer. */
static void memory_is_read(void **state)
{
	static const char *const words[] = {"evaluate", "model", "--tokens", "ids.txt", NULL};
	struct model m;
	double before, after;

	(void)state;
	read_model(&m);
	struct al_answer *answer = ask(words, &m, "model");
	assert_true(al_answer_number(answer, 0, 0, 3, &before));
	al_answer_free(answer);
	for (size_t i = 0; i < m.checkpoint.n_tensors; i++)
		memset(m.bytes[i], 0, m.checkpoint.tensors[i].bytes);
	answer = ask(words, &m, "model");
	assert_true(al_answer_number(answer, 0, 0, 3, &after));
	al_answer_free(answer);
	assert_true(after > before + 1e-6 || after < before - 1e-6);
	free_model(&m);
}

/* A compressed checkpoint comes out as files, which go in again, and as tensors. */
static void tensors_come_out(void **state)
{
	static const char *const words[] = {"compress", "model", "--method", "ov", "--rank", "2",
		"-o", "smaller/", NULL};
	static const char *const check[] = {"verify", "model", "smaller"};
	struct model m;
	struct al_bytes files[3];
	const struct al_array *items;
	size_t n;
	struct al_error err;

	(void)state;
	read_model(&m);
	struct al_answer *smaller = ask(words, &m, "model"), *answer;
	assert_int_equal(al_answer_n_files(smaller), 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(al_answer_file(smaller, i, &files[i].name, &files[i].data,
			&files[i].length));
	assert_true(al_answer_arrays(smaller, 0, &items, &n, &err));
	assert_int_equal(n, m.checkpoint.n_tensors);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(items[i].dtype, "F32");
		assert_true((const char *)items[i].data > (const char *)files[0].data);
	}
	assert_false(al_answer_arrays(smaller, 1, &items, &n, &err));
	assert_false(al_answer_arrays(smaller, 3, &items, &n, &err));
	assert_string_equal(err.message, "there is no file 3");
	const struct al_arrays model = {"model", m.items, m.checkpoint.n_tensors, m.config.data};
	const struct al_ask_options options = {.checkpoints = &model,
		.n_checkpoints = 1,
		.files = files,
		.n_files = 3};
	if (!al_ask_with(3, check, &options, &answer, &err))
		fail_msg("%s", err.message);
	assert_non_null(strstr(al_answer_json(answer), "smaller"));
	al_answer_free(answer);
	al_answer_free(smaller);
	free_model(&m);
}

/* ---- progress ---- */

struct caller {
	size_t n_calls, most_calls;
	size_t left; /* of all steps, behind the one that was shown last */
};

static bool count(void *context, const char *step, size_t done, size_t n)
{
	struct caller *caller = context;

	assert_true(*step != '\0' && (n == 0 || done < n));
	caller->left = n == 0 ? 0 : n - done - 1;
	return ++caller->n_calls < caller->most_calls;
}

static const char *const long_questions[][MOST_WORDS] = {
	{"audit", "model", "--modules", "layers.0-1", "--across", "--only", "heads,tucker"},
	{"audit", "model", "--shard", "1/1", "--fragment", "parts"},
	{"calibrate", "model", "--tokens", "ids.txt", "-o", "measured"},
	{"evaluate", "model", "--tokens", "ids.txt"},
	{"evaluate", "model", "--tokens", "ids.txt", "--ablate", "heads"},
	{"compress", "model", "--method", "ov", "--rank", "2", "-o", "smaller/"},
	{"compress", "model", "--method", "ov", "--budget", "0.1", "-o", "smaller/"},
	{"pca", "model", "--tokens", "ids.txt"},
	{"pca", "tests/data/heads.npy", "--heads", "3", "--keep", "2", "--train", "gha:steps=9"},
	{"sweep", "mha", "--set", "n_heads=2", "--over", "d_model=64:512:64", "--measure",
		"parameters"},
	{"run", "mhe-poster"},
};

static bool ask_watched(const char *const *words, struct model *m, struct caller *caller)
{
	const struct al_arrays arrays = {"model", m->items, m->checkpoint.n_tensors,
		m->config.data};
	const struct al_bytes file = {"ids.txt", tokens, strlen(tokens)};
	const struct al_ask_options options = {.checkpoints = &arrays,
		.n_checkpoints = 1,
		.files = &file,
		.n_files = 1,
		.progress = count,
		.context = caller};
	struct al_answer *answer;
	struct al_error err = {0};
	size_t n = 0;

	while (n < MOST_WORDS && words[n])
		n++;
	const bool ok = al_ask_with(n, words, &options, &answer, &err);
	if (!ok && err.status != AL_ECANCELLED)
		fail_msg("%s: %s", words[0], err.message);
	assert_true(ok == (answer != NULL));
	al_answer_free(answer);
	return ok;
}

/* At every step; what was asked is answered afterwards as if nothing had been. */
static void work_is_cancelled(void **state)
{
	struct model m;

	(void)state;
	read_model(&m);
	for (size_t i = 0; i < COUNT(long_questions); i++) {
		struct caller all = {.most_calls = SIZE_MAX};
		assert_true(ask_watched(long_questions[i], &m, &all));
		assert_true(all.n_calls > 0);
		assert_true(all.left <= 1); /* a layer's two heads are one step */
		for (size_t at = 1; at <= all.n_calls; at += 1 + all.n_calls / 8) {
			struct caller caller = {.most_calls = at};
			assert_false(ask_watched(long_questions[i], &m, &caller));
			assert_int_equal(caller.n_calls, at);
		}
	}
	free_model(&m);
}

/* ---- what is refused ---- */

static const float numbers[6];
static const int64_t two_three[] = {2, 3}, negative[] = {2, -3}, huge[] = {1LL << 40, 1LL << 40};
static const int64_t wide[] = {1LL << 62, 3}, too_far[] = {1LL << 62, 1}, backwards[] = {-3, 1};

#define GOOD .name = "w", .dtype = "F32", .n_dims = 2, .shape = two_three, .data = numbers

static const struct {
	struct al_array array;
	const char *expected;
} bad_arrays[] = {
	{{.dtype = "F32", .n_dims = 2, .shape = two_three, .data = numbers},
		"expected a name in UTF-8"},
	{{.name = "", .dtype = "F32", .n_dims = 2, .shape = two_three, .data = numbers},
		"expected a name in UTF-8"},
	{{.name = "__metadata__", .dtype = "F32", .n_dims = 2, .shape = two_three, .data = numbers},
		"expected a name in UTF-8"},
	{{.name = "w", .n_dims = 2, .shape = two_three, .data = numbers},
		"model: tensor 0 (\"w\"): unknown dtype \"NULL\", expected a name of safetensors, "
		"as F32 or BF16"},
	{{.name = "w", .dtype = "float32", .n_dims = 2, .shape = two_three, .data = numbers},
		"unknown dtype \"float32\""},
	{{.name = "w", .dtype = "F32", .n_dims = 2, .data = numbers}, "has no shape"},
	{{.name = "w", .dtype = "F32", .n_dims = 65, .shape = two_three, .data = numbers},
		"has 65 dimensions, expected at most 64"},
	{{.name = "w", .dtype = "F32", .n_dims = 2, .shape = negative, .data = numbers},
		"its dimension 1 has -3 elements, 1 apart, expected no negative number"},
	{{.name = "w", .dtype = "F32", .n_dims = 2, .shape = huge, .data = numbers},
		"memory can't hold so many elements"},
	{{.name = "w", .dtype = "F32", .n_dims = 2, .shape = wide, .data = numbers},
		"memory can't hold so many elements"},
	{{.name = "w", .dtype = "F32", .n_dims = 2, .shape = two_three}, "its data are NULL"},
	{{GOOD, .strides = backwards},
		"its dimension 0 has 2 elements, -3 apart, expected no negative number"},
	{{GOOD, .strides = too_far}, "its strides reach beyond what memory can hold"},
	{{.name = "w",
		 .dtype = "F4",
		 .n_dims = 2,
		 .shape = two_three,
		 .data = numbers,
		 .strides = two_three},
		"F4 is stored in blocks: it takes no strides"},
	{{.name = "caf\xE9", .dtype = "F32", .n_dims = 2, .shape = two_three, .data = numbers},
		"expected a name in UTF-8"},
};

static void refuse(const struct al_ask_options *options, const char *expected)
{
	static const char *const words[] = {"inspect", "model"};
	struct al_answer *answer;
	struct al_error err = {0};

	if (al_ask_with(2, words, options, &answer, &err))
		fail_msg("\"%s\" was answered", expected);
	assert_null(answer);
	assert_int_equal(err.status, AL_EINPUT);
	if (!strstr(err.message, expected))
		fail_msg("\"%s\" lacks \"%s\"", err.message, expected);
}

static void refuses(void **state)
{
	static const struct al_array good = {GOOD}, twice[] = {{GOOD}, {GOOD}};
	static const struct al_arrays sets[] = {{"model", &good, 1, NULL},
		{"model", &good, 1, NULL}, {NULL, &good, 1, NULL}, {"model", NULL, 0, NULL},
		{"model", twice, 2, NULL}, {"model", &good, 1, "{"}};
	static const struct al_bytes files[] = {{"a", "b", 1}, {"a", "b", 1}, {NULL, "b", 1},
		{"c", NULL, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT(bad_arrays); i++) {
		const struct al_arrays set = {"model", &bad_arrays[i].array, 1, NULL};
		refuse(&(struct al_ask_options){.checkpoints = &set, .n_checkpoints = 1},
			bad_arrays[i].expected);
	}
	refuse(&(struct al_ask_options){.checkpoints = sets, .n_checkpoints = 2},
		"model: is given twice");
	refuse(&(struct al_ask_options){.checkpoints = sets + 2, .n_checkpoints = 1},
		"what is in memory has no name");
	refuse(&(struct al_ask_options){.checkpoints = sets + 3, .n_checkpoints = 1},
		"model: expected tensors");
	refuse(&(struct al_ask_options){.checkpoints = sets + 4, .n_checkpoints = 1}, "twice");
	refuse(&(struct al_ask_options){.files = files, .n_files = 2}, "a: is given twice");
	refuse(&(struct al_ask_options){.files = files + 2, .n_files = 1}, "no name");
	refuse(&(struct al_ask_options){.files = files + 3, .n_files = 1}, "c: its bytes are NULL");
	refuse(&(struct al_ask_options){.files = files, .n_files = 1}, "model: can't open");
}

/* What is written twice, or over what was given; a folder in memory hides the one on disk. */
static void names_are_kept_apart(void **state)
{
	static const char *const twice[] = {"sweep", "gpt2", "--over", "n_heads=1:2", "--variant",
		"mha", "--figure", "x.svg", "-o", "x.svg", "-f", "csv"};
	static const char *const hidden[] = {"count", MODEL};
	static const struct al_array good = {GOOD};
	static const struct al_arrays set = {MODEL, &good, 1, NULL};
	static const struct al_bytes file = {"x.html", "b", 1};
	static const char *const given[] = {"count", "gpt2", "--report", "x.html"};
	struct al_answer *answer;
	struct al_error err;

	(void)state;
	assert_false(al_ask(COUNT(twice), twice, &answer, &err));
	assert_string_equal(err.message, "x.svg would be written twice: use two names");
	assert_false(al_ask_with(4, given, &(struct al_ask_options){.files = &file, .n_files = 1},
		&answer, &err));
	assert_non_null(strstr(err.message, "is a file of the input"));
	assert_false(al_ask_with(2, hidden,
		&(struct al_ask_options){.checkpoints = &set, .n_checkpoints = 1}, &answer, &err));
	assert_non_null(strstr(err.message, "config.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_on_disk),
		cmocka_unit_test(memory_is_read),
		cmocka_unit_test(tensors_come_out),
		cmocka_unit_test(work_is_cancelled),
		cmocka_unit_test(refuses),
		cmocka_unit_test(names_are_kept_apart),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
