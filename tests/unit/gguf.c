/* GGUF: block formats against a decoder that takes one number at a time, made-up files and what is
 * refused, and files of other writers. */
#include "unit.h"

#include <math.h>

#include "base/json.h"
#include "formats/checkpoint.h"
#include "formats/gguf_write.h"
#include "support/folder.h"
#include "model/heads/views.h"

/* ---- block formats ---- */

/* Byte i is 7 i^2 + 37 i + 11, but for the halves: 0.0123 and -0.25 in binary16. The sum of the
 * block's numbers, and that of each times its place from 1 on: by a program in Python that decodes
 * number by number from the formats' definitions. */
static const struct block_case {
	const char *name;
	int halves[2]; /* -1: none */
	double sum, weighted;
} block_cases[] = {
	{"q4_0", {0, -1}, -0.012298583984375, 0.651824951171875},
	{"q4_1", {0, 2}, -4.863861083984375, -80.17376708984375},
	{"q5_0", {0, -1}, 0.479644775390625, 8.203155517578125},
	{"q5_1", {0, 2}, -1.223480224609375, -22.1490478515625},
	{"q8_0", {0, -1}, -0.3935546875, -80.28515625},
	{"q2_k", {80, 82}, 518.04885864257812, 73246.49365234375},
	{"q3_k", {108, -1}, 22.826171875, 382.043212890625},
	{"q4_k", {0, 2}, 3481.0263671875, 442525.73974609375},
	{"q5_k", {0, 2}, 4352.3564453125, 555052.86376953125},
	{"q6_k", {208, -1}, -229.737548828125, -31719.3271484375},
	{"iq2_xxs", {0, -1}, -19.21038818359375, -1206.8600463867188},
	{"iq4_nl", {0, -1}, 1.020782470703125, 31.484375},
	{"iq4_xs", {0, -1}, 215.60647583007812, 40535.690063476562},
	{"mxfp4", {-1, -1}, 1.2037062152420224e-34, 1.9620411308444965e-33},
};

static void decodes(const struct block_case *c)
{
	static const unsigned char halves[2][2] = {{0x4c, 0x22}, {0x00, 0xb4}};
	const struct al_dtype *dtype = al_dtype_named(c->name);
	unsigned char bytes[256];
	double doubles[256], sum = 0, weighted = 0;
	float floats[256];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * i * 7 + i * 37 + 11);
	for (int i = 0; i < 2; i++)
		if (c->halves[i] >= 0)
			memcpy(bytes + c->halves[i], halves[i], 2);
	assert_non_null(dtype->to_double);
	dtype->to_double(bytes, dtype->block_elements, doubles);
	dtype->to_float(bytes, dtype->block_elements, floats);
	for (size_t i = 0; i < dtype->block_elements; i++) {
		assert_true((double)floats[i] == doubles[i]);
		sum += doubles[i];
		weighted += doubles[i] * (double)(i + 1);
	}
	if (fabs(sum - c->sum) > 1e-12 * fabs(c->weighted)
		|| fabs(weighted - c->weighted) > 1e-12 * fabs(c->weighted))
		fail_msg("%s: %.17g and %.17g, expected %.17g and %.17g", c->name, sum, weighted,
			c->sum, c->weighted);
}

static void decodes_blocks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(block_cases) / sizeof(*block_cases); i++)
		decodes(&block_cases[i]);
}

/* ---- a made-up file ---- */

struct bytes {
	unsigned char data[4096];
	size_t n;
};

static void put(struct bytes *b, const void *data, size_t n)
{
	assert_true(b->n + n <= sizeof(b->data));
	memcpy(b->data + b->n, data, n);
	b->n += n;
}

static void put_u32(struct bytes *b, uint32_t number)
{
	put(b, &number, 4);
}

static void put_u64(struct bytes *b, uint64_t number)
{
	put(b, &number, 8);
}

static void put_text(struct bytes *b, const char *text)
{
	put_u64(b, strlen(text));
	put(b, text, strlen(text));
}

