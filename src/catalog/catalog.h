/* The catalog: attention variants, model families, memory recipes, model presets, symbols.
 *
 * Each is a JSON file, built in or a user's, read by the same code and parsed when it is first
 * asked for. An entry is one line of a block: a tensor, something cached, something saved for
 * backward, or a matrix product; one grammar serves all four. */
#pragma once

#include "base/base.h"
#include "base/embedded.h"
#include "base/json.h"
#include "formula/formula.h"

/* ---- the words of the grammar ---- */

enum al_role {
	AL_ROLE_QUERY,
	AL_ROLE_KEY,
	AL_ROLE_VALUE,
	AL_ROLE_OUTPUT,
	AL_ROLE_MIX,
	AL_ROLE_NORM,
	AL_ROLE_GATE,
	AL_ROLE_ROUTER,
	AL_ROLE_POSITION,
	AL_ROLE_OTHER,
	AL_N_ROLES,
};
extern const char *const al_role_names[AL_N_ROLES];

/* Matrices that get adapters. */
enum al_adapted {
	AL_ADAPTED_QUERY,
	AL_ADAPTED_KEY,
	AL_ADAPTED_VALUE,
	AL_ADAPTED_OUTPUT,
	AL_ADAPTED_GATE,
	AL_ADAPTED_UP,
	AL_ADAPTED_DOWN,
	AL_ADAPTED_OTHER,
	AL_N_ADAPTED,
};
extern const char *const al_adapted_names[AL_N_ADAPTED];

enum al_tensor_kind {
	AL_TENSOR_WEIGHT,
	AL_TENSOR_BIAS,
	AL_TENSOR_NORM,
	AL_TENSOR_BUFFER, /* from here on: stored, not trained, not a parameter */
	AL_TENSOR_SCALE, /* of a quantization */
	AL_N_TENSOR_KINDS,
};
extern const char *const al_tensor_kind_names[AL_N_TENSOR_KINDS];

/* The scope of an entry: shared over it, or growing with it. */
enum al_per {
	AL_PER_MODULE,
	AL_PER_LAYER,
	AL_PER_GROUP,
	AL_PER_MODEL, /* tensors */
	AL_PER_SOURCE_TOKEN,
	AL_PER_SEQUENCE,
	AL_PER_TOKEN, /* cache */
	AL_PER_PAIR, /* activations, in addition to token and sequence */
	AL_N_PERS,
};

/* By which attention kernel: eager, or flash; an eager one that repeats keys and values for each
 * query head saves these ("repeated") in place of the group's own ("grouped"). */
enum al_saved {
	AL_SAVED_ALWAYS,
	AL_SAVED_EAGER,
	AL_SAVED_FLASH,
	AL_SAVED_GROUPED,
	AL_SAVED_REPEATED,
	AL_N_SAVED,
};

/* What a saved tensor is, for rules of its bytes. */
enum al_saved_of {
	AL_SAVED_OF_OTHER,
	AL_SAVED_OF_MATRIX, /* input of matrices that read the residual stream after its norm */
	AL_SAVED_OF_NORM, /* input of a norm of the residual stream */
	AL_SAVED_OF_HEAD_NORM, /* input of a norm within attention */
	AL_SAVED_OF_KEY, /* keys that an attention kernel reads */
	AL_SAVED_OF_INNER, /* input of an activation function, or of a gate's product */
	AL_SAVED_OF_DOWN, /* input of the matrix after it */
	AL_SAVED_OF_ATTENTION, /* attention weights before dropout */
	AL_SAVED_OF_ROUTED, /* input of an expert: copies of tokens */
	AL_SAVED_OF_OUTPUT, /* outputs of heads, which the output projection reads */
	AL_SAVED_OF_LAYER, /* input of a layer, where the rest is computed again */
	AL_SAVED_OF_HEAD, /* input of the head */
	AL_SAVED_OF_LOGITS,
	AL_N_SAVED_OF,
};
extern const char *const al_saved_of_names[AL_N_SAVED_OF];

