/* The data of a file of tensors, one tensor after the other, behind a header that promises them:
 * what all formats that are written have in common.
 *
 * The file appears whole or not at all (base/output.h). */
#pragma once

#include "formats/checkpoint.h"

struct al_text;
struct al_tensor_writer;

/* The bytes of a tensor of that dtype and shape. */
bool al_tensor_measure(const struct al_tensor *tensor, uint64_t *bytes,
	struct al_error *err) AL_MUST_CHECK;

/* Writes the header; `data_bytes` follow, without what aligns the tensors, each of which begins at
 * a multiple of `alignment`. */
bool al_tensor_writer_create(struct al_tensor_writer **out, const char *path,
	const struct al_text *header, uint64_t data_bytes, uint64_t alignment,
	struct al_error *err) AL_MUST_CHECK;

/* The same with a file that is gone on with behind its first `kept` bytes (al_output_open_kept; 0:
 * it begins), and what al_output_keep does, which gives their number. */
bool al_tensor_writer_create_kept(struct al_tensor_writer **out, const char *path, uint64_t kept,
	const struct al_text *header, uint64_t data_bytes, uint64_t alignment,
	struct al_error *err) AL_MUST_CHECK;
bool al_tensor_writer_keep(struct al_tensor_writer *writer, uint64_t *kept,
	struct al_error *err) AL_MUST_CHECK;

/* The next bytes of the data. More than the header promises are refused. */
bool al_tensor_writer_append(struct al_tensor_writer *writer, const void *bytes, size_t length,
	struct al_error *err) AL_MUST_CHECK;

/* The same from numbers, rounded to the tensor's dtype. */
bool al_tensor_writer_append_doubles(struct al_tensor_writer *writer, const struct al_dtype *dtype,
	const double *values, size_t n, struct al_error *err) AL_MUST_CHECK;

/* Of a dtype with from_weighted; `weights` [n], or NULL. */
bool al_tensor_writer_append_weighted(struct al_tensor_writer *writer, const struct al_dtype *dtype,
	const double *values, const double *weights, size_t n, struct al_error *err) AL_MUST_CHECK;

/* After the last byte of each tensor of a format that aligns them. */
bool al_tensor_writer_align(struct al_tensor_writer *writer, struct al_error *err) AL_MUST_CHECK;

/* al_output_written of the file. */
const char *al_tensor_writer_written(const struct al_tensor_writer *writer);

/* Puts the file in its place; fewer bytes than promised are refused. The writer is gone afterwards,
 * on failure too. */
bool al_tensor_writer_commit(struct al_tensor_writer *writer, struct al_error *err) AL_MUST_CHECK;

/* Leaves the old file as it was. The writer is gone afterwards; NULL is safe. */
void al_tensor_writer_abandon(struct al_tensor_writer *writer);
