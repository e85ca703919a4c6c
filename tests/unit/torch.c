/* PyTorch's files: what torch.save writes is read, and nothing is ever called. */
#include "unit.h"

#include <zip.h>

#include "formats/checkpoint.h"
#include "same_numbers.h"
#include "support/folder.h"

/* ---- a made-up archive of one storage "0" of six float32, 0 to 5 ---- */

struct pickle {
	char bytes[2048];
	size_t n;
};

static void put(struct pickle *p, const char *bytes, size_t n)
{
	assert_true(p->n + n <= sizeof(p->bytes));
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

static void put_text(struct pickle *p, const char *text)
{
	const char start[5] = {'X', (char)strlen(text)};

	put(p, start, 5);
	put(p, text, strlen(text));
}

static void put_integer(struct pickle *p, int32_t value)
{
	put(p, "J", 1);
	put(p, (const char *)&value, 4);
}

/* Ended by -9. */
static void put_tuple(struct pickle *p, const int32_t *values)
{
	put(p, "(", 1);
	for (; *values != -9; values++)
		put_integer(p, *values);
	put(p, "t", 1);
}

struct made {
	const char *name, *key;
	int32_t elements, first, shape[4], strides[4];
	const char *part; /* of the refusal; NULL: it is read */
};

static void put_view(struct pickle *p, const struct made *t)
{
	static const char function[] = "ctorch._utils\n_rebuild_tensor_v2\n",
			  class[] = "ctorch\nFloatStorage\n",
			  hooks[] = "\x89"
				    "ccollections\nOrderedDict\n)R";

	put(p, function, sizeof(function) - 1);
	put(p, "((", 2);
	put_text(p, "storage");
	put(p, class, sizeof(class) - 1);
	put_text(p, t->key);
	put_text(p, "cpu");
	put_integer(p, t->elements);
	put(p, "tQ", 2);
	put_integer(p, t->first);
	put_tuple(p, t->shape);
	put_tuple(p, t->strides);
	put(p, hooks, sizeof(hooks) - 1);
	put(p, "tR", 2);
}

static void put_tensor(struct pickle *p, const struct made *t)
{
	put_text(p, t->name);
	put_view(p, t);
}

static void add_member(zip_t *zip, const char *name, const void *bytes, size_t n, int method)
{
	const zip_int64_t index = zip_file_add(zip, name, zip_source_buffer(zip, bytes, n, 0), 0);

	assert_true(index >= 0);
	assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)index, method, 0), 0);
}

static void write_archive(const char *path, const struct pickle *p, int method)
{
	static const float numbers[6] = {0, 1, 2, 3, 4, 5};
	zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);

	assert_non_null(zip);
	add_member(zip, "x/data.pkl", p->bytes, p->n, method);
	add_member(zip, "x/byteorder", "little", 6, ZIP_CM_STORE);
	add_member(zip, "x/data/0", numbers, sizeof(numbers), method);
	assert_int_equal(zip_close(zip), 0);
}

static const struct made tensors[] = {
	{"module._orig_mod.turned", "0", 6, 0, {3, 2, -9}, {1, 3, -9}, NULL},
	{"module._orig_mod.plain", "0", 6, 0, {2, 3, -9}, {3, 1, -9}, NULL},
	{"module._orig_mod.column", "0", 6, 1, {2, -9}, {3, -9}, NULL},
	{"module._orig_mod.number", "0", 6, 5, {-9}, {-9}, NULL},
	{"module._orig_mod.twice", "0", 6, 1, {2, 3, -9}, {2, 1, -9}, NULL},
	{"module._orig_mod.none", "0", 6, 6, {0, 3, -9}, {3, 1, -9}, NULL},
};
enum { N_TENSORS = sizeof(tensors) / sizeof(*tensors) };

static void expect_numbers(const struct al_checkpoint *checkpoint, const char *name,
	const double *expected, int64_t n)
{
	const struct al_tensor *tensor = al_checkpoint_find(checkpoint, name);

	assert_non_null(tensor);
	assert_int_equal(tensor->n_elements, n);
	double *numbers = read_numbers(checkpoint, tensor);
	for (int64_t i = 0; i < n; i++)
		assert_true(numbers[i] == expected[i]);
	test_free(numbers);
}

