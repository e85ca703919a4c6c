/* What the command `cache` answers about whole models. */
#ifndef ATTNLEDGER_COMMANDS_KEPT_H
#define ATTNLEDGER_COMMANDS_KEPT_H

#include "commands/question.h"

struct al_cache_options {
	struct al_output_options output;
	struct al_asked asked;
	const char *dtype;
	bool is_whole;
};

/* `question` NULL: several models, the session's words. */
bool al_cached_by_kind(struct al_session *session, struct al_question *question,
	struct al_error *err) AL_MUST_CHECK;

#endif
