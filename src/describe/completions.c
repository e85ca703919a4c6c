/* Completions: the commands, each one's options, the words that an option takes, and the names that
 * `list` knows. */
#include <string.h>

#include "describe/describe.h"

/* "(a b c)": an option's words. */
static void add_words(struct al_text *out, const char *before, const struct al_option_row *row,
	const char *after)
{
	al_text_add(out, before);
	for (size_t i = 0; i < row->n_words; i++)
		al_text_addf(out, "%s%s", i ? " " : "", row->words[i]);
	al_text_add(out, after);
}

/* Within single quotes; an apostrophe ends and begins them again. */
static void add_quoted(struct al_text *out, const char *text, const char *apostrophe,
	const char *escaped)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\'') {
			al_text_add(out, apostrophe);
			continue;
		}
		if (strchr(escaped, *p))
			al_text_add(out, "\\");
		al_text_add_bytes(out, p, 1);
	}
}

static void add_help(struct al_text *out, const struct al_option_row *row, const char *apostrophe,
	const char *escaped)
{
	struct al_text help;

	al_text_init(&help);
	al_option_help(row, &help);
	add_quoted(out, help.data, apostrophe, escaped);
	al_text_finish(&help);
}

/* "models and variants": a command that prints one name a line */
static void add_names(struct al_text *out, const struct al_topics *topics)
{
	for (size_t i = 0; topics->of[i]; i++)
		al_text_addf(out, "%sattnledger list %s -f csv 2>/dev/null | sed 1d | cut -d, -f1",
			i ? "; " : "", topics->of[i]);
}

/* ---- bash ---- */

static void add_bash_options(struct al_text *out, const struct al_command *command)
{
	al_each_option (group, row, command->options) {
		if (row->letter)
			al_text_addf(out, " -%c", row->letter);
		al_text_addf(out, " --%s", row->name);
	}
}

static void add_bash_value(struct al_text *out, const struct al_option_row *row)
{
	static const char *const how[] = {[AL_COMPLETE_ANY] = "-W ''",
		[AL_COMPLETE_FILE] = "-f",
		[AL_COMPLETE_FOLDER] = "-d"};
	const enum al_completion kind = al_completion(row);

	if (row->kind == OPTION_IS_FLAG)
		return;
	al_text_add(out, "\t\t");
	if (row->letter)
		al_text_addf(out, "-%c|", row->letter);
	al_text_addf(out, "--%s) COMPREPLY=($(compgen ", row->name);
	if (kind == AL_COMPLETE_WORDS)
		add_words(out, "-W '", row, "'");
	else
		al_text_add(out, how[kind]);
	al_text_add(out, " -- \"$word\")); return ;;\n");
}

static void add_bash_command(struct al_text *out, const struct al_described *described)
{
	const struct al_topics topics = al_command_topics(described->command);

	al_text_addf(out, "\t%s)\n\t\tcase $before in\n", described->name);
	al_each_option (group, row, described->command->options)
		add_bash_value(out, row);
	al_text_add(out, "\t\tesac\n\t\toptions='");
	add_bash_options(out, described->command);
	al_text_add(out, "'\n");
	if (topics.of[0]) {
		al_text_add(out, "\t\tnames=$(");
		add_names(out, &topics);
		al_text_add(out, ")\n");
	}
	al_text_add(out, "\t\t;;\n");
}