/* Views of one storage, in a dict within a dict, behind a wrapper's name, stored or packed. */
static void reads_views(void **state)
{
	struct pickle p = {.n = 0};
	struct test_folder folder;
	struct al_checkpoint c;
	struct al_error err;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	test_path(path, &folder, "x.pt");
	put(&p, "\x80\2}(", 4);
	put_text(&p, "epoch");
	put(&p, "K\3", 2);
	put_text(&p, "state_dict");
	put(&p, "}(", 2);
	for (size_t i = 0; i < N_TENSORS; i++)
		put_tensor(&p, &tensors[i]);
	put(&p, "uu.", 3);
	for (int packed = 0; packed < 2; packed++) {
		write_archive(path, &p, packed ? ZIP_CM_DEFLATE : ZIP_CM_STORE);
		if (!al_checkpoint_open(&c, path, &err))
			fail_msg("%s", err.message);
		assert_int_equal(c.n_tensors, N_TENSORS);
		assert_string_equal(al_checkpoint_metadata(&c, "found under"), "state_dict");
		expect_numbers(&c, "plain", (const double[]){0, 1, 2, 3, 4, 5}, 6);
		expect_numbers(&c, "turned", (const double[]){0, 3, 1, 4, 2, 5}, 6);
		expect_numbers(&c, "column", (const double[]){1, 4}, 2);
		expect_numbers(&c, "number", (const double[]){5}, 1);
		expect_numbers(&c, "twice", (const double[]){1, 2, 3, 3, 4, 5}, 6);
		expect_numbers(&c, "none", NULL, 0);
		al_checkpoint_close(&c);
	}
	test_folder_remove(&folder);
}

/* ---- protocols ---- */

#define PICKLE(text) text, sizeof(text) - 1

/* What pickles write around a state dict: frames, all kinds of options, memoized names, a dict made
 * of pairs with attributes. Options leave no trace, and a name may be taken from the memo. */
static void reads_all_that_protocols_write(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} options[] = {{PICKLE("\x8f\x94(K\1K\2\x90")}, /* memo 2 */
		{PICKLE("C\2xy")}, {PICKLE("B\2\0\0\0xy")}, {PICKLE("\x8e\2\0\0\0\0\0\0\0xy")},
		{PICKLE("G\x3f\xf0\0\0\0\0\0\0")}, {PICKLE("\x8a\2\1\1")}, {PICKLE("\x8a\0")},
		{PICKLE("N")}, {PICKLE("\x88")}, {PICKLE("\x89")}, {PICKLE("M\1\2")},
		{PICKLE("U\2xy")}, {PICKLE("T\2\0\0\0xy")}, {PICKLE("\x8c\2xy")},
		{PICKLE("\x8d\2\0\0\0\0\0\0\0xy")}, {PICKLE("K\1\x85")}, {PICKLE("K\1K\2\x86")},
		{PICKLE("K\1K\2K\3\x87")}, {PICKLE("(K\1K\2l")}, {PICKLE("(K\1K\2d")},
		{PICKLE("](K\1K\2e")}, {PICKLE("]K\1a")}, {PICKLE("}K\1K\2s")}, {PICKLE("K\7}0")},
		{PICKLE(")")}, {PICKLE("ctorch\ndevice\n(U\3cputR")},
		{PICKLE("ctorch\nSize\n((K\2K\3ttR")}, {PICKLE("\x8c\5torch\x8c\7float32\x93")},
		{PICKLE("c__builtin__\nset\n(]tR")}};
	static const char class[] = "ccollections\nOrderedDict\n(](";
	struct pickle p = {.n = 0};
	struct test_folder folder;
	struct al_checkpoint c;
	struct al_error err;
	char path[256];

	(void)state;
	put(&p, PICKLE("\x80\4\x95\0\2\0\0\0\0\0\0}\x94(X\6\0\0\0weight\x94")); /* memo 0 and 1 */
	put(&p, "}(", 2);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		put_integer(&p, (int32_t)i);
		put(&p, options[i].bytes, options[i].n);
	}
	put(&p, "u", 1);
	put_text(&p, "state_dict");
	put(&p, class, sizeof(class) - 1);
	put(&p, "(h\1", 3);
	put_view(&p, &tensors[1]);
	put(&p, "t(", 2);
	put_tensor(&p, &tensors[2]);
	put(&p, PICKLE("t(j\2\0\0\0h\1tetR}X\1\0\0\0vK\1sbu."));
	test_folder_make(&folder);
	write_archive(test_path(path, &folder, "x.pt"), &p, ZIP_CM_STORE);
	if (!al_checkpoint_open(&c, path, &err))
		fail_msg("%s", err.message);
	assert_int_equal(c.n_tensors, 2);
	expect_numbers(&c, "weight", (const double[]){0, 1, 2, 3, 4, 5}, 6);
	expect_numbers(&c, "module._orig_mod.column", (const double[]){1, 4}, 2);
	al_checkpoint_close(&c);
	test_folder_remove(&folder);
}

