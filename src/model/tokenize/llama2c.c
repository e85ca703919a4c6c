/* llama2.c's tokenizer.bin (karpathy/llama2.c, tokenizer.py and run.c): int32 longest piece, then a
 * piece after the other, float score, int32 length, bytes. A text begins with a blank; its
 * characters are pieces, or their bytes are (token 3 + byte); then the two neighbours whose joint
 * piece has the highest score are joined, until none are pieces together. */
#include "model/tokenize/internal.h"

#include <string.h>

#include "base/text.h"

enum { BOS = 1, FIRST_BYTE = 3, MOST_PIECES = 1 << 20 };

struct pieces {
	struct al_span *texts; /* [n] */
	double *scores; /* [n] */
	size_t n, texts_room, scores_room;
	struct al_vocab vocab;
};

/* ---- the file ---- */

/* One piece from bytes[*at] on. */
static bool read_piece(struct pieces *pieces, struct al_arena *arena, struct al_span file,
	size_t *at, struct al_error *err)
{
	float score;
	int32_t length;

	if (file.n - *at < 8)
		return al_fail(err, AL_EINPUT, "piece %zu: %zu bytes are left, expected 8 or more",
			pieces->n, file.n - *at);
	memcpy(&score, file.data + *at, 4);
	memcpy(&length, file.data + *at + 4, 4);
	*at += 8;
	if (length < 0 || (size_t)length > file.n - *at || !(score == score))
		return al_fail(err, AL_EINPUT, "piece %zu: length %d in %zu bytes, score %g",
			pieces->n, length, file.n - *at, (double)score);
	if (pieces->n == MOST_PIECES)
		return al_fail(err, AL_EINPUT, "more than %d pieces", MOST_PIECES);
	pieces->texts = al_grow(arena, pieces->texts, pieces->n, &pieces->texts_room,
		sizeof(*pieces->texts));
	pieces->scores = al_grow(arena, pieces->scores, pieces->n, &pieces->scores_room,
		sizeof(*pieces->scores));
	pieces->texts[pieces->n] = (struct al_span){al_strndup(arena, file.data + *at,
							    (size_t)length),
		(size_t)length};
	pieces->scores[pieces->n++] = (double)score;
	*at += (size_t)length;
	return true;
}

/* The file may have a character twice, as a byte and as a piece that was learnt: the latter comes
 * last, and counts. */
static void index_pieces(struct pieces *pieces, struct al_arena *arena)
{
	al_vocab_init(&pieces->vocab, arena, pieces->n);
	for (size_t i = 0; i < pieces->n; i++)
		al_vocab_add(&pieces->vocab, pieces->texts[i], (int32_t)i);
}

/* ---- a text ---- */

static size_t add_character(const struct pieces *pieces, struct al_span text, int32_t *out)
{
	out[0] = al_vocab_find(&pieces->vocab, text);
	if (out[0] >= 0)
		return 1;
	for (size_t i = 0; i < text.n; i++)
		out[i] = FIRST_BYTE + (unsigned char)text.data[i];
	return text.n;
}

static bool encode(const void *data, struct al_arena *memory, struct al_span text,
	struct al_tokens *tokens, struct al_error *err)
{
	const struct pieces *pieces = data;
	const struct al_scored_pieces scored = {&pieces->vocab, pieces->texts, pieces->scores};
	int32_t *found = al_new_array(memory, int32_t, text.n + 1);
	size_t n = add_character(pieces, al_span_of(" "), found);

	(void)err;
	for (size_t at = 0, length; at < text.n; at += length) {
		length = al_utf8_length(text.data + at, text.n - at);
		n += add_character(pieces, al_span_part(text, at, at + length), found + n);
	}
	n = al_merge_scored(memory, found, n, &scored);
	al_tokens_add(tokens, BOS);
	for (size_t i = 0; i < n; i++)
		al_tokens_add(tokens, found[i]);
	return true;
}

static const struct al_tokenizer_kind bin_kind = {encode};

bool al_tokenizer_parse_bin(struct al_tokenizer *tokenizer, const char *path, const char *bytes,
	size_t n, struct al_error *err)
{
	size_t at = 4;
	bool ok = n > 4
		|| al_fail(err, AL_EINPUT, "has %zu bytes, expected pieces of a vocabulary", n);

	*tokenizer = (struct al_tokenizer){.kind = &bin_kind};
	al_arena_init(&tokenizer->arena);
	struct pieces *pieces = tokenizer->data = al_new(&tokenizer->arena, struct pieces);
	while (ok && at < n)
		ok = read_piece(pieces, &tokenizer->arena, (struct al_span){bytes, n}, &at, err);
	if (ok && pieces->n < FIRST_BYTE + 256)
		ok = al_fail(err, AL_EINPUT, "holds %zu pieces, expected at least %d", pieces->n,
			FIRST_BYTE + 256);
	if (ok)
		index_pieces(pieces, &tokenizer->arena);
	else
		al_tokenizer_finish(tokenizer);
	tokenizer->n_tokens = ok ? (int64_t)pieces->n : 0;
	return ok || al_in(err, "%s", path);
}
