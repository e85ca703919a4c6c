/* Pickles as torch.save writes them for state dicts, read as data: nothing is ever called. A name
 * that isn't on the list of harmless ones (pickle.c) refuses the file. */
#pragma once

#include "base/base.h"
#include "base/format.h"

enum al_pickle_kind {
	AL_PICKLE_NONE,
	AL_PICKLE_BOOL,
	AL_PICKLE_INTEGER,
	AL_PICKLE_TEXT,
	AL_PICKLE_TUPLE,
	AL_PICKLE_LIST,
	AL_PICKLE_DICT,
	AL_PICKLE_NAME, /* of a class or function */
	AL_PICKLE_STORAGE,
	AL_PICKLE_TENSOR,
	AL_PICKLE_OTHER, /* what no tensor needs: floats, devices, options */
};

struct al_pickle_name;

struct al_pickle_value {
	enum al_pickle_kind kind;
	/* also of a boolean; of a storage how many elements it has, of a tensor which is first */
	int64_t integer;
	const char *text; /* of a storage its key */
	struct al_pickle_value **items; /* [n_items]; of a dict keys and values in turn */
	size_t n_items, room;
	const struct al_pickle_name *name;
	const struct al_dtype *dtype; /* of a storage or tensor; NULL: a storage of bytes */
	const struct al_pickle_value *storage, *shape, *strides; /* of a tensor */
};

/* Reads one pickle from the front of `n` bytes; `used` becomes its length. What is returned lies
 * in the arena, whose budget it takes from; NULL on failure. `path` is for messages. */
const struct al_pickle_value *al_pickle_read(struct al_arena *arena, const char *path,
	const unsigned char *bytes, size_t n, size_t *used, struct al_error *err) AL_MUST_CHECK;

/* A dict's value of that key, or NULL. */
const struct al_pickle_value *al_pickle_get(const struct al_pickle_value *dict, const char *key);
