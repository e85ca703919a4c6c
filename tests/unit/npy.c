/* .npy files: what is read, what is refused, and that what was written comes back. */
#include "unit.h"

#include "formats/npy.h"
#include "support/folder.h"
#include "support/weights.h"

/* A file of a header's text and `data_bytes` bytes of data: ones of <f8. */
struct bytes {
	char data[4096];
	size_t n;
};

static struct bytes make(int version, const char *header, size_t data_bytes)
{
	struct bytes b = {.n = 0};
	size_t length = strlen(header), digits = version == 1 ? 2 : 4;

	memcpy(b.data, "\x93NUMPY", 6);
	b.data[6] = (char)version;
	b.data[8] = (char)length;
	memcpy(b.data + 8 + digits, header, length);
	b.n = 8 + digits + length + data_bytes;
	for (size_t i = 0; i < data_bytes; i++)
		b.data[8 + digits + length + i] = (char)(i % 8 == 7 ? 0x3f : i % 8 == 6 ? 0xf0 : 0);
	return b;
}

static void versions_and_orders(void **state)
{
	static const char *const headers[] = {
		"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n",
		"{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)}",
		"{\"shape\":(2,3,),\"fortran_order\":True,\"descr\":\"<f8\"}",
	};

	(void)state;
	for (int version = 1; version <= 3; version++)
		for (size_t k = 0; k < 3; k++) {
			struct bytes b = make(version, headers[k], 48);
			struct al_npy npy;
			struct al_error err;
			if (!al_npy_parse(&npy, "x.npy", b.data, b.n, false, &err))
				fail_msg("%s", err.message);
			assert_true(npy.rows == 2 && npy.cols == 3 && npy.data[5] == 1);
			al_npy_finish(&npy);
		}
}

/* Element (i, j) is 10 i + j in either order. */
static void orders_agree(void **state)
{
	static const double by_rows[6] = {0, 1, 2, 10, 11, 12},
			    by_columns[6] = {0, 10, 1, 11, 2, 12};

	(void)state;
	for (int is_fortran = 0; is_fortran < 2; is_fortran++) {
		struct bytes b = make(1,
			is_fortran ? "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3)}"
				   : "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}",
			48);
		struct al_npy npy;
		al_dtype_stored("F64")->from_double(is_fortran ? by_columns : by_rows, 6,
			(unsigned char *)b.data + b.n - 48);
		assert_true(al_npy_parse(&npy, "x.npy", b.data, b.n, false, NULL));
		assert_memory_equal(npy.data, by_columns, sizeof(by_columns));
		al_npy_finish(&npy);
	}
}

/* The same number with its bytes the other way round. */
static void either_end_comes_first(void **state)
{
	struct bytes b = make(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (1, 2)}", 16);
	struct al_npy npy;

	(void)state;
	memcpy(b.data + b.n - 16, "\x3f\xf0\0\0\0\0\0\0\xc0\x04\0\0\0\0\0\0", 16);
	assert_true(al_npy_parse(&npy, "x.npy", b.data, b.n, false, NULL));
	assert_true(npy.data[0] == 1 && npy.data[1] == -2.5);
	al_npy_finish(&npy);
}

static void a_vector_is_one_row(void **state)
{
	struct bytes b = make(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (6,)}", 48);
	struct al_npy npy;

	(void)state;
	assert_true(al_npy_parse(&npy, "x.npy", b.data, b.n, false, NULL));
	assert_true(npy.rows == 1 && npy.cols == 6 && npy.data[5] == 1);
	al_npy_finish(&npy);
}

