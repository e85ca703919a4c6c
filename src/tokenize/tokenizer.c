/* llama2.c's tokenizer.bin (karpathy/llama2.c, tokenizer.py and run.c): int32 longest piece, then a
 * piece after the other, float score, int32 length, bytes. A text begins with a blank; its
 * characters are pieces, or their bytes are (token 3 + byte); then the two neighbours whose joint
 * piece has the highest score are joined, until none are pieces together. */
#include "tokenize/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

enum { BOS = 1, FIRST_BYTE = 3, MOST_PIECES = 1 << 20, MOST_LINE = 16384 };

static const size_t largest_file = (size_t)1 << 30;

/* ---- the file ---- */

static int compare_bytes(const char *a, size_t n_a, const char *b, size_t n_b)
{
	const int order = memcmp(a, b, n_a < n_b ? n_a : n_b);

	return order ? order : (n_a > n_b) - (n_a < n_b);
}

static int compare_pieces(const void *a, const void *b)
{
	const struct al_vocab_piece *p = *(const struct al_vocab_piece *const *)a;
	const struct al_vocab_piece *q = *(const struct al_vocab_piece *const *)b;
	const int order = compare_bytes(p->bytes, p->length, q->bytes, q->length);

	return order ? order : (p->token > q->token) - (p->token < q->token);
}

static void sort_pieces(struct al_tokenizer *tokenizer)
{
	tokenizer->sorted = al_new_array(&tokenizer->arena, const struct al_vocab_piece *,
		tokenizer->n);
	for (size_t i = 0; i < tokenizer->n; i++)
		tokenizer->sorted[i] = &tokenizer->pieces[i];
	qsort(tokenizer->sorted, tokenizer->n, sizeof(*tokenizer->sorted), compare_pieces);
}

/* One piece from bytes[*at] on. */
static bool read_piece(struct al_tokenizer *tokenizer, const char *bytes, size_t n, size_t *at,
	size_t *room, struct al_error *err)
{
	float score;
	int32_t length;

	if (n - *at < 8)
		return al_fail(err, AL_EINPUT, "piece %zu: %zu bytes are left, expected 8 or more",
			tokenizer->n, n - *at);
	memcpy(&score, bytes + *at, 4);
	memcpy(&length, bytes + *at + 4, 4);
	*at += 8;
	if (length < 0 || (size_t)length > n - *at || !(score == score))
		return al_fail(err, AL_EINPUT, "piece %zu: length %d in %zu bytes, score %g",
			tokenizer->n, length, n - *at, (double)score);
	if (tokenizer->n == MOST_PIECES)
		return al_fail(err, AL_EINPUT, "more than %d pieces", MOST_PIECES);
	tokenizer->pieces = al_grow(&tokenizer->arena, tokenizer->pieces, tokenizer->n, room,
		sizeof(*tokenizer->pieces));
	tokenizer->pieces[tokenizer->n] =
		(struct al_vocab_piece){al_strndup(&tokenizer->arena, bytes + *at, (size_t)length),
			(size_t)length, score, (int32_t)tokenizer->n};
	tokenizer->n++;
	*at += (size_t)length;
	return true;
}

bool al_tokenizer_parse_bin(struct al_tokenizer *tokenizer, const char *path, const char *bytes,
	size_t n, struct al_error *err)
{
	size_t at = 4, room = 0;
	bool ok = n > 4
		|| al_fail(err, AL_EINPUT, "has %zu bytes, expected pieces of a vocabulary", n);

	*tokenizer = (struct al_tokenizer){0};
	al_arena_init(&tokenizer->arena);
	while (ok && at < n)
		ok = read_piece(tokenizer, bytes, n, &at, &room, err);
	if (ok && tokenizer->n < FIRST_BYTE + 256)
		ok = al_fail(err, AL_EINPUT, "holds %zu pieces, expected at least %d", tokenizer->n,
			FIRST_BYTE + 256);
	if (ok)
		sort_pieces(tokenizer);
	else
		al_tokenizer_finish(tokenizer);
	return ok || al_in(err, "%s", path);
}

