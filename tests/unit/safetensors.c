/* safetensors: what is accepted, what is refused and why, and what is written. */
#include "unit.h"

#include <dirent.h>
#include <unistd.h>

#include "base/text.h"
#include "formats/checkpoint.h"
#include "formats/safetensors.h"
#include "support/folder.h"
#include "support/weights.h"

struct place {
	struct test_folder folder;
	char file[256];
};

static int make_place(void **state)
{
	static struct place place;

	test_folder_make(&place.folder);
	test_path(place.file, &place.folder, "model.safetensors");
	*state = &place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	test_folder_remove(&place->folder);
	return 0;
}

static void open_or_fail(struct al_checkpoint *checkpoint, const char *path)
{
	struct al_error err;

	if (!al_checkpoint_open(checkpoint, path, &err))
		fail_msg("%s", err.message);
}

/* What is wrong, without the place in front of it. */
static void expect_refusal(const char *path, enum al_status status, const char *message)
{
	struct al_checkpoint checkpoint;
	struct al_error err;

	if (al_checkpoint_open(&checkpoint, path, &err))
		fail_msg("opened, expected: %s", message);
	assert_int_equal(err.status, status);
	size_t length = strlen(err.message), expected = strlen(message);
	if (length < expected || strcmp(err.message + length - expected, message) != 0)
		fail_msg("found:    %s\nexpected: ...%s", err.message, message);
}

/* ---- headers ---- */

static const struct {
	const char *header;
	size_t data_bytes;
} accepted[] = {
	{"{}", 0},
	{"{}      ", 0},
	{"  {\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1},
	{"{\"__metadata__\":null,\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
		1},
	{"{\"__metadata__\":{},\"a\":{\"data_offsets\":[0,16],\"shape\":[2,2],\"dtype\":\"F32\"}}",
		16},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[0,0]}}", 0},
	{"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]},"
	 "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
	 "\"c\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}}",
		3},
	{"{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2],\"more\":[\"x\"]}}", 2},
	{"{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,3]}}", 3},
	{"{\"a\":{\"dtype\":\"C64\",\"shape\":[2],\"data_offsets\":[0,16]}}", 16},
	{"{\"\\ud83d\\ude00\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2},
};

static void accepts_what_is_right(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(accepted) / sizeof(*accepted); i++) {
		struct al_checkpoint checkpoint;
		write_header(place->file, accepted[i].header, accepted[i].data_bytes);
		open_or_fail(&checkpoint, place->file);
		al_checkpoint_close(&checkpoint);
	}
}

