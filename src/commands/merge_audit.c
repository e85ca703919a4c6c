/* Parts of an audit, merged: their rows in the order of modules, then what `audit` does when all is
 * measured. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "commands/audit_part.h"

enum { MOST_FILE_BYTES = 1 << 30 };

/* A manifest that was read. */
struct part {
	struct al_shard_file manifest;
	struct al_shard_of of;
};

struct merging {
	struct al_session *session;
	struct al_audit_asked asked; /* as the parts were */
	struct al_audit_run *run;
	struct part *parts; /* in the order of shards, when all are there */
	size_t n_parts, parts_room;
	const int64_t *shards; /* of the checkpoint's modules */
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

bool al_holds_shards(const char *folder)
{
	DIR *stream = opendir(folder);
	bool is_found = false;

	if (!stream)
		return false;
	for (struct dirent *entry; !is_found && (entry = readdir(stream));)
		is_found = is_manifest(entry->d_name);
	closedir(stream);
	return is_found;
}

/* Reads a file of facts and tables; `fingerprint` is what a manifest lists, or NULL. One that is
 * broken says where; one that is whole and another is told by its fingerprint. */
static bool read_shard(struct al_shard_file *f, const char *path, const char *fingerprint,
	struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, path, MOST_FILE_BYTES, err))
		return false;
	bool ok = al_shard_file_parse(f, path, text.data, text.length, err);
	if (ok && fingerprint && strcmp(al_shard_fingerprint(&f->arena, &text), fingerprint) != 0) {
		al_shard_file_finish(f);
		ok = al_fail(err, AL_EINPUT, "%s: isn't what its manifest lists", path);
	}
	al_text_finish(&text);
	return ok;
}

static bool read_part(struct merging *m, const char *path, struct al_error *err)
{
	struct part part;

	if (!read_shard(&part.manifest, path, NULL, err))
		return false;
	m->parts = al_grow(&m->session->arena, m->parts, m->n_parts, &m->parts_room,
		sizeof(*m->parts));
	m->parts[m->n_parts++] = part;
	const char *shard = al_shard_file_fact(&part.manifest, "shard");
	const char *n_shards = al_shard_file_fact(&part.manifest, "shards");
	const char *checkpoint = al_shard_file_fact(&part.manifest, "checkpoint");
	const char *kernel = al_shard_file_fact(&part.manifest, "kernel");
	if (!shard || !n_shards || !checkpoint || !kernel)
		return al_fail(err, AL_EINPUT,
			"%s: expected facts \"shard\", \"shards\", \"checkpoint\" and \"kernel\"",
			path);
	return al_shard_of_read(al_format(&m->session->arena, "%s/%s", shard, n_shards),
		       &m->parts[m->n_parts - 1].of, err)
		|| al_in(err, "%s", path);
}

static bool read_folder(struct merging *m, const char *folder, struct al_error *err)
{
	DIR *stream = opendir(folder);
	const size_t n_before = m->n_parts;
	bool ok = true;

	if (!stream)
		return al_fail(err, AL_EINPUT, "%s: can't open: %s", folder, strerror(errno));
	for (struct dirent *entry; ok && (entry = readdir(stream));)
		if (is_manifest(entry->d_name))
			ok = read_part(m, al_path_join(&m->session->arena, folder, entry->d_name),
				err);
	closedir(stream);
	return ok
		&& (m->n_parts > n_before
			|| al_fail(err, AL_EINPUT, "%s: holds no part of an audit", folder));
}

static int compare_parts(const void *x, const void *y)
{
	const struct part *a = x, *b = y;

	if (a->of.shard != b->of.shard)
		return a->of.shard < b->of.shard ? -1 : 1;
	return strcmp(a->manifest.path, b->manifest.path);
}

/* Of facts that may differ. */
static bool is_own(const char *fact)
{
	static const char *const own[] = {"shard", "checkpoint", "config", "kernel", "kernel_note"};

	return al_find_name(fact, own, sizeof(own) / sizeof(*own)) >= 0;
}

