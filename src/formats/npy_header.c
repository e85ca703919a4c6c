/* The header of numpy's .npy files (numpy.lib.format):
 *
 *     "\x93NUMPY"  major minor     version 1.0, 2.0 or 3.0
 *     length       of the header: 2 bytes in version 1, else 4, little-endian
 *     header       {'descr': '<f4', 'fortran_order': False, 'shape': (64, 64), } and spaces, "\n"
 *
 * It is a Python literal; here it is those three keys, each once, in any order. */
#include "formats/npy_header.h"

#include <string.h>

enum { LONGEST_HEADER = 1 << 16, SHOWN = 20 };

const char al_npy_magic[AL_NPY_MAGIC + 1] = "\x93NUMPY";

/* What a 'descr' says behind the order of bytes, and how we call it. */
static const struct {
	const char *code, *stored;
} numbers[] = {
	{"f4", "F32"},
	{"f8", "F64"},
	{"f2", "F16"},
	{"i1", "I8"},
	{"i2", "I16"},
	{"i4", "I32"},
	{"i8", "I64"},
	{"u1", "U8"},
	{"u2", "U16"},
	{"u4", "U32"},
	{"u8", "U64"},
	{"b1", "BOOL"},
	{"c8", "C64"},
};
enum { N_NUMBERS = sizeof(numbers) / sizeof(*numbers) };

/* Kinds of arrays that hold no numbers. */
static const struct {
	const char *begins, *what;
} refused[] = {
	{"'|O", "Python objects, which are never read"},
	{"\"|O", "Python objects, which are never read"},
	{"[", "records; store each of their fields as an array of its own"},
	{"'<U", "texts"},
	{"'>U", "texts"},
	{"'|S", "texts"},
	{"'|V", "raw bytes: numpy forgets what they are (bfloat16?); store them as float32"},
	{"'<V", "raw bytes: numpy forgets what they are (bfloat16?); store them as float32"},
};
enum { N_REFUSED = sizeof(refused) / sizeof(*refused) };

/* What is left of the header's text. */
struct cursor {
	const char *at, *end, *path;
};

static void skip_spaces(struct cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\n'))
		c->at++;
}

static bool take(struct cursor *c, const char *word)
{
	size_t n = strlen(word);

	skip_spaces(c);
	if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0)
		return false;
	c->at += n;
	return true;
}

static bool fail_expected(struct cursor *c, const char *what, struct al_error *err)
{
	skip_spaces(c);
	return al_fail(err, AL_EINPUT, "%s: the header has \"%.*s\" where %s was expected", c->path,
		(int)(c->end - c->at < SHOWN ? c->end - c->at : SHOWN), c->at, what);
}

static bool expect(struct cursor *c, const char *word, struct al_error *err)
{
	return take(c, word) || fail_expected(c, word, err);
}

/* `order` and `word` in quotes of one kind. */
static bool take_quoted(struct cursor *c, const char *order, const char *word)
{
	struct cursor before = *c;

	for (const char *quote = "'\""; *quote; quote++) {
		const char mark[2] = {*quote, '\0'};
		*c = before;
		if (take(c, mark) && take(c, order) && take(c, word) && take(c, mark))
			return true;
	}
	*c = before;
	return false;
}

static bool take_number(struct cursor *c, struct al_npy_header *h)
{
	for (const char *order = "<>=|"; *order; order++) {
		const char mark[2] = {*order, '\0'};
		for (size_t i = 0; i < N_NUMBERS; i++)
			if (take_quoted(c, mark, numbers[i].code)) {
				h->dtype = al_dtype_stored(numbers[i].stored);
				h->is_swapped = *order == '>' && h->dtype->block_bytes > 1;
				return true;
			}
	}
	return false;
}

static bool read_descr(struct cursor *c, struct al_npy_header *h, struct al_error *err)
{
	if (h->dtype)
		return al_fail(err, AL_EINPUT, "%s: the header has 'descr' twice", c->path);
	if (take_number(c, h))
		return true;
	for (size_t i = 0; i < N_REFUSED; i++)
		if (take(c, refused[i].begins))
			return al_fail(err, AL_EINPUT,
				"%s: an array of %s: expected an array of numbers", c->path,
				refused[i].what);
	return fail_expected(c, "'<f4' or another kind of numbers", err);
}

static bool read_order(struct cursor *c, struct al_npy_header *h, struct al_error *err)
{
	h->is_fortran = take(c, "True");
	return h->is_fortran || expect(c, "False", err);
}

