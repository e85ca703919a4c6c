/* Byte-pair encoding by scores, as SentencePiece has it: no list says what may be joined, but all
 * that is a piece. */
#include "model/tokenize/internal.h"

struct joining {
	const struct al_scored_pieces *pieces;
	char *memory; /* of two pieces */
};

static bool find_joined(const void *context, int32_t a, int32_t b, struct al_bpe_merge *out)
{
	const struct joining *joining = context;
	const struct al_scored_pieces *pieces = joining->pieces;
	const struct al_span left = pieces->texts[a], right = pieces->texts[b];

	if (left.n + right.n > pieces->vocab->longest)
		return false;
	memcpy(joining->memory, left.data, left.n);
	memcpy(joining->memory + left.n, right.data, right.n);
	out->token = al_vocab_find(pieces->vocab,
		(struct al_span){joining->memory, left.n + right.n});
	if (out->token < 0)
		return false;
	out->rank = -pieces->scores[out->token];
	return true;
}

size_t al_merge_scored(struct al_arena *memory, int32_t *tokens, size_t n,
	const struct al_scored_pieces *pieces)
{
	const struct joining joining = {pieces,
		al_arena_alloc(memory, pieces->vocab->longest + 1, 1)};

	return al_merge_all(memory, tokens, n, find_joined, &joining);
}
