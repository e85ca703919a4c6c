/* Shares of an audit, and what its answer hangs on. */
#include "answer/audit_part.h"

#include "audit/deal.h"
#include "base/file.h"
#include "base/hash.h"

const size_t *al_audit_deal_modules(const struct al_audit_run *run, int64_t n_shards)
{
	struct al_arena *arena = &run->session->arena;
	double *sizes = al_new_array(arena, double, run->n_chosen + 1);
	size_t *shards = al_new_array(arena, size_t, run->n_chosen + 1);

	for (size_t i = 0; i < run->n_chosen; i++)
		sizes[i] = al_attention_size(run->chosen[i]);
	al_deal(sizes, run->n_chosen, (size_t)n_shards, shards);
	return shards;
}

const char *al_shard_module_file(const struct al_audit_run *run,
	const struct al_attention *attention)
{
	return al_format(&run->session->arena, "%td.json", attention - run->opened->view.modules);
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
	AL_TEXT(text);

	if (!al_file_read(&text, path, MOST_INPUT_BYTES, err))
		return false;
	al_shard_file_say(f, name, al_shard_fingerprint(&f->arena, &text));
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
	for (int kind = 0; kind < AL_N_QUERIES && c->n_queries[kind]; kind++)
		hash = al_hash(hash, c->n_queries[kind], c->n_folds * sizeof(**c->n_queries));
	hash = al_hash(hash, c->sequences, c->n_sequences * sizeof(*c->sequences));
	al_shard_file_say(f, "calibration", al_fingerprint_text(&f->arena, hash));
	return true;
}

bool al_shard_summarize(const struct al_audit_run *run, struct al_shard_file *f,
	struct al_error *err)
{
	const struct al_audit_asked *o = run->options;
	const char *layout = o->layout.layout; /* a built-in one is an option like any other */
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
		&& (!layout || !al_json_is_path(layout) || say_file(f, "layout", layout, err));
}