/* ---- what is refused ---- */

static const struct made wrong[] = {
	{"a", "1", 6, 0, {6, -9}, {1, -9}, "its storage \"1\" is not in the file"},
	{"a", "0", 7, 0, {6, -9}, {1, -9}, "its storage has 24 bytes, expected 7 elements of 4"},
	{"a", "0", 6, 1, {6, -9}, {1, -9}, "reaches from element 1 over 6, beyond its storage's 6"},
	{"a", "0", 6, -1, {6, -9}, {1, -9},
		"reaches from element -1 over 6, beyond its storage's 6"},
	{"a", "0", 6, 7, {0, -9}, {1, -9}, "reaches from element 7 over 0, beyond its storage's 6"},
	{"a", "0", 6, 0, {3, -9}, {3, -9}, "reaches from element 0 over 7, beyond its storage's 6"},
	{"a", "0", 6, 0, {-1, -9}, {1, -9},
		"a dimension or stride isn't a whole number of at least 0"},
	{"a", "0", 6, 0, {6, -9}, {-1, -9},
		"a dimension or stride isn't a whole number of at least 0"},
	{"a", "0", 6, 0, {6, 2, -9}, {1, -9}, "2 dimensions and 1 strides"},
	{"a", "0", 6, 0, {2, 4, -9}, {1, 1, -9}, "has overlapping strides: save a clone"},
	{"a", "0", 6, 0, {6, 5, -9}, {1, 0, -9}, "has overlapping strides: save a clone"},
	{"a", "0", 6, 0, {2147483647, 2147483647, 2147483647, -9}, {0, 0, 0, -9}, "2^63"},
};

static void refuses_impossible_views(void **state)
{
	struct test_folder folder;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	test_path(path, &folder, "x.pt");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct pickle p = {.n = 0};
		put(&p, "\x80\2}(", 4);
		put_tensor(&p, &wrong[i]);
		put(&p, "u.", 2);
		write_archive(path, &p, ZIP_CM_STORE);
		expect_refusal(path, wrong[i].part);
	}
	test_folder_remove(&folder);
}

