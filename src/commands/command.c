/* The command line: finds the command, reads its arguments, prints its answer when all of it is
 * there. */
#include "commands/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/output.h"
#include "linalg/linalg.h"

#define COMMAND_POINTER(name) &command_##name,

static const struct command *const commands[] = {COMMANDS(COMMAND_POINTER)};
enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

/* ---- the answer ---- */

struct al_table *session_table(struct session *session, const char *id, const char *title)
{
	struct al_table table;

	al_table_init(&table, id, title);
	session_take(session, &table);
	return session->tables[session->n_tables - 1];
}

void session_take(struct session *session, const struct al_table *table)
{
	struct al_table *owned = al_new(&session->arena, struct al_table);

	*owned = *table;
	session->tables = al_grow(&session->arena, session->tables, session->n_tables,
		&session->tables_room, sizeof(struct al_table *));
	session->tables[session->n_tables++] = owned;
}

static void render(struct session *session, struct al_text *out)
{
	const struct al_table **tables = al_new_array(&session->arena, const struct al_table *,
		session->n_tables + 1);

	for (size_t i = 0; i < session->n_tables; i++)
		tables[i] = session->tables[i];
	if (session->raw)
		al_text_add(out, session->raw);
	else
		session->writer->write(&session->style, tables, session->n_tables, out);
}

/* A closed pipe is silent: who closed it doesn't want to hear. */
static bool print(const struct al_text *text, struct al_error *err)
{
	size_t written = fwrite(text->data, 1, text->length, stdout);

	if (written == text->length && fflush(stdout) == 0)
		return true;
	if (errno == EPIPE) {
		err->status = AL_ESYSTEM;
		err->message[0] = '\0';
		return false;
	}
	return al_fail(err, AL_ESYSTEM, "can't write to standard output: %s", strerror(errno));
}

static bool deliver(struct session *session, struct al_error *err)
{
	struct al_text text;

	if (session->prints_nothing)
		return true;
	al_text_init(&text);
	render(session, &text);
	bool to_file = session->output && !session->writes_files;
	bool ok = to_file ? al_file_write(session->output, text.data, text.length, err)
			  : print(&text, err);
	al_text_finish(&text);
	return ok;
}

/* ---- how it looks ---- */

static size_t terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col;
}

static bool choose_word(const struct arguments *arguments, enum option option, const char *what,
	const char *const *words, size_t n, int *out, struct al_error *err)
{
	const char *word = option_value(arguments, option, NULL);

	if (!word)
		return true;
	*out = al_find_name(word, words, n);
	return *out >= 0 || al_fail_unknown(err, what, word, words, n);
}

static bool choose_color(const struct arguments *arguments, bool *out, struct al_error *err)
{
	static const char *const words[] = {"auto", "always", "never"};
	const char *no_color = getenv("NO_COLOR");
	int found = 0;

	if (!choose_word(arguments, OPT_COLOR, "colour", words, 3, &found, err))
		return false;
	*out = found == 1 || (found == 0 && isatty(STDOUT_FILENO) && (!no_color || !*no_color));
	return true;
}

static bool choose_writer(struct session *session, struct al_error *err)
{
	const char *format = option_value(&session->arguments, OPT_FORMAT, NULL);

	if (format)
		return al_writer_find(format, &session->writer, err);
	bool has_extension = session->output && strchr(session->output, '.');
	if (session->output && !session->writes_files
		&& (has_extension || !al_output_is_direct(session->output)))
		return al_writer_for_file(session->output, &session->writer, err);
	return al_writer_find("text", &session->writer, err);
}

/* Without the option as many as there are cores. */
static bool choose_threads(const struct arguments *arguments, struct al_error *err)
{
	const char *text = option_value(arguments, OPT_THREADS, NULL);
	bool is_number = text && strspn(text, "0123456789") == strlen(text) && strlen(text) < 5;

	if (text && (!is_number || atoi(text) < 1))
		return al_fail(err, AL_EINPUT,
			"--threads %s: expected a whole number of at least 1", text);
	al_threads_set(text ? atoi(text) : 0);
	return true;
}

static bool choose_style(struct session *session, const struct command *command,
	struct al_error *err)
{
	static const char *const units[] = {"iec", "si", "raw"};
	int unit = -1;

	session->output = option_value(&session->arguments, OPT_OUTPUT, NULL);
	session->writes_files = command->takes_folder;
	session->style = (struct al_style){.width = terminal_width(), .command = command->name};
	if (!choose_word(&session->arguments, OPT_UNITS, "units", units, 3, &unit, err))
		return false;
	session->style.units = unit < 0 ? AL_UNITS_DEFAULT : (enum al_units)(AL_UNITS_IEC + unit);
	return choose_threads(&session->arguments, err)
		&& choose_color(&session->arguments, &session->style.color, err)
		&& choose_writer(session, err);
}

