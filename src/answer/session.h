/* Questions and their answers: one file a command with one descriptor, and its line in COMMANDS. A
 * command's answer is in its session: nothing below src/commands prints. */
#pragma once

#include "base/table.h"
#include "base/watch.h"
#include "catalog/catalog.h"
#include "answer/files.h"
#include "answer/options.h"
#include "report/claim.h"
#include "report/report.h"

/* What every command takes; its struct of options begins with these. */
struct al_output_options {
	bool wants_help, is_quiet, wants_details;
	const char *format, *file; /* file: where the answer goes; NULL: stdout */
	const char *report; /* of commands with al_report_rows: the page; NULL: none */
	const char *only; /* "a,b": tables by their ids; NULL: all */
	int units, color; /* places in the words of their rows; units -1: not given */
	int64_t threads; /* 0: as many as there are cores */
};

/* --help and --format, --output FILE, and how the answer looks. A command whose --output isn't the
 * answer's file takes the first and the last alone, and has a row of its own between them. */
extern const struct al_option_row al_format_rows[], al_output_rows[], al_display_rows[];
#define OUTPUT_GROUPS_WITHOUT_ONLY \
	{al_format_rows, 0}, {al_output_rows, 0}, \
	{ \
		al_display_rows, 0 \
	}

/* --only, of commands that make all their tables; others have a row of that name. */
extern const struct al_option_row al_only_rows[];
#define OUTPUT_GROUPS \
	OUTPUT_GROUPS_WITHOUT_ONLY, \
	{ \
		al_only_rows, 0 \
	}

/* The groups that every command has, ended by rows NULL, and whether a row is of theirs: such a row
 * changes how an answer looks, not what it is. */
extern const struct al_option_group al_common_options[];
bool al_option_is_common(const struct al_option_row *row);

/* Adds the figure to the files; the path's extension sets the format (.pdf, .svg or .png). */
struct al_figure;
typedef bool al_drawer(struct al_files *files, const struct al_figure *figure,
	const struct al_table *table, const char *path, struct al_error *err);

/* What a command works with, and the answer that it builds: tables, printed when all of them are
 * done. */
struct al_session {
	struct al_arena arena;
	struct al_catalog *catalog;
	struct al_command_line line;
	const void *options; /* the command's own struct */
	const struct al_output_options *output; /* what that begins with */
	struct al_style style;
	struct al_claim claim; /* of the answer, from numbers of its tables */
	const struct al_writer *writer;
	struct al_table **tables;
	size_t n_tables, tables_room;
	struct al_text rendered; /* printed instead of tables, as it is; without data: nothing */
	struct al_files files; /* in addition to the answer, and written after it */
	bool prints_nothing;
	size_t n_cut; /* rows or lines that a short text left out */
	bool answer_is_no; /* exit status 1 */
	const struct al_watch *caller; /* of a library: nothing is printed; NULL: a program */
	const char *page; /* of a library: the file of the answer's page; NULL: none is wanted */
	al_drawer *draw; /* NULL: it is left to the full program */
};

/* An answer on a screen of 24 lines, whose last is the shell's. */
enum { AL_SCREEN_LINES = 23, AL_SCREEN_COLUMNS = 80 };

/* A bar chart on the page of tables that begin with the column `label` and have `value`. */
struct al_page_chart {
	const char *label, *value, *axis;
	const char *total; /* the label of the row that isn't a part */
};

struct al_command {
	const char *words; /* "CHECKPOINT [CONFIG]", "MODEL...": what is taken is read off it */
	const char *examples[3]; /* without "attnledger"; the first two begin the help */
	const struct al_option_group *options; /* ended by rows NULL */
	size_t options_size; /* of the command's own struct */
	const struct al_page_chart
		*chart; /* on the page of its tables, where they have its columns; NULL: none */
	/* Of one that computes with linear algebra, for long: the libraries, with their versions;
	 * NULL: it doesn't. */
	const char *(*computed_with)(struct al_arena *arena);
	/* Of weights or figures: those that the light program lacks are the full one's. */
	bool has_formats;
	bool (*run)(struct al_session *session, struct al_error *err);
};

/* Two programs answer: `attnledger` counts exactly and starts in a few milliseconds; what needs
 * linear algebra or drawing it leaves to `attnledger-full`, whose libraries take
 * longer to load than most answers to count. The full one knows all commands.
 *
 * The one list of commands, in the order of the help: name, program (LIGHT or FULL), group in the
 * help, and summary in at most 60 columns. */
