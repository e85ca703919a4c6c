/* A session: what every command takes, and the tables of its answer. */
#include "answer/session.h"

#include "base/output.h"
#include "ledger/request/request.h"

/* ---- options of every command ---- */

static const char *const unit_words[] = {"iec", "si", "raw", "exact"};
static const char *const color_words[] = {"auto", "always", "never"};

const struct al_option_row al_format_rows[] = {
	OPTION_FLAG(struct al_output_options, wants_help, "help", "print this help", .letter = 'h'),
	OPTION_TEXT(struct al_output_options, format, "format", "NAME",
		"text, json, csv, latex, markdown, or value (only the main number)", .letter = 'f'),
	OPTION_END,
};

const struct al_option_row al_output_rows[] = {
	OPTION_TEXT(struct al_output_options, file, "output", "FILE",
		"write to FILE, in the format of its extension; several CSV tables need FOLDER/",
		.letter = 'o'),
	OPTION_END,
};

const struct al_option_row al_display_rows[] = {
	OPTION_FLAG(struct al_output_options, wants_details, "details",
		"show all rows, tables and notes (default: one screen)", .shows_all = true),
	OPTION_CHOICE(struct al_output_options, units, "units", "NAME",
		"units in text tables: iec (KiB), si (kB), raw (plain number) or exact (thousands "
		"separators); default: bytes in iec, counts exact",
		.words = unit_words, .n_words = 4, .fallback = -1),
	OPTION_CHOICE(struct al_output_options, color, "color", "WHEN",
		"use color: auto, always or never", .words = color_words, .n_words = 3,
		.noun = "color"),
	OPTION_FLAG(struct al_output_options, is_quiet, "quiet", "print no progress and no notices",
		.letter = 'q'),
	OPTION_COUNT(struct al_output_options, threads, "threads", "N",
		"use at most N threads (results do not depend on N)", .least = 1, .most = 9999),
	OPTION_END,
};

const struct al_option_row al_only_rows[] = {
	OPTION_TEXT(struct al_output_options, only, "only", "A,B", "print only these tables",
		.shows_all = true),
	OPTION_END,
};

const struct al_option_row al_report_rows[] = {
	OPTION_TEXT(struct al_output_options, report, "report", "FILE.html",
		"also write the result as a self-contained HTML page"),
	OPTION_END,
};

/* ---- the command, as it would be given again ---- */

const struct al_option_group al_common_options[] = {OUTPUT_GROUPS, {NULL, 0}};

bool al_option_is_common(const struct al_option_row *row)
{
	al_each_option (group, common, al_common_options)
		if (common == row)
			return true;
	return false;
}

/* Is the option for the next question, too? A page is of one answer. */
static bool takes(const struct al_option_group *groups, const struct al_option_row *wanted)
{
	al_each_option (group, row, groups)
		if (row == wanted)
			return row != al_report_rows;
	return false;
}

/* Behind options where a word would be one. */
const char *al_session_line_text(struct al_session *session, const char *options)
{
	bool has_dash = false;

	AL_TEXT(words);
	for (size_t i = 0; i < session->line.n_words; i++) {
		const char *word = session->line.words[i];
		has_dash |= word[0] == '-' && word[1];
		al_text_addf(&words, " %s", al_shell_word(&session->arena, word));
	}
	return has_dash ? al_format(&session->arena, "%s --%s", options, words.data)
			: al_format(&session->arena, "%s%s", words.data, options);
}

const char *al_session_options_text(struct al_session *session, const struct al_option_group *taken)
{
	AL_TEXT(text);
	for (size_t i = 0; i < session->line.n_given; i++) {
		const struct al_given_option *given = &session->line.given[i];
		if (al_option_is_common(given->row) || (taken && !takes(taken, given->row)))
			continue;
		al_text_addf(&text, " --%s", given->row->name);
		if (given->value)
			al_text_addf(&text, " %s", al_shell_word(&session->arena, given->value));
	}
	return al_strdup(&session->arena, text.data);
}

const char *al_session_target_text(struct al_session *session)
{
	const struct al_output_options *output = session->output;

	if (!output->file)
		return "";
	AL_TEXT(text);
	al_text_addf(&text, " --output %s", al_shell_word(&session->arena, output->file));
	if (output->format)
		al_text_addf(&text, " --format %s", output->format);
	if (output->units >= 0)
		al_text_addf(&text, " --units %s", unit_words[output->units]);
	return al_strdup(&session->arena, text.data);
}

const char *al_session_command_text(struct al_session *session)
{
	struct al_arena *arena = &session->arena;
	const char *only = session->output->only;
	const char *options = al_format(arena, "%s%s%s%s", al_session_options_text(session, NULL),
		only ? " --only " : "", only ? al_shell_word(arena, only) : "",
		al_session_target_text(session));

	return al_format(arena, "attnledger %s%s", session->style.command,
		al_session_line_text(session, options));
}