static void put_number(struct bytes *b, const char *key, uint32_t number)
{
	put_text(b, key);
	put_u32(b, 4);
	put_u32(b, number);
}

/* A tensor whose rows are `columns` long. */
static void put_info(struct bytes *b, const char *name, uint64_t rows, uint64_t columns,
	uint32_t type, uint64_t offset)
{
	put_text(b, name);
	put_u32(b, 2);
	put_u64(b, columns);
	put_u64(b, rows);
	put_u32(b, type);
	put_u64(b, offset);
}

static void put_zeros(struct bytes *b, size_t n)
{
	assert_true(b->n + n <= sizeof(b->data));
	memset(b->data + b->n, 0, n);
	b->n += n;
}

/* 3 x 64 numbers of Q8_0 in `a`: the block of row r and half h has scale 1 and numbers
 * 20 (2 r + h) + i; after it `b`, 2 x 3 of F32: 0 to 5. */
static void put_file(struct bytes *b)
{
	static const float numbers[6] = {0, 1, 2, 3, 4, 5};

	put(b, "GGUF", 4);
	put_u32(b, 3);
	put_u64(b, 2);
	put_u64(b, 4);
	put_text(b, "general.architecture");
	put_u32(b, 8);
	put_text(b, "tiny");
	put_number(b, "general.alignment", 64);
	put_number(b, "tiny.attention.head_count", 7);
	put_text(b, "tiny.list");
	put_u32(b, 9);
	put_u32(b, 1);
	put_u64(b, 3);
	put(b, "\x01\xff\x02", 3);
	put_info(b, "a", 3, 64, 8, 0);
	put_info(b, "b", 2, 3, 0, 256);
	put_zeros(b, (64 - b->n % 64) % 64);
	for (unsigned block = 0; block < 6; block++) {
		put(b, "\x00\x3c", 2);
		for (unsigned i = 0; i < 32; i++)
			put(b, &(unsigned char){(unsigned char)(20 * block + i)}, 1);
	}
	put_zeros(b, 256 - 6 * 34);
	put(b, numbers, sizeof(numbers));
}

static void put_real(struct bytes *b, const char *key, float number)
{
	put_text(b, key);
	put_u32(b, 6);
	put(b, &number, sizeof(number));
}

static void put_word(struct bytes *b, const char *key, const char *word)
{
	put_text(b, key);
	put_u32(b, 8);
	put_text(b, word);
}

static bool open_bytes(struct al_checkpoint *checkpoint, const struct test_folder *folder,
	const struct bytes *b, struct al_error *err)
{
	char path[256];

	test_write(test_path(path, folder, "tiny.gguf"), b->data, b->n);
	return al_checkpoint_open(checkpoint, path, err);
}

/* Blocks are read where a selection begins and ends within them. */
static void check_columns(const struct al_checkpoint *checkpoint, int64_t first, int64_t n)
{
	const struct al_tensor *a = al_checkpoint_find(checkpoint, "a");
	const struct al_selection s = al_select_block(a, 0, 3, first, n);
	double doubles[3 * 64];
	float floats[3 * 64];
	struct al_error err;

	assert_true(al_tensor_read_double(checkpoint, a, &s, doubles, (size_t)n, &err));
	assert_true(al_tensor_read_float(checkpoint, a, &s, floats, (size_t)n, &err));
	for (int64_t row = 0; row < 3; row++)
		for (int64_t j = 0; j < n; j++) {
			const int64_t column = first + j;
			const int8_t expected = (int8_t)(20 * (2 * row + column / 32)
				+ column % 32);
			assert_true(doubles[row * n + j] == expected);
			assert_true(floats[row * n + j] == (float)expected);
		}
}

