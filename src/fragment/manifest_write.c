/* Manifests, written. */
#include "fragment/manifest.h"

#include <inttypes.h>

#include "base/fingerprint.h"
#include "base/json.h"

static void add_text(struct al_text *out, const char *key, const char *value)
{
	if (!value)
		return;
	al_text_addf(out, ",\n \"%s\": ", key);
	al_json_quote(out, value);
}

static void add_fingerprint(struct al_text *out, const char *before, uint64_t fingerprint)
{
	struct al_arena arena;

	al_arena_init(&arena);
	al_text_addf(out, "%s\"%s\"", before, al_fingerprint_text(&arena, fingerprint));
	al_arena_finish(&arena);
}

static void add_options(struct al_text *out, const struct al_manifest *m)
{
	al_text_add(out, ",\n \"options\": [");
	for (size_t i = 0; i < m->n_options; i++) {
		al_text_add(out, i ? ", " : "");
		al_json_quote(out, m->options[i]);
	}
	al_text_addf(out, "],\n \"tables\": %s,\n \"figures\": %s,\n \"report\": %s",
		m->has_tables ? "true" : "false", m->has_figures ? "true" : "false",
		m->has_report ? "true" : "false");
}

static void add_inputs(struct al_text *out, const struct al_manifest *m)
{
	al_text_add(out, ",\n \"inputs\": [");
	for (size_t i = 0; i < m->n_inputs; i++) {
		al_text_add(out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
		al_json_quote(out, m->inputs[i].name);
		add_fingerprint(out, ", \"fingerprint\": ", m->inputs[i].fingerprint);
		al_text_add(out, "}");
	}
	al_text_add(out, "]");
}

static void add_modules(struct al_text *out, const struct al_manifest *m)
{
	al_text_add(out, ",\n \"modules\": [");
	for (size_t i = 0; i < m->n_modules; i++) {
		const struct al_fragment_module *module = &m->modules[i];
		al_text_add(out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
		al_json_quote(out, module->name);
		al_text_addf(out, ", \"place\": %" PRId64, module->place);
		if (module->left_out) {
			al_text_add(out, ", \"left_out\": ");
			al_json_quote(out, module->left_out);
		} else {
			add_fingerprint(out, ", \"fingerprint\": ", module->fingerprint);
		}
		al_text_add(out, "}");
	}
	al_text_add(out, "]");
}

static void add_counts(struct al_text *out, const struct al_manifest *m)
{
	al_text_add(out, ",\n \"not_finite\": [");
	for (size_t i = 0; i < m->n_not_finite; i++) {
		al_text_add(out, i ? ",\n  {\"tensor\": " : "\n  {\"tensor\": ");
		al_json_quote(out, m->not_finite[i].tensor);
		al_text_addf(out, ", \"count\": %" PRId64 "}", m->not_finite[i].n);
	}
	al_text_add(out, "]");
}

void al_manifest_write(const struct al_manifest *m, struct al_text *out)
{
	al_text_addf(out, "{\n \"format\": %d,\n \"shard\": %" PRId64 ",\n \"of\": %" PRId64,
		AL_FRAGMENT_FORMAT, m->shard, m->n_shards);
	add_text(out, "attnledger", m->version);
	add_text(out, "checkpoint", m->checkpoint);
	add_text(out, "config", m->config);
	add_fingerprint(out, ",\n \"source\": ", m->source);
	add_fingerprint(out, ",\n \"header\": ", m->header);
	add_options(out, m);
	add_inputs(out, m);
	add_text(out, "kernel", m->kernel);
	add_text(out, "kernel_note", m->kernel_note);
	add_modules(out, m);
	add_counts(out, m);
	al_text_add(out, "\n}\n");
}
