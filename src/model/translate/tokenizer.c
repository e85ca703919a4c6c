/* Translations: a tokenizer.json as a GGUF file's metadata. */
#include "formats/gguf_write.h"
#include "model/tokenize/vocabulary.h"
#include "model/translate/translate.h"

#define KEY(name) "tokenizer.ggml." name

static void add_text(struct al_gguf_entries *entries, const char *key, const char *text)
{
	al_gguf_entries_add(entries, (struct al_gguf_entry){.key = key, .text = text});
}

static void add_token(struct al_gguf_entries *entries, const char *key, int64_t token)
{
	if (token >= 0)
		al_gguf_entries_add(entries,
			(struct al_gguf_entry){.key = key, .number = (uint32_t)token});
}

static void add_flag(struct al_gguf_entries *entries, const char *key, bool is_set)
{
	al_gguf_entries_add(entries,
		(struct al_gguf_entry){.key = key, .is_flag = true, .number = is_set});
}

/* A token that the config names, the first of several; -1: none. */
static int64_t find_token(const struct al_model_view *view, const char *key)
{
	const struct al_item *node = al_json_get(view->config.root, key);
	int64_t token = -1;

	if (node && al_json_kind(node) == AL_JSON_ARRAY)
		node = al_json_first(node);
	return node && al_json_whole(&view->config, node, &token, NULL) ? token : -1;
}

static void add_vocabulary(struct al_gguf_entries *entries, const struct al_vocabulary *v)
{
	add_text(entries, KEY("model"), v->model);
	add_text(entries, KEY("pre"), v->pre);
	al_gguf_entries_add(entries,
		(struct al_gguf_entry){.key = KEY("tokens"), .list = v->tokens, .n_list = v->n});
	if (v->scores)
		al_gguf_entries_add(entries,
			(struct al_gguf_entry){.key = KEY("scores"),
				.reals = v->scores,
				.n_list = v->n});
	al_gguf_entries_add(entries,
		(struct al_gguf_entry){.key = KEY("token_type"),
			.wholes = v->types,
			.n_list = v->n});
	if (!v->scores)
		al_gguf_entries_add(entries,
			(struct al_gguf_entry){.key = KEY("merges"),
				.list = v->merges,
				.n_list = v->n_merges});
}

bool al_translate_tokenizer(struct al_gguf_entries *entries, struct al_model_view *view,
	const char *path, struct al_error *err)
{
	const struct al_setting *vocab;
	struct al_vocabulary v;

	if (!al_settings_get(&view->settings, "vocab", &vocab, err)
		|| !al_vocabulary_read(&v, entries->arena, path, vocab ? vocab->value.integer : 0,
			err))
		return false;
	const int64_t first = find_token(view, "bos_token_id"),
		      last = find_token(view, "eos_token_id");
	add_vocabulary(entries, &v);
	add_token(entries, KEY("bos_token_id"), v.first >= 0 ? v.first : first);
	add_token(entries, KEY("eos_token_id"), v.last >= 0 ? v.last : last);
	add_token(entries, KEY("unknown_token_id"), v.unknown);
	add_token(entries, KEY("padding_token_id"), find_token(view, "pad_token_id"));
	add_flag(entries, KEY("add_bos_token"), v.first >= 0);
	add_flag(entries, KEY("add_eos_token"), v.last >= 0);
	if (v.scores)
		add_flag(entries, KEY("add_space_prefix"), v.adds_space);
	return true;
}
