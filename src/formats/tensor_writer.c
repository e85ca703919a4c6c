/* The data of a file of tensors. */
#include "formats/tensor_writer.h"

#include "base/output.h"

enum { NUMBERS_AT_ONCE = 4096 };

struct al_tensor_writer {
	struct al_output *output;
	uint64_t at; /* the next byte of the file */
	uint64_t left; /* bytes of data that the header promises and that are still to come */
	uint64_t alignment;
};

bool al_tensor_measure(const struct al_tensor *tensor, uint64_t *bytes, struct al_error *err)
{
	int64_t n;

	if (!al_multiply_dims(1, tensor->shape, tensor->n_dims, &n))
		return al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": the product of its dimensions is too large",
			tensor->name);
	return al_dtype_size(tensor->dtype, n, bytes)
		|| al_fail(err, AL_EINPUT,
			"tensor \"%.120s\": %" PRId64
			" elements of %s don't make a whole number of bytes below 2^64",
			tensor->name, n, al_dtype_title(tensor->dtype));
}

static bool append(struct al_tensor_writer *writer, const void *bytes, size_t length,
	struct al_error *err)
{
	writer->at += length;
	return al_output_append(writer->output, bytes, length, err);
}

/* Behind the header and what aligns the data. */
static bool begin(struct al_tensor_writer *writer, const struct al_text *header,
	struct al_error *err)
{
	return append(writer, header->data, header->length, err)
		&& (writer->left == 0 || al_tensor_writer_align(writer, err));
}

/* Some of its data is there. */
static bool go_on(struct al_tensor_writer *writer, const char *path, uint64_t kept,
	const struct al_text *header, struct al_error *err)
{
	const uint64_t beyond = header->length % writer->alignment;
	const uint64_t first = header->length + (beyond ? writer->alignment - beyond : 0);

	if (kept < first || kept - first > writer->left)
		return al_fail(err, AL_EINPUT,
			"%s: %" PRIu64 " bytes of it are kept, expected %" PRIu64 " to %" PRIu64,
			path, kept, first, first + writer->left);
	writer->at = kept;
	writer->left -= kept - first;
	return true;
}

static bool create(struct al_tensor_writer **out, const char *path, const uint64_t *kept,
	const struct al_text *header, uint64_t data_bytes, uint64_t alignment, struct al_error *err)
{
	struct al_tensor_writer *writer = al_alloc(1, sizeof(*writer));

	*out = NULL;
	*writer = (struct al_tensor_writer){.left = data_bytes, .alignment = alignment};
	if (kept ? al_output_open_kept(&writer->output, path, *kept, err)
		 : al_output_open(&writer->output, path, err)) {
		if (kept && *kept > 0 ? go_on(writer, path, *kept, header, err)
				      : begin(writer, header, err)) {
			*out = writer;
			return true;
		}
		al_output_abandon(writer->output);
	}
	free(writer);
	return false;
}

bool al_tensor_writer_create(struct al_tensor_writer **out, const char *path,
	const struct al_text *header, uint64_t data_bytes, uint64_t alignment, struct al_error *err)
{
	return create(out, path, NULL, header, data_bytes, alignment, err);
}

bool al_tensor_writer_create_kept(struct al_tensor_writer **out, const char *path, uint64_t kept,
	const struct al_text *header, uint64_t data_bytes, uint64_t alignment, struct al_error *err)
{
	return create(out, path, &kept, header, data_bytes, alignment, err);
}

bool al_tensor_writer_keep(struct al_tensor_writer *writer, uint64_t *kept, struct al_error *err)
{
	*kept = writer->at;
	return al_output_keep(writer->output, err);
}

bool al_tensor_writer_append(struct al_tensor_writer *writer, const void *bytes, size_t length,
	struct al_error *err)
{
	if (length > writer->left)
		return al_fail(err, AL_EINPUT, "%zu bytes of tensors, expected %" PRIu64 " more",
			length, writer->left);
	writer->left -= length;
	return append(writer, bytes, length, err);
}

bool al_tensor_writer_append_doubles(struct al_tensor_writer *writer, const struct al_dtype *dtype,
	const double *values, size_t n, struct al_error *err)
{
	return al_tensor_writer_append_weighted(writer, dtype, values, NULL, n, err);
}

bool al_tensor_writer_append_weighted(struct al_tensor_writer *writer, const struct al_dtype *dtype,
	const double *values, const double *weights, size_t n, struct al_error *err)
{
	unsigned char bytes[8 * NUMBERS_AT_ONCE];

	if (!dtype->from_double)
		return al_fail(err, AL_EINPUT, "numbers of type %s can't be written",
			al_dtype_title(dtype));
	for (size_t done = 0; done < n;) {
		const size_t now = al_least(n - done, NUMBERS_AT_ONCE);
		if (weights)
			dtype->from_weighted(values + done, weights + done, now, bytes);
		else
			dtype->from_double(values + done, now, bytes);
		if (!al_tensor_writer_append(writer, bytes,
			    now / dtype->block_elements * dtype->block_bytes, err))
			return false;
		done += now;
	}
	return true;
}

bool al_tensor_writer_align(struct al_tensor_writer *writer, struct al_error *err)
{
	static const unsigned char zeros[4096];
	const uint64_t beyond = writer->at % writer->alignment;

	for (uint64_t n = beyond ? writer->alignment - beyond : 0, now; n > 0; n -= now) {
		now = al_least(n, sizeof(zeros));
		if (!append(writer, zeros, (size_t)now, err))
			return false;
	}
	return true;
}

const char *al_tensor_writer_written(const struct al_tensor_writer *writer)
{
	return al_output_written(writer->output);
}

bool al_tensor_writer_commit(struct al_tensor_writer *writer, struct al_error *err)
{
	bool ok = writer->left == 0
		|| al_fail(err, AL_EINPUT, "%" PRIu64 " bytes of tensors are missing",
			writer->left);

	if (ok)
		ok = al_output_commit(writer->output, err);
	else
		al_output_abandon(writer->output);
	free(writer);
	return ok;
}

void al_tensor_writer_abandon(struct al_tensor_writer *writer)
{
	if (writer)
		al_output_abandon(writer->output);
	free(writer);
}
