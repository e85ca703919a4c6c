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

enum al_output_projection { AL_OUTPUT_OWN, AL_OUTPUT_FULL, AL_OUTPUT_NONE };
enum al_basis_per { AL_BASIS_MODULE, AL_BASIS_LAYER, AL_BASIS_MODEL };

struct al_basis {
	enum al_output_projection output_projection;
	enum al_basis_per per;
	unsigned roles;             /* bit per enum al_role; all by default */
	bool has_biases, biases;    /* has_biases false: each variant's own default */
};

void al_basis_init(struct al_basis *basis);

/* "output_projection", "full" ... An unknown key or value names the nearest. "block" is "module". */
bool al_basis_set(struct al_basis *basis, const char *key, const char *value, struct al_error *err)
	AL_MUST_CHECK;

/* "output_projection=full, biases=variant's own, roles=all, per=module": printed with every answer. */
const char *al_basis_text(const struct al_basis *basis, struct al_arena *arena);

/* ---- a block ---- */

/* A variant with what was changed in it: {"use": "gqa", "as": "gqa-4", "n_kv_heads": 4}. */
struct al_variant_use {
	const struct al_variant *variant;
	const char *name;               /* as: "gqa-4" */
	struct al_binding *with;        /* symbols, and options as 0 or 1 */
	size_t n_with;
};

/* Parses "gqa", "gqa:n_kv_heads=4,biases=true" or "FILE.json:...". */
bool al_variant_use_parse(struct al_arena *arena, struct al_catalog *catalog, const char *text,
	struct al_variant_use *out, struct al_error *err) AL_MUST_CHECK;

struct al_block {
	const struct al_variant_use *use;
	const struct al_basis *basis;
	struct al_settings settings;    /* the question's settings with the use's changes and options */
};

/* Copies `settings` and applies the use and the basis' biases. Errors name the variant and its file. */
bool al_block_init(struct al_block *block, const struct al_variant_use *use,
	const struct al_settings *settings, const struct al_basis *basis, struct al_error *err)
	AL_MUST_CHECK;
void al_block_finish(struct al_block *block);

/* Attention modules that the basis' `per` covers: 1, or n_layers, or n_encoder_layers +
 * 2*n_decoder_layers. */
bool al_block_modules(struct al_block *block, int64_t *out, struct al_error *err) AL_MUST_CHECK;

/* ---- entries ---- */

enum { AL_MOST_DIMS = 8 };

struct al_ledger_entry {
	const struct al_entry *entry;
	int64_t dims[AL_MOST_DIMS];     /* of the tensor, cached or saved element; as the basis has it */
	size_t n_dims;
	int64_t count, active;
	mpq_srcptr elements;            /* product of dims and count, of one module */
	const char *formula;            /* "d_model * n_heads*d_head" */
	const char *substituted;        /* "768 * 12*64"; NULL unless asked for */
};

struct al_ledger {
	struct al_arena arena;
	struct al_ledger_entry *entries;
	size_t n;
	int64_t modules;                /* multiply by this for the basis' `per` */
};

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

/* ---- measures: the ledger's columns ---- */

enum al_measure {
	AL_PARAMETERS,       /* trained numbers */
	AL_WEIGHTS, AL_GRADIENTS, AL_OPTIMIZER, AL_ACTIVATIONS, AL_TOTAL,   /* bytes, by the recipe */
	AL_CACHE,            /* cached elements a token */
	AL_CACHE_BYTES,      /* bytes of a whole sequence of `seq` tokens and `batch` sequences at 2 bytes an
	                        element unless the entry has a dtype */
	AL_FLOPS,            /* forward, `batch` sequences of `seq` tokens */
	AL_N_MEASURES,
};

struct al_measure_info {
	const char *key, *title, *unit;
	int quantity;        /* enum al_quantity */
	bool needs_recipe;
};
extern const struct al_measure_info al_measures[AL_N_MEASURES];

/* The index of a measure's key, or -1. */
int al_measure_find(const char *key);

/* One number: of the block, times its modules. `recipe` may be NULL where the measure needs none. */
bool al_block_measure(struct al_block *block, enum al_measure measure, const struct al_recipe *recipe,
	mpq_t out, struct al_error *err) AL_MUST_CHECK;

/* The sum of the tensors that the basis counts as one polynomial, after substitution; symbols that the
 * use fixes (n_kv_heads = 4) are numbers, other settings stay symbols. */
bool al_block_polynomial(struct al_block *block, const struct al_substitution *substitutions,
	size_t n_substitutions, struct al_polynomial **out, struct al_error *err) AL_MUST_CHECK;

/* ---- metrics (Xue & Aletras 2023, section 4.6) ---- */

/* PRR in percent. */
void al_retention(mpq_t out, mpq_srcptr score, mpq_srcptr reference, bool higher_is_better);

/* PEoP; false where the parameter counts are equal. */
bool al_elasticity(mpq_t out, mpq_srcptr score, mpq_srcptr base_score, mpq_srcptr parameters,
	mpq_srcptr base_parameters, bool higher_is_better);

#endif
