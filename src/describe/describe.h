/* Descriptions of the command line for others to read, made of the tables of commands and options:
 * manual pages as scdoc's sources, completions for shells. The build runs this program; nobody else
 * needs it. */
#pragma once

#include "commands/command.h"

struct al_described {
	const char *name, *summary;
	const struct al_command *command;
};

extern const struct al_described al_described[]; /* in the order of the help */
extern const size_t al_n_described;

/* What completes an option's value, or a word of a command. */
enum al_completion { AL_COMPLETE_ANY, AL_COMPLETE_WORDS, AL_COMPLETE_FILE, AL_COMPLETE_FOLDER };
enum al_completion al_completion(const struct al_option_row *row);

/* The topics of `list` whose names a command takes as words, at most three, ended by NULL. */
struct al_topics {
	const char *of[4];
};
struct al_topics al_command_topics(const struct al_command *command);

/* ---- man.c ---- */

/* attnledger(1), or attnledger-NAME(1). */
void al_describe_tool(struct al_text *out);
void al_describe_command(const struct al_described *described, struct al_text *out);

/* ---- completions.c ---- */

void al_describe_bash(struct al_text *out);
void al_describe_zsh(struct al_text *out);
void al_describe_fish(struct al_text *out);
