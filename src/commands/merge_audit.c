/* Parts of an audit, merged: their rows in the order of modules, then what `audit` does when all is
 * measured. */
#include "commands/merge_audit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "commands/audit_part.h"
#include "fragment/rows.h"

enum { MOST_ROWS_BYTES = 1 << 30, MOST_MATRIX_BYTES = 1 << 30 };

struct merging {
	struct al_session *session;
	struct al_audit_asked asked; /* as the parts were */
	struct al_audit_run run;
	struct al_manifest *parts; /* in the order of shards, when all are there */
	size_t n_parts, parts_room;
	const int64_t *shards; /* of the checkpoint's modules */
	bool takes_matrices;
};

/* ---- the folders ---- */

bool al_holds_fragments(const char *folder)
{
	DIR *stream = opendir(folder);
	bool is_found = false;

	if (!stream)
		return false;
	for (struct dirent *entry; !is_found && (entry = readdir(stream));)
		is_found = al_manifest_is_name(entry->d_name);
	closedir(stream);
	return is_found;
}

static bool read_part(struct merging *m, const char *path, struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, path, AL_JSON_FILE_LIMIT, err))
		return false;
	m->parts = al_grow(&m->session->arena, m->parts, m->n_parts, &m->parts_room,
		sizeof(*m->parts));
	bool ok = al_manifest_parse(&m->parts[m->n_parts++], &m->session->arena, path, text.data,
		text.length, err);
	al_text_finish(&text);
	return ok;
}

static bool read_folder(struct merging *m, const char *folder, struct al_error *err)
{
	DIR *stream = opendir(folder);
	const size_t n_before = m->n_parts;
	bool ok = true;

	if (!stream)
		return al_fail(err, AL_EINPUT, "%s: can't open: %s", folder, strerror(errno));
	for (struct dirent *entry; ok && (entry = readdir(stream));)
		if (al_manifest_is_name(entry->d_name))
			ok = read_part(m, al_path_join(&m->session->arena, folder, entry->d_name),
				err);
	closedir(stream);
	return ok
		&& (m->n_parts > n_before
			|| al_fail(err, AL_EINPUT, "%s: holds no part of an audit", folder));
}

