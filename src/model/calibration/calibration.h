/* Calibrations: what a model's attention does on real tokens, kept as sums that add up.
 *
 * A calibration is a safetensors file. Each sequence of tokens belongs to one of K folds, so that
 * what is fitted on some folds can be judged on another. Of each module, [K][numbers], a row of
 * sums for each fold; a symmetric matrix [n][n] as n(n + 1)/2 numbers, its lower triangle row by
 * row; inputs and heads F32, the others F64, and all of more than 2^24 tokens:
 *
 *     MODULE.inputs     [d_model + 1][d_model + 1]      of [x, 1]^T [x, 1], x what W_Q, W_K and W_V
 *                                                       read; the last number is that of tokens
 *     MODULE.heads      [n_heads*d_value][the same]     of o^T o, o the heads' outputs side by side
 *     MODULE.sums       [n_heads*d_value]               of o
 *     MODULE.norms      [n_heads]                       of |o_i|
 *     MODULE.entropies  [n_heads]                       of the attention weights' entropy, nats
 *     MODULE.distances  [n_heads][n_heads]              of the Jensen-Shannon distance between two
 *                                                       heads' attention weights
 *     MODULE.logits     [n_heads][n_heads]              of the covariance, over a query's keys, of
 *                                                       two heads' logits, the scores that the
 *                                                       softmax gets
 *     MODULE.self       [n_heads]                       of the attention weight on itself,
 *     MODULE.previous   [n_heads]                       on the token before it,
 *     MODULE.first      [n_heads]                       on the sequence's first token,
 *     MODULE.duplicates [n_heads]                       on all earlier tokens equal to it,
 *     MODULE.successors [n_heads]                       on all that directly follow such a one, but
 *                                                       for the token itself
 *     MODULE.spans      [n_heads]                       of the distance in tokens between query and
 *                                                       key, weighed by attention
 *     MODULE.turns      [n_heads]                       of the angle in degrees by which the
 *                                                       residual stream behind attention turns
 *                                                       if the head outputs nothing
 *
 * each added up over all tokens of the fold, but distances and logits over "queries" of them, U64
 * [K]; previous and first over "queries.later", those behind a sequence's first token; duplicates
 * and successors over "queries.repeated", those of which an equal token comes earlier; turns over
 * "queries.turned" of them, which older files lack. The mean is over these: each query counts
 * alike, however many keys it sees. Where behavior was recorded, on
 * random tokens that repeat (behavior.c), also
 *
 *     MODULE.random_previous, .random_duplicates, .random_successors   [n_heads]
 *
 * over "queries.random_later" and "queries.random_repeated". "sequences" U64: a fingerprint
 * (FNV-1a) of each sequence of tokens. Its metadata:
 * attnledger.calibration (the format's number, 2), .source (fingerprint of the checkpoint's
 * tensors) and .source.MODULE (of the module's, which older files lack). */
#pragma once

#include "model/calibration/folds.h"
#include "model/forward/pass.h"

/* Tokens for each input that make fits stable. */
enum { AL_STABLE = 10 };

/* Roundoff of the products in the sums, which are float32. */
#define AL_CALIBRATION_UNIT 0x1p-24

enum al_statistic_kind {
	AL_STATISTIC_INPUTS,
	AL_STATISTIC_HEADS,
	AL_STATISTIC_SUMS,
	AL_STATISTIC_NORMS,
	AL_STATISTIC_ENTROPIES,
	AL_STATISTIC_DISTANCES,
	AL_STATISTIC_LOGITS,
	AL_STATISTIC_SELF,
	AL_STATISTIC_PREVIOUS,
	AL_STATISTIC_FIRST,
	AL_STATISTIC_DUPLICATES,
	AL_STATISTIC_SUCCESSORS,
	AL_STATISTIC_SPANS,
	AL_STATISTIC_TURNS,
	AL_STATISTIC_RANDOM_PREVIOUS,
	AL_STATISTIC_RANDOM_DUPLICATES,
	AL_STATISTIC_RANDOM_SUCCESSORS,
	AL_N_STATISTICS,
	AL_N_LARGE = AL_STATISTIC_SUMS, /* the kinds before it are moments, which take the room */
};

