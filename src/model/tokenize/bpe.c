/* Byte-pair encoding: characters are joined by a list of merges, the earlier ones first. A
 * character that isn't in the vocabulary becomes its bytes, where they are, or the unknown token.
 *= huggingface/tokenizers, tokenizers/src/models/bpe/model.rs */
#include "model/tokenize/internal.h"

#include <string.h>

#include "base/text.h"

struct al_pair_merge {
	int32_t a, b; /* a -1: a free slot */
	struct al_bpe_merge merge;
};

static struct al_pair_merge *find_slot(const struct al_token_model *model, int32_t a, int32_t b)
{
	const size_t mask = model->n_merge_slots - 1;
	const int32_t pair[] = {a, b};
	const uint64_t hash = al_hash(AL_HASH_EMPTY, pair, sizeof(pair));
	size_t i = (size_t)(hash ^ hash >> 32) & mask;

	while (model->merges[i].a >= 0 && (model->merges[i].a != a || model->merges[i].b != b))
		i = (i + 1) & mask;
	return &model->merges[i];
}

static bool find_merge(const void *context, int32_t a, int32_t b, struct al_bpe_merge *out)
{
	const struct al_pair_merge *slot = find_slot(context, a, b);

	*out = slot->merge;
	return slot->a >= 0;
}

/* ---- the list of merges ---- */

/* "a b", or ["a", "b"]. */
static bool read_pair(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_span pair[2], struct al_error *err)
{
	const char *texts[2];

	if (al_json_kind(node) == AL_JSON_ARRAY && al_json_size(node) == 2) {
		for (size_t i = 0; i < 2; i++) {
			if (!al_json_text(r->doc, al_json_at(node, i), &texts[i], err))
				return false;
			pair[i] = al_span_of(texts[i]);
		}
		return true;
	}
	if (!al_json_text(r->doc, node, &texts[0], err))
		return false;
	const char *blank = strchr(texts[0], ' ');
	if (!blank || strchr(blank + 1, ' '))
		return al_json_fail(r->doc, node, err,
			"found \"%.60s\", expected two pieces with a blank between them", texts[0]);
	pair[0] = (struct al_span){texts[0], (size_t)(blank - texts[0])};
	pair[1] = al_span_of(blank + 1);
	return true;
}

static bool find_piece(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_span text, int32_t *out, struct al_error *err)
{
	*out = al_vocab_find(&r->tokenizer->model.vocab, text);
	return *out >= 0
		|| al_json_fail(r->doc, node, err, "\"%.*s\" isn't in the vocabulary",
			(int)(text.n < 60 ? text.n : 60), text.data);
}

/* What the two are together: the second without the prefix of what continues a word. */
static bool find_joined(struct al_tokenizer_reader *r, const struct al_item *node,
	const struct al_span pair[2], int32_t *out, struct al_error *err)
{
	const struct al_token_model *model = &r->tokenizer->model;
	const size_t n_prefix = model->prefix ? strlen(model->prefix) : 0;
	const size_t skipped = n_prefix < pair[1].n ? n_prefix : pair[1].n;
	struct al_text joined;

	al_text_init(&joined);
	al_text_add_bytes(&joined, pair[0].data, pair[0].n);
	al_text_add_bytes(&joined, pair[1].data + skipped, pair[1].n - skipped);
	bool ok = find_piece(r, node, (struct al_span){joined.data, joined.length}, out, err);
	al_text_finish(&joined);
	return ok;
}

static bool add_merge(struct al_tokenizer_reader *r, const struct al_item *node, size_t rank,
	struct al_error *err)
{
	struct al_token_model *model = &r->tokenizer->model;
	struct al_pair_merge merge = {.merge = {.rank = (double)rank}};
	struct al_span pair[2];

	if (!read_pair(r, node, pair, err) || !find_piece(r, node, pair[0], &merge.a, err)
		|| !find_piece(r, node, pair[1], &merge.b, err)
		|| !find_joined(r, node, pair, &merge.merge.token, err))
		return false;
	*find_slot(model, merge.a, merge.b) = merge;
	return true;
}

static bool read_merges(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_tokenizer_reader *r = context;
	struct al_token_model *model = &r->tokenizer->model;
	size_t rank = 0;

	(void)out;
	if (!al_json_expect(r->doc, node, AL_JSON_ARRAY, err))
		return false;
	const size_t n = al_json_size(node);
	for (model->n_merge_slots = 4; model->n_merge_slots < 2 * n;)
		model->n_merge_slots *= 2;
	model->merges = al_new_array(r->arena, struct al_pair_merge, model->n_merge_slots);
	for (size_t i = 0; i < model->n_merge_slots; i++)
		model->merges[i].a = -1;
	al_json_each (item, node)
		if (!add_merge(r, item, rank++, err))
			return false;
	return true;
}

