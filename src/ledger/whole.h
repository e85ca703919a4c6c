/* A whole model as one ledger: the tensors of its attention modules, through their variants, and
 * those of its other parts, through its family's books. Parameters, memory, cache and what fits are
 * all sums over this one list, so that they cannot disagree. */
#ifndef ATTNLEDGER_LEDGER_WHOLE_H
#define ATTNLEDGER_LEDGER_WHOLE_H

#include "catalog/books.h"
#include "ledger/ledger.h"

/* What is asked about. */
struct al_whole_ask {
	struct al_catalog *catalog;
	const struct al_family *family;
	struct al_settings *settings; /* the question's; must outlive the whole */
	const struct al_basis *basis; /* `per` is not looked at: it is the whole model */
	const struct al_variant_use
		*use; /* in the place of every attention module; NULL: the model's own */
	int64_t tp; /* tensor-parallel degree, at least 1 */
	enum al_books_detail detail;
	bool explains; /* fill `substituted` */
};

/* Equal tensors: `copies` of them in the model, all with these dimensions. */
struct al_whole_tensor {
	enum al_part part;
	const char *module; /* "h.{layer}.attn"; NULL: not of an attention module */
	const char *name; /* "W_Q", "wte.weight" */
	const struct al_entry *entry;
	const int64_t *dims;
	size_t n_dims;
	int64_t layer; /* where layers were asked for; -1: of no layer, or of all */
	int64_t n_layers; /* of the stack of layers that it is in; 0: in none */
	int64_t copies;
	mpq_srcptr elements; /* in all copies */
	mpq_srcptr active; /* in those that work on one token */
	mpq_srcptr device; /* of `elements`, on one tensor-parallel device */
	const char *apart, *tied_to; /* as in the books */
	bool is_parameter; /* trained, the model's own, counted once */
	bool is_matrix; /* two dimensions or more, and not a bias */
	bool is_in_layers; /* repeated with the layers */
	bool is_expert; /* one of several of which a token uses some */
	const struct al_model_tensor *stored; /* NULL: of an attention module */
	const char *formula, *substituted; /* of one copy; substituted may be NULL */
	const char *source;
	size_t i_module; /* of an attention module: in `modules` */
};

/* Equal attention modules. */
struct al_whole_module {
	const struct al_model_module *module;
	struct al_variant_use use, shard_use;
	struct al_block block; /* of the whole model */
	struct al_block shard; /* what one tensor-parallel device holds of it */
	int64_t copies, layer, n_layers; /* as of a tensor */
	int64_t uses; /* how many layers each copy works in */
	const char *apart;
};

struct al_whole {
	struct al_arena arena;
	struct al_whole_ask ask;
	struct al_basis basis;
	struct al_model_books books;
	struct al_whole_module *modules;
	size_t n_modules;
	struct al_whole_tensor *tensors;
	size_t n_tensors, tensors_room;
};

/* Errors name the module or tensor. With tp > 1 a device holds n_heads/tp heads and
 * ceil(n_kv_heads/tp) key/value heads (replicated where there are too few), its share of every
 * feed-forward matrix and of what the vocabulary indexes; norms, routers' biases and whatever else
 * doesn't depend on these is on every device. */
bool al_whole_init(struct al_whole *whole, const struct al_whole_ask *ask,
	struct al_error *err) AL_MUST_CHECK;
void al_whole_finish(struct al_whole *whole);

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
	AL_COUNT_SCALES, /* of a quantisation */
	AL_COUNT_APART, /* stored beside the model: multi-token prediction */
	AL_COUNT_STORED, /* what a file holds: each tensor once, and no buffers that may be left out
			  */
	AL_N_COUNTS,
};

struct al_count_info {
	const char *key, *title;
};
extern const struct al_count_info al_counts[AL_N_COUNTS];

void al_whole_count(const struct al_whole *whole, enum al_count count, mpq_t out);

#endif