/* The queries that a sum is over; all but the last are counted for the calibration, those of all
 * tokens are in each module's inputs. */
enum al_queries {
	AL_QUERIES_SAMPLED,
	AL_QUERIES_LATER,
	AL_QUERIES_REPEATED,
	AL_QUERIES_TURNED, /* from here on they may be missing */
	AL_QUERIES_RANDOM_LATER, /* these and the next are there where behavior was recorded */
	AL_QUERIES_RANDOM_REPEATED,
	AL_N_QUERIES,
	AL_QUERIES_ALL = AL_N_QUERIES,
};
extern const char *const al_queries_names[AL_N_QUERIES];

struct al_recorded_statistic {
	const char *name;
	enum al_statistic_size { AL_SIZE_INPUTS, AL_SIZE_OUTPUTS, AL_SIZE_HEADS } size;
	bool is_square; /* a symmetric matrix, else a number for each */
	double most; /* of a query, and 0 is the least: attention weights, angles; else 0 */
	enum al_queries over;
};
extern const struct al_recorded_statistic al_statistics[AL_N_STATISTICS];

/* One module's sums by fold. */
struct al_module_statistics {
	const char *name;
	uint64_t source; /* fingerprint of its own tensors; 0: not recorded */
	size_t n_inputs; /* d_model */
	double *tokens; /* [n_folds], the last of each fold's moments of inputs */
	struct al_matrix of[AL_N_STATISTICS]; /* moments only as al_calibration_find says */
};

/* A file that moments are read from: its fold f is number (first + f) % n_folds of the whole. */
struct al_calibration_part {
	struct al_checkpoint *file;
	size_t first, n_folds;
};

struct al_calibration {
	struct al_arena arena;
	const char *path; /* where it was read from, for messages */
	uint64_t source;
	int64_t *n_queries[AL_N_QUERIES]; /* [n_folds] each; NULL: not recorded */
	size_t n_folds;
	double most_tokens; /* a module sees at most so many */
	uint64_t *sequences; /* fingerprints, [n_sequences], rising */
	size_t n_sequences;
	struct al_module_statistics *modules;
	size_t n_modules;
	struct al_calibration_part *parts;
	size_t n_parts; /* 0: moments are where the caller put them */
};

void al_calibration_finish(void *calibration);

/* A calibration of all sequences, with nothing added up yet: number i is of fold i modulo their
 * number. `n_folds`, at most AL_MOST_FOLDS: 0 for AL_FOLDS. There are no more folds than sequences.
 * On failure nothing is left to finish. */
bool al_calibration_begin(struct al_calibration *calibration, const struct al_network *network,
	const struct al_batch *all, size_t n_folds, struct al_error *err) AL_MUST_CHECK;

/* Who takes a module's statistics, moments among them, when they are complete: modules come in
 * their order, and their moments are gone afterwards. */
struct al_statistics_taker {
	bool (*take)(void *context, const struct al_module_statistics *module,
		struct al_error *err);
	void *context;
};

/* Runs the model on the sequences that it was begun with. Without a taker moments aren't
 * recorded. `state`: what it goes on from, and keeps; NULL: nothing. */
bool al_calibration_record(struct al_calibration *calibration, struct al_network *network,
	const struct al_batch *all, const struct al_statistics_taker *taker,
	const struct al_watch *watch, struct al_pass_state *state,
	struct al_error *err) AL_MUST_CHECK;

/* The same of random tokens that repeat: whether the model takes as many, statistics with nothing
 * added up yet, and the pass. */
