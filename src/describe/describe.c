/* Describes the command line on standard output, as JSON made of the tables of commands and
 * options: tools/describe makes manual pages, completions for shells and the functions of Python of
 * it. The build alone needs both. */

#include "base/json.h"
#include "answer/session.h"

static void add_text(struct al_text *out, const char *key, const char *text)
{
	al_text_addf(out, "\"%s\": ", key);
	al_json_quote(out, text);
	al_text_add(out, ", ");
}

static void add_texts(struct al_text *out, const char *key, const char *const *texts, size_t n)
{
	al_text_addf(out, "\"%s\": [", key);
	for (size_t i = 0; i < n && texts[i]; i++) {
		al_text_add(out, i ? ", " : "");
		al_json_quote(out, texts[i]);
	}
	al_text_add(out, "]");
}

static const char *const kinds[] = {
	[OPTION_IS_FLAG] = "flag",
	[OPTION_IS_TEXT] = "text",
	[OPTION_IS_LIST] = "list",
	[OPTION_IS_COUNT] = "count",
	[OPTION_IS_CHOICE] = "choice",
	[OPTION_IS_SET] = "set",
};

/* What an option is that isn't given; null: nothing. */
static void add_default(struct al_text *out, const struct al_option_row *row)
{
	al_text_add(out, "\"default\": ");
	if (row->kind == OPTION_IS_TEXT && row->text)
		al_json_quote(out, row->text);
	else if (row->kind == OPTION_IS_CHOICE && row->fallback >= 0)
		al_json_quote(out, row->words[row->fallback]);
	else if (row->kind == OPTION_IS_COUNT && row->fallback != 0)
		al_text_addf(out, "%" PRId64, row->fallback);
	else
		al_text_add(out, "null");
	al_text_add(out, ", ");
}

static void add_option(struct al_text *out, const struct al_option_row *row)
{
	AL_TEXT(help);
	al_option_help(row, &help);
	al_text_add(out, "\t{");
	add_text(out, "name", row->name);
	add_text(out, "letter", (const char[]){row->letter, '\0'});
	add_text(out, "kind", kinds[row->kind]);
	add_text(out, "argument", row->argument ? row->argument : "");
	add_text(out, "help", help.data);
	add_default(out, row);
	al_text_addf(out, "\"is_common\": %s, \"is_required\": %s, ",
		al_option_is_common(row) ? "true" : "false", row->is_required ? "true" : "false");
	add_texts(out, "words", row->words, row->n_words);
	al_text_add(out, "}");
}

static void add_command(struct al_text *out, const char *name, const char *summary,
	const struct al_command *command)
{
	size_t n = 0;

	al_text_add(out, "{");
	add_text(out, "name", name);
	add_text(out, "summary", summary);
	add_text(out, "words", command->words);
	add_texts(out, "examples", command->examples, 3);
	al_text_add(out, ", \"options\": [\n");
	al_each_option (group, row, command->options) {
		al_text_add(out, n++ ? ",\n" : "");
		add_option(out, row);
	}
	al_text_add(out, "]}");
}

#define ADD_COMMAND(name, program, group, summary) \
	al_text_add(&out, out.length > 1 ? ",\n" : ""); \
	add_command(&out, #name, summary, &al_command_##name);

int main(void)
{
	AL_TEXT(out);
	al_text_add(&out, "[");
	COMMANDS(ADD_COMMAND)
	al_text_add(&out, "]\n");
	const bool ok = fputs(out.data, stdout) >= 0 && fflush(stdout) == 0;
	return ok ? 0 : 3;
}
