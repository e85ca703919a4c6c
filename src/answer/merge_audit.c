/* Parts of an audit, merged: their rows in the order of modules, then what `audit` does when all is
 * measured. */
#include <errno.h>

#include "base/file.h"
#include "base/hash.h"
#include "answer/audit_part.h"

enum { MOST_FILE_BYTES = 1 << 30 };

struct merging {
	struct al_session *session;
	struct al_audit_asked asked; /* as the parts were */
	struct al_audit_run *run;
	struct al_shard_file **parts; /* [n_shards], manifests; NULL: missing */
	int64_t n_shards;
	const struct al_shard_file *first; /* that was read */
	const size_t *shards; /* of the modules that the run chooses, from 0 on */
	uint64_t source; /* fingerprint of the checkpoint, the same in all parts */
};

/* ---- the folders ---- */

/* Could it be the name of a manifest's file? */
static bool is_manifest(const char *name)
{
	int64_t shard, n_shards;
	int n = 0;

	return sscanf(name, "shard-%" SCNd64 "-of-%" SCNd64 "%n", &shard, &n_shards, &n) == 2
		&& strcmp(name + n, ".json") == 0;
}

struct al_texts al_shard_manifests(struct al_arena *arena, const char *folder)
{
	const char **names;
	size_t n_names, n = 0;

	if (!al_folder_list(arena, folder, &names, &n_names, NULL))
		return (struct al_texts){NULL, 0};
	for (size_t i = 0; i < n_names; i++)
		if (is_manifest(names[i]))
			names[n++] = al_path_join(arena, folder, names[i]);
	return (struct al_texts){names, n};
}

/* Of facts that may differ. */
static bool is_own(const char *fact)
{
	static const char *const own[] = {"shard", "checkpoint", "config", "kernel", "kernel_note"};

	return al_find_name(fact, own, sizeof(own) / sizeof(*own)) >= 0;
}

/* Both agree on what shapes the answer, as far as `f` records it. */
static bool check_facts(const struct al_shard_file *f, const struct al_shard_file *other,
	struct al_error *err)
{
	for (size_t i = 0; i < f->n_facts; i++) {
		const char *name = f->facts[i].name, *here = f->facts[i].value;
		const char *there = al_shard_file_fact(other, name);
		if (is_own(name) || (there && strcmp(here, there) == 0))
			continue;
		const bool is_option = strncmp(here, "--", 2) == 0;
		return al_fail(err, AL_EINPUT, "%s was measured with %s%s%s, %s with%s%s", f->path,
			is_option ? "" : name, is_option ? "" : " ", here, other->path,
			there ? " " : "out", there ? there : "");
	}
	return true;
}

/* Parts are of one audit, and each is there once. */
static bool add_part(struct merging *m, struct al_shard_file *f, const struct al_shard_of *of,
	struct al_error *err)
{
	if (!m->first) {
		m->first = f;
		m->n_shards = of->n_shards;
		m->parts = al_new_array(&m->session->arena, struct al_shard_file *,
			(size_t)of->n_shards);
	}
	if (!check_facts(m->first, f, err) || !check_facts(f, m->first, err))
		return false;
	struct al_shard_file **part = &m->parts[of->shard - 1];
	if (*part)
		return al_fail(err, AL_EINPUT, "%s and %s are both shard %" PRId64, (*part)->path,
			f->path, of->shard);
	*part = f;
	return true;
}

static bool read_part(struct merging *m, const char *path, struct al_error *err)
{
	struct al_arena *arena = &m->session->arena;
	struct al_shard_file *f = al_new(arena, struct al_shard_file);
	struct al_shard_of of;
	AL_TEXT(text);

	if (!al_file_read(&text, path, MOST_FILE_BYTES, err)
		|| !al_shard_file_parse(f, path, text.data, text.length, err))
		return false;
	al_arena_defer(arena, al_shard_file_finish, f);
	const char *shard = al_shard_file_fact(f, "shard");
	const char *n_shards = al_shard_file_fact(f, "shards");
	const char *source = al_shard_file_fact(f, "source");
	if (!shard || !n_shards || !al_shard_file_fact(f, "checkpoint")
		|| !al_shard_file_fact(f, "kernel") || !source
		|| !al_fingerprint_read(source, &m->source))
		return al_fail(err, AL_EINPUT,
			"%s: expected facts \"shard\", \"shards\", \"checkpoint\", \"kernel\" and "
			"\"source\", a fingerprint",
			path);
	if (!al_shard_of_read(arena, al_format(arena, "%s/%s", shard, n_shards), &of, err))
		return al_in(err, "%s", path);
	return add_part(m, f, &of, err);
}