static void a_file(void **state)
{
	struct bytes b = {.n = 0};
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err;
	double numbers[6];

	(void)state;
	put_file(&b);
	test_folder_make(&folder);
	if (!open_bytes(&checkpoint, &folder, &b, &err))
		fail_msg("%s", err.message);
	assert_int_equal(checkpoint.n_tensors, 2);
	assert_string_equal(checkpoint.header_config,
		"{\"model_type\": \"gguf_tiny\", \"attention_head_count\": 7, \"list\": [1, -1, "
		"2], "
		"\"tie_word_embeddings\": true, \"attention_bias\": false, \"rope_freqs\": false, "
		"\"ffn_norm\": false, \"attn_q_norm\": false, \"quantization_config\": "
		"{\"quant_method\": \"gguf\", \"formats\": {"
		"\"q8_0\": {\"type\": \"q8_0\", \"targets\": [\"a\"]}, "
		"\"f32\": {\"type\": \"f32\", \"targets\": [\"b\"]}}}}");
	const struct al_tensor *numbered = al_checkpoint_find(&checkpoint, "b");
	const struct al_selection all = al_select_all(numbered);
	assert_int_equal(numbered->shape[0], 2);
	assert_int_equal(numbered->shape[1], 3);
	assert_true(al_tensor_read_double(&checkpoint, numbered, &all, numbers, 6, &err));
	assert_true(numbers[5] == 5);
	check_columns(&checkpoint, 0, 64);
	check_columns(&checkpoint, 0, 32);
	check_columns(&checkpoint, 5, 50);
	check_columns(&checkpoint, 40, 1);
	check_columns(&checkpoint, 31, 33);
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
}

/* All of it but the zeros behind the last tensor, which ends between two multiples of 64. */
static void a_copy_is_the_file(void **state)
{
	struct bytes b = {0};
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_tensor_writer *writer;
	struct al_error err;
	unsigned char read[4096];
	char path[256];

	(void)state;
	test_folder_make(&folder);
	put_file(&b);
	assert_true(open_bytes(&checkpoint, &folder, &b, &err));
	assert_true(al_gguf_create(&writer, test_path(path, &folder, "copy.gguf"),
		&checkpoint.shards[0], NULL, 0, checkpoint.tensors, 2, &err));
	for (size_t i = 0; i < 2; i++) {
		const size_t n = (size_t)checkpoint.tensors[i].bytes;
		assert_true(al_tensor_read_bytes(&checkpoint, &checkpoint.tensors[i], 0, read, n,
			&err));
		assert_true(al_tensor_writer_append(writer, read, n, &err));
		assert_true(al_tensor_writer_align(writer, &err));
	}
	assert_true(al_tensor_writer_commit(writer, &err));
	al_checkpoint_close(&checkpoint);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	put_zeros(&b, (64 - b.n % 64) % 64);
	assert_int_equal(fread(read, 1, sizeof(read), file), b.n);
	assert_memory_equal(read, b.data, b.n);
	fclose(file);
	test_folder_remove(&folder);
}

/* Numbers that a GGUF file has no type for, and more of them than it can describe. */
static void refuses_to_write(void **state)
{
	static const struct {
		const char *dtype;
		int64_t n[2];
		const char *message; /* NULL: none */
	} cases[] = {
		{"C64", {1, 0}, "tensor \"w\" has dtype C64, which a GGUF file can't hold"},
		{"U8", {1, 0}, "tensor \"w\" has dtype U8, which a GGUF file can't hold"},
		{"I8", {INT64_MAX, 0}, NULL},
		{"F16", {INT64_MAX - 15, 0}, NULL},
		{"F16", {INT64_MAX - 14, 0}, "the tensors have 2^64 bytes or more"},
		{"F16", {INT64_MAX - 15, 16}, "the tensors have 2^64 bytes or more"},
		{"F16", {INT64_MAX - 31, 16}, NULL},
	};
	struct test_folder folder;
	struct al_tensor_writer *writer;
	struct al_error err;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	test_path(path, &folder, "w.gguf");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_tensor two[2];
		for (size_t k = 0; k < 2; k++)
			two[k] = (struct al_tensor){.name = "w",
				.dtype = al_dtype_stored(cases[i].dtype),
				.shape = &cases[i].n[k],
				.n_dims = 1};
		const bool ok = al_gguf_create(&writer, path, NULL, NULL, 0, two, 2, &err);
		al_tensor_writer_abandon(writer);
		if (ok != !cases[i].message)
			fail_msg("case %zu: %s", i, ok ? "taken" : err.message);
		if (!ok)
			assert_string_equal(err.message, cases[i].message);
	}
	test_folder_remove(&folder);
}

