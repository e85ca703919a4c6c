/* Schemes of quantization: which number format each tensor of a checkpoint is stored in, and which
 * tensors (scales, zero points) are stored with it. One JSON file a scheme, in schemes/.
 *
 *   {
 *     "name": "fp8-linear", "title": ..., "source": ...,
 *     "methods": ["fp8"],
 *     "model": {"expert_dtype": {"key": "expert_dtype", "type": "word", "default": "none"}},
 *     "config": {"block": {"key": "weight_block_size", "type": "list", "length": 2, ...}},
 *     "known": "algo == 'FP8'", "knows": "quant_algo FP8",
 *     "keeps": ["modules_to_not_convert"], "kept": ["eh_proj"],
 *     "groups": [{"key": "config_groups", "targets": "targets"}], "group": {"bits": ...},
 *     "cache": [{"when": "cache_algo == 'FP8'", "dtype": "fp8"}],
 *     "base": "f32",
 *     "rules": [{"when": "is_linear and not is_head", "dtype": "fp8",
 *                "beside": [{"name": "weight_scale_inv", "dtype": "f32",
 *                            "shape": ["ceil_div(rows, block[0])", "ceil_div(cols, block[1])"]}]}]
 *   }
 *
 * * "methods" are the values of "quant_method" that the scheme answers to; a scheme without is
 * a file type, which only --dtype asks for. "model", "config" and "group" are read as a
 * family's "config" is: from the whole config.json, from its object "quantization_config" (or
 * the "quantization" of hf_quant_config.json), from each member of the first of "groups" that
 * is there. A group's "targets" is its key with patterns, or, left out, the member's name is
 * the pattern; a tensor goes by the first group that has it as a target. Members of "signed"
 * groups have regular expressions as names: "-:" before one marks what isn't converted, and what
 * is in no group goes by the object around them. "known" refuses what
 * the rules don't cover, and "knows" names what is expected. "keeps" are keys of lists of
 * patterns of what isn't converted, "kept" such patterns.
 *
 * * A pattern is a run of whole words of a name ("mlp.gate" is in "model.layers.3.mlp.gate");
 * with * in it, a glob over the whole name or over a module that it is in; "re:" and a regular
 * expression that the name begins with; or, of targets, the class "Linear".
 *
 * * "cache" is the format of the KV cache that the files declare, of the first line that holds; an
 * engine decides which of them it takes.
 *
 * * The first rule whose "when" holds gives the format: a "dtype" by name (one of blocks falls
 * back where rows don't fill them), "dtype_of" a word that was read, which is such a name, or
 * "bits" of each number; what is "beside" and has neither is in "base". Where none holds a
 * tensor stays in "base", which is the config's dtype by default. Formulas may
 * use what the scheme reads, the model's symbols, and of the tensor: its rows and cols (a matrix is
 * [rows, cols], a row what is multiplied with an input), is_linear (a matrix of no table,
 * router or convolution), is_matrix, is_embedding, is_table (of the vocabulary), is_head,
 * is_output (the head, or the table tied to it), is_router, is_expert, is_query, is_key,
 * is_value, is_projection (attention's output), is_fused_qkv, is_fused_kv, is_up, is_gate,
 * is_down, is_in_layers, is_text, layer and n_layers, value_layer and n_value_layers (counted
 * over layers with values only), n_experts, n_gqa. */
#pragma once

#include "catalog/family.h"

