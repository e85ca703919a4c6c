/* numpy's .npy files (numpy.lib.format):
 *
 *     "\x93NUMPY"  major minor     version 1.0, 2.0 or 3.0
 *     length       of the header: 2 bytes in version 1, else 4, little-endian
 *     header       {'descr': '<f4', 'fortran_order': False, 'shape': (64, 64), } and spaces, "\n"
 *     data         the numbers and nothing after them
 *
 * The header is a Python literal; here it is those three keys, each once, in any order. */
#include "checkpoint/npy.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

enum { MAGIC = 6, ALIGNMENT = 64, LONGEST_HEADER = 1 << 16, SHOWN = 20 };

static const char magic[MAGIC + 1] = "\x93NUMPY";
static const size_t largest_file = (size_t)1 << 32;

/* ---- the header ---- */

/* What a file may hold: its 'descr', how many bytes a number takes. */
struct number {
	const char *descr, *dtype; /* dtype: of integers NULL */
	size_t bytes;
	bool is_signed;
};

static const struct number reals[] = {{"<f4", "F32", 4, true}, {"<f8", "F64", 8, true},
	{"<f2", "F16", 2, true}, {NULL, NULL, 0, false}};
static const struct number integers[] = {{"<i4", NULL, 4, true}, {"<i8", NULL, 8, true},
	{"<i2", NULL, 2, true}, {"|i1", NULL, 1, true}, {"<u4", NULL, 4, false},
	{"<u8", NULL, 8, false}, {"<u2", NULL, 2, false}, {"|u1", NULL, 1, false},
	{NULL, NULL, 0, false}};

struct header {
	const struct number *known; /* what is looked for; ended by descr NULL */
	const struct number *number; /* what was found */
	const struct al_dtype *dtype; /* the same of reals; of integers NULL */
	bool is_fortran, has_order, has_shape;
	bool is_vector; /* one dimension: one row */
	size_t shape[2];
};

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

static bool take_quoted(struct cursor *c, const char *word)
{
	struct cursor before = *c;

	for (const char *quote = "'\""; *quote; quote++) {
		const char mark[2] = {*quote, '\0'};
		*c = before;
		if (take(c, mark) && take(c, word) && c->at < c->end && *c->at == *quote) {
			c->at++;
			return true;
		}
	}
	*c = before;
	return false;
}

static bool read_descr(struct cursor *c, struct header *h, struct al_error *err)
{
	if (h->number)
		return al_fail(err, AL_EINPUT, "%s: the header has 'descr' twice", c->path);
	for (const struct number *known = h->known; known->descr; known++)
		if (take_quoted(c, known->descr))
			h->number = known;
	if (h->number && h->number->dtype)
		h->dtype = al_dtype_stored(h->number->dtype);
	return h->number
		|| fail_expected(c,
			h->known == reals ? "'<f4', '<f8' or '<f2'" : "'<i4' or another integer",
			err);
}

static bool read_order(struct cursor *c, struct header *h, struct al_error *err)
{
	if (h->has_order)
		return al_fail(err, AL_EINPUT, "%s: the header has 'fortran_order' twice", c->path);
	h->has_order = true;
	h->is_fortran = take(c, "True");
	return h->is_fortran || expect(c, "False", err);
}

static bool read_size(struct cursor *c, size_t *out, struct al_error *err)
{
	size_t n = 0, value = 0;

	skip_spaces(c);
	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && n < 12; n++)
		value = 10 * value + (size_t)(*c->at++ - '0');
	*out = value;
	return n > 0 || fail_expected(c, "a dimension", err);
}

static bool read_shape(struct cursor *c, struct header *h, struct al_error *err)
{
	if (h->has_shape)
		return al_fail(err, AL_EINPUT, "%s: the header has 'shape' twice", c->path);
	h->has_shape = true;
	if (!expect(c, "(", err) || !read_size(c, &h->shape[0], err) || !expect(c, ",", err))
		return false;
	if (take(c, ")")) {
		h->is_vector = true;
		h->shape[1] = h->shape[0];
		h->shape[0] = 1;
		return true;
	}
	if (!read_size(c, &h->shape[1], err))
		return false;
	(void)take(c, ",");
	return take(c, ")")
		|| al_fail(err, AL_EINPUT,
			"%s: found more than two dimensions, expected a "
			"matrix",
			c->path);
}

