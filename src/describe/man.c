/* Manual pages, as sources of scdoc. */
#include <string.h>

#include "describe/describe.h"

/* scdoc's marks in a text, and those that begin a line, are a text's own. */
static void add_text(struct al_text *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		if (strchr("\\*_<>#[]~", *p) || (p == text && strchr("-.,|", *p)))
			al_text_add(out, "\\");
		al_text_add_bytes(out, p, 1);
	}
}

static void add_exit_status(struct al_text *out)
{
	al_text_add(out,
		"# EXIT STATUS\n\n"
		"*0*\n\tthe answer is there\n\n"
		"*1*\n\tthe answer is no: a number contradicts, a checkpoint differs, nothing "
		"fits\n\n"
		"*2*\n\tthe input is wrong; one line on standard error says where\n\n"
		"*3*\n\tthe system refused: a file can't be written, memory is exhausted\n\n");
}

/* ---- a command ---- */

static void add_option(struct al_text *out, const struct al_option_row *row)
{
	struct al_text help;

	al_text_init(&help);
	al_option_help(row, &help);
	if (row->letter)
		al_text_addf(out, "*-%c*, ", row->letter);
	al_text_add(out, "*--");
	add_text(out, row->name);
	al_text_add(out, "*");
	if (row->argument) {
		al_text_add(out, " ");
		add_text(out, row->argument);
	}
	al_text_add(out, "\n\t");
	add_text(out, help.data);
	al_text_add(out, "\n\n");
	al_text_finish(&help);
}

static void add_examples(struct al_text *out, const struct al_command *command)
{
	al_text_add(out, "# EXAMPLES\n\n");
	for (size_t i = 0; i < 3 && command->examples[i]; i++) {
		al_text_add(out, "\tattnledger ");
		add_text(out, command->examples[i]);
		al_text_add(out, "\n\n");
	}
}

void al_describe_command(const struct al_described *described, struct al_text *out)
{
	const struct al_command *command = described->command;

	al_text_addf(out, "attnledger-%s(1)\n\n# NAME\n\nattnledger-%s - ", described->name,
		described->name);
	add_text(out, described->summary);
	al_text_addf(out, "\n\n# SYNOPSIS\n\n*attnledger %s* \\[OPTION...\\] ", described->name);
	add_text(out, command->words ? command->words : "");
	al_text_add(out, "\n\n");
	add_examples(out, command);
	al_text_add(out, "# OPTIONS\n\n");
	al_each_option (group, row, command->options)
		add_option(out, row);
	add_exit_status(out);
	al_text_add(out, "# SEE ALSO\n\n*attnledger*(1)\n");
}

/* ---- the tool ---- */

void al_describe_tool(struct al_text *out)
{
	al_text_add(out,
		"attnledger(1)\n\n# NAME\n\nattnledger - counts and audits attention\n\n"
		"# SYNOPSIS\n\n*attnledger* COMMAND \\[OPTION...\\] \\[ARGUMENT...\\]\n\n"
		"# DESCRIPTION\n\n"
		"attnledger counts the parameters, bytes and operations of attention variants and "
		"of whole models exactly, derives the tables and figures of papers from scenario "
		"files and checks what papers print, and measures how redundant the heads of a "
		"checkpoint are. It reads model presets, config.json files, safetensors, GGUF, "
		"PyTorch and NumPy files; it needs no network.\n\n# COMMANDS\n\n");
	for (size_t i = 0; i < al_n_described; i++) {
		al_text_addf(out, "*attnledger-%s*(1)\n\t", al_described[i].name);
		add_text(out, al_described[i].summary);
		al_text_add(out, "\n\n");
	}
	add_exit_status(out);
	al_text_add(out, "# SEE ALSO\n\n");
	for (size_t i = 0; i < al_n_described; i++)
		al_text_addf(out, "%s*attnledger-%s*(1)", i ? ", " : "", al_described[i].name);
	al_text_add(out, "\n");
}