static bool read_size(struct cursor *c, int64_t *out, struct al_error *err)
{
	int64_t value = 0;
	size_t n = 0;

	skip_spaces(c);
	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && n < 18; n++)
		value = 10 * value + (*c->at++ - '0');
	*out = value;
	return n > 0 || fail_expected(c, "a dimension", err);
}

/* A tuple: of one member its comma is needed, of none there is none. */
static bool read_shape(struct cursor *c, struct al_npy_header *h, struct al_error *err)
{
	if (!expect(c, "(", err))
		return false;
	if (take(c, ")"))
		return true;
	for (;;) {
		if (h->n_dims == AL_NPY_MOST_DIMS)
			return al_fail(err, AL_EINPUT, "%s: more than %d dimensions", c->path,
				AL_NPY_MOST_DIMS);
		if (!read_size(c, &h->shape[h->n_dims++], err))
			return false;
		const bool goes_on = h->n_dims == 1 ? expect(c, ",", err) : take(c, ",");
		if (h->n_dims == 1 && !goes_on)
			return false;
		if (take(c, ")"))
			return true;
		if (!goes_on)
			return fail_expected(c, ")", err);
	}
}

/* The keys, and whether they have come. */
static const struct key {
	const char *name;
	bool (*read)(struct cursor *c, struct al_npy_header *h, struct al_error *err);
} keys[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};
enum { N_KEYS = sizeof(keys) / sizeof(*keys) };

static bool read_entry(struct cursor *c, struct al_npy_header *h, bool *has, struct al_error *err)
{
	for (size_t i = 0; i < N_KEYS; i++) {
		if (!take_quoted(c, "", keys[i].name))
			continue;
		if (has[i])
			return al_fail(err, AL_EINPUT, "%s: the header has '%s' twice", c->path,
				keys[i].name);
		has[i] = true;
		return expect(c, ":", err) && keys[i].read(c, h, err);
	}
	return fail_expected(c, "'descr', 'fortran_order' or 'shape'", err);
}

static bool read_entries(struct cursor *c, struct al_npy_header *h, bool *has, struct al_error *err)
{
	if (!expect(c, "{", err))
		return false;
	for (;;) {
		if (!read_entry(c, h, has, err))
			return false;
		bool goes_on = take(c, ",");
		if (take(c, "}"))
			return true;
		if (!goes_on)
			return fail_expected(c, "}", err);
	}
}

static bool read_header(struct cursor *c, struct al_npy_header *h, struct al_error *err)
{
	bool has[N_KEYS] = {false};

	if (!read_entries(c, h, has, err))
		return false;
	skip_spaces(c);
	if (c->at != c->end)
		return fail_expected(c, "the end", err);
	for (size_t i = 0; i < N_KEYS; i++)
		if (!has[i])
			return al_fail(err, AL_EINPUT, "%s: the header lacks '%s'", c->path,
				keys[i].name);
	return true;
}

static size_t little_endian(const char *bytes, size_t n)
{
	size_t value = 0;

	while (n-- > 0)
		value = value << 8 | (unsigned char)bytes[n];
	return value;
}

/* Where the header begins and ends. */
static bool find_header(struct al_npy_header *out, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	if (n < AL_NPY_MAGIC + 4 || memcmp(bytes, al_npy_magic, AL_NPY_MAGIC) != 0)
		return al_fail(err, AL_EINPUT, "%s: not an .npy file", path);
	int major = bytes[AL_NPY_MAGIC], minor = bytes[AL_NPY_MAGIC + 1];
	if (major < 1 || major > 3 || minor != 0)
		return al_fail(err, AL_EINPUT, "%s: .npy version %d.%d, expected 1.0, 2.0 or 3.0",
			path, major, minor);
	size_t digits = major == 1 ? 2 : 4, begin = AL_NPY_MAGIC + 2 + digits;
	size_t length = n < begin ? 0 : little_endian(bytes + AL_NPY_MAGIC + 2, digits);
	if (n < begin || length > n - begin || length > LONGEST_HEADER)
		return al_fail(err, AL_EINPUT, "%s: a header of %zu bytes in a file of %zu", path,
			length, n);
	out->text = begin;
	out->data = begin + length;
	return true;
}

bool al_npy_header_parse(struct al_npy_header *out, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	*out = (struct al_npy_header){0};
	if (!find_header(out, path, bytes, n, err))
		return false;
	struct cursor cursor = {bytes + out->text, bytes + out->data, path};
	return read_header(&cursor, out, err);
}
