/* A part of an audit. One module's rows are in memory at a time. */
#include "commands/audit_shard.h"

#include "base/hash.h"
#include "checkpoint/finite.h"
#include "commands/audit_part.h"
#include "commands/launcher.h"
#include "fragment/rows.h"

struct sharding {
	struct al_audit_run run;
	struct al_shard_of part;
	const char *folder;
	const int64_t *shards; /* of the checkpoint's modules */
	struct al_manifest manifest;
	struct al_table *answer;
	struct al_fragment_matrix *matrices; /* of the module that is measured */
	size_t n_matrices, matrices_room;
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

/* ---- one module ---- */

static bool take_matrix(void *context, const char *name, const struct al_text *content,
	struct al_error *err)
{
	struct sharding *s = context;
	struct al_arena *arena = &s->run.session->arena;
	const char *path = al_manifest_matrix_path(&s->manifest, name, arena);

	s->matrices = al_grow(arena, s->matrices, s->n_matrices, &s->matrices_room,
		sizeof(*s->matrices));
	s->matrices[s->n_matrices++] = (struct al_fragment_matrix){al_strdup(arena, name),
		al_hash(AL_HASH_EMPTY, content->data, content->length)};
	return al_files_put_aside(&s->run.session->files, s->folder, path, content, err);
}

/* Every table that was begun, also without rows. */
static void write_rows(struct sharding *s, const char *module, struct al_text *out)
{
	const struct al_table *tables[AL_N_MEASUREMENTS];
	struct al_audit_run *run = &s->run;
	size_t n = 0;

	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		if (!run->tables[i])
			continue;
		if (al_measurements[i]->give_rows)
			al_measurements[i]->give_rows(&run->audit, run->tables[i]);
		tables[n++] = run->tables[i];
	}
	al_fragment_rows_write(module, tables, n, s->matrices, s->n_matrices, out);
}

static size_t count_rows(const struct al_audit_run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		n += run->tables[i] ? run->tables[i]->n_rows : 0;
	return n;
}

static void add_answer(struct sharding *s, const struct al_attention *attention, size_t n_rows,
	size_t n_bytes)
{
	struct al_cell *cell = al_table_add_row(s->answer);

	al_cell_set_text(s->answer, cell++, attention->name);
	al_cell_set_int(s->answer, cell++, attention->layer);
	al_cell_set_int(s->answer, cell++, (int64_t)n_rows);
	al_cell_set_int(s->answer, cell, (int64_t)n_bytes);
}

static bool put_rows(struct sharding *s, const struct al_attention *attention,
	struct al_fragment_module *module, struct al_error *err)
{
	struct al_arena *arena = &s->run.session->arena;
	struct al_text text;

	al_text_init(&text);
	write_rows(s, attention->name, &text);
	module->fingerprint = al_hash(AL_HASH_EMPTY, text.data, text.length);
	add_answer(s, attention, count_rows(&s->run), text.length);
	bool ok = al_files_put_aside(&s->run.session->files, s->folder,
		al_manifest_rows_path(&s->manifest, module, arena), &text, err);
	al_text_finish(&text);
	return ok;
}

/* In tables of its own. */
static bool measure(struct sharding *s, size_t place, struct al_error *err)
{
	struct al_audit_run *run = &s->run;
	const struct al_attention *attention = &run->opened.view.modules[place];
	const size_t n_left_out = run->n_left_out;
	struct al_fragment_module *module = &s->manifest.modules[s->manifest.n_modules++];

	*module = (struct al_fragment_module){.name = attention->name, .place = (int64_t)place};
	al_audit_run_end_tables(run);
	al_audit_run_begin_tables(run);
	al_audit_forget_pairs(&run->audit);
	s->n_matrices = 0;
	if (!al_audit_run_measure(run, attention, err))
		return false;
	if (run->n_left_out == n_left_out)
		return put_rows(s, attention, module, err);
	module->left_out = run->left_out[n_left_out];
	al_table_note(s->answer, "%s", module->left_out);
	return true;
}

/* ---- all of them ---- */

static bool measure_all(struct sharding *s, struct al_error *err)
{
	const struct al_model_view *view = &s->run.opened.view;

	s->manifest.modules = al_new_array(&s->run.session->arena, struct al_fragment_module,
		view->n_modules + 1);
	for (size_t i = 0; i < view->n_modules; i++)
		s->run.steps.n += s->shards[i] == s->part.shard;
	for (size_t i = 0; i < view->n_modules; i++)
		if (s->shards[i] == s->part.shard && !measure(s, i, err))
			return false;
	return true;
}

