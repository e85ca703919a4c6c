/* A part of an audit. One module's rows are in memory at a time, and its files are written when it
 * is measured: the same command goes on behind those that it finds. */
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/output.h"
#include "answer/audit_part.h"

enum { MOST_FILE_BYTES = 1 << 30 };

/* A row of the manifest's tables: a file with its fingerprint, or a tensor with numbers that aren't
 * finite. */
struct listed {
	const char *name, *fingerprint;
	int64_t count; /* of the tensor's numbers */
};

static const struct al_table_field file_fields[] = {
	{{.key = "file"}, AL_MEMBER(struct listed, name)},
	{{.key = "fingerprint"}, AL_MEMBER(struct listed, fingerprint)},
	AL_FIELDS_END,
};

static const struct al_table_field count_fields[] = {
	{{.key = "tensor"}, AL_MEMBER(struct listed, name)},
	{{.key = "count"}, AL_MEMBER(struct listed, count)},
	AL_FIELDS_END,
};

struct sharding {
	struct al_audit_run *run;
	struct al_shard_of part;
	const char *folder, *stem; /* of files' names */
	const size_t *shards; /* of the modules that the run chooses, from 0 on */
	struct al_shard_file manifest;
	struct al_table *files, *not_finite; /* of the manifest */
	const char *of; /* fingerprint of all that a module's numbers hang on */
	struct al_table *own_files; /* of the module at hand, but for its tables' */
	size_t n_found; /* modules of an earlier run */
	struct al_table *answer;
};

static bool check_options(const struct al_audit_asked *o, struct al_error *err)
{
	const char *needs_all = o->is_across ? "--across"
		: o->against		     ? "--against"
		: o->input.tokens	     ? "--tokens"
		: o->input.text		     ? "--text"
		: o->input.sample	     ? "--sample"
					     : NULL;

	if (!o->shard || !o->fragment)
		return al_fail(err, AL_EINPUT,
			"--shard I/N (the part to measure) and --fragment DIR (the folder for its "
			"results) need each other");
	return !needs_all
		|| al_fail(err, AL_EINPUT, "%s needs all layers and can't be used with --shard",
			needs_all);
}

static bool is_mine(const struct sharding *s, size_t shard)
{
	return (int64_t)shard + 1 == s->part.shard;
}

/* ---- one module ---- */

static const char *path_of(const struct sharding *s, const char *name)
{
	return al_format(&s->run->session->arena, "%s/%s.%s", s->folder, s->stem, name);
}

/* A file of the part, which the manifest lists. What an earlier run left there goes. */
static bool put(const struct sharding *s, const char *name, const struct al_text *content,
	struct al_error *err)
{
	const char *path = path_of(s, name);

	al_table_add_record(s->files,
		&(struct listed){name, al_shard_fingerprint(&s->run->session->arena, content), 0});
	(void)unlink(path);
	return al_folder_make(s->folder, err)
		&& al_file_write(path, content->data, content->length, err);
}

static bool put_matrix(void *context, const char *name, const struct al_text *content,
	struct al_error *err)
{
	const struct sharding *s = context;

	al_table_add_record(s->own_files,
		&(struct listed){name, al_shard_fingerprint(&s->run->session->arena, content), 0});
	return put(s, name, content, err);
}

/* A module's file, as the answer lists it. */
struct answered {
	const char *module;
	int64_t layer;
	size_t rows, bytes;
};

static const struct al_table_field answer_fields[] = {
	{AL_SHOW_KEY(struct answered, module, "Module")},
	{AL_SHOW_WHOLE(struct answered, layer, "Layer")},
	{AL_SHOW_COUNT(struct answered, rows, "Rows")},
	{AL_SHOW_BYTES(struct answered, bytes, "File")},
	AL_FIELDS_END,
};

/* Lists it, or why it was left out. */
static void list_module(struct sharding *s, const struct al_attention *attention,
	const struct al_shard_file *file, size_t bytes)
{
	struct answered answered = {.module = attention->name,
		.layer = attention->layer,
		.bytes = bytes};
	const char *left_out = al_shard_file_fact(file, "left_out");

	for (size_t i = 0; i < file->n_tables; i++)
		if (strcmp(file->tables[i]->id, "files") != 0)
			answered.rows += file->tables[i]->n_rows;
	if (left_out)
		al_table_warn(s->answer, "%s", left_out);
	else
		al_table_add_record(s->answer, &answered);
}

/* Every table that was begun, also without rows. */
static bool put_tables(struct sharding *s, const struct al_attention *attention,
	const char *left_out, struct al_shard_file *file, struct al_error *err)
{
	struct al_table *const *tables = s->run->tables;

	al_shard_file_say(file, "module", attention->name);
	al_shard_file_say(file, "of", s->of);
	al_shard_file_say(file, "left_out", left_out);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (tables[i])
			al_shard_file_add(file, tables[i]);
	AL_TEXT(text);
	al_shard_file_write(file, &text);
	list_module(s, attention, file, text.length);
	return put(s, al_shard_module_file(s->run, attention), &text, err);
}

