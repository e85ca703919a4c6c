/* What the two containers of torch.save share: where storages lie, and the tensors of a dict. */
#ifndef ATTNLEDGER_CHECKPOINT_TORCH_H
#define ATTNLEDGER_CHECKPOINT_TORCH_H

#include "formats/format.h"
#include "formats/pickle.h"

enum { AL_TORCH_MOST_PICKLE = 1 << 26 };

/* Where the bytes of a storage lie. */
struct al_torch_place {
	const char *key;
	uint64_t offset, bytes;
	size_t member; /* of a zip archive */
	struct al_archive *archive; /* where it is packed there; else NULL */
};

struct al_torch_file {
	struct al_listing *listing;
	struct al_arena *arena;
	const char *path;
	struct al_torch_place *places; /* [n_places], sorted by key */
	size_t n_places;
	bool is_swapped;
	size_t cost; /* of all visits so far */
	size_t cut; /* so many bytes before all names say nothing */
};

void al_torch_sort_places(struct al_torch_file *f);

/* The storage of that key, or NULL; the places must be sorted. */
const struct al_torch_place *al_torch_find_place(const struct al_torch_file *f, const char *key);

/* What is done with each tensor. */
typedef bool al_torch_visit(struct al_torch_file *f, const char *name,
	const struct al_pickle_value *tensor, void *context, struct al_error *err);

/* All tensors of a dict, also of dicts in it, whose names are joined by points. */
bool al_torch_each_tensor(struct al_torch_file *f, const struct al_pickle_value *dict,
	al_torch_visit *visit, void *context, struct al_error *err) AL_MUST_CHECK;

/* Lists the tensors of what was saved: of a state dict, or of the one in a training checkpoint. */
bool al_torch_add_tensors(struct al_torch_file *f, const struct al_pickle_value *root,
	struct al_error *err) AL_MUST_CHECK;

#endif
