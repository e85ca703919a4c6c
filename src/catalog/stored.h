/* A module's attention tensors as a checkpoint stores them: names, shapes, and which runs of a
 * fused tensor belong to which of the variant's. */
#pragma once

#include "catalog/tensor_list.h"

/* A run along the output axis that is one of the variant's tensors, or a piece of it. */
struct al_stored_part {
	const struct al_entry *entry;
	int64_t width;
	int64_t head_width; /* of each head, where the entry sets it; else 0 */
};

struct al_stored_tensor {
	const struct al_stored *stored;
	const char *name; /* without the family's prefix */
	const char *scale; /* the same of the tensor with its scales; NULL: the family names none */
	int64_t dims[AL_SHAPE_DIMS]; /* a matrix [out, in] or [in, out], by its order; a
	                                      bias [out] */
	size_t n_dims;
	int64_t heads; /* the axis of heads is stored as [heads, width]; 0: as one */
	bool heads_are_first; /* that axis: the first of `dims`, else the last */
	struct al_stored_part *parts; /* in their order along the output axis, which ... */
	size_t n_parts;
	int64_t repeat; /* ... holds them so often: head by head, group by group */
};

struct al_stored_module {
	struct al_stored_tensor *tensors;
	size_t n_tensors;
	bool is_rotary; /* the rest only where it is */
	enum al_pairs rotary_pairs;
	int64_t rotary_width, rotary_base;
	bool is_scaled; /* by the family's "scaling" */
	int64_t score_divisor; /* 0: not set by the family */
};

/* Evaluates one module of a tensor list that was made by name, under the settings that it was made
 * under. A stored tensor whose parts the variant doesn't have here (biases that are off) isn't
 * listed. Refused: a fused tensor of which only some parts exist, whose parts differ in their
 * inputs, or whose runs don't make up each part. The result lives in the arena. */
bool al_stored_module_read(struct al_stored_module *out, struct al_arena *arena,
	struct al_catalog *catalog, const struct al_model_item *module,
	const struct al_settings *settings, struct al_error *err) AL_MUST_CHECK;

/* The shape in a checkpoint: `dims`, with two axes for that of heads where they are stored so. */
size_t al_stored_shape(const struct al_stored_tensor *tensor, int64_t shape[AL_SHAPE_DIMS + 1]);