bool al_calibration_check_behavior(struct al_network *network, struct al_error *err) AL_MUST_CHECK;
bool al_calibration_begin_behavior(struct al_calibration *calibration, struct al_network *network,
	struct al_error *err) AL_MUST_CHECK;
bool al_calibration_record_behavior(struct al_calibration *calibration, struct al_network *network,
	const struct al_watch *watch, struct al_error *err) AL_MUST_CHECK;

/* A file that appears whole or not at all. The header needs a calibration that is begun; its
 * modules follow, `put` taking a writer as its context; `commit` adds what is over sequences. The
 * writer is gone behind `commit` and `abandon` (NULL is safe). */
struct al_calibration_writer;
bool al_calibration_writer_create(struct al_calibration_writer **out,
	const struct al_calibration *calibration, const char *path,
	struct al_error *err) AL_MUST_CHECK;
bool al_calibration_writer_create_kept(struct al_calibration_writer **out,
	const struct al_calibration *calibration, const char *path, uint64_t kept,
	struct al_error *err) AL_MUST_CHECK;
bool al_calibration_writer_keep(struct al_calibration_writer *writer, uint64_t *kept,
	struct al_error *err) AL_MUST_CHECK;
bool al_calibration_writer_put(void *writer, const struct al_module_statistics *module,
	struct al_error *err) AL_MUST_CHECK;
bool al_calibration_writer_commit(struct al_calibration_writer *writer,
	struct al_error *err) AL_MUST_CHECK;
void al_calibration_writer_abandon(void *writer);

/* A recording that was ended in the middle goes on behind the last layer that was kept: path.state
 * has what was added up, and what modules gave is in path.unfinished or in the taker's memory. */
struct al_unfinished {
	struct al_pass_state state;
	struct al_arena arena;
	uint64_t written; /* bytes of the file, when it was kept */
	struct al_calibration_writer *writer; /* with its place in the file; NULL: there is none */
};

/* Finds out where it goes on: state.n_passed and `written` are 0 where nothing was kept by the same
 * recording, one of this calibration, which is begun, of these tokens. `taken`: the taker's memory;
 * NULL: it has none. To be finished on failure, too. */
bool al_unfinished_find(struct al_unfinished *unfinished, const struct al_calibration *calibration,
	const struct al_network *network, const struct al_batch *all, const char *path,
	const struct al_kept_memory *taken, struct al_error *err) AL_MUST_CHECK;
/* Removes the state where the file is complete. Safe on a zeroed struct. */
void al_unfinished_finish(struct al_unfinished *unfinished, bool is_complete);

/* Is each module a layer's, in their order? Else moments are complete behind the last layer. */
bool al_calibration_is_by_layer(const struct al_network *network);

/* All of it. */
bool al_calibration_write(const struct al_calibration *calibration, const char *path,
	struct al_error *err) AL_MUST_CHECK;

/* `path`: the file, or the folder of calibration.safetensors. What is read is finite and of shapes
 * that fit each other; moments are read, and checked, when they are asked for. On failure nothing
 * is left to finish. */
bool al_calibration_read(struct al_calibration *calibration, const char *path,
	struct al_error *err) AL_MUST_CHECK;

/* The same, and it must be of this checkpoint, which is read as a whole for that; of some modules
 * their tensors alone, where the calibration has their fingerprints. `modules` NULL: all. */
bool al_calibration_read_for(struct al_calibration *calibration, const char *path,
	const struct al_checkpoint *checkpoint, const struct al_attention *const *modules, size_t n,
	struct al_error *err) AL_MUST_CHECK;

bool al_module_fingerprint(const struct al_checkpoint *checkpoint,
	const struct al_attention *module, uint64_t *out, struct al_error *err) AL_MUST_CHECK;

/* Adds `other`, whose files it takes over, as if its sequences had been recorded behind these; the
 * larger number of folds counts, and that of both where it is at most AL_FOLDS. Behavior is of the
 * same random tokens in both and counts once. Refused: one of another model or of other modules,
 * and one whose sequences of tokens are all counted already. */