#define COMMANDS(X) \
	X(overview, LIGHT, "Cost", "answer the main questions; also: attnledger MODEL") \
	X(count, LIGHT, "Cost", "number of parameters, by part") \
	X(cache, LIGHT, "Cost", "KV cache size, per token and at a context length") \
	X(memory, LIGHT, "Cost", "memory of inference or training, by part") \
	X(fit, LIGHT, "Cost", "largest batch, context or model that fits on a device") \
	X(diff, LIGHT, "Cost", "why two answers differ, setting by setting") \
	X(sweep, LIGHT, "Cost", "curve of a count or size over one or more symbols") \
	X(inspect, LIGHT, "Weights", "tensors and attention layers of a checkpoint") \
	X(reconcile, LIGHT, "Weights", \
		"compare stored with expected tensors; exits 1 if they differ") \
	X(audit, FULL, "Weights", "measure how redundant a checkpoint's attention heads are") \
	X(pca, FULL, "Weights", "principal components of the outputs of attention heads") \
	X(calibrate, FULL, "Weights", "record statistics of attention inputs and outputs on text") \
	X(evaluate, FULL, "Weights", "loss on text, also without each head; embeddings") \
	X(shrink, FULL, "Weights", "write the smallest copy that loses no more than a limit") \
	X(compress, FULL, "Weights", "write a checkpoint with fewer attention parameters") \
	X(verify, FULL, "Weights", "compare a checkpoint and its compressed copy") \
	X(merge, FULL, "Weights", "combine shards of an audit, or calibrations of a model") \
	X(run, FULL, "Papers", "make a paper's tables and figures from a scenario") \
	X(check, LIGHT, "Papers", "check a paper's numbers; exits 1 on an unlisted error") \
	X(variants, LIGHT, "Papers", "tensors, formulas and growth of attention variants") \
	X(list, LIGHT, "Papers", "built-in models, variants, engines, devices, symbols ...")

#define DECLARE_COMMAND(name, program, group, summary) \
	extern const struct al_command al_command_##name;
COMMANDS(DECLARE_COMMAND)

/* ---- a session's life ---- */

/* A zeroed session. */
void al_session_begin(struct al_session *session);
void al_session_finish(struct al_session *session);

/* Reads the command's options from `words`, which NULL ends; with --help nothing else is read. */
bool al_session_read(struct al_session *session, const struct al_command *command, char **words,
	struct al_error *err) AL_MUST_CHECK;

/* Runs the command, whose answer is then in the session. */
bool al_session_run(struct al_session *session, const struct al_command *command, const char *name,
	struct al_error *err) AL_MUST_CHECK;

/* Keeps the tables of --only, and adds the answer's page, and the answer itself, to the files that
 * were asked for; to `out` where none was for the answer. */
bool al_session_render(struct al_session *session, const struct al_command *command,
	struct al_text *out, struct al_error *err) AL_MUST_CHECK;

/* Is a word in place of a command a model's, "MODEL" for "overview MODEL"? */
bool al_session_names_model(const char *word);

/* ---- what a command works with ---- */

/* The word of this number, from 0; NULL: there are fewer. */
const char *al_session_word(const struct al_session *session, size_t index);

/* Is the answer a text for a terminal, whose width it has to fit? */
bool al_session_is_on_terminal(const struct al_session *session);

/* Is the answer a text of one screen: on standard output, without an option that shows all? */
bool al_session_is_short(const struct al_session *session);

/* How an answer is written: by --format, else by the extension of --output's file, else as text. */
bool al_session_choose_writer(const struct al_output_options *output, const struct al_writer **out,
	struct al_error *err) AL_MUST_CHECK;

/* Sets the answer's file, for commands whose --output may be another file. */
bool al_session_answer_to(struct al_session *session, const char *file,
	struct al_error *err) AL_MUST_CHECK;

/* The answer in a sentence, from a template of al_claim_*'s placeholders; NULL: none. */
void al_session_claim(struct al_session *session, const char *pattern);

/* What the answer assumes beyond the defaults, and a command that leads on from it; both follow the
 * tables. */
void al_session_assume(struct al_session *session, const char *format, ...) AL_PRINTF(2, 3);
void al_session_next(struct al_session *session, const char *format, ...) AL_PRINTF(2, 3);

/* Is the option of "--device H100" given? */
bool al_session_is_given(const struct al_session *session, const char *option);

/* The same command as al_session_next of another question about the same words: with those of the
 * options given that `taken` has, and of `options`, such as "--device H100", those that aren't
 * among them; NULL: none. */
void al_session_next_question(struct al_session *session, const char *name,
	const struct al_option_group *taken, const char *const *options);

/* A new table of the answer, with the columns of the fields that `shown` asks for (NULL: none yet);
 * it belongs to the session. */
struct al_table *al_session_table(struct al_session *session, const char *id,
	const struct al_table_field *fields, unsigned shown, const char *title, ...)
	AL_PRINTF(5, 6);

/* The tables, for who reads them. */
#define AL_SESSION_TABLES(session) ((const struct al_table *const *)(session)->tables)

/* Takes a table over into the answer, where it is from then on. */
struct al_table *al_session_take(struct al_session *session, const struct al_table *table);

/* tables.c: leaves the tables of --only, and makes files of CSV of a folder's: fails where several
 * tables would be in one file. */
bool al_session_keep_tables(struct al_session *session, struct al_error *err) AL_MUST_CHECK;
bool al_session_split_csv(struct al_session *session, struct al_error *err) AL_MUST_CHECK;

/* The row of --report, for commands whose page is their tables. */
extern const struct al_option_row al_report_rows[];

/* The command line that gives all files of the answer again, without what changes none. */
const char *al_session_command_text(struct al_session *session);

/* Pieces of it, each behind a space: the options that `taken` has (NULL: all) but for the common
 * ones; where the answer's file is one, that and how it is written; and the words with options. */
const char *al_session_options_text(struct al_session *session,
	const struct al_option_group *taken);
const char *al_session_target_text(struct al_session *session);
const char *al_session_line_text(struct al_session *session, const char *options);

/* page.c: adds the page of the answer's tables, which `command` gives again, to the files. */
void al_session_add_page(struct al_session *session, const char *file,
	const struct al_page_chart *chart, const char *command);