/* What a tensor is of each head, for who looks at heads: W_Q^(i) is the columns of head i, as those
 * of keys and values are, W_O^(i) its rows. Where there is a mixing matrix, [n_heads, ...], all
 * heads share queries and keys and have none of their own. What heads put out is multiplied by the
 * sigmoid of x times the gate, of as many columns as they put out or one of each head. */
enum al_head_factor {
	AL_FACTOR_NONE,
	AL_FACTOR_QUERY,
	AL_FACTOR_KEY,
	AL_FACTOR_VALUE,
	AL_FACTOR_OUTPUT,
	AL_FACTOR_MIXING,
	AL_FACTOR_GATE,
	AL_N_FACTORS,
};
extern const char *const al_factor_names[AL_N_FACTORS]; /* "" of none */

enum { AL_SHAPE_DIMS = 8 };

struct al_shape {
	const struct al_formula **dims; /* [1 .. AL_SHAPE_DIMS] */
	size_t n_dims;
};

/* Is the symbol in one of the dimensions? */
bool al_shape_mentions(const struct al_shape *shape, const char *symbol);

struct al_entry {
	const char *name;
	enum al_role role; /* tensors must specify it */
	enum al_tensor_kind kind; /* tensors */
	enum al_per per;
	enum al_per shared; /* over what it is one and the same, tensors too; module for most */
	bool is_fixed; /* tensors: the basis output_projection leaves it alone */
	enum al_head_factor factor; /* tensors: weights, and the biases added to what they give */
	const char *down; /* of a factor: the tensor that comes before it, whose output is its
			     input: W_DKV of W_UK; NULL: none */
	const char *gain; /* ... and the norm between the two; NULL: none */
	const struct al_formula *head_width; /* of a factor: the first columns of each head that it
						is; NULL: all of them */
	bool is_common; /* tensors: no factor, and all heads use it as it is */
	bool is_of_scores; /* tensors: no factor, and it changes scores alone: a norm of queries or
			      keys, sinks */
	enum al_saved saved; /* activations */
	enum al_saved_of of; /* activations */
	int64_t bytes; /* activations: a fixed size of an element; 0: the dtype's */
	struct al_shape shape; /* tensors, cache, activations */
	struct al_shape left, right; /* products: [m, k] and [k, n] */
	const struct al_formula *count; /* NULL: 1 */
	const struct al_formula *active; /* NULL: count */
	const struct al_formula *when; /* NULL: true */
	const struct al_formula *tokens; /* cache; NULL: seq */
	const char *dtype; /* cache: a fixed dtype, or NULL */
	const char *in_fp8; /* cache: its dtype where the cache's is fp8, or NULL */
	bool is_inputs; /* cache: of a convolution, as many as the last dimension */
	const char *latent; /* cache: its kind, for engines that expand that one; or NULL */
	const struct al_formula
		*expanded; /* cache: of a latent, the elements that an engine keeps in its
					      place which rebuilds all heads; NULL: no latent */
};

struct al_entries {
	struct al_entry *items;
	size_t n;
	bool is_declared; /* false: the file has no such list, and what it sums to isn't known */
};

/* ---- variants ---- */

struct al_option {
	const char *name;
	bool is_on; /* the variant's default */
};

struct al_named_text {
	const char *name, *text;
};

/* A value for a symbol: a number, or a word for an option ("true", "false"). */
struct al_binding {
	const char *symbol;
	int64_t value;
};

/* A published number that the variant reproduces, or the reason why none exists. */
struct al_check {
	const char *source; /* NULL where `derived` is set */
	const char *derived;
	struct al_binding *with; /* symbols, and options as 0 or 1 */
	size_t n_with;
	struct al_named_text *basis; /* KEY=VALUE */
	size_t n_basis;
	const struct al_formula *parameters,
		*cache; /* expected; NULL: not checked. A formula, so that
	                                      counts beyond a double can be written as text */
};