/* In tables of its own. */
static bool measure(struct sharding *s, const struct al_attention *attention, struct al_error *err)
{
	struct al_audit_run *run = s->run;
	const size_t n_left_out = run->n_left_out;
	AL_ENDS(al_shard_file_finish) struct al_shard_file file;

	al_audit_run_end_tables(run);
	al_audit_run_begin_tables(run);
	al_shard_file_init(&file, "");
	s->own_files = al_shard_file_new_table(&file, "files");
	al_table_add_fields(s->own_files, file_fields, 0);
	return al_audit_run_measure(run, attention, err)
		&& put_tables(s, attention,
			run->n_left_out > n_left_out ? run->left_out[n_left_out].why : NULL, &file,
			err);
}

/* ---- what an earlier run measured ---- */

/* Is there such a file, of this fingerprint where it isn't NULL? */
static bool find_file(const struct sharding *s, const char *name, const char *fingerprint,
	struct al_text *content)
{
	const char *path = path_of(s, name);

	return al_path_kind(path) == AL_PATH_FILE
		&& al_file_read(content, path, MOST_FILE_BYTES, NULL)
		&& (!fingerprint
			|| strcmp(fingerprint,
				   al_shard_fingerprint(&s->run->session->arena, content))
				== 0);
}

/* Its matrices, which were written before its tables. */
static bool find_matrices(const struct sharding *s, const struct al_shard_file *file)
{
	const struct al_table *files = al_shard_file_table(file, "files");

	for (size_t i = 0; files && i < files->n_rows; i++) {
		AL_TEXT(content);
		const char *name = al_table_text(files, i, "file");
		const char *fingerprint = al_table_text(files, i, "fingerprint");
		if (!name || !fingerprint || !find_file(s, name, fingerprint, &content))
			return false;
	}
	return files;
}

/* Lists the files of a module that is there. */
static void list_files(struct sharding *s, const struct al_shard_file *file, const char *name,
	const struct al_text *text)
{
	struct al_arena *arena = &s->run->session->arena;
	const struct al_table *files = al_shard_file_table(file, "files");

	for (size_t i = 0; i < files->n_rows; i++)
		al_table_add_record(s->files,
			&(struct listed){al_strdup(arena, al_table_text(files, i, "file")),
				al_strdup(arena, al_table_text(files, i, "fingerprint")), 0});
	al_table_add_record(s->files, &(struct listed){name, al_shard_fingerprint(arena, text), 0});
}

/* Of the same numbers, measured alike. */
static bool find_module(struct sharding *s, const struct al_attention *attention)
{
	const char *name = al_shard_module_file(s->run, attention);
	struct al_shard_file file;
	AL_TEXT(text);

	if (!find_file(s, name, NULL, &text)
		|| !al_shard_file_parse(&file, name, text.data, text.length, NULL))
		return false;
	const char *of = al_shard_file_fact(&file, "of");
	const bool is_same = of && strcmp(of, s->of) == 0 && find_matrices(s, &file);
	if (is_same) {
		list_module(s, attention, &file, text.length);
		list_files(s, &file, name, &text);
	}
	al_shard_file_finish(&file);
	s->n_found += is_same;
	s->run->n_done += is_same;
	return is_same;
}

/* ---- all of them ---- */

static bool measure_all(struct sharding *s, struct al_error *err)
{
	struct al_audit_run *run = s->run;

	for (size_t i = 0; i < run->n_chosen; i++)
		run->n_steps += is_mine(s, s->shards[i]);
	for (size_t i = 0; i < run->n_chosen; i++)
		if (is_mine(s, s->shards[i]) && !find_module(s, run->chosen[i])
			&& !measure(s, run->chosen[i], err))
			return false;
	return true;
}

/* The tensors of the part's modules, and of those that no module has as many as are dealt to it. */
static const bool *find_own(const struct sharding *s)
{
	const struct al_audit_run *run = s->run;
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;
	const size_t n = checkpoint->n_tensors, n_shards = (size_t)s->part.n_shards;
	bool *is_own = al_new_array(&run->session->arena, bool, n + 1);
	bool *is_others = al_new_array(&run->session->arena, bool, n + 1);

	for (size_t i = 0; i < run->n_chosen; i++)
		al_attention_mark_tensors(checkpoint, run->chosen[i], true,
			is_mine(s, s->shards[i]) ? is_own : is_others);
	for (size_t i = 0; i < n; i++)
		is_own[i] |= !is_others[i] && is_mine(s, i % n_shards);
	return is_own;
}