/* What shapes the answer is the same of both, as far as `f` says it. */
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

/* Parts of one audit, each once; whether all are there is known with the modules. */
static bool read_parts(struct merging *m, struct al_error *err)
{
	for (size_t i = 0; al_session_word(m->session, i); i++)
		if (!read_folder(m, al_session_word(m->session, i), err))
			return false;
	qsort(m->parts, m->n_parts, sizeof(*m->parts), compare_parts);
	const struct al_shard_file *first = &m->parts[0].manifest;
	for (size_t i = 1; i < m->n_parts; i++) {
		const struct al_shard_file *part = &m->parts[i].manifest;
		if (!check_facts(first, part, err) || !check_facts(part, first, err))
			return false;
		if (m->parts[i].of.shard == m->parts[i - 1].of.shard)
			return al_fail(err, AL_EINPUT, "%s and %s are both shard %" PRId64,
				m->parts[i - 1].manifest.path, part->path, m->parts[i].of.shard);
	}
	return true;
}

/* ---- the audit that they are of ---- */

static bool read_options(struct merging *m, struct al_error *err)
{
	const struct al_shard_file *first = &m->parts[0].manifest;
	struct al_arena *arena = &m->session->arena;
	char **argv = al_new_array(arena, char *, first->n_facts + 1);
	struct al_command_line line;
	int n = 0;

	for (size_t i = 0; i < first->n_facts; i++)
		if (strncmp(first->facts[i].name, "--", 2) == 0)
			argv[n++] = al_strdup(arena, first->facts[i].value);
	if (!al_command_line_split(&line, arena, n, argv, al_audit_shaping, err)
		|| !al_command_line_read(&line, arena, al_audit_shaping, &m->asked, err))
		return al_in(err, "%s", first->path);
	return true;
}

/* The matrices and the tables for files alone are there where they were measured. */
static bool check_files(const struct merging *m, struct al_error *err)
{
	const struct al_shard_file *first = &m->parts[0].manifest;
	const bool has_tables = al_shard_file_fact(first, "tables");
	const bool has_figures = has_tables || al_shard_file_fact(first, "figures");
	const char *missing = m->asked.tables && !has_tables		  ? "--tables"
		: m->asked.figures && !has_figures			  ? "--figures"
		: m->asked.report && !al_shard_file_fact(first, "report") ? "--report"
									  : NULL;

	return !missing
		|| al_fail(err, AL_EINPUT, "%s: %s was measured without it", missing, first->path);
}

/* The checkpoint by its headers alone: numbers were compared where they were read. */
static bool check_same(const struct merging *m, struct al_error *err)
{
	struct al_shard_file here;

	al_shard_file_init(&here, "what is there now");
	bool ok = al_audit_summarize(m->run, &here, err)
		&& check_facts(&here, &m->parts[0].manifest, err);
	al_shard_file_finish(&here);
	return ok;
}

/* ---- gaps ---- */

static bool fail_missing(const struct merging *m, int64_t shard, struct al_error *err)
{
	const struct al_model_view *view = &m->run->opened->view;
	struct al_text names;
	size_t n = 0;

	al_text_init(&names);
	for (size_t i = 0; i < view->n_modules; i++)
		if (m->shards[i] == shard)
			al_text_addf(&names, "%s%s", n++ ? ", " : "", view->modules[i].name);
	al_fail(err, AL_EINPUT, "shard %" PRId64 "/%" PRId64 " is missing: %s%s", shard,
		m->parts[0].of.n_shards, n ? "modules " : "without modules", names.data);
	al_text_finish(&names);
	return false;
}

