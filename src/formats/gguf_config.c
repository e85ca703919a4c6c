/* The config.json that a GGUF file's metadata make, in place of the file that it lacks:
 * {"model_type": "gguf_ARCHITECTURE", ...}, where the key ARCHITECTURE.attention.head_count is
 * attention_head_count, and tokenizer.ggml.KEY is KEY. A list of texts, or one of more numbers than
 * a model has layers, is its length. Keys of rope.scaling are rope_scaling too, an object. What
 * only the list of tensors shows is in vocab_size, tie_word_embeddings, attention_bias, rope_freqs,
 * ffn_norm, attn_q_norm, attention_kv_b, and by quantization_config: which tensors are in which
 * number format. */
#include "formats/gguf.h"

#include "base/json.h"

/* A key's value in it; NULL: none. */
static const char *config_key(struct al_arena *arena, const char *key, const char *prefix)
{
	const size_t length = strlen(prefix);

	if (strncmp(key, prefix, length) != 0 || !key[length])
		return NULL;
	char *name = al_strdup(arena, key + length);
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

static void add_presence(struct al_text *config, const struct al_checkpoint *checkpoint,
	const char *key, const char *tensor)
{
	add_to_config(config, key, al_checkpoint_find(checkpoint, tensor) ? "true" : "false");
}

/* What only the list of tensors shows. */
static void add_facts(struct al_checkpoint *checkpoint, const char *vocab_key,
	struct al_text *config)
{
	const struct al_tensor *tokens = al_checkpoint_find(checkpoint, "token_embd.weight");

	if (!al_gguf_find_pair(&checkpoint->shards[0], vocab_key) && tokens && tokens->n_dims == 2)
		add_to_config(config, "vocab_size",
			al_format(&checkpoint->arena, "%" PRId64, tokens->shape[0]));
	add_to_config(config, "tie_word_embeddings",
		al_checkpoint_find(checkpoint, "output.weight") ? "false" : "true");
	add_presence(config, checkpoint, "attention_bias", "blk.0.attn_q.bias");
	add_presence(config, checkpoint, "rope_freqs", "rope_freqs.weight");
	add_presence(config, checkpoint, "ffn_norm", "blk.0.ffn_norm.weight");
	add_presence(config, checkpoint, "attn_q_norm", "blk.0.attn_q_norm.weight");
	if (al_checkpoint_find(checkpoint, "blk.0.attn_k_b.weight"))
		add_presence(config, checkpoint, "attention_kv_b", "blk.0.attn_kv_b.weight");
}

static const struct al_gguf_pair *find_own(struct al_checkpoint *checkpoint, const char *own,
	const char *key)
{
	return al_gguf_find_pair(&checkpoint->shards[0],
		al_format(&checkpoint->arena, "%s%s", own, key));
}

/* YaRN's size of the rotations, where the file multiplies it by a factor of its own. */
static void add_attention_factor(struct al_checkpoint *checkpoint, const char *own, double factor,
	struct al_text *config)
{
	const struct al_gguf_pair *pair = find_own(checkpoint, own, "rope.scaling.attn_factor");
	const double usual = 0.1 * log(fmax(factor, 1)) + 1;

	if (pair)
		al_text_addf(config, ", \"attention_factor\": %.17g",
			usual * strtod(pair->value, NULL));
}

/* The rule of rotary positions as a config.json has it. A factor without a type is linear, and
 * without a factor nothing is scaled.
 *= ggml-org/llama.cpp, src/llama-model.cpp, llama_model_base::load_hparams */
static void add_rope_scaling(struct al_checkpoint *checkpoint, const char *own,
	struct al_text *config)
{
	static const struct {
		const char *keys[2], *name;
	} members[] = {
		{{"rope.scaling.original_context_length", "context_length"},
			"original_max_position_embeddings"},
		{{"rope.scaling.yarn_beta_fast", NULL}, "beta_fast"},
		{{"rope.scaling.yarn_beta_slow", NULL}, "beta_slow"},
	};
	const struct al_gguf_pair *type = find_own(checkpoint, own, "rope.scaling.type");
	const struct al_gguf_pair *factor = find_own(checkpoint, own, "rope.scaling.factor");
	const char *name = type && type->text ? type->text : "linear";

	factor = factor ? factor : find_own(checkpoint, own, "rope.scale_linear");
	if (!factor || strcmp(name, "none") == 0)
		return;
	al_text_add(config, ", \"rope_scaling\": {\"rope_type\": ");
	al_json_quote(config, name);
	add_to_config(config, "factor", factor->value);
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		const struct al_gguf_pair *pair = find_own(checkpoint, own, members[i].keys[0]);
		if (!pair && members[i].keys[1])
			pair = find_own(checkpoint, own, members[i].keys[1]);
		if (pair)
			add_to_config(config, members[i].name, pair->value);
	}
	if (strcmp(name, "yarn") == 0)
		add_attention_factor(checkpoint, own, strtod(factor->value, NULL), config);
	al_text_add(config, "}");
}