static bool count_not_finite(struct sharding *s, struct al_error *err)
{
	const struct al_audit_run *run = s->run;
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;

	if (!al_audit_run_count_not_finite(run, find_own(s), err))
		return false;
	for (size_t i = 0; i < checkpoint->n_tensors; i++)
		if (run->not_finite[i])
			al_table_add_record(s->not_finite,
				&(struct listed){.name = checkpoint->tensors[i].name,
					.count = run->not_finite[i]});
	return true;
}

/* Only what shapes numbers: the same folder may be measured anew, or elsewhere. */
static bool find_what_it_is_of(struct sharding *s, struct al_error *err)
{
	AL_ENDS(al_shard_file_finish) struct al_shard_file of;
	AL_TEXT(text);

	al_shard_file_init(&of, "");
	al_shard_file_say(&of, "kernel", s->run->kernel);
	al_shard_file_say(&of, "source", al_fingerprint_text(&of.arena, s->run->fingerprint));
	al_shard_file_say(&of, "tables", s->run->options->tables ? "--tables" : NULL);
	if (!al_shard_summarize(s->run, &of, err))
		return false;
	al_shard_file_write(&of, &text);
	s->of = al_shard_fingerprint(&s->run->session->arena, &text);
	return true;
}

static bool describe(struct sharding *s, const char *config, struct al_error *err)
{
	const struct al_audit_run *run = s->run;
	const struct al_audit_asked *o = run->options;
	struct al_shard_file *m = &s->manifest;

	al_shard_file_say(m, "shard", al_format(&m->arena, "%lld", (long long)s->part.shard));
	al_shard_file_say(m, "shards", al_format(&m->arena, "%lld", (long long)s->part.n_shards));
	al_shard_file_say(m, "checkpoint", run->opened->checkpoint->path);
	al_shard_file_say(m, "config", config);
	al_shard_file_say(m, "kernel", run->kernel);
	al_shard_file_say(m, "kernel_note", run->kernel_note);
	al_shard_file_say(m, "tables", o->tables ? "--tables" : NULL);
	al_shard_file_say(m, "figures", o->figures ? "--figures" : NULL);
	al_shard_file_say(m, "report", o->report ? "--report" : NULL);
	if (!al_shard_summarize(run, m, err) || !al_audit_run_hash(s->run, err))
		return false;
	al_shard_file_say(m, "source", al_fingerprint_text(&m->arena, run->fingerprint));
	return find_what_it_is_of(s, err);
}

static void begin(struct sharding *s)
{
	struct al_session *session = s->run->session;
	const long long shard = (long long)s->part.shard, n_shards = (long long)s->part.n_shards;

	s->stem = al_format(&session->arena, "shard-%lld-of-%lld", shard, n_shards);
	s->shards = al_audit_deal_modules(s->run, s->part.n_shards);
	s->run->take_matrix = put_matrix;
	s->run->taker = s;
	al_shard_file_init(&s->manifest, "");
	al_arena_defer(&session->arena, al_shard_file_finish, &s->manifest);
	s->files = al_shard_file_new_table(&s->manifest, "files");
	al_table_add_fields(s->files, file_fields, 0);
	s->not_finite = al_shard_file_new_table(&s->manifest, "not_finite");
	al_table_add_fields(s->not_finite, count_fields, 0);
	s->answer = al_session_table(session, "shard", answer_fields, 0,
		"Shard %lld of %lld of an audit, in %s", shard, n_shards, s->folder);
}

/* The manifest is written last: once it exists, so does all that it lists. */
static void put_manifest(struct sharding *s)
{
	struct al_session *session = s->run->session;

	al_shard_file_write(&s->manifest,
		al_files_add(&session->files, s->folder, s->stem, "json"));
	al_opened_checkpoint_note_fingerprint(s->run->opened, s->run->fingerprint, s->answer);
	if (s->run->n_steps == 0)
		al_table_warn(s->answer, "fewer modules than shards: this shard has none");
	if (s->n_found > 0)
		al_table_note(s->answer, "%s found in the folder, measured by an earlier run",
			al_count_text(&session->arena, s->n_found, "module"));
	al_table_note(s->answer,
		"when all shards are complete, run `attnledger merge %s` for the audit", s->folder);
}

bool al_audit_shard(struct al_session *session, const struct al_audit_asked *options,
	const char *path, const char *config, struct al_error *err)
{
	struct sharding *s = al_new(&session->arena, struct sharding);

	s->folder = options->fragment;
	if (!check_options(options, err)
		|| !al_shard_of_read(&session->arena, options->shard, &s->part, err))
		return false;
	s->run = al_audit_run_begin(session, options, path, config, err);
	if (!s->run)
		return false;
	begin(s);
	if (!describe(s, config, err) || !measure_all(s, err) || !count_not_finite(s, err)
		|| !al_checkpoint_check_unchanged(s->run->opened->checkpoint, err))
		return false;
	put_manifest(s);
	return true;
}
