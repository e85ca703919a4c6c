/* llama2.c's tokenizer.bin (karpathy/llama2.c, tokenizer.py and run.c): int32 longest piece, then a
 * piece after the other, float score, int32 length, bytes. A text begins with a blank; its
 * characters are pieces, or their bytes are (token 3 + byte); then the two neighbors whose joint
 * piece has the highest score are joined, until none are pieces together. */
#include "model/tokenize/internal.h"

enum { BOS = 1, FIRST_BYTE = 3, MOST_PIECES = 1 << 20, LEAST_PIECE = 8 };

/* One piece from bytes[*at] on. */
static bool read_piece(struct al_token_model *pieces, struct al_arena *arena, struct al_span file,
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
	pieces->texts[pieces->n] = (struct al_span){al_strndup(arena, file.data + *at,
							    (size_t)length),
		(size_t)length};
	pieces->scores[pieces->n++] = (double)score;
	*at += (size_t)length;
	return true;
}

/* The file may have a character twice, as a byte and as a piece that was learned: the latter comes
 * last, and counts. */
static bool read_pieces(struct al_pipeline *p, struct al_arena *arena, struct al_span file,
	struct al_error *err)
{
	const size_t most = al_least(file.n / LEAST_PIECE, MOST_PIECES);
	size_t at = 4;

	if (file.n <= 4)
		return al_fail(err, AL_EINPUT, "has %zu bytes, expected pieces of a vocabulary",
			file.n);
	al_scored_init(&p->model, arena, most);
	for (p->model.n = 0; at < file.n;)
		if (!read_piece(&p->model, arena, file, &at, err))
			return false;
	if (p->model.n < FIRST_BYTE + 256)
		return al_fail(err, AL_EINPUT, "holds %zu pieces, expected at least %d", p->model.n,
			FIRST_BYTE + 256);
	al_scored_index(&p->model, arena);
	return true;
}

bool al_tokenizer_parse_bin(struct al_tokenizer *tokenizer, const char *path, const char *bytes,
	size_t n, struct al_error *err)
{
	struct al_pipeline *p = al_pipeline_init(tokenizer, n);
	struct al_arena *arena = &tokenizer->arena;

	if (!read_pieces(p, arena, (struct al_span){bytes, n}, err)
		|| !al_budget_take(p->budget, 0, err)) {
		al_tokenizer_finish(tokenizer);
		return al_in(err, "%s", path);
	}
	p->model.encode = al_encode_scored;
	p->model.first_byte = FIRST_BYTE;
	al_steps_add(&p->all, arena,
		(struct al_step){.run = al_step_prefix, .text = " ", .is_inverted = true});
	al_ids_add(&p->before, arena, BOS);
	tokenizer->n_tokens = (int64_t)p->model.n;
	return true;
}