static int compare_parts(const void *x, const void *y)
{
	const struct al_manifest *a = x, *b = y;

	if (a->shard != b->shard)
		return a->shard < b->shard ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* Parts of one audit, each once; whether all are there is known with the modules. */
static bool read_parts(struct merging *m, struct al_error *err)
{
	for (size_t i = 0; al_session_word(m->session, i); i++)
		if (!read_folder(m, al_session_word(m->session, i), err))
			return false;
	qsort(m->parts, m->n_parts, sizeof(*m->parts), compare_parts);
	for (size_t i = 1; i < m->n_parts; i++) {
		if (!al_manifest_check_same(&m->parts[0], &m->parts[i], err))
			return false;
		if (m->parts[i].shard == m->parts[i - 1].shard)
			return al_fail(err, AL_EINPUT, "%s and %s are both shard %" PRId64,
				m->parts[i - 1].path, m->parts[i].path, m->parts[i].shard);
	}
	return true;
}

/* ---- the audit that they are of ---- */

static bool read_options(struct merging *m, const struct al_merge_audit *options,
	struct al_error *err)
{
	const struct al_manifest *first = &m->parts[0];
	struct al_arena *arena = &m->session->arena;
	char **argv = al_new_array(arena, char *, first->n_options + 1);
	struct al_command_line line;

	for (size_t i = 0; i < first->n_options; i++)
		argv[i] = al_strdup(arena, first->options[i]);
	if (!al_command_line_split(&line, arena, (int)first->n_options, argv, al_audit_shaping, err)
		|| !al_command_line_read(&line, arena, al_audit_shaping, &m->asked, err))
		return al_in(err, "%s", first->path);
	m->asked.output = *m->session->output;
	m->asked.tables = options->tables;
	m->asked.figures = options->figures;
	m->asked.report = options->report;
	m->asked.width = options->width;
	return true;
}

/* The matrices and the tables for files alone are there where they were measured. */
static bool check_files(const struct merging *m, struct al_error *err)
{
	const struct al_manifest *first = &m->parts[0];

	if (m->asked.tables && !first->has_tables)
		return al_fail(err, AL_EINPUT,
			"--tables: %s was measured without it, its matrices are missing",
			first->path);
	if (m->asked.figures && !first->has_figures && !first->has_tables)
		return al_fail(err, AL_EINPUT,
			"--figures: %s was measured without it, curves may be missing",
			first->path);
	return !m->asked.report || first->has_report
		|| al_fail(err, AL_EINPUT,
			"--report: %s was measured without it, pairs of heads may be missing",
			first->path);
}

/* By its headers alone: numbers were compared where they were read. */
static bool check_checkpoint(const struct merging *m, const char *path, struct al_error *err)
{
	const struct al_manifest *first = &m->parts[0];
	struct al_checkpoint checkpoint;

	if (access(path, F_OK) != 0)
		return al_fail(err, AL_EINPUT,
			"%s, of which %s is: %s; --checkpoint PATH says where it is now", path,
			first->path, strerror(errno));
	if (!al_checkpoint_open(&checkpoint, path, err))
		return false;
	const uint64_t header = checkpoint.header_hash;
	al_checkpoint_close(&checkpoint);
	return header == first->header
		|| al_fail(err, AL_EINPUT,
			"%s: the fingerprint of its header is %016" PRIx64
			", %s is of %s, %016" PRIx64,
			path, header, first->path, first->checkpoint, first->header);
}

static bool check_inputs(struct merging *m, struct al_error *err)
{
	struct al_manifest here = m->parts[0];

	here.path = "what is there now";
	return al_audit_inputs(&m->run, &here.inputs, &here.n_inputs, err)
		&& al_manifest_check_same(&m->parts[0], &here, err);
}

/* ---- gaps and overlaps ---- */

static const struct al_manifest *find_part(const struct merging *m, int64_t shard)
{
	for (size_t i = 0; i < m->n_parts; i++)
		if (m->parts[i].shard == shard)
			return &m->parts[i];
	return NULL;
}

static bool fail_missing(const struct merging *m, int64_t shard, struct al_error *err)
{
	const struct al_model_view *view = &m->run.opened.view;
	struct al_text names;
	size_t n = 0;

	al_text_init(&names);
	for (size_t i = 0; i < view->n_modules; i++)
		if (m->shards[i] == shard)
			al_text_addf(&names, "%s%s", n++ ? ", " : "", view->modules[i].name);
	al_fail(err, AL_EINPUT, "shard %" PRId64 "/%" PRId64 " is missing: %s%s", shard,
		m->parts[0].n_shards, n ? "modules " : "without modules", names.data);
	al_text_finish(&names);
	return false;
}

/* A part lists the modules that it was dealt, in their order. */
static bool check_modules(const struct merging *m, const struct al_manifest *part,
	struct al_error *err)
{
	const struct al_model_view *view = &m->run.opened.view;
	size_t n = 0;

	for (size_t i = 0; i < view->n_modules; i++) {
		if (m->shards[i] != part->shard)
			continue;
		if (n == part->n_modules || part->modules[n].place != (int64_t)i
			|| strcmp(part->modules[n].name, view->modules[i].name) != 0)
			return al_fail(err, AL_EINPUT, "%s: %s is missing among its modules",
				part->path, view->modules[i].name);
		n++;
	}
	return n == part->n_modules
		|| al_fail(err, AL_EINPUT, "%s: %s is of another shard", part->path,
			part->modules[n].name);
}

static bool check_parts(const struct merging *m, struct al_error *err)
{
	for (int64_t shard = 1; shard <= m->parts[0].n_shards; shard++) {
		const struct al_manifest *part = find_part(m, shard);
		if (!part)
			return fail_missing(m, shard, err);
		if (!check_modules(m, part, err))
			return false;
	}
	return true;
}

/* ---- rows ---- */

static bool check_columns(const struct al_table *table, const struct al_fragment_rows *rows,
	const struct al_table *from, struct al_error *err)
{
	bool is_same = from && from->n_columns == table->n_columns;

	for (size_t i = 0; is_same && i < table->n_columns; i++)
		is_same = strcmp(from->columns[i].key, table->columns[i].key) == 0;
	return is_same
		|| al_fail(err, AL_EINPUT, "%s: %s table \"%s\"", rows->name,
			from ? "has other columns in its" : "has no", table->id);
}

static void copy_rows(struct al_table *table, const struct al_table *from)
{
	for (size_t row = 0; row < from->n_rows; row++) {
		struct al_cell *cells = al_table_add_row(table);
		for (size_t i = 0; i < table->n_columns; i++)
			al_cell_copy(table, &cells[i], &from->rows[row][i]);
	}
}

static bool take_table(struct merging *m, const struct al_attention *attention,
	const struct al_fragment_rows *rows, size_t measurement, struct al_error *err)
{
	const struct al_measurement *what = al_measurements[measurement];
	struct al_table *table = m->run.tables[measurement];
	const struct al_table *from = al_fragment_rows_find(rows, what->id);

	if (!check_columns(table, rows, from, err))
		return false;
	for (size_t i = 0; i < from->n_notes; i++)
		al_table_note(table, "%s", from->notes[i]);
	if (what->take_rows)
		return what->take_rows(&m->run.audit, attention, from, err)
			|| al_in(err, "%s", rows->name);
	copy_rows(table, from);
	return true;
}

static bool take_matrix(struct merging *m, const struct al_manifest *part,
	const struct al_fragment_matrix *matrix, struct al_error *err)
{
	const char *path = al_manifest_matrix_path(part, matrix->name, &m->session->arena);
	struct al_text content;

	if (!al_file_read(&content, path, MOST_MATRIX_BYTES, err))
		return false;
	bool ok = al_hash(AL_HASH_EMPTY, content.data, content.length) == matrix->fingerprint
		|| al_fail(err, AL_EINPUT, "%s: isn't what shard %" PRId64 " wrote", path,
			part->shard);
	ok = ok
		&& al_files_put_aside(&m->session->files, m->asked.tables, matrix->name, &content,
			err);
	al_text_finish(&content);
	return ok;
}

static bool take_all(struct merging *m, const struct al_manifest *part,
	const struct al_attention *attention, const struct al_fragment_rows *rows,
	struct al_error *err)
{
	if (strcmp(rows->module, attention->name) != 0)
		return al_fail(err, AL_EINPUT, "%s: of %s, expected %s", rows->name, rows->module,
			attention->name);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (m->run.tables[i] && !take_table(m, attention, rows, i, err))
			return false;
	for (size_t i = 0; m->asked.tables && i < rows->n_matrices; i++)
		if (!take_matrix(m, part, &rows->matrices[i], err))
			return false;
	al_audit_run_add_measured(&m->run, attention);
	return al_audit_run_hand_on(&m->run, err);
}

/* A file that is broken says where; one that is whole and another is told by its fingerprint. */
static bool read_rows(struct al_fragment_rows *rows, const struct al_manifest *part,
	const struct al_fragment_module *module, const char *path, struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, path, MOST_ROWS_BYTES, err))
		return false;
	bool ok = al_fragment_rows_parse(rows, path, text.data, text.length, err);
	if (ok && al_hash(AL_HASH_EMPTY, text.data, text.length) != module->fingerprint) {
		al_fragment_rows_finish(rows);
		ok = al_fail(err, AL_EINPUT, "%s: isn't what %s lists", path, part->path);
	}
	al_text_finish(&text);
	return ok;
}

