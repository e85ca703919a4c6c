/* "model" of tokenizer.json: what makes tokens of a piece; WordPiece and whole words are here.
 *= huggingface/tokenizers, tokenizers/src/models */
#include "model/tokenize/internal.h"

/* ---- WordPiece: the longest pieces from the left, or the whole word is unknown ---- */

/* The longest piece that begins at `at`; moves past it. -1: none. Where it continues the word, its
 * prefix replaces what comes before it. */
static int32_t next_piece(const struct al_token_model *model, char *word, size_t n, size_t *at)
{
	const size_t n_prefix = *at > 0 ? strlen(model->prefix) : 0;
	char *begin = word + *at - n_prefix;
	size_t length = n_prefix;

	memcpy(begin, model->prefix, n_prefix);
	const int32_t token = al_vocab_find_longest(&model->vocab,
		(struct al_span){begin, n_prefix + n - *at}, n_prefix, &length);
	*at += length - n_prefix;
	return token;
}

static size_t n_characters(struct al_span text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
	return n;
}

bool al_encode_word_piece(const struct al_token_model *model, struct al_arena *memory,
	struct al_span text, struct al_tokens *tokens, struct al_error *err)
{
	char *word = (char *)al_arena_alloc(memory, strlen(model->prefix) + text.n, 1)
		+ strlen(model->prefix);
	int32_t *found = al_new_array(memory, int32_t, text.n);
	size_t n = 0;

	if ((int64_t)n_characters(text) > model->longest_word) {
		al_tokens_add(tokens, model->unknown);
		return true;
	}
	memcpy(word, text.data, text.n);
	for (size_t at = 0; at < text.n; n++) {
		found[n] = next_piece(model, word, text.n, &at);
		if (!al_budget_take(model->vocab.budget, 0, err))
			return false;
		if (found[n] < 0) {
			al_tokens_add(tokens, model->unknown);
			return true;
		}
	}
	al_tokens_add_all(tokens, found, n);
	return true;
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

/* ---- the file ---- */

static bool read_vocab(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	struct al_vocab *vocab = out;

	if (!al_json_expect(r->doc, node, AL_JSON_OBJECT, err))
		return false;
	al_vocab_init(vocab, r->arena, al_json_size(node));
	al_json_each (member, node) {
		int32_t token;
		if (!al_read_token(context, member, &token, err))
			return false;
		al_vocab_add(vocab, al_span_of(al_strdup(r->arena, al_json_key(member))), token);
	}
	return vocab->longest > 0 || al_json_fail(r->doc, node, err, "the vocabulary is empty");
}

/* No text, and one without characters, is NULL. */
static bool read_text_or_null(void *context, const struct al_item *node, void *out,
	struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	const char *text = "";

	if (al_json_kind(node) != AL_JSON_NULL && !al_json_text(r->doc, node, &text, err))
		return false;
	*(const char **)out = *text ? al_strdup(r->arena, text) : NULL;
	return true;
}

static bool read_dropout(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	double value = 0;

	(void)out;
	if (al_json_kind(node) != AL_JSON_NULL && !al_json_real(r->doc, node, &value, err))
		return false;
	return value == 0
		|| al_json_fail(r->doc, node, err,
			"\"dropout\" is %g: tokenization would be random", value);
}

/* "a b", or ["a", "b"]. */
static bool read_pair(const struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_span pair[2], struct al_error *err)
{
	const char *texts[2];

	if (al_json_kind(node) != AL_JSON_ARRAY || al_json_size(node) != 2)
		return al_json_text(r->doc, node, &texts[0], err)
			&& (al_merge_split(texts[0], pair, err) || al_json_in(r->doc, node, err));
	for (size_t i = 0; i < 2; i++) {
		if (!al_json_text(r->doc, al_json_at(node, i), &texts[i], err))
			return false;
		pair[i] = al_span_of(texts[i]);
	}
	return true;
}

static bool read_merges(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_tokenizer_reader *r = context;
	struct al_token_model *model = &r->pipeline->model;
	struct al_span pair[2];

	(void)out;
	if (!al_json_expect(r->doc, node, AL_JSON_ARRAY, err))
		return false;
	al_merges_init(model, r->arena, al_json_size(node));
	al_json_each (item, node)
		if (!read_pair(r, item, pair, err))
			return false;
		else if (!al_merge_add(model, pair, err))
			return al_json_in(r->doc, item, err);
	return true;
}

/* ["piece", score] */
static bool read_piece(struct al_tokenizer_reader *r, const struct al_item *node, size_t token,
	struct al_error *err)
{
	struct al_token_model *model = &r->pipeline->model;
	const struct al_item *score;
	const char *text;

