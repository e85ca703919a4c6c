/* The command line: finds the command, reads its arguments, prints its answer when all of it is
 * there. */
#include "commands/program.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/output.h"
#include "base/file.h"
#include "ledger/request/request.h"
#include "report/page/page.h"
#include "report/writer.h"

struct entry {
	const char *name, *group, *summary;
};

#define ENTRY(name, program, group, summary) {#name, group, summary},

static const struct entry commands[] = {COMMANDS(ENTRY)};
enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

extern const struct al_embedded_list al_embedded_help; /* help.json */

/* ---- the answer ---- */

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

/* On a terminal, what lies where now. */
static void say_written(struct al_session *session)
{
	const char *written = session->files.n > 0 ? al_files_text(&session->files) : NULL;

	if (written && isatty(STDERR_FILENO) && !session->output->is_quiet)
		fprintf(stderr, "attnledger: written: %s\n",
			al_printable(&session->arena, written));
}

/* What a pipe doesn't get: grep shall not miss it silently. */
static void tell_cut(const struct al_session *session)
{
	if (session->n_cut > 0 && !isatty(STDOUT_FILENO) && !session->output->is_quiet)
		fprintf(stderr, "attnledger: %zu more line%s: --details\n", session->n_cut,
			session->n_cut > 1 ? "s" : "");
}

/* Refuses -f value where no single number answers. */
static bool check_value(const struct al_session *session, struct al_error *err)
{
	return strcmp(session->writer->name, "value") != 0 || session->claim.lead
		|| al_fail(err, AL_EINPUT,
			"-f value: no single number answers this; use -f json or -f csv");
}

static bool deliver(struct al_session *session, const struct al_command *command,
	struct al_error *err)
{
	if (!check_value(session, err))
		return false;
	AL_TEXT(text);
	bool ok = al_session_render(session, command, &text, err)
		&& (session->files.n == 0 || al_files_write(&session->files, err))
		&& print(&text, err);
	if (ok) {
		tell_cut(session);
		say_written(session);
	}
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

static bool use_color(const struct al_output_options *output)
{
	const char *no_color = getenv("NO_COLOR");

	return output->color == 1
		|| (output->color == 0 && isatty(STDOUT_FILENO) && (!no_color || !*no_color));
}

static void choose_style(struct al_session *session, const char *command)
{
	const struct al_output_options *output = session->output;

	session->style = (struct al_style){
		.width = terminal_width(),
		.claim = &session->claim,
		.command = command,
		.units = output->units < 0 ? AL_UNITS_DEFAULT
					   : (enum al_units)(AL_UNITS_IEC + output->units),
		.color = use_color(output),
	};
}

/* ---- help ---- */

/* "  -h, -f, -o, --units: see ..." */
static void add_common(const struct al_command *command, struct al_text *out)
{
	const char *before = "  ";

	al_each_option (group, row, command->options)
		if (al_option_is_common(row)) {
			if (row->letter)
				al_text_addf(out, "%s-%c", before, row->letter);
			else
				al_text_addf(out, "%s--%s", before, row->name);
			before = ", ";
		}
	al_text_add(out, ": see attnledger help options\n");
}

/* How many there are; `out` NULL: they are counted alone. */
static size_t add_options(const struct al_command *command, bool is_advanced, struct al_text *out)
{
	size_t n = 0;

	al_each_option (group, row, command->options)
		if (row->is_advanced == is_advanced && !al_option_is_common(row)) {
			n++;
			if (out)
				al_option_add_help(row, out);
		}
	return n;
}

static bool print_help(const struct entry *entry, const struct al_command *command,
	struct al_error *err)
{
	AL_TEXT(out);
	al_text_addf(&out, "  attnledger %s\n  attnledger %s\n\n", command->examples[0],
		command->examples[1]);
	al_text_addf(&out, "usage: attnledger %s [OPTION...] %s\n\n", entry->name, command->words);
	al_help_add_wrapped(&out, entry->summary, 0);
	al_text_add(&out, "\n");
	add_options(command, false, &out);
	add_common(command, &out);
	if (add_options(command, true, NULL))
		al_text_addf(&out, "\nMore options: attnledger help %s advanced\n", entry->name);
	return print(&out, err);
}

static void add_overview(const struct al_json *topics, struct al_text *out)
{
	const char *group = "", *before = "help ";

	al_text_add(out, "usage: attnledger COMMAND [OPTION...] [ARGUMENT...]\n\n");
	for (int i = 0; i < N_COMMANDS; i++) {
		al_text_addf(out, "%-9s%-10s %s\n",
			strcmp(group, commands[i].group) == 0 ? "" : commands[i].group,
			commands[i].name, commands[i].summary);
		group = commands[i].group;
	}
	AL_TEXT(more);
	al_text_add(&more, "More: attnledger help COMMAND, ");
	al_json_each (topic, topics->root) {
		al_text_addf(&more, "%s%s", before, topic->key);
		before = ", ";
	}
	al_text_add(&more, "; attnledger --version");
	al_text_add(out, "\n");
	al_help_add_wrapped(out, more.data, 0);
}

/* Paragraphs are wrapped; a line that begins with a space stays as it is. */
static bool add_topic(const struct al_json *topics, const char *name, struct al_text *out,
	struct al_error *err)
{
	const struct al_item *topic = al_json_get(topics->root, name);
	struct al_names names;

