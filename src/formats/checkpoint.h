/* Checkpoints: the tensors that one file, or a folder of shards, really holds.
 *
 * Opening reads and checks headers only. Numbers are read and converted on demand, in blocks and
 * without a mapping; a file that shrinks meanwhile is an error. What is reached from a checkpoint
 * dies with it. Reading changes nothing: several threads may read from one checkpoint. */
#pragma once

#include "base/base.h"
#include "base/budget.h"
#include "base/file.h"
#include "base/format.h"
#include "base/table.h"

struct al_archive;
struct al_gguf_pair;
struct al_laid;
struct al_layout;

struct al_tensor {
	const char *name; /* a stranger's: escape control characters when you print it */
	const struct al_dtype *dtype;
	const int64_t *shape; /* [n_dims], each at least 0; a scalar has no dimensions */
	size_t n_dims;
	int64_t n_elements;
	size_t shard;
	uint64_t offset, bytes; /* where it lies in the shard's file */
	struct al_layout *layout; /* where it doesn't lie there as it is read; else NULL */
};

struct al_shard {
	struct al_source source; /* path, size, open */
	const char *format; /* "safetensors" */
	uint64_t header_bytes; /* all before the data */
	uint64_t header_hash; /* of its text, FNV-1a */
	uint64_t header_text, header_text_bytes; /* where that text lies */
	struct al_archive *archive; /* of an archive's members; else NULL */
	const struct al_gguf_pair *pairs; /* a GGUF file's metadata (gguf.h); else NULL */
	uint64_t n_pairs;
};

/* A file's metadata. */
struct al_metadata {
	const char *key, *value;
	size_t shard;
};

/* Metadata of a file of safetensors: the config.json if there is none next to it. */
#define AL_CHECKPOINT_CONFIG "attnledger.config"

struct al_checkpoint {
	const struct al_checkpoint *of; /* whose tensors these are under other names; or NULL */
	struct al_budget budget; /* of all files */
	struct al_arena arena;
	const char *path; /* as it was given */
	const char *config; /* the config.json next to the tensors, or NULL */
	const char *header_config; /* a config.json made from the files' headers; or NULL */
	const char *tokenizer; /* a tokenizer.json made likewise; or NULL */
	const char *tokenizer_config; /* ... and its tokenizer_config.json */
	const char *index; /* the index of a sharded folder, or NULL */
	struct al_shard *shards;
	size_t n_shards;
	struct al_tensor *tensors; /* by shard, as they lie in it */
	size_t n_tensors, tensors_room;
	struct al_metadata *metadata;
	size_t n_metadata, metadata_room;
	uint64_t bytes; /* of all shards */
	uint64_t header_hash; /* of all headers in order; with one shard, that shard's */
	struct al_laid *laid; /* tensors that were laid out to be read; or NULL */
	size_t n_unlisted; /* tensors in shards that the index doesn't name */
	const struct al_tensor **names; /* [n_tensors], sorted by name */
};

/* Does a file begin with these bytes, at most 16? What can't be read doesn't. */
bool al_file_begins(const char *path, const char *magic);

/* Opens a file, a folder with model.safetensors or model.safetensors.index.json (or the only file
 * that ends like one of them), or that index itself. On failure nothing is left to close. */
bool al_checkpoint_open(struct al_checkpoint *checkpoint, const char *path,
	struct al_error *err) AL_MUST_CHECK;
void al_checkpoint_close(void *checkpoint);

/* A hash of every tensor's name, format, shape and bytes, in the order of names, or of those alone
 * that are marked in which[n_tensors]: reads them all. How they are spread over files takes no
 * part, nor do metadata. */
bool al_checkpoint_hash(const struct al_checkpoint *checkpoint, const bool *which, uint64_t *hash,
	struct al_error *err) AL_MUST_CHECK;

/* Fails with AL_ESYSTEM, naming the file, where one of the checkpoint's files was overwritten since
 * it was opened: its size, its time of modification or its header is another. To be asked when all
 * that the answer needs has been read. */
