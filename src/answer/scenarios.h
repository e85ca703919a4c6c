/* The scenarios that a command line names. */
#pragma once

#include "answer/session.h"
#include "scenario/scenario.h"

/* Visits each scenario of the words, all built-in ones where there are none. Among several files a
 * JSON Schema is left out with a notice: scenarios/...json names it too. */
bool al_each_scenario(struct al_session *session,
	bool (*visit)(void *context, struct al_scenario *scenario, struct al_error *err),
	void *context, struct al_error *err) AL_MUST_CHECK;