/* A symbol of which a tensor-parallel device has its share: what depends on it is cut. */
struct al_cut {
	const char *symbol;
	bool may_be_copied; /* where there are fewer than devices, each is on several */
};

struct al_pass;

struct al_variant {
	const char *name, *title, *source;
	const char *idea; /* what it changes, as others may, too: "low rank"; NULL: not given */
	const char *file; /* "built-in" or the path: for messages */
	struct al_named_text *symbols; /* the variant's own symbols and what they mean */
	size_t n_symbols;
	struct al_option *options;
	size_t n_options;
	struct al_symbol *defaults; /* sizes of its paper, where no model gives them */
	size_t n_defaults;
	struct al_cut *cuts; /* none: a module is whole on every tensor-parallel device */
	size_t n_cuts;
	bool declares_cuts; /* false: the file has no such list, and how it is cut isn't known */
	struct al_entries tensors, cache, activations, products;
	const struct al_pass *pass; /* pass.h; NULL: its factors suffice */
	struct al_check *checks;
	size_t n_checks;
};

/* Has it a tensor that is this factor of heads? */
bool al_variant_has_factor(const struct al_variant *variant, enum al_head_factor factor);

bool al_variant_has_option(const struct al_variant *variant, const char *name);

struct al_symbol;

/* What may be changed in a variant: its options, its own symbols, the standard symbols. */
struct al_names al_variant_names(const struct al_variant *variant, const struct al_symbol *standard,
	size_t n_standard);

/* All formulas of an entry. */
enum { AL_ENTRY_FORMULAS = 6 + 3 * AL_SHAPE_DIMS };
size_t al_entry_formulas(const struct al_entry *entry,
	const struct al_formula *out[AL_ENTRY_FORMULAS]);

/* Parses one variant object (also one inside a scenario). It lives in the arena. */
bool al_variant_parse(struct al_arena *arena, const struct al_json *doc, const struct al_item *node,
	const char *file, struct al_variant **out, struct al_error *err) AL_MUST_CHECK;

/* ---- recipes ---- */

/* What is computed again in the backward pass: nothing; what kernels and norms make (selective);
 * all of a layer but its input (full), which the host may hold (offloaded). */
enum al_recompute {
	AL_RECOMPUTE_NONE,
	AL_RECOMPUTE_SELECTIVE,
	AL_RECOMPUTE_FULL,
	AL_RECOMPUTE_OFFLOADED,
	AL_N_RECOMPUTES,
};
extern const char *const al_recompute_names[AL_N_RECOMPUTES];

/* Symbols of the formulas of a state in addition to the standard ones: of a tensor ... */
enum al_state_fact {
	AL_STATE_ELEMENTS, /* its numbers */
	AL_STATE_ROWS,
	AL_STATE_COLS, /* its numbers over those of the last dimension, over those of the last but
			  one */
	AL_STATE_MATRIX, /* 1 where it has two dimensions or more and is no bias */
	AL_STATE_HIDDEN, /* 1 where it is in the layers: neither embedding nor head */
	AL_STATE_RANK, /* ... and of adapters */
	AL_STATE_ADAPTED, /* 1 where matrices of its role get adapters */
	AL_STATE_TRAINABLE, /* what the recipe's "trainable" makes of it */
	AL_N_STATE_FACTS,
};
extern const char *const al_state_fact_names[AL_N_STATE_FACTS];

/* One term of what a state takes: bytes of each of a tensor's numbers, or a formula of the bytes of
 * a whole tensor. */
struct al_state_term {
	int64_t bytes;
	const struct al_formula *formula; /* NULL: bytes * elements */
};

/* The sum of its terms: weights 2 + 4. */
struct al_state_bytes {
	struct al_state_term *parts;
	size_t n_parts;
	int64_t total; /* of the plain terms, bytes per parameter */
	bool has_formula;
};

/* Symbols of formulas of a recipe's working set in addition to the standard ones, on one device of
 * a pipeline stage. */
