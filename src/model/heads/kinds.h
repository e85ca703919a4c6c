/* Kinds of names: numbers are "#", so that all layers' tensors are one. */
#ifndef ATTNLEDGER_VIEWS_KINDS_H
#define ATTNLEDGER_VIEWS_KINDS_H

#include "model/heads/views.h"

struct al_kinds {
	const char **names; /* sorted, each once */
	size_t n;
	bool *is_seen; /* [n]; for whoever goes through them */
};

/* Those of the checkpoint's tensors. */
struct al_kinds al_kinds_list(struct al_model_view *view);

/* The place among the kinds of that name's; NULL: there is none. */
const char **al_kinds_find(struct al_model_view *view, const struct al_kinds *kinds,
	const char *name);

/* Writes the kind of a name in a family's file into kind[length + 1]: "h.{layer}.attn" and
 * "h.0.attn" are of the kind "h.#.attn". Returns its length. */
size_t al_kind_of_pattern(const char *name, size_t length, char *kind);

#endif