	if (!al_read_with_text(r, node, "score", &text, &score, err)
		|| !al_json_real(r->doc, score, &model->scores[token], err))
		return false;
	model->texts[token] = al_span_of(al_strdup(r->arena, text));
	return true;
}

static bool read_pieces(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_tokenizer_reader *r = context;
	struct al_token_model *model = &r->pipeline->model;
	size_t token = 0;

	(void)out;
	if (!al_json_expect(r->doc, node, AL_JSON_ARRAY, err))
		return false;
	al_scored_init(model, r->arena, al_json_size(node));
	al_json_each (item, node)
		if (!read_piece(r, item, token++, err))
			return false;
	al_scored_index(model, r->arena);
	return token > 0 || al_json_fail(r->doc, node, err, "the vocabulary is empty");
}

static bool read_unknown(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	return al_json_kind(node) == AL_JSON_NULL || al_read_token(context, node, out, err);
}

/* ---- all ---- */

#define AT(member) offsetof(struct al_token_model, member)
#define VOCAB \
	{ \
		AL_KEY("vocab", BY, AT(vocab)), .read = read_vocab, .is_required = true \
	}

static const struct al_field bpe_fields[] = {
	{AL_KEY("dropout", BY, 0), .read = read_dropout},
	{AL_KEY("unk_token", BY, AT(unknown_text)), .read = read_text_or_null},
	{AL_KEY("continuing_subword_prefix", BY, AT(prefix)), .read = read_text_or_null},
	{AL_KEY("end_of_word_suffix", BY, AT(suffix)), .read = read_text_or_null},
	{AL_KEY("fuse_unk", BOOLEAN, AT(fuses_unknown))},
	{AL_KEY("byte_fallback", BOOLEAN, AT(has_byte_fallback))},
	{AL_KEY("ignore_merges", BOOLEAN, AT(ignores_merges))},
	VOCAB,
	{AL_KEY("merges", BY, 0), .read = read_merges, .is_required = true},
};

static const struct al_field unigram_fields[] = {
	{AL_KEY("unk_id", BY, AT(unknown)), .read = read_unknown},
	{AL_KEY("byte_fallback", BOOLEAN, AT(has_byte_fallback))},
	{AL_KEY("vocab", BY, 0), .read = read_pieces, .is_required = true},
};

static const struct al_field word_level_fields[] = {
	{AL_KEY("unk_token", TEXT, AT(unknown_text)), .is_required = true},
	VOCAB,
};

static const struct al_field word_piece_fields[] = {
	{AL_KEY("unk_token", TEXT, AT(unknown_text)), .is_required = true},
	{AL_KEY("continuing_subword_prefix", TEXT, AT(prefix)), .is_required = true},
	{AL_KEY("max_input_chars_per_word", WHOLE, AT(longest_word)), .is_required = true},
	VOCAB,
};

enum { BPE, UNIGRAM, WORD_LEVEL, WORD_PIECE, N_MODELS };

static const char *const names[N_MODELS] = {"BPE", "Unigram", "WordLevel", "WordPiece"};

static const struct {
	al_token_encode *encode;
	const struct al_field *fields;
	size_t n_fields;
} models[N_MODELS] = {
	[BPE] = {al_encode_bpe, AL_FIELDS(bpe_fields)},
	[UNIGRAM] = {al_encode_unigram, AL_FIELDS(unigram_fields)},
	[WORD_LEVEL] = {encode_word, AL_FIELDS(word_level_fields)},
	[WORD_PIECE] = {al_encode_word_piece, AL_FIELDS(word_piece_fields)},
};

/* Older files name no type, so it is inferred from their keys. */
static int find_model(const struct al_tokenizer_reader *r, const struct al_item *node)
{
	const struct al_item *vocab = al_json_get(node, "vocab");
	const char *type;

	if (al_json_get(node, "type"))
		return al_json_get_text(r->doc, node, "type", true, &type, NULL)
			? al_find_name(type, names, N_MODELS)
			: -1;
	if (al_json_get(node, "merges"))
		return BPE;
	if (vocab && al_json_kind(vocab) == AL_JSON_ARRAY)
		return UNIGRAM;
	return al_json_get(node, "continuing_subword_prefix") ? WORD_PIECE : WORD_LEVEL;
}

static bool check_unknown(const struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	struct al_token_model *model = &r->pipeline->model;

	if (model->encode == al_encode_unigram)
		return model->unknown < (int64_t)model->n
			|| al_json_fail(r->doc, node, err,
				"\"unk_id\" is %d, the vocabulary has %zu pieces", model->unknown,
				model->n);
	if (!model->unknown_text)
		return true;
	model->unknown = al_vocab_find(&model->vocab, al_span_of(model->unknown_text));
	return model->unknown >= 0
		|| al_json_fail(r->doc, node, err,
			"\"unk_token\" is \"%.40s\", which the vocabulary doesn't have",
			model->unknown_text);
}

bool al_token_model_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	struct al_token_model *model = &r->pipeline->model;

	if (!al_json_expect(r->doc, node, AL_JSON_OBJECT, err))
		return false;
	const int kind = find_model(r, node);
	if (kind < 0)
		return al_type_fail(r, node, "model", names, N_MODELS, err);
	*model = (struct al_token_model){.encode = models[kind].encode, .unknown = -1};
	return al_typed_read(r, node, models[kind].fields, models[kind].n_fields, model, err)
		&& check_unknown(r, node, err);
}
