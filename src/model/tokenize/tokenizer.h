/* Tokenizers: text into tokens, a sequence a line. Read are tokenizer.json, as the
 * reference implementation of tokenizers writes it, what GGUF files of models hold, and llama2.c's
 * tokenizer.bin. */
#pragma once

#include "base/base.h"
#include "base/budget.h"
#include "model/tokenize/tokens.h"

struct al_checkpoint;
struct al_pipeline;

/* One that is open isn't moved: its arena takes from its budget. */
struct al_tokenizer {
	struct al_arena arena;
	struct al_budget budget; /* of its file and all text that it reads, together */
	struct al_pipeline *pipeline;
	int64_t n_tokens; /* 0: not given */
};

/* The tokenizer in a checkpoint's own file, or the one next to it, for a model of `n_tokens`. On
 * failure nothing is left to finish. */
bool al_tokenizer_open(struct al_tokenizer *tokenizer, const struct al_checkpoint *checkpoint,
	int64_t n_tokens, struct al_error *err) AL_MUST_CHECK;
void al_tokenizer_finish(struct al_tokenizer *tokenizer);

/* The token that a text is, whatever comes around it ("[MASK]"); -1: none. */
int32_t al_tokenizer_special(const struct al_tokenizer *tokenizer, const char *text);

/* tokenizer.bin or tokenizer.json in memory; `path` names it in errors. */
bool al_tokenizer_parse_bin(struct al_tokenizer *tokenizer, const char *path, const char *bytes,
	size_t n, struct al_error *err) AL_MUST_CHECK;
bool al_tokenizer_parse_json(struct al_tokenizer *tokenizer, const char *path, const char *text,
	size_t n, struct al_error *err) AL_MUST_CHECK;

/* Adds a line's tokens as a sequence, with the tokens that the file puts before and after it; text
 * that isn't UTF-8 is refused. */
bool al_tokenizer_encode(struct al_tokenizer *tokenizer, const char *text, size_t length,
	struct al_tokens *tokens, struct al_error *err) AL_MUST_CHECK;

/* All lines of a file that aren't empty. On failure nothing is left to finish. */
bool al_tokenizer_encode_file(struct al_tokenizer *tokenizer, const char *path,
	struct al_tokens *tokens, struct al_error *err) AL_MUST_CHECK;