/* What formulas may ask of a tensor, in the order of al_scheme_facts. */
enum al_scheme_fact {
	AL_FACT_ROWS,
	AL_FACT_COLS,
	AL_FACT_LINEAR,
	AL_FACT_MATRIX,
	AL_FACT_EMBEDDING,
	AL_FACT_TABLE,
	AL_FACT_HEAD,
	AL_FACT_OUTPUT,
	AL_FACT_ROUTER,
	AL_FACT_EXPERT,
	AL_FACT_QUERY,
	AL_FACT_KEY,
	AL_FACT_VALUE,
	AL_FACT_PROJECTION,
	AL_FACT_FUSED_QKV,
	AL_FACT_FUSED_KV,
	AL_FACT_UP,
	AL_FACT_GATE,
	AL_FACT_DOWN,
	AL_FACT_IN_LAYERS,
	AL_FACT_TEXT,
	AL_FACT_LAYER,
	AL_FACT_LAYERS,
	AL_FACT_VALUE_LAYER,
	AL_FACT_VALUE_LAYERS,
	AL_FACT_EXPERTS,
	AL_FACT_GQA,
	AL_N_FACTS,
};
extern const char *const al_scheme_facts[AL_N_FACTS];

/* An additional tensor of a converted one: kind, name, shape, when; its dtype, or bits of each
 * number, or neither: as what isn't converted. */
struct al_scheme_tensor {
	struct al_entry entry;
	const struct al_formula *bits;
};

struct al_scheme_rule {
	const struct al_formula *when; /* NULL: true */
	const char *dtype;
	const struct al_formula *dtype_of; /* a word, the dtype's name */
	const struct al_formula *bits; /* where there is no dtype */
	struct al_scheme_tensor *beside;
	size_t n_beside;
};

struct al_scheme_groups {
	const char *key;
	const char *targets; /* NULL: a member's name is its target */
	bool is_signed;
};

struct al_scheme_cache {
	const struct al_formula *when;
	const char *dtype;
};

struct al_scheme {
	const char *name, *title, *source;
	struct al_texts methods;
	struct al_family model, config, group; /* of each its name and config keys alone */
	const struct al_formula *known; /* NULL: true */
	const char *knows; /* what that asks for, in words */
	struct al_texts keeps, kept;
	struct al_scheme_groups *groups;
	size_t n_groups;
	const char *base; /* NULL: the config's dtype */
	struct al_scheme_cache *cache;
	size_t n_cache;
	struct al_scheme_rule *rules;
	size_t n_rules;
	bool is_by_layer; /* its rules ask for the layer */
};

bool al_catalog_scheme(struct al_catalog *catalog, const char *name, const struct al_scheme **out,
	struct al_error *err) AL_MUST_CHECK;

/* The quantization that a model's files specify. */
struct al_quantization_config {
	const struct al_scheme *scheme; /* NULL: none */
	const struct al_json *doc; /* config.json or hf_quant_config.json, and ... */
	const struct al_item *object; /* ... the object in it */
	const char *method;
	bool is_of_text; /* it is in the text model's part of the config: towers stay as they
			    are */
};

/* An unknown method is refused where it appears. */
bool al_model_quantization(const struct al_model *model, struct al_catalog *catalog,
	struct al_quantization_config *out, struct al_error *err) AL_MUST_CHECK;

/* The format that a model's files declare for its cache; `dtype` NULL: none, or by a method that no
 * scheme answers to. */
struct al_declared_cache {
	const char *dtype, *scheme;
	const char *file;
};
bool al_model_cache(const struct al_model *model, struct al_catalog *catalog,
	struct al_declared_cache *out, struct al_error *err) AL_MUST_CHECK;

/* "bfloat16", from the config; NULL: it has none. */
const char *al_model_dtype(const struct al_model *model);

/* ---- patterns ---- */

struct al_budget;
struct al_patterns;

/* Lives in the arena but for regular expressions, which end with al_patterns_finish. */
struct al_patterns *al_patterns_create(struct al_arena *arena, struct al_budget *budget);
void al_patterns_finish(struct al_patterns *patterns);
bool al_patterns_add(struct al_patterns *patterns, const char *text,
	struct al_error *err) AL_MUST_CHECK;
bool al_patterns_are_empty(const struct al_patterns *patterns);
/* Takes steps; false, too, once the budget is spent: check it. */
bool al_patterns_match(struct al_patterns *patterns, const char *name);