/* Cut anywhere, it is refused; the data's end alone may be padding that nobody wrote. */
static void cut_files(void **state)
{
	struct bytes b = {.n = 0};
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err;

	(void)state;
	put_file(&b);
	test_folder_make(&folder);
	for (size_t n = b.n; n-- > 0;) {
		b.n = n;
		if (open_bytes(&checkpoint, &folder, &b, &err))
			fail_msg("%zu bytes are taken", n);
		assert_int_equal(err.status, AL_EINPUT);
	}
	test_folder_remove(&folder);
}

#define RAW(text) text, sizeof(text) - 1
#define U32(text) text "\0\0\0"
#define U64(text) text "\0\0\0\0\0\0\0"
#define KEY(type) U64("\1") "k" U32(type) /* 13 bytes from byte 68 on */
#define TENSOR(n_dims) U64("\1") "w" U32(n_dims) /* likewise */
/* from byte 101, where what describes a tensor of one dimension ends */
#define UP_TO_128 "                           "
#define ALIGNMENT U64("\21") "general.alignment"

/* What follows a file's header and its architecture; NULL: it is taken. */
static const struct {
	const char *bytes;
	size_t n;
	const char *message;
} pairs[] = {
	{RAW(U64("\2") "k\0" U32("\7") "\1"), "byte 78: a string containing a NUL"},
	{RAW(KEY("\10") U64("\3") "a\0b"), "byte 92: a string containing a NUL"},
	{RAW(KEY("\10") U64("\3") "abc"), NULL},
	{RAW(KEY("\10") U64("\4") "abc"), "byte 89: a text of 4 bytes"},
	{RAW(KEY("\10") U64("\1") "\xff"), NULL},
	{RAW(U64("\0") U32("\7") "\1"), "byte 76: an empty key"},
	{RAW(U64("\1") "\xff" U32("\7") "\1"), "byte 77: a key that isn't UTF-8"},
	{RAW(U64("\24") "general.architecture" U32("\7") "\1"),
		"key \"general.architecture\" appears twice"},
	{RAW(KEY("\14") U64("\0")), NULL},
	{RAW(KEY("\15") U64("\0")), "byte 81: an unknown type of values"},
	{RAW(KEY("\14") "\0\0\0\0\0\0\0"), "ends at byte 88, within a value"},
	{RAW(KEY("\11") U32("\11") U64("\0")), "byte 93: a list of lists"},
	{RAW(KEY("\11") U32("\0") U64("\4") "abcd"), NULL},
	{RAW(KEY("\11") U32("\0") U64("\5") "abcd"), "byte 93: a list longer than the file"},
	{RAW(KEY("\11") U32("\2") U64("\2") "abcd"), NULL},
	{RAW(KEY("\11") U32("\2") U64("\3") "abcde"), "byte 93: a list longer than the file"},
	{RAW(KEY("\11") U32("\10") U64("\2") U64("\1") "a" U64("\0")), NULL},
	{RAW(KEY("\11") U32("\10") U64("\2") U64("\1") "a" U64("\1")),
		"ends at byte 110, within a list of texts"},
	{RAW(KEY("\11") U32("\10") U64("\2") U64("\1") "abcdefgh"),
		"ends at byte 109, within a list of texts"},
	{RAW(KEY("\11") U32("\10") U64("\2") U64("\1")), "byte 93: a list longer than the file"},
	{RAW(KEY("\11") U32("\0") "\0\0\0\0"), "ends at byte 89, within a list"},
	{RAW(ALIGNMENT U32("\4") U32("\0")),
		"general.alignment is 0, expected a power of two of type uint32"},
	{RAW(ALIGNMENT U32("\4") U32("\1")), NULL},
	{RAW(ALIGNMENT U32("\4") U32("\3")),
		"general.alignment is 3, expected a power of two of type uint32"},
	{RAW(ALIGNMENT U32("\5") U32("\40")),
		"general.alignment is 32, expected a power of two of type uint32"},
};

