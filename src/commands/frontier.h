/* audit --tokens: what conversions of the checkpoint cost, measured and drawn. */
#ifndef ATTNLEDGER_COMMANDS_FRONTIER_H
#define ATTNLEDGER_COMMANDS_FRONTIER_H

#include "model/calibration/calibration.h"
#include "commands/checkpoint.h"
#include "commands/input.h"

/* Adds the table "frontier" to the answer and, where a folder is given, the figure to it. */
bool al_frontier_add(struct al_session *session, struct al_opened_checkpoint *opened,
	const struct al_calibration *calibration, const struct al_input_options *input,
	const char *figures, struct al_error *err) AL_MUST_CHECK;

#endif
