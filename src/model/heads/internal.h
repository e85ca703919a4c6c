/* What the files of this folder share. */
#ifndef ATTNLEDGER_VIEWS_INTERNAL_H
#define ATTNLEDGER_VIEWS_INTERNAL_H

#include "model/heads/views.h"

/* A family whose attention tensors are there, by name. */
struct al_family_candidate {
	const struct al_family *family;
	size_t n_known; /* kinds of stored tensors that it knows */
};

struct al_candidates {
	struct al_family_candidate *items; /* the best first; at least one */
	size_t n;
	bool is_all; /* there are no others */
};

/* The families that fit the checkpoint's names: all of them, or at least the best, before which no
 * other one comes. */
bool al_candidates_find(struct al_model_view *view, bool all, struct al_candidates *out,
	struct al_error *err) AL_MUST_CHECK;

/* Sets the view's wrapper and prefix under which its family's tensors are stored; false where no
 * module's are there. */
bool al_prefix_find(struct al_model_view *view);

/* Asks the view's settings for what --heads, the names and the shapes say of the family's
 * symbols. */
bool al_symbols_learn(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err);

/* The name with every loop variable ("{layer}" and the like) replaced by `index`. */
char *al_name_fill(struct al_arena *arena, const char *name, int64_t index);

/* Replaces `variable` by `index`, the other loop variables by `others`; NULL: all by `index`. */
char *al_name_fill_loop(struct al_arena *arena, const char *name, const char *variable,
	int64_t index, int64_t others);

/* The catalogue's variant of a family's module, or NULL. */
const struct al_variant *al_module_variant(struct al_model_view *view,
	const struct al_family_module *module);

/* Does the stored tensor hold a bias of the variant that the option switches on? NULL: any option
 * will do. */
bool al_stored_has_bias(const struct al_variant *variant, const struct al_stored *stored,
	const char *option);

/* Factors of a module from its stored tensors. */
bool al_factors_make(struct al_model_view *view, const struct al_model_module *module,
	struct al_attention *out, struct al_error *err);

/* Was it compressed into collaborative attention? Then its config.json is of another family. */
bool al_view_is_collaborative(const struct al_model_view *view);

/* The built-in family whose model `compress` says that it was; NULL: it doesn't. */
const struct al_family *al_view_recorded_family(const struct al_model_view *view);

/* The shapes that `compress` wrote into the file, if any; and the module with those of its name. */
bool al_view_read_shapes(struct al_model_view *view, struct al_error *err) AL_MUST_CHECK;
const struct al_model_module *al_view_shape_module(struct al_model_view *view,
	const struct al_model_module *module, int64_t *score_divisor);

/* Refuses a module that compress stored in a form of which the family lists no tensors. */
bool al_view_check_listed(const struct al_model_view *view, const struct al_model_module *module,
	struct al_error *err);

#endif
