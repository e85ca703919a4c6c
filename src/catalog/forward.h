/* "forward": how a family's tensors make a model, as data for the forward pass. A family without it
 * can be counted and audited, not run.
 *
 *     "forward": {
 *       "kind": "decoder",
 *       "norm": {"kind": "rms", "epsilon": {"key": "rms_norm_eps", "default": 1e-6}},
 *       "embedding": {"tokens": "embed_tokens.weight"},
 *       "attention": {"before": "layers.{layer}.input_layernorm.weight"},
 *       "feed_forward": {"before": ..., "gate": ..., "up": ..., "down": ...,
 *                        "activation": {"key": "hidden_act", "default": "silu"}},
 *       "last": {"norm": "norm.weight", "head": "lm_head.weight"}
 *     }
 *
 * * A tensor is a name of the family's "tensors" or "stored": a text; [weight, bias]; or an
 * object {"weight", "bias", "when"}, of which there is none where "when" doesn't hold, or what
 * "otherwise" names. A bias whose own "when" doesn't hold is none. Shape, order and what it is
 * tied to are defined there.
 *
 * * A number is one, or {"key", "default", "plus"}: the config's, which may be a fraction.
 * Without a default there is none where the config has none. A word is given likewise.
 *
 * * kind: a decoder sees the tokens before and predicts the next one; an encoder sees all.
 * A sequence has at most the symbol `context` tokens, but for "any_length": positions that bound
 * none.
 *
 * * Norms are "before" a block (attention, feed_forward), "behind" it, or on the "sum" of it
 * and what it is added to. With "parallel" both blocks read the same hidden state; a
 * feed-forward block without a norm of its own then reads what attention reads. "unit_offset": x
 * (1 + scale). The name of one without scale and bias is "".
 *
 * * embedding: rows of "tokens", times "scale" sqrt("scale_squared"), "project_tokens"; plus the
 * row of the position, counted from "first"; plus the first row of "types"; "norm"; "project".
 *
 * * residual: what a block gives is multiplied by it before it is added; over the root of
 * "residual_over", unless the config has null in its place.
 *
 * * attention: scores, which the module scales, are capped to "cap" by tanh; a query sees the last
 * "window" tokens, itself included, and an encoder's as many behind it, or those of its own
 * "chunk" of so many; 0: all. Queries are multiplied by 1 + "growth" log(1 + the whole part of
 * (position + 1)/"floor") in layers where "grows" holds. "query_norm" and "key_norm" normalize
 * each head ("over": "head"), all heads at once ("all"), or each head with a
 * scale of its own ("each", {head} in the name, or a row of the tensor), before their rotation, or,
 * with "rotated", after it. Rotary positions are the module's, and so are biases, which are added,
 * and gates, which heads' outputs are multiplied by. "alibi": a score loses slope times its
 * distance, head h of 2^k heads 2^(-alibi (h + 1)/2^k) of it. "relative": "bias" is a tensor
 * [buckets][n_heads] of what is added to a score by the bucket of its distance, as T5 counts them,
 * to "distance". "sinks" [n_heads] take part in a head's softmax, and no value.
 *
 * "latent": multi-head latent attention. Queries are "query" of the norm of "query_down", where
 * that is. Of the norm of the first numbers of "down", "up" makes each head's values and the part
 * of its keys that doesn't rotate; the last numbers are the part that does, of all heads. "epsilon"
 * is that of both norms; "base", "scaling" and "interleaved" (else halves) are those of the
 * rotation.
 *
 * * feed_forward: down(activation(gate x) * up x), or down(activation(up x)); "gate_up" is both
 * in one tensor, the gate first or, "alternating", number by number. "learned": two tensors of one
 * number each that xIELU has learned, for what is above 0 and below.
 *
 * * experts: in layers where "router" is, each token goes to "active" of "count" blocks like
 * feed_forward's, an expert {expert} in the names, or the first dimension of a tensor of all.
 * Shares are the softmax of all routed scores, or with "scores": "sigmoid" that of each, over the
 * sum of the chosen ones' where "normalized" holds, times "multiply". With "scores": "sparsemixer"
 * an expert's share is its softmax among those not chosen yet whose score s is near the best one's,
 * b: (b - s)/max(|s|, b) is at most twice "jitter". Those with the largest shares are chosen, after
 * "correction" [count] is added, of the best "of_groups" of "groups", those with the largest sum of
 * their two best, or with "by_best" those with the best expert. "shared": a block of all tokens,
 * times the sigmoid of "weight". With "of_input" an expert reads its share of the token.
 *
 * * last: logits are divided by "divide" or multiplied by "multiply", then capped to "cap".
 *
 * * masked: how an encoder predicts a token that is replaced by "token", as its tokenizer names it:
 * "head" of norm(activation(dense x)); without "activation" the feed-forward blocks'.
 *
 * * layers: how many there are (n_layers); "loops": what the variables in names count, as
 * formulas of `layer`, where it isn't the layer itself (ALBERT).
 *
 * * requires: config keys and the only values, one or a list, under which all this is true; an
 * absent key is one of them. "present": keys of which the config must have one. "when": a
 * condition, which "only" describes in words. The first kind of module is what runs. */
#pragma once

#include "catalog/catalog.h"

struct al_family;

/* Of a feed-forward block, counted from the first that is given as its. */
enum al_block_tensor {
	AL_BLOCK_GATE,
	AL_BLOCK_UP,
	AL_BLOCK_GATE_UP,
	AL_BLOCK_DOWN,
	AL_N_BLOCK_TENSORS
};

