/* numpy's .npy files: a header (npy_header.c), then the numbers and nothing after them. Here whole
 * files are matrices; as a checkpoint a file is one tensor, which is named like it. */
#include "formats/npy.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "formats/format.h"
#include "formats/layout.h"
#include "formats/npy_header.h"

enum { ALIGNMENT = 64 };

static const size_t largest_file = (size_t)1 << 32;

/* A file's numbers as a matrix: one dimension is one row. */
struct matrix {
	struct al_npy_header header;
	const unsigned char *numbers;
	size_t rows, cols, count;
	unsigned char *turned; /* the numbers, where their bytes had to be turned round */
};

static bool fail_size(const struct matrix *m, const char *path, uint64_t n, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: %zu x %zu of %s in %llu bytes of data", path, m->rows,
		m->cols, al_dtype_title(m->header.dtype), (unsigned long long)n);
}

static bool take_shape(struct matrix *m, const char *path, struct al_error *err)
{
	const struct al_npy_header *h = &m->header;

	if (h->n_dims > 2)
		return al_fail(err, AL_EINPUT,
			"%s: found more than two dimensions, expected a matrix", path);
	if (h->n_dims == 0)
		return al_fail(err, AL_EINPUT, "%s: found a single number, expected a matrix",
			path);
	m->rows = h->n_dims == 1 ? 1 : (size_t)h->shape[0];
	m->cols = (size_t)h->shape[h->n_dims - 1];
	return true;
}

/* "I32" and "U8" are integers. */
static bool check_kind(const struct al_dtype *dtype, bool are_integers, const char *path,
	struct al_error *err)
{
	const char *name = al_dtype_title(dtype);
	const bool fits = are_integers ? *name == 'I' || *name == 'U' : dtype->epsilon > 0;

	return fits
		|| al_fail(err, AL_EINPUT, "%s: found numbers of type %s, expected %s", path, name,
			are_integers ? "integers" : "floating point");
}

