/* Writing GGUF, version 3: metadata, and tensors of float32; gguf.c describes the format. */
#pragma once

#include "base/base.h"

/* A key: a text, a list of texts, or a number below 2^32. */
struct al_gguf_entry {
	const char *key;
	const char *text; /* NULL: not a text */
	const char *const *list; /* [n_list]; NULL: not a list */
	size_t n_list;
	uint32_t number;
};

/* A vector. */
struct al_gguf_vector {
	const char *name;
	const float *numbers; /* [n] */
	size_t n;
};

/* The file appears whole or not at all. Keys and names must differ. */
bool al_gguf_write(const char *path, const struct al_gguf_entry *entries, size_t n_entries,
	const struct al_gguf_vector *vectors, size_t n_vectors, struct al_error *err) AL_MUST_CHECK;