enum al_forward_tensor {
	AL_FORWARD_TOKENS,
	AL_FORWARD_TOKENS_PROJECT,
	AL_FORWARD_POSITIONS,
	AL_FORWARD_TYPES,
	AL_FORWARD_EMBEDDING_NORM,
	AL_FORWARD_EMBEDDING_PROJECT,
	AL_FORWARD_ATTENTION_BEFORE,
	AL_FORWARD_ATTENTION_BEHIND,
	AL_FORWARD_ATTENTION_SUM,
	AL_FORWARD_QUERY_NORM,
	AL_FORWARD_KEY_NORM,
	AL_FORWARD_SINKS,
	AL_FORWARD_RELATIVE,
	AL_FORWARD_LATENT_QUERY_DOWN,
	AL_FORWARD_LATENT_QUERY_NORM,
	AL_FORWARD_LATENT_QUERY,
	AL_FORWARD_LATENT_DOWN,
	AL_FORWARD_LATENT_NORM,
	AL_FORWARD_LATENT_UP,
	AL_FORWARD_FEED_BEFORE,
	AL_FORWARD_FEED_BEHIND,
	AL_FORWARD_FEED_SUM,
	AL_FORWARD_LEARNED, /* the second one is its bias */
	AL_FORWARD_FEED,
	AL_FORWARD_ROUTER = AL_FORWARD_FEED + AL_N_BLOCK_TENSORS,
	AL_FORWARD_CORRECTION,
	AL_FORWARD_EXPERT,
	AL_FORWARD_SHARED = AL_FORWARD_EXPERT + AL_N_BLOCK_TENSORS,
	AL_FORWARD_SHARED_WEIGHT = AL_FORWARD_SHARED + AL_N_BLOCK_TENSORS,
	AL_FORWARD_LAST_NORM,
	AL_FORWARD_LAST_PROJECT,
	AL_FORWARD_HEAD,
	AL_FORWARD_MASKED_DENSE,
	AL_FORWARD_MASKED_NORM,
	AL_N_FORWARD_TENSORS,
};

struct al_forward_names {
	const char *weight, *bias, *otherwise, *otherwise_bias; /* NULL: none */
	const struct al_formula *when; /* NULL: true */
};

/* A number, or the first of a config's keys that is there. */
struct al_config_number {
	const char **keys;
	size_t n_keys;
	bool has_fallback;
	double fallback, plus; /* plus: added to either */
};

struct al_forward_word {
	const char **keys;
	size_t n_keys;
	const char *fallback;
};

struct al_forward_loop {
	const char *variable;
	const struct al_formula *value; /* of `layer` */
};

struct al_forward_need {
	const char *key;
	const char **values; /* as text: "true", "null", "absolute" */
	size_t n_values;
};

enum al_forward_kind { AL_FORWARD_DECODER, AL_FORWARD_ENCODER };
enum al_norm_kind { AL_NORM_RMS, AL_NORM_LAYER };
enum al_router_scores { AL_ROUTER_SOFTMAX, AL_ROUTER_SIGMOID, AL_ROUTER_SPARSEMIXER };
enum al_norm_over { AL_NORM_OVER_HEAD, AL_NORM_OVER_ALL, AL_NORM_OVER_EACH };

struct al_forward {
	enum al_forward_kind kind;
	const struct al_formula *layers; /* NULL: n_layers */
	struct al_forward_loop *loops;
	size_t n_loops; /* 0: {layer} is the layer */
	const struct al_formula *parallel; /* NULL: false */
	enum al_norm_kind norm;
	bool has_unit_offset, has_any_length;
	bool norms_rotated; /* queries and keys */
	enum al_norm_over qk_norm;
	struct al_config_number epsilon, first_position, score_cap, logit_cap;
	struct al_config_number embedding_scale, residual_scale, logit_divisor, logit_factor;
	struct al_config_number alibi, relative_distance; /* 0: none */
	struct al_config_number latent_epsilon;
	const struct al_formula *latent_base,
		*latent_interleaved; /* where AL_FORWARD_LATENT_UP is */
	const char **latent_scaling;
	size_t n_latent_scaling;
	bool is_alternating; /* gate and up */
	const struct al_formula *n_experts, *n_active, *normalized; /* NULL: 0, 0, false */
	enum al_router_scores router_scores;
	const struct al_formula *n_groups, *n_chosen_groups; /* NULL: 1 */
	bool groups_by_best, shares_input;
	struct al_config_number expert_factor, jitter;
	const struct al_formula *scale_squared, *residual_over, *window,
		*chunk; /* NULL: 1, 1, 0, 0 */
	struct al_config_number query_floor, query_growth;
	const struct al_formula *query_grows; /* NULL: false */
	struct al_forward_word activation,
		masked_activation; /* the latter without a word: the former */
	const char *mask; /* in place of a token that an encoder predicts; NULL: it predicts none */
	struct al_forward_names tensors[AL_N_FORWARD_TENSORS];
	struct al_forward_need *needs;
	size_t n_needs;
	const char **present;
	size_t n_present;
	const struct al_formula *when; /* NULL: true */
	const char *only;
};

/* How the family runs, read from its file now; NULL: it can't be run. The catalog's own. */
bool al_catalog_forward(struct al_catalog *catalog, const struct al_family *family,
	const struct al_forward **out, struct al_error *err) AL_MUST_CHECK;
