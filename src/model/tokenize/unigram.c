/* Unigram: the split with the highest sum of scores, by Viterbi's algorithm. A character without a
 * piece of its own may be unknown, at the lowest score less 10; unknown neighbours are one token.
 *= huggingface/tokenizers, tokenizers/src/models/unigram/model.rs */
#include "model/tokenize/internal.h"

#include <math.h>

#include "base/text.h"

static const double unknown_penalty = 10;

/* ["piece", score] */
static bool read_piece(struct al_tokenizer_reader *r, const struct al_item *node, int32_t token,
	struct al_error *err)
{
	struct al_token_model *model = &r->tokenizer->model;
	const char *text;

	if (!al_json_expect(r->doc, node, AL_JSON_ARRAY, err))
		return false;
	if (al_json_size(node) != 2)
		return al_json_fail(r->doc, node, err, "%zu items, expected a piece and its score",
			al_json_size(node));
	if (!al_json_text(r->doc, al_json_at(node, 0), &text, err)
		|| !al_json_real(r->doc, al_json_at(node, 1), &model->scores[token], err))
		return false;
	model->texts[token] = al_span_of(al_strdup(r->arena, text));
	al_vocab_add(&model->vocab, model->texts[token], token);
	model->unknown_score = fmin(model->unknown_score, model->scores[token]);
	return true;
}

static bool read_pieces(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_tokenizer_reader *r = context;
	struct al_token_model *model = &r->tokenizer->model;
	int32_t token = 0;

	(void)out;
	if (!al_json_expect(r->doc, node, AL_JSON_ARRAY, err))
		return false;
	al_vocab_init(&model->vocab, r->arena, al_json_size(node));
	model->scores = al_new_array(r->arena, double, al_json_size(node));
	model->texts = al_new_array(r->arena, struct al_span, al_json_size(node));
	model->unknown_score = INFINITY;
	al_json_each (item, node)
		if (!read_piece(r, item, token++, err))
			return false;
	model->unknown_score -= unknown_penalty;
	return token > 0 || al_json_fail(r->doc, node, err, "the vocabulary is empty");
}

static bool read_unknown(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;

	*(int32_t *)out = -1;
	return !node || al_json_kind(node) == AL_JSON_NULL || al_read_token(r->doc, node, out, err);
}

static bool check(void *context, const struct al_item *node, void *record, struct al_error *err)
{
	const struct al_tokenizer_reader *r = context;
	const struct al_token_model *model = record;
	const size_t n = al_json_size(al_json_get(node, "vocab"));

	return model->unknown < (int64_t)n
		|| al_json_fail(r->doc, node, err,
			"\"unk_id\" is %d, the vocabulary has %zu pieces", model->unknown, n);
}

static bool read_model(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	static const struct al_field fields[] = {
		{AL_KEY("type", BY, 0), .read = al_read_nothing},
		{AL_KEY("unk_id", BY, offsetof(struct al_token_model, unknown)),
			.read = read_unknown, .reads_absent = true},
		{AL_KEY("byte_fallback", BOOLEAN,
			offsetof(struct al_token_model, has_byte_fallback))},
		{AL_KEY("vocab", BY, 0), .read = read_pieces, .is_required = true},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields), .check = check};

	return al_record_read(&r->source, &record, node, &r->tokenizer->model, err);
}

/* ---- the best split ---- */

struct end {
	double score; /* of the best split of what comes before */
	size_t begin; /* of its last piece; SIZE_MAX: there is none */
	int32_t token;
};

static void offer(struct end *end, size_t begin, double score, int32_t token)
{
	if (end->begin == SIZE_MAX || score > end->score)
		*end = (struct end){score, begin, token};
}

/* All pieces that begin at `at`; is one of them a single character? */
static bool offer_pieces(const struct al_token_model *model, struct al_span text, size_t at,
	size_t n_character, struct end *ends)
{
	const size_t left = text.n - at;
	uint64_t hash = AL_HASH_EMPTY;
	bool has_single = false;

	for (size_t n = 1; n <= left && n <= model->vocab.longest; n++) {
		hash = al_hash(hash, text.data + at + n - 1, 1);
		const int32_t token = al_vocab_find_hashed(&model->vocab,
			al_span_part(text, at, at + n), hash);
		if (token >= 0)
			offer(&ends[at + n], at, ends[at].score + model->scores[token], token);
		has_single = has_single || (token >= 0 && n == n_character);
	}
	return has_single;
}

