/* A model's tensor list: what a family holds under the settings of one config, part by part, with
 * exact shapes and multiplicities. Attention modules are named with their variant and what the
 * family sets in it; their own tensors are the ledger's. */
#pragma once

#include "catalog/family.h"

/* Equal tensors, or equal attention modules: a variant with what the family sets in it. Where names
 * are asked for, one. */
struct al_model_item {
	const struct al_family_tensor *tensor; /* NULL: a module */
	const struct al_family_module *module; /* NULL: a tensor */
	const char *name; /* with the family's {layer}, or of the one */
	int64_t copies,
		active_copies; /* over all loop iterations; of these, those that a token uses */
	int64_t layer; /* the outermost loop's iteration, where that was asked for; or -1 */
	int64_t iteration[AL_FAMILY_LOOPS]; /* what its loops count, in the first of them */
	const char *extra; /* NULL: part of the model; else the name of what it is part of */
	/* of a tensor: */
	int64_t dims[AL_SHAPE_DIMS];
	size_t n_dims;
	int64_t count, active; /* of each copy, stacked in it */
	/* of a module: */
	const struct al_variant *variant;
	struct al_binding *with;
	size_t n_with;
	int64_t uses; /* how many layers each of them works in */
};

struct al_tensor_list {
	struct al_arena arena;
	struct al_model_item *tensors;
	size_t n_tensors, tensors_room;
	struct al_model_item *modules;
	size_t n_modules, modules_room;
	int64_t n_steps;
};

/* How many iterations all loops of a model may take together. */
enum { AL_FAMILY_STEPS = 1 << 18 };

enum al_tensor_list_detail {
	/* equal tensors are one entry; a loop that nothing depends on is not walked */
	AL_TENSORS_BY_KIND,
	AL_TENSORS_BY_NAME, /* one entry for each tensor, with its name */
	AL_TENSORS_BY_LAYER, /* equal tensors of a layer are one entry */
	AL_MODULES_BY_KIND, /* no tensors at all */
};

/* Evaluates a family's modules and tensors under settings. Where these may lack symbols, tensors
 * that need one of them aren't listed. */
bool al_tensor_list_init(struct al_tensor_list *list, struct al_catalog *catalog,
	const struct al_family *family, struct al_settings *settings,
	enum al_tensor_list_detail detail, struct al_error *err) AL_MUST_CHECK;
void al_tensor_list_finish(struct al_tensor_list *list);

enum { AL_STORED_DIMS = AL_SHAPE_DIMS + 1 };

/* The shape in a checkpoint: the count of what is stacked, then `dims`. */
size_t al_model_tensor_shape(const struct al_model_item *tensor, int64_t dims[AL_STORED_DIMS]);

/* Numbers of its own that are trained and part of the model: no buffer or scale, not tied. */
bool al_model_tensor_is_parameter(const struct al_model_item *tensor);
