/* What the commands on calibrations share. */
#pragma once

#include "model/calibration/calibration.h"
#include "answer/session.h"

/* Reads one, of `checkpoint` where that isn't NULL; it is gone when the command has run. NULL:
 * failed. */
struct al_calibration *al_session_calibration(struct al_session *session, const char *path,
	const struct al_checkpoint *checkpoint, struct al_error *err) AL_MUST_CHECK;

/* Makes the folder, one that stays empty is gone when the command has run, and gives the path of
 * its calibration. NULL: failed. */
const char *al_calibration_folder_make(struct al_session *session, const char *folder,
	struct al_error *err) AL_MUST_CHECK;

/* The answer's table of heads: module, head, tokens, norm, entropy, distance, nearest, between. */
bool al_calibration_add_table(struct al_session *session, const struct al_calibration *calibration,
	const char *folder, struct al_error *err) AL_MUST_CHECK;

/* " Only 2.8 tokens for each of 288 input dimensions: ...", behind a sentence; "": they are
 * enough. */
const char *al_calibration_say_few(struct al_arena *arena,
	const struct al_calibration *calibration);
