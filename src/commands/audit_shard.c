/* A part of an audit. One module's rows are in memory at a time. */
#include "base/fingerprint.h"
#include "formats/finite.h"
#include "commands/audit_part.h"

/* A row of the manifest's lists: a module or a matrix with the fingerprint of its file, or a tensor
 * with numbers that aren't finite. */
struct listed {
	const char *name, *fingerprint;
	const char *left_out; /* why a module has no file */
	int64_t count; /* of the tensor's numbers */
};

enum { MODULES, MATRICES, NOT_FINITE, N_LISTS };

struct sharding {
	struct al_audit_run *run;
	struct al_shard_of part;
	const char *folder, *stem; /* of files' names */
	const int64_t *shards; /* of the checkpoint's modules */
	struct al_shard_file manifest;
	struct al_table lists[N_LISTS]; /* of the manifest */
	struct al_table *answer;
};

static bool check_options(const struct al_audit_asked *o, struct al_error *err)
{
	const char *needs_all = o->is_across ? "--across"
		: o->against		     ? "--against"
		: o->input.tokens	     ? "--tokens"
		: o->input.text		     ? "--text"
		: o->input.sample > 0	     ? "--sample"
					     : NULL;

	if (!o->shard || !o->fragment)
		return al_fail(err, AL_EINPUT,
			"--shard I/N and --fragment DIR belong together: which part is measured, "
			"and the folder that gets it");
	return !needs_all
		|| al_fail(err, AL_EINPUT,
			"%s takes all modules together: it can't be used with --shard", needs_all);
}

/* ---- lists ---- */

enum { OF_MODULE = 1, OF_MATRIX = 2, OF_TENSOR = 4, OF_FILE = 8 };

static const struct al_table_field list_fields[] = {
	{{.key = "module"}, AL_MEMBER(struct listed, name), .when = OF_MODULE},
	{{.key = "matrix"}, AL_MEMBER(struct listed, name), .when = OF_MATRIX},
	{{.key = "tensor"}, AL_MEMBER(struct listed, name), .when = OF_TENSOR},
	{{.key = "fingerprint"}, AL_MEMBER(struct listed, fingerprint), .when = OF_FILE},
	{{.key = "left_out"}, AL_MEMBER(struct listed, left_out), .when = OF_MODULE},
	{{.key = "count"}, AL_MEMBER(struct listed, count), .when = OF_TENSOR},
	AL_FIELDS_END,
};

static void begin_lists(struct sharding *s)
{
	static const struct {
		const char *id;
		unsigned shown;
	} lists[N_LISTS] = {{"modules", OF_MODULE | OF_FILE}, {"matrices", OF_MATRIX | OF_FILE},
		{"not_finite", OF_TENSOR}};

	for (size_t i = 0; i < N_LISTS; i++) {
		al_table_init(&s->lists[i], lists[i].id, "");
		al_table_add_fields(&s->lists[i], list_fields, lists[i].shown);
	}
}

static bool put(struct sharding *s, const char *name, const struct al_text *content,
	struct al_error *err)
{
	return al_files_put_aside(&s->run->session->files, s->folder,
		al_format(&s->run->session->arena, "%s.%s", s->stem, name), content, err);
}

/* ---- one module ---- */

static bool take_matrix(void *context, const char *name, const struct al_text *content,
	struct al_error *err)
{
	struct sharding *s = context;
	const struct listed matrix = {.name = name,
		.fingerprint = al_shard_fingerprint(&s->run->session->arena, content)};

	al_table_add_record(&s->lists[MATRICES], &matrix);
	return put(s, name, content, err);
}

/* What the answer says of a module's file. */
struct answered {
	const char *module;
	int64_t layer;
	size_t n_rows, n_bytes;
};

