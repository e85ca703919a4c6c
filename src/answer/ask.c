/* A question in the words of the command line, and its answer as data. */
#include "answer/ask.h"

#include "base/file.h"
#include "base/mount.h"
#include "formats/arrays.h"
#include "report/writer.h"

struct al_answer {
	struct al_session session;
	struct al_watch caller;
	struct al_mount mount; /* what was given, until it was answered, and what was written */
	struct al_text printed, screen, json; /* the last two: data NULL: not written yet */
};

#define NAME(name, ...) {#name},

static const struct {
	const char *name;
} names[] = {COMMANDS(NAME)};
enum { N_NAMES = sizeof(names) / sizeof(*names) };

/* ---- asking ---- */

static bool find(const struct al_command *const *commands, const char *name, size_t *out,
	struct al_error *err)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (strcmp(name, names[i].name) == 0) {
			*out = i;
			return commands[i]
				|| al_fail(err, AL_EINPUT,
					"%s needs the full library: link attnledger instead of the "
					"light one",
					name);
		}
	return al_fail_unknown_item(err, "command", name, names, N_NAMES, sizeof(*names));
}

/* The words' own copies: options are cut out of them. */
static char **copy_words(struct al_arena *arena, size_t n, const char *const *words)
{
	char **copies = al_new_array(arena, char *, n + 1);

	for (size_t i = 0; i < n; i++)
		copies[i] = al_strdup(arena, words[i]);
	return copies;
}

static bool has_page(const struct al_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (al_ends_with(files->items[i].path, ".html"))
			return true;
	return false;
}

static bool answer(struct al_session *session, const struct al_command *command, const char *name,
	char **words, struct al_text *printed, struct al_error *err)
{
	session->style = (struct al_style){.command = name, .claim = &session->claim};
	if (!al_session_read(session, command, words, err)
		|| !al_session_choose_writer(session->output, &session->writer, err))
		return false;
	if (session->output->wants_help)
		return al_fail(err, AL_EINPUT, "--help: use the program for help");
	if (!al_session_run(session, command, name, err))
		return false;
	al_text_init(printed);
	if (!al_session_render(session, command, printed, err))
		return false;
	if (session->page && session->n_tables > 0 && !has_page(&session->files))
		al_session_add_page(session, session->page, command->chart,
			al_session_command_text(session));
	return al_files_write(&session->files, err);
}

/* ---- what is given in memory ---- */

static bool check_name(const char *name, struct al_error *err)
{
	if (!name || !*name)
		return al_fail(err, AL_EINPUT, "what is in memory has no name");
	return !(al_mount_find(name) || al_mount_has_folder(name))
		|| al_fail(err, AL_EINPUT, "%s: is given twice", name);
}

static bool give_file(const struct al_bytes *file, struct al_error *err)
{
	struct al_mount *mount = al_mount_now();

	if (!check_name(file->name, err))
		return false;
	if (!file->data && file->length > 0)
		return al_fail(err, AL_EINPUT, "%s: its bytes are NULL", file->name);
	al_mounted_add(mount, al_mount_add(mount, file->name), file->data, file->length);
	return true;
}

static bool give(const struct al_ask_options *o, struct al_error *err)
{
	for (size_t i = 0; i < o->n_checkpoints; i++)
		if (!check_name(o->checkpoints[i].name, err)
			|| !al_arrays_mount(&o->checkpoints[i], err))
			return false;
	for (size_t i = 0; i < o->n_files; i++)
		if (!give_file(&o->files[i], err))
			return false;
	return true;
}

/* What was given is the caller's, and isn't read any more. */
static void forget_given(struct al_mount *mount)
{
	size_t n = 0;

	for (size_t i = 0; i < mount->n; i++)
		if (mount->items[i]->path && mount->items[i]->content.data)
			mount->items[n++] = mount->items[i];
		else
			al_text_finish(&mount->items[i]->content);
	mount->n = n;
}

/* ---- the question ---- */

static bool ask(struct al_answer *a, const struct al_command *const *commands, size_t n_words,
	const char *const *words, const struct al_ask_options *options, struct al_error *err)
{
	size_t index = 0;

	for (size_t i = 0; i < n_words; i++)
		if (!words[i])
			return al_fail(err, AL_EINPUT, "word %zu is NULL", i);
	if (n_words == 0)
		return al_fail(err, AL_EINPUT, "no command given");
	if (options && !give(options, err))
		return false;
	const bool is_model = al_session_names_model(words[0]);
	return find(commands, is_model ? "overview" : words[0], &index, err)
		&& answer(&a->session, commands[index], names[index].name,
			copy_words(&a->session.arena, n_words - !is_model, words + !is_model),
			&a->printed, err);
}

bool al_ask_of(const struct al_abilities *library, size_t n_words, const char *const *words,
	const struct al_ask_options *options, struct al_answer **out, struct al_error *err)
{
	struct al_error unread;
	struct al_mount *before = al_mount_now();
	struct al_answer *a = al_alloc(1, sizeof(*a));

	*a = (struct al_answer){0};
	if (options) {
		a->caller = (struct al_watch){options->progress, options->context};
		a->session.page = options->page;
	}
	a->session.caller = &a->caller;
	al_session_begin(&a->session);
	a->session.draw = library->draw;
	al_mount_init(&a->mount);
	al_mount_set(&a->mount);
	const bool ok = ask(a, library->commands, n_words, words, options, err ? err : &unread);
	al_mount_set(before);
	if (ok)
		forget_given(&a->mount);
	else
		al_answer_free(a);
	*out = ok ? a : NULL;
	return ok;
}

