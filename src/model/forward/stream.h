/* The residual stream of all tokens between two layers of a pass. */
#pragma once

#include "base/spill.h"
#include "model/forward/pass.h"

struct al_stream {
	struct al_network *network;
	struct al_batch all; /* the caller's */
	struct al_batch_part *parts; /* [n] */
	struct al_matrix_f *kept; /* [n], [d_model][tokens of the part], or empty */
	size_t n;
	struct al_spill file; /* all tokens in their order, where they take too much memory */
	bool is_embedded;
};

/* The caller finishes it, on failure too. */
bool al_stream_init(struct al_stream *s, struct al_network *network, const struct al_batch *all,
	struct al_error *err) AL_MUST_CHECK;
void al_stream_finish(struct al_stream *s);

/* Makes kept[part] what the layers so far put out. */
bool al_stream_take(struct al_stream *s, size_t part, struct al_error *err) AL_MUST_CHECK;
bool al_stream_put_back(struct al_stream *s, size_t part, struct al_error *err) AL_MUST_CHECK;

/* Into the state's file, whole or not at all, and back. */
bool al_stream_keep(struct al_stream *s, const struct al_pass_state *state,
	struct al_error *err) AL_MUST_CHECK;
bool al_stream_restore(struct al_stream *s, const struct al_pass_state *state,
	struct al_error *err) AL_MUST_CHECK;
