/* A part of an audit. One module's rows are in memory at a time. */
#include "base/fingerprint.h"
#include "answer/audit_part.h"

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

/* A file of the part, which the manifest lists. */
static bool put(void *context, const char *name, const struct al_text *content,
	struct al_error *err)
{
	struct sharding *s = context;
	struct al_session *session = s->run->session;

	al_table_add_record(s->files,
		&(struct listed){name, al_shard_fingerprint(&session->arena, content), 0});
	return al_files_put_aside(&session->files, s->folder,
		al_format(&session->arena, "%s.%s", s->stem, name), content, err);
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

/* Every table that was begun, also without rows. */
static bool put_tables(struct sharding *s, const struct al_attention *attention,
	const char *left_out, struct al_error *err)
{
	struct answered answered = {.module = attention->name, .layer = attention->layer};
	struct al_table *const *tables = s->run->tables;
	AL_ENDS(al_shard_file_finish) struct al_shard_file file;

	al_shard_file_init(&file, "");
	al_shard_file_say(&file, "module", attention->name);
	al_shard_file_say(&file, "left_out", left_out);
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (tables[i]) {
			answered.rows += tables[i]->n_rows;
			al_shard_file_add(&file, tables[i]);
		}
	AL_TEXT(text);
	al_shard_file_write(&file, &text);
	answered.bytes = text.length;
	if (left_out)
		al_table_warn(s->answer, "%s", left_out);
	else
		al_table_add_record(s->answer, &answered);
	return put(s, al_shard_module_file(s->run, attention), &text, err);
}

/* In tables of its own. */
static bool measure(struct sharding *s, const struct al_attention *attention, struct al_error *err)
{
	struct al_audit_run *run = s->run;
	const size_t n_left_out = run->n_left_out;

	al_audit_run_end_tables(run);
	al_audit_run_begin_tables(run);
	return al_audit_run_measure(run, attention, err)
		&& put_tables(s, attention,
			run->n_left_out > n_left_out ? run->left_out[n_left_out].why : NULL, err);
}

/* ---- all of them ---- */

static bool measure_all(struct sharding *s, struct al_error *err)
{
	struct al_audit_run *run = s->run;

	for (size_t i = 0; i < run->n_chosen; i++)
		run->n_steps += is_mine(s, s->shards[i]);
	for (size_t i = 0; i < run->n_chosen; i++)
		if (is_mine(s, s->shards[i]) && !measure(s, run->chosen[i], err))
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
	return true;
}

static void begin(struct sharding *s)
{
	struct al_session *session = s->run->session;
	const long long shard = (long long)s->part.shard, n_shards = (long long)s->part.n_shards;

	s->stem = al_format(&session->arena, "shard-%lld-of-%lld", shard, n_shards);
	s->shards = al_audit_deal_modules(s->run, s->part.n_shards);
	s->run->take_matrix = put;
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
