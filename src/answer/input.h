/* What a model reads, wherever a command runs one: --tokens, --text, --sample, --sequences. */
#pragma once

#include "answer/checkpoint.h"
#include "model/forward/evaluate.h"
#include "model/tokenize/tokens.h"

struct al_input_options {
	const char *tokens, *text, *sequences;
	const char *sample; /* "N", "N:SEED" or "N:greedy" */
};

extern const struct al_option_row al_input_rows[];

/* Is any input asked for? */
bool al_input_is_given(const struct al_input_options *options);

/* Fails unless exactly one input is given. */
bool al_input_check(const struct al_input_options *options, struct al_error *err) AL_MUST_CHECK;

/* A model that runs, and what it reads. */
struct al_running {
	struct al_network network;
	struct al_tokens tokens;
	struct al_batch all;
};

/* The model of a view, with what the options give it to read; it is closed when the command has
 * run. NULL: failed. */
struct al_running *al_session_running(struct al_session *session, struct al_model_view *view,
	const struct al_input_options *options, struct al_error *err) AL_MUST_CHECK;

/* The model that the command's words name, for the commands that run one. */
struct al_opened_model {
	struct al_opened_checkpoint *file;
	struct al_running *running;
	const struct al_watch *watch; /* shows progress */
};

bool al_opened_model_init(struct al_opened_model *model, struct al_session *session,
	const struct al_layout_options *layout, const struct al_input_options *input,
	struct al_error *err) AL_MUST_CHECK;