/* "blk.0.attn_q": as tensors are called in lists of formats. */
static void add_target(struct al_text *config, struct al_arena *arena, const char *name)
{
	static const char end[] = ".weight";
	const size_t length = strlen(name);

	al_json_quote(config,
		al_strndup(arena, name,
			al_ends_with(name, end) && length > strlen(end) ? length - strlen(end)
									: length));
}

/* A format and the tensors in it; marks them as listed. */
static void add_format(struct al_checkpoint *checkpoint, const struct al_dtype *dtype,
	bool *is_listed, struct al_text *config)
{
	const char *comma = "";

	al_text_addf(config, "\"%s\": {\"type\": \"%s\", \"targets\": [", dtype->name, dtype->name);
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		if (checkpoint->tensors[i].dtype != dtype)
			continue;
		al_text_add(config, comma);
		add_target(config, &checkpoint->arena, checkpoint->tensors[i].name);
		is_listed[i] = true;
		comma = ", ";
	}
	al_text_add(config, "]}");
}

/* Those of biases come first: a weight's name, with which its bias's begins, would take both. */
static void add_formats(struct al_checkpoint *checkpoint, struct al_text *config)
{
	bool *is_listed = al_new_array(&checkpoint->arena, bool, checkpoint->n_tensors + 1);
	const char *comma = "";

	al_text_add(config,
		", \"quantization_config\": {\"quant_method\": \"gguf\", \"formats\": {");
	for (size_t i = 0; i < 2 * checkpoint->n_tensors; i++) {
		const size_t t = i % checkpoint->n_tensors;
		if (is_listed[t]
			|| (i < checkpoint->n_tensors
				&& !al_ends_with(checkpoint->tensors[t].name, ".bias")))
			continue;
		al_text_add(config, comma);
		add_format(checkpoint, checkpoint->tensors[t].dtype, is_listed, config);
		comma = ", ";
	}
	al_text_add(config, "}}");
}

void al_gguf_set_config(struct al_checkpoint *checkpoint)
{
	const struct al_shard *first = &checkpoint->shards[0];
	struct al_arena *arena = &checkpoint->arena;
	const struct al_gguf_pair *architecture = al_gguf_find_pair(first, "general.architecture");
	AL_TEXT(config);

	if (!architecture || !architecture->text)
		return;
	const char *own = al_format(arena, "%s.", architecture->text);
	al_text_add(&config, "{\"model_type\": ");
	al_json_quote(&config, al_format(arena, "gguf_%s", architecture->text));
	for (uint64_t i = 0; i < first->n_pairs; i++) {
		const struct al_gguf_pair *pair = &first->pairs[i];
		add_to_config(&config, config_key(arena, pair->key, own), pair->value);
		add_to_config(&config, config_key(arena, pair->key, "tokenizer.ggml."),
			pair->value);
	}
	add_rope_scaling(checkpoint, own, &config);
	add_facts(checkpoint, al_format(arena, "%svocab_size", own), &config);
	add_formats(checkpoint, &config);
	al_text_add(&config, "}");
	checkpoint->header_config = al_strdup(arena, config.data);
}
