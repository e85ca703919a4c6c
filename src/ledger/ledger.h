/* The ledger: the one currency. What a model or one attention block holds, entry by entry, with
 * exact shapes; every count is a sum over entries, so that parameters, memory, cache and what fits
 * cannot disagree.
 *
 * A ledger has modules, each a configured variant under its settings, and of a family the tensors
 * of the other parts. A block alone is a model with one module. Its entries hold formulas: a list
 * of them is evaluated when it is first asked for, and again when a symbol was set. */
#pragma once

#include "base/table.h"
#include "catalog/engine.h"
#include "catalog/tensor_list.h"
#include "formula/polynomial.h"
#include "ledger/basis.h"
#include "ledger/block.h"
#include "ledger/configured.h"
#include "ledger/quantize.h"

/* ---- what is asked about ---- */

struct al_ledger_ask {
	struct al_catalog *catalog;
	const struct al_model *model; /* whose settings these are; NULL: none's */
	const struct al_family *family; /* of a whole model; NULL: one module, unless the basis is
					   per=whole: then the model's */
	const struct al_settings *settings;
	const struct al_basis *basis;
	const struct al_configured_variant
		*configured; /* the module; of a whole model in place of every
					     attention module, NULL: the model's own */
	const char *name; /* of a whole model, before errors of its parts; or NULL */
	int64_t tp; /* tensor-parallel degree of a whole model; 0 or 1: none */
	enum al_tensor_list_detail detail;
	bool explains; /* fill `substituted` */
	const struct al_engine_choice *engine; /* that holds the cache; NULL: the lower bound */
	const struct al_dtype *cache; /* in which it is; NULL: bf16 */
	struct al_quantization *quantization; /* of a whole model: what it adds to the tensors is in
						 their list; or NULL */
	struct al_ledger *draft; /* of a model that speculates, asked with the same tp, detail and
				    engine, and a quantization; NULL: none */
};

/* ---- entries ---- */

enum al_list {
	AL_LIST_TENSORS, /* of a module alone without buffers */
	AL_LIST_STORED, /* with buffers */
	AL_LIST_CACHE,
	AL_LIST_EAGER, /* saved for backward by an eager attention kernel */
	AL_LIST_FLASH, /* and by a flash kernel */
	AL_LIST_REPEATED, /* by an eager one that repeats keys and values for each query head */
	AL_LIST_PRODUCTS,
	AL_LIST_ABSORBED, /* products of a decoding step: W_UK and W_UV absorbed */
	AL_N_LISTS,
};

/* Equal entries: `times` of them in what is asked about, all with these dimensions. */
struct al_ledger_entry {
	const struct al_entry *entry; /* as the catalog has it */
	enum al_part part;
	const struct al_ledger_module *module; /* NULL: of no attention module */
	const struct al_model_item *stored; /* as the family has it; NULL: of a module */
	const char *name; /* "W_Q", "wte.weight" */
	int64_t dims[AL_MOST_DIMS]; /* as the basis has it; of a product [m, k] x [k, n]: m, k, n */
	size_t n_dims;
	int64_t count, active_count; /* stacked in one; and of them at work on one token */
	int64_t times; /* the modules that the basis covers, fewer where it is shared */
	int64_t layer; /* where layers were asked for; -1: of no layer, or of all */
	int64_t n_layers; /* of the stack of layers that it is in; 0: in none */
	mpq_t elements; /* product of dims, count and times; of a product: multiply-adds */
	mpq_t active; /* of them, those that work on one token */
	mpq_t device; /* of `elements`, on one tensor-parallel device */
	const char *extra, *tied_to; /* as in the tensor list */
	const char *beside; /* the tensor that a scheme's scale is of; NULL: no such scale */
	int64_t bits; /* of each number of such a scale; 0: its dtype's */
	enum al_component component;
	bool sees_text; /* every token of the text passes it: it is neither a tower's nor extra */
	bool is_parameter; /* trained, the model's own, counted once */
	bool is_matrix; /* two dimensions or more, and not a bias */
	bool is_in_layers; /* repeated with the layers */
	bool is_expert; /* one of several of which a token uses some */
	const char *formula,
		*substituted; /* of one: "d_model * n_heads*d_head", "768 * 12*64"; NULL
					      unless asked for */
	const char *source;
};

/* How often `formula` is in the entry: a module's has its count as a factor, the family's tensors
 * are one of those that are stacked. */
static inline int64_t al_entry_times(const struct al_ledger_entry *entry)
{
	return entry->stored ? entry->times * entry->count : entry->times;
}