static void refused(void **state)
{
	static const struct {
		int version;
		const char *header;
		size_t data;
		const char *message;
	} cases[] = {
		{4, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", 48,
			"x.npy: .npy version 4.0, expected 1.0, 2.0 or 3.0"},
		{1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", 47,
			"x.npy: 2 x 3 of F64 in 47 bytes of data"},
		{1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", 49,
			"x.npy: 2 x 3 of F64 in 49 bytes of data"},
		{1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3)}", 48,
			"x.npy: found 3 dimensions, expected a matrix"},
		{1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 3)}", 48,
			"x.npy: found numbers of type I64, expected floating point"},
		{1, "{'descr': '<f16', 'fortran_order': False, 'shape': (2, 3)}", 96,
			"x.npy: the header:1:11: found \"<f16\", expected \"<f4\" or another "
			"number type"},
		{1, "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}", 48,
			"x.npy: an array of Python objects, which are never read; expected an "
			"array of numbers"},
		{1, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3)}", 48,
			"x.npy: an array of records; store each field as its own array; expected "
			"an array of numbers"},
		{1, "{'descr': '|V2', 'fortran_order': False, 'shape': (2, 3)}", 12,
			"x.npy: an array of raw bytes: numpy forgets what they are (bfloat16?); "
			"store them as float32; expected an array of numbers"},
		{1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8,
			"x.npy: found 0 dimensions, expected a matrix"},
		{1, "{'descr': '<f8', 'fortran_order': False}", 48,
			"x.npy: the header:1:1: key \"shape\" is missing"},
		{1, "{'descr': '<f8', 'shape': (2, 3)}", 48,
			"x.npy: the header:1:1: key \"fortran_order\" is missing"},
		{1, "{'shape': (2, 3), 'shape': (2, 3)}", 48,
			"x.npy: the header:1:28: key \"shape\" appears twice"},
		{1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)} 1", 48,
			"x.npy: the header:1:59: unexpected text after the value"},
		{1, "{'shape':(1,1)}the end", 8,
			"x.npy: the header:1:16: unexpected text after the value"},
		{1, "{'descr': '<f8', 'fortran_order': False, 'shape': (a dimension, 3)}", 0,
			"x.npy: the header:1:52: expected a value"},
		{1, "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3)}", 48,
			"x.npy: the header:1:52: found -2, expected 0 or more"},
		{1,
			"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999, "
			"999999999999)}",
			48, "x.npy: 999999999999 x 999999999999 of F64 in 48 bytes of data"},
		{1, "{'descr': '<f8', 'mode': 1}", 48,
			"x.npy: the header:1:26: unknown key \"mode\" (known: descr, "
			"fortran_order, "
			"shape)"},
		{1, "", 0, "x.npy: a header of 0 bytes in a file of 10"},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
		struct bytes b = make(cases[k].version, cases[k].header, cases[k].data);
		struct al_npy npy;
		struct al_error err;
		assert_false(al_npy_parse(&npy, "x.npy", b.data, b.n, false, &err));
		assert_string_equal(err.message, cases[k].message);
		assert_int_equal(err.status, AL_EINPUT);
		assert_null(npy.data);
	}
}

static void truncated(void **state)
{
	struct bytes b = make(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", 48);

	(void)state;
	for (size_t n = 0; n < b.n; n++) {
		struct al_npy npy;
		char *exactly = malloc(n + 1);
		assert_non_null(exactly);
		memcpy(exactly, b.data, n);
		struct al_error err;
		char expected[64];
		assert_false(al_npy_parse(&npy, "x.npy", exactly, n, false, &err));
		/* the mark, version and length take 10 bytes */
		snprintf(expected, sizeof(expected),
			"x.npy: a header of %zu bytes in a file of %zu", b.n - 48 - 10, n);
		if (n < b.n - 48)
			assert_string_equal(err.message,
				n < 10 ? "x.npy: not an .npy file" : expected);
		else
			assert_non_null(strstr(err.message, " bytes of data"));
		free(exactly);
	}
}

static void written_and_read(void **state)
{
	static const double values[6] = {0.1, -2, 1e300, 0, 5, -0x1p-1074};
	struct test_folder folder;
	struct al_npy npy;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	test_path(path, &folder, "a.npy");
	write_npy(path, values, 2, 3, false);
	assert_true(al_npy_read(&npy, path, NULL));
	assert_true(npy.rows == 2 && npy.cols == 3);
	assert_memory_equal(npy.data, values, sizeof(values));
	al_npy_finish(&npy);
	write_npy(path, values, 2, 3, true);
	assert_true(al_npy_read(&npy, path, NULL));
	assert_true(npy.rows == 3 && npy.cols == 2);
	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < 2; j++)
			assert_true(npy.data[i + 3 * j] == values[j + 2 * i]);
	al_npy_finish(&npy);
	test_folder_remove(&folder);
}

/* numpy wrote them all from one matrix of 64 x 64 float32. */
static void numpy_writes(void **state)
{
	static const char *const names[] = {"wq.npy", "wq.v1.npy", "wq.v2.npy", "wq.v3.npy"};
	struct al_npy first = {0}, npy;
	char path[256];

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		snprintf(path, sizeof(path), "%s/npz/%s", fixtures(), names[k]);
		assert_true(al_npy_read(&npy, path, NULL));
		assert_true(
			npy.rows == 64 && npy.cols == 64 && strcmp(npy.dtype->stored, "F32") == 0);
		if (k == 0) {
			first = npy;
			continue;
		}
		assert_memory_equal(npy.data, first.data, 64 * 64 * sizeof(double));
		al_npy_finish(&npy);
	}
	al_npy_finish(&first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_and_orders),
		cmocka_unit_test(orders_agree),
		cmocka_unit_test(either_end_comes_first),
		cmocka_unit_test(a_vector_is_one_row),
		cmocka_unit_test(refused),
		cmocka_unit_test(truncated),
		cmocka_unit_test(written_and_read),
		UNIT_TEST_OF_FIXTURES(numpy_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
