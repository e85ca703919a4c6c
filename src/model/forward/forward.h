/* The forward pass: a checkpoint run on tokens, as its family's "forward" defines
 * (catalog/forward.h).
 *
 * Activations are [width][tokens], one column per token, sequence after sequence. Products are
 * float32; sums of norms, softmax and losses are double. Weights are read one layer at a time, so
 * memory holds one layer and one batch of activations. Results don't depend on the number of
 * threads. What a function initializes is its caller's to finish, where it fails, too. */
#pragma once

#include "model/heads/rotary.h"

/* ---- a model that runs ---- */

struct al_activation; /* activation.h */

/* Other weights in place of a module's own: out is initialized, of the shape that
 * al_factor_load gives the module's factor (or bias), or of heads whose queries and keys are wider,
 * keys for every head. It may give biases where the module has none, or none: no data. */
struct al_factor_source {
	bool (*load)(void *context, const struct al_attention *attention, enum al_projection p,
		bool is_bias, struct al_matrix *out, struct al_error *err);
	void *context;
};

struct al_network {
	struct al_arena arena;
	struct al_model_view *view; /* the caller's; it outlives the network */
	const struct al_forward *how;
	const struct al_item *config; /* the object with the text's keys */
	struct al_attention *mixers; /* what layers have in place of attention; the view's */
	size_t n_mixers;
	int64_t n_layers, d_model, vocab;
	int64_t longest; /* tokens of a sequence; 0: any number */
	int64_t first_position;
	double epsilon, score_cap, logit_cap, embedding_scale; /* a cap of 0: none */
	double residual_scale, logit_divisor;
	double alibi; /* 0: none */
	int64_t relative_distance;
	const struct al_activation *activation, *masked_activation;
	struct al_matrix_f head; /* [width][vocab], where it is kept in memory; else empty */
	const struct al_factor_source *factors; /* the caller's; NULL: the checkpoint's own */
	uint64_t most_kept; /* bytes between two layers of a pass; more wait in a file */
};

/* Refuses a family without "forward", and a config under which it isn't true. On failure nothing is
 * left to close. */
bool al_network_open(struct al_network *network, struct al_model_view *view,
	struct al_error *err) AL_MUST_CHECK;
void al_network_close(struct al_network *network);

/* ---- tokens ---- */

/* Sequence i is tokens[begin[i] .. begin[i + 1]). */
struct al_batch {
	const int32_t *tokens;
	const size_t *begin; /* [n_sequences + 1] */
	size_t n_sequences;
	size_t first_sequence; /* its number in the caller's file, for messages */
};

static inline size_t al_batch_tokens(const struct al_batch *batch)
{
	return batch->begin[batch->n_sequences];
}

/* The place of a column of the batch in its sequence, which is *sequence or one behind it. */
static inline size_t al_batch_place(const struct al_batch *batch, size_t column, size_t *sequence)
{
	while (batch->begin[*sequence + 1] <= column)
		++*sequence;
	return column - batch->begin[*sequence];
}

/* The positions that the config gives; 0: it has none, or the family can't be run. */
bool al_view_longest(struct al_model_view *view, int64_t *out, struct al_error *err) AL_MUST_CHECK;

/* A token beyond the vocabulary, a sequence without tokens or beyond the positions. */
bool al_network_check_tokens(const struct al_network *network, const struct al_batch *batch,
	struct al_error *err) AL_MUST_CHECK;

/* The tokens that the config names under a key ("bos_token_id"), one or a list; none where it has
 * no such key, or null. `room` is what `out` takes. */
bool al_network_named_tokens(const struct al_network *network, const char *key, int32_t *out,
	size_t room, size_t *n, struct al_error *err) AL_MUST_CHECK;

/* Of all that a pass's numbers hang on but the checkpoint's tensors: the version, the BLAS kernel,
 * the config, the family and the tokens. */
uint64_t al_network_fingerprint(const struct al_network *network, const struct al_batch *all);

/* ---- layer by layer ---- */

struct al_layer;

/* Reads the weights of layer number `layer`. NULL on failure. */
struct al_layer *al_layer_load(struct al_network *network, int64_t layer, struct al_error *err);
void al_layer_free(struct al_layer *layer);

/* How many of `context` tokens the layer's attention sees at once: fewer in a window or a chunk. */
bool al_layer_seen(struct al_network *network, int64_t layer, int64_t context, int64_t *out,
	struct al_error *err) AL_MUST_CHECK;

/* One of the view's modules; NULL where the layer has a mixer in its place. */
const struct al_attention *al_layer_attention(const struct al_layer *layer);

/* Has each layer a module of its own, or a mixer, none shared with another layer? */
bool al_network_shares_nothing(const struct al_network *network);

/* The hidden states before the first layer, where `past` tokens of each sequence came before: x is
 * initialized, [d_model][tokens]. */
bool al_network_embed(struct al_network *network, const struct al_batch *batch, size_t past,
	struct al_matrix_f *x, struct al_error *err) AL_MUST_CHECK;

/* Who takes attention weights as they come: of a head of a batch's sequence those of queries from
 * `first` on, a column each, on keys from `low` on. Called from several threads, each for another
 * head of a sequence. */
struct al_weights_taker {
	void (*take)(void *context, const struct al_layer *layer, const struct al_batch *batch,
		size_t sequence, size_t head, size_t first, size_t low, struct al_view_f weights);
	void *context;
};