/* ---- beside a checkpoint ---- */

static const char *beside(struct al_arena *arena, const char *checkpoint, const char *name)
{
	const char *slash = strrchr(checkpoint, '/');
	struct stat info;

	if (stat(checkpoint, &info) == 0 && S_ISDIR(info.st_mode))
		return al_format(arena, "%s/%s", checkpoint, name);
	return slash ? al_format(arena, "%.*s/%s", (int)(slash - checkpoint), checkpoint, name)
		     : al_strdup(arena, name);
}

static bool read_bin(struct al_tokenizer *tokenizer, const char *path, int64_t n_tokens,
	struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, path, largest_file, err))
		return al_in(err, "--text needs llama2.c's tokenizer.bin; --tokens needs none");
	bool ok = al_tokenizer_parse_bin(tokenizer, path, text.data, text.length, err);
	al_text_finish(&text);
	if (!ok || (int64_t)tokenizer->n == n_tokens)
		return ok;
	al_fail(err, AL_EINPUT, "%s: holds %zu pieces, the model has %lld tokens", path,
		tokenizer->n, (long long)n_tokens);
	al_tokenizer_finish(tokenizer);
	return false;
}

bool al_tokenizer_open(struct al_tokenizer *tokenizer, const char *checkpoint, int64_t n_tokens,
	struct al_error *err)
{
	struct al_arena arena;

	al_arena_init(&arena);
	bool ok = read_bin(tokenizer, beside(&arena, checkpoint, "tokenizer.bin"), n_tokens, err);
	al_arena_finish(&arena);
	return ok;
}

void al_tokenizer_finish(struct al_tokenizer *tokenizer)
{
	al_arena_finish(&tokenizer->arena);
	*tokenizer = (struct al_tokenizer){0};
}

/* ---- text ---- */

/* The piece of these bytes, or NULL. The file may have a character twice, as a byte and as a piece
 * that was learnt: the latter comes last. */
