/* What the files of this folder share. */
#ifndef ATTNLEDGER_VIEWS_INTERNAL_H
#define ATTNLEDGER_VIEWS_INTERNAL_H

#include "views/views.h"

/* The family whose names fit the checkpoint best, and the prefix of its names. */
bool detect_family(struct al_model_view *view, struct al_catalog *catalog, struct al_error *err);

/* The prefix under which a family's names are stored; false where no module's tensors are there. */
bool find_prefix(struct al_model_view *view, const struct al_family *family, const char **prefix);

/* What the names and shapes of the stored tensors say of the family's symbols. */
struct inferred {
	struct al_model_view *view;
	const char *prefix;
	struct al_binding *items;
	size_t n, room;
};

bool infer_symbols(struct inferred *in, struct al_model_view *view,
	const struct al_view_options *options, struct al_error *err);

/* The same as the text of a config.json, as far as its keys go. */
void write_inferred_config(const struct inferred *in, struct al_text *out);

/* "{layer}" and the like, all replaced by `turn`. */
char *fill_name(struct al_arena *arena, const char *name, int64_t turn);

/* Factors of a module from its stored tensors. */
bool make_factors(struct al_model_view *view, const struct al_model_module *module,
	struct al_attention *out, struct al_error *err);

#endif