bool al_ask(size_t n_words, const char *const *words, struct al_answer **out, struct al_error *err)
{
	return al_ask_with(n_words, words, NULL, out, err);
}

void al_answer_free(struct al_answer *a)
{
	if (!a)
		return;
	al_session_finish(&a->session);
	al_mount_finish(&a->mount);
	al_text_finish(&a->printed);
	al_text_finish(&a->screen);
	al_text_finish(&a->json);
	free(a);
}

/* ---- the sentence ---- */

bool al_answer_is_no(const struct al_answer *a)
{
	return a->session.answer_is_no;
}

const char *al_answer_text(const struct al_answer *a)
{
	return a->session.claim.text ? a->session.claim.text : "";
}

const struct al_answer_value *al_answer_values(const struct al_answer *a, size_t *n)
{
	*n = a->session.claim.n_values;
	return a->session.claim.values;
}

const struct al_answer_value *al_answer_lead(const struct al_answer *a)
{
	return a->session.claim.lead;
}

const char *const *al_answer_assumptions(const struct al_answer *a, size_t *n)
{
	*n = a->session.claim.n_assumptions;
	return a->session.claim.assumptions;
}

const char *const *al_answer_next(const struct al_answer *a, size_t *n)
{
	*n = a->session.claim.n_next;
	return a->session.claim.next;
}

/* ---- tables ---- */

size_t al_answer_n_tables(const struct al_answer *a)
{
	return a->session.n_tables;
}

const char *al_answer_table_id(const struct al_answer *a, size_t table)
{
	return a->session.tables[table]->id;
}

const char *al_answer_table_title(const struct al_answer *a, size_t table)
{
	return a->session.tables[table]->title;
}

const char *const *al_answer_table_notes(const struct al_answer *a, size_t table, size_t *n)
{
	*n = a->session.tables[table]->n_notes;
	return a->session.tables[table]->notes;
}

size_t al_answer_n_columns(const struct al_answer *a, size_t table)
{
	return a->session.tables[table]->n_columns;
}

size_t al_answer_n_rows(const struct al_answer *a, size_t table)
{
	return a->session.tables[table]->n_rows;
}

struct al_answer_column al_answer_column(const struct al_answer *a, size_t table, size_t column)
{
	const struct al_table *t = a->session.tables[table];
	const struct al_column *c = &t->columns[column];

	return (struct al_answer_column){c->key, c->title, c->unit, al_column_is_number(t, column)};
}

bool al_answer_row_is_total(const struct al_answer *a, size_t table, size_t row)
{
	return a->session.tables[table]->n_columns && a->session.tables[table]->rows[row]->is_total;
}

const char *al_answer_cell(struct al_answer *a, size_t table, size_t row, size_t column)
{
	const struct al_cell *cell = &a->session.tables[table]->rows[row][column];

	return cell->kind == AL_CELL_TEXT ? cell->text
					  : al_cell_number_text(&a->session.arena, cell);
}

bool al_answer_number(const struct al_answer *a, size_t table, size_t row, size_t column,
	double *out)
{
	return al_cell_number(&a->session.tables[table]->rows[row][column], out);
}

/* ---- as the program prints it ---- */

static const char *written(const struct al_answer *a, const struct al_writer *writer,
	size_t n_lines, struct al_text *out)
{
	struct al_style style = a->session.style;

	if (!out->data) {
		al_text_init(out);
		style.lines = n_lines;
		al_write(writer, &style, AL_SESSION_TABLES(&a->session), a->session.n_tables, out);
	}
	return out->data;
}

const char *al_answer_screen(struct al_answer *a)
{
	return a->session.n_tables == 0 ? a->printed.data
					: written(a, &al_writer_text, AL_SCREEN_LINES, &a->screen);
}

const char *al_answer_json(struct al_answer *a)
{
	return written(a, &al_writer_json, 0, &a->json);
}

/* ---- its files ---- */

size_t al_answer_n_files(const struct al_answer *a)
{
	return a->mount.n;
}

bool al_answer_file(const struct al_answer *a, size_t index, const char **name, const void **bytes,
	size_t *length)
{
	if (index >= a->mount.n)
		return false;
	const struct al_mounted *file = a->mount.items[index];
	*name = file->path;
	*bytes = file->content.data;
	*length = file->content.length;
	return true;
}

bool al_answer_arrays(struct al_answer *a, size_t index, const struct al_array **out, size_t *n,
	struct al_error *err)
{
	struct al_mount *before = al_mount_now();

	if (index >= a->mount.n)
		return al_fail(err, AL_EINPUT, "there is no file %zu", index);
	al_mount_set(&a->mount);
	const bool ok = al_arrays_read(a->mount.items[index]->path, &a->session.arena, out, n, err);
	al_mount_set(before);
	return ok;
}
