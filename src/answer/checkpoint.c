/* What the commands on checkpoints share. */
#include "base/file.h"
#include "answer/checkpoint.h"
#include "base/hash.h"

#include <strings.h>

/* ---- the file alone ---- */

const char *al_count_text(struct al_arena *arena, uint64_t count, const char *what)
{
	const char *number = al_exact_grouped(arena, al_format(arena, "%" PRIu64, count));

	return al_format(arena, "%s %s%s", number, what, count == 1 ? "" : "s");
}

static void note_files(struct al_table *table, const struct al_checkpoint *checkpoint)
{
	if (checkpoint->index)
		al_table_note(table, "index: %s, files: %zu", checkpoint->index,
			checkpoint->n_shards);
	else
		al_table_note(table, "file: %s (%s)", checkpoint->shards[0].source.path,
			checkpoint->shards[0].format);
	if (checkpoint->config)
		al_table_note(table, "config: %s", checkpoint->config);
}

void al_checkpoint_note(struct al_table *table, const struct al_checkpoint *checkpoint,
	const uint64_t *fingerprint)
{
	uint64_t header_bytes = 0;

	for (size_t i = 0; i < checkpoint->n_shards; i++)
		header_bytes += checkpoint->shards[i].header_bytes;
	note_files(table, checkpoint);
	al_table_note(table, "size: %s, %s of them headers",
		al_count_text(&table->arena, checkpoint->bytes, "byte"),
		al_exact_grouped(&table->arena,
			al_format(&table->arena, "%" PRIu64, header_bytes)));
	al_table_note(table, "fingerprint: %s, of %s",
		al_fingerprint_text(&table->arena,
			fingerprint ? *fingerprint : checkpoint->header_hash),
		fingerprint ? "tensors" : "headers alone");
}

void al_note_numbers_unread(struct al_table *table)
{
	al_table_note(table, "values: not read; inspect --values counts NaN and infinite ones");
}

struct al_checkpoint *al_session_file(struct al_session *session, const char *path,
	struct al_error *err)
{
	struct al_checkpoint *checkpoint = al_new(&session->arena, struct al_checkpoint);

	if (!al_checkpoint_open(checkpoint, path, err))
		return NULL;
	al_arena_defer(&session->arena, al_checkpoint_close, checkpoint);
	/* a file that gives a model's sizes needs no tensors */
	if (checkpoint->n_tensors == 0 && !checkpoint->header_config) {
		al_fail(err, AL_EINPUT, "%s: contains no tensors", path);
		return NULL;
	}
	return checkpoint;
}

/* ---- with its family ---- */

/* "12" or "32:8" */
static bool parse_heads(const char *text, struct al_view_options *options, struct al_error *err)
{
	const char *end = text + al_read_digits(text, &options->n_heads);
	bool ok = options->n_heads > 0 && options->n_heads < 1 << 20;

	if (ok && *end == ':') {
		end++;
		end += al_read_digits(end, &options->n_kv_heads);
		ok = options->n_kv_heads > 0 && options->n_heads % options->n_kv_heads == 0;
	}
	return (ok && *end == '\0')
		|| al_fail(err, AL_EINPUT, "--heads %s: expected H or H:KV, H a multiple of KV",
			text);
}

const struct al_option_row al_layout_rows[] = {
	OPTION_TEXT(struct al_layout_options, heads, "heads", "H[:KV]",
		"numbers of query and key/value heads, if there is no config.json"),
	OPTION_TEXT(struct al_layout_options, layout, "layout", "FILE",
		"family file that maps the checkpoint's tensor names"),
	OPTION_LIST(struct al_layout_options, families, "families", "PATH",
		"also read this folder of model families, or one family's file"),
	OPTION_END,
};

const struct al_option_group al_layout_groups[] = {{al_layout_rows, 0}, {NULL, 0}};

const struct al_option_row al_module_rows[] = {
	OPTION_TEXT(struct al_layout_options, modules, "modules", "SELECTION",
		"use only these layers' attention: layers.0-5,encoder.*.self"),
	OPTION_END,
};

