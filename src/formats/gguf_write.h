/* Writing GGUF, version 3: metadata, then tensors; gguf.c describes the format. */
#pragma once

#include "formats/tensor_writer.h"

/* A key: a text, a list, a number below 2^32, true or false, or a float32. */
struct al_gguf_entry {
	const char *key;
	const char *text; /* NULL: not a text */
	const char *const *list; /* [n_list]; NULL: not a list of texts ... */
	const float *reals; /* ... of float32 ... */
	const int32_t *wholes; /* ... of int32 */
	size_t n_list;
	bool is_flag, is_real;
	uint32_t number;
	float real;
	bool is_left_out; /* a key of the source that the file doesn't get */
};

/* Writes the header: name, dtype and shape of each tensor count, the rest is not looked at. The
 * metadata are those of `source`, a GGUF file, byte for byte in their order, but for those that
 * entries replace; entries with other keys follow. Without a source (NULL) they are the entries.
 * Keys of entries and names of tensors must differ. */
bool al_gguf_create(struct al_tensor_writer **out, const char *path, const struct al_shard *source,
	const struct al_gguf_entry *entries, size_t n_entries, const struct al_tensor *tensors,
	size_t n_tensors, struct al_error *err) AL_MUST_CHECK;

/* Puts the entries aside as a file's metadata, and makes the checkpoint's only shard of them: what
 * reads metadata and header_config reads these. The tensors must be listed already. */
struct al_spill;
bool al_gguf_make_header(struct al_checkpoint *checkpoint, struct al_spill *aside,
	const struct al_gguf_entry *entries, size_t n, struct al_error *err) AL_MUST_CHECK;

/* A vector of float32. */
struct al_gguf_vector {
	const char *name;
	const float *numbers; /* [n] */
	size_t n;
};

/* Writes metadata and vectors. */
bool al_gguf_write(const char *path, const struct al_gguf_entry *entries, size_t n_entries,
	const struct al_gguf_vector *vectors, size_t n_vectors, struct al_error *err) AL_MUST_CHECK;
