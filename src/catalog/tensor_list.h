/* A model's tensor list: what a family holds under the settings of one config, part by part, with
 * exact shapes and multiplicities. Attention modules are named with their variant and what the
 * family sets in it; their own tensors are the ledger's. */
#ifndef ATTNLEDGER_CATALOG_TENSOR_LIST_H
#define ATTNLEDGER_CATALOG_TENSOR_LIST_H

#include "catalog/family.h"

/* Equal tensors, or one where names are asked for. */
struct al_model_tensor {
	const struct al_family_tensor *tensor;
	const char *name; /* with the family's {layer}, or of the one tensor */
	int64_t dims[AL_SHAPE_DIMS];
	size_t n_dims;
	int64_t copies,
		active_copies; /* over all loop iterations; of these, those that a token uses */
	int64_t count, active; /* of each copy, stacked in it */
	int64_t layer; /* the outermost loop's iteration, where that was asked for; or -1 */
	int64_t iteration[AL_FAMILY_LOOPS]; /* what its loops count, in the first of them */
	const char *extra; /* NULL: part of the model; else the name of what it is part of */
	mpq_srcptr elements; /* numbers in all copies, those packed into one too */
};

/* Equal attention modules, or one where names are asked for: a variant with what the family sets
 * in it. */
struct al_model_module {
	const struct al_family_module *module;
	const char *name;
	const struct al_variant *variant;
	struct al_binding *with;
	size_t n_with;
	int64_t copies, layer;
	int64_t uses; /* how many layers each of them works in */
	int64_t iteration[AL_FAMILY_LOOPS]; /* as of a tensor */
	const char *extra; /* layer and this as of a tensor */
};

struct al_tensor_list {
	struct al_arena arena;
	struct al_model_tensor *tensors;
	size_t n_tensors, tensors_room;
	struct al_model_module *modules;
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
size_t al_model_tensor_shape(const struct al_model_tensor *tensor, int64_t dims[AL_STORED_DIMS]);

/* Numbers of its own that are trained and part of the model: no buffer or scale, not tied. */
bool al_model_tensor_is_parameter(const struct al_model_tensor *tensor);

/* Sums of a part of the tensors (modules are the caller's): only parameters. */
void al_tensor_list_parameters(const struct al_tensor_list *list, enum al_part part, mpq_t out);

#endif
