/* .npz files: arrays in any order, packed or not, are the numbers that they stand for. */
#include "unit.h"

#include <zip.h>

#include "formats/checkpoint.h"
#include "same_numbers.h"
#include "support/folder.h"

/* An array of 2 x 3 x 4 whose element (i, j, k) is 100 i + 10 j + k, as it may be stored. */
enum { N_I = 2, N_J = 3, N_K = 4, N = N_I * N_J * N_K, MOST_BYTES = 1024 };

struct stored {
	const char *name;
	bool is_fortran, is_swapped, is_packed;
};

static size_t make_array(unsigned char *bytes, const struct stored *s)
{
	const size_t header = 128;
	unsigned char *numbers = bytes + header;

	memset(bytes, ' ', header);
	memcpy(bytes, "\x93NUMPY\1\0\166\0", 10);
	const int length = snprintf((char *)bytes + 10, header - 10,
		"{'descr': '%cf4', 'fortran_order': %s, 'shape': (2, 3, 4), }",
		s->is_swapped ? '>' : '<', s->is_fortran ? "True" : "False");
	bytes[10 + length] = ' ';
	for (size_t e = 0; e < N; e++) {
		const size_t i = e / (N_J * N_K), j = e / N_K % N_J, k = e % N_K;
		const size_t at = s->is_fortran ? i + N_I * (j + N_J * k) : e;
		const float value = (float)(100 * i + 10 * j + k);
		unsigned char number[4];
		memcpy(number, &value, 4);
		for (size_t b = 0; b < 4; b++)
			numbers[4 * at + b] = number[s->is_swapped ? 3 - b : b];
	}
	return header + sizeof(float) * N;
}

static void add_member(zip_t *zip, const char *name, const void *bytes, size_t n, bool is_packed)
{
	zip_source_t *source = zip_source_buffer(zip, bytes, n, 0);
	const zip_int64_t index = zip_file_add(zip, name, source, 0);

	assert_true(index >= 0);
	assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index,
				 is_packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0),
		0);
}

static const struct stored kinds[] = {
	{"in/order.npy", false, false, false},
	{"in/order packed.npy", false, false, true},
	{"fortran.npy", true, false, false},
	{"fortran packed.npy", true, false, true},
	{"swapped.npy", false, true, false},
	{"all of it.npy", true, true, true},
};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

static void write_all(const char *path)
{
	static unsigned char bytes[N_KINDS][MOST_BYTES];
	zip_t *zip = zip_open(path, ZIP_CREATE, NULL);

	assert_non_null(zip);
	add_member(zip, "a note.txt", "no array", 8, false);
	for (size_t i = 0; i < N_KINDS; i++)
		add_member(zip, kinds[i].name, bytes[i], make_array(bytes[i], &kinds[i]),
			kinds[i].is_packed);
	assert_int_equal(zip_close(zip), 0);
}

static void check_numbers(const struct al_checkpoint *checkpoint, const char *member)
{
	char name[64];
	double numbers[N];
	float some[5];
	struct al_error err;

	snprintf(name, sizeof(name), "%.*s", (int)strlen(member) - 4, member);
	const struct al_tensor *tensor = al_checkpoint_find(checkpoint, name);
	assert_non_null(tensor);
	assert_true(tensor->n_dims == 3 && tensor->shape[0] == N_I && tensor->shape[2] == N_K);
	const struct al_selection all = al_select_all(tensor),
				  few = {.first = 7, .run = 5, .n_runs = 1};
	if (!al_tensor_read_double(checkpoint, tensor, &all, numbers, N, &err))
		fail_msg("%s", err.message);
	for (size_t e = 0; e < N; e++)
		assert_true(numbers[e]
			== (double)(100 * (e / (N_J * N_K)) + 10 * (e / N_K % N_J) + e % N_K));
	assert_true(al_tensor_read_float(checkpoint, tensor, &few, some, 5, &err));
	assert_true((double)some[0] == numbers[7] && (double)some[4] == numbers[11]);
}

static void reads_every_order(void **state)
{
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	write_all(test_path(path, &folder, "x.npz"));
	if (!al_checkpoint_open(&checkpoint, path, &err))
		fail_msg("%s", err.message);
	assert_string_equal(checkpoint.shards[0].format, "npz");
	assert_int_equal(checkpoint.n_tensors, N_KINDS);
	for (size_t i = 0; i < N_KINDS; i++)
		check_numbers(&checkpoint, kinds[i].name);
	assert_true(al_checkpoint_check_unchanged(&checkpoint, &err));
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
}

/* ---- what is refused ---- */

static size_t read_file(const char *path, unsigned char *bytes, size_t room)
{
	FILE *file = fopen(path, "rb");

	assert_non_null(file);
	const size_t n = fread(bytes, 1, room, file);
	fclose(file);
	return n;
}

/* The first place behind `from` where these four bytes stand. */
static unsigned char *find_mark(unsigned char *bytes, size_t n, size_t from, const char *mark)
{
	for (size_t i = from; i + 4 <= n; i++)
		if (memcmp(bytes + i, mark, 4) == 0)
			return bytes + i;
	fail_msg("the archive lacks a mark");
	return NULL;
}

