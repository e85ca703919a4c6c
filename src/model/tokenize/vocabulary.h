/* A tokenizer.json's vocabulary as llama.cpp's files hold it. */
#pragma once

#include "base/base.h"

enum al_token_type {
	AL_TOKEN_NORMAL = 1,
	AL_TOKEN_UNKNOWN,
	AL_TOKEN_CONTROL,
	AL_TOKEN_USER_DEFINED,
	AL_TOKEN_UNUSED,
	AL_TOKEN_BYTE,
};

struct al_vocabulary {
	const char *model; /* "llama": pairs by scores; "gpt2": by a list of merges */
	const char *pre; /* how texts are split; NULL: they aren't */
	const char **tokens; /* [n], of unused numbers too */
	int32_t *types;
	float *scores; /* NULL: there are merges */
	size_t n;
	const char **merges;
	size_t n_merges;
	int32_t first, last; /* what comes before and after a text; -1: nothing */
	int32_t unknown;
	bool adds_space; /* before a text */
};

/* Reads the file, or tokenizer.bin, for a model of `n_tokens`; all is in the arena. Refused: what
 * llama.cpp has no counterpart for. */
bool al_vocabulary_read(struct al_vocabulary *out, struct al_arena *arena, const char *path,
	int64_t n_tokens, struct al_error *err) AL_MUST_CHECK;

/* Fails where the checkpoint's own tokenizer and that file make different tokens of a sample. */
struct al_checkpoint;
struct al_text;
bool al_vocabulary_check(const struct al_checkpoint *checkpoint, const char *path,
	struct al_error *err) AL_MUST_CHECK;

/* The same of a tokenizer.json that is in memory. */
bool al_vocabulary_check_text(const struct al_checkpoint *checkpoint, const char *name,
	const struct al_text *text, struct al_error *err) AL_MUST_CHECK;

/* write_json.c: adds a GGUF file's tokenizer as a tokenizer.json, which makes the same tokens of
 * the sample. Refused: kinds that have none. */
bool al_tokenizer_json_write(const struct al_checkpoint *checkpoint, struct al_arena *arena,
	struct al_text *out, struct al_error *err) AL_MUST_CHECK;