/* Parts are sorted, and each is there once. */
static bool check_parts(const struct merging *m, struct al_error *err)
{
	for (int64_t shard = 1; shard <= m->parts[0].of.n_shards; shard++)
		if ((size_t)shard > m->n_parts || m->parts[shard - 1].of.shard != shard)
			return fail_missing(m, shard, err);
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

/* FOLDER/shard-I-of-N.NAME */
static const char *path_beside(const struct merging *m, const struct part *part, const char *name)
{
	struct al_arena *arena = &m->session->arena;
	const char *path = part->manifest.path, *slash = strrchr(path, '/');

	return al_format(arena, "%s%s.%s", al_strndup(arena, path, (size_t)(slash - path) + 1),
		al_shard_name(arena, part->of.shard, part->of.n_shards), name);
}

static bool take_tables(struct merging *m, const struct part *part, size_t place,
	const char *fingerprint, struct al_error *err)
{
	const char *name = al_format(&m->session->arena, "%zu.json", place);
	struct al_shard_file rows;
	bool ok = true;

	if (!read_shard(&rows, path_beside(m, part, name), fingerprint, err))
		return false;
	for (size_t i = 0; ok && i < AL_N_MEASUREMENTS; i++)
		ok = !m->run->tables[i] || take_table(m->run->tables[i], &rows, err);
	al_shard_file_finish(&rows);
	al_audit_run_add_measured(m->run, &m->run->opened->view.modules[place]);
	return ok && al_audit_run_hand_on(m->run, err);
}

/* A list of the manifest; one without rows where there is none. */
static const struct al_table *list_of(const struct part *part, const char *id)
{
	static const struct al_table none = {0};
	const struct al_table *list = al_shard_file_table(&part->manifest, id);

	return list ? list : &none;
}

static bool take_module(struct merging *m, const struct part *part, size_t place,
	struct al_error *err)
{
	const struct al_table *modules = list_of(part, "modules");
	const struct al_attention *attention = &m->run->opened->view.modules[place];
	size_t row = 0;

	while (row < modules->n_rows
		&& strcmp(al_table_text(modules, row, "module"), attention->name) != 0)
		row++;
	if (row == modules->n_rows)
		return al_fail(err, AL_EINPUT, "%s: %s is missing among its modules",
			part->manifest.path, attention->name);
	const char *left_out = al_table_text(modules, row, "left_out");
	if (!*left_out)
		return take_tables(m, part, place, al_table_text(modules, row, "fingerprint"), err);
	al_audit_run_add_left_out(m->run, attention, left_out);
	return true;
}

static bool take_modules(struct merging *m, struct al_error *err)
{
	for (size_t i = 0; i < m->run->opened->view.n_modules; i++)
		if (m->shards[i] > 0 && !take_module(m, &m->parts[m->shards[i] - 1], i, err))
			return false;
	return al_audit_run_check_modules(m->run, err);
}

/* ---- what isn't rows of a module ---- */

static bool take_matrix(struct merging *m, const struct part *part, const char *name,
	const char *fingerprint, struct al_error *err)
{
	const char *path = path_beside(m, part, name);
	struct al_text content;

	if (!*name || *name == '.' || strchr(name, '/'))
		return al_fail(err, AL_EINPUT, "%s: found \"%.40s\", expected the name of a file",
			part->manifest.path, name);
	if (!al_file_read(&content, path, MOST_FILE_BYTES, err))
		return false;
	bool ok = strcmp(al_shard_fingerprint(&m->session->arena, &content), fingerprint) == 0
		? al_files_put_aside(&m->session->files, m->asked.tables, name, &content, err)
		: al_fail(err, AL_EINPUT, "%s: isn't what its manifest lists", path);
	al_text_finish(&content);
	return ok;
}

static bool take_counts(struct merging *m, const struct part *part, const bool *is_counted,
	struct al_error *err)
{
	const struct al_checkpoint *checkpoint = m->run->opened->checkpoint;
	const struct al_table *counts = list_of(part, "not_finite");

	for (size_t row = 0; row < counts->n_rows; row++) {
		const char *name = al_table_text(counts, row, "tensor");
		const struct al_tensor *t = al_checkpoint_find(checkpoint, name);
		double n = 0;
		if (!t || !al_table_number(counts, row, "count", &n))
			return al_fail(err, AL_EINPUT, "%s: %s has no tensor %s",
				part->manifest.path, checkpoint->path, name);
		if (is_counted[t - checkpoint->tensors])
			m->run->not_finite[t - checkpoint->tensors] = (int64_t)n;
	}
	return true;
}

static bool take_rest(struct merging *m, struct al_error *err)
{
	bool *is_counted = al_new_array(&m->session->arena, bool,
		m->run->opened->checkpoint->n_tensors + 1);

	al_audit_run_mark_counted(m->run, is_counted);
	for (const struct part *part = m->parts; part < m->parts + m->n_parts; part++) {
		const struct al_table *matrices = list_of(part, "matrices");
		for (size_t row = 0; m->asked.tables && row < matrices->n_rows; row++)
			if (!take_matrix(m, part, al_table_text(matrices, row, "matrix"),
				    al_table_text(matrices, row, "fingerprint"), err))
				return false;
		if (!take_counts(m, part, is_counted, err))
			return false;
	}
	return true;
}

/* Machines may differ: their numbers do in the last digits, and that is said. */
static void take_kernels(struct merging *m)
{
	struct al_arena *arena = &m->session->arena;
	const char **names = al_new_array(arena, const char *, m->n_parts), *all = "";
	size_t n = 0;

	for (size_t i = 0; i < m->n_parts; i++) {
		const char *kernel = al_shard_file_fact(&m->parts[i].manifest, "kernel");
		if (al_find_name(kernel, names, n) >= 0)
			continue;
		all = al_format(arena, "%s%s%s", all, n ? ", " : "", kernel);
		names[n++] = kernel;
	}
	m->run->kernel = all;
	m->run->kernel_note = n == 1
		? al_shard_file_fact(&m->parts[0].manifest, "kernel_note")
		: "shards ran on different BLAS kernels, whose numbers differ in the last digits";
}

/* ---- the answer ---- */

static bool merge_all(struct merging *m, struct al_error *err)
{
	m->shards = al_audit_deal_modules(m->run, m->parts[0].of.n_shards);
	if (!check_same(m, err) || !check_parts(m, err) || !take_modules(m, err)
		|| !take_rest(m, err))
		return false;
	take_kernels(m);
	return al_audit_run_answer(m->run, err);
}

/* The answer is of `audit PATH CONFIG`, and so is its page. */
static void answer_as_audit(struct merging *m, const char *path, const char *config)
{
	struct al_command_line *line = &m->session->line;
	const char **words = al_new_array(&m->session->arena, const char *, 3);

	words[0] = path;
	words[1] = config;
	line->words = words;
	line->n_words = config ? 2 : 1;
	m->session->style.command = "audit";
}

static bool merge(struct merging *m, const char *checkpoint, struct al_error *err)
{
	if (!read_parts(m, err) || !read_options(m, err) || !check_files(m, err))
		return false;
	const struct al_shard_file *first = &m->parts[0].manifest;
	const char *path = checkpoint ? checkpoint : al_shard_file_fact(first, "checkpoint");
	const char *config = al_shard_file_fact(first, "config");
	if (access(path, F_OK) != 0)
		return al_fail(err, AL_EINPUT,
			"%s, of which %s is: %s; --checkpoint PATH says where it is now", path,
			first->path, strerror(errno));
	m->run = al_audit_run_begin(m->session, &m->asked, path, config, err);
	if (!m->run)
		return al_in(err, "%s, measured as %s was", path, first->path);
	answer_as_audit(m, path, config);
	return merge_all(m, err);
}

bool al_merge_audit(struct al_session *session, const struct al_audit_asked *asked,
	const char *checkpoint, struct al_error *err)
{
	struct merging m = {.session = session, .asked = *asked};

	m.asked.output = *session->output;
	bool ok = merge(&m, checkpoint, err);

	for (size_t i = 0; i < m.n_parts; i++)
		al_shard_file_finish(&m.parts[i].manifest);
	return ok;
}
