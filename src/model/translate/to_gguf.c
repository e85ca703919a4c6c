/* Translations: a hub's model as a GGUF file would have it. */
#include "model/translate/translate.h"

#include "catalog/config.h"
#include "formats/format.h"
#include "formats/gguf_write.h"
#include "model/heads/rotary.h"
#include "model/tokenize/vocabulary.h"

struct metadata {
	struct al_translating *t;
	const struct al_exchange *exchange;
	struct al_gguf_entries entries;
};

void al_gguf_entries_add(struct al_gguf_entries *entries, struct al_gguf_entry entry)
{
	entries->items = al_grow(entries->arena, entries->items, entries->n, &entries->room,
		sizeof(*entries->items));
	entries->items[entries->n++] = entry;
}

/* Behind the architecture's name. */
static void add(struct metadata *m, const char *key, struct al_gguf_entry entry)
{
	entry.key = al_format(m->entries.arena, "%s.%s", m->exchange->architecture, key);
	al_gguf_entries_add(&m->entries, entry);
}

static bool add_sizes(struct metadata *m, struct al_error *err)
{
	const struct al_scope scope = al_settings_scope(&m->t->view->settings);

	for (size_t i = 0; i < m->exchange->n_sizes; i++) {
		const struct al_exchange_size *size = &m->exchange->sizes[i];
		int64_t value;
		if (!al_formula_whole(size->value, &scope, 0, &value, err))
			return al_in(err, "%s", size->name);
		if (value > UINT32_MAX)
			return al_fail(err, AL_EINPUT, "%s is %" PRId64 ", expected less than 2^32",
				size->name, value);
		if (value > 0)
			add(m, size->name, (struct al_gguf_entry){.number = (uint32_t)value});
	}
	return true;
}

static bool add_numbers(struct metadata *m, struct al_error *err)
{
	const struct al_json *config = &m->t->view->config;

	for (size_t i = 0; i < m->exchange->n_numbers; i++) {
		const struct al_exchange_number *number = &m->exchange->numbers[i];
		double value;
		if (!al_config_number(config, config->root, &number->value, (double)NAN, &value,
			    err))
			return false;
		if (!isnan(value))
			add(m, number->name,
				(struct al_gguf_entry){.is_real = true, .real = (float)value});
	}
	return true;
}

/* ---- rotary positions ---- */

static bool runs_rule(const struct metadata *m, const char *name)
{
	for (size_t i = 0; i < m->exchange->n_scaling; i++)
		if (strcmp(m->exchange->scaling[i], name) == 0)
			return true;
	return false;
}

/* Llama 3's rule, as what each pair's speed is divided by. */
static void add_divisors(struct metadata *m, const struct al_rotary_rule *rule,
	const struct al_attention *a)
{
	const int64_t n = a->rotary_width / 2;
	double *divisors = al_new_array(m->entries.arena, double, (size_t)n);

	for (int64_t i = 0; i < n; i++) {
		const double plain = pow((double)a->rotary_base,
			-2 * (double)i / (double)a->rotary_width);
		divisors[i] = plain / al_rotary_speed(rule, a, (size_t)i, 0);
	}
	al_translation_add_vector(m->t, "rope_freqs.weight", divisors, n);
}

static bool add_rule(struct metadata *m, const struct al_attention *a, bool *is_added,
	struct al_error *err)
{
	struct al_rotary_rule rule;

	if (!al_rotary_rule_read(m->t->view, a, m->entries.arena, &rule, err))
		return false;
	const char *name = al_rotary_rule_name(&rule);
	if (!name || al_rotary_is_plain(&rule))
		return true;
	if (!runs_rule(m, name))
		return al_fail(err, AL_EINPUT,
			"rope_scaling is \"%s\", which isn't written for llama.cpp's %s: convert "
			"it with llama.cpp's scripts",
			name, m->exchange->architecture);
	*is_added = true;
	if (strcmp(name, "llama3") == 0) {
		add_divisors(m, &rule, a);
		return true;
	}
	add(m, "rope.scaling.type", (struct al_gguf_entry){.text = name});
	add(m, "rope.scaling.factor",
		(struct al_gguf_entry){.is_real = true, .real = (float)rule.factor});
	return true;
}

