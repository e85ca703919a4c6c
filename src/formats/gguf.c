/* GGUF, versions 2 and 3 (llama.cpp; gguf.md in ggml's docs): metadata, the list of tensors, and
 * the tensors, each at a multiple of the alignment, one after the other. Dimensions are in reverse
 * order, the one that runs fastest first. What reference readers disagree on is refused. */
#include "formats/gguf.h"

enum { MOST_DIMS = 4 };

/* Our name of each type of tensors; NULL: was removed, or never was. */
static const char *const tensor_types[] = {"f32", "f16", "q4_0", "q4_1", NULL, NULL, "q5_0", "q5_1",
	"q8_0", "q8_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k", "iq2_xxs", "iq2_xs",
	"iq3_xxs", "iq1_s", "iq4_nl", "iq3_s", "iq2_s", "iq4_xs", "int8", "i16", "i32", "i64",
	"f64", "iq1_m", "bf16", NULL, NULL, NULL, "tq1_0", "tq2_0", NULL, NULL, NULL, "mxfp4",
	"nvfp4", "q1_0", "q2_0"};

enum { N_TENSOR_TYPES = sizeof(tensor_types) / sizeof(*tensor_types) };

int al_gguf_type(const struct al_dtype *dtype)
{
	for (int i = 0; i < N_TENSOR_TYPES; i++)
		if (tensor_types[i] && al_dtype_named(tensor_types[i]) == dtype)
			return i;
	return -1;
}

/* ---- tensors ---- */

struct info {
	const char *name;
	const struct al_dtype *dtype;
	int64_t shape[MOST_DIMS];
	uint32_t n_dims;
	uint64_t offset;
};

static bool in_tensor(const struct al_gguf *gguf, const struct info *info, struct al_error *err)
{
	return al_in(err, "%s: tensor \"%.120s\"", gguf->listing->shard->source.path, info->name);
}

static bool take_shape(struct al_gguf *gguf, struct info *info, struct al_error *err)
{
	uint64_t dims[MOST_DIMS] = {0};

	if (!al_cursor_u32(&gguf->cursor, &info->n_dims, "a tensor's dimensions", err))
		return false;
	if (info->n_dims > MOST_DIMS)
		return al_fail(err, AL_EINPUT, "%" PRIu32 " dimensions, expected at most %d",
			       info->n_dims, MOST_DIMS)
			|| in_tensor(gguf, info, err);
	if (!al_cursor_take(&gguf->cursor, dims, info->n_dims * sizeof(*dims),
		    "a tensor's dimensions", err))
		return false;
	for (uint32_t i = 0; i < info->n_dims; i++) {
		if (dims[i] > INT64_MAX)
			return al_fail(err, AL_EINPUT, "a dimension of %" PRIu64, dims[i])
				|| in_tensor(gguf, info, err);
		info->shape[info->n_dims - 1 - i] = (int64_t)dims[i];
	}
	return true;
}

static bool take_tensor_type(struct al_gguf *gguf, struct info *info, struct al_error *err)
{
	uint32_t type;

	if (!al_cursor_u32(&gguf->cursor, &type, "a tensor's type", err))
		return false;
	if (type >= N_TENSOR_TYPES || !tensor_types[type])
		return al_fail(err, AL_EINPUT, "type %" PRIu32 ", which ggml doesn't define", type)
			|| in_tensor(gguf, info, err);
	info->dtype = al_dtype_named(tensor_types[type]);
	const int64_t row = info->n_dims ? info->shape[info->n_dims - 1] : 1;
	return row % (int64_t)info->dtype->block_elements == 0
		|| al_fail(err, AL_EINPUT,
			"rows of %" PRId64 " numbers are no whole blocks of %zu (%s)", row,
			info->dtype->block_elements, al_dtype_title(info->dtype))
		|| in_tensor(gguf, info, err);
}

static bool take_info(struct al_gguf *gguf, struct info *info, struct al_error *err)
{
	return al_gguf_take_text(gguf, "a tensor's name", &info->name, err)
		&& take_shape(gguf, info, err) && take_tensor_type(gguf, info, err)
		&& al_cursor_u64(&gguf->cursor, &info->offset, "a tensor's place", err);
}

