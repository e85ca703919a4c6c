/* Shares of an audit, and what its answer hangs on. */
#include "commands/audit_part.h"

#include <inttypes.h>
#include <string.h>

#include "audit/deal.h"
#include "base/file.h"
#include "base/fingerprint.h"
#include "base/hash.h"

/* ---- shares ---- */

const int64_t *al_audit_deal_modules(const struct al_audit_run *run, int64_t n_shards)
{
	const struct al_model_view *view = &run->opened->view;
	struct al_arena *arena = &run->session->arena;
	double *sizes = al_new_array(arena, double, view->n_modules + 1);
	size_t *places = al_new_array(arena, size_t, view->n_modules + 1);
	size_t *dealt = al_new_array(arena, size_t, view->n_modules + 1), n = 0;
	int64_t *shards = al_new_array(arena, int64_t, view->n_modules + 1);

	for (size_t i = 0; i < view->n_modules; i++)
		if (al_audit_run_chooses(run, &view->modules[i])) {
			places[n] = i;
			sizes[n++] = al_attention_size(&view->modules[i]);
		}
	al_deal(sizes, n, (size_t)n_shards, dealt);
	for (size_t i = 0; i < n; i++)
		shards[places[i]] = (int64_t)dealt[i] + 1;
	return shards;
}

/* A tensor that several modules share is the first one's. */
static void mark_modules(const struct al_audit_run *run, const int64_t *shards, int64_t shard,
	bool *is_mine, bool *is_of_module)
{
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;

	for (size_t i = run->opened->view.n_modules; i-- > 0;) {
		const struct al_attention *attention = &run->opened->view.modules[i];
		if (shards[i] == 0)
			continue;
		al_attention_mark_tensors(checkpoint, attention, shards[i] == shard, is_mine);
		al_attention_mark_tensors(checkpoint, attention, true, is_of_module);
	}
}

const bool *al_audit_deal_tensors(const struct al_audit_run *run, const int64_t *shards,
	int64_t shard, int64_t n_shards)
{
	const struct al_checkpoint *checkpoint = run->opened->checkpoint;
	const size_t n_tensors = checkpoint->n_tensors;
	struct al_arena *arena = &run->session->arena;
	bool *is_mine = al_new_array(arena, bool, n_tensors + 1);
	bool *is_of_module = al_new_array(arena, bool, n_tensors + 1);
	double *sizes = al_new_array(arena, double, n_tensors + 1);
	size_t *dealt = al_new_array(arena, size_t, n_tensors + 1);

	mark_modules(run, shards, shard, is_mine, is_of_module);
	for (size_t i = 0; i < n_tensors; i++)
		sizes[i] = is_of_module[i] ? 0 : (double)checkpoint->tensors[i].bytes;
	al_deal(sizes, n_tensors, (size_t)n_shards, dealt);
	for (size_t i = 0; i < n_tensors; i++)
		if (!is_of_module[i])
			is_mine[i] = (int64_t)dealt[i] + 1 == shard;
	return is_mine;
}

/* ---- names ---- */

const char *al_shard_name(struct al_arena *arena, int64_t shard, int64_t n_shards)
{
	return al_format(arena, "shard-%" PRId64 "-of-%" PRId64, shard, n_shards);
}

const char *al_shard_fingerprint(struct al_arena *arena, const struct al_text *text)
{
	return al_fingerprint_text(arena, al_hash(AL_HASH_EMPTY, text->data, text->length));
}

/* ---- what the answer hangs on ---- */

enum { MOST_INPUT_BYTES = 1 << 30 };

static bool say_file(struct al_shard_file *f, const char *name, const char *path,
	struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, path, MOST_INPUT_BYTES, err))
		return false;
	al_shard_file_say(f, name, al_shard_fingerprint(&f->arena, &text));
	al_text_finish(&text);
	return true;
}

/* The same tokens of the same model are the same calibration. Of a folder of matrices each is read
 * by one part alone. */
static bool say_covariance(struct al_shard_file *f, const struct al_covariance *covariance,
	struct al_error *err)
{
	const struct al_calibration *c = al_covariance_calibration(covariance);
	uint64_t hash = AL_HASH_EMPTY;

	if (!c)
		return covariance->is_folder || say_file(f, "calibration", covariance->path, err);
	hash = al_hash(hash, &c->source, sizeof(c->source));
	hash = al_hash(hash, &c->n_queries, sizeof(c->n_queries));
	hash = al_hash(hash, c->sequences, c->n_sequences * sizeof(*c->sequences));
	al_shard_file_say(f, "calibration", al_fingerprint_text(&f->arena, hash));
	return true;
}

bool al_audit_summarize(const struct al_audit_run *run, struct al_shard_file *f,
	struct al_error *err)
{
	const struct al_audit_asked *o = run->options;
	const struct al_json *config = &run->opened->view.config;
	const struct al_text text = {.data = config->text, .length = config->length};
	const struct al_texts options = al_options_texts(al_audit_shaping, o, &f->arena);

	al_shard_file_say(f, "attnledger", al_version());
	al_shard_file_say(f, "header",
		al_fingerprint_text(&f->arena, run->opened->checkpoint->header_hash));
	for (size_t i = 0; i < options.n; i++)
		al_shard_file_say(f,
			al_strndup(&f->arena, options.items[i], strcspn(options.items[i], "=")),
			options.items[i]);
	al_shard_file_say(f, "configuration", al_shard_fingerprint(&f->arena, &text));
	return (!o->calibration || say_covariance(f, &run->covariance, err))
		&& (!o->layout.layout || say_file(f, "layout", o->layout.layout, err));
}
