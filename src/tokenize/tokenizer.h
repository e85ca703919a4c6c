/* Tokenizers: text into tokens, a sequence a line. llama2.c's tokenizer.bin is read. */
#ifndef ATTNLEDGER_TOKENIZE_TOKENIZER_H
#define ATTNLEDGER_TOKENIZE_TOKENIZER_H

#include "base/arena.h"
#include "tokenize/tokens.h"

/* A piece of text that is a token, and how readily pieces become it. */
struct al_vocab_piece {
	const char *bytes;
	size_t length;
	float score;
	int32_t token;
};

struct al_tokenizer {
	struct al_arena arena;
	struct al_vocab_piece *pieces; /* [n], by token */
	const struct al_vocab_piece **sorted; /* [n], by their bytes */
	size_t n;
};

/* The tokenizer of `n_tokens` beside a checkpoint (a file or a folder). On failure nothing is left
 * to finish. */
bool al_tokenizer_open(struct al_tokenizer *tokenizer, const char *checkpoint, int64_t n_tokens,
	struct al_error *err) AL_MUST_CHECK;
void al_tokenizer_finish(struct al_tokenizer *tokenizer);

/* tokenizer.bin in memory; `path` names it in errors. */
bool al_tokenizer_parse_bin(struct al_tokenizer *tokenizer, const char *path, const char *bytes,
	size_t n, struct al_error *err) AL_MUST_CHECK;

/* Adds a line's tokens as a sequence, begun by BOS; text that isn't UTF-8 is refused. */
bool al_tokenizer_encode(const struct al_tokenizer *tokenizer, const char *text, size_t length,
	struct al_tokens *tokens, struct al_error *err) AL_MUST_CHECK;

/* All lines of a file that aren't empty. On failure nothing is left to finish. */
bool al_tokenizer_encode_file(const struct al_tokenizer *tokenizer, const char *path,
	struct al_tokens *tokens, struct al_error *err) AL_MUST_CHECK;

#endif
