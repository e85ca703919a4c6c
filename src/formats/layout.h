/* Tensors that don't lie in their file as they are read: packed in an archive, with the bytes of
 * each number the other way round, or with their dimensions in another order. Each is laid out
 * once, when it is first read, in a file without a name in the folder for temporary files
 * (TMPDIR). */
#pragma once

#include "formats/archive.h"
#include "formats/checkpoint.h"

enum { AL_LAYOUT_MOST_DIMS = 64 };

/* A tensor of another checkpoint's under this one's name, in float64 on its way: gathered, then
 * something is added to each number, then rounded to the tensor's format. */
struct al_made {
	const struct al_checkpoint *checkpoint;
	const struct al_tensor *tensor;
	const double *numbers; /* in the tensor's place, or NULL */
	int64_t shape[4], strides[4]; /* [n_dims], of the new order in the old one */
	size_t n_dims; /* 0: the order is the same */
	double plus;
};

struct al_layout {
	const struct al_made *made; /* alone, or NULL */
	struct al_archive *archive; /* where the tensor is packed; else NULL */
	size_t member;
	uint64_t offset; /* of its first number, in the member or in the file */
	const int64_t *strides; /* [n_dims], at least 0, in numbers; NULL: in order */
	bool is_swapped;
	bool is_aside; /* it was laid out, at `aside_at` */
	uint64_t aside_at;
};

/* Where a tensor can be read in order. */
struct al_place {
	const struct al_source *source;
	uint64_t offset;
};

bool al_tensor_place(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct al_place *place, struct al_error *err) AL_MUST_CHECK;

/* A copy of it that dies with the checkpoint, for a tensor. */
struct al_layout *al_layout_add(struct al_checkpoint *checkpoint, const struct al_layout *layout);

/* Room for so many bytes where what was laid out is, once a layout has been added; and bytes into
 * it, also from several threads. */
bool al_layout_make_room(const struct al_checkpoint *checkpoint, uint64_t length, uint64_t *at,
	struct al_error *err) AL_MUST_CHECK;
bool al_layout_put_aside(const struct al_checkpoint *checkpoint, uint64_t at, const void *bytes,
	size_t length, struct al_error *err) AL_MUST_CHECK;

/* How many numbers lie between a tensor's first one and the end of its last one. False on
 * overflow. */
bool al_layout_span(const int64_t *shape, const int64_t *strides, size_t n_dims,
	int64_t *span) AL_MUST_CHECK;

/* Are its layout's strides those that it has without them? */
bool al_layout_is_in_order(const struct al_tensor *tensor);

/* Its numbers by its layout's strides, the last dimension the fastest; `from` is its first one. */
void al_layout_gather(const struct al_tensor *tensor, const void *from, void *out);

/* How many bytes laying it out reads: of sparse tensors also what lies between their numbers. */
uint64_t al_layout_work(const struct al_tensor *tensor);

/* Turns the bytes of each number round. */
void al_swap_numbers(void *bytes, size_t n, const struct al_dtype *dtype);

/* The strides of that shape where the first dimension runs fastest, [n_dims], at least one. */
void al_layout_fortran(const int64_t *shape, size_t n_dims, int64_t *strides);

/* Closes what was put aside and the archives. */
void al_layouts_close(struct al_checkpoint *checkpoint);