static void refuses_what_is_wrong(void **state)
{
	static unsigned char bytes[1 << 14];
	struct test_folder folder;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	write_all(test_path(path, &folder, "x.npz"));
	const size_t n = read_file(path, bytes, sizeof(bytes));
	test_write(path, bytes, n - 30);
	expect_refusal(path, "zip archive");
	/* a member that says it is packed by another method: byte 10 of its entry */
	unsigned char *entry = find_mark(bytes, n, 0, "PK\1\2");
	entry[10] = 12;
	test_write(path, bytes, n);
	expect_refusal(path, "\"a note.txt\" uses compression method 12");
	entry[10] = 0;
	/* one that says it unpacks to 4 GB: byte 24 */
	unsigned char *second = find_mark(bytes, n, (size_t)(entry - bytes) + 4, "PK\1\2"),
		      *third = find_mark(bytes, n, (size_t)(second - bytes) + 4, "PK\1\2");
	memcpy(third + 24, "\xff\xff\xff\x7f", 4);
	test_write(path, bytes, n);
	expect_refusal(path, "more than deflate can encode");
	/* two that take more than half of the file each: bytes 20 and 24 */
	for (unsigned char *half = entry; half; half = half == entry ? second : NULL)
		for (size_t at = 20; at <= 24; at += 4)
			memcpy(half + at, &(uint32_t){(uint32_t)(n / 2 + 1)}, 4);
	test_write(path, bytes, n);
	expect_refusal(path, "members overlap");
	test_folder_remove(&folder);
}

/* One byte of a stored member's entry: its flags (8), its size packed (20) and unpacked (24). */
static void refuses_false_entries(void **state)
{
	static const struct {
		size_t at;
		unsigned char change;
		const char *part;
	} changes[] = {
		{8, 1, "x.npz: member \"a note.txt\" is encrypted"},
		{20, 1, "member \"a note.txt\" isn't compressed, but its two sizes differ"},
		{24, 1, "member \"a note.txt\" isn't compressed, but its two sizes differ"},
	};
	static unsigned char bytes[1 << 14];
	struct test_folder folder;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	write_all(test_path(path, &folder, "x.npz"));
	const size_t n = read_file(path, bytes, sizeof(bytes));
	unsigned char *entry = find_mark(bytes, n, 0, "PK\1\2");
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		entry[changes[i].at] ^= changes[i].change;
		test_write(path, bytes, n);
		expect_refusal(path, changes[i].part);
		entry[changes[i].at] ^= changes[i].change;
	}
	test_folder_remove(&folder);
}

/* The mark of an archive's end, in a member: seven times besides the end itself, then eight. */
static void refuses_many_ends(void **state)
{
	static const char ends[] = "PK\5\6PK\5\6PK\5\6PK\5\6PK\5\6PK\5\6PK\5\6PK\5\6";
	static unsigned char array[MOST_BYTES];
	const size_t n = make_array(array, &kinds[0]);
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	test_path(path, &folder, "x.npz");
	for (size_t n_ends = 7; n_ends <= 8; n_ends++) {
		zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
		add_member(zip, "ends", ends, 4 * n_ends, false);
		add_member(zip, "a.npy", array, n, false);
		assert_int_equal(zip_close(zip), 0);
		if (n_ends == 8) {
			expect_refusal(path, "x.npz: corrupt zip archive: 9 end records");
			continue;
		}
		if (!al_checkpoint_open(&checkpoint, path, &err))
			fail_msg("%s", err.message);
		al_checkpoint_close(&checkpoint);
	}
	test_folder_remove(&folder);
}

/* Numbers that were changed in the file: the archive's checksum tells. */
static void notices_a_changed_byte(void **state)
{
	static unsigned char bytes[1 << 14];
	struct test_folder folder;
	struct al_checkpoint checkpoint;
	struct al_error err;
	double numbers[N];
	char path[256];

	(void)state;
	test_folder_make(&folder);
	write_all(test_path(path, &folder, "x.npz"));
	const size_t n = read_file(path, bytes, sizeof(bytes));
	unsigned char *entry = find_mark(bytes, n, 0, "PK\1\2");
	for (int i = 0; i < 2; i++)
		entry = find_mark(bytes, n, (size_t)(entry - bytes) + 4, "PK\1\2");
	entry[16] ^= 1; /* the checksum */
	test_write(path, bytes, n);
	assert_true(al_checkpoint_open(&checkpoint, path, &err));
	const struct al_tensor *tensor = al_checkpoint_find(&checkpoint, "in/order packed");
	const struct al_selection all = al_select_all(tensor);
	assert_false(al_tensor_read_double(&checkpoint, tensor, &all, numbers, N, &err));
	assert_int_equal(err.status, AL_EINPUT);
	assert_non_null(strstr(err.message, "CRC"));
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
}

/* ---- files of numpy ---- */

static void numpy_writes(void **state)
{
	static const struct {
		const char *name;
		double tolerance;
	} files[] = {{"npz/stories260K.npz", 0}, {"npz/stories260K.compressed.npz", 0},
		{"npz/stories260K.fortran.npz", 0}, {"npz/stories260K.f16.npz", 0x1p-10}};
	struct al_checkpoint original, copy;

	(void)state;
	open_fixture(&original, "safetensors/stories260K.ref.safetensors");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		open_fixture(&copy, files[i].name);
		expect_same_numbers(&original, &copy, files[i].tolerance);
		al_checkpoint_close(&copy);
	}
	al_checkpoint_close(&original);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_order),
		cmocka_unit_test(refuses_what_is_wrong),
		cmocka_unit_test(refuses_false_entries),
		cmocka_unit_test(refuses_many_ends),
		cmocka_unit_test(notices_a_changed_byte),
		UNIT_TEST_OF_FIXTURES(numpy_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