static bool take_module(struct merging *m, const struct al_manifest *part,
	const struct al_fragment_module *module, struct al_error *err)
{
	const struct al_attention *attention = &m->run.opened.view.modules[module->place];
	struct al_fragment_rows rows;

	if (module->left_out) {
		al_audit_run_add_left_out(&m->run, module->left_out);
		return true;
	}
	if (!read_rows(&rows, part, module, al_manifest_rows_path(part, module, &m->session->arena),
		    err))
		return false;
	bool ok = take_all(m, part, attention, &rows, err);
	al_fragment_rows_finish(&rows);
	return ok;
}

static bool take_modules(struct merging *m, struct al_error *err)
{
	size_t *next = al_new_array(&m->session->arena, size_t, m->n_parts);

	for (size_t i = 0; i < m->run.opened.view.n_modules; i++) {
		if (m->shards[i] == 0)
			continue;
		const size_t place = (size_t)m->shards[i] - 1;
		const struct al_manifest *part = &m->parts[place];
		if (!take_module(m, part, &part->modules[next[place]++], err))
			return false;
	}
	return al_audit_run_check_modules(&m->run, err);
}

/* ---- what isn't of one module ---- */

static bool take_counts(struct merging *m, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = &m->run.opened.checkpoint;
	bool *is_counted = al_new_array(&m->session->arena, bool, checkpoint->n_tensors + 1);

	al_audit_run_mark_counted(&m->run, is_counted);
	for (size_t i = 0; i < m->n_parts; i++)
		for (size_t k = 0; k < m->parts[i].n_not_finite; k++) {
			const struct al_fragment_count *count = &m->parts[i].not_finite[k];
			const struct al_tensor *t = al_checkpoint_find(checkpoint, count->tensor);
			if (!t)
				return al_fail(err, AL_EINPUT, "%s: %s has no tensor %s",
					m->parts[i].path, checkpoint->path, count->tensor);
			if (is_counted[t - checkpoint->tensors])
				m->run.not_finite[t - checkpoint->tensors] = count->n;
		}
	return true;
}

