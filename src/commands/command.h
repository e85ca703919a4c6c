/* Commands: one file a subcommand with one descriptor, and its name in the list in command.c. */
#ifndef ATTNLEDGER_COMMANDS_COMMAND_H
#define ATTNLEDGER_COMMANDS_COMMAND_H

#include "base/table.h"
#include "catalog/catalog.h"
#include "commands/options.h"
#include "report/report.h"

/* What a command works with, and the answer that it builds: tables, printed when all of them are
 * done. */
struct session {
	struct al_arena arena;
	struct al_catalog *catalog;
	struct arguments arguments;
	struct al_style style;
	const struct al_writer *writer;
	const char *output; /* -o: a file, for `run` a folder; NULL: stdout */
	bool writes_files; /* `run`: -o is a folder, not the answer's file */
	struct al_table **tables;
	size_t n_tables, tables_room;
	const char *raw; /* printed instead of tables, as it is */
	bool prints_nothing;
	bool answer_is_no; /* exit status 1 */
};

struct command {
	const char *name, *words, *summary; /* words: "MODEL..." */
	const char *examples[3]; /* without "attnledger"; the first two begin the help */
	option_set options;
	size_t least_words, most_words;
	bool takes_folder; /* -o names a folder */
	bool uses_threads; /* for long */
	bool (*run)(struct session *session, struct al_error *err);
};

/* The one list of commands, in the order of the help. */
#define COMMANDS(X) \
	X(list) \
	X(variants) \
	X(count) \
	X(memory) \
	X(cache) \
	X(sweep) \
	X(fit) \
	X(run) \
	X(check) \
	X(inspect) \
	X(reconcile) \
	X(audit) \
	X(compress) \
	X(verify)

#define DECLARE_COMMAND(name) extern const struct command command_##name;
COMMANDS(DECLARE_COMMAND)

/* A new table of the answer; it belongs to the session. */
struct al_table *session_table(struct session *session, const char *id, const char *title);

/* Takes a table over into the answer. */
void session_take(struct session *session, const struct al_table *table);

/* Runs the command line; the result is the exit status. */
int al_command_line(int argc, char **argv);

#endif
