/* Views: a family laid over a checkpoint, so that its attention modules and their heads can be
 * read.
 *
 * Each projection of a module becomes a factor: a D x (n_heads*width) matrix whose head i is the
 * columns i*width .. (W_O is taken transposed, so that W_V^(i) W_O^(i) = V_i O_i^T). Fused tensors,
 * both storage orders and grouped queries are seen through; query head i uses key/value head
 * floor(i*n_kv_heads/n_heads). The variant defines which tensor is what of each head: "factor"
 * and, of composed ones, what comes before: of MLA W_Q^(i) is D x d_nope, the latent norm's gain
 * folded in, and the rotary part is left out. FP8 tensors with a scale a block
 * (arXiv:2412.19437 section 3.3.2), which the family names, are read scaled. Nothing is read before
 * it is asked for. */
#pragma once

#include "catalog/stored.h"
#include "formats/checkpoint.h"
#include "linalg/linalg.h"
#include "linalg/projection.h"

extern const char *const al_projection_names[AL_N_PROJECTIONS];

/* A run of neighbors along a stored tensor's head axis. */
struct al_factor_run {
	const struct al_tensor *tensor;
	int64_t first, width;
	bool is_slow; /* the head axis is the first of [head axis, other], else the second */
	int64_t columns; /* of the matrix as it lies, where the tensor has an axis more than that:
			    [heads, width] is one head axis; 0: the tensor is the matrix */
	int64_t first_row; /* of the matrix, in a tensor of one a head */
	const struct al_tensor *scale; /* of an FP8 tensor: one number per block; NULL: none */
	int64_t block[2]; /* of [block[0]][block[1]] of its numbers */
};

/* One projection: columns in the order of heads. */
struct al_factor {
	struct al_factor_run *runs;
	size_t n_runs;
	int64_t rows, heads, width; /* D, n_heads or n_kv_heads, d_head or d_value */
	int64_t stride; /* columns from head to head in the runs; width but for MLA's queries, and 0
			   where all heads share them */
	const struct al_factor *mixing; /* of shared columns, [n_heads][width]: what each head
					   multiplies them by; NULL: nothing */
	const struct al_factor *down; /* MLA: the matrix before this one, D x rank; NULL: none */
	const struct al_tensor *gain; /* MLA: of the norm between, [rank] */
	const struct al_dtype *dtype; /* as stored */
};

/* A tensor of a variant as it is declared, [rows][width]; vectors are one row. */
struct al_named_factor {
	const char *name;
	struct al_factor factor;
};

struct al_attention {
	const char *name; /* "layers.7", "encoder.0.self" */
	int64_t layer;
	enum al_layer_stack stack;
	bool is_cross, is_latent;
	bool is_shared; /* collaborative: all heads have the same keys, and mix the same queries */
	const struct al_factor *content; /* ... what each head's keys add to its scores whatever the
					    query is, [D][n_heads]; NULL: nothing that is known */
	bool is_rewritten; /* stored as compress alone stores it */
	bool has_qk_norm; /* queries and keys are normed after their projections */
	bool is_rotary;
	enum al_pairs rotary_pairs;
	int64_t rotary_width, rotary_base;
	const char **rotary_scaling; /* config keys of the rule for long sequences */
	size_t n_rotary_scaling; /* 0: there is none */
	const double *rotary_speeds; /* [rotary_width/2], angles from a position to the next; NULL:
					base^(-2i/width) */
	const char *rotary_base_origin; /* its origin: a config's key, a default; NULL: none */
	double score_scale; /* scores are multiplied by it */
	int64_t score_divisor; /* ... one over the root of this; 0: given by the config */
	int64_t n_heads, n_kv_heads, d_head, d_value;
	struct al_factor factors[AL_N_PROJECTIONS];
	struct al_factor biases[AL_N_PROJECTIONS]; /* one row; no runs where there is none */
	struct al_factor gate; /* [D][n_heads*d_value or n_heads], whose sigmoid multiplies what
				  heads put out; no runs where there is none */
	const struct al_variant *variant;
	const struct al_named_factor *tensors; /* where the variant has a pass; else NULL */
	size_t n_tensors;
	struct al_binding *with; /* what the family sets in the variant */
	size_t n_with;
	const struct al_tensor *norm; /* the scale of the norm whose output it reads, or NULL */
	const struct al_tensor *norm_bias; /* ... and what it adds, or NULL */
	bool has_unit_offset; /* ... which multiplies by 1 + scale */
};

