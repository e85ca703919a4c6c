/* The names of Python's classes and functions that a state dict's pickle may hold. */
#pragma once

/* What is made here of what the name means there. */
enum al_pickle_what {
	AL_MAKES_DICT,
	AL_MAKES_TUPLE, /* of the one tuple that it is called with */
	AL_MAKES_TENSOR,
	AL_MAKES_TENSOR_V3, /* with a number format of its own */
	AL_MAKES_PARAMETER, /* the tensor that it is called with */
	AL_MAKES_STORAGE,
	AL_IS_DTYPE,
	AL_MAKES_OTHER,
	AL_IS_REFUSED,
};

struct al_pickle_name {
	const char *module, *name;
	enum al_pickle_what what;
	const char *detail; /* AL_IS_DTYPE and storages: number format; AL_IS_REFUSED: what it is */
};

/* The entry of that name, or NULL: it isn't on the list. */
const struct al_pickle_name *al_pickle_name_find(const char *module, const char *name);