/* Likewise, of a file with one tensor. */
static const struct {
	const char *bytes;
	size_t n;
	const char *message;
} infos[] = {
	{RAW(TENSOR("\4") U64("\1") U64("\0") U64("\0") U64("\0") U32("\0") U64("\0") "   "), NULL},
	{RAW(TENSOR("\5") U64("\1") U64("\1") U64("\1") U64("\1") U64("\1") U32("\0") U64("\0")),
		"tensor \"w\": 5 dimensions, expected at most 4"},
	{RAW(TENSOR("\1") "\0\0\0\0\0\0\0\x80" U32("\0") U64("\0")),
		"tensor \"w\": a dimension of 9223372036854775808"},
	{RAW(TENSOR("\1") "\0\0\0\0\0\0\0\x10" U32("\34") U64("\0") UP_TO_128),
		"tensor \"w\": its bytes are 2^63 or more"},
	{RAW(TENSOR("\1") "\0\0\0\0\0\0\0\x40" U32("\34") U64("\0") UP_TO_128),
		"tensor \"w\": its bytes are 2^63 or more"},
	{RAW(TENSOR("\1") "\377\377\377\377\377\377\377\x0f" U32("\34") U64("\0") UP_TO_128),
		"tensor \"w\": ends at byte 9223372036854775800 of the data, which has 0"},
	{RAW(TENSOR("\2") "\0\0\0\0\0\0\0\x40" U64("\2") U32("\30") U64("\0") UP_TO_128),
		"tensor \"w\": its bytes are 2^63 or more"},
	{RAW(TENSOR("\1") U64("\40") U32("\4") U64("\0")),
		"tensor \"w\": type 4, which ggml doesn't define"},
	{RAW(TENSOR("\1") U64("\40") U32("\53") U64("\0")),
		"tensor \"w\": type 43, which ggml doesn't define"},
	{RAW(TENSOR("\1") U64("\40") U32("\377") U64("\0")),
		"tensor \"w\": type 255, which ggml doesn't define"},
	{RAW(TENSOR("\1") U64("\37") U32("\10") U64("\0")),
		"tensor \"w\": rows of 31 numbers are no whole blocks of 32 (q8_0)"},
	{RAW(TENSOR("\0") U32("\10") U64("\0")),
		"tensor \"w\": rows of 1 numbers are no whole blocks of 32 (q8_0)"},
	{RAW(TENSOR("\2") U64("\40") U64("\0") U32("\10") U64("\0") UP_TO_128), NULL},
	{RAW(TENSOR("\1") U64("\0") U32("\0") U64("\40") UP_TO_128),
		"tensor \"w\": begins at byte 32 of the data, expected 0"},
	{RAW(TENSOR("\1") U64("\0") U32("\0") U64("\0")), "ends at byte 101, before its data"},
	{RAW(TENSOR("\0") U32("\0") "       "),
		"tiny.gguf: ends at byte 92, within a tensor's place"},
	{RAW(U64("\10") "abcdefgh" U32("\2") U64("\1") "    "),
		"ends at byte 100, within a tensor's dimensions"},
	{RAW(U64("\15") "abcdefghijklm"
			"   "),
		"tiny.gguf: ends at byte 92, within a tensor's dimensions"},
	{RAW(TENSOR("\1") U64("\1") "   "), "tiny.gguf: ends at byte 92, within a tensor's type"},
	{RAW(U64("\21") "abcdefghijklmnop"), "byte 76: a tensor's name of 17 bytes"},
	{RAW("                       "), "1 tensors, more than the file can list"},
};

