/* numpy's .npy files: a header (npy_header.c), then the numbers and nothing after them. Here whole
 * files are matrices; as a checkpoint a file is one tensor, which is named like it. */
#include "formats/npy.h"

#include "base/file.h"
#include "formats/format.h"
#include "formats/layout.h"
#include "formats/npy_header.h"

enum { ALIGNMENT = 64 };

static const size_t largest_file = UINT32_MAX;

/* One dimension is one row. */
static bool take_shape(struct al_npy *out, const struct al_npy_header *h, const char *path,
	size_t n, struct al_error *err)
{
	size_t count, expected;

	if (h->n_dims < 1 || h->n_dims > 2)
		return al_fail(err, AL_EINPUT, "%s: found %zu dimensions, expected a matrix", path,
			h->n_dims);
	out->rows = h->n_dims == 1 ? 1 : (size_t)h->shape[0];
	out->cols = (size_t)h->shape[h->n_dims - 1];
	out->dtype = h->dtype;
	return (!__builtin_mul_overflow(out->rows, out->cols, &count)
		       && !__builtin_mul_overflow(count, h->dtype->block_bytes, &expected)
		       && expected == n)
		|| al_fail(err, AL_EINPUT, "%s: %zu x %zu of %s in %zu bytes of data", path,
			out->rows, out->cols, al_dtype_title(h->dtype), n);
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

/* Columns one after the other, whatever the file's order. */
static bool convert(struct al_npy *out, bool is_fortran, const unsigned char *bytes,
	struct al_error *err)
{
	const size_t count = out->rows * out->cols, size = out->dtype->block_bytes;
	AL_FREED double *row = is_fortran ? NULL : al_try_calloc(out->cols, sizeof(*row), err);

	out->data = is_fortran || row ? al_try_calloc(count, sizeof(double), err) : NULL;
	if (out->data && is_fortran)
		out->dtype->to_double(bytes, count, out->data);
	for (size_t i = 0; out->data && row && i < out->rows; i++) {
		out->dtype->to_double(bytes + i * out->cols * size, out->cols, row);
		for (size_t j = 0; j < out->cols; j++)
			out->data[i + j * out->rows] = row[j];
	}
	return out->data != NULL;
}

bool al_npy_parse(struct al_npy *out, const char *path, const char *bytes, size_t n,
	bool are_integers, struct al_error *err)
{
	struct al_npy_header h;

	*out = (struct al_npy){0};
	if (!al_npy_header_parse(&h, path, bytes, n, err)
		|| !check_kind(h.dtype, are_integers, path, err)
		|| !take_shape(out, &h, path, n - h.data, err))
		return false;
	n -= h.data;
	if (n == 0) /* there may still be rows or columns, more than anybody counts */
		out->rows = out->cols = 0;
	AL_FREED unsigned char *numbers = al_alloc(n + 1, 1);
	memcpy(numbers, bytes + h.data, n);
	if (h.is_swapped)
		al_swap_numbers(numbers, out->rows * out->cols, h.dtype);
	return convert(out, h.is_fortran, numbers, err) || al_in(err, "%s", path);
}

bool al_npy_read(struct al_npy *out, const char *path, struct al_error *err)
{
	AL_TEXT(text);

	*out = (struct al_npy){0};
	return al_file_read(&text, path, largest_file, err)
		&& al_npy_parse(out, path, text.data, text.length, false, err);
}

void al_npy_finish(struct al_npy *npy)
{
	free(npy->data);
	*npy = (struct al_npy){0};
}

/* ---- as a checkpoint ---- */

bool al_npy_list(struct al_listing *listing, const struct al_npy_header *header, const char *file,
	struct al_layout layout, uint64_t bytes, struct al_error *err)
{
	struct al_arena *arena = &listing->checkpoint->arena;
	const size_t n = strlen(file);
	int64_t strides[AL_NPY_MOST_DIMS];

	al_layout_fortran(header->shape, header->n_dims, strides);
	layout.strides = header->is_fortran ? strides : NULL;
	layout.is_swapped = header->is_swapped;
	return al_listing_add(listing,
		&(struct al_tensor){.name = al_strndup(arena, file,
					    n > 4 && al_ends_with(file, ".npy") ? n - 4 : n),
			.dtype = header->dtype,
			.shape = header->shape,
			.n_dims = header->n_dims,
			.offset = layout.offset,
			.bytes = bytes,
			.layout = &layout},
		err);
}

static bool list(struct al_listing *listing, struct al_error *err)
{
	struct al_shard *shard = listing->shard;
	const char *path = shard->source.path, *slash = strrchr(path, '/');
	const size_t n = (size_t)al_least(shard->source.bytes, AL_NPY_MOST_HEADER);
	AL_FREED char *start = al_alloc(n, 1);
	struct al_npy_header header;

	if (!al_source_read(&shard->source, 0, start, n, err)
		|| !al_npy_header_parse(&header, path, start, n, err))
		return false;
	shard->header_text = header.text;
	shard->header_bytes = header.data;
	return al_npy_list(listing, &header, slash ? slash + 1 : path,
		(struct al_layout){.offset = header.data}, shard->source.bytes - header.data, err);
}

const struct al_format al_format_npy = {
	.name = "npy",
	.ending = ".npy",
	.magic = "\x93NUMPY",
	.is_alone = true,
	.may_share = true,
	.list = list,
};

/* ---- writing ---- */

static void add_header(struct al_text *out, const char *dtype, const size_t *shape, size_t n_dims,
	bool is_fortran)
{
	AL_TEXT(header);

	al_text_addf(&header, "{'descr': '%s', 'fortran_order': %s, 'shape': (", dtype,
		is_fortran ? "True" : "False");
	for (size_t i = 0; i < n_dims; i++)
		al_text_addf(&header, "%s%zu", i ? ", " : "", shape[i]);
	al_text_add(&header, "), }");
	size_t before = AL_NPY_MAGIC + 4, unpadded = before + header.length + 1;
	al_text_add_repeated(&header, ' ', (ALIGNMENT - unpadded % ALIGNMENT) % ALIGNMENT);
	al_text_add(&header, "\n");
	const char start[4] = {1, 0, (char)header.length, 0}; /* 54 or 118: below 128 */
	al_text_add_bytes(out, al_npy_magic, AL_NPY_MAGIC);
	al_text_add_bytes(out, start, sizeof(start));
	al_text_add_bytes(out, header.data, header.length);
}

static void add(struct al_text *out, const double *data, const size_t *shape, size_t n_dims,
	bool is_fortran)
{
	size_t count = 1;

	for (size_t i = 0; i < n_dims; i++)
		count *= shape[i];
	AL_FREED unsigned char *bytes = al_alloc(count, 8);
	al_dtype_stored("F64")->from_double(data, count, bytes);
	add_header(out, "<f8", shape, n_dims, is_fortran);
	al_text_add_bytes(out, (const char *)bytes, 8 * count);
}

void al_npy_add_header(struct al_text *out, const char *dtype, const size_t *shape, size_t n_dims)
{
	add_header(out, dtype, shape, n_dims, false);
}

void al_npy_add_array(struct al_text *out, const double *data, const size_t *shape, size_t n_dims)
{
	add(out, data, shape, n_dims, false);
}

void al_npy_add(struct al_text *out, const double *data, size_t rows, size_t cols, bool transposes)
{
	const size_t shape[] = {transposes ? cols : rows, transposes ? rows : cols};

	add(out, data, shape, 2, !transposes);
}