	for (const struct al_item *line = topic ? topic->first->next : NULL; line;
		line = line->next)
		if (line->text[0] == ' ')
			al_text_addf(out, "%s\n", line->text);
		else
			al_help_add_wrapped(out, line->text, 0);
	if (strcmp(name, "options") == 0)
		al_each_option (group, row, al_common_options)
			al_option_add_help(row, out);
	if (topic)
		return true;
	al_names_init(&names);
	al_json_each (known, topics->root)
		al_names_add(&names, known->key);
	for (int i = 0; i < N_COMMANDS; i++)
		al_names_add(&names, commands[i].name);
	return al_names_fail(&names, "command or topic", name, err);
}

/* help.json has topics, each with its summary first; `topic` NULL: what there is to ask for. */
static bool add_help(const char *topic, struct al_text *out, struct al_error *err)
{
	const struct al_embedded *file = &al_embedded_help.files[0];
	AL_JSON(topics);

	if (!al_json_parse(&topics, file->name, file->text, file->length, err))
		return false;
	if (topic)
		return add_topic(&topics, topic, out, err);
	add_overview(&topics, out);
	return true;
}

/* ---- running ---- */

static bool run_command(struct al_session *session, const struct al_program *program, size_t index,
	char **argv, struct al_error *err)
{
	const struct al_command *command = program->commands[index];
	const struct entry *entry = &commands[index];

	if (!al_session_read(session, command, argv + 2, err))
		return false;
	if (session->output->wants_help)
		return print_help(entry, command, err);
	choose_style(session, entry->name);
	if (program->set_threads)
		program->set_threads((int)session->output->threads);
	return al_session_choose_writer(session->output, &session->writer, err)
		&& (!command->computed_with || !program->prepare || program->prepare(argv, err))
		&& al_session_run(session, command, entry->name, err)
		&& deliver(session, command, err);
}

static int report_error(const char *command, const struct al_error *err)
{
	if (err->message[0])
		fprintf(stderr, "attnledger%s%s: %s\n", command ? " " : "", command ? command : "",
			err->message);
	const bool is_input = err->status == AL_ENOTFINITE || err->status == AL_EFORMAT
		|| err->status == AL_EUNSET;

	return is_input ? AL_EINPUT : (int)err->status;
}

static int run_session(const struct al_program *program, size_t index, char **argv)
{
	struct al_session session = {0};
	struct al_error err = {.status = AL_ESYSTEM};

	al_overwrite_begin();
	al_session_begin(&session);
	session.draw = program->draw;
	bool ok = run_command(&session, program, index, argv, &err);
	al_session_finish(&session);
	al_overwrite_end();
	if (!ok && program->is_light && err.status == AL_EFORMAT
		&& program->commands[index]->has_formats)
		return al_exec_full(commands[index].name, argv);
	if (!ok)
		return report_error(commands[index].name, &err);
	return session.answer_is_no ? AL_ENO : AL_OK;
}

static int print_and_exit(const char *topic, bool wants_version)
{
	struct al_error err = {.status = AL_OK};

	AL_TEXT(text);
	if (wants_version)
		al_text_addf(&text, "attnledger %s\n", al_version());
	bool ok = (wants_version || add_help(topic, &text, &err)) && print(&text, &err);
	return ok ? AL_OK : report_error(topic ? "help" : NULL, &err);
}

static int run_named(const struct al_program *program, const char *name, char **argv);

/* "MODEL" is "overview MODEL". */
static int run_overview(const struct al_program *program, char **argv)
{
	static char name[] = "overview";
	char **longer;
	int n = 0;

	while (argv[n])
		n++;
	longer = al_alloc((size_t)n + 2, sizeof(*longer));
	longer[0] = argv[0];
	longer[1] = name;
	memcpy(longer + 2, argv + 1, (size_t)n * sizeof(*longer));
	const int status = run_named(program, name, longer);
	free(longer);
	return status;
}

static int run_named(const struct al_program *program, const char *name, char **argv)
{
	const struct entry *entry = AL_FIND(commands, N_COMMANDS, name);
	struct al_error err;

	if (entry)
		return program->commands[entry - commands]
			? run_session(program, (size_t)(entry - commands), argv)
			: al_exec_full(name, argv);
	if (al_session_names_model(name))
		return run_overview(program, argv);
	if (name[0] == '-')
		al_fail(&err, AL_EINPUT, "found \"%s\"; put the command before its options", name);
	else
		al_fail_unknown_item(&err, "command", name, commands, N_COMMANDS,
			sizeof(*commands));
	return report_error(NULL, &err);
}

/* "help compress advanced" */
static int print_advanced(const struct al_program *program, const struct entry *entry, char **argv)
{
	const struct al_command *command = program->commands[entry - commands];
	struct al_error err;

	if (!command)
		return al_exec_full("help", argv);
	AL_TEXT(out);
	al_text_addf(&out, "Further options of attnledger %s:\n", entry->name);
	if (!add_options(command, true, &out))
		al_text_add(&out, "  none\n");
	return print(&out, &err) ? AL_OK : report_error("help", &err);
}

/* "help audit" is "audit --help". */
static int help_with(const struct al_program *program, char *name, char **argv)
{
	const struct entry *entry = AL_FIND(commands, N_COMMANDS, name);
	char option[] = "--help";
	char *asked[] = {argv[0], name, option, NULL};

	if (entry && argv[3] && strcmp(argv[3], "advanced") == 0)
		return print_advanced(program, entry, argv);
	return entry ? run_named(program, name, asked) : print_and_exit(name, false);
}

int al_command_line(int argc, char **argv, const struct al_program *program)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	al_memory_guard(al_end_exhausted);
	signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
	signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error of write */
#endif
	if (argc > 2 && strcmp(name, "help") == 0)
		return help_with(program, argv[2], argv);
	const bool wants_version = name && strcmp(name, "--version") == 0;
	if (!name || wants_version || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0
		|| strcmp(name, "help") == 0)
		return print_and_exit(NULL, wants_version);
	return run_named(program, name, argv);
}