bool al_checkpoint_view(struct al_model_view *view, struct al_session *session,
	const struct al_layout_options *o, struct al_checkpoint *checkpoint, const char *config,
	bool modules, struct al_error *err)
{
	struct al_view_options options = {.config = config, .layout = o->layout, .runs = o->runs};

	if (o->heads && !parse_heads(o->heads, &options, err))
		return false;
	for (size_t i = 0; i < o->families.n; i++)
		if (!al_catalog_add_families(session->catalog, o->families.items[i], err))
			return al_in(err, "--families");
	return modules ? al_model_view_open(view, session->catalog, checkpoint, &options, err)
		       : al_model_view_lay(view, session->catalog, checkpoint, &options, err);
}

/* A built-in model has no weights, only sizes. */
static void explain_opening(const char *path, struct al_error *err)
{
	const struct al_embedded_list *models = al_catalog_files(AL_CATALOG_MODELS);

	for (size_t i = 0; i < models->n_files; i++)
		if (al_path_kind(path) == AL_PATH_NONE
			&& strcasecmp(models->files[i].name, path) == 0)
			al_fail(err, AL_EINPUT,
				"\"%s\" is only a built-in description without weights; give the "
				"checkpoint's folder or file",
				path);
}

struct al_opened_checkpoint *al_session_checkpoint(struct al_session *session,
	const struct al_layout_options *o, const char *path, const char *config, bool modules,
	struct al_error *err)
{
	struct al_opened_checkpoint *opened = al_new(&session->arena, struct al_opened_checkpoint);

	opened->checkpoint = al_session_file(session, path, err);
	if (!opened->checkpoint) {
		explain_opening(path, err);
		return NULL;
	}
	if (!al_checkpoint_view(&opened->view, session, o, opened->checkpoint, config, modules,
		    err))
		return NULL;
	al_arena_defer(&session->arena, al_model_view_close, &opened->view);
	return opened;
}

const char *al_recognition_text(struct al_table *table, const struct al_model_view *view)
{
	return view->has_config ? al_format(&table->arena, "given by %s", view->config_path)
				: "recognized from tensor names and shapes";
}

static void note(const struct al_opened_checkpoint *opened, const uint64_t *fingerprint,
	struct al_table *table)
{
	al_checkpoint_note(table, opened->checkpoint, fingerprint);
	al_table_note(table, "family: %s, %s", opened->view.family->name,
		al_recognition_text(table, &opened->view));
	const char *method = al_checkpoint_metadata(opened->checkpoint, "attnledger.method");
	if (method)
		al_table_note(table, "compressed by attnledger, --method %s%s", method,
			opened->view.has_config
					&& al_json_get(opened->view.config.root,
						AL_CONFIG_COMPRESSED)
				? ": config.json is the original's"
				: "");
	for (size_t i = 0; i < opened->view.n_notes; i++)
		al_table_note(table, "%s", opened->view.notes[i]);
}

void al_opened_checkpoint_warn_mixers(const struct al_opened_checkpoint *opened,
	struct al_table *table)
{
	if (opened->view.mixers_note)
		al_table_warn(table, "%s", opened->view.mixers_note);
}

void al_opened_checkpoint_note(const struct al_opened_checkpoint *opened, struct al_table *table)
{
	note(opened, NULL, table);
}

void al_opened_checkpoint_note_fingerprint(const struct al_opened_checkpoint *opened,
	uint64_t fingerprint, struct al_table *table)
{
	note(opened, &fingerprint, table);
	al_opened_checkpoint_warn_mixers(opened, table);
}

bool al_opened_checkpoint_note_whole(const struct al_opened_checkpoint *opened,
	struct al_table *table, struct al_error *err)
{
	uint64_t fingerprint;

	if (!al_checkpoint_hash(opened->checkpoint, NULL, &fingerprint, err))
		return false;
	note(opened, &fingerprint, table);
	return true;
}
