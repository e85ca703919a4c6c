/* check PAPER...: the numbers of a .tex, .md or .txt file. */
#pragma once

#include "commands/command.h"

struct al_check_options {
	struct al_output_options output;
	const char *map; /* NULL: the one beside the paper */
	bool drafts_map;
};

/* Is a paper among the words, or asked for by an option? */
bool al_session_names_paper(const struct al_session *session);

bool al_check_papers(struct al_session *session, struct al_error *err) AL_MUST_CHECK;
