/* Writing safetensors: the header first, then the data of each tensor in the order of the header.
 *
 * The file appears whole or not at all (base/output.h). */
#pragma once

#include "formats/tensor_writer.h"

/* Adds the JSON of a header, padded, and gives the number of bytes of data that follow. */
bool al_safetensors_add_header(struct al_text *header, const struct al_tensor *tensors,
	size_t n_tensors, const struct al_metadata *metadata, size_t n_metadata,
	uint64_t *data_bytes, struct al_error *err) AL_MUST_CHECK;

/* Writes the header: name, dtype and shape of each tensor count, the rest is not looked at. Names
 * must differ; "__metadata__" is none. Of the metadata key and value count. */
bool al_safetensors_create(struct al_tensor_writer **out, const char *path,
	const struct al_tensor *tensors, size_t n_tensors, const struct al_metadata *metadata,
	size_t n_metadata, struct al_error *err) AL_MUST_CHECK;

/* The same of a file that is gone on with (al_tensor_writer_create_kept). */
bool al_safetensors_create_kept(struct al_tensor_writer **out, const char *path, uint64_t kept,
	const struct al_tensor *tensors, size_t n_tensors, const struct al_metadata *metadata,
	size_t n_metadata, struct al_error *err) AL_MUST_CHECK;

/* The index of a sharded folder: in which shard each tensor is, and how many bytes they are. Name,
 * dtype, shape and shard of a tensor count; `shards` are the names of the files. */
bool al_index_write(const char *path, const struct al_tensor *tensors, size_t n,
	const char *const *shards, struct al_error *err) AL_MUST_CHECK;