static bool read_entry(struct cursor *c, struct header *h, struct al_error *err)
{
	if (take_quoted(c, "descr"))
		return expect(c, ":", err) && read_descr(c, h, err);
	if (take_quoted(c, "fortran_order"))
		return expect(c, ":", err) && read_order(c, h, err);
	if (take_quoted(c, "shape"))
		return expect(c, ":", err) && read_shape(c, h, err);
	return fail_expected(c, "'descr', 'fortran_order' or 'shape'", err);
}

static bool read_entries(struct cursor *c, struct header *h, struct al_error *err)
{
	if (!expect(c, "{", err))
		return false;
	for (;;) {
		if (!read_entry(c, h, err))
			return false;
		bool goes_on = take(c, ",");
		if (take(c, "}"))
			return true;
		if (!goes_on)
			return fail_expected(c, "}", err);
	}
}

static bool read_header(struct cursor *c, struct header *h, struct al_error *err)
{
	if (!read_entries(c, h, err))
		return false;
	skip_spaces(c);
	if (c->at != c->end)
		return fail_expected(c, "the end", err);
	return (h->number && h->has_order && h->has_shape)
		|| al_fail(err, AL_EINPUT, "%s: the header lacks %s", c->path,
			!h->number	       ? "'descr'"
				: h->has_order ? "'shape'"
					       : "'fortran_order'");
}

/* ---- the file ---- */

static size_t little_endian(const char *bytes, size_t n)
{
	size_t value = 0;

	while (n-- > 0)
		value = value << 8 | (unsigned char)bytes[n];
	return value;
}

/* Where the header begins and ends. */
static bool find_header(struct cursor *out, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	if (n < MAGIC + 4 || memcmp(bytes, magic, MAGIC) != 0)
		return al_fail(err, AL_EINPUT, "%s: not an .npy file", path);
	int major = bytes[MAGIC], minor = bytes[MAGIC + 1];
	if (major < 1 || major > 3 || minor != 0)
		return al_fail(err, AL_EINPUT, "%s: .npy version %d.%d, expected 1.0, 2.0 or 3.0",
			path, major, minor);
	size_t digits = major == 1 ? 2 : 4, begin = MAGIC + 2 + digits;
	size_t length = n < begin ? 0 : little_endian(bytes + MAGIC + 2, digits);
	if (n < begin || length > n - begin || length > LONGEST_HEADER)
		return al_fail(err, AL_EINPUT, "%s: a header of %zu bytes in a file of %zu", path,
			length, n);
	*out = (struct cursor){bytes + begin, bytes + begin + length, path};
	return true;
}

/* From rows one after the other to columns one after the other. */
static bool transpose(struct al_npy *npy, struct al_error *err)
{
	double *out = al_try_calloc(npy->rows * npy->cols, sizeof(*out), err);

	if (!out)
		return al_in(err, "%zu x %zu numbers", npy->rows, npy->cols);
	for (size_t j = 0; j < npy->cols; j++)
		for (size_t i = 0; i < npy->rows; i++)
			out[i + j * npy->rows] = npy->data[j + i * npy->cols];
	free(npy->data);
	npy->data = out;
	return true;
}

/* The bytes of data that the header promises; false where nobody counts so many. */
static bool data_bytes(const struct header *h, size_t *count, size_t *bytes)
{
	return !__builtin_mul_overflow(h->shape[0], h->shape[1], count)
		&& !__builtin_mul_overflow(*count, h->number->bytes, bytes);
}

static bool fail_size(const struct header *h, const char *path, uint64_t n, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: %zu x %zu of %s in %llu bytes of data", path,
		h->shape[0], h->shape[1], h->dtype ? h->dtype->stored : h->number->descr,
		(unsigned long long)n);
}