static bool read_dropout(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	double value = 0;

	(void)out;
	if (al_json_kind(node) == AL_JSON_NULL)
		return true;
	if (!al_json_real(r->doc, node, &value, err))
		return false;
	return value == 0
		|| al_json_fail(r->doc, node, err,
			"\"dropout\" is %g: text would be split at random", value);
}

/* ---- a word ---- */

struct word {
	const struct al_token_model *model;
	int32_t *tokens;
	size_t n;
	bool unknown_waits; /* an unknown token that the next unknown character may be part of */
	struct al_text text; /* of a character with prefix and suffix */
};

static void end_unknown(struct word *word)
{
	if (word->unknown_waits)
		word->tokens[word->n++] = word->model->unknown;
	word->unknown_waits = false;
}

/* The bytes of a character as tokens; false where one of them has none. */
static bool add_bytes(struct word *word)
{
	const size_t before = word->n;

	for (size_t i = 0; i < word->text.length; i++) {
		word->tokens[word->n] = al_vocab_find_byte(&word->model->vocab,
			(unsigned char)word->text.data[i]);
		if (word->tokens[word->n++] < 0) {
			word->n = before;
			return false;
		}
	}
	return true;
}

static bool add_character(struct word *word, struct al_error *err)
{
	const struct al_token_model *model = word->model;
	const int32_t token = al_vocab_find(&model->vocab,
		(struct al_span){word->text.data, word->text.length});

	if (token >= 0) {
		end_unknown(word);
		word->tokens[word->n++] = token;
		return true;
	}
	if (model->has_byte_fallback && add_bytes(word))
		return true;
	if (model->unknown < 0)
		return al_fail(err, AL_EINPUT,
			"\"%s\" isn't in the vocabulary, and no unknown token is named",
			word->text.data);
	if (!model->fuses_unknown)
		end_unknown(word);
	word->unknown_waits = true;
	return true;
}

static bool add_characters(struct word *word, struct al_span text, struct al_error *err)
{
	const struct al_token_model *model = word->model;

	for (size_t at = 0, n; at < text.n; at += n) {
		n = al_utf8_length(text.data + at, text.n - at);
		word->text.length = 0;
		if (at > 0 && model->prefix)
			al_text_add(&word->text, model->prefix);
		al_text_add_bytes(&word->text, text.data + at, n);
		if (at + n == text.n && model->suffix)
			al_text_add(&word->text, model->suffix);
		if (!add_character(word, err))
			return false;
	}
	end_unknown(word);
	return true;
}

static size_t most_tokens(const struct al_token_model *model, struct al_span text)
{
	return text.n * (1 + (model->prefix ? strlen(model->prefix) : 0))
		+ (model->suffix ? strlen(model->suffix) : 0);
}

static bool encode(const struct al_token_model *model, struct al_arena *memory, struct al_span text,
	struct al_tokens *tokens, struct al_error *err)
{
	const int32_t whole = model->ignores_merges ? al_vocab_find(&model->vocab, text) : -1;
	struct word word = {.model = model};

	if (whole >= 0) {
		al_tokens_add(tokens, whole);
		return true;
	}
	word.tokens = al_new_array(memory, int32_t, most_tokens(model, text));
	al_text_init(&word.text);
	bool ok = add_characters(&word, text, err);
	al_text_finish(&word.text);
	const size_t n = ok ? al_merge_all(memory, word.tokens, word.n, find_merge, model) : 0;
	for (size_t i = 0; i < n; i++)
		al_tokens_add(tokens, word.tokens[i]);
	return ok;
}

bool al_bpe_read(struct al_tokenizer_reader *r, const struct al_item *node, struct al_error *err)
{
#define AT(member) offsetof(struct al_token_model, member)
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("dropout", BY, 0), .read = read_dropout},
		{AL_KEY("unk_token", BY, AT(unknown_text)), .read = al_read_text_or_null},
		{AL_KEY("continuing_subword_prefix", BY, AT(prefix)), .read = al_read_text_or_null},
		{AL_KEY("end_of_word_suffix", BY, AT(suffix)), .read = al_read_text_or_null},
		{AL_KEY("fuse_unk", BOOLEAN, AT(fuses_unknown))},
		{AL_KEY("byte_fallback", BOOLEAN, AT(has_byte_fallback))},
		{AL_KEY("ignore_merges", BOOLEAN, AT(ignores_merges))},
		{AL_KEY("vocab", BY, 0), .read = al_read_vocab, .is_required = true},
		{AL_KEY("merges", BY, 0), .read = read_merges, .is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct al_token_model *model = &r->tokenizer->model;

	model->encode = encode;
	return al_record_read(&r->source, &record, node, model, err)
		&& al_model_find_unknown(r, node, err);
}