static const struct al_vocab_piece *find_piece(const struct al_tokenizer *tokenizer,
	const char *bytes, size_t length)
{
	size_t low = 0, high = tokenizer->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct al_vocab_piece *piece = tokenizer->sorted[middle];
		if (compare_bytes(piece->bytes, piece->length, bytes, length) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	const struct al_vocab_piece *found = tokenizer->sorted[low - 1];
	return compare_bytes(found->bytes, found->length, bytes, length) == 0 ? found : NULL;
}

/* What a line has become so far. */
struct joined {
	const struct al_vocab_piece **items;
	size_t n;
};

static void add_character(const struct al_tokenizer *tokenizer, const char *bytes, size_t length,
	struct joined *joined)
{
	const struct al_vocab_piece *piece = find_piece(tokenizer, bytes, length);

	if (piece)
		joined->items[joined->n++] = piece;
	for (size_t i = 0; !piece && i < length; i++)
		joined->items[joined->n++] =
			&tokenizer->pieces[FIRST_BYTE + (unsigned char)bytes[i]];
}

static bool split(const struct al_tokenizer *tokenizer, const char *text, size_t length,
	struct joined *joined, struct al_error *err)
{
	add_character(tokenizer, " ", 1, joined);
	for (size_t at = 0, n; at < length; at += n) {
		n = al_utf8_length(text + at, length - at);
		if (n == 0)
			return al_fail(err, AL_EINPUT, "byte %zu is no UTF-8", at);
		add_character(tokenizer, text + at, n, joined);
	}
	return true;
}

/* The piece that two neighbours are together, or NULL. */
static const struct al_vocab_piece *find_pair(const struct al_tokenizer *tokenizer,
	const struct al_vocab_piece *a, const struct al_vocab_piece *b, char *memory)
{
	memcpy(memory, a->bytes, a->length);
	memcpy(memory + a->length, b->bytes, b->length);
	return find_piece(tokenizer, memory, a->length + b->length);
}

static size_t longest_piece(const struct al_tokenizer *tokenizer)
{
	size_t longest = 0;

	for (size_t i = 0; i < tokenizer->n; i++)
		if (tokenizer->pieces[i].length > longest)
			longest = tokenizer->pieces[i].length;
	return longest;
}

/* Joins the best two neighbours, the first such; false where none are a piece. `pairs` holds what
 * item i and the next are together. */
static bool join_best(const struct al_tokenizer *tokenizer, struct joined *joined,
	const struct al_vocab_piece **pairs, char *memory)
{
	size_t best = joined->n;

	for (size_t i = 0; i + 1 < joined->n; i++)
		if (pairs[i] && (best == joined->n || pairs[i]->score > pairs[best]->score))
			best = i;
	if (best == joined->n)
		return false;
	joined->items[best] = pairs[best];
	joined->n--;
	for (size_t i = best + 1; i < joined->n; i++) {
		joined->items[i] = joined->items[i + 1];
		pairs[i] = pairs[i + 1];
	}
	if (best + 1 < joined->n)
		pairs[best] = find_pair(tokenizer, joined->items[best], joined->items[best + 1],
			memory);
	if (best > 0)
		pairs[best - 1] = find_pair(tokenizer, joined->items[best - 1], joined->items[best],
			memory);
	return true;
}

static void join_all(const struct al_tokenizer *tokenizer, struct joined *joined)
{
	const struct al_vocab_piece **pairs = al_calloc(joined->n + 1,
		sizeof(struct al_vocab_piece *));
	char *memory = al_alloc(2 * longest_piece(tokenizer), 1);

	for (size_t i = 0; i + 1 < joined->n; i++)
		pairs[i] = find_pair(tokenizer, joined->items[i], joined->items[i + 1], memory);
	while (join_best(tokenizer, joined, pairs, memory))
		;
	free(memory);
	free(pairs);
}

bool al_tokenizer_encode(const struct al_tokenizer *tokenizer, const char *text, size_t length,
	struct al_tokens *tokens, struct al_error *err)
{
	struct joined joined = {0};

	if (length > MOST_LINE)
		return al_fail(err, AL_EINPUT, "%zu bytes, expected at most %d", length, MOST_LINE);
	joined.items = al_calloc(length + 1, sizeof(struct al_vocab_piece *));
	bool ok = split(tokenizer, text, length, &joined, err);
	if (ok) {
		join_all(tokenizer, &joined);
		al_tokens_add(tokens, BOS);
		for (size_t i = 0; i < joined.n; i++)
			al_tokens_add(tokens, joined.items[i]->token);
		al_tokens_end_sequence(tokens);
	}
	free(joined.items);
	return ok;
}

/* ---- a file ---- */

static bool encode_lines(const struct al_tokenizer *tokenizer, const struct al_text *text,
	struct al_tokens *tokens, struct al_error *err)
{
	const char *end = text->data + text->length;
	size_t line = 1;

	for (const char *at = text->data; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((stop ? stop : end) - at);
		const bool has_return = length > 0 && at[length - 1] == '\r';
		if (length > (size_t)has_return
			&& !al_tokenizer_encode(tokenizer, at, length - (size_t)has_return, tokens,
				err))
			return al_in(err, "line %zu", line);
		at += length + 1;
	}
	return tokens->n_sequences > 0 || al_fail(err, AL_EINPUT, "holds no text");
}

bool al_tokenizer_encode_file(const struct al_tokenizer *tokenizer, const char *path,
	struct al_tokens *tokens, struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, path, largest_file, err))
		return false;
	al_tokens_init(tokens);
	bool ok = encode_lines(tokenizer, &text, tokens, err) || al_in(err, "%s", path);
	al_text_finish(&text);
	if (!ok)
		al_tokens_finish(tokens);
	return ok;
}
