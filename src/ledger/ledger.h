/* The ledger: the one currency. What an attention block holds, entry by entry, with exact shapes.
 *
 * A block is a variant under settings and bases. Its tensors, cache, saved activations and products
 * are evaluated to entries; every count is a sum over entries. */
#ifndef ATTNLEDGER_LEDGER_LEDGER_H
#define ATTNLEDGER_LEDGER_LEDGER_H

#include "catalog/catalog.h"
#include "catalog/settings.h"
#include "formula/polynomial.h"

/* ---- bases: conventions on which papers differ ---- */

/* Which output projection counts as a parameter. A tensor that is `fixed` stays as the variant
 * declares it under every basis, `none` included: its shape is the variant's own point. */
enum al_output_projection {
	AL_OUTPUT_OWN, /* as the variant declares */
	AL_OUTPUT_FULL, /* a weight of role output is one d_model x d_model */
	AL_OUTPUT_NONE, /* no tensor of role output, weight or bias */
};

/* What a number covers. */
enum al_basis_per {
	AL_BASIS_MODULE, /* one attention block; "block" is a synonym */
	AL_BASIS_LAYER, /* the same where all layers are alike; refused for an encoder-decoder */
	AL_BASIS_MODEL,
	AL_BASIS_WHOLE, /* the model with all its parts, which its family must tell; of measures
			   only */
};

/* Output projection and roles are about tensors; cache, activations and products are not
 * touched. */
struct al_basis {
	enum al_output_projection output_projection;
	enum al_basis_per per;
	unsigned roles; /* bit per enum al_role; all by default */
	bool has_biases, biases; /* has_biases false: each variant's own default */
	bool only_matrices; /* no vectors: neither biases nor norms */
};

void al_basis_init(struct al_basis *basis);

/* "output_projection", "full"; "roles", "query,key" (or "all"). An unknown key or value names the
 * nearest. */
bool al_basis_set(struct al_basis *basis, const char *key, const char *value,
	struct al_error *err) AL_MUST_CHECK;

/* "output_projection=full, biases=variant's own, roles=all, per=module": printed with every
 * answer. */
const char *al_basis_text(const struct al_basis *basis, struct al_arena *arena);

/* ---- a block ---- */

/* A variant with what was changed in it: {"use": "gqa", "as": "gqa-4", "n_kv_heads": 4}. */
struct al_variant_use {
	const struct al_variant *variant;
	const char *name; /* as: "gqa-4" */
	const char *title; /* what people read; NULL: the name */
	struct al_binding *with; /* symbols, and options as 0 or 1 */
	size_t n_with;
	bool is_all_own; /* "own": all attention of a model; `variant` stands for any */
	bool is_models_own; /* nobody asked for it: the basis' `biases` are stronger */
};

#define AL_OWN_ATTENTION "own"

bool al_variant_has_option(const struct al_variant *variant, const char *key);

/* Adds one change: a standard symbol, one of the variant's own, or an option (0 or 1). An unknown
 * key names the nearest; a key that comes twice is refused. */
bool al_variant_use_set(struct al_arena *arena, struct al_variant_use *use, const char *key,
	int64_t value, const struct al_symbol *symbols, size_t n_symbols,
	struct al_error *err) AL_MUST_CHECK;

/* Parses "gqa", "gqa:n_kv_heads=4,biases=true" or "FILE.json:...", or "own": a model's own
 * attention, under the basis per=whole. Its name is the variant's with the changes:
 * "gqa:n_kv_heads=4,biases=true". */
bool al_variant_use_parse(struct al_arena *arena, struct al_catalog *catalog, const char *text,
	struct al_variant_use *out, struct al_error *err) AL_MUST_CHECK;

enum { AL_BLOCK_PLACES = 64 };

struct al_block {
	const struct al_variant_use *use;
	const struct al_basis *basis;
	struct al_settings
		settings; /* the question's settings with the use's changes and options; to
	                                   be read; al_block_set changes it */
	int64_t cached_bytes; /* of a cached element without a dtype: 2; may be changed */
	/* private */
	struct al_block_place {
		const char *symbol; /* as a formula holds it */
		size_t index; /* where its setting was */
	} places[AL_BLOCK_PLACES];
	int64_t covered[AL_PER_MODEL + 1]; /* what al_block_times found; 0: not asked yet */
	const struct al_formula *d_model; /* under the basis `full` */
	const struct al_formula
		*times[2][AL_PER_MODEL]; /* per=model: of one stack; with a decoder's */
};

/* Copies `settings` and applies the variant's options. An option is worth, from weak to strong: the
 * variant's default, the settings, the basis' `biases`, the use (a model's own: before the basis).
 * `use` and `basis` must outlive the block. Errors name the variant and its file. */
bool al_block_init(struct al_block *block, const struct al_variant_use *use,
	const struct al_settings *settings, const struct al_basis *basis,
	struct al_error *err) AL_MUST_CHECK;
void al_block_finish(struct al_block *block);

/* Changes one symbol of the question's settings, as if the block had been made with it: defaults
 * that depend on it follow, what the use fixes stays. For sweeps: costs no parsing and no
 * memory. */
void al_block_set(struct al_block *block, const char *symbol, int64_t value);