static uint64_t align(const struct al_gguf *gguf, uint64_t bytes)
{
	return (bytes + gguf->alignment - 1) & ~(gguf->alignment - 1);
}

/* Tensors follow each other without holes but for the alignment: that is what llama.cpp accepts. */
static bool add_tensor(struct al_gguf *gguf, const struct info *info, uint64_t *expected,
	struct al_error *err)
{
	int64_t n;
	uint64_t bytes;

	if (!al_multiply_dims(1, info->shape, info->n_dims, &n)
		|| !al_dtype_size(info->dtype, n, &bytes) || bytes > INT64_MAX)
		return al_fail(err, AL_EINPUT, "its bytes are 2^63 or more")
			|| in_tensor(gguf, info, err);
	if (info->offset != *expected)
		return al_fail(err, AL_EINPUT,
			       "begins at byte %" PRIu64 " of the data, expected %" PRIu64,
			       info->offset, *expected)
			|| in_tensor(gguf, info, err);
	const struct al_tensor claim = {.name = info->name,
		.dtype = info->dtype,
		.shape = info->shape,
		.n_dims = info->n_dims,
		.offset = info->offset,
		.bytes = bytes};
	*expected = align(gguf, info->offset + bytes);
	return al_listing_add(gguf->listing, &claim, err);
}

/* The least that a tensor takes: an empty name, no dimensions, a type, a place. */
enum { LEAST_TENSOR = 24 };

static bool take_tensors(struct al_gguf *gguf, uint64_t n, struct al_error *err)
{
	struct al_shard *shard = gguf->listing->shard;
	uint64_t expected = 0;

	if (n > al_cursor_left(&gguf->cursor) / LEAST_TENSOR)
		return al_fail(err, AL_EINPUT,
			"%s: %" PRIu64 " tensors, more than the file can list", shard->source.path,
			n);
	struct info *infos = al_new_array(gguf->arena, struct info, (size_t)n + 1);
	for (uint64_t i = 0; i < n; i++)
		if (!take_info(gguf, &infos[i], err))
			return false;
	shard->header_bytes = gguf->cursor.at;
	gguf->listing->data_offset = align(gguf, gguf->cursor.at);
	if (n && gguf->listing->data_offset > shard->source.bytes)
		return al_fail(err, AL_EINPUT, "%s: ends at byte %" PRIu64 ", before its data",
			shard->source.path, shard->source.bytes);
	if (n == 0)
		gguf->listing->data_offset = shard->header_bytes;
	for (uint64_t i = 0; i < n; i++)
		if (!add_tensor(gguf, &infos[i], &expected, err))
			return false;
	return true;
}

/* ---- the file ---- */

static bool check_version(const struct al_gguf *gguf, uint32_t version, struct al_error *err)
{
	const char *path = gguf->listing->shard->source.path;

	if (version == 2 || version == 3)
		return true;
	if (version != 0 && (version & 0xFFFF) == 0)
		return al_fail(err, AL_EINPUT,
			"%s: a big-endian GGUF file; only little-endian is supported", path);
	return al_fail(err, AL_EINPUT, "%s: GGUF version %" PRIu32 ", expected 2 or 3", path,
		version);
}

static bool take_all(struct al_gguf *gguf, struct al_error *err)
{
	struct {
		uint32_t magic, version;
		uint64_t n_tensors, n_pairs;
	} header;

	return al_cursor_take(&gguf->cursor, &header, sizeof(header), "the header", err)
		&& check_version(gguf, header.version, err)
		&& al_gguf_take_pairs(gguf, header.n_pairs, err)
		&& take_tensors(gguf, header.n_tensors, err);
}

static bool list(struct al_listing *listing, struct al_error *err)
{
	AL_FREED struct al_gguf *gguf = al_alloc(1, sizeof(*gguf));

	*gguf = (struct al_gguf){.listing = listing,
		.arena = &listing->checkpoint->arena,
		.alignment = al_gguf_alignment(NULL)};
	al_cursor_init(&gguf->cursor, &listing->shard->source);
	return take_all(gguf, err);
}

const struct al_format al_format_gguf = {
	.name = "GGUF",
	.ending = ".gguf",
	.magic = "GGUF",
	.is_alone = true,
	.list = list,
	.open_others = al_gguf_open_parts,
	.describe = al_gguf_set_config,
};