#define TENSOR(dtype, shape, offsets) \
	"{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static const struct {
	const char *header;
	size_t data_bytes;
	const char *message;
} refused[] = {
	{"", 0, "the text is empty, expected JSON"},
	{"[]", 0, "1:1: found an array, expected an object"},
	{"{", 0, "1:2: expected a string in double quotes"},
	{"{}", 4, "has 14 bytes, expected 10, the end of its last tensor"},
	{TENSOR("\"F32\"", "[2,2]", "[0,16]"), 12,
		"tensor \"a\": ends at byte 16 of the data, which has 12"},
	{TENSOR("\"F32\"", "[2,2]", "[0,12]"), 12,
		"tensor \"a\": takes 12 bytes, expected 16 for 4 elements of F32"},
	{TENSOR("\"F32\"", "[1]", "[4,0]"), 4, "tensor \"a\" begins at byte 4, after its end 0"},
	{TENSOR("\"F32\"", "[1]", "[-4,0]"), 4,
		"1:49: found -4, expected a whole number of at least 0, digits only"},
	{TENSOR("\"F32\"", "[1]", "[0,4,8]"), 8, "\"data_offsets\" has 3 members, expected 2"},
	{TENSOR("\"F32\"", "[1]", "[0]"), 4, "\"data_offsets\" has 1 members, expected 2"},
	{TENSOR("\"F32\"", "[1]", "[0,9007199254740993]"), 4,
		"tensor \"a\": ends at byte 9007199254740993 of the data, which has 4"},
	{TENSOR("\"F32\"", "[1e0]", "[0,4]"), 4,
		"1:30: found 1e0, expected a whole number of at least 0, digits only"},
	{TENSOR("\"F32\"", "[1]", "[-0,4]"), 4,
		"1:49: found -0, expected a whole number of at least 0, digits only"},
	{TENSOR("\"F32\"", "[12345678901234567890123456789012345678901]", "[0,4]"), 4,
		"1:30: found 1234567890123456789012345678901234567890, expected less than 2^63"},
	{TENSOR("\"F32\"", "[3037000500,3037000500]", "[0,4]"), 4,
		"tensor \"a\": the product of its dimensions is 2^63 or more"},
	{TENSOR("\"F32\"", "[3037000500,0,3037000500]", "[0,0]"), 0,
		"tensor \"a\": the product of its dimensions is 2^63 or more"},
	{TENSOR("\"F64\"", "[2305843009213693952,1]", "[0,4]"), 4,
		"2305843009213693952 elements of F64 don't make a whole number of bytes below "
		"2^64"},
	{TENSOR("\"F64\"", "[9223372036854775808]", "[0,4]"), 4,
		"1:30: found 9223372036854775808, expected less than 2^63"},
	{TENSOR("\"F64\"", "[2305843009,2305843009]", "[0,4]"), 4,
		"tensor \"a\": 5316911982154174081 elements of F64 don't make a whole number of "
		"bytes below 2^64"},
	{TENSOR("\"F4\"", "[3]", "[0,2]"), 2,
		"tensor \"a\": 3 elements of F4 don't make a whole number of bytes below 2^64"},
	{TENSOR("\"f32\"", "[1]", "[0,4]"), 4, "1:15: unknown dtype \"f32\""},
	{TENSOR("7", "[1]", "[0,4]"), 4, "\"dtype\" is a number, expected a string"},
	{TENSOR("\"F32\"", "null", "[0,4]"), 4, "\"shape\" is null, expected an array"},
	{"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "tensor \"a\" has no \"dtype\""},
	{"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,4]}}", 4, "tensor \"a\" has no \"shape\""},
	{"{\"a\":{\"dtype\":\"U8\",\"shape\":[4]}}", 4, "tensor \"a\" has no \"data_offsets\""},
	{"{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
		"1:10: a string must not contain a NUL"},
	{"{\"a\":\"b\"}", 0, "\"a\" is a string, expected an object"},
	{"{\"__metadata__\":[]}", 0, "\"__metadata__\" is an array, expected an object"},
	{"{\"__metadata__\":{\"k\":\"\",\"l\":\"\",\"k\":\"\"}}", 0,
		"1:36: key \"k\" appears twice"},
	{"{\"__metadata__\":null,\"__metadata__\":{}}", 0, "key \"__metadata__\" appears twice"},
	{"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "key \"__metadata__\" appears twice"},
	{"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
		"key \"dtype\" appears twice"},
	{"{\"__metadata__\":{\"k\":1}}", 0, "\"k\" is a number, expected a string"},
	{"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
	 "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
		1, "1:58: key \"a\" appears twice"},
	{"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
	 "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
		2, "1:63: key \"a\" appears twice"},
	{"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
	 "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[1,3]}}",
		3,
		"tensor \"b\": begins at byte 1 of the data, expected 2, the end of the previous "
		"tensor"},
	{"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
	 "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]}}",
		5,
		"tensor \"b\": begins at byte 3 of the data, expected 2, the end of the previous "
		"tensor"},
};

static void refuses_what_is_wrong(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		write_header(place->file, refused[i].header, refused[i].data_bytes);
		expect_refusal(place->file, AL_EINPUT, refused[i].message);
	}
}

static const struct {
	const char *bytes;
	size_t length;
	const char *message;
} no_safetensors[] = {
	{"", 0, "is empty, expected a checkpoint"},
	{"\x02\0\0\0\0\0\0", 7,
		"has 7 bytes, expected at least 8 (the length of a safetensors header)"},
	{"\x03\0\0\0\0\0\0\0{}", 10, "a header of 3 bytes, but only 2 follow"},
	{"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10,
		"a header of 18446744073709551615 bytes, expected at most 100000000: is it "
		"safetensors?"},
	{"GGUF\3\0\0\0\0\0\0\0", 12, "ends at byte 12, within the header"},
	{"version https://git-lfs.github.com/spec/v1\n", 43,
		"is a Git LFS pointer: the file itself has not been fetched"},
};