/* The value of a symbol in this block, at least `least`. */
bool al_block_symbol(struct al_block *block, const char *symbol, int64_t least, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* Attention modules that the basis' `per` covers: 1, or n_layers, or n_encoder_layers +
 * 2*n_decoder_layers. An n_layers beside them must be n_encoder_layers + n_decoder_layers. */
bool al_block_modules(struct al_block *block, int64_t *out, struct al_error *err) AL_MUST_CHECK;

/* ---- entries ---- */

enum { AL_MOST_DIMS = AL_SHAPE_DIMS };

struct al_ledger_entry {
	const struct al_entry *entry;
	int64_t dims
		[AL_MOST_DIMS]; /* of the tensor, cached or saved element, as the basis has it; of
	                                   a product [m, k] x [k, n]: m, k, n */
	size_t n_dims;
	int64_t count, active;
	int64_t times; /* how many the basis covers: the modules, fewer where a tensor is
	                                   shared (per layer, group or model) */
	mpq_srcptr elements; /* product of dims and count, once; of a product: multiply-adds */
	const char *formula; /* "d_model * n_heads*d_head" */
	const char *substituted; /* "768 * 12*64"; NULL unless asked for */
};

struct al_ledger {
	struct al_arena arena;
	struct al_ledger_entry *entries;
	size_t n;
	int64_t modules; /* al_block_modules */
};

/* Each fills a ledger that needs no initialising; on failure there is nothing to finish. The whole
 * is the sum of elements * times. */

/* The tensors that the basis counts (no buffers unless `with_buffers`). `explain` fills
 * `substituted`. */
bool al_ledger_tensors(struct al_ledger *ledger, struct al_block *block, bool with_buffers,
	bool explain, struct al_error *err) AL_MUST_CHECK;
bool al_ledger_cache(struct al_ledger *ledger, struct al_block *block, bool explain,
	struct al_error *err) AL_MUST_CHECK;
/* Those that the recipe's attention kernel (eager or flash) saves. */
bool al_ledger_activations(struct al_ledger *ledger, struct al_block *block,
	const struct al_recipe *recipe, bool explain, struct al_error *err) AL_MUST_CHECK;
bool al_ledger_products(struct al_ledger *ledger, struct al_block *block, bool explain,
	struct al_error *err) AL_MUST_CHECK;
void al_ledger_finish(struct al_ledger *ledger);

/* Bytes of one number of a dtype ("bf16"). An unknown name names the nearest. */
bool al_dtype_bytes(const char *name, int64_t *bytes, struct al_error *err) AL_MUST_CHECK;

/* ---- measures: the ledger's columns ---- */

enum al_measure {
	AL_PARAMETERS, /* trained numbers */
	AL_WEIGHTS,
	AL_GRADIENTS,
	AL_OPTIMIZER,
	AL_ACTIVATIONS,
	AL_TOTAL, /* bytes, by the recipe */
	AL_CACHE, /* elements that one more token adds to the cache; not source tokens, not
				constant states */
	AL_CACHE_BYTES, /* bytes of `batch` whole sequences of `seq` tokens, at the block's
			   cached_bytes an element unless the entry has a dtype */
	AL_FLOPS, /* forward, `batch` sequences of `seq` tokens */
	/* of whole models only: */
	AL_ACTIVE, /* parameters that work on one token */
	AL_EMBEDDING_PARAMETERS,
	AL_ATTENTION_PARAMETERS,
	AL_FEED_FORWARD_PARAMETERS, /* as enum al_part */
	AL_NORM_PARAMETERS,
	AL_OTHER_PARAMETERS,
	AL_HEAD_PARAMETERS,
	AL_ATTENTION_SHARE, /* attention's percent of the parameters */
	AL_N_MEASURES,
	AL_N_BLOCK_MEASURES = AL_ACTIVE, /* those that one block has too */
};

struct al_measure_info {
	const char *key, *title, *unit;
	int quantity; /* enum al_quantity */
	bool needs_recipe;
};
extern const struct al_measure_info al_measures[AL_N_MEASURES];

/* The index of a measure's key, or -1. */
int al_measure_find(const char *key);

/* One number: of the block, for all that the basis covers. `recipe` may be NULL where the measure
 * needs none. */
bool al_block_measure(struct al_block *block, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err) AL_MUST_CHECK;

/* The sum of the tensors that the basis counts as one polynomial, after substitution; symbols that
 * the use fixes (n_kv_heads = 4) and options are numbers, other settings stay symbols. A standard
 * default that is another symbol's name (d_value is d_head, n_kv_heads is n_heads) is applied where
 * nothing else gives the symbol. */
bool al_block_polynomial(struct al_block *block, const struct al_substitution *substitutions,
	size_t n_substitutions, struct al_polynomial **out, struct al_error *err) AL_MUST_CHECK;

/* ---- metrics (Xue & Aletras 2023, section 4.6) ---- */

/* PRR in percent; false where the reference is zero. */
bool al_retention(mpq_t out, mpq_srcptr score, mpq_srcptr reference,
	bool higher_is_better) AL_MUST_CHECK;

/* PEoP; false where the parameter counts are equal, or the base's score or count is zero. */
bool al_elasticity(mpq_t out, mpq_srcptr score, mpq_srcptr base_score, mpq_srcptr parameters,
	mpq_srcptr base_parameters, bool higher_is_better) AL_MUST_CHECK;

#endif