static const struct {
	const char *bytes;
	size_t n;
	const char *part;
} programs[] = {
	{PICKLE("\x80\2"
		"cposix\nsystem\n(X\2\0\0\0lstR."),
		"contains Python objects (posix.system)"},
	{PICKLE("\x80\4\x8c\2os\x8c\6system\x93."), "contains Python objects (os.system)"},
	{PICKLE("\x80\2"
		"cbuiltins\neval\n."),
		"torch.save(model.state_dict(), FILE)"},
	{PICKLE("\x80\2"
		"ctorch._utils\n_rebuild_qtensor\n."),
		"contains quantized tensors"},
	/* a dict that holds itself, and what has no end */
	{PICKLE("\x80\2}q\0X\1\0\0\0ah\0s."), "dicts nested more than 16 deep"},
	{PICKLE("\x80\2}"), "ends early"},
	{PICKLE("\x80\2."), "pops an empty stack"},
	{PICKLE("\x80\2}u."), "lacks a mark"},
	{PICKLE("\x80\2(u."), "appends to an empty stack"},
	{PICKLE("\x80\2]."), "not a dict of tensors"},
	{PICKLE("\x80\2r\1\0\0\0."), "memoizes from an empty stack"},
	{PICKLE("\x80\2}r\xff\xff\xff\x7f."), "too costly"},
	{PICKLE("\x80\2h\1."), "refers to a missing memo entry"},
	{PICKLE("\x80\2X\xff\xff\xff\xff"
		"abc"),
		"ends early"},
	{PICKLE("\x80\2X\1\0\0\0aX\1\0\0\0bQ."), "describes a storage in an unknown way"},
	{PICKLE("\x80\2}}R."), "calls something that isn't callable"},
	{PICKLE("\x80\2i."), "opcode 0x69"},
	{PICKLE("\x80\2}K\1a."), "appends to something that isn't a container"},
	{PICKLE("\x80\2"
		"ctorch\nSize\n(K\1tR."),
		"builds an object from invalid arguments"},
	{PICKLE("\x80\2"
		"ccollections\nOrderedDict\n(]K\1atR."),
		"builds a dict from something other than pairs"},
	{PICKLE("\x80\2}(X\1\0\0\0aK\1u."), "contains no tensors"},
	{PICKLE("\x80\2}."), "contains no tensors"},
	{PICKLE("\x80\2N."), "its pickle is not a dict of tensors: save one, torch.save("},
	{PICKLE("\x80\2}(K\1u."), "the pickle has a key without a value"},
	{PICKLE("\x80\2(K\1K\2K\3d."), "the pickle has a key without a value"},
	{PICKLE("\x80\4\x8c\5torchK\1\x93."), "the pickle uses a name that isn't a string"},
	{PICKLE("\x80\4K\1\x8c\4Size\x93."), "the pickle uses a name that isn't a string"},
	{PICKLE("\x80\4\x8c\3a\0b."), "the pickle has a string containing a NUL"},
	{PICKLE("\x80\4\x8c\1\0."), "the pickle has a string containing a NUL"},
	{PICKLE("\x80\2\xff."), "the pickle has opcode 0xff, which state dicts don't use"},
	{PICKLE("\x80\2ctorch._utils\n_rebuild_sparse_tensor\n."),
		"contains sparse tensors; only dense tensors are supported"},
	{PICKLE("\x80\2ctorch._utils\n_rebuild_device_tensor_from_numpy\n."),
		"contains tensors of a device; only dense tensors are supported"},
	{PICKLE("\x80\2ctorch._utils\n_rebuild_tensor_v2\n)R."),
		"the pickle builds a tensor from invalid arguments"},
	{PICKLE("\x80\2ctorch._utils\n_rebuild_parameter\n)R."),
		"the pickle builds an object from invalid arguments"},
	{PICKLE("\x80\2ctorch\nFloatStorage\n)R."),
		"the pickle calls something that isn't callable"},
	{PICKLE("\x80\2ctorch\nSize\n}R."), "the pickle calls something that isn't callable"},
	/* a name without its end, and one that ends within its line */
	{PICKLE("\x80\2ctorch\nSize"), "the pickle ends early"},
	{PICKLE("\x80\2ctorch"), "the pickle ends early"},
	{PICKLE("\x80\2J\1\2\3"), "the pickle ends early"},
	{PICKLE("\x80\2K\1\x86."), "the pickle pops an empty stack"},
	{PICKLE("\x80\2K\1s."), "the pickle pops an empty stack"},
	{PICKLE("\x80\2K\1(K\1\x86."), "the pickle pops an empty stack"},
	{PICKLE("\x80\2(K\1KXs."), "the pickle appends to an empty stack"},
};

/* ---- storages: as persistent ids ---- */

#define STORAGE(class, key, elements, view) \
	"\x80\4(\x8c\7storagectorch\n" class "\n" key "\x8c\3cpu" elements view "tQ."

static const struct {
	const char *bytes;
	size_t n;
	const char *part;
} storages[] = {
	/* all is well until the end: a storage is no dict */
	{PICKLE(STORAGE("FloatStorage",
		 "\x8c\1"
		 "0",
		 "K\0", "")),
		"not a dict of tensors"},
	{PICKLE(STORAGE("FloatStorage",
		 "\x8c\1"
		 "0",
		 "K\6", "N")),
		"not a dict of tensors"},
	{PICKLE(STORAGE("FloatStorage",
		 "\x8c\1"
		 "0",
		 "K\6", ")")),
		"the pickle has a view of a storage, which is only supported in old files"},
	{PICKLE(STORAGE("FloatStorage",
		 "\x8c\1"
		 "0",
		 "J\377\377\377\377", "")),
		"describes a storage in an unknown way"},
	{PICKLE(STORAGE("FloatStorage",
		 "\x8c\1"
		 "0",
		 "N", "")),
		"describes a storage in an unknown way"},
	{PICKLE(STORAGE("FloatStorage", "K\0", "K\6", "")),
		"describes a storage in an unknown way"},
	{PICKLE(STORAGE("Size",
		 "\x8c\1"
		 "0",
		 "K\6", "")),
		"describes a storage in an unknown way"},
};