/* Each number once: what is trained of the model; of what is stored in addition, known from files
 * only, all but scales. */
bool al_entry_is_own(const struct al_ledger_entry *entry);
/* A file holds it, each tensor once, and no buffer that may be left out. */
bool al_entry_is_stored(const struct al_ledger_entry *entry);

struct al_ledger_list {
	struct al_ledger_entry *items;
	size_t n;
	size_t n_made, room; /* private */
	bool is_current; /* private */
};

/* Equal attention modules. */
struct al_ledger_module {
	const char *name; /* "h.{layer}.attn"; NULL: alone */
	const struct al_model_item *of; /* as the family has it; NULL: alone */
	struct al_configured_variant configured, device_configured;
	struct al_block *block; /* its symbols */
	struct al_block *device; /* as one tensor-parallel device has them; may be `block` */
	int64_t copies, layer, n_layers; /* as of an entry */
	int64_t uses; /* how many layers each copy works in */
	const char *extra;
	enum al_component component;
	bool sees_text; /* as of an entry */
	bool is_cross, is_encoder;
};

struct al_ledger {
	struct al_arena arena; /* of what is evaluated */
	struct al_ledger_ask ask;
	struct al_basis basis;
	struct al_block block; /* of the module alone, or of what replaces all */
	bool has_block, is_model, is_open;
	bool is_set; /* private: a symbol was set since the last update */
	struct al_arena cached; /* of the last al_ledger_cache */
	struct al_arena saved; /* of the last al_ledger_saved */
	const struct al_family *family; /* of a whole model */
	struct al_settings settings; /* of a whole model */
	struct al_tensor_list tensor_list;
	struct al_ledger_module *modules;
	size_t n_modules;
	struct al_ledger_list lists[AL_N_LISTS];
};

/* What the ask points to must outlive the ledger, but for the settings, which are copied. Errors
 * name the variant and its file, of a whole model the module or tensor. On failure there is nothing
 * to close.
 *
 * With tp > 1 a device holds n_heads/tp heads and ceil(n_kv_heads/tp) key/value heads (replicated
 * where there are too few), its share of every feed-forward matrix and of what the vocabulary
 * indexes; norms, routers' biases and whatever else doesn't depend on these is on every device. */
bool al_ledger_open(struct al_ledger *ledger, const struct al_ledger_ask *ask,
	struct al_error *err) AL_MUST_CHECK;
/* A module alone. */
bool al_ledger_open_module(struct al_ledger *ledger, const struct al_configured_variant *configured,
	const struct al_settings *settings, const struct al_basis *basis,
	struct al_error *err) AL_MUST_CHECK;
void al_ledger_close(struct al_ledger *ledger);
/* The same in an arena, with which it is closed; NULL: it can't be opened. */
struct al_ledger *al_ledger_create(struct al_arena *arena, const struct al_ledger_ask *ask,
	struct al_error *err) AL_MUST_CHECK;

/* Sets a symbol as the asker: what a config or a default derives follows it, what a configured
 * variant fixes stays. */
void al_ledger_set(struct al_ledger *ledger, const char *symbol, int64_t value);

/* The first variant of an updated model's text that tensor parallelism should cut and whose file
 * doesn't give how; NULL: none. */
const char *al_ledger_uncut(const struct al_ledger *ledger);

/* Brings modules and, of a whole model, the family's tensors up to what was set. */
bool al_ledger_update(struct al_ledger *ledger, struct al_error *err) AL_MUST_CHECK;

/* The entries of a list; valid until the next al_ledger_set. */
bool al_ledger_list(struct al_ledger *ledger, enum al_list list, const struct al_ledger_list **out,
	struct al_error *err) AL_MUST_CHECK;

/* The symbols of the module alone, of a whole model the request's. */
struct al_settings *al_ledger_settings(struct al_ledger *ledger);

