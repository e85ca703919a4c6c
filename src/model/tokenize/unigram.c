/* Unigram: the split with the highest sum of scores, by Viterbi's algorithm. A character without a
 * piece of its own may be unknown, at the lowest score less 10; unknown neighbors are one token.
 *= huggingface/tokenizers, tokenizers/src/models/unigram/model.rs */
#include "model/tokenize/internal.h"

static const double unknown_penalty = 10;
enum { COPIED_IN_A_STEP = 64 };

void al_scored_init(struct al_token_model *model, struct al_arena *arena, size_t n)
{
	model->scores = al_new_array(arena, double, n);
	model->texts = al_new_array(arena, struct al_span, n);
	model->n = n;
}

void al_scored_index(struct al_token_model *model, struct al_arena *arena)
{
	double least = INFINITY;

	al_vocab_init(&model->vocab, arena, model->n);
	for (size_t i = 0; i < model->n; i++) {
		al_vocab_add(&model->vocab, model->texts[i], (int32_t)i);
		least = fmin(least, model->scores[i]);
	}
	model->unknown_score = least - unknown_penalty;
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
		hash = AL_HASH_BYTE(hash, text.data[at + n - 1]);
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
		const bool has_single = offer_pieces(model, text, at, n, ends);
		if (!al_budget_take(model->vocab.budget, 0, err))
			return false;
		if (has_single)
			continue;
		if (model->unknown < 0)
			return al_fail(err, AL_EINPUT,
				"\"%.*s\" isn't in the vocabulary, and there is no unknown token",
				(int)n, text.data + at);
		offer(&ends[at + n], at, ends[at].score + model->unknown_score, model->unknown);
	}
	return true;
}

/* A run of unknown characters may be a piece after all, or its bytes are. */
static void add_unknown(const struct al_token_model *model, struct al_arena *memory,
	struct al_span text, struct al_tokens *tokens)
{
	const int32_t token = al_vocab_find(&model->vocab, text);
	int32_t *bytes = al_new_array(memory, int32_t, text.n);

	if (token < 0 && model->has_byte_fallback && al_byte_tokens(model, text, bytes))
		al_tokens_add_all(tokens, bytes, text.n);
	else
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

bool al_encode_unigram(const struct al_token_model *model, struct al_arena *memory,
	struct al_span text, struct al_tokens *tokens, struct al_error *err)
{
	if (!al_budget_check(memory->budget, (text.n + 1) * sizeof(struct end), err))
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
		add_unknown(model, memory, al_span_part(text, at, end), tokens);
	}
	return true;
}

/* ---- SentencePiece's pairs, by the same scores ---- */

/* A character that is no piece becomes its bytes, where they are, or the unknown token. */
static size_t add_character(const struct al_token_model *model, struct al_span text, int32_t *out)
{
	const int32_t token = al_vocab_find(&model->vocab, text);

	if (token < 0 && al_byte_tokens(model, text, out))
		return text.n;
	out[0] = token < 0 ? model->unknown : token;
	return 1;
}

struct joining {
	const struct al_token_model *model;
	char *memory; /* of two pieces */
};

static bool find_joined(const void *context, int32_t a, int32_t b, struct al_bpe_merge *out)
{
	const struct joining *joining = context;
	const struct al_token_model *model = joining->model;
	const struct al_span left = model->texts[a], right = model->texts[b];

	if (left.n + right.n > model->vocab.longest)
		return false;
	memcpy(joining->memory, left.data, left.n);
	memcpy(joining->memory + left.n, right.data, right.n);
	out->token = al_vocab_find(&model->vocab,
		(struct al_span){joining->memory, left.n + right.n});
	if (out->token < 0)
		return false;
	out->rank = -model->scores[out->token];
	return true;
}

bool al_encode_scored(const struct al_token_model *model, struct al_arena *memory,
	struct al_span text, struct al_tokens *tokens, struct al_error *err)
{
	const size_t room = model->vocab.longest + 1;

	if (!al_budget_take(memory->budget, room / COPIED_IN_A_STEP, err))
		return false;
	const struct joining joining = {model, al_arena_alloc(memory, room, 1)};
	int32_t *found = al_new_array(memory, int32_t, text.n + 1);
	size_t n = 0;

	for (size_t at = 0, length; at < text.n; at += length) {
		length = al_utf8_length(text.data + at, text.n - at);
		n += add_character(model, al_span_part(text, at, at + length), found + n);
		if (found[n - 1] < 0)
			return al_fail(err, AL_EINPUT,
				"\"%.*s\" isn't in the vocabulary, and there is no unknown token",
				(int)length, text.data + at);
	}
	if (!al_merge_all(memory, found, &n, find_joined, &joining, err))
		return false;
	al_tokens_add_all(tokens, found, n);
	return true;
}