/* Whether all are there is known with the modules. */
static bool read_parts(struct merging *m, struct al_error *err)
{
	const char *folder;

	for (size_t k = 0; (folder = al_session_word(m->session, k)); k++) {
		const struct al_texts paths = al_shard_manifests(&m->session->arena, folder);
		if (paths.n == 0)
			return al_fail(err, AL_EINPUT, "%s: contains no shard of an audit", folder);
		for (size_t i = 0; i < paths.n; i++)
			if (!read_part(m, paths.items[i], err))
				return false;
	}
	return true;
}

/* ---- the audit that they are of ---- */

static bool read_options(struct merging *m, struct al_error *err)
{
	struct al_arena *arena = &m->session->arena;
	char **argv = al_new_array(arena, char *, m->first->n_facts + 1);
	struct al_command_line line;
	int n = 0;

	for (size_t i = 0; i < m->first->n_facts; i++)
		if (strncmp(m->first->facts[i].name, "--", 2) == 0)
			argv[n++] = al_strdup(arena, m->first->facts[i].value);
	if (!al_command_line_split(&line, arena, n, argv, al_audit_shaping, err)
		|| !al_command_line_read(&line, arena, al_audit_shaping, &m->asked, err))
		return al_in(err, "%s", m->first->path);
	return true;
}

/* The matrices and the tables for files alone are there where they were measured. */
static bool check_files(const struct merging *m, struct al_error *err)
{
	const bool has_tables = al_shard_file_fact(m->first, "tables");
	const bool has_figures = has_tables || al_shard_file_fact(m->first, "figures");
	const char *missing = m->asked.tables && !has_tables		     ? "--tables"
		: m->asked.figures && !has_figures			     ? "--figures"
		: m->asked.report && !al_shard_file_fact(m->first, "report") ? "--report"
									     : NULL;

	return !missing
		|| al_fail(err, AL_EINPUT, "%s: %s was measured without it", missing,
			m->first->path);
}

/* The checkpoint by its headers alone: numbers were compared where they were read. */
static bool check_same(const struct merging *m, struct al_error *err)
{
	AL_ENDS(al_shard_file_finish) struct al_shard_file here;

	al_shard_file_init(&here, "what is there now");
	return al_shard_summarize(m->run, &here, err) && check_facts(&here, m->first, err);
}

static bool check_parts(const struct merging *m, struct al_error *err)
{
	const char *names = "";
	size_t missing = 0;

	while (missing < (size_t)m->n_shards && m->parts[missing])
		missing++;
	if (missing == (size_t)m->n_shards)
		return true;
	for (size_t i = 0; i < m->run->n_chosen; i++)
		if (m->shards[i] == missing)
			names = al_join(&m->session->arena, names, m->run->chosen[i]->name);
	return al_fail(err, AL_EINPUT, "shard %zu/%" PRId64 " is missing: %s%s", missing + 1,
		m->n_shards, *names ? "modules " : "without modules", names);
}

/* ---- files that manifests list ---- */

/* A list of the manifest; one without rows where there is none. */
static const struct al_table *list_of(const struct al_shard_file *part, const char *id)
{
	static const struct al_table none = {0};
	const struct al_table *list = al_shard_file_table(part, id);

	return list ? list : &none;
}

/* FOLDER/shard-I-of-N.NAME */
static const char *path_of(const struct merging *m, const struct al_shard_file *part,
	const char *name)
{
	const int stem = (int)strlen(part->path) - (int)strlen(".json");

	return al_format(&m->session->arena, "%.*s.%s", stem, part->path, name);
}

/* The manifest's entry of a file; NULL: none. */
static const char *fingerprint_of(const struct al_shard_file *part, const char *name)
{
	const struct al_table *files = list_of(part, "files");

	for (size_t row = 0; row < files->n_rows; row++)
		if (strcmp(al_table_text(files, row, "file"), name) == 0)
			return al_table_text(files, row, "fingerprint");
	return NULL;
}

