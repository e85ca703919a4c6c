/* How a module lies in the compressed file: which runs of its stored tensors stay as they are,
 * which make room for others, and which tensors are new.
 *
 * Writing and reading back follow one layout, so that neither can know another one than the other.
 * Every method describes a module as pieces, column-major matrices: */
#pragma once

#include "model/heads/views.h"

enum al_module_piece {
	/* qk: [D][n*rank]; collab: [D][R], of all heads; tucker: [p][n*d_head], after
	 * DOWN */
	AL_PIECE_QUERY,
	AL_PIECE_KEY,
	AL_PIECE_VALUE,
	AL_PIECE_OUTPUT,
	AL_PIECE_QUERY_BIAS,
	AL_PIECE_KEY_BIAS,
	AL_PIECE_VALUE_BIAS,
	AL_PIECE_OUTPUT_BIAS,
	AL_PIECE_MIXING, /* collab: transposed, [R][n_heads] */
	AL_PIECE_CONTENT, /* collab: [d_key][n_heads], v_i = W_K^(i) b_Q^(i) */
	AL_PIECE_QUERY_DOWN, /* tucker: [D][p] */
	AL_PIECE_KEY_DOWN, /* ... and kv-latent */
	AL_PIECE_VALUE_DOWN, /* kv-latent: [D][rank] */
	AL_N_PIECES,
};

/* The methods: names, in al_method_names, are the command line's. */
enum al_method {
	AL_METHOD_COLLAB, /* shared projections and a mixing matrix: CP */
	AL_METHOD_TUCKER, /* narrow queries and keys before the heads' own: Tucker, core factored */
	AL_METHOD_QK, /* each head's own singular values */
	AL_METHOD_DROP, /* whole heads less */
	AL_METHOD_OV, /* each head's values and outputs at a lower rank */
	AL_METHOD_LATENT, /* keys or values of all heads from one narrow projection of the input */
	AL_METHOD_GQA, /* keys and values, or values alone, shared by groups of heads */
	AL_METHOD_MERGE, /* whole heads less, each of whose output another one takes over */
	AL_METHOD_MHE_MUL, /* one query, key and value for all heads, which each head scales */
	AL_METHOD_IDENTITY, /* no module is changed: another format, or a folder of shards */
	AL_N_METHODS,
};
extern const char *const al_method_names[AL_N_METHODS];

/* A run along a stored tensor's head axis and what becomes of it, or a new tensor. */
struct al_slice {
	const struct al_tensor *source; /* NULL: a new tensor ... */
	const char *name; /* ... of this name, [width][rows], after ... */
	const struct al_tensor *after; /* ... this one */
	bool is_slow; /* the head axis is the tensor's first */
	int64_t first, length; /* along the source's head axis; 0, 0 of a new tensor */
	bool is_kept; /* its bytes are copied */
	enum al_module_piece piece;
	int64_t column, width; /* columns of the piece that are here then; 0: none */
	int64_t rows; /* of the piece */
	const struct al_dtype *dtype; /* of what is new, put aside */
	uint64_t aside; /* while it is written: where what is new waits */
};

struct al_module_layout {
	const struct al_attention *attention;
	enum al_method method;
	int64_t rank; /* but for drop and merge; gqa: how many values are left; mhe-mul: d_head */
	const bool *is_dropped; /* [n_heads], drop and merge alone */
	bool is_refitted; /* drop, merge, kv-latent: W_O is another */
	bool of_keys; /* kv-latent: of the keys, else of the values; gqa: of the keys too */
	bool is_padded; /* ov: each head is as wide as it was, zeros behind its rank */
	const size_t *places; /* gqa: of the original's key/value heads among those that are
				 grouped, [n_kv_heads]; NULL: in order */
	struct al_slice *slices;
	size_t n_slices, room;
};

/* Lays a module out by `wanted`, all but its slices; what it needs is allocated in the arena.
 * Refused: modules whose stored tensors or whose scores the method can't keep, with the reason.
 * `checkpoint` is the original one. */
bool al_layout_make(struct al_module_layout *out, struct al_arena *arena,
	const struct al_checkpoint *checkpoint, const struct al_module_layout *wanted,
	struct al_error *err) AL_MUST_CHECK;