/* A layer's attention on a batch, for statistics. */
struct al_trace {
	const struct al_weights_taker *taker; /* the caller's; NULL: nobody */
	struct al_matrix_f input; /* [d_model][tokens]: what W_Q, W_K and W_V read */
	double *entropy; /* [n_sequences][n_heads]: of attention weights in nats, added up over
			    each sequence's tokens */
	double *distance; /* [n_sequences][n_heads][n_heads], where the second head is before the
			     first: the square root of the Jensen-Shannon divergence (nats) of two
			     heads' weights, added up over sampled queries */
	double *logits; /* the same, and where both are one head: the covariance, over the keys that
			   a query sees, of two heads' scores as the softmax gets them */
	const struct al_batch *batch;
};

/* How many queries of a sequence are sampled, evenly apart, the last one among them. */
enum { AL_SAMPLED_QUERIES = 16 };
static inline size_t al_sampled_queries(size_t n_tokens)
{
	return al_least(n_tokens, AL_SAMPLED_QUERIES);
}

/* Safe on NULL and on a zeroed struct. */
void al_trace_finish(struct al_trace *trace);

/* Fails, AL_ENOTFINITE: the largest number of x [][tokens] is one of this token's, whose sums of
 * squares overflowed. */
bool al_fail_largest(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_error *err) AL_MUST_CHECK;

/* What the heads give before W_O, or a mixer before its output projection: o is initialized,
 * [n_heads*d_value][tokens]. `trace`, which may be NULL, and is for a mixer, is filled, and its
 * taker called. */
bool al_layer_heads(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_trace *trace, struct al_matrix_f *o, struct al_error *err) AL_MUST_CHECK;

/* W_O o and its bias: y is [d_model][tokens]. */
bool al_layer_project(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f o, struct al_matrix_f y, struct al_error *err) AL_MUST_CHECK;

/* By how many degrees each head turns the residual stream, at some tokens of each sequence evenly
 * apart, the last among them: adds to turns[n_sequences][n_heads] the angle between the stream
 * behind attention, x + y before any norm of the sum, and what it would be if the head's output
 * were zero. x goes into the layer, o is of its heads, y of al_layer_project. */
bool al_layer_turns(const struct al_layer *layer, const struct al_batch *batch, struct al_view_f x,
	struct al_view_f o, struct al_view_f y, double *turns, struct al_error *err) AL_MUST_CHECK;

enum { AL_TURNED_TOKENS = 64 };
static inline size_t al_turned_tokens(size_t n_tokens)
{
	return al_least(n_tokens, AL_TURNED_TOKENS);
}

/* The rest of the layer, from its input x and what attention puts out, y, which is destroyed: x
 * becomes the layer's output. */
bool al_layer_add(const struct al_layer *layer, const struct al_batch *batch, struct al_matrix_f y,
	struct al_matrix_f x, struct al_error *err) AL_MUST_CHECK;

/* The rest of the layer, from its input x and its heads' outputs: x becomes its output. */
bool al_layer_complete(const struct al_layer *layer, const struct al_batch *batch,
	struct al_view_f o, struct al_matrix_f x, struct al_error *err) AL_MUST_CHECK;

/* Both. */
bool al_layer_run(const struct al_layer *layer, const struct al_batch *batch, struct al_matrix_f x,
	struct al_error *err) AL_MUST_CHECK;

/* The norm and projection behind the last layer: out is initialized. */
bool al_network_finish(struct al_network *network, const struct al_batch *batch, struct al_view_f x,
	struct al_matrix_f *out, struct al_error *err) AL_MUST_CHECK;

/* Layers [first, n_layers) and what is behind the last, x destroyed. */
bool al_network_run_from(struct al_network *network, int64_t first, const struct al_batch *batch,
	struct al_matrix_f x, struct al_matrix_f *out, struct al_error *err) AL_MUST_CHECK;

/* ---- masked tokens ---- */

/* Does the checkpoint have an encoder's head for them? */
bool al_network_predicts_masked(struct al_network *network, bool *out,
	struct al_error *err) AL_MUST_CHECK;

/* What that head reads, of the last hidden states: out is initialized. */
bool al_network_transform(struct al_network *network, const struct al_batch *batch,
	struct al_view_f hidden, struct al_matrix_f *out, struct al_error *err) AL_MUST_CHECK;

/* ---- scores ---- */

/* Predictions by each token, of a decoder's hidden states or an encoder's after
 * al_network_transform: losses[i] is -log p(targets[i]) in nats after token i, 0
 * where the target is negative. The head is read in blocks. With `alike` a group of words is taken
 * together: losses to 1e-7 nats. */
struct al_alike; /* alike.h */

struct al_token_scores {
	const int32_t *targets;
	double *losses;
	const struct al_alike *alike; /* NULL: word by word */
};

bool al_network_score(struct al_network *network, const struct al_batch *batch,
	struct al_view_f hidden, const struct al_token_scores *scores,
	struct al_error *err) AL_MUST_CHECK;

/* The predictions of each token by two models, of their hidden states a and b. */
struct al_comparison {
	double losses[2]; /* -log p(target) in nats; 0 where the target is negative */
	double divergence; /* KL(a || b) in nats */
	bool agree; /* the same likeliest token */
};

/* out [tokens]; a and b have a column per token. `other` is the second model, whose head has
 * numbers of its own; NULL: both have one head. */
bool al_network_compare(struct al_network *network, struct al_network *other,
	const struct al_batch *batch, struct al_view_f a, struct al_view_f b,
	const int32_t *targets, struct al_comparison *out, struct al_error *err) AL_MUST_CHECK;

/* The logits of all tokens: out is initialized, [vocab][tokens]. For few tokens. */
bool al_network_logits(struct al_network *network, const struct al_batch *batch,
	struct al_view_f hidden, struct al_matrix_f *out, struct al_error *err) AL_MUST_CHECK;