enum al_working_fact {
	AL_WORKING_TOKENS, /* of a micro-batch */
	AL_WORKING_TP,
	AL_WORKING_SP, /* tp with sequence parallelism, else 1 */
	AL_WORKING_ETP, /* tensor-parallel devices of an expert */
	AL_WORKING_PP,
	AL_WORKING_CP,
	AL_WORKING_LAST, /* 1 on the last stage */
	AL_WORKING_WEIGHT_SHAPES, /* numbers of one matrix of each shape that layers here have */
	AL_WORKING_HEAD, /* numbers of the head's matrix; 0: it is elsewhere */
	AL_WORKING_LOGITS, /* of a token; 0 */
	AL_WORKING_LOGIT_BYTES, /* as the recipe saves them */
	AL_WORKING_FEED_FORWARD, /* what gate and up of the widest dense block make of a token */
	AL_WORKING_ROUTED, /* numbers of a token that go to experts in a layer; 0: there are none */
	AL_WORKING_HEADS, /* numbers of a token that heads put out, of all layers and micro-batches
			  whose saved activations are here */
	AL_WORKING_LAYER_BYTES, /* what a layer saves for backward where it is computed again; 0 */
	AL_WORKING_SHARDS, /* devices that share what is sharded */
	AL_WORKING_ZERO, /* stage */
	AL_WORKING_BYTES, /* of a number that is saved */
	AL_WORKING_RESIDUAL, /* of a number of the residual stream */
	AL_WORKING_ENCODER, /* 1: the model is one */
	AL_WORKING_CHUNKED, /* 1: the loss is */
	AL_WORKING_FUSED,
	AL_WORKING_COMPILED_LOSS,
	AL_WORKING_COMPILED,
	AL_WORKING_WEIGHTS, /* bytes of each state, as if all were held at once */
	AL_WORKING_GRADIENTS,
	AL_WORKING_OPTIMIZER,
	AL_WORKING_ACTIVATIONS,
	AL_WORKING_IN_BACKWARD, /* 1: gradients are used and freed one by one */
	AL_WORKING_STEP, /* what the optimizer allocates in its step, as its state is sharded */
	AL_WORKING_BLOCK, /* numbers of a layer, before sharding, on average */
	AL_WORKING_OUTER, /* numbers outside of the layers, before sharding */
	AL_WORKING_MATRICES, /* numbers of matrices that multiply, but for experts */
	AL_WORKING_BLOCK_GRADIENT, /* bytes of gradients of a layer, before sharding, */
	AL_WORKING_HEAD_GRADIENT, /* of the head, its own or the embedding's */
	AL_WORKING_TIED_GRADIENT, /* of an embedding that is also the head; 0: none is */
	AL_WORKING_PEAK, /* bytes allocated at the peak: for "reserved" terms; else 0 */
	AL_WORKING_TEMPORARY, /* of these, activations and the working set */
	AL_N_WORKING_FACTS,
};
extern const char *const al_working_fact_names[AL_N_WORKING_FACTS];

/* Memory that a framework needs in addition to states and saved activations. */
struct al_working_term {
	const char *name, *source;
	const char
		*during; /* the moment when it is held, one text of all its terms; NULL: always */
	const struct al_formula *when, *bytes; /* `when` NULL: under any training */
	bool has_state; /* the bytes change a state's, not the working set */
	int state; /* enum al_term_state */
};

/* States that a term may change: "gradients" and "activations" that don't exist at its moment; or
 * what isn't allocated, but "reserved", which may depend on the peak. */
enum al_term_state { AL_TERM_GRADIENTS, AL_TERM_ACTIVATIONS, AL_TERM_RESERVED, AL_N_TERM_STATES };