static bool add_rotary(struct metadata *m, struct al_error *err)
{
	const struct al_model_view *view = m->t->view;
	bool is_added = false;

	for (size_t i = 0; !is_added && i < view->n_modules; i++)
		if (view->modules[i].is_rotary && !add_rule(m, &view->modules[i], &is_added, err))
			return false;
	return true;
}

/* ---- all ---- */

/* llama.cpp's family of that architecture. */
static bool find_family(struct al_translating *t, struct al_error *err)
{
	const char *name,
		*text = al_format(&t->view->arena, "{\"model_type\": \"gguf_%s\"}",
			t->hub->gguf->architecture);
	AL_JSON(doc);

	return al_json_parse(&doc, "architecture", text, strlen(text), err)
		&& al_catalog_family_for(t->view->catalog, &doc, doc.root, &t->gguf, &name, err);
}

static void note(struct al_translating *t, const char *what)
{
	t->out->note = t->out->note
		? al_format(&t->out->checkpoint.arena, "%s; %s", t->out->note, what)
		: what;
}

static bool has_window(const struct al_model_view *view)
{
	for (size_t i = 0; i < view->n_modules; i++)
		for (size_t k = 0; k < view->modules[i].n_with; k++)
			if (strcmp(view->modules[i].with[k].symbol, "sliding") == 0
				&& view->modules[i].with[k].value != 0)
				return true;
	return false;
}

/* llama.cpp's graph of some architectures looks at all tokens where the model doesn't. */
static void note_window(struct al_translating *t)
{
	const struct al_setting *window;

	if (!has_window(t->view) || !al_settings_get(&t->view->settings, "window", &window, NULL)
		|| !window)
		return;
	for (size_t i = 0; i < t->hub->gguf->n_sizes; i++)
		if (strcmp(t->hub->gguf->sizes[i].name, "attention.sliding_window") == 0)
			return;
	note(t,
		al_format(&t->out->checkpoint.arena,
			"llama.cpp runs the architecture %s without a window: beyond %" PRId64
			" tokens it sees more of them than the original",
			t->hub->gguf->architecture, window->value.integer));
}

static bool add_metadata(struct metadata *m, const char *tokenizer, struct al_error *err)
{
	al_gguf_entries_add(&m->entries,
		(struct al_gguf_entry){.key = "general.architecture",
			.text = m->exchange->architecture});
	if (!add_sizes(m, err) || !add_numbers(m, err) || !add_rotary(m, err))
		return al_in(err, "%s", m->t->view->config_path);
	if (tokenizer)
		return al_translate_tokenizer(&m->entries, m->t->view, tokenizer, err);
	note(m->t,
		"no tokenizer.json or tokenizer.bin is next to the source, so the file has no "
		"vocabulary: llama.cpp can't read text with it");
	al_gguf_entries_add(&m->entries,
		(struct al_gguf_entry){.key = "tokenizer.ggml.model", .text = "none"});
	return true;
}

static bool translate(struct al_translating *t, const char *tokenizer, struct al_error *err)
{
	struct al_checkpoint *out = &t->out->checkpoint;

	if (t->hub && !find_family(t, err))
		return false;
	if (!al_translation_begin(t, err))
		return false;
	struct metadata m = {.t = t, .exchange = t->hub->gguf, .entries = {.arena = &out->arena}};
	out->shards[0].format = al_format_gguf.name;
	note_window(t);
	return al_translate_tensors(t, err) && add_metadata(&m, tokenizer, err)
		&& al_checkpoint_sort_names(out, err)
		&& al_gguf_make_header(out, &t->out->header, m.entries.items, m.entries.n, err)
		&& (!tokenizer || al_vocabulary_check(out, tokenizer, err));
}

bool al_translate_to_gguf(struct al_translation *out, struct al_model_view *view,
	const char *tokenizer, struct al_error *err)
{
	struct al_translating t = {.out = out,
		.view = view,
		.hub = view->family->gguf ? view->family : NULL,
		.to_gguf = true};

	*out = (struct al_translation){0};
	if (!view->has_config)
		return al_fail(err, AL_EINPUT, "%s: a GGUF file needs the sizes of its config.json",
			view->checkpoint->path);
	if (translate(&t, tokenizer, err))
		return true;
	al_translation_close(out);
	return false;
}