/* ---- help ---- */

static void help_command(const struct command *command, struct al_text *out)
{
	al_text_addf(out, "  attnledger %s\n  attnledger %s\n\n", command->examples[0],
		command->examples[1]);
	al_text_addf(out, "usage: attnledger %s [OPTION...] %s\n\n%s\n\n", command->name,
		command->words, command->summary);
	options_help(command->options, out);
}

static void help_all(struct al_text *out)
{
	al_text_add(out,
		"attnledger keeps the books of attention.\n\n"
		"usage: attnledger COMMAND [OPTION...] [ARGUMENT...]\n\n");
	for (int i = 0; i < N_COMMANDS; i++)
		al_text_addf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	al_text_add(out,
		"\nattnledger COMMAND --help begins with two examples. "
		"attnledger --version prints the version.\n");
}

/* ---- running ---- */

static bool check_words(const struct command *command, const struct arguments *arguments,
	struct al_error *err)
{
	if (arguments->n_words < command->least_words)
		return al_fail(err, AL_EINPUT, "expected %s; see attnledger %s --help",
			command->words, command->name);
	if (arguments->n_words > command->most_words)
		return al_fail(err, AL_EINPUT, "found \"%s\" behind %s; see attnledger %s --help",
			arguments->words[command->most_words], command->words, command->name);
	return true;
}

static bool run_command(struct session *session, const struct command *command, int argc,
	char **argv, struct al_error *err)
{
	if (!arguments_parse(&session->arena, argc, argv, command->options, &session->arguments,
		    err))
		return false;
	if (is_given(&session->arguments, OPT_HELP)) {
		struct al_text text;
		al_text_init(&text);
		help_command(command, &text);
		bool ok = print(&text, err);
		al_text_finish(&text);
		return ok;
	}
	return choose_style(session, command, err) && check_words(command, &session->arguments, err)
		&& command->run(session, err) && deliver(session, err);
}

static int report_error(const char *command, const struct al_error *err)
{
	if (err->message[0])
		fprintf(stderr, "attnledger%s%s: %s\n", command ? " " : "", command ? command : "",
			err->message);
	return (int)err->status;
}

static int run_session(const struct command *command, int argc, char **argv)
{
	struct session session = {0};
	struct al_error err = {.status = AL_ESYSTEM};

	al_arena_init(&session.arena);
	session.catalog = al_catalog_create();
	bool ok = run_command(&session, command, argc, argv, &err);
	for (size_t i = 0; i < session.n_tables; i++)
		al_table_finish(session.tables[i]);
	al_catalog_destroy(session.catalog);
	al_arena_finish(&session.arena);
	if (!ok)
		return report_error(command->name, &err);
	return session.answer_is_no ? AL_ENO : AL_OK;
}

static int print_and_exit(void (*fill)(struct al_text *))
{
	struct al_error err = {.status = AL_OK};
	struct al_text text;

	al_text_init(&text);
	fill(&text);
	bool ok = print(&text, &err);
	al_text_finish(&text);
	return ok ? AL_OK : report_error(NULL, &err);
}

static void add_version(struct al_text *out)
{
	al_text_addf(out, "attnledger %s\n", al_version());
}

static int fail_usage(const char *name)
{
	const char *names[N_COMMANDS];
	struct al_error err;

	for (int i = 0; i < N_COMMANDS; i++)
		names[i] = commands[i]->name;
	if (name && name[0] == '-')
		al_fail(&err, AL_EINPUT, "found \"%s\", expected a command before its options",
			name);
	else if (name)
		al_fail_unknown(&err, "command", name, names, N_COMMANDS);
	else
		al_fail(&err, AL_EINPUT, "expected a command; see attnledger --help");
	return report_error(NULL, &err);
}

/* OpenMP's threads spin between two products, and take half the machine from whoever shares it,
 * unless the environment says otherwise; the runtime reads that when it is loaded. So a command of
 * long work begins once more with the environment set. Where that can't be, it goes on as it is. */
static void wait_quietly(const struct command *command, char **argv)
{
	if (!command->uses_threads || getenv("OMP_WAIT_POLICY"))
		return;
	setenv("OMP_WAIT_POLICY", "passive", 0);
	execv("/proc/self/exe", argv);
}

int al_command_line(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
	signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of write */
#endif
	if (!name)
		return fail_usage(NULL);
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return print_and_exit(help_all);
	if (strcmp(name, "--version") == 0)
		return print_and_exit(add_version);
	for (int i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0) {
			wait_quietly(commands[i], argv);
			return run_session(commands[i], argc - 2, argv + 2);
		}
	return fail_usage(name);
}