/* Symbols of formulas of what a saved number takes. */
enum al_saved_fact {
	AL_SAVED_BYTES, /* "activations": "bytes" */
	AL_SAVED_RESIDUAL, /* ... and "residual" */
	AL_SAVED_READERS, /* matrices that read the same input */
	AL_SAVED_RMS, /* 1: the model's norms have no biases */
	AL_SAVED_GATED, /* 1: an activation function's output is multiplied by another matrix' */
	AL_SAVED_DROPOUT, /* 1: the attention has dropout */
	AL_SAVED_FROZEN, /* 1: adapters are trained, not the weights; then `readers` have one */
	AL_SAVED_EXPERT, /* 1: it is an expert's */
	AL_SAVED_ENCODER, /* 1: the model is an encoder */
	AL_SAVED_UNIT_OFFSET, /* 1: a norm's gain is 1 + its weight */
	AL_SAVED_SCORE_CAP, /* 1: attention scores are capped */
	AL_SAVED_LOGIT_CAP, /* 1: logits are */
	AL_SAVED_SELECTIVE, /* 1: recomputation is */
	AL_SAVED_CHUNKED,
	AL_SAVED_FUSED,
	AL_SAVED_COMPILED_LOSS,
	AL_SAVED_COMPILED, /* as of the working set */
	AL_SAVED_SP, /* devices that a sequence is gathered from, 1: it isn't cut */
	AL_SAVED_ADAPTER_DROPOUT, /* 1: adapters drop some of what they read */
	AL_N_SAVED_FACTS,
};
extern const char *const al_saved_fact_names[AL_N_SAVED_FACTS];

/* How a framework's modules save a tensor: bytes for each of its numbers, copies included. The
 * first rule holds that is of the tensor and, if it names any, of the model's activation function.
 */
struct al_saved_rule {
	enum al_saved_of of;
	const char **activations;
	size_t n_activations;
	const struct al_formula *bytes;
	const char *source;
};

/* Another optimizer than the recipe's. */
struct al_optimizer {
	const char *name, *source;
	struct al_state_bytes optimizer; /* no terms: the recipe's */
	struct al_state_bytes step; /* as of the recipe */
	bool is_in_backward; /* each gradient is used and freed as soon as it is computed */
};

struct al_recipe {
	const char *name, *title, *source;
	struct al_state_bytes weights, gradients, optimizer;
	struct al_state_bytes step; /* what the optimizer allocates in its step; none: nothing */
	const struct al_formula
		*trainable; /* numbers that are trained for a tensor; NULL: elements */
	int64_t rank; /* default for adapters; 0: none */
	const struct al_formula
		*activations_per_token; /* bytes per token and module; NULL: the ledger */
	bool is_flash; /* ledger rule: flash attention instead of eager */
	int64_t activation_bytes; /* bytes of a saved element without a size of its own */
	int64_t residual_bytes; /* of a number of the residual stream; 0: the same */
	int64_t logit_bytes; /* of a logit that the loss saves */
	int64_t zero; /* least ZeRO stage */
	enum al_recompute recompute; /* unless another is asked for */
	unsigned adapted; /* matrices with adapters: bits of al_adapted_names; 0: all */
	const char *grouped; /* "eager": what attends with fewer key/value heads has no other
				kernel; NULL: it has */
	const char *like; /* the recipe whose rules and working set it has; NULL: its own */
	struct al_optimizer *optimizers;
	size_t n_optimizers;
	const struct al_optimizer *chosen; /* NULL: its own */
	struct al_saved_rule *saved; /* in place of the chain rule's bytes */
	size_t n_saved;
	struct al_working_term *working;
	size_t n_working; /* 0: not known */
};

/* ---- models ---- */

struct al_model {
	const char *name, *title, *source; /* of a config.json: its path, its path, and none */
	int64_t year; /* of the source; 0: not given. The page shows it */
	const char *family; /* NULL: attention only */
	struct al_binding *symbols; /* without a family */
	size_t n_symbols;
	const struct al_json *doc; /* the file, and ... */
	const struct al_item *config; /* ... its "config", or text_config; NULL without a family */
	const char *note; /* which part of a config.json this is; NULL: all */
};