static void says_what_a_file_is(void **state)
{
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(no_safetensors) / sizeof(*no_safetensors); i++) {
		test_write(place->file, no_safetensors[i].bytes, no_safetensors[i].length);
		expect_refusal(place->file, AL_EINPUT, no_safetensors[i].message);
	}
}

/* Versions of libzip differ in what is wrong with it. */
static void says_that_a_zip_is_none(void **state)
{
	struct place *place = *state;
	struct al_checkpoint checkpoint;
	struct al_error err;

	test_write(place->file, "PK\3\4\0\0\0\0\0", 9);
	assert_false(al_checkpoint_open(&checkpoint, place->file, &err));
	assert_int_equal(err.status, AL_EINPUT);
	assert_non_null(strstr(err.message, "can't be read as a zip archive: "));
}

static void messages_escape_names(void **state)
{
	struct place *place = *state;

	write_header(place->file,
		"{\"\\u001b[31m\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1);
	expect_refusal(place->file, AL_EINPUT,
		"tensor \"\\x1b[31m\": takes 1 bytes, expected 2 for 2 elements of U8");
}

/* ---- the table of tensors ---- */

static void finds_tensors_and_metadata(void **state)
{
	static const struct weight weights[] = {
		{.name = "layers.0.wq", .dtype = "F32", .shape = {4, 3}, .n_dims = 2},
		{.name = "layers.0.bias", .dtype = "BF16", .shape = {3}, .n_dims = 1},
		{.name = "scalar \"\xC3\xA9\"\\", .dtype = "F16", .n_dims = 0},
	};
	struct place *place = *state;
	struct al_checkpoint checkpoint;

	write_weights(place->file, weights, 3);
	open_or_fail(&checkpoint, place->file);
	assert_int_equal(checkpoint.n_tensors, 3);
	assert_int_equal(checkpoint.n_shards, 1);
	assert_int_equal(checkpoint.n_metadata, 1);
	assert_string_equal(checkpoint.metadata[0].key, "format");
	assert_string_equal(checkpoint.metadata[0].value, "pt");
	assert_int_equal(checkpoint.shards[0].header_bytes % 8, 0);
	assert_int_equal(checkpoint.bytes, checkpoint.shards[0].header_bytes + 48 + 6 + 2);
	for (size_t i = 0; i < 3; i++)
		assert_ptr_equal(al_checkpoint_find(&checkpoint, weights[i].name),
			&checkpoint.tensors[i]);
	assert_null(al_checkpoint_find(&checkpoint, "layers.0"));

	const struct al_tensor *wq = al_checkpoint_find(&checkpoint, "layers.0.wq");
	assert_int_equal(wq->n_dims, 2);
	assert_int_equal(wq->shape[0], 4);
	assert_int_equal(wq->n_elements, 12);
	assert_string_equal(al_shape_text(&checkpoint.arena, wq->shape, wq->n_dims), "4 x 3");
	assert_int_equal(al_checkpoint_find(&checkpoint, weights[2].name)->n_elements, 1);
	al_checkpoint_close(&checkpoint);
}

/* The same header gives the same hash, another one another. */
static void hashes_the_header(void **state)
{
	struct place *place = *state;
	uint64_t hashes[3];

	for (int64_t i = 0; i < 3; i++) {
		struct weight weight = {.name = "w",
			.dtype = "F32",
			.shape = {1 + i / 2},
			.n_dims = 1};
		struct al_checkpoint checkpoint;
		write_weights(place->file, &weight, 1);
		open_or_fail(&checkpoint, place->file);
		hashes[i] = checkpoint.header_hash;
		al_checkpoint_close(&checkpoint);
	}
	assert_true(hashes[0] == hashes[1]);
	assert_true(hashes[0] != hashes[2]);
}

/* ---- numbers ---- */

enum { ROWS = 700, COLUMNS = 600 };

static double element(int64_t row, int64_t column)
{
	return (double)((row * 31 + column * 7) % 251 - 125) / 4;
}

static void write_matrix(const char *path, const char *dtype)
{
	static double values[ROWS * COLUMNS];
	const struct weight weights[] = {
		/* an odd number of bytes in front: nothing is aligned */
		{.name = "before", .dtype = "BF16", .shape = {3}, .n_dims = 1},
		{.name = "m",
			.dtype = dtype,
			.shape = {ROWS, COLUMNS},
			.n_dims = 2,
			.values = values},
	};

	for (int64_t i = 0; i < ROWS * COLUMNS; i++)
		values[i] = element(i / COLUMNS, i % COLUMNS);
	write_weights(path, weights, 2);
}

static const struct block {
	int64_t first_row, n_rows, first_column, n_columns;
	size_t leading;
} blocks[] = {
	{0, ROWS, 0, COLUMNS, COLUMNS},
	{0, ROWS, 0, COLUMNS, COLUMNS + 5},
	{3, 5, 7, 11, 11},
	{1, 650, 64, 64, 70},
	{ROWS - 1, 1, COLUMNS - 1, 1, 1},
	{2, 0, 0, COLUMNS, COLUMNS},
	{0, ROWS, 5, 0, 0},
};

static void check_block(const struct al_checkpoint *checkpoint, const struct block *b)
{
	static double doubles[ROWS * (COLUMNS + 5)];
	static float floats[ROWS * (COLUMNS + 5)];
	const struct al_tensor *tensor = al_checkpoint_find(checkpoint, "m");
	struct al_selection block = al_select_block(tensor, b->first_row, b->n_rows,
		b->first_column, b->n_columns);
	struct al_error err;

	for (size_t i = 0; i < sizeof(doubles) / sizeof(*doubles); i++)
		doubles[i] = floats[i] = 999;
	if (!al_tensor_read_double(checkpoint, tensor, &block, doubles, b->leading, &err)
		|| !al_tensor_read_float(checkpoint, tensor, &block, floats, b->leading, &err))
		fail_msg("%s", err.message);
	for (int64_t i = 0; i < b->n_rows; i++)
		for (int64_t j = 0; j < (int64_t)b->leading; j++) {
			size_t at = (size_t)i * b->leading + (size_t)j;
			double expected = j < b->n_columns
				? element(b->first_row + i, b->first_column + j)
				: 999;
			if (doubles[at] != expected || floats[at] != (float)expected)
				fail_msg("row %d, column %d: found %g, expected %g", (int)i, (int)j,
					doubles[at], expected);
		}
}

static void reads_any_block(void **state)
{
	static const char *const dtypes[] = {"F64", "F32", "F16", "BF16"};
	struct place *place = *state;

	for (size_t d = 0; d < sizeof(dtypes) / sizeof(*dtypes); d++) {
		struct al_checkpoint checkpoint;
		write_matrix(place->file, dtypes[d]);
		open_or_fail(&checkpoint, place->file);
		for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
			check_block(&checkpoint, &blocks[i]);
		al_checkpoint_close(&checkpoint);
	}
}

static void expect_no_read(const struct al_checkpoint *checkpoint, const char *name,
	struct al_selection selection, enum al_status status, const char *message)
{
	const struct al_tensor *tensor = al_checkpoint_find(checkpoint, name);
	struct al_error err;
	float out[16];

	assert_false(al_tensor_read_float(checkpoint, tensor, &selection, out, 1, &err));
	assert_int_equal(err.status, status);
	if (!strstr(err.message, message))
		fail_msg("found:    %s\nexpected: %s", err.message, message);
}

static void refuses_what_it_can_not_read(void **state)
{
	struct place *place = *state;
	struct al_checkpoint checkpoint;

	write_header(place->file,
		"{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,2]},"
		"\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}",
		6);
	open_or_fail(&checkpoint, place->file);
	expect_no_read(&checkpoint, "a", (struct al_selection){.run = 1, .n_runs = 1}, AL_EINPUT,
		"tensor \"a\": numbers of type F4 can't be read");
	expect_no_read(&checkpoint, "b", (struct al_selection){.first = 2, .run = 3, .n_runs = 1},
		AL_EINPUT, "tensor \"b\": 1 runs of 3 elements from element 2 exceed its 4");
	expect_no_read(&checkpoint, "b",
		(struct al_selection){.run = 1, .n_runs = 3, .stride = INT64_MAX}, AL_EINPUT,
		"exceed its");
	expect_no_read(&checkpoint, "b", (struct al_selection){.first = -1, .run = 1, .n_runs = 1},
		AL_EINPUT, "exceed its");

	assert_int_equal(truncate(place->file, (off_t)checkpoint.bytes - 2), 0);
	expect_no_read(&checkpoint, "b", (struct al_selection){.run = 4, .n_runs = 1, .stride = 4},
		AL_ESYSTEM, "it shrank while being read");
	al_checkpoint_close(&checkpoint);
}

static void copies_bytes(void **state)
{
	struct place *place = *state;
	struct al_checkpoint checkpoint;
	struct al_error err;
	unsigned char bytes[3];

	write_header(place->file, "{\"a\":{\"dtype\":\"F4\",\"shape\":[8],\"data_offsets\":[0,4]}}",
		4);
	open_or_fail(&checkpoint, place->file);
	assert_true(al_tensor_read_bytes(&checkpoint, checkpoint.tensors, 1, bytes, 3, NULL));
	assert_memory_equal(bytes, "\1\2\3", 3);
	assert_false(al_tensor_read_bytes(&checkpoint, checkpoint.tensors, 2, bytes, 3, &err));
	assert_string_equal(err.message, "tensor \"a\": 3 bytes from byte 2 exceed its 4");
	assert_false(al_tensor_read_bytes(&checkpoint, checkpoint.tensors, 5, bytes, 0, &err));
	assert_string_equal(err.message, "tensor \"a\": 0 bytes from byte 5 exceed its 4");
	assert_true(al_tensor_read_bytes(&checkpoint, checkpoint.tensors, 4, bytes, 0, &err));
	al_checkpoint_close(&checkpoint);
}

/* ---- writing ---- */

static void writes_all_or_nothing(void **state)
{
	static const int64_t shape[] = {2};
	struct al_tensor tensor = {.name = "a",
		.dtype = al_dtype_stored("U8"),
		.shape = shape,
		.n_dims = 1};
	struct place *place = *state;
	struct al_tensor_writer *writer;
	struct al_error err;

	assert_true(al_safetensors_create(&writer, place->file, &tensor, 1, NULL, 0, &err));
	assert_true(al_tensor_writer_append(writer, "x", 1, &err));
	assert_false(al_tensor_writer_append(writer, "yz", 2, &err));
	assert_string_equal(err.message, "2 bytes of tensors, expected 1 more");
	assert_false(al_tensor_writer_commit(writer, &err));
	assert_string_equal(err.message, "1 bytes of tensors are missing");
	assert_int_equal(access(place->file, F_OK), -1);

	assert_true(al_safetensors_create(&writer, place->file, &tensor, 1, NULL, 0, &err));
	al_tensor_writer_abandon(writer);
	al_tensor_writer_abandon(NULL);
	assert_int_equal(access(place->file, F_OK), -1);

	tensor.dtype = al_dtype_stored("F4");
	tensor.shape = (const int64_t[]){3};
	assert_false(al_safetensors_create(&writer, place->file, &tensor, 1, NULL, 0, &err));
	assert_null(writer);
}

/* The last size that a file's header can describe, and the first that it can't: of one tensor, of
 * all together. */
static void refuses_to_write_too_much(void **state)
{
	static const struct {
		int64_t rows;
		const char *dtype;
		int64_t columns; /* of a matrix; the other is a vector of bytes */
		int64_t bytes;
		const char *message; /* NULL: none */
	} cases[] = {
		{INT64_MAX, "F16", 1, 1, NULL},
		{INT64_MAX, "F16", 1, 2, "the tensors have 2^64 bytes or more"},
		{INT64_MAX, "F32", 1, 0,
			"tensor \"a\": 9223372036854775807 elements of F32 don't make a whole "
			"number of "
			"bytes below 2^64"},
		{INT64_MAX / 2 + 1, "U8", 2, 0,
			"tensor \"a\": the product of its dimensions is too large"},
		{INT64_MAX / 2, "U8", 2, 0, NULL},
		{3, "F4", 1, 0,
			"tensor \"a\": 3 elements of F4 don't make a whole number of bytes below "
			"2^64"},
	};
	static const char *const shards[] = {"s"};
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const int64_t shape[] = {cases[i].rows, cases[i].columns};
		const struct al_tensor two[] = {{.name = "a",
							.dtype = al_dtype_stored(cases[i].dtype),
							.shape = shape,
							.n_dims = 2},
			{.name = "b",
				.dtype = al_dtype_stored("U8"),
				.shape = &cases[i].bytes,
				.n_dims = 1}};
		struct al_tensor_writer *writer;
		struct al_error err, index_err;
		const bool ok = al_safetensors_create(&writer, place->file, two, 2, NULL, 0, &err);
		al_tensor_writer_abandon(writer);
		assert_int_equal(ok, !cases[i].message);
		assert_int_equal(al_index_write(place->file, two, 2, shards, &index_err), ok);
		if (!ok) {
			assert_string_equal(err.message, cases[i].message);
			assert_string_equal(index_err.message, cases[i].message);
		}
	}
}

