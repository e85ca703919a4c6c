/* Shared by the files of this folder. */
#pragma once

#include "model/heads/views.h"

/* A family whose attention tensors may be there. */
struct al_family_candidate {
	const char *name;
	const struct al_family *family; /* NULL: not read yet */
	size_t n_known; /* kinds of stored tensors that it knows, or may know */
	size_t n_tensors; /* that it lists in addition to attention's */
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

/* Asks the view's settings for the values of the family's symbols that --heads, the names and the
 * shapes give. */
bool al_symbols_learn(struct al_model_view *view, const struct al_view_options *options,
	struct al_error *err);

/* Replaces `variable` by `index`, the other loop variables by `others`; NULL: all by `index`. */
char *al_name_fill_loop(struct al_arena *arena, const char *name, const char *variable,
	int64_t index, int64_t others);

/* The catalog's variant of a family's module, or NULL. */
const struct al_variant *al_module_variant(struct al_model_view *view,
	const struct al_family_module *module);

/* Has the variant a bias of that name, which the option switches on? NULL: any name, any option. */
bool al_variant_has_bias(const struct al_variant *variant, const char *tensor, const char *option);

/* Does the stored tensor hold a bias of the variant that the option switches on? NULL: any option
 * will do. */
bool al_stored_has_bias(const struct al_variant *variant, const struct al_stored *stored,
	const char *option);

/* Is it a module of the model without attention weights? */
bool al_module_is_mixer(const struct al_model_item *module);

/* Factors of a module from its stored tensors; a mixer's tensors alone. */
bool al_factors_make(struct al_model_view *view, const struct al_model_item *module,
	struct al_attention *out, struct al_error *err);

/* The built-in family of the original, as `compress` recorded it; NULL: it didn't. */
const struct al_family *al_view_recorded_family(const struct al_model_view *view);

/* The shapes that `compress` wrote into the file, if any; and the module with those of its name. */
bool al_view_read_shapes(struct al_model_view *view, struct al_error *err) AL_MUST_CHECK;
const struct al_model_item *al_view_shape_module(struct al_model_view *view,
	const struct al_model_item *module, int64_t *score_divisor);

/* Refuses a module that compress stored in a form of which the family lists no tensors. */
bool al_view_check_listed(const struct al_model_view *view, const struct al_model_item *module,
	struct al_error *err);

/* ---- what a file that `compress` wrote records of its modules ---- */

/* A projection under other names than the family's. */
struct al_recorded_projection {
	enum al_projection is;
	const char *weight, *down, *bias, *mixing, *content;
	int64_t heads; /* of values that more heads share; 0: each has its own */
	bool is_in_out, moves_bias; /* ... the bias isn't where the family has it */
};

enum al_recorded_symbol {
	AL_RECORDED_HEADS,
	AL_RECORDED_KV_HEADS,
	AL_RECORDED_HEAD,
	AL_RECORDED_VALUE,
	AL_RECORDED_SHARED,
	AL_N_RECORDED,
};

/* One of attnledger.shapes. */
struct al_recorded_shape {
	const char *module;
	int64_t values[AL_N_RECORDED]; /* 0: as the config has it */
	int64_t score_divisor; /* 0: score_scale is given instead */
	double score_scale; /* 0: as the config has it */
	const char *unlisted; /* what no family lists; NULL: nothing */
	struct al_recorded_projection *stored;
	size_t n_stored;
};

/* NULL: it has none of the module. */
const struct al_recorded_shape *al_view_find_shape(const struct al_model_view *view,
	const char *module);

/* ---- where the numbers of a factor are stored: runs along the head axes of tensors ---- */

/* A module that is being read. */
struct al_factor_maker {
	struct al_model_view *view;
	const struct al_model_item *module;
	struct al_stored_module stored;
	const struct al_stored_part *weights[AL_N_PROJECTIONS]; /* what each factor is; or NULL */
	struct al_attention *out;
};

/* The runs of one of the variant's tensors. Tensors that are missing or have another shape are
 * AL_EINPUT. */
bool al_factor_collect_runs(struct al_factor_maker *m, const struct al_entry *entry, bool is_output,
	struct al_factor *factor, struct al_error *err) AL_MUST_CHECK;

/* What compress stored under names that the family doesn't have is taken out of the family's
 * tensors, and read from its own. */
void al_view_take_moved(struct al_factor_maker *m);
/* Values of `had` heads once for each of `heads`, which share them. */
bool al_view_repeat(struct al_factor_maker *m, struct al_factor *factor, int64_t had, int64_t heads,
	struct al_error *err) AL_MUST_CHECK;
bool al_view_take_projection(struct al_factor_maker *m, enum al_projection p, bool *is_taken,
	struct al_error *err) AL_MUST_CHECK;

/* W_O isn't fused along its head axis: the run is the whole of it. */
void al_factor_take_whole(struct al_factor *factor);

int64_t al_factor_columns(const struct al_factor *factor);