/* Can the method treat the module at all? Of gqa with its keys, or its values alone. */
bool al_method_check(const struct al_attention *attention, enum al_method method, bool of_keys,
	struct al_error *err) AL_MUST_CHECK;

/* Does the method work on values and outputs alone, or on one side's latent? */
bool al_method_is_of_values(enum al_method method);

/* Do all heads share queries and keys, which each mixes? */
bool al_method_mixes(enum al_method method);

/* Does it leave out whole heads? */
bool al_method_drops(enum al_method method);

/* Does it change the number of parameters of all projections, not only of queries and keys? */
bool al_method_touches_all(enum al_method method);

/* The largest rank that means anything. */
int64_t al_method_bound(const struct al_attention *attention, enum al_method method);

/* Is there such a rank? Of gqa, ranks make groups of one size. */
bool al_method_has_rank(const struct al_attention *attention, enum al_method method, int64_t rank);

/* The width of Tucker's basis of queries or keys at a rank: no more than they have dimensions,
 * which are fewer for keys that groups share. */
int64_t al_tucker_width(const struct al_attention *attention, enum al_projection projection,
	int64_t rank);

static inline enum al_module_piece al_piece_of(enum al_projection p, bool is_bias)
{
	return (enum al_module_piece)(is_bias ? AL_PIECE_QUERY_BIAS + (int)p : (int)p);
}

/* The narrow matrix before queries, keys or values. */
static inline enum al_module_piece al_piece_down(enum al_projection p)
{
	return (enum al_module_piece)(AL_PIECE_QUERY_DOWN + (int)p);
}

/* Does the layout change this projection (or its bias)? */
bool al_layout_changes(const struct al_module_layout *layout, enum al_projection p, bool is_bias);

/* Columns of a piece in the copy; 0: the layout hasn't got it. */
int64_t al_layout_columns(const struct al_module_layout *layout, enum al_module_piece piece);

/* Numbers cached for a token. */
int64_t al_layout_cached(const struct al_module_layout *layout);
int64_t al_original_cached(const struct al_attention *attention);

/* Query and key parameters, of methods that touch all projections those of all, biases included but
 * for the output's: of a layout and of the original. */
int64_t al_layout_parameters(const struct al_module_layout *layout);
int64_t al_original_parameters(const struct al_attention *attention, enum al_method method);

/* Query and key parameters of a layout without biases: what the control is allowed. */
int64_t al_layout_weights(const struct al_module_layout *layout);

/* The kept heads of a module, all but for drop. */
int64_t al_layout_heads(const struct al_module_layout *layout, bool of_keys);

/* How many heads' columns a projection has left that groups of heads share; 0: each has its own. */
int64_t al_layout_shared(const struct al_module_layout *layout, enum al_projection p);

/* How many key/value heads there are in the copy. */
int64_t al_layout_kv_heads(const struct al_module_layout *layout);

/* What no family lists, whatever sizes its config gives; NULL: its tensors are a family's. NULL for
 * a layout too. */
const char *al_layout_unlisted(const struct al_module_layout *layout);

/* A piece read from the compressed file, a matrix that the caller finishes; no data where the
 * layout hasn't got it. Tensors that are missing or have another shape are AL_EINPUT. */
bool al_layout_read(const struct al_module_layout *layout, const struct al_checkpoint *compressed,
	enum al_module_piece piece, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* ---- effective.c: a module's projections in the shape of the original's, what its pieces multiply
 * out to, heads at their places: with them in place of its own the original model runs as the
 * compressed one does ---- */

/* From the original's shape a piece, which is made anew; heads' numbers that have no
 * place in it are left out. */
bool al_effective_gather(const struct al_module_layout *layout, enum al_projection p,
	struct al_view effective, struct al_matrix *piece, struct al_error *err) AL_MUST_CHECK;

/* A stored tensor seen along the axis of its heads: [outer][axis][inner]. */
struct al_head_axis {
	int64_t outer, length, inner;
};

struct al_head_axis al_head_axis_of(const struct al_tensor *tensor, bool is_slow);
