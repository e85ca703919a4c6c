/* Inference memory of a whole model, and of the draft model that its ledger asks for: weights as a
 * file stores them, what decoding caches by kind of layer, one forward's activations; and what a
 * decoded token reads and computes. */
#pragma once

#include "ledger/saved.h"
#include "ledger/train.h"

/* ---- cache ---- */

enum al_cache_kind {
	AL_CACHE_FULL, /* every token of the sequence */
	AL_CACHE_WINDOW, /* the last tokens of it */
	AL_CACHE_LATENT, /* every token, compressed */
	AL_CACHE_CROSS, /* tokens of the source */
	AL_CACHE_STATE, /* the same however long the sequence is */
	AL_CACHE_DRAFT, /* no line's: all of a draft model */
	AL_CACHE_PADDING, /* no line's: what blocks of layer groups have beyond their entries */
	AL_N_CACHE_KINDS,
};
extern const char *const al_cache_kind_names[AL_N_CACHE_KINDS];

/* The title; NULL: the name. */
extern const char *const al_cache_kind_titles[AL_N_CACHE_KINDS];

struct al_cache_entry {
	enum al_cache_kind kind;
	const struct al_ledger_entry *entry; /* for one token, of a state for one sequence; of all
						modules, `times` of them */
	mpq_srcptr expanded; /* what engines keep for a latent: keys and values of all heads, on
				one device; elsewhere the entry's `device`. NULL: not known */
	mpq_srcptr rank; /* numbers that the engine keeps of it on one device; NULL: not known */
	const struct al_dtype *storage;
	int64_t tokens; /* that are kept; 0 where seq isn't known */
	int64_t held; /* tokens that the engine holds, in whole blocks; 1 of a state */
	int64_t limit; /* where it stops growing; 0: never */
	bool is_first, is_first_of_kind; /* of its module: counts it */
	bool is_draft; /* of the draft model */
};

/* The kind that an answer lists the line as. */
static inline enum al_cache_kind al_cache_row_of(const struct al_cache_entry *line)
{
	return line->is_draft ? AL_CACHE_DRAFT : line->kind;
}

/* What an engine takes that groups layers (groups.h, packed.h): a sequence takes `blocks`. */
struct al_layer_groups {
	int64_t n_groups; /* 0: it groups none */
	int64_t block_bytes; /* of a block in all layers of a group */
	int64_t least_block; /* tokens of the smallest one */
	int64_t blocks, counted; /* counted: as the engine's log has it */
	mpq_srcptr padding; /* bytes of the blocks of a sequence that no line holds */
};

struct al_cache_entries {
	struct al_cache_entry *lines;
	size_t n, room;
	struct al_layer_groups groups;
};

/* What `seq` tokens of one sequence of a batch (0: not known) and as many source tokens leave.
 * Lines are good until they are asked for again. */
bool al_ledger_cache(struct al_ledger *ledger, const struct al_dtype *storage, int64_t seq,
	int64_t source_seq, int64_t batch, struct al_cache_entries *out,
	struct al_error *err) AL_MUST_CHECK;

/* ---- inference ---- */

struct al_inference {
	struct al_quantization *weights; /* the same as the ledger was opened with */
	const struct al_dtype *cache;
	struct al_share share;
	int64_t batch, seq, source_seq, tp;
	int64_t pp, stage; /* of a pipeline the stage that is asked for; pp 0 or 1: there is none */
	int64_t ep; /* devices that experts are dealt out over; 0 or 1: they are as tp has it */
	int64_t activation_bytes;
	bool is_encoder; /* reads all tokens at once and keeps none */
	const struct al_engine_choice
		*engine; /* for who explains: as the ledger was asked; or NULL */
	const struct al_inference_watch *watch; /* or NULL */
};

/* Which states inference has, in the order of the answer. */
enum { AL_N_INFERENCE_STATES = 7 };
extern const enum al_memory_state al_inference_states[AL_N_INFERENCE_STATES];

/* On one device; FLOPs and bytes read are for one more token of each of `batch` sequences. */
struct al_inference_row {
	mpq_t bytes; /* that the engine holds */
	mpq_t read, flops;
};

/* What one entry adds to a state: of the ledger's tensors, of what is cached, of a decoding step's
 * products, or of what one forward holds. */
struct al_inference_part {
	enum al_memory_state state;
	const char *name;
	const struct al_ledger_entry *entry; /* NULL: held by a forward */
	const struct al_cache_entry *cached; /* NULL: not cached */
	mpq_srcptr numbers; /* on one device, of all tokens; NULL: none, FLOPs alone */
	const struct al_dtype *storage; /* its name may be NULL */
	const char *formula; /* of an engine's bytes; else NULL */
	const struct al_inference_row *row;
};

/* Hears every part; the rows are their sums. A part dies with the call. */
struct al_inference_watch {
	void (*hear)(void *context, const struct al_inference_part *part);
	void *context;
};

void al_inference_rows_init(struct al_inference_row rows[AL_N_STATES]);
void al_inference_rows_finish(void *rows);

/* How much the ledger must know: its layers, where the file type gives some of them more. */
enum al_tensor_list_detail al_inference_detail(const struct al_inference *inference);

bool al_ledger_infer(struct al_ledger *ledger, const struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err) AL_MUST_CHECK;

/* The same of the stage of a pipeline that holds most, left in `stage`; pp is at least 1. */
bool al_ledger_infer_largest(struct al_ledger *ledger, struct al_inference *inference,
	struct al_inference_row rows[AL_N_STATES], struct al_error *err) AL_MUST_CHECK;

/* Tokens that a forward processes at once; `engine` NULL: one, which is the least of a decoder. */
int64_t al_inference_tokens_at_once(const struct al_engine_choice *engine,
	const struct al_inference *inference);

/* Do the variants declare what a state's bytes, or its FLOPs, are summed up from? What they don't
 * declare is not known, and not 0. AL_N_STATES: all states. */
bool al_inference_is_known(const struct al_ledger *ledger, const struct al_inference *inference,
	int state, bool of_flops, struct al_undeclared *out);