/* Its header and one of its two bytes. */
static uint64_t begin_two_bytes(const char *path, const struct al_tensor *tensor)
{
	struct al_tensor_writer *writer;
	struct al_error err;
	uint64_t kept;

	assert_true(al_safetensors_create_kept(&writer, path, 0, tensor, 1, NULL, 0, &err));
	assert_true(al_tensor_writer_append(writer, "x", 1, &err));
	assert_true(al_tensor_writer_keep(writer, &kept, &err));
	al_tensor_writer_abandon(writer);
	return kept;
}

static void expect_not_kept(const char *path, uint64_t kept, const struct al_tensor *tensor,
	uint64_t least, uint64_t most)
{
	struct al_tensor_writer *writer;
	struct al_error err;
	char expected[128];

	snprintf(expected, sizeof(expected), ": %llu bytes of it are kept, expected %llu to %llu",
		(unsigned long long)kept, (unsigned long long)least, (unsigned long long)most);
	assert_false(al_safetensors_create_kept(&writer, path, kept, tensor, 1, NULL, 0, &err));
	assert_true(al_ends_with(err.message, expected));
	assert_null(writer);
}

/* A file that was begun: at least its header, at most all of it. */
static void goes_on_with_what_is_kept(void **state)
{
	static const int64_t none = 0, two = 2;
	const struct al_tensor
		tensor = {.name = "a", .dtype = al_dtype_stored("U8"), .shape = &two, .n_dims = 1},
		empty = {.name = "a", .dtype = tensor.dtype, .shape = &none, .n_dims = 1};
	struct place *place = *state;
	struct al_checkpoint checkpoint;
	struct al_error err;
	char bytes[2];

	for (size_t n_kept = 0; n_kept <= 1; n_kept++) {
		const uint64_t kept = begin_two_bytes(place->file, &tensor);
		struct al_tensor_writer *writer;
		assert_true(al_safetensors_create_kept(&writer, place->file, kept - 1 + n_kept,
			&tensor, 1, NULL, 0, &err));
		assert_true(al_tensor_writer_append(writer, "yz", 2 - n_kept, &err));
		assert_true(al_tensor_writer_commit(writer, &err));
		open_or_fail(&checkpoint, place->file);
		assert_true(
			al_tensor_read_bytes(&checkpoint, checkpoint.tensors, 0, bytes, 2, &err));
		assert_memory_equal(bytes, n_kept ? "xy" : "yz", 2);
		al_checkpoint_close(&checkpoint);
	}
	const uint64_t kept = begin_two_bytes(place->file, &tensor);
	expect_not_kept(place->file, kept, &empty, kept - 1, kept - 1);
	expect_not_kept(place->file, kept - 2, &tensor, kept - 1, kept + 1);
}

