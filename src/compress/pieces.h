/* What a method makes of a module's weights. */
#ifndef ATTNLEDGER_COMPRESS_PIECES_H
#define ATTNLEDGER_COMPRESS_PIECES_H

#include "audit/control.h"
#include "compress/layout.h"
#include "compress/whiten.h"
#include "linalg/heads.h"

/* A module's queries and keys in memory. */
struct al_scores {
	const struct al_attention *attention;
	struct al_matrix query, key; /* [D][heads*d_head] */
	struct al_matrix query_bias, key_bias; /* [1][heads*d_head]; no data where there is none */
	struct al_whitened whitened[2]; /* queries and keys as data see them */
	struct al_heads heads; /* a view of them, or of those as data see them, in double */
	struct al_heads narrow; /* the same, where the stored numbers are no finer in single */
	struct al_scratch scratch; /* its */
	struct al_control control;
};

/* In the measure of the data, NULL: of weights alone. Numbers that are not finite are refused. On
 * failure nothing is left to finish. */
bool al_scores_load(struct al_scores *out, const struct al_model_view *view,
	const struct al_attention *attention, const struct al_data *data,
	struct al_error *err) AL_MUST_CHECK;
void al_scores_finish(struct al_scores *scores);

/* Queries or keys as the method is to see them: in the measure of data, where there are data. */
static inline struct al_view al_scores_seen(const struct al_scores *s, enum al_projection p)
{
	return al_view(s->whitened[p].weights.data ? s->whitened[p].weights
			: p == AL_QUERY		   ? s->query
						   : s->key);
}

/* Query and key parameters of a layout without biases: what the control is allowed. */
int64_t al_layout_weights(const struct al_module_layout *layout);

struct al_pieces {
	struct al_matrix of[AL_N_PIECES]; /* those that the layout takes and that aren't copied */
	double relative_error; /* of the stack of W_Q^(i) W_K^(i)T, Frobenius */
	bool is_estimate; /* of relative_error: by Gaussian vectors */
	bool has_settled; /* collab: false where more sweeps would lessen the error */
};

struct al_effort {
	size_t n_sweeps;
	uint64_t seed;
};

bool al_pieces_make(struct al_pieces *out, const struct al_scores *scores,
	const struct al_module_layout *layout, const struct al_effort *effort,
	struct al_error *err) AL_MUST_CHECK;

/* Of method qk, which makes no effort. */
bool al_pieces_make_qk(struct al_pieces *out, const struct al_scores *scores,
	const struct al_module_layout *layout, const struct al_effort *effort,
	struct al_error *err) AL_MUST_CHECK;

void al_pieces_finish(struct al_pieces *pieces);

#endif
