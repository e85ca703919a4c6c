/* `help TOPIC`: what many commands share. */
#ifndef ATTNLEDGER_COMMANDS_TOPICS_H
#define ATTNLEDGER_COMMANDS_TOPICS_H

#include "base/text.h"

enum { AL_MOST_TOPICS = 16 };

/* False, and nothing added, where there is no such topic. */
bool al_topic_help(const char *name, struct al_text *out);

/* A line for each. */
void al_topics_list(struct al_text *out);

/* Their number. */
size_t al_topic_names(const char *names[AL_MOST_TOPICS]);

#endif
