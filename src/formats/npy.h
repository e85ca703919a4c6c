/* numpy's .npy files: one array. npy.c describes the format. */
#pragma once

#include "formats/checkpoint.h"

/* How they begin. */
enum { AL_NPY_MAGIC = 6 };
extern const char al_npy_magic[AL_NPY_MAGIC + 1];

struct al_npy {
	double *data; /* [rows][cols], column-major whatever the file's order */
	size_t rows, cols;
	const struct al_dtype *dtype; /* as stored */
};

/* Reads a matrix of F16, F32 or F64, in either order of bytes, in C or Fortran order, of versions 1
 * to 3; one dimension is one row.
 * Anything else, and a file that is longer or shorter than its header declares, is an AL_EINPUT
 * error. On failure nothing is left to finish. */
bool al_npy_read(struct al_npy *out, const char *path, struct al_error *err) AL_MUST_CHECK;

/* The same of bytes in memory, which `path` names in errors; or of integers of 1 to 8 bytes, signed
 * or not, those beyond 2^53 rounded. */
bool al_npy_parse(struct al_npy *out, const char *path, const char *bytes, size_t n,
	bool are_integers, struct al_error *err) AL_MUST_CHECK;

/* Safe on a zeroed struct. */
void al_npy_finish(struct al_npy *npy);

/* Adds the file of a column-major matrix as F64, version 1: as [rows][cols] in Fortran order, or
 * where `transposes` as [cols][rows] in C order, which are the same bytes. */
void al_npy_add(struct al_text *out, const double *data, size_t rows, size_t cols, bool transposes);

/* The same of an array of 2 or 3 dimensions in C order. */
void al_npy_add_array(struct al_text *out, const double *data, const size_t *shape, size_t n_dims);

/* The header alone of an array in C order, of 2 to 4 dimensions and this dtype as numpy writes it
 * ("<f4"): its numbers follow, little-endian. */
void al_npy_add_header(struct al_text *out, const char *dtype, const size_t *shape, size_t n_dims);
