/* A module's scores, from the original or from the compressed file. */
#ifndef ATTNLEDGER_COMPRESS_SIDE_H
#define ATTNLEDGER_COMPRESS_SIDE_H

#include "compress/layout.h"

/* One of the two: its weights, and what they make of an input. */
struct al_side_scores {
	struct al_matrix of[AL_N_PIECES];
	size_t n_heads, n_kv_heads;
	bool is_compressed, is_shared; /* the second: collab */
	bool has_outputs; /* the second: others than the first's, in its shape */
	double scale;
	struct al_matrix queries, keys; /* [n_tokens][...] */
	struct al_matrix contents; /* [n_tokens][n_heads] */
	struct al_matrix values; /* [n_tokens][...]; where it has W_V and W_O of its own */
};

/* Safe on a zeroed struct; finish it also where loading failed. */
void al_side_finish(struct al_side_scores *side);

bool al_side_load_original(struct al_side_scores *side, const struct al_model_view *view,
	const struct al_attention *a, struct al_error *err) AL_MUST_CHECK;
bool al_side_load_compressed(struct al_side_scores *side, const struct al_checkpoint *original,
	const struct al_checkpoint *compressed, const struct al_module_layout *layout, double scale,
	struct al_error *err) AL_MUST_CHECK;

/* Rows x [n_tokens][d_query] ask, rows y [n_tokens][d_key] answer, until they are forgotten. */
bool al_side_take_input(struct al_side_scores *side, struct al_view x, struct al_view y,
	struct al_error *err) AL_MUST_CHECK;
void al_side_forget_input(struct al_side_scores *side);

/* out [n_tokens][n_tokens], a row for each query. */
bool al_side_logits(const struct al_side_scores *side, size_t head, struct al_matrix out,
	struct al_error *err) AL_MUST_CHECK;

#endif
