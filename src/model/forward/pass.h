/* Passes of a model over all sequences, layer by layer, and in each batch by batch, with somebody
 * who looks. */
#pragma once

#include "base/watch.h"
#include "model/forward/forward.h"

/* ---- batches: whole sequences, so many that their activations fit into memory ---- */

/* Tokens of one batch, unless one sequence has more. */
enum { AL_BATCH_TOKENS = 4096 };

/* Some neighbors of a batch; `begin` is the owner's memory. */
struct al_batch_part {
	struct al_batch batch;
	size_t *begin;
};

/* The sequences from number `first` on. */
void al_batch_part_init(struct al_batch_part *part, const struct al_batch *all, size_t first);
void al_batch_part_finish(struct al_batch_part *part);

/* targets[i] is the token after token i, or -1 behind a sequence's last. The caller frees it. */
int32_t *al_batch_targets(const struct al_batch *batch);

/* ---- passes that go on where they were ended ---- */

/* What is kept of a pass behind a layer, in a file: the residual stream, and the memory in
 * which the visitor adds up. */
struct al_pass_state {
	const char *path;
	uint64_t of; /* a fingerprint of all that the pass's numbers hang on */
	double seconds; /* at least from one time that it is kept to the next */
	const struct al_kept_memory {
		void *data;
		size_t length;
	} * own; /* [n_own] */
	size_t n_own;
	bool (*before)(void *context, struct al_error *err); /* it is kept */
	void *context;
	int64_t n_passed; /* layers that it is behind; 0: the pass begins */
};

/* Sets n_passed: 0 where the path has no state of this pass; else `own` is restored, too. */
void al_pass_state_find(struct al_pass_state *state, const struct al_network *network,
	const struct al_batch *all);

/* ---- passes ---- */

/* Who looks; what is NULL isn't called. Columns are tokens. Layers without attention aren't shown.
 */
struct al_visitor {
	/* At each layer: x [d_model] goes into it, its heads put out o [n_heads*d_value], side by
	 * side as W_O reads them (al_layer_project). */
	bool (*heads)(void *context, const struct al_layer *layer, const struct al_batch *batch,
		struct al_view_f x, struct al_view_f o, struct al_error *err);
	/* The same, and details of attention, which costs some time. */
	bool (*trace)(void *context, const struct al_layer *layer, const struct al_trace *trace,
		struct al_view_f o, struct al_error *err);
	/* The attention weights, with the trace. */
	const struct al_weights_taker *weights;
	/* Makes y [d_model] of o in place of W_O and its bias. */
	bool (*project)(void *context, const struct al_layer *layer, const struct al_batch *batch,
		struct al_view_f o, struct al_matrix_f y, struct al_error *err);
	/* The output of attention, y [d_model], before its norms and before it is added to x. */
	bool (*behind)(void *context, const struct al_layer *layer, const struct al_batch *batch,
		struct al_view_f x, struct al_view_f o, struct al_view_f y, struct al_error *err);
	/* The layer has seen all batches. */
	bool (*done)(void *context, const struct al_layer *layer, struct al_error *err);
	/* Behind the last layer, as al_network_finish gives it, batch by batch. */
	bool (*hidden)(void *context, const struct al_batch *batch, struct al_view_f hidden,
		struct al_error *err);
	struct al_pass_state *state; /* NULL: nothing is kept */
	void *context;
};

/* Checks all tokens first. `watch` may be NULL. */
bool al_network_pass(struct al_network *network, const struct al_batch *all,
	const struct al_watch *watch, const struct al_visitor *visitor,
	struct al_error *err) AL_MUST_CHECK;