/* ---- the answer ---- */

const char *al_session_word(const struct al_session *session, size_t index)
{
	return index < session->line.n_words ? session->line.words[index] : NULL;
}

bool al_session_is_on_terminal(const struct al_session *session)
{
	return session->style.width > 0 && !session->output->file
		&& strcmp(session->writer->name, "text") == 0;
}

bool al_session_is_short(const struct al_session *session)
{
	if (session->output->file || !session->writer->write_short)
		return false;
	for (size_t i = 0; i < session->line.n_given; i++)
		if (session->line.given[i].row->shows_all)
			return false;
	return true;
}

void al_session_claim(struct al_session *session, const char *pattern)
{
	al_claim_read(&session->claim, &session->arena, pattern);
}

void al_session_assume(struct al_session *session, const char *format, ...)
{
	struct al_claim *claim = &session->claim;
	va_list args;

	va_start(args, format);
	*AL_APPEND(&session->arena, claim->assumptions, claim->n_assumptions,
		claim->assumptions_room) = al_format_list(&session->arena, format, args);
	va_end(args);
}

void al_session_next(struct al_session *session, const char *format, ...)
{
	struct al_claim *claim = &session->claim;
	va_list args;

	va_start(args, format);
	*AL_APPEND(&session->arena, claim->next, claim->n_next,
		claim->next_room) = al_format_list(&session->arena, format, args);
	va_end(args);
}

/* Of "--device H100"? */
static bool is_row_of(const struct al_option_row *row, const char *option)
{
	const char *name = option + strlen("--");
	const size_t length = strcspn(name, " ");

	return strlen(row->name) == length && strncmp(row->name, name, length) == 0;
}

bool al_session_is_given(const struct al_session *session, const char *option)
{
	for (size_t i = 0; i < session->line.n_given; i++)
		if (is_row_of(session->line.given[i].row, option))
			return true;
	return false;
}

/* Is the option of "--device H100" among those that `taken` carries over? */
static bool is_carried(const struct al_session *session, const char *option,
	const struct al_option_group *taken)
{
	al_each_option (group, row, taken)
		if (is_row_of(row, option) && al_command_line_has(&session->line, row))
			return true;
	return false;
}

void al_session_next_question(struct al_session *session, const char *name,
	const struct al_option_group *taken, const char *const *options)
{
	const char *text = al_session_options_text(session, taken);

	for (; options && *options; options++)
		if (!is_carried(session, *options, taken))
			text = al_format(&session->arena, "%s %s", text, *options);
	al_session_next(session, "attnledger %s%s", name, al_session_line_text(session, text));
}

struct al_table *al_session_take(struct al_session *session, const struct al_table *table)
{
	struct al_table *owned = al_new(&session->arena, struct al_table);

	*owned = *table;
	*AL_APPEND(&session->arena, session->tables, session->n_tables,
		session->tables_room) = owned;
	return owned;
}

struct al_table *al_session_table(struct al_session *session, const char *id,
	const struct al_table_field *fields, unsigned shown, const char *title, ...)
{
	struct al_table table;
	va_list args;

	va_start(args, title);
	al_table_init(&table, id, al_format_list(&session->arena, title, args));
	va_end(args);
	if (fields)
		al_table_add_fields(&table, fields, shown);
	return al_session_take(session, &table);
}

/* ---- where it goes ---- */

/* A pipe or a device without an extension gets text. */
bool al_session_choose_writer(const struct al_output_options *output, const struct al_writer **out,
	struct al_error *err)
{
	const char *file = output->file;

	if (output->format)
		return al_writer_find(output->format, out, err);
	if (file && (strchr(file, '.') || !al_output_is_direct(file)))
		return al_writer_for_file(file, out, err);
	return al_writer_find("text", out, err);
}

bool al_session_answer_to(struct al_session *session, const char *file, struct al_error *err)
{
	struct al_output_options *output = al_new(&session->arena, struct al_output_options);

	*output = *session->output;
	output->file = file;
	session->output = output;
	return al_session_choose_writer(output, &session->writer, err);
}

/* ---- a session's life ---- */

/* Those in brackets may be missing, those with dots may be many. */
static bool check_words(const char *name, const char *words, const struct al_command_line *line,
	struct al_error *err)
{
	size_t least = 0, most = 0;

	for (const char *word = words; *word; word += strspn(word, " ")) {
		least += *word != '[';
		most++;
		word += strcspn(word, " ");
	}
	if (line->n_words < least)
		return al_fail(err, AL_EINPUT, "expected %s; see attnledger %s --help", words,
			name);
	return line->n_words <= most || strstr(words, "...")
		|| al_fail(err, AL_EINPUT, "found \"%s\" after %s; see attnledger %s --help",
			line->words[most], words, name);
}

