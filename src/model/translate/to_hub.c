/* Translations: a GGUF file's model as a folder of the hub has it. */
#include "model/translate/translate.h"

#include "catalog/config.h"
#include "formats/format.h"
#include "formats/gguf.h"
#include "model/tokenize/vocabulary.h"

static void add_member(struct al_text *config, const char *key, const char *value)
{
	al_text_add(config, ",\n  ");
	al_json_quote(config, key);
	al_text_addf(config, ": %s", value);
}

/* "LlamaForCausalLM" of "Llama" and "*ForCausalLM". */
static void add_architecture(struct al_text *config, const struct al_family *hub)
{
	const char *name = hub->architectures[0].name;

	al_text_addf(config, "{\n  \"architectures\": [\"%s%s\"]",
		*name == '*' && hub->class_name ? hub->class_name : "", name + (*name == '*'));
	al_text_addf(config, ",\n  \"model_type\": \"%s\"", hub->model_types.items[0]);
}

static bool is_number(const struct al_config_key *key)
{
	return key->type == AL_CONFIG_WHOLE || key->type == AL_CONFIG_BOOLEAN
		|| key->type == AL_CONFIG_CONTEXT;
}

/* A window of 0 is null there. */
static const char *value_text(const struct al_config_key *key, const struct al_setting *setting,
	struct al_arena *arena)
{
	return key->null && setting->value.integer == 0
		? "null"
		: al_config_value_text(key, &setting->value, arena);
}

/* The shortest text of a float32. Transformers takes a whole number for no fraction. */
static const char *fraction_text(struct al_arena *arena, const char *value)
{
	const float number = strtof(value, NULL);
	const char *text = value;

	for (int digits = 1; digits <= 9; digits++) {
		text = al_format(arena, "%.*g", digits, (double)number);
		if (!islessgreater(strtof(text, NULL), number))
			break;
	}
	return strpbrk(text, ".en") ? text : al_format(arena, "%s.0", text);
}

/* What both families call alike, under the hub's keys. */
static void add_sizes(struct al_text *config, const struct al_translating *t)
{
	for (size_t i = 0; i < t->hub->n_config; i++) {
		const struct al_config_key *key = &t->hub->config[i];
		const struct al_setting *setting;
		if (key->n_keys > 0 && is_number(key)
			&& al_settings_get(&t->view->settings, key->symbol, &setting, NULL)
			&& setting && setting->value.kind == AL_VALUE_INTEGER)
			add_member(config, key->keys[0],
				value_text(key, setting, &t->out->checkpoint.arena));
	}
}

static void add_numbers(struct al_text *config, const struct al_translating *t)
{
	const struct al_exchange *exchange = t->hub->gguf;

	for (size_t i = 0; i < exchange->n_numbers; i++) {
		const struct al_exchange_number *number = &exchange->numbers[i];
		const struct al_gguf_pair *pair = al_gguf_find_pair(&t->view->checkpoint->shards[0],
			al_format(&t->out->checkpoint.arena, "%s.%s", exchange->architecture,
				number->name));
		if (pair
			&& !strstr(config->data,
				al_format(&t->out->checkpoint.arena,
					"\"%s\":", number->value.keys[0])))
			add_member(config, number->value.keys[0],
				fraction_text(&t->out->checkpoint.arena, pair->value));
	}
}

/* Keys that the file's metadata and the hub's configs call alike. */
static void add_same(struct al_text *config, const struct al_translating *t)
{
	static const char *const keys[] = {"rope_scaling", "bos_token_id", "eos_token_id"};
	const struct al_item *padding = al_json_get(t->view->config.root, "padding_token_id");

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const struct al_item *node = al_json_get(t->view->config.root, keys[i]);
		AL_TEXT(value);
		if (!node)
			continue;
		al_json_add_compact(&value, node);
		add_member(config, keys[i], value.data);
	}
	AL_TEXT(value);
	if (padding)
		al_json_add_compact(&value, padding);
	add_member(config, "pad_token_id", padding ? value.data : "null");
}

