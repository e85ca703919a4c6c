/* The config.json that a GGUF file's metadata make, in place of the one that it hasn't beside it:
 * {"model_type": "gguf_ARCHITECTURE", ...}, where the key ARCHITECTURE.attention.head_count is
 * attention_head_count, and tokenizer.ggml.KEY is KEY. A list of texts, or one of more numbers than
 * a model has layers, is its length. What only the list of tensors says is said by vocab_size,
 * tie_word_embeddings, attention_bias, rope_freqs, and by quantization_config: which tensors are in
 * which number format. */
#include "checkpoint/gguf.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* What stands for a key in it; NULL: nothing. */
static const char *config_key(const struct al_gguf *gguf, const char *key, const char *prefix)
{
	const size_t length = strlen(prefix);

	if (strncmp(key, prefix, length) != 0 || !key[length])
		return NULL;
	char *name = al_strdup(gguf->arena, key + length);
	for (char *p = name; *p; p++)
		*p = *p == '.' ? '_' : *p;
	return name;
}

static void add_to_config(struct al_text *config, const char *key, const char *value)
{
	if (!key)
		return;
	al_text_add(config, ", ");
	al_json_quote(config, key);
	al_text_addf(config, ": %s", value);
}

static const struct al_tensor *find_tensor(const struct al_listing *listing, const char *name)
{
	const struct al_checkpoint *checkpoint = listing->checkpoint;

	for (size_t i = listing->first; i < checkpoint->n_tensors; i++)
		if (strcmp(checkpoint->tensors[i].name, name) == 0)
			return &checkpoint->tensors[i];
	return NULL;
}

/* What only the list of tensors says. */
static void add_facts(const struct al_gguf *gguf, const char *vocab_key, struct al_text *config)
{
	const struct al_tensor *tokens = find_tensor(gguf->listing, "token_embd.weight");

	if (!al_gguf_find_pair(gguf, gguf->n_pairs, vocab_key) && tokens && tokens->n_dims == 2)
		add_to_config(config, "vocab_size",
			al_format(gguf->arena, "%" PRId64, tokens->shape[0]));
	add_to_config(config, "tie_word_embeddings",
		find_tensor(gguf->listing, "output.weight") ? "false" : "true");
	add_to_config(config, "attention_bias",
		find_tensor(gguf->listing, "blk.0.attn_q.bias") ? "true" : "false");
	add_to_config(config, "rope_freqs",
		find_tensor(gguf->listing, "rope_freqs.weight") ? "true" : "false");
}

/* "blk.0.attn_q": as tensors are called in lists of formats. */
static void add_target(struct al_text *config, struct al_arena *arena, const char *name)
{
	static const char end[] = ".weight";
	const size_t length = strlen(name), cut = strlen(end);
	const bool is_weight = length > cut && strcmp(name + length - cut, end) == 0;

	al_json_quote(config, al_strndup(arena, name, is_weight ? length - cut : length));
}

/* The format of the tensor, and those after it in the same one; marks them as listed. */
static void add_format(const struct al_gguf *gguf, size_t first, bool *is_listed,
	struct al_text *config)
{
	const struct al_checkpoint *checkpoint = gguf->listing->checkpoint;
	const struct al_dtype *dtype = checkpoint->tensors[first].dtype;
	const char *comma = "";

	al_text_addf(config, "\"%s\": {\"type\": \"%s\", \"targets\": [", dtype->name, dtype->name);
	for (size_t i = first; i < checkpoint->n_tensors; i++) {
		if (checkpoint->tensors[i].dtype != dtype)
			continue;
		al_text_add(config, comma);
		add_target(config, gguf->arena, checkpoint->tensors[i].name);
		is_listed[i - gguf->listing->first] = true;
		comma = ", ";
	}
	al_text_add(config, "]}");
}

static void add_formats(const struct al_gguf *gguf, struct al_text *config)
{
	const struct al_checkpoint *checkpoint = gguf->listing->checkpoint;
	const size_t first = gguf->listing->first;
	bool *is_listed = al_new_array(gguf->arena, bool, checkpoint->n_tensors - first + 1);
	const char *comma = "";

	al_text_add(config,
		", \"quantization_config\": {\"quant_method\": \"gguf\", \"formats\": {");
	for (size_t i = first; i < checkpoint->n_tensors; i++) {
		if (is_listed[i - first])
			continue;
		al_text_add(config, comma);
		add_format(gguf, i, is_listed, config);
		comma = ", ";
	}
	al_text_add(config, "}}");
}

void al_gguf_set_config(const struct al_gguf *gguf)
{
	const struct al_gguf_pair *architecture = al_gguf_find_pair(gguf, gguf->n_pairs,
		"general.architecture");
	struct al_text config;

	if (!architecture || !architecture->text)
		return;
	const char *own = al_format(gguf->arena, "%s.", architecture->text);
	al_text_init(&config);
	al_text_add(&config, "{\"model_type\": ");
	al_json_quote(&config, al_format(gguf->arena, "gguf_%s", architecture->text));
	for (uint64_t i = 0; i < gguf->n_pairs; i++) {
		const struct al_gguf_pair *pair = &gguf->pairs[i];
		add_to_config(&config, config_key(gguf, pair->key, own), pair->value);
		add_to_config(&config, config_key(gguf, pair->key, "tokenizer.ggml."), pair->value);
	}
	add_facts(gguf, al_format(gguf->arena, "%svocab_size", own), &config);
	add_formats(gguf, &config);
	al_text_add(&config, "}");
	gguf->listing->checkpoint->header_config = al_strdup(gguf->arena, config.data);
	al_text_finish(&config);
}
