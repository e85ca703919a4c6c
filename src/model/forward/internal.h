/* Shared by the files of this folder. */
#pragma once

#include "catalog/pass.h"
#include "model/forward/forward.h"

/* ---- where something is, for messages ---- */

enum { AL_BEFORE_LAYERS = -1, AL_BEHIND_LAYERS = -2 };

struct al_pass_place {
	int64_t layer;
	const struct al_batch *batch;
	size_t first; /* the token of column 0 */
};

/* C = scale op(W) X, or that much more, a column per token. Where a number overflows or isn't one,
 * the first such token is named. */
bool al_multiply(struct al_pass_place place, enum al_op op, float scale, struct al_view_f w,
	struct al_view_f x, bool is_added, struct al_matrix_f c,
	struct al_error *err) AL_MUST_CHECK;

/* Fails where a column isn't finite, and names its token. */
bool al_check_columns(struct al_pass_place place, struct al_view_f x,
	struct al_error *err) AL_MUST_CHECK;

/* Calls work(context, first, n) for runs of columns, side by side. */
void al_each_columns(size_t n, void (*work)(void *context, size_t first, size_t n), void *context);

/* ---- weights ---- */

/* y = op(weight) x + bias */
struct al_linear {
	struct al_matrix_f weight;
	enum al_op op;
	struct al_matrix_f bias; /* [rows of y][1], or empty */
};

static inline size_t al_linear_rows(const struct al_linear *linear)
{
	return linear->op == AL_PLAIN ? linear->weight.rows : linear->weight.cols;
}

static inline bool al_linear_is_there(const struct al_linear *linear)
{
	return linear->weight.data != NULL;
}

/* y is [rows of y][cols of x]. */
bool al_linear_apply(const struct al_linear *linear, struct al_pass_place place, struct al_view_f x,
	struct al_matrix_f y, struct al_error *err) AL_MUST_CHECK;

struct al_norm {
	enum al_norm_kind kind;
	double epsilon;
	struct al_matrix_f scale, bias; /* [n][1]; with the offset added; bias may be empty */
};

static inline bool al_norm_is_there(const struct al_norm *norm)
{
	return norm->scale.data != NULL;
}

/* In place, [n][columns]. */
void al_norm_apply(const struct al_norm *norm, struct al_matrix_f x);

/* n numbers of one column. */
void al_norm_numbers(const struct al_norm *norm, const float *scale, const float *bias, size_t n,
	const float *x, float *out);

/* The names of a layer, or of the model where iteration->n is 0. */
struct al_reading {
	struct al_network *network;
	struct al_iteration iteration;
	struct al_arena *arena;
	struct al_scratch *scratch; /* of what is read */
	/* An expert: a name without {expert} is a tensor of n_stacked, of which it is one. */
	int64_t expert, n_stacked;
};

/* Of the model itself. */
static inline struct al_reading al_reading_of(struct al_network *network,
	struct al_scratch *scratch)
{
	return (struct al_reading){.network = network,
		.iteration = {.settings = &network->view->settings},
		.arena = &network->arena,
		.scratch = scratch};
}

/* They stay empty where the family names nothing, or nothing that holds here. Numbers that aren't
 * finite are refused. */
bool al_linear_read(const struct al_reading *reading, enum al_forward_tensor what, int64_t rows,
	int64_t cols, struct al_linear *out, struct al_error *err) AL_MUST_CHECK;