static bool split(const struct al_token_model *model, struct al_span text, struct end *ends,
	struct al_error *err)
{
	for (size_t at = 0, n; at < text.n; at += n) {
		n = al_utf8_length(text.data + at, text.n - at);
		if (offer_pieces(model, text, at, n, ends))
			continue;
		if (model->unknown < 0)
			return al_fail(err, AL_EINPUT,
				"\"%.*s\" isn't in the vocabulary, and no unknown token is named",
				(int)n, text.data + at);
		offer(&ends[at + n], at, ends[at].score + model->unknown_score, model->unknown);
	}
	return true;
}

/* A run of unknown characters may be a piece after all, or its bytes are. */
static void add_unknown(const struct al_token_model *model, struct al_span text,
	struct al_tokens *tokens)
{
	const int32_t token = al_vocab_find(&model->vocab, text);
	bool has_bytes = token < 0 && model->has_byte_fallback;

	for (size_t i = 0; has_bytes && i < text.n; i++)
		has_bytes = al_vocab_find_byte(&model->vocab, (unsigned char)text.data[i]) >= 0;
	for (size_t i = 0; has_bytes && i < text.n; i++)
		al_tokens_add(tokens,
			al_vocab_find_byte(&model->vocab, (unsigned char)text.data[i]));
	if (!has_bytes)
		al_tokens_add(tokens, token < 0 ? model->unknown : token);
}

/* Makes ends[begin of a piece].begin the end of it, so that the split can be read forwards. */
static void turn_around(struct end *ends, size_t n)
{
	struct end last = ends[n];

	for (size_t end = n; end > 0;) {
		const size_t begin = last.begin;
		const struct end before = ends[begin];
		ends[begin] = (struct end){last.score, end, last.token};
		last = before;
		end = begin;
	}
}

static bool encode(const struct al_token_model *model, struct al_arena *memory, struct al_span text,
	struct al_tokens *tokens, struct al_error *err)
{
	if (!al_vocab_check_lookups(&model->vocab, text.n, err))
		return false;
	struct end *ends = al_new_array(memory, struct end, text.n + 1);
	for (size_t i = 0; i <= text.n; i++)
		ends[i].begin = SIZE_MAX;
	if (!split(model, text, ends, err))
		return false;
	turn_around(ends, text.n);
	for (size_t at = 0, end; at < text.n; at = end) {
		end = ends[at].begin;
		if (ends[at].token != model->unknown) {
			al_tokens_add(tokens, ends[at].token);
			continue;
		}
		while (end < text.n && ends[end].token == model->unknown)
			end = ends[end].begin;
		add_unknown(model, al_span_part(text, at, end), tokens);
	}
	return true;
}

bool al_unigram_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	r->tokenizer->model.encode = encode;
	return read_model(r, node, err);
}

/* ---- SentencePiece's pairs, by the same scores ---- */

/* A character that is no piece becomes its bytes, where they are, or the unknown token. */
static size_t add_character(const struct al_token_model *model, struct al_span text, int32_t *out)
{
	out[0] = al_vocab_find(&model->vocab, text);
	if (out[0] >= 0)
		return 1;
	for (size_t i = 0; i < text.n; i++)
		if ((out[i] = al_vocab_find_byte(&model->vocab, (unsigned char)text.data[i])) < 0) {
			out[0] = model->unknown;
			return 1;
		}
	return text.n;
}

static bool encode_scored(const struct al_token_model *model, struct al_arena *memory,
	struct al_span text, struct al_tokens *tokens, struct al_error *err)
{
	const struct al_scored_pieces pieces = {&model->vocab, model->texts, model->scores};
	int32_t *found = al_new_array(memory, int32_t, text.n + 1);
	size_t n = 0;

	for (size_t at = 0, length; at < text.n; at += length) {
		length = al_utf8_length(text.data + at, text.n - at);
		n += add_character(model, al_span_part(text, at, at + length), found + n);
		if (found[n - 1] < 0)
			return al_fail(err, AL_EINPUT,
				"\"%.*s\" isn't in the vocabulary, and no unknown token is named",
				(int)length, text.data + at);
	}
	n = al_merge_scored(memory, found, n, &pieces);
	for (size_t i = 0; i < n; i++)
		al_tokens_add(tokens, found[i]);
	return true;
}

bool al_scored_bpe_read(struct al_tokenizer_reader *r, const struct al_item *node,
	struct al_error *err)
{
	r->tokenizer->model.encode = encode_scored;
	return read_model(r, node, err);
}
