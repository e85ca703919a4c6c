/* What the command `cache` answers about whole models. */
#ifndef ATTNLEDGER_COMMANDS_KEPT_H
#define ATTNLEDGER_COMMANDS_KEPT_H

#include "commands/question.h"

/* `question` NULL: several models, the session's words. */
bool kept_answer(struct session *session, struct al_question *question,
	struct al_error *err) AL_MUST_CHECK;

#endif