bool al_calibration_add(struct al_calibration *calibration, struct al_calibration *other,
	struct al_error *err) AL_MUST_CHECK;

/* The module of that name, NULL on failure; its moments may not be there. */
struct al_module_statistics *al_calibration_module(const struct al_calibration *calibration,
	const char *name, struct al_error *err);

/* The statistics of the module of that name, with its moments, which stay in memory until another
 * module's are found. Not from several threads. */
bool al_calibration_find(const struct al_calibration *calibration, const char *name,
	const struct al_module_statistics **out, struct al_error *err) AL_MUST_CHECK;

static inline bool al_queries_are_random(enum al_queries queries)
{
	return queries == AL_QUERIES_RANDOM_LATER || queries == AL_QUERIES_RANDOM_REPEATED;
}

/* How many numbers a fold has of it. */
size_t al_statistics_length(const struct al_module_statistics *statistics,
	enum al_statistic_kind kind);

/* Was it recorded? All is but behavior, and turns by older versions. */
static inline bool al_calibration_has(const struct al_calibration *calibration,
	enum al_statistic_kind kind)
{
	const enum al_queries over = al_statistics[kind].over;

	return over == AL_QUERIES_ALL || calibration->n_queries[over];
}

/* How many queries there are of a counted kind, in all folds. */
int64_t al_calibration_queries(const struct al_calibration *calibration, enum al_queries queries);

/* Room for its moments, unless it is there. */
bool al_statistics_make_room(const struct al_calibration *calibration,
	struct al_module_statistics *module, struct al_error *err) AL_MUST_CHECK;
void al_statistics_drop_moments(struct al_module_statistics *module);

/* Sums by fold from a tensor [n_folds][numbers]. The caller finishes them, on failure too. */
bool al_statistic_read(const struct al_checkpoint *file, const struct al_tensor *tensor,
	enum al_statistic_kind kind, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The sum over these folds: a matrix [n][n] or a column. The caller finishes it, on failure too. */
bool al_statistics_sum(const struct al_module_statistics *statistics, enum al_statistic_kind kind,
	al_folds folds, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The mean over the queries that count; NaN where there are none. Else as above. */
bool al_statistics_mean(const struct al_calibration *calibration,
	const struct al_module_statistics *statistics, enum al_statistic_kind kind,
	struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* How far its heads turn the stream, if that was recorded of each fold. */
struct al_turns al_statistics_turns(const struct al_calibration *calibration,
	const struct al_module_statistics *statistics);

/* Are all sums over the folds finite? */
bool al_statistics_check(const struct al_module_statistics *statistics,
	struct al_error *err) AL_MUST_CHECK;

/* How many tokens a module saw, all of them or those of some folds. */
double al_statistics_tokens(const struct al_module_statistics *statistics);
double al_statistics_tokens_of(const struct al_module_statistics *statistics, al_folds folds);
/* How many numbers its projections read. */
static inline size_t al_statistics_inputs(const struct al_module_statistics *statistics)
{
	return statistics->n_inputs;
}
/* ... and its heads put out. */
static inline size_t al_statistics_outputs(const struct al_module_statistics *statistics)
{
	return statistics->of[AL_STATISTIC_SUMS].rows;
}
static inline size_t al_statistics_heads(const struct al_module_statistics *statistics)
{
	return statistics->of[AL_STATISTIC_NORMS].rows;
}

/* How many of the sequences are among those that it was recorded on. */
size_t al_calibration_count_seen(const struct al_calibration *calibration,
	const struct al_batch *all);

/* Puts the fingerprints in order. */
void al_calibration_sort(struct al_calibration *calibration);

/* The fingerprint of sequence number i. */
uint64_t al_sequence_fingerprint(const struct al_batch *all, size_t i);