/* The caller finishes the text, on failure too. */
static bool read_listed(const struct merging *m, const struct al_shard_file *part, const char *name,
	struct al_text *out, struct al_error *err)
{
	const char *path = path_of(m, part, name), *fingerprint = fingerprint_of(part, name);

	if (!fingerprint || !*name || *name == '.' || strchr(name, '/'))
		return al_fail(err, AL_EINPUT, "%s: lists no file \"%.40s\"", part->path, name);
	if (!al_file_read(out, path, MOST_FILE_BYTES, err))
		return false;
	return strcmp(al_shard_fingerprint(&m->session->arena, out), fingerprint) == 0
		|| al_fail(err, AL_EINPUT, "%s: differs from its entry in the manifest", path);
}

static bool take_matrices(struct merging *m, const struct al_shard_file *part, struct al_error *err)
{
	const struct al_table *files = list_of(part, "files");

	for (size_t row = 0; m->asked.tables && row < files->n_rows; row++) {
		const char *name = al_table_text(files, row, "file");
		AL_TEXT(content);
		if (al_ends_with(name, ".npy")
			&& (!read_listed(m, part, name, &content, err)
				|| !al_files_put_aside(&m->session->files, m->asked.tables, name,
					&content, err)))
			return false;
	}
	return true;
}

/* ---- rows ---- */

static bool has_columns_of(const struct al_table *from, const struct al_table *table)
{
	bool is_same = from->n_columns == table->n_columns;

	for (size_t i = 0; is_same && i < table->n_columns; i++)
		is_same = strcmp(from->columns[i].key, table->columns[i].key) == 0;
	return is_same;
}

static bool take_table(struct al_table *table, const struct al_shard_file *rows,
	struct al_error *err)
{
	const struct al_table *from = al_shard_file_table(rows, table->id);

	if (!from || !has_columns_of(from, table))
		return al_fail(err, AL_EINPUT, "%s: %s table \"%s\"", rows->path,
			from ? "has other columns in its" : "has no", table->id);
	for (size_t i = 0; i < from->n_notes; i++)
		al_table_note(table, "%s", from->notes[i]);
	for (size_t row = 0; row < from->n_rows; row++) {
		struct al_cell *cells = al_table_add_row(table);
		for (size_t i = 0; i < table->n_columns; i++)
			al_cell_copy(table, &cells[i], &from->rows[row][i]);
	}
	return true;
}

static bool take_tables(struct merging *m, const struct al_attention *attention,
	const struct al_shard_file *rows, struct al_error *err)
{
	const char *left_out = al_shard_file_fact(rows, "left_out");

	if (left_out) {
		al_audit_run_add_left_out(m->run, attention, left_out);
		return true;
	}
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (m->run->tables[i] && !take_table(m->run->tables[i], rows, err))
			return false;
	al_audit_run_add_measured(m->run, attention);
	return al_audit_run_hand_on(m->run, err);
}

static bool take_module(struct merging *m, const struct al_shard_file *part,
	const struct al_attention *attention, struct al_error *err)
{
	const char *name = al_shard_module_file(m->run, attention);
	AL_TEXT(text);
	AL_ENDS(al_shard_file_finish) struct al_shard_file rows = {0};

	return read_listed(m, part, name, &text, err)
		&& al_shard_file_parse(&rows, path_of(m, part, name), text.data, text.length, err)
		&& take_tables(m, attention, &rows, err);
}

static bool take_modules(struct merging *m, struct al_error *err)
{
	for (size_t i = 0; i < m->run->n_chosen; i++)
		if (!take_module(m, m->parts[m->shards[i]], m->run->chosen[i], err))
			return false;
	return al_audit_run_check_modules(m->run, err);
}

/* ---- what isn't rows of a module ---- */

