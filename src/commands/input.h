/* What a model reads, wherever a command runs one: --tokens, --text, --sample, --sequences. */
#ifndef ATTNLEDGER_COMMANDS_INPUT_H
#define ATTNLEDGER_COMMANDS_INPUT_H

#include "commands/options.h"
#include "model/forward/forward.h"
#include "model/tokenize/tokens.h"

struct al_input_options {
	const char *tokens, *text, *sequences;
	int64_t sample, seed; /* sample 0: none */
	bool is_greedy;
};

extern const struct al_option_row al_input_rows[];
/* --sample and --greedy, of the same struct; and --seed, for commands that draw nothing else. */
extern const struct al_option_row al_sample_rows[];
extern const struct al_option_row al_sample_seed_rows[];

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

/* On failure nothing is left to end. */
bool al_running_begin(struct al_running *running, struct al_model_view *view,
	const struct al_input_options *options, struct al_error *err) AL_MUST_CHECK;
void al_running_end(struct al_running *running);

#endif