/* The value of a symbol, at least `least`. */
bool al_ledger_symbol(struct al_ledger *ledger, const char *symbol, int64_t least, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* Attention modules that the basis' `per` covers: 1, or n_layers, or n_encoder_layers +
 * 2*n_decoder_layers. If n_layers is given too, it must be n_encoder_layers + n_decoder_layers. */
bool al_ledger_modules(struct al_ledger *ledger, int64_t *out, struct al_error *err) AL_MUST_CHECK;

/* ---- counts that are often confused ---- */

enum al_count {
	AL_COUNT_PARAMETERS, /* trained numbers, each once */
	AL_COUNT_ACTIVE, /* of them, those that work on one token */
	AL_COUNT_ACTIVE_WITHOUT_EMBEDDING, /* a token looks one row of an embedding up */
	AL_COUNT_WITHOUT_EMBEDDING, /* parameters outside of the part embedding */
	AL_COUNT_NON_EMBEDDING, /* neither embedding nor head, as in scaling laws (Kaplan et al.
				   2020) */
	AL_COUNT_TIED, /* numbers of tied tensors, where a file stores them again */
	AL_COUNT_BUFFERS, /* stored, not trained */
	AL_COUNT_SCALES, /* of a quantization */
	AL_COUNT_EXTRA, /* stored in addition to the model: multi-token prediction */
	AL_COUNT_STORED, /* what a file holds: each tensor once, and no buffers that may be left out
			  */
	AL_N_COUNTS,
};

struct al_count_info {
	const char *key, *title;
};
extern const struct al_count_info al_counts[AL_N_COUNTS];

bool al_ledger_count(struct al_ledger *ledger, enum al_count count, mpq_t out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- measures: the ledger's columns ---- */

enum al_measure {
	AL_PARAMETERS, /* trained numbers */
	AL_WEIGHTS, /* and so on, as enum al_memory_state begins */
	AL_GRADIENTS,
	AL_OPTIMIZER,
	AL_ACTIVATIONS,
	AL_TOTAL, /* bytes, by the recipe */
	AL_CACHE, /* elements that one more token adds to the cache; not source tokens, not
				constant states */
	AL_CACHE_BYTES, /* bytes of `batch` whole sequences of `seq` tokens, in bf16 where the
				entry has no dtype */
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

/* One number, for all that the basis covers. `recipe` may be NULL where the measure needs none. */
bool al_ledger_measure(struct al_ledger *ledger, enum al_measure measure,
	const struct al_recipe *recipe, mpq_t out, struct al_error *err) AL_MUST_CHECK;

/* Missing parts of a variant's file. */
struct al_undeclared {
	const char *variant; /* as it was configured */
	const char *list; /* "cache", "activations", "products" */
};

/* Do all attention modules declare what the list, or the measure, sums up? What isn't declared is
 * not known, and not 0. `out` may be NULL. */
bool al_ledger_declares_list(const struct al_ledger *ledger, enum al_list list,
	struct al_undeclared *out);
bool al_ledger_declares(const struct al_ledger *ledger, enum al_measure measure,
	const struct al_recipe *recipe, struct al_undeclared *out);

/* Notes it once with an answer. */
void al_note_undeclared(const struct al_undeclared *undeclared, struct al_table *table);

/* The sum of the module's tensors that the basis counts as one polynomial, after substitution;
 * symbols that the configured variant fixes (n_kv_heads = 4) and options are numbers, other
 * settings stay symbols. A standard default that is another symbol's name (d_value is d_head,
 * n_kv_heads is n_heads) is applied where nothing else gives the symbol. */
bool al_ledger_polynomial(struct al_ledger *ledger, const struct al_substitution *substitutions,
	size_t n_substitutions, struct al_polynomial **out, struct al_error *err) AL_MUST_CHECK;

/* The same of what one more token adds to the cache, or (`is_once`) of what is there once for a
 * sequence. */
bool al_ledger_cache_polynomial(struct al_ledger *ledger, bool is_once,
	const struct al_substitution *substitutions, size_t n_substitutions,
	struct al_polynomial **out, struct al_error *err) AL_MUST_CHECK;

/* A cell that is a polynomial, and one that is an order of growth in a symbol. */
void al_cell_set_polynomial(struct al_table *table, struct al_cell *cell,
	const struct al_polynomial *polynomial, struct al_catalog *catalog);
void al_cell_set_order(struct al_table *table, struct al_cell *cell, const char *symbol, int degree,
	struct al_catalog *catalog);

/* ---- metrics (Xue & Aletras 2023, section 4.6) ---- */

/* PRR in percent; false where the reference is zero. */
bool al_retention(mpq_t out, mpq_srcptr score, mpq_srcptr reference,
	bool higher_is_better) AL_MUST_CHECK;

/* PEoP; false where the parameter counts are equal, or the base's score or count is zero. */
bool al_elasticity(mpq_t out, mpq_srcptr score, mpq_srcptr base_score, mpq_srcptr parameters,
	mpq_srcptr base_parameters, bool higher_is_better) AL_MUST_CHECK;
