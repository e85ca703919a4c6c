/* Questions within another answer: reading and asking them. */
#include "answer/question.h"

/* The commands that answer with numbers. */
static const struct {
	const char *name;
	const struct al_command *command;
} commands[] = {
	{"count", &al_command_count},
	{"cache", &al_command_cache},
	{"memory", &al_command_memory},
	{"fit", &al_command_fit},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(*commands) };

/* The next word; NULL: there is none. */
static char *take_word(struct al_arena *arena, const char **rest)
{
	char quote = '\0';

	AL_TEXT(word);
	*rest += strspn(*rest, " \t\n");
	if (!**rest)
		return NULL;
	for (; **rest && (quote || !strchr(" \t\n", **rest)); (*rest)++) {
		const char c = **rest;
		if (c == quote || (!quote && (c == '\'' || c == '"')))
			quote = quote ? '\0' : c;
		else if (c == '\\' && quote != '\'' && (*rest)[1])
			al_text_addf(&word, "%c", *++*rest);
		else
			al_text_addf(&word, "%c", c);
	}
	return al_strdup(arena, word.data ? word.data : "");
}

/* The words of a command line as a shell takes them, ended by NULL: quotes and backslashes are
 * resolved. */
static char **split(struct al_arena *arena, const char *text)
{
	char **words = NULL, *word;
	size_t n = 0, room = 0;

	while ((word = take_word(arena, &text)))
		*AL_APPEND(arena, words, n, room) = word;
	*AL_APPEND(arena, words, n, room) = NULL;
	return words;
}

bool al_question_read(struct al_arena *arena, const char *text, struct al_question *out,
	struct al_error *err)
{
	char **words = split(arena, text), **cut = split(arena, text);
	const size_t at = *words && strcmp(*words, "attnledger") == 0;
	int n = 0;

	*out = (struct al_question){.text = text};
	if (!words[at])
		return al_fail(err, AL_EINPUT, "expected a question, such as \"cache gpt2\"");
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, words[at]) == 0) {
			out->name = commands[i].name;
			out->command = commands[i].command;
		}
	if (!out->command)
		return al_fail_unknown_item(err, "question", words[at], commands, N_COMMANDS,
			sizeof(*commands));
	out->words = words + at + 1;
	while (out->words[n])
		n++;
	return al_command_line_split(&out->line, arena, n, cut + at + 1, out->command->options,
		err);
}

static void finish_session(void *session)
{
	al_session_finish(session);
}

bool al_question_ask(struct al_arena *arena, const struct al_question *question, char **words,
	struct al_session **out, struct al_error *err)
{
	struct al_session *asked = *out = al_new(arena, struct al_session);

	al_session_begin(asked);
	al_arena_defer(arena, finish_session, asked);
	asked->style = (struct al_style){.command = question->name};
	return al_session_read(asked, question->command, words, err)
		&& al_session_run(asked, question->command, question->name, err);
}