static const struct {
	unsigned char version[5];
	const char *message;
} versions[] = {
	{"\0", "GGUF version 0, expected 2 or 3"},
	{"\1", "GGUF version 1, expected 2 or 3"},
	{"\2", NULL},
	{"\3", NULL},
	{"\4", "GGUF version 4, expected 2 or 3"},
	{"\0\0\0\3", "a big-endian GGUF file; only little-endian is supported"},
	{"\0\0\1", "a big-endian GGUF file; only little-endian is supported"},
	{"\0\1", "GGUF version 256, expected 2 or 3"},
};

static void expect(const struct test_folder *folder, const struct bytes *b, const char *message)
{
	struct al_checkpoint checkpoint;
	struct al_error err = {0};
	const bool is_taken = open_bytes(&checkpoint, folder, b, &err);

	if (is_taken)
		al_checkpoint_close(&checkpoint);
	if (is_taken != !message || (message && !al_ends_with(err.message, message)))
		fail_msg("found:    %s\nexpected: %s", is_taken ? "taken" : err.message,
			message ? message : "taken");
}

/* The header of a file of the architecture "tiny" and n_more pairs that follow. */
static struct bytes *begin_file(uint64_t n_tensors, unsigned n_more)
{
	static struct bytes b;

	b.n = 0;
	put(&b, "GGUF", 4);
	put_u32(&b, 3);
	put_u64(&b, n_tensors);
	put_u64(&b, 1 + n_more);
	put_word(&b, "general.architecture", "tiny");
	return &b;
}

static void refuses(void **state)
{
	struct test_folder folder;
	struct bytes *b;

	(void)state;
	test_folder_make(&folder);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		b = begin_file(0, 1);
		put(b, pairs[i].bytes, pairs[i].n);
		expect(&folder, b, pairs[i].message);
	}
	for (size_t i = 0; i < sizeof(infos) / sizeof(*infos); i++) {
		b = begin_file(1, 0);
		put(b, infos[i].bytes, infos[i].n);
		expect(&folder, b, infos[i].message);
	}
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		b = begin_file(0, 0);
		memcpy(b->data + 4, versions[i].version, 4);
		expect(&folder, b, versions[i].message);
	}
	/* 44 bytes for keys of 13 bytes at least, for three and for four */
	expect(&folder, begin_file(0, 2), "ends at byte 68, within a key");
	expect(&folder, begin_file(0, 3), "4 keys, more than fit into the file");
	test_folder_remove(&folder);
}

/* ---- files of other writers ---- */

static const struct al_item *member_of(const struct al_item *object, const char *key)
{
	al_json_each (member, object)
		if (strcmp(member->key, key) == 0)
			return member;
	fail_msg("no %s", key);
	return NULL;
}

/* By gguf-py, in single precision. */
static void check_tensor(const struct al_checkpoint *checkpoint, const struct al_item *expected)
{
	const struct al_tensor *tensor = al_checkpoint_find(checkpoint, expected->key);
	const struct al_selection all = al_select_all(tensor);
	double *numbers = calloc((size_t)tensor->n_elements, sizeof(*numbers));
	double sum = 0, squares = 0;
	struct al_error err;
	int i = 0;

	assert_true(al_tensor_read_double(checkpoint, tensor, &all, numbers,
		(size_t)tensor->n_elements, &err));
	for (int64_t j = 0; j < tensor->n_elements; j++) {
		sum += numbers[j];
		squares += numbers[j] * numbers[j];
	}
	al_json_each (first, member_of(expected, "first8_row0"))
		assert_true(numbers[i++] == first->number);
	assert_true(fabs(sum - member_of(expected, "sum")->number) < 1e-9 * squares);
	assert_true(fabs(squares / member_of(expected, "sum_of_squares")->number - 1) < 1e-9);
	free(numbers);
}

static void as_other_readers(void **state)
{
	char path[4096];
	struct al_json json;
	struct al_error err;

	(void)state;
	snprintf(path, sizeof(path), "%s/gguf/EXPECTED.json", fixtures());
	assert_true(al_json_read(&json, path, &err));
	al_json_each (file, json.root) {
		struct al_checkpoint checkpoint;
		snprintf(path, sizeof(path), "%s/gguf/%s", fixtures(), file->key);
		if (!al_checkpoint_open(&checkpoint, path, &err))
			fail_msg("%s", err.message);
		al_json_each (tensor, file)
			check_tensor(&checkpoint, tensor);
		al_checkpoint_close(&checkpoint);
	}
	al_json_finish(&json);
}

