/* The header of numpy's .npy files; npy_header.c describes the format. */
#pragma once

#include "formats/format.h"
#include "formats/layout.h"
#include "formats/npy.h"

/* A whole header is within so many bytes from the file's beginning. */
enum { AL_NPY_MOST_DIMS = 32, AL_NPY_MOST_HEADER = (1 << 16) + 12 };

struct al_npy_header {
	const struct al_dtype *dtype;
	bool is_swapped; /* the bytes of a number are stored the other way round */
	bool is_fortran; /* the first dimension runs fastest */
	int64_t shape[AL_NPY_MOST_DIMS];
	size_t n_dims;
	size_t text; /* where the header's text begins */
	size_t data; /* where it ends, and the numbers begin */
};

/* Parses the first `n` bytes of a file; `path` names it in errors. Arrays of objects, records and
 * texts are refused by name. */
bool al_npy_header_parse(struct al_npy_header *out, const char *path, const char *bytes, size_t n,
	struct al_error *err) AL_MUST_CHECK;

/* Adds the array to the list of a checkpoint's tensors, named like its file without the ending; its
 * numbers are so many bytes from layout.offset on. */
bool al_npy_list(struct al_listing *listing, const struct al_npy_header *header, const char *file,
	struct al_layout layout, uint64_t bytes, struct al_error *err) AL_MUST_CHECK;