static const struct al_table_field answer_fields[] = {
	{{.key = "module", .title = "Module", .is_key = true}, AL_MEMBER(struct answered, module)},
	{{.key = "layer", .title = "Layer", .digits = AL_DIGITS_ALL},
		AL_MEMBER(struct answered, layer)},
	{{.key = "rows", .title = "Rows", .quantity = AL_QUANTITY_COUNT},
		AL_MEMBER(struct answered, n_rows)},
	{{.key = "bytes", .title = "File", .quantity = AL_QUANTITY_BYTES, .unit = "B"},
		AL_MEMBER(struct answered, n_bytes)},
	AL_FIELDS_END,
};

/* Every table that was begun, also without rows. */
static bool put_tables(struct sharding *s, size_t place, struct listed *module,
	struct al_error *err)
{
	const struct al_attention *attention = &s->run->opened->view.modules[place];
	struct answered answered = {.module = attention->name, .layer = attention->layer};
	const struct al_table *tables[AL_N_MEASUREMENTS];
	struct al_arena *arena = &s->run->session->arena;
	struct al_shard_file rows;
	struct al_text text;
	size_t n = 0;

	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (s->run->tables[i]) {
			answered.n_rows += s->run->tables[i]->n_rows;
			tables[n++] = s->run->tables[i];
		}
	al_shard_file_init(&rows, "");
	al_shard_file_say(&rows, "module", attention->name);
	al_text_init(&text);
	al_shard_file_write(&rows, tables, n, &text);
	al_shard_file_finish(&rows);
	answered.n_bytes = text.length;
	al_table_add_record(s->answer, &answered);
	module->fingerprint = al_shard_fingerprint(arena, &text);
	bool ok = put(s, al_format(arena, "%zu.json", place), &text, err);
	al_text_finish(&text);
	return ok;
}

/* In tables of its own. */
static bool measure(struct sharding *s, size_t place, struct al_error *err)
{
	struct al_audit_run *run = s->run;
	const struct al_attention *attention = &run->opened->view.modules[place];
	const size_t n_left_out = run->n_left_out;
	struct listed module = {.name = attention->name};

	al_audit_run_end_tables(run);
	al_audit_run_begin_tables(run);
	if (!al_audit_run_measure(run, attention, err))
		return false;
	if (run->n_left_out == n_left_out) {
		if (!put_tables(s, place, &module, err))
			return false;
	} else {
		module.left_out = run->left_out[n_left_out].why;
		al_table_note(s->answer, "%s", module.left_out);
	}
	al_table_add_record(&s->lists[MODULES], &module);
	return true;
}

/* ---- all of them ---- */

static bool measure_all(struct sharding *s, struct al_error *err)
{
	const struct al_model_view *view = &s->run->opened->view;

	for (size_t i = 0; i < view->n_modules; i++)
		s->run->n_steps += s->shards[i] == s->part.shard;
	for (size_t i = 0; i < view->n_modules; i++)
		if (s->shards[i] == s->part.shard && !measure(s, i, err))
			return false;
	return true;
}

static bool count_not_finite(struct sharding *s, struct al_error *err)
{
	struct al_audit_run *run = s->run;
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;
	const size_t n = checkpoint->n_tensors;
	const bool *is_mine = al_audit_deal_tensors(run, s->shards, s->part.shard,
		s->part.n_shards);
	bool *is_counted = al_new_array(&run->session->arena, bool, n + 1);

	al_audit_run_mark_counted(run, is_counted);
	for (size_t i = 0; i < n; i++)
		is_counted[i] = is_counted[i] && is_mine[i];
	if (!al_checkpoint_count_not_finite(checkpoint, is_counted, run->not_finite, err))
		return false;
	for (size_t i = 0; i < n; i++)
		if (run->not_finite[i])
			al_table_add_record(&s->lists[NOT_FINITE],
				&(struct listed){.name = checkpoint->tensors[i].name,
					.count = run->not_finite[i]});
	return true;
}