/* ---- files by the reference ---- */

/* n_tensors -1: the reference refuses it. */
static bool expect_verdict(const char *name, int n_tensors)
{
	struct al_checkpoint checkpoint;
	struct al_error err;
	char path[512];

	snprintf(path, sizeof(path), "%s/safetensors-bad/%s", fixtures(), name);
	int found = -1;
	if (al_checkpoint_open(&checkpoint, path, &err)) {
		found = (int)checkpoint.n_tensors;
		al_checkpoint_close(&checkpoint);
	}
	if (found != n_tensors)
		print_error("%s: %d tensors, expected %d (-1: refused): %s\n", name, found,
			n_tensors, found < 0 ? err.message : "");
	return found == n_tensors;
}

static int count_files(const char *folder)
{
	DIR *stream = opendir(folder);
	int n = 0;

	assert_non_null(stream);
	for (struct dirent *entry; (entry = readdir(stream));)
		n += strstr(entry->d_name, ".safetensors") != NULL;
	closedir(stream);
	return n;
}

/* NAME, ERR or OK, and why, or how many tensors: a line each, and one for every file. */

static void agrees_with_the_reference(void **state)
{
	char line[4096], name[256], verdict[8], path[512];
	int n = 0, n_wrong = 0, n_tensors = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/safetensors-bad", fixtures());
	const int n_files = count_files(path);
	snprintf(path, sizeof(path), "%s/safetensors-bad/VERDICTS.tsv", fixtures());
	FILE *verdicts = fopen(path, "r");
	assert_non_null(verdicts);
	while (fgets(line, sizeof(line), verdicts))
		if (sscanf(line, "%255s %7s %d", name, verdict, &n_tensors) >= 2 && ++n)
			n_wrong += !expect_verdict(name,
				strcmp(verdict, "OK") == 0 ? n_tensors : -1);
	fclose(verdicts);
	assert_int_equal(n, n_files);
	assert_int_equal(n_wrong, 0);
}