static void calls_nothing(void **state)
{
	struct test_folder folder;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	test_path(path, &folder, "x.pt");
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct pickle p = {.n = 0};
		put(&p, programs[i].bytes, programs[i].n);
		write_archive(path, &p, ZIP_CM_STORE);
		expect_refusal(path, programs[i].part);
	}
	for (size_t i = 0; i < sizeof(storages) / sizeof(*storages); i++) {
		struct pickle p = {.n = 0};
		put(&p, storages[i].bytes, storages[i].n);
		write_archive(path, &p, ZIP_CM_STORE);
		expect_refusal(path, storages[i].part);
	}
	test_folder_remove(&folder);
}

/* ---- the order of bytes, and pickles, in an archive ---- */

static void reads_the_order_of_bytes(void **state)
{
	static const unsigned char big[24] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x40};
	static const struct {
		const char *order;
		size_t n;
		const char *part; /* of the refusal; NULL: it is read */
	} orders[] = {{"big", 3, NULL}, {"bigger", 6, "its byteorder is neither \"little\" nor"},
		{"", 0, "its byteorder is neither \"little\" nor \"big\""},
		{"little!", 7, "its byteorder is neither"},
		{"little!!", 8, "\"x/byteorder\" can't be read"}};
	struct pickle p = {.n = 0};
	struct test_folder folder;
	struct al_checkpoint c;
	struct al_error err;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	test_path(path, &folder, "x.pt");
	put(&p, "\x80\2}", 3);
	put_tensor(&p, &tensors[1]);
	put(&p, "s.", 2);
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
		add_member(zip, "x/data.pkl", p.bytes, p.n, ZIP_CM_STORE);
		add_member(zip, "x/byteorder", orders[i].order, orders[i].n, ZIP_CM_STORE);
		add_member(zip, "x/data/0", big, sizeof(big), ZIP_CM_STORE);
		assert_int_equal(zip_close(zip), 0);
		if (orders[i].part) {
			expect_refusal(path, orders[i].part);
			continue;
		}
		if (!al_checkpoint_open(&c, path, &err))
			fail_msg("%s", err.message);
		expect_numbers(&c, "plain", (const double[]){1, 2, 3, 0, 0, 0}, 6);
		al_checkpoint_close(&c);
	}
	zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
	add_member(zip, "x/data.pkl", p.bytes, p.n, ZIP_CM_STORE);
	add_member(zip, "y/data.pkl", p.bytes, p.n, ZIP_CM_STORE);
	assert_int_equal(zip_close(zip), 0);
	expect_refusal(path, "has 2 pickles, expected one data.pkl");
	test_folder_remove(&folder);
}

/* ---- before zip archives ---- */

#define LITTLE "\x80\2}X\15\0\0\0little_endian\x88s."
#define BIG "\x80\2}X\15\0\0\0little_endian\x89s."
#define ONE_KEY \
	"]X\1\0\0\0" \
	"0a."

static void write_legacy(const char *path, const char *machine, size_t machine_bytes,
	const char *keys, size_t keys_bytes, uint64_t n_elements)
{
	static const unsigned char numbers[24] = {0, 0, 0x80, 0x3f, 0x3f, 0x80, 0, 0};
	struct pickle p = {.n = 0};

	put(&p, PICKLE("\x80\2\x8a\12l\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3."));
	put(&p, machine, machine_bytes);
	put(&p, "\x80\2}", 3);
	put_tensor(&p, &tensors[1]);
	put(&p, "s.", 2);
	put(&p, keys, keys_bytes);
	put(&p, (const char *)&n_elements, n_elements ? 8 : 7);
	put(&p, (const char *)numbers, n_elements ? sizeof(numbers) : 0);
	test_write(path, p.bytes, p.n);
}