static bool describe(struct sharding *s, const char *config, struct al_error *err)
{
	const struct al_audit_run *run = s->run;
	const struct al_audit_asked *o = run->options;
	struct al_shard_file *m = &s->manifest;
	uint64_t source;

	al_shard_file_say(m, "shard", al_format(&m->arena, "%lld", (long long)s->part.shard));
	al_shard_file_say(m, "shards", al_format(&m->arena, "%lld", (long long)s->part.n_shards));
	al_shard_file_say(m, "checkpoint", run->opened->checkpoint->path);
	al_shard_file_say(m, "config", config);
	al_shard_file_say(m, "kernel", run->kernel);
	al_shard_file_say(m, "kernel_note", run->kernel_note);
	al_shard_file_say(m, "tables", o->tables ? "--tables" : NULL);
	al_shard_file_say(m, "figures", o->figures ? "--figures" : NULL);
	al_shard_file_say(m, "report", o->report ? "--report" : NULL);
	if (!al_audit_summarize(run, m, err)
		|| !al_checkpoint_hash(run->opened->checkpoint, &source, err))
		return false;
	al_shard_file_say(m, "source", al_fingerprint_text(&m->arena, source));
	return true;
}

static void begin_answer(struct sharding *s)
{
	struct al_session *session = s->run->session;

	s->answer = al_session_table(session, "shard",
		al_format(&session->arena, "Shard %lld of %lld of an audit, in %s",
			(long long)s->part.shard, (long long)s->part.n_shards, s->folder));
	al_table_add_fields(s->answer, answer_fields, 0);
}

/* The manifest comes last: where it stands, all that it lists does. */
static void put_manifest(struct sharding *s)
{
	const struct al_table *lists[N_LISTS];
	struct al_session *session = s->run->session;

	for (size_t i = 0; i < N_LISTS; i++)
		lists[i] = &s->lists[i];
	al_shard_file_write(&s->manifest, lists, N_LISTS,
		al_files_add(&session->files, s->folder, s->stem, "json"));
	al_opened_checkpoint_note(s->run->opened, s->answer);
	if (lists[MODULES]->n_rows == 0)
		al_table_note(s->answer, "there are fewer modules than shards: this one has none");
	al_table_note(s->answer,
		"when all shards are there, `attnledger merge %s` answers as `audit` does",
		s->folder);
}

/* A selection that chooses nothing is wrong in every part alike. */
static bool check_chosen(const struct sharding *s, struct al_error *err)
{
	for (size_t i = 0; i < s->run->opened->view.n_modules; i++)
		if (s->shards[i])
			return true;
	return al_audit_run_check_modules(s->run, err);
}

static bool run_shard(struct sharding *s, const char *config, struct al_error *err)
{
	struct al_audit_run *run = s->run;

	s->stem = al_shard_name(&run->session->arena, s->part.shard, s->part.n_shards);
	s->shards = al_audit_deal_modules(run, s->part.n_shards);
	run->take_matrix = take_matrix;
	run->taker = s;
	begin_answer(s);
	if (!check_chosen(s, err) || !describe(s, config, err) || !measure_all(s, err)
		|| !count_not_finite(s, err)
		|| !al_checkpoint_check_unchanged(run->opened->checkpoint, err))
		return false;
	put_manifest(s);
	return true;
}

bool al_audit_shard(struct al_session *session, const struct al_audit_asked *options,
	const char *path, const char *config, struct al_error *err)
{
	struct sharding s = {.folder = options->fragment};

	if (!check_options(options, err) || !al_shard_of_read(options->shard, &s.part, err))
		return false;
	s.run = al_audit_run_begin(session, options, path, config, err);
	if (!s.run)
		return false;
	al_shard_file_init(&s.manifest, "");
	begin_lists(&s);
	bool ok = run_shard(&s, config, err);
	for (size_t i = 0; i < N_LISTS; i++)
		al_table_finish(&s.lists[i]);
	al_shard_file_finish(&s.manifest);
	return ok;
}