bool al_checkpoint_check_unchanged(const struct al_checkpoint *checkpoint,
	struct al_error *err) AL_MUST_CHECK;

/* The tensor of that name, or NULL. */
const struct al_tensor *al_checkpoint_find(const struct al_checkpoint *checkpoint,
	const char *name);

/* The checkpoint's metadata under that key, of its first file that has it; or NULL. */
const char *al_checkpoint_metadata(const struct al_checkpoint *checkpoint, const char *key);

/* Refuses a file that declares itself something else than a model: an imatrix, an adapter. */
bool al_checkpoint_check_purpose(const struct al_checkpoint *checkpoint,
	struct al_error *err) AL_MUST_CHECK;

/* Elements of a tensor, counted in storage order (the last dimension runs fastest): `n_runs` runs
 * of `run` neighbors; the first begins at element `first`, each `stride` after the one before. */
struct al_selection {
	int64_t first, run, n_runs, stride;
};

struct al_selection al_select_all(const struct al_tensor *tensor);

/* Columns [first_column, +n_columns) of rows [first_row, +n_rows) of a tensor seen as a matrix: a
 * column is an element of its last dimension, a row any choice of the others (a vector is one
 * row). */
struct al_selection al_select_block(const struct al_tensor *tensor, int64_t first_row,
	int64_t n_rows, int64_t first_column, int64_t n_columns);

/* Reads the selection into out[n_runs][leading], leading >= run; what is after a run is left
 * alone. A selection beyond the tensor and a number format without conversion are refused. */
bool al_tensor_read_double(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	const struct al_selection *selection, double *out, size_t leading,
	struct al_error *err) AL_MUST_CHECK;
bool al_tensor_read_float(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	const struct al_selection *selection, float *out, size_t leading,
	struct al_error *err) AL_MUST_CHECK;

/* The stored bytes [first, +length) of a tensor, unconverted: to copy it. */
bool al_tensor_read_bytes(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	uint64_t first, void *out, size_t length, struct al_error *err) AL_MUST_CHECK;

/* "768 x 64", or "scalar". */
char *al_shape_text(struct al_arena *arena, const int64_t *shape, size_t n_dims);

/* ---- the gate for numbers: what is read as weights is counted for NaN and infinite numbers before
 * anything is computed with it ---- */

/* Fails with AL_ENOTFINITE where n_not_finite of a tensor's n numbers are NaN or infinite. */
bool al_check_not_finite(int64_t n_not_finite, int64_t n, const char *tensor,
	struct al_error *err) AL_MUST_CHECK;

/* How many of n numbers are NaN or infinite. */
int64_t al_count_not_finite(const double *numbers, size_t n);

/* AL_ENOTFINITE, with the count and the tensor's name, where there are any. */
bool al_tensor_check_finite(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	struct al_error *err) AL_MUST_CHECK;

/* Reads a whole tensor into out[n_elements]; AL_ENOTFINITE as above. */
bool al_tensor_read_finite(const struct al_checkpoint *checkpoint, const struct al_tensor *tensor,
	double *out, struct al_error *err) AL_MUST_CHECK;

/* Counts the NaN and infinite numbers of each tensor with is_counted [n_tensors] (NULL: all) into
 * counts [n_tensors]; other counts stay unchanged. */
bool al_checkpoint_count_not_finite(const struct al_checkpoint *checkpoint, const bool *is_counted,
	int64_t *counts, struct al_error *err) AL_MUST_CHECK;

/* Notes the tensors that hold so many: the first few by name, of the others how many they are. */
void al_checkpoint_note_counts(const struct al_checkpoint *checkpoint, const int64_t *counts,
	struct al_table *table);

/* Counts and notes. */
bool al_checkpoint_note_not_finite(const struct al_checkpoint *checkpoint, struct al_table *table,
	struct al_error *err) AL_MUST_CHECK;