/* Where the two reference readers disagree, or one is lax, a file is refused. */
static void verdicts(void **state)
{
	char path[4096], line[1024];
	int n = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/gguf-bad/VERDICTS.tsv", fixtures());
	FILE *table = fopen(path, "r");
	assert_non_null(table);
	assert_non_null(fgets(line, sizeof(line), table));
	while (fgets(line, sizeof(line), table)) {
		struct al_checkpoint checkpoint;
		struct al_error err;
		char *rest = strchr(line, '\t');
		*rest = '\0';
		const bool is_taken_by_both = strncmp(rest + 1, "OK", 2) == 0
			&& strstr(rest + 3, "\tOK");
		snprintf(path, sizeof(path), "%s/gguf-bad/%s.gguf", fixtures(), line);
		const bool is_taken = al_checkpoint_open(&checkpoint, path, &err);
		if (is_taken != is_taken_by_both)
			fail_msg("%s: %s", line, is_taken ? "is taken" : err.message);
		if (is_taken)
			al_checkpoint_close(&checkpoint);
		n++;
	}
	fclose(table);
	assert_between(n, 30, 1000);
}

static void check_scaling(struct bytes *b, const char *expected)
{
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err;

	test_folder_make(&folder);
	if (!open_bytes(&checkpoint, &folder, b, &err))
		fail_msg("%s", err.message);
	const char *found = strstr(checkpoint.header_config, "\"rope_scaling\": ");
	if (!expected)
		assert_null(found);
	else if (!found || strncmp(found, expected, strlen(expected)) != 0)
		fail_msg("%s, expected %s", checkpoint.header_config, expected);
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
}

/* llama.cpp's keys of rotary positions in long sequences, as a config.json says them. */
static void rotary_rules(void **state)
{
	(void)state;
	struct bytes *b = begin_file(0, 2);
	put_word(b, "tiny.rope.scaling.type", "none");
	put_real(b, "tiny.rope.scaling.factor", 4);
	check_scaling(b, NULL);
	b = begin_file(0, 1);
	put_word(b, "tiny.rope.scaling.type", "linear");
	check_scaling(b, NULL);
	b = begin_file(0, 1);
	put_real(b, "tiny.rope.scale_linear", 4);
	check_scaling(b, "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 4}");
	b = begin_file(0, 5);
	put_word(b, "tiny.rope.scaling.type", "yarn");
	put_real(b, "tiny.rope.scaling.factor", 1);
	put_real(b, "tiny.rope.scaling.attn_factor", 2);
	put_number(b, "tiny.rope.scaling.original_context_length", 64);
	put_number(b, "tiny.context_length", 256);
	check_scaling(b,
		"\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 1, "
		"\"original_max_position_embeddings\": 64, \"attention_factor\": 2}");
	b = begin_file(0, 5);
	put_word(b, "tiny.rope.scaling.type", "yarn");
	put_real(b, "tiny.rope.scaling.factor", 1);
	put_real(b, "tiny.rope.scaling.yarn_beta_fast", 32);
	put_real(b, "tiny.rope.scaling.yarn_beta_slow", 2);
	put_number(b, "tiny.context_length", 256);
	check_scaling(b,
		"\"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 1, "
		"\"original_max_position_embeddings\": 256, \"beta_fast\": 32, \"beta_slow\": 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_blocks),
		cmocka_unit_test(a_file),
		cmocka_unit_test(a_copy_is_the_file),
		cmocka_unit_test(cut_files),
		cmocka_unit_test(rotary_rules),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_to_write),
		UNIT_TEST_OF_FIXTURES(as_other_readers),
		UNIT_TEST_OF_FIXTURES(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