static bool count_not_finite(struct sharding *s, struct al_error *err)
{
	struct al_audit_run *run = &s->run;
	const struct al_checkpoint *checkpoint = &run->opened.checkpoint;
	const size_t n = checkpoint->n_tensors;
	const bool *is_mine = al_audit_deal_tensors(run, s->shards, s->part.shard,
		s->part.n_shards);
	bool *is_counted = al_new_array(&run->session->arena, bool, n + 1);
	struct al_manifest *m = &s->manifest;

	al_audit_run_mark_counted(run, is_counted);
	for (size_t i = 0; i < n; i++)
		is_counted[i] = is_counted[i] && is_mine[i];
	if (!al_checkpoint_count_not_finite(checkpoint, is_counted, run->not_finite, err))
		return false;
	m->not_finite = al_new_array(&run->session->arena, struct al_fragment_count, n + 1);
	for (size_t i = 0; i < n; i++)
		if (run->not_finite[i])
			m->not_finite[m->n_not_finite++] =
				(struct al_fragment_count){checkpoint->tensors[i].name,
					run->not_finite[i]};
	return true;
}

static bool describe(struct sharding *s, const char *config, struct al_error *err)
{
	const struct al_audit_run *run = &s->run;
	const struct al_audit_asked *o = run->options;
	const struct al_texts options = al_options_texts(al_audit_shaping, o, &run->session->arena);

	s->manifest = (struct al_manifest){
		.path = "",
		.version = al_version(),
		.shard = s->part.shard,
		.n_shards = s->part.n_shards,
		.checkpoint = run->opened.checkpoint.path,
		.config = config,
		.header = run->opened.checkpoint.header_hash,
		.options = options.items,
		.n_options = options.n,
		.has_tables = o->tables,
		.has_figures = o->figures,
		.has_report = o->report,
		.kernel = run->kernel,
		.kernel_note = run->kernel_note,
	};
	return al_audit_inputs(run, &s->manifest.inputs, &s->manifest.n_inputs, err)
		&& al_checkpoint_hash(&run->opened.checkpoint, &s->manifest.source, err);
}

static void begin_answer(struct sharding *s)
{
	static const struct al_column columns[] = {
		{.key = "module", .title = "Module", .is_key = true},
		{.key = "layer", .title = "Layer", .digits = AL_DIGITS_ALL},
		{.key = "rows", .title = "Rows", .quantity = AL_QUANTITY_COUNT},
		{.key = "bytes", .title = "File", .quantity = AL_QUANTITY_BYTES, .unit = "B"},
	};
	struct al_session *session = s->run.session;

	s->answer = al_session_table(session, "shard",
		al_format(&session->arena, "Shard %lld of %lld of an audit, in %s",
			(long long)s->part.shard, (long long)s->part.n_shards, s->folder));
	al_table_add_columns(s->answer, columns, sizeof(columns) / sizeof(*columns));
}

/* The manifest comes last: where it stands, all that it lists does. */
static void put_manifest(struct sharding *s)
{
	struct al_session *session = s->run.session;

	al_manifest_write(&s->manifest,
		al_files_add(&session->files, s->folder,
			al_manifest_name(&session->arena, s->part.shard, s->part.n_shards),
			"json"));
	al_opened_checkpoint_note(&s->run.opened, s->answer);
	if (s->manifest.n_modules == 0)
		al_table_note(s->answer, "there are fewer modules than shards: this one has none");
	al_table_note(s->answer,
		"when all shards are there, `attnledger merge %s` answers as `audit` does",
		s->folder);
}

/* A selection that chooses nothing is wrong in every part alike. */
static bool check_chosen(const struct sharding *s, struct al_error *err)
{
	for (size_t i = 0; i < s->run.opened.view.n_modules; i++)
		if (s->shards[i])
			return true;
	return al_audit_run_check_modules(&s->run, err);
}

static bool run_shard(struct sharding *s, const char *config, struct al_error *err)
{
	struct al_audit_run *run = &s->run;

	s->shards = al_audit_deal_modules(run, s->part.n_shards);
	run->take_matrix = take_matrix;
	run->taker = s;
	begin_answer(s);
	if (!check_chosen(s, err) || !describe(s, config, err) || !measure_all(s, err)
		|| !count_not_finite(s, err)
		|| !al_checkpoint_check_unchanged(&run->opened.checkpoint, err))
		return false;
	put_manifest(s);
	return true;
}

bool al_audit_shard(struct al_session *session, const struct al_audit_asked *options,
	const char *path, const char *config, struct al_error *err)
{
	struct sharding s = {.folder = options->fragment};

	if (!check_options(options, err) || !al_shard_of_read(options->shard, &s.part, err)
		|| !al_audit_run_init(&s.run, session, options, path, config, err))
		return false;
	bool ok = run_shard(&s, config, err);
	al_audit_run_finish(&s.run);
	return ok;
}