static float upper_half(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, 4);
	bits &= 0xFFFF0000;
	memcpy(&value, &bits, 4);
	return value;
}

static void reads_what_the_reference_wrote(void **state)
{
	const char *folder = fixtures();
	struct al_checkpoint all, f32, bf16;
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s/safetensors/all-dtypes.ref.safetensors", folder);
	open_or_fail(&all, path);
	const struct al_tensor *i16 = al_checkpoint_find(&all, "t.I16");
	struct al_selection every = al_select_all(i16);
	double values[6];
	assert_true(al_tensor_read_double(&all, i16, &every, values, 6, NULL));
	for (int i = 0; i < 6; i++) /* the writer put bytes 0, 1, 2, ... */
		assert_true(values[i] == 2 * i + 256 * (2 * i + 1));
	assert_non_null(al_checkpoint_find(&all, "t.utf8-\xC3\xA9\xE4\xB8\xAD\"\\"));
	al_checkpoint_close(&all);

	snprintf(path, sizeof(path), "%s/safetensors/stories260K.ref.safetensors", folder);
	open_or_fail(&f32, path);
	snprintf(path, sizeof(path), "%s/safetensors/stories260K.bf16.ref.safetensors", folder);
	open_or_fail(&bf16, path);
	assert_int_equal(f32.n_tensors, bf16.n_tensors);
	for (size_t i = 0; i < f32.n_tensors; i++) {
		static float exact[1 << 16], cut[1 << 16];
		const struct al_tensor *a = &f32.tensors[i],
				       *b = al_checkpoint_find(&bf16, a->name);
		every = al_select_all(a);
		assert_true(a->n_elements <= 1 << 16);
		assert_true(al_tensor_read_float(&f32, a, &every, exact, 1, NULL));
		assert_true(al_tensor_read_float(&bf16, b, &every, cut, 1, NULL));
		for (int64_t k = 0; k < a->n_elements;
			k++) /* the writer cut the lower halves off */
			assert_true(cut[k] == upper_half(exact[k]));
	}
	al_checkpoint_close(&f32);
	al_checkpoint_close(&bf16);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(accepts_what_is_right),
		CASE(refuses_what_is_wrong),
		CASE(says_what_a_file_is),
		CASE(says_that_a_zip_is_none),
		CASE(messages_escape_names),
		CASE(finds_tensors_and_metadata),
		CASE(hashes_the_header),
		CASE(reads_any_block),
		CASE(refuses_what_it_can_not_read),
		CASE(copies_bytes),
		CASE(writes_all_or_nothing),
		CASE(refuses_to_write_too_much),
		CASE(goes_on_with_what_is_kept),
		UNIT_TEST_OF_FIXTURES(agrees_with_the_reference),
		UNIT_TEST_OF_FIXTURES(reads_what_the_reference_wrote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
