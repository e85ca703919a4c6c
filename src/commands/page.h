/* --report FILE: an answer as a page. */
#pragma once

#include "commands/command.h"

/* The row of --report, for commands whose page is their tables. */
extern const struct al_option_row al_report_rows[];

/* The command line as it would be given again; without options on how the answer looks. */
const char *al_session_command_text(struct al_session *session);

/* Adds the page to the files where --report asks for one; the answer's tables are there. */
void al_session_add_page(struct al_session *session, const struct al_page_chart *charts);