/* The header, and bytes of data as many as it promises. */
static bool open_matrix(struct matrix *m, bool are_integers, const char *path, const char *bytes,
	size_t n, struct al_error *err)
{
	size_t expected;

	*m = (struct matrix){0};
	if (!al_npy_header_parse(&m->header, path, bytes, n, err)
		|| !check_kind(m->header.dtype, are_integers, path, err)
		|| !take_shape(m, path, err))
		return false;
	n -= m->header.data;
	if (__builtin_mul_overflow(m->rows, m->cols, &m->count)
		|| __builtin_mul_overflow(m->count, m->header.dtype->block_bytes, &expected)
		|| expected != n)
		return fail_size(m, path, n, err);
	m->numbers = (const unsigned char *)bytes + m->header.data;
	if (!m->header.is_swapped)
		return true;
	m->turned = al_alloc(n, 1);
	memcpy(m->turned, m->numbers, n);
	al_swap_numbers(m->turned, m->count, m->header.dtype);
	m->numbers = m->turned;
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

static bool read_reals(struct al_npy *out, const struct matrix *m, const char *path,
	struct al_error *err)
{
	const struct al_dtype *dtype = m->header.dtype;

	*out = (struct al_npy){.data = al_try_calloc(m->count, sizeof(double), err),
		.rows = m->rows,
		.cols = m->cols,
		.dtype = dtype};
	if (!out->data)
		return al_in(err, "%s", path);
	dtype->to_double(m->numbers, m->count, out->data);
	/* without numbers there may still be columns, more than anybody counts */
	if (m->header.is_fortran || m->count == 0 || transpose(out, err))
		return true;
	al_npy_finish(out);
	return false;
}

/* A number above 2^63 comes out negative, as one that nobody wants. */
static int64_t integer_at(const unsigned char *bytes, size_t size, bool is_signed)
{
	uint64_t value = 0;
	const int shift = 64 - 8 * (int)size;

	memcpy(&value, bytes, size);
	return is_signed ? (int64_t)(value << shift) >> shift : (int64_t)value;
}

static bool read_integers(struct al_npy_integers *out, const struct matrix *m, const char *path,
	struct al_error *err)
{
	const bool is_signed = *al_dtype_title(m->header.dtype) == 'I';
	const size_t rows = m->rows, cols = m->cols, size = m->header.dtype->block_bytes;

	*out = (struct al_npy_integers){al_try_calloc(m->count, sizeof(int64_t), err), rows, cols};
	if (!out->data)
		return al_in(err, "%s", path);
	for (size_t k = 0; k < m->count; k++) {
		const size_t at = m->header.is_fortran ? k % rows * cols + k / rows : k;
		out->data[at] = integer_at(m->numbers + k * size, size, is_signed);
	}
	if (m->count == 0)
		out->rows = 0;
	return true;
}

bool al_npy_begins(const char *bytes, size_t n)
{
	return n >= AL_NPY_MAGIC && memcmp(bytes, al_npy_magic, AL_NPY_MAGIC) == 0;
}

bool al_npy_parse_integers(struct al_npy_integers *out, const char *path, const char *bytes,
	size_t n, struct al_error *err)
{
	struct matrix matrix;
	const bool ok = open_matrix(&matrix, true, path, bytes, n, err)
		&& read_integers(out, &matrix, path, err);

	free(matrix.turned);
	return ok;
}

bool al_npy_parse(struct al_npy *out, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	struct matrix matrix;

	*out = (struct al_npy){0};
	const bool ok = open_matrix(&matrix, false, path, bytes, n, err)
		&& read_reals(out, &matrix, path, err);
	free(matrix.turned);
	return ok;
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

/* ---- as a checkpoint ---- */

bool al_npy_list(struct al_listing *listing, const struct al_npy_header *header, const char *file,
	struct al_layout layout, uint64_t end, struct al_error *err)
{
	struct al_arena *arena = &listing->checkpoint->arena;
	const size_t n = strlen(file);

	if (header->is_fortran && header->n_dims > 1)
		layout.strides = al_layout_fortran(arena, header->shape, header->n_dims);
	layout.is_swapped = header->is_swapped;
	return al_listing_add(listing,
		&(struct al_claim){.name = al_strndup(arena, file,
					   n > 4 && al_ends_with(file, ".npy") ? n - 4 : n),
			.dtype = header->dtype,
			.shape = header->shape,
			.n_dims = header->n_dims,
			.begin = layout.offset,
			.end = end,
			.layout = layout.archive || layout.strides || layout.is_swapped ? &layout
											: NULL},
		err);
}

static bool read_header(struct al_listing *listing, struct al_npy_header *header,
	struct al_error *err)
{
	const struct al_source *source = &listing->shard->source;
	const size_t n = source->bytes < AL_NPY_MOST_HEADER ? (size_t)source->bytes
							    : AL_NPY_MOST_HEADER;
	char *start = al_alloc(n, 1);
	const bool ok = al_source_read(source, 0, start, n, err)
		&& al_npy_header_parse(header, source->path, start, n, err);

	if (ok)
		listing->shard->header_hash = al_hash(AL_HASH_EMPTY, start + header->text,
			header->data - header->text);
	free(start);
	return ok;
}

static bool list(struct al_listing *listing, struct al_error *err)
{
	struct al_shard *shard = listing->shard;
	const char *slash = strrchr(shard->source.path, '/');
	struct al_npy_header header;

	if (!read_header(listing, &header, err))
		return false;
	shard->header_text = header.text;
	shard->header_bytes = header.data;
	return al_npy_list(listing, &header, slash ? slash + 1 : shard->source.path,
		(struct al_layout){.offset = header.data}, shard->source.bytes, err);
}

const struct al_format al_format_npy = {
	.name = "npy",
	.ending = ".npy",
	.magic = "\x93NUMPY",
	.is_alone = true,
	.may_share = true,
	.list = list,
};

bool al_npy_is(const char *path)
{
	struct al_source source;
	char start[AL_NPY_MAGIC];

	if (!al_source_open(&source, path, NULL))
		return false;
	bool is = source.bytes >= AL_NPY_MAGIC
		&& al_source_read(&source, 0, start, AL_NPY_MAGIC, NULL)
		&& al_npy_begins(start, AL_NPY_MAGIC);
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
	size_t before = AL_NPY_MAGIC + 4, unpadded = before + header.length + 1;
	al_text_add_repeated(&header, ' ', (ALIGNMENT - unpadded % ALIGNMENT) % ALIGNMENT);
	al_text_add(&header, "\n");
	const char start[4] = {1, 0, (char)header.length, 0}; /* 54 or 118: below 128 */
	al_text_add_bytes(out, al_npy_magic, AL_NPY_MAGIC);
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
