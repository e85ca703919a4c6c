/* Shared by the two containers of torch.save: where storages lie, and the tensors of a dict. */
#pragma once

#include "formats/format.h"
#include "formats/pickle.h"

/* Where the bytes of a storage lie. */
struct al_torch_place {
	const char *key;
	uint64_t offset, bytes;
	size_t member; /* of a zip archive */
	struct al_archive *archive; /* where it is packed there; else NULL */
};

/* A tensor of a dict, under the names of all dicts that it is in, joined by points. */
struct al_torch_tensor {
	const char *name;
	const struct al_pickle_value *value;
};

struct al_torch_file {
	struct al_listing *listing;
	struct al_arena *arena;
	const char *path;
	struct al_torch_place *places; /* [n_places], sorted by key */
	size_t n_places;
	struct al_torch_tensor *tensors; /* [n_tensors] of the dict that was gone through last */
	size_t n_tensors, room;
	bool is_swapped;
};

void al_torch_sort_places(struct al_torch_file *f);

/* The storage of that key, or NULL; the places must be sorted. */
struct al_torch_place *al_torch_find_place(const struct al_torch_file *f, const char *key);

/* Sets `tensors` to those of a dict, also of dicts in it; of what is no dict, to none. */
bool al_torch_find_tensors(struct al_torch_file *f, const struct al_pickle_value *dict,
	struct al_error *err) AL_MUST_CHECK;

/* Lists the tensors of what was saved: of a state dict, or of the one in a training checkpoint. */
bool al_torch_add_tensors(struct al_torch_file *f, const struct al_pickle_value *root,
	struct al_error *err) AL_MUST_CHECK;

/* How the name of the pickle ends, in a zip archive; lists its tensors. */
#define AL_TORCH_PICKLE "/data.pkl"
bool al_torch_list_zip(struct al_listing *listing, struct al_error *err) AL_MUST_CHECK;
