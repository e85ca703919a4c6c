/* overview: a model in five sentences, each of which is the claim of the command that it names.
 * `attnledger MODEL` is the same. */
#include "answer/request.h"
#include "answer/session.h"
#include "report/writer.h"

struct overview_options {
	struct al_output_options output;
	struct al_asked asked;
};

static const struct al_option_group setting_groups[] =
	{{al_setting_rows, offsetof(struct overview_options, asked)}, {NULL, 0}};
static const struct al_option_group groups[] = {OUTPUT_GROUPS,
	{al_setting_rows, offsetof(struct overview_options, asked)}, {NULL, 0}};

/* The questions about the model. */
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

/* A number or a name of a sentence, and the command whose answer has it. */
struct record {
	const char *question, *command;
	const struct al_answer_value *value;
};

static void get_quantity(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct record *r = record;

	al_cell_set_text(table, cell, r->value->name);
}

static void get_value(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct al_answer_value *value = ((const struct record *)record)->value;
	int digits;

	AL_EXACT(exact);
	if (!value->is_number)
		al_cell_set_text(table, cell, value->value);
	else if (!strpbrk(value->value, ".e") && al_exact_parse(value->value, exact, &digits))
		al_cell_set_exact(table, cell, exact);
	else
		al_cell_set_real(cell, strtod(value->value, NULL));
}

static void get_unit(struct al_table *table, struct al_cell *cell, const void *record)
{
	const struct record *r = record;

	al_cell_set_text(table, cell, r->value->unit);
}

static const struct al_table_field fields[] = {
	{AL_SHOW_KEY(struct record, question, "Question")},
	{AL_COLUMN_KEY("quantity", "Quantity"), .get = get_quantity},
	{AL_COLUMN_WHOLE("value", "Value"), .get = get_value},
	{{.key = "unit", .title = "Unit"}, .get = get_unit},
	{AL_SHOW(struct record, command, "Command")},
	AL_FIELDS_END,
};

/* The words behind the command's name: the model, --train, and the settings of `session`. */
static struct al_texts list_words(const struct al_session *session, const struct question *question,
	struct al_arena *arena)
{
	const struct al_texts settings = al_options_texts(setting_groups, session->options, arena);
	const char **words = al_new_array(arena, const char *, settings.n + 2);
	size_t n = 0;

	words[n++] = session->line.words[0];
	if (question->option)
		words[n++] = question->option;
	for (size_t i = 0; i < settings.n; i++)
		words[n++] = settings.items[i];
	return (struct al_texts){words, n};
}

static bool run_question(struct al_session *inner, const struct al_session *session,
	const struct question *question, struct al_error *err)
{
	const struct al_texts texts = list_words(session, question, &inner->arena);
	char **words = al_new_array(&inner->arena, char *, texts.n + 1);

	for (size_t i = 0; i < texts.n; i++)
		words[i] = al_strdup(&inner->arena, texts.items[i]);
	return al_session_read(inner, question->command, words, err)
		&& al_session_run(inner, question->command, question->words, err);
}

static const char *command_text(struct al_session *session, const struct question *question)
{
	struct al_arena *arena = &session->arena;
	const struct al_texts words = list_words(session, question, arena);
	const char *text = al_format(arena, "attnledger %s", question->words);

	for (size_t i = 0; i < words.n; i++)
		text = al_format(arena, "%s %s", text, al_shell_word(arena, words.items[i]));
	return text;
}

static const char *refusal(struct al_session *session, const struct question *question,
	const struct al_error *err)
{
	struct al_arena *arena = &session->arena;

	return al_format(arena, "`%s` can't answer: %s.",
		al_claim_name(arena, "command", command_text(session, question)),
		al_claim_name(arena, "reason", err->message));
}

static void copy_warnings(struct al_table *table, const struct al_session *from)
{
	for (size_t i = 0; i < from->n_tables; i++)
		for (size_t k = 0; k < from->tables[i]->n_warnings; k++)
			al_table_warn(table, "%s", from->tables[i]->notes[k]);
}

/* The claim's pattern, in the asker's arena; of what can't be answered why. */
static const char *ask(struct al_session *session, const struct question *question, bool *ok,
	struct al_error *err)
{
	struct al_session inner = {.style = {.command = question->words},
		.writer = session->writer,
		.caller = session->caller};

	al_session_begin(&inner);
	*ok = run_question(&inner, session, question, err);
	const char *pattern = *ok ? inner.claim.pattern : refusal(session, question, err);
	pattern = al_strdup(&session->arena, pattern ? pattern : "not known");
	copy_warnings(session->tables[0], &inner);
	if (question == &questions[N_QUESTIONS - 1] && inner.claim.n_next > 0)
		al_session_next(session, "%s", inner.claim.next[0]);
	al_session_finish(&inner);
	return pattern;
}

/* A row each value of a sentence, in their order; returns the sentence. */
static const char *add_values(struct al_session *session, const char *pattern,
	const struct question *question)
{
	struct al_claim claim = {0};

	al_claim_read(&claim, &session->arena, pattern);
	for (size_t i = 0; i < claim.n_values; i++)
		al_table_add_record(session->tables[0],
			&(struct record){question->name, command_text(session, question),
				&claim.values[i]});
	return claim.text;
}

/* The values of all sentences are the rows of the table, in their order. */
static void set_cells(struct al_claim *claim, const struct al_table *table)
{
	for (size_t i = 0; i < claim->n_values; i++) {
		claim->values[i].table = table->id;
		claim->values[i].key = "value";
		claim->values[i].row = i;
	}
}

/* Lines after a sentence's first are indented. */
static void add_sentence(struct al_session *session, const char *sentence)
{
	const size_t width = session->style.width ? session->style.width : AL_SCREEN_COLUMNS;

	al_text_add_wrapped(&session->rendered, sentence, 0, 2, width);
	al_text_add(&session->rendered, "\n");
}

/* Warnings and the next command, below the sentences. */
static void add_end(struct al_session *session, const struct al_table *table)
{
	AL_ARENA(arena);
	for (size_t i = 0; i < table->n_warnings; i++) {
		al_text_add(&session->rendered, i ? "" : "\n");
		add_sentence(session, al_printable(&arena, table->notes[i]));
	}
	if (session->claim.n_next > 0)
		al_text_addf(&session->rendered, "\nNext: %s\n", session->claim.next[0]);
}

/* Anything without parameters isn't a model: fail as `count` does. */
static bool run(struct al_session *session, struct al_error *err)
{
	struct al_table *table = al_session_table(session, "overview", fields, 0, "%s in brief",
		session->line.words[0]);
	const bool is_text = strcmp(session->writer->name, "text") == 0;
	const char *all = "";

	if (is_text)
		al_text_init(&session->rendered);
	for (int i = 0; i < N_QUESTIONS; i++) {
		bool ok;
		const char *pattern = ask(session, &questions[i], &ok, err);
		if (!ok && i == 0)
			return false;
		const char *sentence = add_values(session, pattern, &questions[i]);
		all = al_format(&session->arena, "%s%s%s", all, i ? " " : "", pattern);
		if (is_text)
			add_sentence(session, sentence);
	}
	al_session_claim(session, all);
	set_cells(&session->claim, table);
	if (is_text)
		add_end(session, table);
	return true;
}

const struct al_command al_command_overview = {
	.words = "MODEL",
	.examples = {"llama-3-8b", "llama-3-8b --seq 32k --batch 4"},
	.options = groups,
	.options_size = sizeof(struct overview_options),
	.has_formats = true,
	.run = run,
};
