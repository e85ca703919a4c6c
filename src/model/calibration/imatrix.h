/* Importance matrices: what llama.cpp's imatrix recorded of the inputs of a model's weights, as
 * sums of squares, and since 2025 as sums too. Two forms (tools/imatrix/imatrix.cpp):
 *
 *     GGUF:   general.type "imatrix"; of each weight NAME.in_sum2 F32 [matrices][inputs],
 *             NAME.counts F32 [matrices] and perhaps NAME.in_sum, shaped as in_sum2
 *     .dat:   int32 of entries; of each an int32 of bytes, the name, an int32 of calls, an int32 of
 *             numbers, float32 sums of squares; perhaps an int32 of calls, and the length and the
 *             name of the dataset
 *
 * A mean square is the sum over counts, or over calls. Of weights with several matrices (experts)
 * nothing is read. Weights are called as in GGUF files of models: blk.3.attn_q.weight. */
#pragma once

#include "formats/checkpoint.h"
#include "model/heads/views.h"

/* Where the float32 sums of one weight's inputs lie. */
struct al_imatrix_entry {
	const char *name;
	int64_t width, n_matrices; /* width: numbers of all matrices */
	const struct al_source *source;
	uint64_t squares, sums, counts; /* offsets; 0 where there are none */
	double calls; /* where counts are none */
};

struct al_imatrix {
	struct al_arena arena;
	const char *path;
	struct al_imatrix_entry *entries; /* by name, each once */
	size_t n_entries; /* 0: there is none */
	struct al_checkpoint file; /* the GGUF form */
	struct al_source source; /* the .dat form */
};

/* A projection's input: E[x_i^2], and E[x_i] where it was recorded. */
struct al_diagonal {
	const char *name; /* of the weight */
	double *squares, *means; /* [n]; means may be NULL */
	size_t n;
	double count; /* tokens; of the .dat form calls, each of some tokens */
};

/* Is it a file that begins as GGUF files do, or one called .imatrix or .dat? */
bool al_imatrix_is(const char *path);

/* Lists the entries; `path` must outlive it. On failure nothing is left to finish. */
bool al_imatrix_open(struct al_imatrix *imatrix, const char *path,
	struct al_error *err) AL_MUST_CHECK;
/* Safe on a zeroed struct. */
void al_imatrix_finish(struct al_imatrix *imatrix);

/* Refuses what was recorded of a model with more layers than the view's; of one with fewer, and of
 * other widths, al_imatrix_read refuses it. */
bool al_imatrix_check_layers(const struct al_imatrix *imatrix, const struct al_model_view *view,
	struct al_error *err) AL_MUST_CHECK;

/* What the module's projection p reads: under the name of its stored tensor, else under the name
 * that llama.cpp gives to it in that layer. Refused: none, one without data, one of another width,
 * numbers that are no mean squares. The caller finishes it. */
bool al_imatrix_read(const struct al_imatrix *imatrix, const struct al_attention *attention, int p,
	struct al_diagonal *out, struct al_error *err) AL_MUST_CHECK;
/* What the weight of that name reads; n is 0 where there is none, and of experts. Refused: one of
 * another width, numbers that are no mean squares. The caller finishes it. */
bool al_imatrix_read_weight(const struct al_imatrix *imatrix, const char *name, int64_t width,
	struct al_diagonal *out, struct al_error *err) AL_MUST_CHECK;
void al_diagonal_finish(struct al_diagonal *diagonal);

/* The names that llama.cpp may give to a projection p of a layer, one after the other from i = 0;
 * NULL behind the last one. */
const char *al_imatrix_name(struct al_arena *arena, int64_t layer, int p, size_t i);

/* imatrix_legacy.c: opens a .dat file and lists its entries. */
bool al_imatrix_list_legacy(struct al_imatrix *imatrix, struct al_error *err) AL_MUST_CHECK;