/* How many numbers the matrix of that name takes; 0 where there is none. */
bool al_input_width(const struct al_reading *reading, enum al_forward_tensor what, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;
bool al_norm_read(const struct al_reading *reading, enum al_forward_tensor what, int64_t n,
	struct al_norm *out, struct al_error *err) AL_MUST_CHECK;

/* A vector of n numbers under a family's name. */
bool al_vector_read(const struct al_reading *reading, const char *name, int64_t n,
	struct al_matrix_f *out, struct al_error *err) AL_MUST_CHECK;

/* Rows [first, +n) of a matrix stored [rows][cols], as [cols][n]; the scratch's, or where that is
 * NULL the caller's. */
bool al_weight_rows_read(struct al_scratch *scratch, const struct al_network *network,
	const struct al_tensor *tensor, int64_t first, int64_t n, struct al_matrix_f *out,
	struct al_error *err) AL_MUST_CHECK;

/* The tensor of that name as a matrix [rows][cols]; rows 0: as many as there are. */
bool al_matrix_resolve(const struct al_reading *reading, enum al_forward_tensor what, int64_t rows,
	int64_t cols, const struct al_tensor **out, struct al_error *err) AL_MUST_CHECK;

/* ---- the head ---- */

struct al_head {
	struct al_network *network;
	const struct al_batch *batch;
	const struct al_tensor *tensor;
	struct al_matrix_f bias; /* [vocab][1], or empty; the scratch's */
};

/* Fails where the model is an encoder. */
bool al_check_decoder(const struct al_network *network, struct al_error *err) AL_MUST_CHECK;

/* An encoder has none. */
bool al_head_open(struct al_scratch *scratch, struct al_network *network,
	const struct al_batch *batch, size_t width, struct al_head *head,
	struct al_error *err) AL_MUST_CHECK;

/* Calls `block` for one block of the head's rows after the other, [width][n] from `row` on. */
bool al_head_each_block(const struct al_head *head, int64_t width,
	bool (*block)(void *context, struct al_view_f w, int64_t row, struct al_error *err),
	void *context, struct al_error *err) AL_MUST_CHECK;

/* Of such a block, logits [rows of w][columns of x]; `first` is x's first token. */
bool al_head_multiply(const struct al_head *head, struct al_view_f w, int64_t row,
	struct al_view_f x, size_t first, struct al_matrix_f logits,
	struct al_error *err) AL_MUST_CHECK;

/* What is done with the logits x[n] of tokens from `row` on that come next behind token number
 * `token`, of one model or of two; they may be destroyed. From several threads. */
typedef void al_see_logits(void *context, float *const x[2], size_t n, int64_t row, size_t token);

/* The logits of such a block for all tokens, of one or two models' hidden states; `w` of each
 * model. */
bool al_head_see_block(const struct al_head *head, const struct al_view_f *w, int64_t row,
	const struct al_view_f *hidden, size_t n_models, al_see_logits *see, void *context,
	struct al_error *err) AL_MUST_CHECK;

/* x becomes at tanh(x / at), unless that is 0. */
void al_cap(float *x, size_t n, double at);

/* From now on the head stays in memory, until the network is closed. */
bool al_network_keep_head(struct al_network *network, struct al_error *err) AL_MUST_CHECK;

/* ---- positions in scores ---- */

/* The position bias of a score, by the distance between key and query. */
struct al_position_bias {
	double *slopes; /* [n_heads]: ALiBi's; NULL: none */
	float *table; /* [n_heads][2*farthest + 1], from the farthest key before; NULL: none */
	size_t farthest; /* beyond it the bias stays */
};

bool al_position_bias_load(struct al_position_bias *bias, const struct al_reading *reading,
	size_t n_heads, struct al_error *err) AL_MUST_CHECK;

/* To a query's scores of n keys from `first_key` on. */
void al_position_bias_add(const struct al_position_bias *bias, size_t head, size_t query,
	size_t first_key, size_t n, float *scores);

/* ---- feed-forward blocks ---- */

/* Without data where there is none. */
struct al_feed_block {
	struct al_linear gate, up, gate_up, down;
	const double *learned; /* [2], of the activation; NULL: it learns none */
};

struct al_experts {
	struct al_linear router;
	struct al_feed_block *items; /* [n]; NULL: the layer has none */
	size_t n, n_active, n_groups, n_chosen_groups;
	bool is_normalized, groups_by_best;
	double factor, jitter;
	struct al_matrix_f correction; /* [n][1], or empty */
	struct al_feed_block shared;
	struct al_linear shared_weight;
};

/* ---- a variant's pass ---- */

/* Between the heads' outputs and W_O; see catalog/pass.h. */
struct al_across {
	const struct al_pass_across *how; /* NULL: nothing */
	size_t n_heads, width;
	struct al_matrix norm[AL_N_PASS_NORMS]; /* one row each */
	struct al_matrix weight, bias; /* [features][kept], [1][kept] */
};

void al_across_finish(struct al_across *across);

/* out is initialized, [kept*width][tokens]. */
bool al_across_apply(const struct al_across *across, struct al_view_f o, struct al_matrix_f *out,
	struct al_error *err) AL_MUST_CHECK;

struct al_layer;

/* The gated delta rule's weights; see catalog/pass.h. */
struct al_delta {
	struct al_linear inputs; /* queries, keys and values of all heads; or not there */
	struct al_linear gate, beta, alpha;
	struct al_matrix_f taps; /* [taps][inputs] */
	struct al_matrix_f step, rate, norm; /* one row */
	size_t n_heads, n_keys, d_head, d_value; /* n_keys: heads of queries and keys */
};

struct al_convolution {
	struct al_linear value, before, after; /* or not there */
	struct al_matrix_f taps; /* [taps][width] */
};

/* Tensors of the layer's mixer side by side, [rows][the columns of all]; cols 0: as many as there
 * are. And how large one is; 0: there is none. */
bool al_mixer_read(struct al_layer *layer, const char *const *names, size_t n, size_t rows,
	size_t cols, struct al_matrix_f *out, struct al_error *err) AL_MUST_CHECK;
bool al_mixer_read_linear(struct al_layer *layer, const char *name, size_t inputs, size_t outputs,
	struct al_linear *out, struct al_error *err) AL_MUST_CHECK;
/* A tensor of a variant that has a pass; NULL: there is none of that name, which may be NULL. */
const struct al_factor *al_attention_tensor(const struct al_attention *a, const char *name);
size_t al_mixer_width(const struct al_layer *layer, const char *name);
size_t al_mixer_rows(const struct al_layer *layer, const char *name);

/* y is the scratch's. */
bool al_mixer_project(struct al_scratch *scratch, const struct al_linear *linear,
	struct al_pass_place place, struct al_view_f x, struct al_matrix_f *y,
	struct al_error *err) AL_MUST_CHECK;

/* Rows [first, +n) of a column, in a sequence that begins with column `begin`. */
struct al_convolved {
	size_t begin, column, first, n;
};

/* out[n]: sums of these rows over the last columns, as many as there are taps. */
void al_convolve(struct al_matrix_f taps, struct al_matrix_f x, struct al_convolved of, float *out);

bool al_delta_load(struct al_layer *layer, struct al_error *err) AL_MUST_CHECK;
bool al_convolution_load(struct al_layer *layer, struct al_error *err) AL_MUST_CHECK;
bool al_mixer_load(struct al_layer *layer, struct al_error *err) AL_MUST_CHECK;

/* x is what the layer's norm gives; o is initialized, [the output projection's inputs][tokens]. */
bool al_delta_apply(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_matrix_f *o, struct al_error *err) AL_MUST_CHECK;
bool al_convolution_apply(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_matrix_f *o, struct al_error *err) AL_MUST_CHECK;
bool al_mixer_apply(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_matrix_f *o, struct al_error *err) AL_MUST_CHECK;

/* Projections of a variant with a pass, each head's columns as that makes them. */
bool al_variant_load(struct al_layer *layer, struct al_error *err) AL_MUST_CHECK;

/* ---- a layer ---- */

struct al_latent {
	struct al_linear query_down, down, up; /* without query_down queries are made of x */
	struct al_norm query_norm, norm;
	size_t kv_rank, d_nope, d_rope;
};

/* Keys and values of what came before: sequence i has columns [i*length, (i + 1)*length), a token
 * each. Of a mixer, its inputs in place of keys, and its state. */
struct al_cache {
	struct al_matrix_f k, v; /* [n_kv_heads*d_head], [n_kv_heads*d_value] */
	double *state; /* [n_sequences][n_heads][d_value][d_head], or NULL */
	size_t length, past; /* tokens that there is room for, and that came before */
};

/* A mixer's: `length` is set. */
bool al_mixer_cache_init(const struct al_layer *layer, size_t n_sequences, struct al_cache *cache,
	struct al_error *err) AL_MUST_CHECK;

/* Puts each sequence's columns of x where its next tokens are in `to`. */
void al_cache_fill(const struct al_cache *cache, const struct al_batch *batch, struct al_matrix_f x,
	struct al_matrix_f to);

struct al_layer {
	struct al_network *network;
	struct al_arena arena;
	struct al_scratch scratch; /* of its weights */
	int64_t number;
	const struct al_attention *module; /* its attention, or its mixer */
	const struct al_attention *attention; /* NULL: it has a mixer */
	const struct al_attention *shape; /* its heads as they run: a pass may have wider ones */
	bool is_parallel;
	size_t window, chunk; /* 0: none */
	double floor, growth; /* of queries, see catalog/forward.h; 0: none */
	struct al_linear query, key, value, output;
	struct al_norm attention_before, attention_behind, attention_sum;
	struct al_norm query_norm, key_norm; /* scale [d_head], or of all heads */
	struct al_rotary_rule rotary;
	const double
		*speeds[2]; /* of pairs that positions turn, in sequences as of training, and in
				    those that the rule calls long */
	struct al_across across;
	struct al_latent latent;
	struct al_delta delta;
	struct al_convolution convolution;
	struct al_linear gate; /* of the heads' outputs; see catalog.h, al_head_factor */
	struct al_matrix_f sinks; /* [n_heads][1], or empty */
	struct al_position_bias bias;
	struct al_norm feed_before, feed_behind, feed_sum;
	struct al_feed_block feed; /* empty where there are experts */
	struct al_experts experts;
	struct al_cache *cache; /* the caller's; NULL: none */
};

/* norm(x), or x itself where there is no norm: the scratch's, or where it is NULL the caller's. */
bool al_read_input(struct al_scratch *scratch, const struct al_norm *norm, struct al_view_f x,
	struct al_matrix_f *out, struct al_error *err) AL_MUST_CHECK;

/* Attention weights as they come: a head of a sequence is number sequence*n_heads + head. */
struct al_watched {
	const struct al_layer *layer;
	const struct al_batch *batch;
	const struct al_weights_taker *taker; /* or NULL */
	size_t n_heads;
	double *entropy; /* of each head of each sequence, added up over its queries */
	float *rows; /* of each sequence [sampled query][head][tokens] */
	float *scores; /* the same; less their mean, over the root of their number */
	size_t *first_row; /* [n_sequences]: where in `rows` a sequence begins */
};

void al_watched_init(struct al_watched *watched, const struct al_layer *layer,
	const struct al_batch *batch, const struct al_weights_taker *taker);
void al_watched_finish(struct al_watched *watched);

/* What the softmax gets of a query: scores [n] of the keys that it sees, from `low` on. */
void al_watch_scores(struct al_watched *watched, size_t index, size_t query, size_t low,
	const float *scores, size_t n);

/* Of queries from `first` on, a column each: weights of keys from `low` on. From several threads,
 * each for another head of a sequence. */
void al_watch_weights(struct al_watched *watched, size_t index, size_t first, size_t low,
	struct al_view_f weights, double entropy);

/* The trace takes the entropies, and gets the distances and covariances. */
bool al_watched_add_up(struct al_watched *watched, struct al_trace *trace,
	struct al_error *err) AL_MUST_CHECK;

/* Also the layer's `query`, shape and rotary rule. */
bool al_latent_load(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err) AL_MUST_CHECK;

/* q, k and v are the scratch's. */
bool al_latent_apply(const struct al_layer *layer, struct al_pass_place place,
	struct al_scratch *scratch, struct al_view_f x, struct al_matrix_f *q,
	struct al_matrix_f *k, struct al_matrix_f *v, struct al_error *err) AL_MUST_CHECK;

bool al_attention_load(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err) AL_MUST_CHECK;
bool al_feed_forward_load(struct al_layer *layer, const struct al_reading *reading,
	struct al_error *err) AL_MUST_CHECK;

/* x is what the block or the experts read, out what they give. */
bool al_feed_forward_apply(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f x, struct al_matrix_f out, struct al_error *err) AL_MUST_CHECK;