static void reads_files_before_archives(void **state)
{
	static const struct {
		const char *machine;
		size_t machine_bytes;
		const char *keys;
		size_t keys_bytes;
		uint64_t n_elements;
		size_t one; /* which of its numbers is 1 */
		const char *part;
	} files[] = {
		{PICKLE(LITTLE), PICKLE(ONE_KEY), 6, 0, NULL},
		{PICKLE(BIG), PICKLE(ONE_KEY), 6, 1, NULL},
		{PICKLE("}."), PICKLE(ONE_KEY), 6, 0, "x.pt: doesn't specify its byte order"},
		{PICKLE("]."), PICKLE(ONE_KEY), 6, 0, "x.pt: doesn't specify its byte order"},
		{PICKLE(LITTLE), PICKLE("}."), 6, 0, "x.pt: doesn't list its storages"},
		{PICKLE(LITTLE), PICKLE("]K\0a."), 6, 0, "x.pt: a storage's key isn't a string"},
		{PICKLE(LITTLE),
			PICKLE("]X\1\0\0\0"
			       "1a."),
			6, 0, "x.pt: no tensor uses storage \"1\", so its size is unknown"},
		{PICKLE(LITTLE), PICKLE("]."), 6, 0, "its storage \"0\" is not in the file"},
		{PICKLE(LITTLE), PICKLE(ONE_KEY), 7, 0,
			"x.pt: storage \"0\" has 7 elements, more than the file"},
		{PICKLE(LITTLE), PICKLE(ONE_KEY), 5, 0,
			"its storage has 20 bytes, expected 6 elements of 4"},
		{PICKLE(LITTLE), PICKLE(ONE_KEY), 0, 0, "x.pt: ends before storage \"0\""},
	};
	struct test_folder folder;
	struct al_checkpoint c;
	struct al_error err;
	char path[256];

	(void)state;
	test_folder_make(&folder);
	test_path(path, &folder, "x.pt");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		write_legacy(path, files[i].machine, files[i].machine_bytes, files[i].keys,
			files[i].keys_bytes, files[i].n_elements);
		if (files[i].part) {
			expect_refusal(path, files[i].part);
			continue;
		}
		if (!al_checkpoint_open(&c, path, &err))
			fail_msg("%s", err.message);
		const struct al_tensor *tensor = al_checkpoint_find(&c, "plain");
		assert_non_null(tensor);
		double *numbers = read_numbers(&c, tensor);
		assert_true(numbers[files[i].one] == 1);
		test_free(numbers);
		al_checkpoint_close(&c);
	}
	test_folder_remove(&folder);
}

/* Eight million empty dicts in a few kB. */
static void refuses_cost(void **state)
{
	enum { MANY = 8 << 20 };
	struct test_folder folder;
	char path[256], *bytes = malloc(MANY);

	(void)state;
	assert_non_null(bytes);
	memset(bytes, '}', MANY);
	test_folder_make(&folder);
	zip_t *zip = zip_open(test_path(path, &folder, "x.pt"), ZIP_CREATE, NULL);
	assert_non_null(zip);
	add_member(zip, "x/data.pkl", bytes, MANY, ZIP_CM_DEFLATE);
	assert_int_equal(zip_close(zip), 0);
	expect_refusal(path, "its pickle: too costly: needs");
	free(bytes);
	test_folder_remove(&folder);
}

/* ---- files of torch ---- */

static void torch_writes(void **state)
{
	static const struct {
		const char *name;
		double tolerance;
	} files[] = {{"torch/stories260K.zip.pt", 0}, {"torch/stories260K.legacy.pt", 0},
		{"torch/stories260K.parameters.pt", 0}, {"torch/stories260K.f64.pt", 0},
		{"torch/stories260K.f16.pt", 0x1p-10}, {"torch/stories260K.bf16.pt", 0x1p-6}};
	struct al_checkpoint original, copy;

	(void)state;
	open_fixture(&original, "safetensors/stories260K.ref.safetensors");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		open_fixture(&copy, files[i].name);
		assert_int_equal(copy.n_tensors, original.n_tensors);
		expect_same_numbers(&original, &copy, files[i].tolerance);
		al_checkpoint_close(&copy);
	}
	open_fixture(&copy, "torch/stories260K.ckpt.pt");
	assert_int_equal(copy.n_tensors, original.n_tensors);
	expect_same_numbers(&original, &copy, 0);
	al_checkpoint_close(&copy);
	al_checkpoint_close(&original);
}

static void torch_is_refused(void **state)
{
	static const struct {
		const char *name, *part;
	} files[] = {{"odd-tensors.pt", "quantized"},
		{"random-TransformerEncoder.fullmodule.pt", "torch.save(model.state_dict(), FILE)"},
		{"random-mha.torchscript.pt", "is a TorchScript program"}};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char path[256];
		snprintf(path, sizeof(path), "%s/torch/%s", fixtures(), files[i].name);
		expect_refusal(path, files[i].part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_views),
		cmocka_unit_test(reads_all_that_protocols_write),
		cmocka_unit_test(refuses_impossible_views),
		cmocka_unit_test(calls_nothing),
		cmocka_unit_test(reads_the_order_of_bytes),
		cmocka_unit_test(reads_files_before_archives),
		cmocka_unit_test(refuses_cost),
		UNIT_TEST_OF_FIXTURES(torch_writes),
		UNIT_TEST_OF_FIXTURES(torch_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