static bool read_data(struct al_npy *out, const struct header *h, const char *path,
	const char *data, size_t n, struct al_error *err)
{
	size_t count, bytes;

	if (!data_bytes(h, &count, &bytes) || bytes != n)
		return fail_size(h, path, n, err);
	*out = (struct al_npy){.data = al_try_calloc(count, sizeof(double), err),
		.rows = h->shape[0],
		.cols = h->shape[1],
		.dtype = h->dtype};
	if (!out->data)
		return al_in(err, "%s", path);
	out->dtype->to_double((const unsigned char *)data, count, out->data);
	/* without numbers there may still be columns, more than anybody counts */
	if (h->is_fortran || count == 0 || transpose(out, err))
		return true;
	al_npy_finish(out);
	return false;
}

/* A number above 2^63 comes out negative, as one that nobody wants. */
static int64_t integer_at(const char *bytes, const struct number *number)
{
	const size_t value = little_endian(bytes, number->bytes);
	const int shift = 64 - 8 * (int)number->bytes;

	return number->is_signed ? (int64_t)((uint64_t)value << shift) >> shift : (int64_t)value;
}

static bool read_integers(struct al_npy_integers *out, const struct header *h, const char *path,
	const char *data, size_t n, struct al_error *err)
{
	const size_t rows = h->shape[0], cols = h->shape[1];
	size_t count, bytes;

	if (!data_bytes(h, &count, &bytes) || bytes != n)
		return fail_size(h, path, n, err);
	*out = (struct al_npy_integers){al_try_calloc(count, sizeof(int64_t), err), rows, cols};
	if (!out->data)
		return al_in(err, "%s", path);
	for (size_t k = 0; k < count; k++) {
		const size_t at = h->is_fortran ? k % rows * cols + k / rows : k;
		out->data[at] = integer_at(data + k * h->number->bytes, h->number);
	}
	if (count == 0)
		out->rows = 0;
	return true;
}

bool al_npy_begins(const char *bytes, size_t n)
{
	return n >= MAGIC && memcmp(bytes, magic, MAGIC) == 0;
}

bool al_npy_parse_integers(struct al_npy_integers *out, const char *path, const char *bytes,
	size_t n, struct al_error *err)
{
	struct header header = {.known = integers};
	struct cursor cursor = {0};

	if (!find_header(&cursor, path, bytes, n, err))
		return false;
	const char *data = cursor.end;
	return read_header(&cursor, &header, err)
		&& read_integers(out, &header, path, data, (size_t)(bytes + n - data), err);
}

bool al_npy_parse(struct al_npy *out, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	struct header header = {.known = reals};
	struct cursor cursor = {0};

	*out = (struct al_npy){0};
	if (!find_header(&cursor, path, bytes, n, err))
		return false;
	const char *data = cursor.end;
	return read_header(&cursor, &header, err)
		&& read_data(out, &header, path, data, (size_t)(bytes + n - data), err);
}

bool al_npy_read(struct al_npy *out, const char *path, struct al_error *err)
{
	struct al_text text;

	*out = (struct al_npy){0};
	if (!al_file_read(&text, path, largest_file, err))
		return false;
	bool ok = al_npy_parse(out, path, text.data, text.length, err);
	al_text_finish(&text);
	return ok;
}

void al_npy_finish(struct al_npy *npy)
{
	free(npy->data);
	*npy = (struct al_npy){0};
}

/* ---- in blocks ---- */

static const char *stem(struct al_arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t n = strlen(name);

	return al_strndup(arena, name, n > 4 && strcmp(name + n - 4, ".npy") == 0 ? n - 4 : n);
}

static bool add_tensor(struct al_checkpoint *out, const struct header *h, uint64_t header_bytes,
	struct al_error *err)
{
	const struct al_source *source = &out->shards[0].source;
	int64_t *shape = al_new_array(&out->arena, int64_t, 2);
	size_t count, bytes;