void al_describe_bash(struct al_text *out)
{
	al_text_add(out,
		"# bash completion of attnledger\n"
		"_attnledger()\n{\n"
		"\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tlocal options= names=\n"
		"\tcompopt -o filenames\n"
		"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W 'help");
	for (size_t i = 0; i < al_n_described; i++)
		al_text_addf(out, " %s", al_described[i].name);
	al_text_add(out,
		"' -- \"$word\"))\n\t\treturn\n\tfi\n"
		"\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; i < al_n_described; i++)
		add_bash_command(out, &al_described[i]);
	al_text_add(out,
		"\tesac\n"
		"\tcase $word in\n"
		"\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
		"\t*) COMPREPLY=($(compgen -W \"$names\" -- \"$word\") $(compgen -f -- \"$word\")) "
		";;\n"
		"\tesac\n}\ncomplete -F _attnledger attnledger\n");
}

/* ---- zsh ---- */

/* '(-f --format)'{-f,--format}'[text]:NAME:(a b)' */
static void add_zsh_option(struct al_text *out, const struct al_option_row *row)
{
	static const char *const how[] = {[AL_COMPLETE_ANY] = "",
		[AL_COMPLETE_FILE] = "_files",
		[AL_COMPLETE_FOLDER] = "_files -/"};
	const enum al_completion kind = al_completion(row);

	al_text_add(out, " \\\n\t\t\t");
	if (row->letter)
		al_text_addf(out, "{-%c,--%s}", row->letter, row->name);
	else
		al_text_addf(out, "'%s--%s'", row->kind == OPTION_IS_LIST ? "*" : "", row->name);
	al_text_add(out, "'[");
	add_help(out, row, "'\\''", "[]:\\");
	al_text_add(out, "]");
	if (row->kind != OPTION_IS_FLAG) {
		al_text_add(out, ":");
		add_quoted(out, row->argument ? row->argument : "", "'\\''", "[]:\\");
		al_text_add(out, ":");
	}
	if (kind == AL_COMPLETE_WORDS)
		add_words(out, "(", row, ")");
	else
		al_text_add(out, how[kind]);
	al_text_add(out, "'");
}

static void add_zsh_command(struct al_text *out, const struct al_described *described)
{
	const struct al_topics topics = al_command_topics(described->command);

	al_text_addf(out, "\t%s)\n", described->name);
	if (topics.of[0]) {
		al_text_add(out, "\t\tnames=(${(f)\"$(");
		add_names(out, &topics);
		al_text_add(out, ")\"})\n");
	}
	al_text_add(out, "\t\t_arguments");
	al_each_option (group, row, described->command->options)
		add_zsh_option(out, row);
	al_text_add(out, " \\\n\t\t\t'*:argument:_attnledger_words'\n\t\t;;\n");
}

void al_describe_zsh(struct al_text *out)
{
	al_text_add(out,
		"#compdef attnledger\n\n"
		"_attnledger_words() {\n\tcompadd -a names\n\t_files\n}\n\n"
		"_attnledger() {\n"
		"\tlocal -a commands names\n"
		"\tcommands=(\n");
	for (size_t i = 0; i < al_n_described; i++) {
		al_text_addf(out, "\t\t'%s:", al_described[i].name);
		add_quoted(out, al_described[i].summary, "'\\''", ":\\");
		al_text_add(out, "'\n");
	}
	al_text_add(out,
		"\t)\n"
		"\tif (( CURRENT == 2 )); then\n"
		"\t\t_describe command commands\n\t\treturn\n\tfi\n"
		"\tshift words\n\t(( CURRENT-- ))\n"
		"\tcase $words[1] in\n");
	for (size_t i = 0; i < al_n_described; i++)
		add_zsh_command(out, &al_described[i]);
	al_text_add(out, "\tesac\n}\n\n_attnledger \"$@\"\n");
}

/* ---- fish ---- */

static void add_fish_option(struct al_text *out, const char *command,
	const struct al_option_row *row)
{
	const enum al_completion kind = al_completion(row);

	al_text_addf(out, "complete -c attnledger -n '__fish_seen_subcommand_from %s' -l %s",
		command, row->name);
	if (row->letter)
		al_text_addf(out, " -s %c", row->letter);
	if (row->kind != OPTION_IS_FLAG)
		al_text_add(out,
			kind == AL_COMPLETE_FILE ? " -r -F"
				: kind == AL_COMPLETE_FOLDER
				? " -x -a '(__fish_complete_directories)'"
				: " -x");
	if (kind == AL_COMPLETE_WORDS)
		add_words(out, " -a '", row, "'");
	al_text_add(out, " -d '");
	add_help(out, row, "\\'", "\\");
	al_text_add(out, "'\n");
}

static void add_fish_command(struct al_text *out, const struct al_described *described)
{
	const struct al_topics topics = al_command_topics(described->command);

	al_text_addf(out, "complete -c attnledger -n __fish_use_subcommand -x -a %s -d '",
		described->name);
	add_quoted(out, described->summary, "\\'", "\\");
	al_text_add(out, "'\n");
	if (topics.of[0]) {
		al_text_addf(out,
			"complete -c attnledger -n '__fish_seen_subcommand_from %s' -a '(",
			described->name);
		add_names(out, &topics);
		al_text_add(out, ")'\n");
	}
	al_each_option (group, row, described->command->options)
		add_fish_option(out, described->name, row);
}

void al_describe_fish(struct al_text *out)
{
	al_text_add(out, "# fish completion of attnledger\n");
	for (size_t i = 0; i < al_n_described; i++)
		add_fish_command(out, &al_described[i]);
}
