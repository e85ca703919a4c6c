/* Byte-pair encoding: characters are joined by a list of merges, the earlier ones first. A
 * character that isn't in the vocabulary becomes its bytes, where they are, or the unknown token.
 *= huggingface/tokenizers, tokenizers/src/models/bpe/model.rs */
#include "model/tokenize/internal.h"

struct al_pair_merge {
	int32_t pair[2], token; /* what the two become */
};

static struct al_span span_of_pair(const int32_t pair[2])
{
	return (struct al_span){(const char *)pair, 2 * sizeof(*pair)};
}

static bool find_merge(const void *context, int32_t a, int32_t b, struct al_bpe_merge *out)
{
	const struct al_token_model *model = context;
	const int32_t pair[] = {a, b}, rank = al_vocab_find(&model->pairs, span_of_pair(pair));

	if (rank >= 0)
		*out = (struct al_bpe_merge){rank, model->merges[rank].token};
	return rank >= 0;
}

/* ---- the list of merges ---- */

bool al_merge_split(const char *text, struct al_span pair[2], struct al_error *err)
{
	const char *blank = strchr(text, ' ');

	if (!blank || strchr(blank + 1, ' '))
		return al_fail(err, AL_EINPUT,
			"found \"%.60s\", expected two pieces with a blank between them", text);
	pair[0] = (struct al_span){text, (size_t)(blank - text)};
	pair[1] = al_span_of(blank + 1);
	return true;
}

static bool find_piece(const struct al_token_model *model, struct al_span text, int32_t *out,
	struct al_error *err)
{
	*out = al_vocab_find(&model->vocab, text);
	return *out >= 0
		|| al_fail(err, AL_EINPUT, "\"%.*s\" isn't in the vocabulary",
			(int)al_least(text.n, 60), text.data);
}

/* What the two are together: the second without the prefix of what continues a word. */
static bool find_joined(const struct al_token_model *model, const struct al_span pair[2],
	int32_t *out, struct al_error *err)
{
	const size_t n_prefix = model->prefix ? strlen(model->prefix) : 0;
	const size_t skipped = al_least(n_prefix, pair[1].n);
	AL_TEXT(joined);

	al_text_add_bytes(&joined, pair[0].data, pair[0].n);
	al_text_add_bytes(&joined, pair[1].data + skipped, pair[1].n - skipped);
	return find_piece(model, (struct al_span){joined.data, joined.length}, out, err);
}

void al_merges_init(struct al_token_model *model, struct al_arena *arena, size_t n)
{
	model->merges = al_new_array(arena, struct al_pair_merge, n);
	al_vocab_init(&model->pairs, arena, n);
}

bool al_merge_add(struct al_token_model *model, const struct al_span pair[2], struct al_error *err)
{
	struct al_pair_merge *merge = &model->merges[model->n_merges];

	if (!find_piece(model, pair[0], &merge->pair[0], err)
		|| !find_piece(model, pair[1], &merge->pair[1], err)
		|| !find_joined(model, pair, &merge->token, err))
		return false;
	al_vocab_add(&model->pairs, span_of_pair(merge->pair), (int32_t)model->n_merges++);
	return true;
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

static bool add_character(struct word *word, struct al_error *err)
{
	const struct al_token_model *model = word->model;
	const struct al_span text = {word->text.data, word->text.length};
	const int32_t token = al_vocab_find(&model->vocab, text);

	if (!al_budget_take(model->vocab.budget, 0, err))
		return false;
	if (token >= 0) {
		end_unknown(word);
		word->tokens[word->n++] = token;
		return true;
	}
	if (model->has_byte_fallback && al_byte_tokens(model, text, word->tokens + word->n)) {
		word->n += text.n;
		return true;
	}
	if (model->unknown < 0)
		return al_fail(err, AL_EINPUT,
			"\"%s\" isn't in the vocabulary, and there is no unknown token",
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

bool al_encode_bpe(const struct al_token_model *model, struct al_arena *memory, struct al_span text,
	struct al_tokens *tokens, struct al_error *err)
{
	const int32_t whole = model->ignores_merges ? al_vocab_find(&model->vocab, text) : -1;
	struct word word = {.model = model};

	if (whole >= 0) {
		al_tokens_add(tokens, whole);
		return true;
	}
	const size_t most = most_tokens(model, text);
	if (!al_budget_check(memory->budget, most * sizeof(int32_t), err))
		return false;
	word.tokens = al_new_array(memory, int32_t, most);
	al_text_init(&word.text);
	bool ok = add_characters(&word, text, err)
		&& al_merge_all(memory, word.tokens, &word.n, find_merge, model, err);
	al_text_finish(&word.text);
	if (ok)
		al_tokens_add_all(tokens, word.tokens, word.n);
	return ok;
}