	if (h->is_vector)
		return al_fail(err, AL_EINPUT, "%s: found one dimension, expected a matrix",
			source->path);
	if (!data_bytes(h, &count, &bytes) || count > INT64_MAX
		|| bytes != source->bytes - header_bytes)
		return fail_size(h, source->path, source->bytes - header_bytes, err);
	for (size_t i = 0; i < 2; i++)
		shape[i] = (int64_t)h->shape[h->is_fortran ? 1 - i : i];
	out->tensors = al_new(&out->arena, struct al_tensor);
	out->tensors[0] = (struct al_tensor){.name = stem(&out->arena, source->path),
		.dtype = h->dtype,
		.shape = shape,
		.n_dims = 2,
		.n_elements = (int64_t)count,
		.offset = header_bytes,
		.bytes = bytes};
	out->n_tensors = 1;
	return true;
}

static bool list_file(struct al_checkpoint *out, bool *is_fortran, struct al_error *err)
{
	struct al_shard *shard = &out->shards[0];
	const struct al_source *source = &shard->source;
	const size_t most = LONGEST_HEADER + MAGIC + 6,
		     n = source->bytes < most ? (size_t)source->bytes : most;
	char *start = al_arena_alloc(&out->arena, n + 1, 1);
	struct header header = {.known = reals};
	struct cursor cursor = {0};

	if (!al_source_read(source, 0, start, n, err)
		|| !find_header(&cursor, source->path, start, n, err))
		return false;
	shard->format = "npy";
	shard->header_bytes = (uint64_t)(cursor.end - start);
	shard->header_text = (uint64_t)(cursor.at - start);
	shard->header_hash = al_hash(AL_HASH_EMPTY, cursor.at, (size_t)(cursor.end - cursor.at));
	out->header_hash = shard->header_hash;
	out->bytes = source->bytes;
	if (!read_header(&cursor, &header, err))
		return false;
	*is_fortran = header.is_fortran;
	return add_tensor(out, &header, shard->header_bytes, err);
}

bool al_npy_open(struct al_checkpoint *out, const char *path, bool *is_fortran,
	struct al_error *err)
{
	*out = (struct al_checkpoint){0};
	al_arena_init(&out->arena);
	out->path = al_strdup(&out->arena, path);
	out->shards = al_new(&out->arena, struct al_shard);
	out->n_shards = 1;
	out->shards[0].source = (struct al_source){.path = out->path, .fd = -1};
	if (al_source_open(&out->shards[0].source, out->path, err)
		&& list_file(out, is_fortran, err))
		return true;
	al_checkpoint_close(out);
	return false;
}

bool al_npy_is(const char *path)
{
	struct al_source source;
	char start[MAGIC];

	if (!al_source_open(&source, path, NULL))
		return false;
	bool is = source.bytes >= MAGIC && al_source_read(&source, 0, start, MAGIC, NULL)
		&& memcmp(start, magic, MAGIC) == 0;
	al_source_close(&source);
	return is;
}

/* ---- writing ---- */

static void add_header(struct al_text *out, size_t rows, size_t cols, bool is_fortran)
{
	struct al_text header;

	al_text_init(&header);
	al_text_addf(&header, "{'descr': '<f8', 'fortran_order': %s, 'shape': (%zu, %zu), }",
		is_fortran ? "True" : "False", rows, cols);
	size_t before = MAGIC + 4, unpadded = before + header.length + 1;
	al_text_add_repeated(&header, ' ', (ALIGNMENT - unpadded % ALIGNMENT) % ALIGNMENT);
	al_text_add(&header, "\n");
	const char start[4] = {1, 0, (char)header.length, 0}; /* 54 or 118: below 128 */
	al_text_add_bytes(out, magic, MAGIC);
	al_text_add_bytes(out, start, sizeof(start));
	al_text_add_bytes(out, header.data, header.length);
	al_text_finish(&header);
}

void al_npy_add(struct al_text *out, const double *data, size_t rows, size_t cols, bool transposes)
{
	const size_t count = rows * cols;
	unsigned char *bytes = al_alloc(count, 8);

	al_dtype_stored("F64")->from_double(data, count, bytes);
	add_header(out, transposes ? cols : rows, transposes ? rows : cols, !transposes);
	al_text_add_bytes(out, (const char *)bytes, 8 * count);
	free(bytes);
}
