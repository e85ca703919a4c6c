/* overview: a model in five sentences, each of which is the claim of the command that it names.
 * `attnledger MODEL` is the same. */
#include "answer/session.h"

#include "report/page/page.h"

struct overview_options {
	struct al_output_options output;
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {NULL, 0}};

/* What is asked about the model. */
static const struct question {
	const char *name, *words; /* of the command line before and, behind a space, after MODEL */
	const char *option;
	const struct al_command *command;
} questions[] = {
	{"parameters", "count", NULL, &al_command_count},
	{"cache", "cache", NULL, &al_command_cache},
	{"running", "memory", NULL, &al_command_memory},
	{"training", "memory", "--train", &al_command_memory},
	{"fits", "fit", NULL, &al_command_fit},
};
enum { N_QUESTIONS = sizeof(questions) / sizeof(*questions) };

struct record {
	const char *question, *answer, *command;
};

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, question, "Question")},
	{AL_SHOW(struct record, answer, "Answer")},
	{AL_SHOW(struct record, command, "Command")},
	AL_FIELDS_END,
};

static bool run_question(struct al_session *session, const struct question *question, char *model,
	struct al_error *err)
{
	const struct al_command *command = question->command;
	char *option = question->option ? al_strdup(&session->arena, question->option) : NULL;
	char *argv[] = {model, option};
	struct al_output_options *options = al_arena_alloc(&session->arena, 1,
		command->options_size);

	session->options = session->output = options;
	return al_command_line_split(&session->line, &session->arena, option ? 2 : 1, argv,
		       command->options, err)
		&& al_command_line_read(&session->line, &session->arena, command->options, options,
			err)
		&& command->run(session, err);
}

/* The claim, in the asker's arena; of what can't be answered why. */
static const char *ask(struct al_session *session, const struct question *question,
	const char *model, bool *ok, struct al_error *err)
{
	struct al_session inner = {.catalog = al_catalog_create(),
		.style = {.command = question->words},
		.writer = session->writer};

	al_arena_init(&inner.arena);
	al_files_init(&inner.files);
	*ok = run_question(&inner, question, al_strdup(&inner.arena, model), err);
	const char *text = al_strdup(&session->arena,
		!*ok			   ? err->message
			: inner.claim.text ? inner.claim.text
					   : "not known");
	al_arena_settle(&inner.arena, NULL);
	for (size_t i = 0; i < inner.n_tables; i++)
		al_table_finish(inner.tables[i]);
	al_catalog_destroy(inner.catalog);
	al_files_finish(&inner.files);
	al_text_finish(&inner.rendered);
	al_arena_finish(&inner.arena);
	return text;
}

static const char *command_text(struct al_session *session, const struct question *question)
{
	return al_format(&session->arena, "attnledger %s %s%s%s", question->words,
		al_page_shell_word(&session->arena, session->line.words[0]),
		question->option ? " " : "", question->option ? question->option : "");
}

/* What has no parameters is no model: it fails as `count` does. */
static bool run(struct al_session *session, struct al_error *err)
{
	struct al_table *table = al_session_table(session, "overview", fields, 0, "%s in brief",
		session->line.words[0]);
	const bool is_text = strcmp(session->writer->name, "text") == 0;

	if (is_text)
		al_text_init(&session->rendered);
	for (int i = 0; i < N_QUESTIONS; i++) {
		struct record record = {.question = questions[i].name,
			.command = command_text(session, &questions[i])};
		bool ok;
		record.answer = ask(session, &questions[i], session->line.words[0], &ok, err);
		if (!ok && i == 0)
			return false;
		al_table_add_record(table, &record);
		if (is_text)
			al_text_addf(&session->rendered, "%s\n", record.answer);
	}
	al_session_claim(session, al_claim_cell(&session->arena, table, 0, "answer"));
	return true;
}

const struct al_command al_command_overview = {
	.words = "MODEL",
	.examples = {"llama-3-8b", "overview llama-3-8b -f json"},
	.options = groups,
	.options_size = sizeof(struct overview_options),
	.reads_weights = true,
	.run = run,
};
