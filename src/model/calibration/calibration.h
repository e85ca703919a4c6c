/* Calibrations: what a model's attention does on real tokens, kept as sums that add up.
 *
 * A calibration is a safetensors file. Of each module, F64:
 *
 *     MODULE.inputs     [d_model + 1][d_model + 1]      of [x, 1]^T [x, 1], x what W_Q, W_K and W_V
 *                                                       read; the last number is that of tokens
 *     MODULE.heads      [n_heads*d_value][the same]     of o^T o, o the heads' outputs side by side
 *     MODULE.sums       [n_heads*d_value]               of o
 *     MODULE.norms      [n_heads]                       of |o_i|
 *     MODULE.entropies  [n_heads]                       of the attention weights' entropy, nats
 *     MODULE.distances  [n_heads][n_heads]              of the Jensen-Shannon distance between two
 *                                                       heads' attention weights
 *
 * each added up over all tokens, distances over `queries` of them, and "sequences" U64, a
 * fingerprint (FNV-1a) of each sequence of tokens. Its metadata: attnledger.calibration (the
 * format's number, 1), .source (fingerprint of the checkpoint's headers and tensors), .queries. */
#pragma once

#include "model/forward/pass.h"

/* Roundoff of the products in the sums, which are float32. */
#define AL_CALIBRATION_UNIT 0x1p-24

enum al_statistic_kind {
	AL_STATISTIC_INPUTS,
	AL_STATISTIC_HEADS,
	AL_STATISTIC_SUMS,
	AL_STATISTIC_NORMS,
	AL_STATISTIC_ENTROPIES,
	AL_STATISTIC_DISTANCES,
	AL_N_STATISTICS,
};
extern const char *const al_statistic_names[AL_N_STATISTICS];

/* One module's sums; a vector is a column. */
struct al_module_statistics {
	const char *name;
	struct al_matrix of[AL_N_STATISTICS];
};

struct al_calibration {
	struct al_arena arena;
	const char *path; /* where it was read from, for messages */
	uint64_t source;
	int64_t n_queries;
	uint64_t *sequences; /* fingerprints, [n_sequences], rising */
	size_t n_sequences;
	struct al_module_statistics *modules;
	size_t n_modules;
};

void al_calibration_finish(void *calibration);

/* Runs the model on all sequences. On failure nothing is left to finish. */
bool al_calibration_record(struct al_calibration *calibration, struct al_network *network,
	const struct al_batch *all, const struct al_watch *watch,
	struct al_error *err) AL_MUST_CHECK;

/* The file appears whole or not at all. */
bool al_calibration_write(const struct al_calibration *calibration, const char *path,
	struct al_error *err) AL_MUST_CHECK;

/* `path`: the file, or the folder of calibration.safetensors. What is read is finite and of shapes
 * that fit each other. On failure nothing is left to finish. */
bool al_calibration_read(struct al_calibration *calibration, const char *path,
	struct al_error *err) AL_MUST_CHECK;

/* The same, and it must be of this checkpoint, which is read as a whole for that. */
bool al_calibration_read_for(struct al_calibration *calibration, const char *path,
	const struct al_checkpoint *checkpoint, struct al_error *err) AL_MUST_CHECK;

/* Adds `other`. Refused: one of another model or of other modules, and one whose sequences
 * of tokens are all counted already. */
bool al_calibration_add(struct al_calibration *calibration, const struct al_calibration *other,
	struct al_error *err) AL_MUST_CHECK;

/* The statistics of the module of that name. */
bool al_calibration_find(const struct al_calibration *calibration, const char *name,
	const struct al_module_statistics **out, struct al_error *err) AL_MUST_CHECK;

/* How many tokens a module saw. */
double al_statistics_tokens(const struct al_module_statistics *statistics);
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