static const char *make_config(const struct al_translating *t)
{
	AL_TEXT(config);

	add_architecture(&config, t->hub);
	add_sizes(&config, t);
	add_numbers(&config, t);
	add_same(&config, t);
	al_text_add(&config, "\n}\n");
	return al_strdup(&t->out->checkpoint.arena, config.data);
}

/* The hub's family of the view's; NULL: none is known. */
static bool find_family(struct al_translating *t, struct al_error *err)
{
	const struct al_family *gguf = t->view->family;
	const struct al_item *type = al_json_get(t->view->config.root, "model_type");
	const char *name;

	if (!type || !al_json_text(&t->view->config, type, &name, NULL))
		return true;
	for (size_t i = 0; i < gguf->n_hub; i++)
		if (strcmp(gguf->hub[i].name, name) == 0)
			return al_catalog_family(t->view->catalog, gguf->hub[i].of, &t->hub, err);
	return true;
}

/* ---- the tokenizer ---- */

static void add_token(const struct al_translating *t, const char *key, const char *name,
	const struct al_gguf_items *texts, struct al_text *config)
{
	const struct al_item *node = al_json_get(t->view->config.root, key);
	int64_t token = -1;

	if (!node || !al_json_whole(&t->view->config, node, &token, NULL) || token < 0
		|| token >= (int64_t)texts->n)
		return;
	al_text_addf(config, ", \"%s\": ", name);
	al_json_quote(config, texts->texts[token]);
}

static bool make_tokenizer_config(struct al_translating *t, struct al_error *err)
{
	struct al_checkpoint *out = &t->out->checkpoint;
	const struct al_gguf_pair *chat = al_gguf_find_pair(&t->view->checkpoint->shards[0],
		"tokenizer.chat_template");
	struct al_gguf_items texts;
	AL_TEXT(config);

	if (!al_gguf_read_items(t->view->checkpoint, "tokenizer.ggml.tokens", true, &out->arena,
		    &texts, err))
		return false;
	al_text_add(&config, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"");
	add_token(t, "bos_token_id", "bos_token", &texts, &config);
	add_token(t, "eos_token_id", "eos_token", &texts, &config);
	add_token(t, "unknown_token_id", "unk_token", &texts, &config);
	add_token(t, "padding_token_id", "pad_token", &texts, &config);
	if (chat && chat->text) {
		al_text_add(&config, ", \"chat_template\": ");
		al_json_quote(&config, chat->text);
	}
	al_text_add(&config, "}\n");
	out->tokenizer_config = al_strdup(&out->arena, config.data);
	return true;
}

/* One that can't be written is said; the model is there without it. */
static bool make_tokenizer(struct al_translating *t, struct al_error *err)
{
	struct al_checkpoint *out = &t->out->checkpoint;
	struct al_error why;
	AL_TEXT(json);

	if (!al_tokenizer_json_write(t->view->checkpoint, &out->arena, &json, &why)) {
		t->out->note = al_format(&out->arena, "the folder gets no tokenizer.json: %s",
			why.message);
		return true;
	}
	out->tokenizer = al_strdup(&out->arena, json.data);
	return make_tokenizer_config(t, err);
}

static bool translate(struct al_translating *t, struct al_error *err)
{
	struct al_checkpoint *out = &t->out->checkpoint;
	static struct al_metadata format = {.key = "format", .value = "pt"};

	if (!find_family(t, err) || !al_translation_begin(t, err) || !al_translate_tensors(t, err)
		|| !al_checkpoint_sort_names(out, err))
		return false;
	out->metadata = &format; /* transformers asks for it */
	out->n_metadata = 1;
	out->header_config = make_config(t);
	return make_tokenizer(t, err);
}

bool al_translate_to_hub(struct al_translation *out, struct al_model_view *view,
	struct al_error *err)
{
	struct al_translating t = {.out = out, .view = view, .gguf = view->family};

	*out = (struct al_translation){0};
	if (translate(&t, err))
		return true;
	al_translation_close(out);
	return false;
}