static bool check_required(const char *name, const struct al_command *command,
	const struct al_command_line *line, struct al_error *err)
{
	al_each_option (group, row, command->options)
		if (row->is_required && !al_command_line_has(line, row))
			return al_fail(err, AL_EINPUT, "pass -%c %s; see attnledger %s --help",
				row->letter, row->argument, name);
	return true;
}

/* With --help, help is printed whatever else is given. */
bool al_session_read(struct al_session *session, const struct al_command *command, char **words,
	struct al_error *err)
{
	int argc = 0;

	while (words[argc])
		argc++;
	struct al_command_line *line = &session->line;
	struct al_output_options *options = al_arena_alloc(&session->arena, 1,
		command->options_size);

	if (!al_command_line_split(line, &session->arena, argc, words, command->options, err))
		return false;
	session->options = session->output = options;
	options->wants_help = al_command_line_has(line, &al_format_rows[0]);
	return options->wants_help
		|| al_command_line_read(line, &session->arena, command->options, options, err);
}

bool al_session_run(struct al_session *session, const struct al_command *command, const char *name,
	struct al_error *err)
{
	if (!check_words(name, command->words, &session->line, err)
		|| !check_required(name, command, &session->line, err))
		return false;
	const bool ok = command->run(session, err);

	/* what was deferred is done before the answer is printed */
	al_arena_settle(&session->arena, NULL);
	return ok;
}

/* Leaves the first lines; returns how many more there are. */
static size_t cut_lines(struct al_text *text, size_t n_lines)
{
	char *end = text->data;
	size_t n_more = 0;

	for (size_t i = 0; i + 2 < n_lines && end; i++)
		if ((end = strchr(end, '\n')))
			end++;
	for (const char *rest = end; rest && (rest = strchr(rest, '\n')); rest++)
		n_more++;
	if (n_more <= 2)
		return 0;
	text->length = (size_t)(end - text->data);
	*end = '\0';
	al_text_addf(text, "... %zu more lines\nMore: --details\n", n_more);
	return n_more;
}

/* What the answer was asked with, but for how it looks. */
static const char **list_arguments(struct al_session *session)
{
	const struct al_command_line *line = &session->line;
	const char **all = al_new_array(&session->arena, const char *,
		line->n_words + 2 * line->n_given + 1);
	size_t n = 0;

	for (size_t i = 0; i < line->n_words; i++)
		all[n++] = line->words[i];
	for (size_t i = 0; i < line->n_given; i++) {
		const struct al_given_option *given = &line->given[i];
		if (al_option_is_common(given->row))
			continue;
		all[n++] = al_format(&session->arena, "--%s", given->row->name);
		if (given->value)
			all[n++] = given->value;
	}
	return all;
}

static void render(struct al_session *session, const struct al_command *command,
	struct al_text *out)
{
	const bool is_short = al_session_is_short(session);

	if (!session->style.arguments)
		session->style.arguments = list_arguments(session);
	if (command->computed_with)
		session->style.computed_with = command->computed_with(&session->arena);
	session->style.lines = is_short ? AL_SCREEN_LINES : 0;
	if (session->rendered.data) {
		if (is_short)
			session->n_cut = cut_lines(&session->rendered, AL_SCREEN_LINES);
		al_text_finish(out);
		*out = session->rendered;
		session->rendered = (struct al_text){0};
	} else
		session->n_cut = al_write(session->writer, &session->style,
			AL_SESSION_TABLES(session), session->n_tables, out);
}

bool al_session_render(struct al_session *session, const struct al_command *command,
	struct al_text *out, struct al_error *err)
{
	const bool is_csv = strcmp(session->writer->name, "csv") == 0;

	if ((session->output->only && !al_session_keep_tables(session, err))
		|| (is_csv && !al_session_split_csv(session, err)))
		return false;
	const char *file = session->output->file;
	if (session->output->report)
		al_session_add_page(session, session->output->report, command->chart,
			al_session_command_text(session));
	if (!session->prints_nothing)
		render(session, command, file ? al_files_add_path(&session->files, file) : out);
	return true;
}

void al_session_begin(struct al_session *session)
{
	al_arena_init(&session->arena);
	session->files = (struct al_files){.arena = &session->arena};
	session->catalog = al_catalog_create();
}

void al_session_finish(struct al_session *session)
{
	for (size_t i = 0; i < session->n_tables; i++)
		al_table_finish(session->tables[i]);
	al_catalog_destroy(session->catalog);
	if (session->files.n > 0 || session->files.aside.is_open)
		al_files_finish(&session->files);
	al_text_finish(&session->rendered);
	al_arena_finish(&session->arena);
}

/* What has digits, dots or slashes can only be one: no command has. */
bool al_session_names_model(const char *word)
{
	return word[0] != '-' && (strpbrk(word, "0123456789./") || al_request_names_model(word));
}