static bool take_counts(struct merging *m, const struct al_shard_file *part, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = m->run->opened->checkpoint;
	const struct al_table *counts = list_of(part, "not_finite");

	for (size_t row = 0; row < counts->n_rows; row++) {
		const char *name = al_table_text(counts, row, "tensor");
		const struct al_tensor *t = al_checkpoint_find(checkpoint, name);
		double n;
		if (!t || !al_table_number(counts, row, "count", &n))
			return al_fail(err, AL_EINPUT, "%s: %s has no tensor %s", part->path,
				checkpoint->path, name);
		m->run->not_finite[t - checkpoint->tensors] = (int64_t)n;
	}
	return true;
}

static bool take_rest(struct merging *m, struct al_error *err)
{
	for (int64_t i = 0; i < m->n_shards; i++)
		if (!take_matrices(m, m->parts[i], err) || !take_counts(m, m->parts[i], err))
			return false;
	return true;
}

/* Machines may differ, and with them the last digits of their numbers: a note reports it. */
static void take_kernels(struct merging *m)
{
	struct al_arena *arena = &m->session->arena;
	const char **names = al_new_array(arena, const char *, (size_t)m->n_shards), *all = "";
	size_t n = 0;

	for (int64_t i = 0; i < m->n_shards; i++) {
		const char *kernel = al_shard_file_fact(m->parts[i], "kernel");
		if (al_find_name(kernel, names, n) >= 0)
			continue;
		all = al_join(arena, all, kernel);
		names[n++] = kernel;
	}
	m->run->kernel = all;
	m->run->kernel_note = n == 1
		? al_shard_file_fact(m->parts[0], "kernel_note")
		: "shards ran on different BLAS kernels, whose numbers differ in the last digits";
}

/* ---- the answer ---- */

/* The answer is of `audit PATH CONFIG`, and so is its page. */
static void answer_as_audit(struct merging *m, const char *path, const char *config)
{
	struct al_command_line *line = &m->session->line;
	struct al_arena *arena = &m->session->arena;
	static const struct al_option_group groups[] = {{al_layout_rows,
								offsetof(struct al_audit_asked,
									layout)},
		{al_module_rows, offsetof(struct al_audit_asked, layout)},
		{al_audit_shaping_rows, 0}, {al_audit_file_rows, 0}, {NULL, 0}};
	const struct al_texts options = al_options_texts(groups, &m->asked, arena);
	const char **words = al_new_array(arena, const char *, 2 * options.n + 3);

	words[0] = al_strdup(arena, path);
	words[1] = config ? al_strdup(arena, config) : NULL;
	line->words = words;
	line->n_words = config ? 2 : 1;
	const char **rest = words + line->n_words;
	for (size_t i = 0; i < options.n; i++) {
		const size_t n = strcspn(options.items[i], "=");
		*rest++ = al_strndup(arena, options.items[i], n);
		if (options.items[i][n])
			*rest++ = al_strdup(arena, options.items[i] + n + 1);
	}
	m->session->style.arguments = words;
	m->session->style.command = "audit";
}

static bool begin_audit(struct merging *m, const char *checkpoint, struct al_error *err)
{
	const char *path = checkpoint ? checkpoint : al_shard_file_fact(m->first, "checkpoint");
	const char *config = al_shard_file_fact(m->first, "config");

	if (al_path_kind(path) == AL_PATH_NONE)
		return al_fail(err, AL_EINPUT,
			"can't open %s (the checkpoint of %s): %s; use --checkpoint PATH if it "
			"moved",
			path, m->first->path, strerror(errno));
	m->run = al_audit_run_begin(m->session, &m->asked, path, config, err);
	if (!m->run)
		return al_in(err, "%s, measured like %s", path, m->first->path);
	m->shards = al_audit_deal_modules(m->run, m->n_shards);
	answer_as_audit(m, path, config);
	return true;
}

bool al_merge_audit(struct al_session *session, const struct al_audit_asked *asked,
	const char *checkpoint, struct al_error *err)
{
	struct merging *m = al_new(&session->arena, struct merging);

	*m = (struct merging){.session = session, .asked = *asked};
	m->asked.output = *session->output;
	if (!read_parts(m, err) || !read_options(m, err) || !check_files(m, err)
		|| !begin_audit(m, checkpoint, err) || !check_same(m, err) || !check_parts(m, err)
		|| !take_modules(m, err) || !take_rest(m, err))
		return false;
	take_kernels(m);
	m->run->fingerprint = m->source;
	return al_audit_run_answer(m->run, err);
}
