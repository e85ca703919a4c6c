/* "model" of tokenizer.json: what makes tokens of a piece; WordPiece and whole words stand here.
 *= huggingface/tokenizers, tokenizers/src/models */
#include "model/tokenize/internal.h"

#include <string.h>

#include "base/text.h"

bool al_read_vocab(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	struct al_vocab *vocab = &r->tokenizer->model.vocab;

	(void)out;
	if (!al_json_expect(r->doc, node, AL_JSON_OBJECT, err))
		return false;
	al_vocab_init(vocab, r->arena, al_json_size(node));
	al_json_each (member, node) {
		int32_t token;
		if (!al_read_token(r->doc, member, &token, err))
			return false;
		al_vocab_add(vocab, al_span_of(al_strdup(r->arena, al_json_key(member))), token);
	}
	return vocab->longest > 0 || al_json_fail(r->doc, node, err, "the vocabulary is empty");
}

bool al_model_find_unknown(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	struct al_token_model *model = &r->tokenizer->model;

	model->unknown = -1;
	if (!model->unknown_text)
		return true;
	model->unknown = al_vocab_find(&model->vocab, al_span_of(model->unknown_text));
	return model->unknown >= 0
		|| al_json_fail(r->doc, node, err,
			"\"unk_token\" is \"%.40s\", which the vocabulary doesn't have",
			model->unknown_text);
}

/* ---- WordPiece: the longest pieces from the left, or the whole word is unknown ---- */

/* The longest piece that begins at `at`; moves past it. -1: none. */
static int32_t next_piece(const struct al_token_model *model, struct al_span word, char *buffer,
	size_t *at)
{
	const size_t n_prefix = *at > 0 ? strlen(model->prefix) : 0;
	const size_t longest = model->vocab.longest, n_left = word.n - *at;
	const size_t most = n_prefix > longest ? 0 : longest - n_prefix;
	const size_t n = n_left < most ? n_left : most;
	uint64_t hash = al_hash(AL_HASH_EMPTY, model->prefix, n_prefix);
	int32_t best = -1;
	size_t n_best = 0;

	memcpy(buffer, model->prefix, n_prefix);
	memcpy(buffer + n_prefix, word.data + *at, n);
	for (size_t i = 1; i <= n; i++) {
		hash = al_hash(hash, buffer + n_prefix + i - 1, 1);
		const int32_t token = al_vocab_find_hashed(&model->vocab,
			(struct al_span){buffer, n_prefix + i}, hash);
		if (token >= 0) {
			best = token;
			n_best = i;
		}
	}
	*at += n_best;
	return best;
}

static size_t n_characters(struct al_span text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
	return n;
}

static bool encode_word_piece(const struct al_token_model *model, struct al_arena *memory,
	struct al_span text, struct al_tokens *tokens, struct al_error *err)
{
	char *buffer = al_arena_alloc(memory, strlen(model->prefix) + text.n, 1);
	int32_t *found = al_new_array(memory, int32_t, text.n);
	size_t n = 0;

	if ((int64_t)n_characters(text) > model->longest_word) {
		al_tokens_add(tokens, model->unknown);
		return true;
	}
	if (!al_vocab_check_lookups(&model->vocab, text.n, err))
		return false;
	for (size_t at = 0; at < text.n; n++)
		if ((found[n] = next_piece(model, text, buffer, &at)) < 0) {
			al_tokens_add(tokens, model->unknown);
			return true;
		}
	for (size_t i = 0; i < n; i++)
		al_tokens_add(tokens, found[i]);
	return true;
}

static bool word_piece_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("unk_token", TEXT, offsetof(struct al_token_model, unknown_text)),
			.is_required = true},
		{AL_KEY("continuing_subword_prefix", TEXT, offsetof(struct al_token_model, prefix)),
			.is_required = true},
		{AL_KEY("max_input_chars_per_word", WHOLE,
			 offsetof(struct al_token_model, longest_word)),
			.is_required = true},
		{AL_KEY("vocab", BY, 0), .read = al_read_vocab, .is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct al_token_model *model = &r->tokenizer->model;

	model->encode = encode_word_piece;
	return al_record_read(&r->source, &record, node, model, err)
		&& al_model_find_unknown(r, node, err);
}

/* ---- whole words ---- */

static bool encode_word(const struct al_token_model *model, struct al_arena *memory,
	struct al_span text, struct al_tokens *tokens, struct al_error *err)
{
	const int32_t token = al_vocab_find(&model->vocab, text);

	(void)memory;
	(void)err;
	al_tokens_add(tokens, token < 0 ? model->unknown : token);
	return true;
}

static bool word_level_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("unk_token", TEXT, offsetof(struct al_token_model, unknown_text)),
			.is_required = true},
		{AL_KEY("vocab", BY, 0), .read = al_read_vocab, .is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct al_token_model *model = &r->tokenizer->model;

	model->encode = encode_word;
	return al_record_read(&r->source, &record, node, model, err)
		&& al_model_find_unknown(r, node, err);
}

/* ---- all ---- */

static const struct al_step_type parts[] = {
	{"BPE", al_bpe_read}, {"Unigram", al_unigram_read}, {"WordLevel", word_level_read},
	{"WordPiece", word_piece_read}, {"ScoredBPE", al_scored_bpe_read}, /* of GGUF files alone */
};

enum { N_PARTS = sizeof(parts) / sizeof(*parts) };

/* Older files name no type: their keys tell. */
static const struct al_step_type *part_by_keys(const struct al_item *node)
{
	const struct al_item *vocab = al_json_get(node, "vocab");

	if (al_json_get(node, "merges"))
		return &parts[0];
	if (vocab && al_json_kind(vocab) == AL_JSON_ARRAY)
		return &parts[1];
	return &parts[al_json_get(node, "continuing_subword_prefix") ? 3 : 2];
}

bool al_token_model_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	if (al_json_kind(node) == AL_JSON_OBJECT && !al_json_get(node, "type"))
		return part_by_keys(node)->read(r, node, err);
	return al_json_expect(r->doc, node, AL_JSON_OBJECT, err)
		&& al_part_read(r, node, "model", parts, r->is_of_gguf ? N_PARTS : N_PARTS - 1,
			err);
}