/* ---- symbols ---- */

struct al_symbol {
	const char *name, *latex, *title, *unit;
	const struct al_formula
		*fallback; /* the only defaults: d_value, n_kv_heads, d_head; or NULL */
	const char *fallback_origin; /* "default d_model/n_heads" */
};

/* "d_model": a letter or _, then letters, digits and _, and no word of the formula language. */
bool al_symbol_is_name(const char *text);

/* ---- families: see catalog/family.h ---- */

struct al_family;

/* ---- the catalog ---- */

enum al_catalog_kind {
	AL_CATALOG_VARIANTS,
	AL_CATALOG_FAMILIES,
	AL_CATALOG_RECIPES,
	AL_CATALOG_MODELS,
	AL_CATALOG_SCHEMES,
	AL_CATALOG_ENGINES,
	AL_N_CATALOG_KINDS,
};

/* The embedded files of a kind. */
const struct al_embedded_list *al_catalog_files(enum al_catalog_kind kind);

struct al_catalog;

struct al_catalog *al_catalog_create(void);
void al_catalog_destroy(struct al_catalog *catalog);

/* A key of the config.json that `compress` writes: its other keys describe the original. */
#define AL_CONFIG_COMPRESSED "attnledger_compressed"

/* Is it a file rather than a built-in's name: with '/', ending in ".json", or a folder that no
 * built-in is called like? */
bool al_catalog_is_path(const char *name);

/* A built-in by name, or a user's file by path. The result belongs to the catalog. An unknown
 * name names the nearest. A model's path may also be that of a config.json or of a folder that
 * holds one. */

bool al_catalog_variant(struct al_catalog *catalog, const char *name, const struct al_variant **out,
	struct al_error *err) AL_MUST_CHECK;
bool al_catalog_recipe(struct al_catalog *catalog, const char *name, const struct al_recipe **out,
	struct al_error *err) AL_MUST_CHECK;
bool al_catalog_model(struct al_catalog *catalog, const char *name, const struct al_model **out,
	struct al_error *err) AL_MUST_CHECK;

/* Makes the text of a checkpoint's config.json the model of that name. */
bool al_catalog_add_config(struct al_catalog *catalog, const char *name, const char *text,
	struct al_error *err) AL_MUST_CHECK;
bool al_catalog_family(struct al_catalog *catalog, const char *name, const struct al_family **out,
	struct al_error *err) AL_MUST_CHECK;

/* A user's families, a folder's or one file: from here on the families of their model types, also
 * where built-in ones have them. */
bool al_catalog_add_families(struct al_catalog *catalog, const char *path,
	struct al_error *err) AL_MUST_CHECK;
/* The same of the folder that is always read, if it exists: the families directory in attnledger's
 * under $XDG_CONFIG_HOME, or ~/.config. Reads it once. */
bool al_catalog_own_families(struct al_catalog *catalog, struct al_error *err) AL_MUST_CHECK;
/* The user's families that were read, the last first; NULL behind the others. */
const struct al_family *al_catalog_added_family(const struct al_catalog *catalog, size_t index);

/* The family of a config.json's "model_type"; it is never guessed. */
bool al_catalog_family_of(struct al_catalog *catalog, const char *model_type,
	const struct al_family **out, struct al_error *err) AL_MUST_CHECK;

/* The family of a config.json with the families of its components; `name` is where
 * al_catalog_family finds it again: "llava(text=qwen2)". */
bool al_catalog_family_for(struct al_catalog *catalog, const struct al_json *doc,
	const struct al_item *config, const struct al_family **out, const char **name,
	struct al_error *err) AL_MUST_CHECK;

/* The standard symbols, in the order of symbols.json. */
const struct al_symbol *al_catalog_symbols(struct al_catalog *catalog, size_t *n);

/* The LaTeX of a symbol: the standard one's, or the name escaped. Fits al_polynomial_latex with the
 * catalog as context. */
const char *al_catalog_latex(void *catalog, const char *symbol);