struct al_recorded_shape;

struct al_model_view {
	struct al_arena arena;
	struct al_catalog *catalog;
	struct al_checkpoint *checkpoint;
	const struct al_family *family;
	struct al_json config; /* as read, or {} */
	bool has_config; /* read from a file */
	const char *config_path;
	struct al_settings settings;
	struct al_tensor_list tensor_list; /* by name */
	const char *wrapper; /* prefix of the family's own prefixes: "module." */
	const char *prefix; /* ... and before its attention tensors: "module.bert." */
	bool lacks_heads; /* private: how many there are, without a message */
	int64_t first_layer; /* the first that is stored; 0 but for a part of a model */
	struct al_attention *modules;
	size_t n_modules;
	bool runs; /* as asked for */
	struct al_recorded_shape *shapes; /* private: as `compress` wrote them */
	size_t n_shapes;
	const char *mixers_note; /* modules without heads; NULL: there are none */
	const char **notes; /* modules that were left out, and why */
	size_t n_notes, notes_room;
};

struct al_view_options {
	const char *config; /* a config.json; NULL: the one next to the tensors */
	const char *layout; /* a family's file; NULL: by config or names */
	int64_t n_heads, n_kv_heads; /* --heads; 0: not given */
	bool runs; /* modules that no one can look into by heads are there too: they have a pass */
};

/* Lays a family over the checkpoint, which must outlive the view. Without config.json the family is
 * the one whose names fit best and the dimensions come from shapes; then n_heads must be given. A
 * tensor that is missing, has another shape or number format is an error that names it. On failure
 * nothing is left to close. */
bool al_model_view_open(struct al_model_view *view, struct al_catalog *catalog,
	struct al_checkpoint *checkpoint, const struct al_view_options *options,
	struct al_error *err) AL_MUST_CHECK;
void al_model_view_close(void *view);

/* The same without modules: names and dimensions are known, tensors may be missing or wrong. */
bool al_model_view_lay(struct al_model_view *view, struct al_catalog *catalog,
	struct al_checkpoint *checkpoint, const struct al_view_options *options,
	struct al_error *err) AL_MUST_CHECK;

/* What layers have in place of attention, without attention weights (a variant's "pass"), as
 * modules of tensors alone: for the forward pass. In the view's arena. */
bool al_model_view_mixers(struct al_model_view *view, struct al_attention **out, size_t *n,
	struct al_error *err) AL_MUST_CHECK;

/* The stored tensor of a family's name after the view's prefix or another of the family's, or
 * NULL. */
const struct al_tensor *al_model_view_find(const struct al_model_view *view, const char *name);

bool al_tensor_is_shaped(const struct al_tensor *found, const int64_t *dims, size_t n_dims);

/* Heads [first, +n) of a factor into `out`, [rows][n*width], converted to double; biases are
 * factors of one row. The caller counts what isn't finite (al_factor_check_finite); what a composed
 * factor is made of and the scales of FP8 tensors are counted here: AL_ENOTFINITE. */
bool al_factor_read(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	int64_t first, int64_t n, struct al_matrix out, struct al_error *err) AL_MUST_CHECK;

/* AL_ENOTFINITE where n_not_finite of the factor's numbers are NaN or infinite. */
bool al_factor_check_finite(const struct al_factor *factor, int64_t n_not_finite,
	struct al_error *err) AL_MUST_CHECK;
int64_t al_matrix_count_not_finite(struct al_view a);

/* Sets is_marked [n_tensors of the checkpoint] for the tensors that a module's projections are
 * stored in; and for its biases and the norm before it too. */
void al_attention_mark_weights(const struct al_checkpoint *checkpoint,
	const struct al_attention *attention, bool mark, bool *is_marked);
void al_attention_mark_tensors(const struct al_checkpoint *checkpoint,
	const struct al_attention *attention, bool mark, bool *is_marked);

/* The whole factor in a matrix that the caller finishes, without data where it has no runs (a bias
 * that there isn't). AL_ENOTFINITE, with a count and the
 * tensor's name, where numbers are NaN or infinite. */
bool al_factor_load(const struct al_checkpoint *checkpoint, const struct al_factor *factor,
	struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The name with every loop variable ("{layer}" and the like) replaced by `index`. */
char *al_name_fill(struct al_arena *arena, const char *name, int64_t index);
