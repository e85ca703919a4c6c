/* What the command `memory` answers about whole models. */
#ifndef ATTNLEDGER_COMMANDS_MEMORY_H
#define ATTNLEDGER_COMMANDS_MEMORY_H

#include "commands/devices.h"
#include "ledger/infer.h"

struct al_memory_options {
	struct al_output_options output;
	struct al_asked asked;
	struct al_device_options devices;
	bool explains;
	const char *baseline;
};

/* "2 + 4": what a recipe keeps of a state, bytes a parameter. */
const char *al_bytes_formula(struct al_arena *arena, const struct al_state_bytes *bytes);

/* Training; `question` NULL: several models, the session's words. */
bool al_train_answer(struct al_session *session, struct al_question *question,
	struct al_error *err) AL_MUST_CHECK;

/* The options of inference. */
bool al_inference_init(struct al_inference *inference, const struct al_device_options *options,
	struct al_question *question, struct al_error *err) AL_MUST_CHECK;

/* Inference of one model. */
bool al_infer_answer(struct al_session *session, struct al_question *question,
	struct al_error *err) AL_MUST_CHECK;

#endif