static bool is_first_with_kernel(const struct merging *m, size_t part)
{
	for (size_t i = 0; i < part; i++)
		if (strcmp(m->parts[i].kernel, m->parts[part].kernel) == 0)
			return false;
	return true;
}

/* Machines may differ: their numbers do in the last digits, and that is said. */
static void take_kernels(struct merging *m)
{
	struct al_text kernels;
	size_t n = 0;

	al_text_init(&kernels);
	for (size_t i = 0; i < m->n_parts; i++)
		if (is_first_with_kernel(m, i))
			al_text_addf(&kernels, "%s%s", n++ ? ", " : "", m->parts[i].kernel);
	m->run.kernel = al_strdup(&m->session->arena, kernels.data);
	m->run.kernel_note = n == 1
		? m->parts[0].kernel_note
		: "shards ran on different BLAS kernels, whose numbers differ in the last digits";
	al_text_finish(&kernels);
}

/* ---- the answer ---- */

static bool merge_all(struct merging *m, struct al_error *err)
{
	m->shards = al_audit_deal_modules(&m->run, m->parts[0].n_shards);
	if (!check_inputs(m, err) || !check_parts(m, err) || !take_modules(m, err)
		|| !take_counts(m, err))
		return false;
	take_kernels(m);
	return al_audit_run_answer(&m->run, err);
}

/* The answer is of `audit PATH CONFIG`, and so is its page. */
static void answer_as_audit(struct merging *m, const char *path)
{
	struct al_command_line *line = &m->session->line;
	const char **words = al_new_array(&m->session->arena, const char *, 3);

	words[0] = path;
	words[1] = m->parts[0].config;
	line->words = words;
	line->n_words = words[1] ? 2 : 1;
	m->session->style.command = "audit";
}

bool al_merge_audit(struct al_session *session, const struct al_merge_audit *options,
	struct al_error *err)
{
	struct merging m = {.session = session};

	if (!read_parts(&m, err) || !read_options(&m, options, err) || !check_files(&m, err))
		return false;
	const char *path = options->checkpoint ? options->checkpoint : m.parts[0].checkpoint;
	if (!check_checkpoint(&m, path, err)
		|| !al_audit_run_init(&m.run, session, &m.asked, path, m.parts[0].config, err))
		return false;
	answer_as_audit(&m, path);
	bool ok = merge_all(&m, err);
	al_audit_run_finish(&m.run);
	return ok;
}
